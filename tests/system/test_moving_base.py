"""Ground that moves, against the same mechanism mounted on a body whose Free joint is prescribed."""

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.mechanism.generators import four_bar, random_mechanism, stewart

KINDS = ("Revolute", "Prismatic", "Universal", "Spherical", "Cylindrical", "Helical", "Planar", "Sdof")


def mounted(mechanism):
    m = ct.Mechanism("carried", gravity=(0, 0, 0))
    m.add_body("carrier", mass=3.0, com=(0.1, 0.2, 0.3), inertia=0.5)
    m.add_joint("carries", "ground", "carrier", ct.Free())
    m.add_mechanism(mechanism, at="carrier")
    return m.system(keep=["carries"])


def both(mechanism, seed, count=3):
    """The mechanism and its twin on a carrier, at the same states under a random motion of the ground."""
    mechanism.gravity = np.zeros(3)
    s, t = mechanism.system(), mounted(mechanism)
    rng = np.random.default_rng(seed)
    if s.loops:
        q = np.array([s.assemble()] * count)
        v = np.array([s.project(q[0], rng.normal(size=s.nv))[1] for _ in range(count)])
    else:
        q, v, _, _ = random_states(s, count, seed)
    base, change = rng.normal(size=(2, count, 6))
    q2, v2 = np.array([t.neutral()] * count), np.zeros((count, t.nv))
    q2[:, t.slice_q("carries")] = t.integrate(t.neutral(), rng.normal(size=t.nv))[t.slice_q("carries")]
    v2[:, t.slice_v("carries")] = base
    for joint in s.joints:
        q2[:, t.slice_q(joint)], v2[:, t.slice_v(joint)] = q[:, s.slice_q(joint)], v[:, s.slice_v(joint)]
    return s, t, q, v, q2, v2, base, change


def columns(s, t):
    return np.concatenate([np.arange(t.nv)[t.slice_v(joint)] for joint in s.joints])


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_on_ground_that_moves(agree, seed):
    s, t, q, v, q2, v2, base, change = both(random_mechanism(seed, 6, KINDS, friction=True), seed)
    tau = np.random.default_rng(seed).normal(size=v.shape)
    at, tau2 = columns(s, t), np.zeros_like(v2)
    tau2[:, at] = tau
    expected, _ = t.hybrid_dynamics(q2, v2, tau2, {"carries": change})
    f_ext = ct.moving_base_wrenches(s, q, v, base)
    found = s.forward_dynamics(q, v, tau, f_ext=f_ext, base_acceleration=change)
    agree(found, expected[:, at], 1e-9)
    # The change of the twist may be among the wrenches too, one state is as good as many, and drives feel the same.
    f_ext = ct.moving_base_wrenches(s, q[0], v[0], base[0], change[0])
    agree(s.forward_dynamics(q[0], v[0], tau[0], f_ext=f_ext), expected[0, at], 1e-9)
    agree(s.inverse_dynamics(q[0], v[0], found[0], f_ext), tau[0], 1e-9, scale=np.abs(found).max())


@pytest.mark.parametrize("make", [four_bar, stewart])
def test_loops_on_ground_that_moves(agree, make):
    s, t, q, v, q2, v2, base, change = both(make(), 5)
    expected, _ = t.hybrid_dynamics(q2, v2, None, {"carries": change})
    f_ext = ct.moving_base_wrenches(s, q, v, base, change)
    agree(s.forward_dynamics(q, v, f_ext=f_ext), expected[:, columns(s, t)], 1e-8)


def test_masses_that_differ_from_state_to_state(agree):
    mechanism = random_mechanism(1, 3, ("Revolute",))
    mechanism.gravity = np.zeros(3)
    s = mechanism.system()
    q, v, _, _ = random_states(s, 2, 1)
    varied = s.vary({"body2.mass": np.array([1.0, 2.5])})
    found = ct.moving_base_wrenches(varied, q, v, np.ones(6))
    for k, mass in enumerate((1.0, 2.5)):
        one = mechanism.with_body("body2", mass=mass).system()
        alone = ct.moving_base_wrenches(one, q[k], v[k], np.ones(6))
        for name, wrench in alone.items():
            agree(found[name][k], wrench, 1e-13)


def test_a_run_on_a_turntable():
    """The ground turns at a constant rate: forces of a run, against a carrier that is made to turn."""
    m = ct.Mechanism("pendulum", gravity=(0, 0, -9.81))
    m.add_body("bob", mass=1.0, com=(0.1, 0, -0.4), inertia=(0.01, 0.02, 0.03))
    m.add_joint("hangs", "ground", "bob", ct.Universal("x", "y"), in_parent=ct.Pose(p=(0.5, 0, 0)))
    turning = np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0])
    s = m.system()
    run = ct.simulate(
        s, [0.3, 0.2], [0.0, 1.0], 0.3,
        forces={"bob": lambda t, q, v: ct.moving_base_wrenches(s, q, v, turning)["bob"]}, rtol=1e-9,
    )  # fmt: skip
    table = ct.Mechanism("turntable", gravity=(0, 0, -9.81))
    table.add_body("table", mass=1.0, inertia=1.0)
    table.add_joint("turns", "ground", "table", ct.Revolute("z"))
    table.add_mechanism(m, at="table")
    other = ct.simulate(
        table.system(), {"hangs": [0.3, 0.2]}, {"turns": 2.0, "hangs": [0.0, 1.0]}, 0.3,
        motion={"turns": lambda t: (2.0 * t, 2.0, 0.0)}, rtol=1e-9,
    )  # fmt: skip
    np.testing.assert_allclose(run.q[-1], other.q[-1, other.system.slice_q("hangs")], atol=1e-8)


def test_what_has_no_wrench_is_refused_in_words():
    s = four_bar().system()
    q = s.assemble()
    with pytest.raises(ct.StateError, match="velocity"):
        ct.moving_base_wrenches(s, q, np.zeros(s.nv), [1.0, 2.0])
    m = ct.Mechanism("beam")
    m.add_body(
        "boom", flexible=ct.Beam(2.0, modes={"y": 1}, area=1e-4, inertia=2e-9, density=2700.0, young=7e10)
    )
    m.add_joint("A", "ground", "boom", ct.Revolute("z"))
    s = m.system()
    with pytest.raises(ct.StateError, match="'boom' is flexible"):
        ct.moving_base_wrenches(s, s.neutral(), np.zeros(s.nv), np.ones(6))


def two_arms(on="ground", second="ground"):
    """Two arms, each on ground or on a carrier of its own."""
    m = ct.Mechanism("arms", gravity=(0, 0, 0))
    for carrier in {on, second} - {"ground"}:
        m.add_body(carrier, 3.0, (0.1, 0.2, 0.3), 0.5)
        m.add_joint(f"carries {carrier}", "ground", carrier, ct.Free())
    for k, base in enumerate((on, second)):
        parent, at = base, ct.Pose(p=(0.3 + k, 0.1, 0.2))
        for j, axis in enumerate("zyx"):
            m.add_body(f"{k}{j}", 1.0 + j, (0.2, 0.1 * k, 0.05), (0.02, 0.03, 0.04))
            m.add_joint(f"turns {k}{j}", parent, f"{k}{j}", ct.Revolute(axis), at)
            parent, at = f"{k}{j}", ct.Pose(p=(0.4, 0, 0))
    return m


def test_bases_with_motions_of_their_own(agree):
    """Against two carriers whose Free joints are prescribed, each in a way of its own."""
    s, t = two_arms().system(), two_arms("left", "right").system()
    rng = np.random.default_rng(3)
    q, v, tau = rng.normal(size=(3, s.nv))
    velocity, change = ({f"turns {k}0": rng.normal(size=6) for k in (0, 1)} for _ in range(2))
    q2, v2, tau2 = t.neutral(), np.zeros(t.nv), np.zeros(t.nv)
    for k, carrier in enumerate(("left", "right")):
        v2[t.slice_v(f"carries {carrier}")] = velocity[f"turns {k}0"]
    for joint in s.joints:
        q2[t.slice_q(joint)], v2[t.slice_v(joint)] = q[s.slice_q(joint)], v[s.slice_v(joint)]
        tau2[t.slice_v(joint)] = tau[s.slice_v(joint)]
    drives = {f"carries {carrier}": change[f"turns {k}0"] for k, carrier in enumerate(("left", "right"))}
    expected, _ = t.hybrid_dynamics(q2, v2, tau2, drives)
    found = s.forward_dynamics(q, v, tau, f_ext=ct.moving_base_wrenches(s, q, v, velocity, change))
    agree(found, expected[columns(s, t)], 1e-9)
    # A base that is not named rests, and alike motions are those of the ground.
    one = ct.moving_base_wrenches(s, q, v, {"turns 10": velocity["turns 10"]})
    assert not np.any(one["02"])
    assert np.any(one["12"])
    all_alike = ct.moving_base_wrenches(s, q, v, dict.fromkeys(velocity, np.ones(6)))
    for body, wrench in ct.moving_base_wrenches(s, q, v, np.ones(6)).items():
        agree(all_alike[body], wrench, 1e-14)


def test_loops_between_bases_that_move_apart_are_refused():
    s, bars = two_arms().system(), four_bar().system()
    with pytest.raises(ct.StateError, match="closes a loop between bases that move in different ways"):
        ct.moving_base_wrenches(bars, bars.assemble(), np.zeros(bars.nv), {bars.joints[0]: np.ones(6)})
    with pytest.raises(ct.CatenaError, match="joint on ground"):
        ct.moving_base_wrenches(s, s.neutral(), np.zeros(s.nv), {"turns 01": np.ones(6)})
