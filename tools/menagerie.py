"""Loads every MJCF model of a collection and compares its accelerations with MuJoCo's.

Usage: python tools/menagerie.py FOLDER [ROBOT ...]

A robot is a folder of FOLDER; its models are the files *.xml in it but for scenes, which are models on a floor. Each
that MuJoCo compiles is loaded by one call, and at random states forward dynamics is compared: with springs, dampers,
rotors, fluid, tendons, compensated weight and servos at random set points. Limits, contacts, dry friction and, because
MuJoCo holds them by forces that give way, equality constraints are out on both sides. A model with equalities is also
assembled. A line tells the verdict on each model, and the last ones count them: none is silent.
"""

import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from model_collections import followed, told_signals, without_equalities

import catena as ct
from catena.bridges.conventions import mujoco_coordinates

STATES = 4
"""How many states are compared."""
AGREES = (1e-9, 1e-8)
"""Differences that count as agreement, as a part of the largest acceleration where that is more than 1."""
OUT = ("CONTACT", "LIMIT", "FRICTIONLOSS", "EQUALITY")
UNREAD = "MuJoCo applies what is not read: "


def models_of(folder: Path, chosen: list[str]) -> list[Path]:
    """The models of a collection in the order of their names."""
    robots = [folder / name for name in chosen] or sorted(p for p in folder.iterdir() if p.is_dir())
    return [file for robot in robots for file in sorted(robot.glob("*.xml")) if "scene" not in file.stem]


def open_and_free(m: ct.Mechanism, model: Any) -> ct.Mechanism:
    """The mechanism without equality constraints, limits and dry friction."""
    m = without_equalities(m, model)
    for name, joint in m.joints.items():
        if joint.limits is not None or joint.friction.any():
            m = m.with_joint(name, limits=None, friction=0.0)
    return m


def without_force_limits(m: ct.Mechanism, model: Any) -> ct.Mechanism:
    """The mechanism with servos of any strength; the same is done to the model."""
    model.actuator_forcelimited[:] = 0
    model.jnt_actfrclimited[:] = 0
    model.tendon_actfrclimited[:] = 0
    for name in m.servos:
        m = m.with_force(name, limits=())
    return m


def difference(m: ct.Mechanism, model: Any) -> float:
    """The largest difference of accelerations at random states, over the largest of them where that is more than 1."""
    rng, data, worst = np.random.default_rng(0), mujoco.MjData(model), 0.0
    for word in OUT:
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{word}"))
    m = open_and_free(m, model)
    m = m.with_signals(told_signals(m, model, data, rng))
    s = m.system()
    there = mujoco_coordinates(s, model)
    for _ in range(STATES):
        mujoco.mj_integratePos(model, data.qpos, 0.5 * rng.normal(size=model.nv), 1.0)
        data.qvel[:] = rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        q = there.catena_configuration(data.qpos)
        q, v = followed(s, there, q, there.catena_velocity(q, data.qvel))
        ours = there.acceleration(q, v, s.forward_dynamics(q, v, np.zeros(s.nv)))
        most = max(1.0, float(np.abs(data.qacc).max(initial=0.0)))
        worst = max(worst, float(np.abs(ours - data.qacc).max(initial=0.0)) / most)
    return worst


def verdict(file: Path) -> tuple[str, str]:
    """What came of a model: a word to count by, and the details."""
    try:
        model = mujoco.MjModel.from_xml_path(str(file))
    except ValueError as error:
        return "MuJoCo does not compile it", str(error).splitlines()[0][:90]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            m = ct.load(file)
        except ct.CatenaError as error:
            return "not loaded", str(error)[:200]
    words = [str(one.message) for one in caught]
    left_out = next((word.partition(UNREAD)[2] for word in words if UNREAD in word), "")
    details = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model.neq:
            s = m.system()
            try:
                q = s.assemble()
                gap = float(np.abs(s.closure(q)[0]).max(initial=0.0)) if s.mechanics.constrained else 0.0
                details.append(f"{model.neq} equalities, closed to {gap:.1e}")
            except ct.CatenaError as error:
                details.append(f"{model.neq} equalities, not closed: {str(error)[:80]}")
        try:
            worst = difference(m, model)
        except ct.CatenaError as error:
            return "not compared", f"{str(error)[:160]} {'; '.join(details)}"
    details.insert(0, f"{worst:.1e}")
    for bound in AGREES:
        if worst <= bound:
            return f"agrees to {bound:.0e}", ", ".join(details)
    if left_out:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stronger = difference(without_force_limits(m, model), model)
        if stronger <= AGREES[0]:
            word = f"agrees to {AGREES[0]:.0e} without limits of force"
            return word, f"{stronger:.1e}, with them {', '.join(details)}: {left_out}"
        return "differs because of what is left out", f"{', '.join(details)}: {left_out}"
    return "differs", ", ".join(details)


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    count: Counter[str] = Counter()
    folder = Path(sys.argv[1])
    for file in models_of(folder, sys.argv[2:]):
        begun = time.perf_counter()
        word, details = verdict(file)
        count[word] += 1
        seconds = time.perf_counter() - begun
        print(f"{file.relative_to(folder)!s:<60} {seconds:6.1f} s  {word}: {details}", flush=True)
    print()
    for word, number in count.most_common():
        print(f"{number:4d} {word}")
    return 1 if count["differs"] or count["not loaded"] or count["not compared"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
