"""Sensitivities of runs in which something acts, against differences of runs and against formulas."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import random_mechanism
from catena.simulation.references import function

STEPS = np.array([1.0, -1.0, 2.0, -2.0])
"""Where differences of fourth order look at a function, in increments."""
TIGHT = {"samples": 2, "check": False, "rtol": 1e-12, "atol": 1e-14}


def slope(values, h):
    """The derivative at zero of a function with values (..., 4, n) at h STEPS."""
    up, down, far_up, far_down = np.moveaxis(values, -2, 0)
    return (8.0 * (up - down) - (far_up - far_down)) / (12.0 * h)


def difference(at, h):
    """The derivative at zero of a function of one number."""
    return slope(np.array([at(x * h) for x in STEPS]), h)


def ends(run, base):
    """The states at the end of the runs of a batch, as steps from `base` (nq,) and velocities."""
    return np.concatenate(
        [run.system.variants.origin.difference(base, run.q[..., -1, :]), run.v[..., -1, :]], axis=-1
    )


def by_start(s, q, v, duration, base, h=1e-4, **options):
    """The derivatives (2 nv, 2 nv) of the end of a motion by its start: differences of runs, all in one batch."""
    moved = h * STEPS[None, :, None] * np.eye(2 * s.nv)[:, None]
    starts = s.integrate(np.broadcast_to(q, (*moved.shape[:2], s.nq)), moved[..., : s.nv])
    run = ct.simulate(s, starts, v + moved[..., s.nv :], duration, **TIGHT, **options)
    return slope(ends(run, base), h).T


def compare(s, q, v, duration, names=(), rtol=1e-6, **options):
    """Compare all columns of the sensitivities of a tree with differences of runs."""
    found = ct.sensitivities(s, q, v, duration, parameters=names, **options)
    base, size = found.q[-1], s.nv
    close(found.by_start[-1], by_start(s, q, v, duration, base, **options), rtol)
    for name in names:
        values = _value(s, name) + 1e-4 * STEPS
        run = ct.simulate(s, q, v, duration, parameters={name: values}, **TIGHT, **options)
        close(found.by_parameter[name][-1][:, 0], slope(ends(run, base), 1e-4), rtol)
    weight = np.arange(1.0, 2 * size + 1)
    gradient = found.adjoint(weight[:size], weight[size:])
    close(np.concatenate([gradient.q, gradient.v]), weight @ found.by_start[-1], 1e-9)
    for name in names:
        close(gradient.parameters[name], weight @ found.by_parameter[name][-1], 1e-9)
    return found


def _value(s, name):
    body, what = name.rsplit(".", 1)
    return float(getattr(s.mechanism.bodies[body], what))


def close(a, b, rtol):
    np.testing.assert_allclose(a, b, atol=rtol * max(1.0, float(np.abs(b).max())))


def pendulum(**joint):
    m = ct.Mechanism("pendulum")
    m.add_body("a", 1.0, com=(0, 0, -0.5), inertia=0.1)
    m.add_joint("A", "ground", "a", ct.Revolute("y"), **joint)
    m.add_body("b", 0.7, com=(0.1, 0, -0.3), inertia=(0.05, 0.04, 0.03))
    m.add_joint("B", "a", "b", ct.Universal("y", "x"), in_parent=ct.Pose(p=(0, 0, -1.0)), damping=0.05)
    return m.system()


def drag(t, q, v):
    """A wrench that depends on everything, in the axes of its frame."""
    sine = np.sin(3.0 * t)
    return [0.2 * q[..., 0], -3.0 * v[..., 0], 0.1 * sine, sine * q[..., 1], -v[..., 1] * q[..., 2], 0.4]


WRENCHES = {
    "formula": ct.ExternalWrench(
        lambda t, q, v: [0, -3.0 * v[..., 0], 0, 0.5 * ct.symbols.sin(q[..., 1]), 0, 1.0], symbolic=True
    ),
    "function": ct.ExternalWrench(drag),
    "of the time in ground's axes": ct.ExternalWrench(
        lambda t: np.array([0.1, 0.2, 0, 1.0, 0, np.sin(t)]), axes="ground"
    ),
}


@pytest.mark.parametrize("kind", WRENCHES)
def test_wrenches_act_in_the_derivatives(kind):
    s = pendulum()
    q, v = np.array([0.3, 0.2, -0.1]), np.array([0.5, 0.0, 0.4])
    compare(s, q, v, 0.8, ["b.mass"], forces={"b": WRENCHES[kind], "a": WRENCHES["formula"]})


SHAKEN = {
    "function": lambda t: (0.1 * np.sin(9 * t), 0.9 * np.cos(9 * t), -8.1 * np.sin(9 * t)),
    "formula": function(lambda t: [0.1 * ct.symbols.sin(9.0 * t)]),
    "polynomial": ct.quintic([0.0, 1.0], [0.0, 0.2], [0.9, 0.0]),
}


@pytest.mark.parametrize("kind", SHAKEN)
def test_driven_joints_do_not_change_and_drive_the_others(kind):
    m = ct.Mechanism("cart")
    m.add_body("c", 1.0, inertia=0.1)
    m.add_body("a", 1.0, com=(0, 0.1, -0.5), inertia=(0.1, 0.2, 0.15))
    m.add_joint("S", "ground", "c", ct.Prismatic("x"))
    m.add_joint("A", "c", "a", ct.Universal("y", "x"), damping=0.1)
    s = m.system()
    found = compare(
        s, np.array([0.0, 0.3, 0.1]), np.array([0.9, 0.5, -0.2]), 0.7, ["a.mass"], motion={"S": SHAKEN[kind]},
        forces={"a": WRENCHES["of the time in ground's axes"]},
    )  # fmt: skip
    assert not found.by_start[:, :, [0, 3]].any() and not found.by_tau[-1][:, 0].any()
    assert found.by_tau[-1][:, 1].any()


def test_a_driven_spherical_joint_and_free_bodies():
    m = random_mechanism(3, 3, kinds=["Revolute", "Spherical"])
    s = m.system()
    v = 0.5 * np.random.default_rng(0).normal(size=s.nv)
    compare(s, s.neutral(), v, 0.3, ["body2.mass"], forces={"body3": ct.ExternalWrench(drag)})


@pytest.mark.parametrize("damping", [0.0, 10.0])
@pytest.mark.parametrize("intervals", [None, 1, 37])
def test_a_ball_that_bounces_on_an_elastic_limit(damping, intervals):
    """Against a formula without damping, and against differences with it."""
    m = ct.Mechanism("ball")
    m.add_body("b", 1.0, inertia=0.1)
    limit = {"limits": (0.0, 5.0), "limit_stiffness": 1e4, "limit_damping": damping}
    m.add_joint("Z", "ground", "b", ct.Prismatic("z"), **limit)
    s = m.system()
    found = ct.sensitivities(s, [1.0], [0.0], 0.8, intervals=intervals)

    def exact(height, g=9.81, w=100.0, end=0.8):
        touch = np.sqrt(2.0 * height / g)
        v = g * touch
        stay = (np.pi + 2.0 * np.arctan(g / (w * v))) / w
        left = end - touch - stay
        return np.array([v * left - 0.5 * g * left**2, v - g * left])

    if not damping:
        close(found.by_start[-1][:, 0], difference(lambda x: exact(1.0 + x), 1e-3), 1e-7)
    else:
        by_runs = by_start(s, [1.0], np.zeros(1), 0.8, np.zeros(1), 2e-3)
        close(found.by_start[-1], by_runs, 2e-5)
    if intervals is not None:
        assert len(found.transitions) == intervals


@pytest.mark.parametrize(
    "limit", [{}, {"limit_stiffness": 3e3, "limit_damping": 4.0}], ids=["rigid", "elastic"]
)
def test_a_pendulum_that_swings_into_its_limits(limit):
    """The nearly rigid stops of a limit that says nothing else, and elastic ones."""
    s = pendulum(limits=(-0.4, 0.5), **limit)
    q, v = np.array([0.3, 0.2, -0.1]), np.array([1.5, 0.0, 0.4])
    found = ct.sensitivities(s, q, v, 0.9)
    beyond = found.q[:, 0] > 0.5
    assert beyond.any() and not beyond[-1]
    close(found.by_start[-1], by_start(s, q, v, 0.9, found.q[-1], 2e-5), 2e-4)


def four_bar(length=0.8):
    m = ct.Mechanism("four-bar")
    for name, size in (("c", 0.3), ("k", 0.8), ("r", 0.7)):
        m.add_body(name, 1.0, com=(0.5 * size, 0, 0), inertia=(0, size**2 / 12, size**2 / 12))
    m.add_joint("A", "ground", "c", ct.Revolute("y"))
    m.add_joint("B", "c", "k", ct.Revolute("y"), in_parent=ct.Pose(p=(0.3, 0, 0)))
    m.add_joint("D", "ground", "r", ct.Revolute("y"), in_parent=ct.Pose(p=(1, 0, 0)))
    m.add_joint(
        "C", "k", "r", ct.Revolute("y"), in_parent=ct.Pose(p=(length, 0, 0)), in_child=ct.Pose(p=(0.7, 0, 0))
    )
    return m


@pytest.mark.parametrize(("cut", "driven"), [("A", False), ("B", True), ("C", False), ("D", True)])
def test_a_length_in_a_loop_at_every_cut(cut, driven):
    """The loop stays closed with the other length, and the independent joint is held at the start."""
    s = four_bar().system(cut=[cut])
    guess = four_bar().system(cut=["C"])
    there = guess.assemble({"A": 0.5}, guess={"D": -1.5})
    q = s.assemble({name: guess.joint_position(there, name) for name in s.joints})
    v = s.velocity(q, {"A": 2.0})
    options = {"motion": {"A": lambda t: (0.5 + 2.0 * t, 2.0, 0.0)}} if driven else {}
    name = "C.in_parent.p.x"
    found = ct.sensitivities(s, q, v, 0.3, parameters=["k.mass", name], **options)
    (own,) = found.independent
    assert not driven or s.joints[own] == "A"

    def at(x):
        changed = four_bar(0.8 + x).system(cut=[cut])
        start = changed.assemble({s.joints[own]: q[own]}, guess=q)
        rate = changed.velocity(start, {s.joints[own]: v[own]})
        run = ct.simulate(changed, start, rate, 0.3, **TIGHT, **options)
        return np.concatenate([run.q[-1], run.v[-1]])

    close(found.by_parameter[name][-1][:, 0], difference(at, 1e-4), 1e-6)
    weight = np.arange(6.0)
    gradient = found.adjoint(weight[:3], weight[3:])
    close(gradient.parameters[name], weight @ found.by_parameter[name][-1], 1e-9)
    if driven:
        assert np.abs(found.by_start).max() < 1e-12


def test_what_cannot_be_differentiated_is_refused_in_words():
    s = pendulum()
    q, v = np.zeros(3), np.zeros(3)
    with pytest.raises(ct.StateError, match="contacts"):
        ct.sensitivities(s, q, v, 1.0, contacts=[ct.Stop("A")])
    with pytest.raises(ct.StateError, match="control"):
        ct.sensitivities(s, q, v, 1.0, control=lambda t, q, v: -v)
    change = ct.Event(lambda t, q, v: q[0], then=lambda m, q, v: m.lock("A"))
    with pytest.raises(ct.StateError, match="structure"):
        ct.sensitivities(s, q, v, 1.0, events=change)
    loop = four_bar().system(cut=["A"])
    start = loop.assemble({"A": 0.5})
    with pytest.raises(ct.StateError, match=r"keep=\['A'\]"):
        ct.sensitivities(
            loop, start, loop.velocity(start, {"A": 0.0}), 0.1, motion={"A": lambda t: (0.5, 0.0, 0.0)}
        )
    with pytest.raises(ct.StateError, match="batch"):
        ct.sensitivities(s, np.zeros((2, 3)), v, 0.1)
