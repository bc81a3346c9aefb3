"""Loads every closed-chain robot of a folder and prints what came of it.

Usage: python tools/closed_chain_robots.py FOLDER [ROBOT ...]

A robot is a folder with a URDF tree, robot.urdf, and its companion of Extended URDF, robot.yaml, as in the collection
example-parallel-robots. Each is loaded by one call and assembled; its mobility is told beside the number of its motors,
forward dynamics is compared with Pinocchio's constraintDynamics on a model built from the same files without Catena,
and half a second of falling is audited. A robot that falls into its stops faster than stops of some milliseconds can
hold, which the audit says, falls again with stops that are rigid. What cannot be closed is told with the loops at fault
and the repair.
"""

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import yaml
from verdicts import AGREES, REFUSED, WRONG, Tally

import catena as ct

CLOSE = 1e-9
AXES = {"X": pin.JointModelRX, "Y": pin.JointModelRY, "Z": pin.JointModelRZ}


def pinocchio_model(folder: Path) -> tuple[Any, Any, Any]:
    """The robot as the authors of the format build it: each joint of the tree anew with its own kind, and constraints
    between frames. A cardan joint `name` becomes `name_1` and `name_2`."""
    tree = pin.buildModelFromUrdf(str(folder / "robot.urdf"))
    content = yaml.safe_load((folder / "robot.yaml").read_text())
    kinds = dict(zip(content.get("joint_name") or (), content.get("joint_type") or (), strict=True))
    held = [tree.getJointId(name) for name, kind in kinds.items() if kind == "FIXED"]
    tree = pin.buildReducedModel(tree, held, pin.neutral(tree)) if held else tree
    model, at = pin.Model(), {0: 0}
    model.gravity = tree.gravity
    for k in range(1, tree.njoints):
        name, parent, place, joint = (
            tree.names[k],
            at[tree.parents[k]],
            tree.jointPlacements[k],
            tree.joints[k],
        )
        kind = kinds.get(name, "")
        if kind == "SPHERICAL":
            joint = pin.JointModelSpherical()
        elif kind.startswith("UJOINT_"):
            parent = model.addJoint(parent, AXES[kind[-2]](), place, f"{name}_1")
            name, place, joint = f"{name}_2", pin.SE3.Identity(), AXES[kind[-1]]()
        at[k] = model.addJoint(parent, joint, place, name)
        model.appendBodyToJoint(at[k], tree.inertias[k], pin.SE3.Identity())
    constraints, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for pair, word in zip(content["closed_loop"], content["type"], strict=True):
        ends: list[Any] = []
        for name in pair:
            frame = tree.frames[tree.getFrameId(name)]
            ends += [at[frame.parentJoint], frame.placement]
        kind = pin.ContactType.CONTACT_3D if word.lower() == "3d" else pin.ContactType.CONTACT_6D
        constraints.append(pin.RigidConstraintModel(kind, model, *ends, pin.ReferenceFrame.LOCAL))
        datas.append(constraints[len(constraints) - 1].createData())
    return model, constraints, datas


def difference(folder: Path, m: ct.Mechanism) -> float:
    """The largest difference of accelerations between Catena and Pinocchio in a closed state that moves, over the
    largest acceleration where that is more than 1."""
    model, constraints, datas = pinocchio_model(folder)
    # With the loops cut where the file has them, the tree is that of Pinocchio.
    s = m.system(cut=[name for name, joint in m.joints.items() if " on " in name and not joint.actuated])
    q = s.assemble()
    v = s.project(q, 0.3 * np.random.default_rng(0).normal(size=s.nv), held=[])[1]
    p, w, own = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    accelerations = s.forward_dynamics(q, v, elements=False)
    for k in range(1, model.njoints):
        name, joint = model.names[k], model.joints[k]
        base, parts = (
            (name, slice(None)) if name in s.joints else (name[:-2], slice(int(name[-1]) - 1, int(name[-1])))
        )
        at = q[s.slice_q(base)][parts]
        if len(at) == 4:
            at = np.roll(at, -1)
        elif joint.nq == 2:
            at = np.array([np.cos(at[0]), np.sin(at[0])])
        p[joint.idx_q : joint.idx_q + joint.nq] = at
        w[joint.idx_v : joint.idx_v + joint.nv] = v[s.slice_v(base)][parts]
        own[joint.idx_v : joint.idx_v + joint.nv] = accelerations[s.slice_v(base)][parts]
    data = model.createData()
    pin.initConstraintDynamics(model, data, constraints, datas)
    settings = pin.ProximalSettings(1e-14, 1e-10, 1000)
    expected = pin.constraintDynamics(model, data, p, w, np.zeros(model.nv), constraints, datas, settings)
    return float(np.abs(own - expected).max() / max(1.0, np.abs(expected).max()))


def look_at(folder: Path) -> tuple[str, str]:
    """Print what comes of one robot; returns the verdict and why."""
    start = time.perf_counter()
    m = ct.load(folder / "robot.urdf")
    s = m.system()
    motors = [name for name, joint in m.joints.items() if joint.actuated]
    try:
        q = s.assemble()
    except ct.LoopError as error:
        print(f"{folder.name:22} cannot be closed ({time.perf_counter() - start:.2f} s):\n  {error}")
        return REFUSED, "its loops cannot be closed"
    taken, closed = time.perf_counter() - start, np.abs(s.closure(q)[0]).max()
    mobility, falls = s.diagnose(q).mobility, "falling"
    audit = ct.simulate(s, q, np.zeros(s.nv), duration=0.5).audit()
    if not audit.ok:
        stops = [ct.Stop(name) for name, joint in m.joints.items() if joint.limits is not None]
        run = ct.simulate(s, q, np.zeros(s.nv), duration=0.5, contacts=stops)
        falls, audit = f"falling into {len(run.transitions)} impacts at rigid stops", run.audit()
    apart = difference(folder, m)
    print(
        f"{folder.name:22} mobility {mobility:2} motors {len(motors):2} loops {len(s.loops)} closed to {closed:.0e} in "
        f"{taken:.2f} s; against Pinocchio {apart:.1e}; {falls}: audit "
        f"{'ok' if audit.ok else 'NOT OK'}",
        flush=True,
    )
    if not audit.ok:
        print(audit)
        return WRONG, "the audit of its motion is not ok"
    return (AGREES, "") if apart <= CLOSE else (WRONG, f"accelerations differ by {apart:.1e}")


def main(arguments: list[str]) -> int:
    """Look at all robots of a folder, or at those named, and print the tally."""
    folder, *names = arguments
    robots = sorted(one.parent for one in Path(folder).glob("*/robot.yaml"))
    chosen = [one for one in robots if not names or one.name in names]
    warnings.simplefilter("ignore")
    tally = Tally()
    for one in chosen:
        tally.add(one.name, *look_at(one))
    print(tally)
    return int(bool(tally.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
