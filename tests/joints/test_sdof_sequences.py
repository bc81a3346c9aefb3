"""SDOF joints of any sequence: axes that come again, and motions that stand still between others.

They are compared with the same motions said in another way: one joint after the other with bodies of next to no mass
between, SciPy's Euler angles, and trees whose loops are cut elsewhere.
"""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import catena as ct
from catena.joints import Sdof, check_joint_kind
from catena.joints.sdof import MOTIONS, ROTATIONS

EULER = [names for names in product(ROTATIONS, repeat=3) if names[0] != names[1] and names[1] != names[2]]
UNUSUAL = [
    Sdof("rz", "ry", "rz"),
    Sdof("rz", "dx", "rz"),
    Sdof("dx", "rz", "dx"),
    Sdof("rx", ("rz", 0.5), "dx"),
    Sdof("rx", ("rz", 0.3), "ry", "dz"),
    Sdof(("ry", 0.3), "rx", ("dz", 0.2), "ry", ("rz", 1.0), "dy", "dx"),
    Sdof("rz", ("dx", 0.4), "rx", "ry"),
]


def step_by_step(kind):
    """The pose of the child by one elementary pose after the other, at q and at zero."""

    def elementary(name, x):
        turned = np.where(np.arange(3) == "xyz".index(name[1]), x, 0.0)
        return ct.Pose(R=Rotation.from_rotvec(turned).as_matrix()) if name in ROTATIONS else ct.Pose(p=turned)

    def reached(q):
        pose, values = ct.Pose(), iter(q)
        for step in kind.sequence:
            pose = pose * (elementary(step, next(values)) if isinstance(step, str) else elementary(*step))
        return pose

    return lambda q: reached(q) * reached(np.zeros(kind.nq)).inverse()


@pytest.mark.parametrize("kind", UNUSUAL, ids=str)
def test_every_sequence_keeps_the_contract_and_goes_where_its_motions_lead(kind):
    check_joint_kind(kind, seed=1)
    check_joint_kind(kind.flip(), seed=2)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = rng.uniform(-3.0, 3.0, kind.nq)
        assert kind.transform(q).pose().allclose(step_by_step(kind)(q), 1e-13)
        moved = kind.coordinates_near(kind.transform(q), q + rng.uniform(-0.05, 0.05, kind.nq))
        np.testing.assert_allclose(moved, q, atol=1e-7)


def test_all_sequences_of_up_to_three_motions_are_joints_or_refused():
    rng = np.random.default_rng(0)
    made = 0
    for names in (names for k in (1, 2, 3) for names in product(MOTIONS, repeat=k)):
        try:
            kind = Sdof(*names)
        except ct.ModelError:
            rank = [
                np.linalg.matrix_rank(np.stack([column.array for column in columns_of(names, q)]), tol=1e-9)
                for q in rng.uniform(-1.0, 1.0, (3, len(names)))
            ]
            assert max(rank) < len(names), names
            continue
        made += 1
        q = rng.uniform(-3.0, 3.0, len(names))
        X = kind.transform(q)
        np.testing.assert_allclose(kind.transform(kind.coordinates(X)).entries(), X.entries(), atol=1e-9)
        np.testing.assert_allclose(kind.coordinates_near(X, q), q, atol=1e-8)
    assert made == 174


def columns_of(names, q):
    """The axes of single motions, each carried through those after it."""
    columns = []
    for name, x in zip(names, q, strict=True):
        single = Sdof(name)
        columns = [single.transform(np.array([x])) * column for column in columns]
        columns += single.motion_space(np.array([x])).columns()
    return columns


@pytest.mark.parametrize("names", EULER, ids="".join)
def test_euler_angles_of_all_twelve_kinds_are_those_of_scipy(names):
    kind, letters = Sdof(*names), "".join(name[1] for name in names).upper()
    rng = np.random.default_rng(4)
    middle = rng.uniform(0.1, 3.0) if letters[0] == letters[2] else rng.uniform(-1.5, 1.5)
    q = np.array([rng.uniform(-3.0, 3.0), middle, rng.uniform(-3.0, 3.0)])
    R = Rotation.from_euler(letters, q).as_matrix()
    np.testing.assert_allclose(kind.transform(q).pose().R, R, atol=1e-14)
    np.testing.assert_allclose(kind.coordinates(kind.transform(q)), q, atol=1e-12)
    pose = ct.Pose(euler=(letters, q))
    np.testing.assert_allclose(pose.R, R, atol=1e-15)
    np.testing.assert_allclose(pose.euler(letters), q, atol=1e-12)
    fixed = letters.lower()
    np.testing.assert_allclose(
        ct.Pose(euler=(fixed, q)).R, Rotation.from_euler(fixed, q).as_matrix(), atol=1e-15
    )
    # Where the axes fall together the angles are still those of the place.
    for lock in (0.0, np.pi) if letters[0] == letters[2] else (-np.pi / 2, np.pi / 2):
        X = kind.transform(np.array([0.4, lock, 0.3]))
        np.testing.assert_allclose(kind.transform(kind.coordinates(X)).entries(), X.entries(), atol=1e-9)


def chain(kinds, tip):
    """A heavy body on an arm; between several joints there are bodies that weigh next to nothing."""
    m = ct.Mechanism("chain", gravity=(1.0, 2.0, -9.0))
    m.add_body("arm", mass=2.0, com=(0.1, 0.2, 0.0), inertia=(0.2, 0.3, 0.4))
    m.add_joint("root", "ground", "arm", ct.Universal("x", "z"))
    parent = "arm"
    for k, (kind, before) in enumerate(kinds, 1):
        last = k == len(kinds)
        own = {"mass": 1.5, "com": (0.2, 0.1, -0.1), "inertia": (0.05, 0.06, 0.07)} if last else {}
        m.add_body(f"b{k}", **own)
        after = {"in_child": tip.inverse()} if last else {}
        m.add_joint(f"j{k}", parent, f"b{k}", kind, in_parent=before, **after)
        parent = f"b{k}"
    return m


@pytest.mark.parametrize("kind", [UNUSUAL[0], UNUSUAL[3], UNUSUAL[5]], ids=str)
def test_the_dynamics_is_that_of_one_joint_after_the_other(kind):
    """In the tree, and as the joint that closes a loop with a body which is held by nothing else."""
    single, before = [], ct.Pose()
    for step in kind.sequence:
        if isinstance(step, str):
            single.append((Sdof(step), before))
            before = ct.Pose()
        else:
            before = before * step_by_step(Sdof(step[0]))(np.array([step[1]]))
    held = ct.Pose()
    for step in kind.sequence:
        if not isinstance(step, str):
            held = held * step_by_step(Sdof(step[0]))(np.array([step[1]]))
    one = chain([(kind, ct.Pose())], ct.Pose())
    several = chain(single, before * held.inverse())
    rng = np.random.default_rng(5)
    q, v, tau = (rng.uniform(-0.8, 0.8, one.system().nv) for _ in range(3))
    # Angles as a loop joint is told them; there are two ways to say three.
    q[2:] = kind.coordinates(kind.transform(q[2:]))
    ours = one.system().forward_dynamics(q, v, tau)
    theirs = several.system().forward_dynamics(q, v, tau)
    np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())
    loose = one.attach("loose", "ground", "b1", ct.Free())
    cut = loose.system(cut=["j1"])
    state = ct.transfer(one.system(), q, v, cut)
    np.testing.assert_allclose(cut.joint_position(state.q, "j1"), q[2:], atol=1e-9)
    vdot = cut.forward_dynamics(state.q, state.v, {"root": tau[:2], "j1": tau[2:]})
    np.testing.assert_allclose(vdot[cut.slice_v("root")], ours[:2], atol=1e-8 * np.abs(ours).max())
