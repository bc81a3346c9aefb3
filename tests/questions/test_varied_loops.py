"""Loops whose numbers differ from state to state: what is asked of all of them together against a mechanism of its own
for each state, with nobody planned for a state alone."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar, stewart

STATES = 4
MECHANISMS = {"arm7": arm7, "four-bar": four_bar, "Stewart": stewart, "coupled": lambda: coupled()}


def coupled():
    """Two swinging arms that gears tie together, with redundant gears, and a weld."""
    m = ct.Mechanism("coupled")
    for name, x in (("a", 0.0), ("b", 0.5)):
        m.add_body(name, 1.0, com=(0.1, 0, 0.2), inertia=(0.02, 0.03, 0.01))
        m.add_joint(f"hinge {name}", "ground", name, ct.Revolute("y"), in_parent=ct.Pose(p=(x, 0, 0)))
    m.add_body("load", 0.3, inertia=0.01)
    m.add_joint("weld", "b", "load", ct.Fixed(), in_parent=ct.Pose(p=(0, 0, 0.4)))
    m.add_coupling("gears", {"hinge a": 2.0, "hinge b": 1.0})
    m.add_coupling("more gears", {"hinge a": 4.0, "hinge b": 2.0})
    return m


def drawn(m, rng):
    """Numbers of a body's mass and centre, of a joint's places and friction, and of gravity, for each state."""
    s = m.system()
    joint = s.loops[0] if s.loops else s.joints[-1]
    body = m.joints[joint].child
    nv = m.joints[joint].kind.nv
    return body, joint, {
        f"{body}.mass": m.bodies[body].mass * rng.uniform(0.5, 1.5, STATES),
        f"{body}.com": m.bodies[body].com + rng.normal(0.0, 0.02, (STATES, 3)),
        f"{joint}.in_parent.p": m.joints[joint].in_parent.p + [1.0, 0.0, 0.0] * rng.normal(0.0, 0.02, (STATES, 1)),
        f"{joint}.in_child.p": m.joints[joint].in_child.p + [1.0, 0.0, 0.0] * rng.normal(0.0, 0.02, (STATES, 1)),
        f"{joint}.damping": rng.uniform(0.1, 0.4, (STATES, nv)) if nv > 1 else rng.uniform(0.1, 0.4, STATES),
        "gravity": m.gravity * rng.uniform(0.5, 1.5, (STATES, 1)),
    }  # fmt: skip


def own(m, body, joint, given, k):
    g = {name: x[k] for name, x in given.items()}
    turned = m.joints[joint]
    m = m.with_body(body, mass=g[f"{body}.mass"], com=g[f"{body}.com"])
    m = m.with_joint(
        joint, damping=g[f"{joint}.damping"],
        in_parent=ct.Pose(p=g[f"{joint}.in_parent.p"], R=turned.in_parent.R),
        in_child=ct.Pose(p=g[f"{joint}.in_child.p"], R=turned.in_child.R),
    )  # fmt: skip
    m.gravity = g["gravity"]
    return m.system()


@pytest.fixture(scope="module", params=MECHANISMS)
def case(request):
    rng = np.random.default_rng(5)
    m = MECHANISMS[request.param]()
    body, joint, given = drawn(m, rng)
    alone = [own(m, body, joint, given, k) for k in range(STATES)]
    s = m.system()
    varied = s.vary(given)
    q = varied.assemble({}, s.assemble())
    if not s.plan.total_constraints:
        q = q + rng.normal(size=q.shape)
    v = varied.project(q, rng.normal(size=(STATES, s.nv)))[1]
    tau = rng.normal(size=(STATES, s.nv))
    return varied, alone, (q, v, tau), joint, body


def push(body):
    return {body: np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])}


def ones(s, joint, n=1):
    return {joint: np.ones(s.mechanism.joints[joint].kind.nv)}


ASKED = {
    "project": lambda s, q, v, tau, joint, body: s.project(s.integrate(q, 1e-3 * tau), v),
    "project holding": lambda s, q, v, tau, joint, body: s.project(s.integrate(q, 1e-3 * tau), v, held=()),
    "closure Jacobian": lambda s, q, v, tau, joint, body: s.closure_jacobian(q),
    "joint position": lambda s, q, v, tau, joint, body: s.joint_position(q, joint),
    "joint velocity": lambda s, q, v, tau, joint, body: s.joint_velocity(q, v, joint),
    "reactions": lambda s, q, v, tau, joint, body: s.reactions(q, v, tau),
    "reactions under a push": lambda s, q, v, tau, joint, body: s.reactions(q, v, f_ext=push(body)),
    "reactions, motor in the joint": lambda s, q, v, tau, joint, body: s.reactions(q, v, ones(s, joint)),
    "joint wrench": lambda s, q, v, tau, joint, body: ct.joint_wrench(s, q, v, joint).tau_c,
    "coupling forces": lambda s, q, v, tau, joint, body: s.coupling_forces(q, v, tau),
    "forward by kkt": lambda s, q, v, tau, joint, body: s.forward_dynamics(q, v, tau, method="kkt"),
    "forward, motor in the joint": lambda s, q, v, tau, joint, body: s.forward_dynamics(q, v, ones(s, joint)),
    "inverse by name": lambda s, q, v, tau, joint, body: s.inverse_dynamics(
        q, v, s.forward_dynamics(q, v, tau), actuated=list(s.joints)
    ),
    "inverse": lambda s, q, v, tau, joint, body: s.inverse_dynamics(q, v, s.forward_dynamics(q, v)),
    "hybrid": lambda s, q, v, tau, joint, body: s.hybrid_dynamics(
        q, v, tau, {s.joints[0]: s.forward_dynamics(q, v)[..., s.slice_v(s.joints[0])]}
    ),
    "operational space": lambda s, q, v, tau, joint, body: s.operational_space(q, body),
}  # fmt: skip


@pytest.mark.parametrize("asked", ASKED)
def test_loops_that_differ_answer_together_what_each_mechanism_answers(case, asked, monkeypatch):
    varied, alone, (q, v, tau), joint, body = case
    expected = [ASKED[asked](s, q[k], v[k], tau[k], joint, body) for k, s in enumerate(alone)]

    def refused(*_, **__):
        raise AssertionError("A mechanism was planned for a state alone.")

    monkeypatch.setattr(ct.Mechanism, "system", refused)
    # Two rows of states with the parameters of the same mechanisms, as a batch of two dimensions.
    found = ASKED[asked](varied, *(np.stack([x, x]) for x in (q, v, tau)), joint, body)
    compare(found, expected)


def compare(found, expected):
    first = expected[0]
    if isinstance(first, dict):
        assert list(found) == list(first)
        for name in first:
            compare(found[name], [one[name] for one in expected])
    elif isinstance(first, tuple):
        for k in range(len(first)):
            compare(found[k], [one[k] for one in expected])
    else:
        size = max(1.0, np.abs(expected).max(initial=0.0))
        for row in found:
            np.testing.assert_allclose(row, expected, rtol=0.0, atol=1e-10 * size)


def test_a_loop_that_cannot_close_is_told_with_its_state_and_the_others():
    s = four_bar().system()
    joint = s.loops[0]
    place = four_bar().joints[joint].in_parent.p[0]
    varied = s.vary({f"{joint}.in_parent.p.x": np.array([place, place + 5.0, place])})
    with pytest.raises(ct.LoopError) as error:
        varied.project(s.assemble())
    assert list(error.value.failed) == [(1,)]
    np.testing.assert_allclose(error.value.found[[0, 2]], [s.project(s.assemble())] * 2, atol=1e-12)


def test_pitches_that_differ_are_asked_one_by_one():
    m = four_bar()
    m.add_body("nut", 0.1, inertia=0.01)
    m.add_joint("screw", "ground", "nut", ct.Helical("z", pitch=0.1))
    s = m.system()
    pitches, q = np.array([0.1, 0.2]), s.assemble()
    rng = np.random.default_rng(0)
    v = s.project(q, rng.normal(size=s.nv))[1]
    found = s.vary({"screw.pitch": pitches}).reactions(q, v)
    for k, pitch in enumerate(pitches):
        alone = m.with_joint("screw", kind=ct.Helical("z", pitch=pitch)).system().reactions(q, v)
        for name in alone:
            np.testing.assert_allclose(found[name][k], alone[name], atol=1e-11)
