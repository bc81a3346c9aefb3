"""Loads every model file of some folders and prints how many have which verdict.

Usage: python tools/model_collections.py FOLDER ... [--all]

URDF files are compared with Pinocchio and MJCF files with MuJoCo: forward dynamics at a random state with random joint
forces, with what acts by itself there (dampers, dry friction of URDF, springs, rotors, fluids, compensated weight,
servos at a random set point). What means something else there is left out on both sides: loops, which are springs in
MuJoCo and none in Pinocchio, limits, contacts and dry friction of MJCF. A file agrees if accelerations differ by less
than 1e-9 of the largest, or of 1. SDF files have nothing to be compared with here; they must load and have
accelerations. With `--all` every file is told, else those that are wrong.
"""

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from verdicts import AGREES, ALONE, APART, REFUSED, WRONG, Tally

import catena as ct

CLOSE = 1e-9
Verdict = tuple[str, str]


def look_at(file: Path, search: list[Path]) -> Verdict:
    """What comes of one file."""
    compare = {".urdf": with_pinocchio, ".sdf": alone}.get(file.suffix, with_mujoco)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", ct.CatenaWarning)
            m = plain(ct.load(file, search=search, mimic=False, loops=False), dry=file.suffix == ".urdf")
            if m.system().nv == 0:
                return AGREES, "nothing in it can move"
        unread = "; ".join(str(one.message) for one in told if "not read" in str(one.message))
        unread = unread.replace(f"{file}: ", "")
        return compare(file, m, unread)
    except ct.CatenaError as error:
        return REFUSED, without_place(str(error), file)
    except Exception as error:
        # Whatever else comes is not meant for users, and this is where it is found.
        return WRONG, f"{type(error).__name__}: {error}"


def without_place(message: str, file: Path) -> str:
    """A message without the place that it begins with."""
    return re.sub(rf"^\S*{re.escape(file.name)}(:\d+)?: ", "", message)


def plain(m: ct.Mechanism, dry: bool) -> ct.Mechanism:
    """The mechanism without limits, and without dry friction unless the other program has the same."""
    for name, joint in m.joints.items():
        if joint.limits is not None:
            m = m.with_joint(name, limits=None)
        if not dry and joint.friction.any():
            m = m.with_joint(name, friction=0.0)
    return m


def judged(own: np.ndarray, theirs: np.ndarray, condition: float, unread: str = "") -> Verdict:
    """The verdict on accelerations."""
    if not np.isfinite(theirs).all():
        return ALONE, "the other program has accelerations that are not finite"
    apart = float(np.abs(own - theirs).max(initial=0.0) / max(1.0, np.abs(theirs).max(initial=0.0)))
    if apart <= CLOSE:
        return AGREES, ""
    if apart <= 1e-14 * condition:
        return APART, ""
    if unread:
        return ALONE, unread
    return WRONG, f"accelerations differ by {apart:.1e}, the condition of the mass matrix is {condition:.0e}"


def without_equalities(m: ct.Mechanism, model: Any) -> ct.Mechanism:
    """The mechanism without the equality constraints of a model of MuJoCo."""
    names = {str(model.equality(k).name) or f"equality {k}" for k in range(model.neq)}
    loops = [name for name in m.joints if name in names or name.removesuffix(" equality") in names]
    m = m.detach(loops) if loops else m
    couplings = [name for name in m.couplings if name in names or name.rpartition(" ")[0] in names]
    return m.without_coupling(couplings) if couplings else m


def with_pinocchio(file: Path, m: ct.Mechanism, unread: str) -> Verdict:
    """Compare a tree of URDF; mimic joints move by themselves on both sides."""
    s = m.system()
    try:
        model = pin.buildModelFromUrdf(str(file))
    except Exception as error:
        return ALONE, f"Pinocchio: {' '.join(str(error).split())}"
    if model.nv != s.nv:
        return ALONE, f"Pinocchio has {model.nv} freedoms, Catena {s.nv}"
    there = ct.pinocchio_coordinates(s, model)
    random = np.random.default_rng(0)
    pin.seed(1)
    p = pin.randomConfiguration(model, np.full(model.nq, -2.0), np.full(model.nq, 2.0))
    w, f = random.choice([-1, 1], model.nv) * random.uniform(0.5, 1.5, model.nv), random.normal(size=model.nv)
    q = there.catena_configuration(p)
    v, tau = there.catena_velocity(q, w), there.catena_effort(q, f)
    data = model.createData()
    # Dampers and dry friction are in the model of Pinocchio, but its dynamics takes forces as they are told.
    resisted = f - model.damping * w - np.asarray(model.upperDryFrictionLimit) * np.sign(w)
    theirs = pin.aba(model, data, p, w, resisted)
    mass = pin.crba(model, data, p)
    condition = float(np.linalg.cond(np.triu(mass) + np.triu(mass, 1).T))
    try:
        own = there.acceleration(q, v, s.forward_dynamics(q, v, tau))
    except ct.SingularDynamicsError as error:
        return ALONE, f"accelerations are not determined: {error}"
    return judged(own, theirs, condition, unread)


def followed(s: ct.System, there: Any, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The state with coordinates that the other program has not, those of tendons, as they follow from the others."""
    if not s.mechanics.constrained:
        return q, v
    known = {block.q.start for block in there.blocks}
    names = [name for name in s.joints if s.slice_q(name).start in known]
    q = s.assemble({name: q[s.slice_q(name)] for name in names}, guess=q)
    return q, s.velocity(q, {name: v[s.slice_v(name)] for name in names})


def told_signals(m: ct.Mechanism, model: Any, data: Any, rng: np.random.Generator) -> dict[str, float]:
    """Set points of all servos, given to MuJoCo's data and returned by name."""
    found = {}
    servos = m.servos
    for k in range(len(model.actuator_trntype)):
        name = str(model.actuator(k).name) or f"actuator {k}"
        if name not in servos:
            continue
        ranges = (model.actuator_ctrllimited, model.actuator_ctrlrange)
        values, at = data.ctrl, int(getattr(model, "actuator_ctrladr", range(k + 1))[k])
        if model.actuator_dyntype[k]:
            ranges = (model.actuator_actlimited, model.actuator_actrange)
            values, at = data.act, int(model.actuator_actadr[k]) + int(model.actuator_actnum[k]) - 1
        value = float(rng.uniform(*ranges[1][k]) if ranges[0][k] else rng.normal())
        values[at] = found[name] = value
    return found


def with_mujoco(file: Path, m: ct.Mechanism, unread: str) -> Verdict:
    """Compare a tree of MJCF, with servos at random set points."""
    try:
        model = mujoco.MjModel.from_xml_path(str(file))
    except ValueError as error:
        return ALONE, f"MuJoCo: {' '.join(str(error).split())}"
    flags = mujoco.mjtDisableBit
    for flag in (flags.mjDSBL_CONTACT, flags.mjDSBL_LIMIT, flags.mjDSBL_FRICTIONLOSS, flags.mjDSBL_EQUALITY):
        model.opt.disableflags |= int(flag)
    random = np.random.default_rng(0)
    data = mujoco.MjData(model)
    m = without_equalities(m, model)
    s = m.with_signals(told_signals(m, model, data, random)).system()
    there = ct.mujoco_coordinates(s, model)
    mujoco.mj_integratePos(model, data.qpos, random.normal(size=model.nv), 0.3)
    data.qvel[:] = random.normal(size=model.nv)
    q = there.catena_configuration(data.qpos)
    q, v = followed(s, there, q, there.catena_velocity(q, np.array(data.qvel)))
    force = random.normal(size=model.nv)
    data.qfrc_applied[:] = force
    mujoco.mj_forward(model, data)
    tau = there.catena_effort(q, force)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    try:
        own = s.forward_dynamics(q, v, tau)
    except ct.SingularDynamicsError as error:
        return ALONE, f"accelerations are not determined: {error}"
    theirs = np.array(data.qacc)
    return judged(there.acceleration(q, v, own), theirs, float(np.linalg.cond(mass)), unread)


def alone(file: Path, m: ct.Mechanism, unread: str) -> Verdict:
    """There is nothing to compare with; accelerations must be there."""
    s = m.system()
    try:
        vdot = s.forward_dynamics(s.neutral(), np.zeros(s.nv), np.zeros(s.nv))
    except ct.SingularDynamicsError as error:
        return ALONE, f"accelerations are not determined: {error}"
    return (ALONE, "no other program here reads SDF") if np.isfinite(vdot).all() else (WRONG, "not finite")


def model_files(folder: Path) -> list[Path]:
    """The model files below a folder: URDF, SDF, and XML files that are MJCF and not parts of others."""
    found = [*folder.rglob("*.urdf"), *folder.rglob("*.sdf")]
    xml = [one for one in folder.rglob("*.xml") if re.search(rb"<mujoco\b", one.read_bytes())]
    return sorted(found + xml)


def packages_around(file: Path, folder: Path) -> list[Path]:
    """Folders that paths in a file may be seen from: those between it and the collection."""
    return [up for up in file.parents if up == folder or folder in up.parents]


def main(arguments: list[str]) -> int:
    """Look at all files of some folders; returns whether something is wrong."""
    wrong = 0
    for argument in (one for one in arguments if not one.startswith("--")):
        folder, tally = Path(argument).resolve(), Tally()
        for file in model_files(folder):
            name = str(file.relative_to(folder))
            verdict, why = look_at(file, packages_around(file, folder))
            tally.add(name, verdict, why)
            if "--all" in arguments or verdict == WRONG:
                print(f"{name}: {verdict} {why}", flush=True)
        print(f"\n{argument}: {tally}\n", flush=True)
        wrong += len(tally.wrong)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
