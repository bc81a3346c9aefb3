"""Laws through loops, as formulas in the step: against the decompositions that find the same by numbers, and against
what forward and inverse dynamics say of the forces that they give."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, arms_on_object, delta, four_bar, hslm, random_mechanism, stewart
from tests.simulation.control.laws import ByNumbers, agrees


def one_motor(motor="A"):
    """A four-bar with one motor, a spring, and friction in the tree and in the joint that closes the loop."""
    return smooth(motor).with_joint("C", friction=0.1)


def smooth(motor="A"):
    """The same without dry friction."""
    m = four_bar()
    for joint in m.joints:
        m = m.with_joint(joint, actuated=joint == motor, damping=0.2)
    m.add_force("spring", ct.forces.JointSpring(4.0, 0.3), joint="B")
    return m


def laws_of(s, rate=None):
    """All laws of a mechanism with loops, with paths from where it is assembled; the path of joints that lead."""
    q, rng = s.assemble(), np.random.default_rng(0)
    frame = list(s.plan.body_pose)[-1]
    place = np.asarray(s.pose(q, frame).p) + 0.02 * rng.normal(size=3)
    first = next(j for j in s.joints if s.plan.actuated[s.slice_v(j)].any())
    path = {first: q[s.slice_q(first)]}
    return {
        "of one joint": ct.ComputedTorque(s, path, 30.0, damping=3.0, rate=rate),
        "of all": ct.ComputedTorque(s, {j: q[s.slice_q(j)] for j in s.joints}, 30.0, rate=rate),
        "gravity": ct.PID(s, path, 1.0, rate=rate) + ct.GravityCompensation(s, partial=True),
        "place": ct.TaskSpace(s, frame, place, 30.0, posture=s.neutral(), damping=3.0, rate=rate),
        "pose": ct.TaskSpace(s, frame, ct.PosePath(place), 30.0, rate=rate),
    }


def closed_states(s, rng, count=3, far=0.1):
    """Closed states beside where the mechanism is assembled, in motion and one at rest."""
    first, found = s.assemble(), []
    for k in range(count):
        way = s.project(first, rng.normal(size=s.nv))[1]
        q = s.integrate(first, far * k * way / max(np.abs(way).max(), 1e-9))
        found.append(s.project(q, (k > 0) * rng.normal(size=s.nv)))
    return found


MADE = {
    "crank": (lambda: one_motor(), {}),
    "rocker": (lambda: one_motor("D"), {"cut": ["A"]}),
    "three motors": (four_bar, {"cut": ["B"]}),
    "hslm": (hslm, {}),
    "delta": (delta, {}),
    "stewart": (stewart, {}),
    "two arms on an object": (lambda: arms_on_object(2), {}),
}
QUICK = ("crank", "rocker", "three motors")


@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=[] if x in QUICK else [pytest.mark.slow]) for x in MADE],
)
def test_laws_through_loops_are_what_decompositions_give(name):
    make, planned = MADE[name]
    s, rng = make().system(**planned), np.random.default_rng(1)
    for which, law in laws_of(s).items():
        agrees(s, law, f"{name}, {which}", closed_states(s, rng, far=0.05 if s.nv > 3 else 0.3))


@pytest.mark.parametrize("seed", [0, 14, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 14))])
def test_the_same_of_mechanisms_made_by_chance(seed):
    """With motors on some joints, too many or too few, constraints of any rank; that of number 14 cannot move at all,
    and is given no forces, where decompositions once gave 1e16."""
    rng = np.random.default_rng(seed)
    m = random_mechanism(
        seed, int(rng.integers(3, 7)), loops=int(rng.integers(1, 3)), friction=bool(rng.integers(2))
    )
    driven = rng.choice(list(m.joints), size=min(len(m.joints), int(rng.integers(1, 5))), replace=False)
    for joint in list(m.joints):
        m = m if joint in driven else m.with_joint(joint, actuated=False)
    s = m.system()
    for which, law in laws_of(s).items():
        if law.compiles:
            agrees(s, law, which, closed_states(s, rng))
            most = max(
                np.abs(law.evaluate(0.0, *x, np.zeros(0), law.inputs(0.0))[0]).max()
                for x in closed_states(s, rng)
            )
            assert most < 1e9


WAYS = {
    "sampled, adaptive": (500.0, {"rtol": 1e-10}),
    "always, adaptive": (None, {"rtol": 1e-10}),
    "sampled, rk4": (500.0, {"integrator": "rk4", "step": 1e-3}),
    "always, semi-implicit": (None, {"integrator": "semi_implicit", "step": 1e-3}),
}


@pytest.mark.parametrize("way", WAYS)
def test_runs_under_laws_through_loops_are_those_under_their_numbers(way):
    rate, chosen = WAYS[way]
    s = one_motor().system()
    q = s.assemble({"A": 0.4})
    both = np.stack([q, s.assemble({"A": 0.9})])
    for name, law in laws_of(s, rate).items():
        run = ct.simulate(s, both, np.zeros((2, s.nv)), 0.02, control=law, check=False, **chosen)
        outside = ct.simulate(s, q, np.zeros(s.nv), 0.02, control=ByNumbers(law), check=False, **chosen)
        assert run.settings["control"].endswith("compiled"), name
        np.testing.assert_allclose(run.q[0, -1], outside.q[-1], atol=1e-9, err_msg=name)
        np.testing.assert_allclose(run.v[0, -1], outside.v[-1], atol=1e-8, err_msg=name)
        np.testing.assert_allclose(run.tau[0, -1], outside.tau[-1], rtol=1e-6, atol=1e-6, err_msg=name)


def test_errors_of_a_crank_decay_as_a_damped_oscillator_does():
    """The closed form, with a spring on another joint and dampers, in the loop too."""
    s, kp, kd = smooth().system(), 64.0, 6.0
    law = ct.ComputedTorque(s, {"A": 0.4}, kp, kd)
    run = ct.simulate(s, s.assemble({"A": 0.9}), np.zeros(s.nv), 0.5, control=law, rtol=1e-10)
    assert run.settings["steps taken by"] == "the compiled loop"
    w = np.sqrt(kp - kd**2 / 4)
    expected = 0.4 + 0.5 * np.exp(-kd / 2 * run.t) * (np.cos(w * run.t) + kd / (2 * w) * np.sin(w * run.t))
    np.testing.assert_allclose(run["A"][:, 0], expected, atol=1e-8)


def test_too_many_motors_share_as_inverse_dynamics_has_them_share():
    """Held against their weight: the least forces, by which nothing accelerates."""
    s = four_bar().system()
    law, rest = ct.GravityCompensation(s), np.zeros(s.nv)
    assert law.compiles
    for angle in (0.2, 0.7, 1.4):
        q = s.assemble({"A": angle})
        tau = law(0.0, q, rest)
        np.testing.assert_allclose(tau, s.inverse_dynamics(q, rest, rest), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(s.forward_dynamics(q, rest, tau), 0.0, atol=1e-9)


def double_pendulum():
    """Two links that hang, the second on a joint without a motor."""
    m = ct.Mechanism("two links")
    for name in "ab":
        m.add_body(name, 1.0, (0, 0, -0.5), 0.1)
    m.add_joint("first", "ground", "a", ct.Revolute("y"))
    m.add_joint("second", "a", "b", ct.Revolute("y"), ct.Pose(p=(0, 0, -1.0)), actuated=False)
    return m


@pytest.mark.parametrize("chosen", [{}, {"integrator": "rk4", "step": 1e-3}])
@pytest.mark.parametrize("rate", [None, 1000.0])
def test_what_is_not_held_any_more_is_said_in_the_words_of_python(rate, chosen):
    """The formula has no words; a run that finds no number there asks who has."""
    s = double_pendulum().system()
    law = ct.GravityCompensation(s, rate=rate)
    assert law.compiles
    for v in ([0.0, 0.5], [[0.0, 0.5], [0.0, 0.0]]):
        q = np.zeros(np.shape(v))
        with pytest.raises(
            ct.LoopError, match="cannot hold it at t = .*joints \\['second'\\] have no actuator"
        ):
            ct.simulate(s, q, v, 0.1, control=law, **chosen)
    still = ct.simulate(s, np.zeros(2), np.zeros(2), 0.1, control=law, **chosen)
    assert still.settings["control"].endswith("compiled")


def test_rotors_of_joints_are_in_laws_that_compile():
    """They were left out of the inertia of compiled `TaskSpace`, without a word."""
    m = arm7()
    for joint in list(m.joints):
        m = m.with_joint(joint, armature=0.5)
    s, rng = m.system(), np.random.default_rng(0)
    law = ct.TaskSpace(s, "tool", (0.3, 0.2, 0.5), 100.0)
    agrees(s, law, "rotors", [(rng.normal(size=7), rng.normal(size=7))])


def test_more_rows_than_motors_compile():
    """Seven joints of an arm follow, six have motors: once that asked Python, 200 us a call."""
    s, rng = arm7().with_joint("joint7", actuated=False).system(), np.random.default_rng(0)
    law = ct.ComputedTorque(s, dict.fromkeys(s.joints, 0.2), 100.0)
    agrees(s, law, "wrist", [(rng.normal(size=7), rng.normal(size=7)) for _ in range(3)])
    assert law(0.0, np.zeros(7), np.zeros(7))[6] == 0.0


def part_powered():
    """Two feet that carry a bar, one of them a joint of two freedoms of which one has a motor."""
    m = ct.Mechanism("bar on feet")
    for name in ("left", "right", "bar"):
        m.add_body(name, 1.0, (0.2, 0, 0), 0.1)
    m.add_joint("foot left", "ground", "left", ct.Revolute("y"), actuated=False)
    right = ct.Pose(p=(1.0, 0, 0))
    m.add_joint("foot right", "ground", "right", ct.Universal("y", "x"), right, actuated=(True, False))
    up = ct.Pose(p=(0, 0, 1.0))
    m.add_joint("a", "left", "bar", ct.Revolute("y"), up, actuated=False)
    m.add_joint("b", "right", "bar", ct.Universal("y", "x"), up, right, actuated=False)
    return m


def test_components_without_motors_get_nothing_through_loops():
    s, rng = part_powered().system(cut=["b"]), np.random.default_rng(0)
    assert s.plan.partly_driven.any()
    for name, law in laws_of(s).items():
        states = closed_states(s, rng)
        agrees(s, law, name, states)
        for q, v in states:
            tau = law.evaluate(0.0, q, v, np.zeros(0), law.inputs(0.0))[0]
            assert not tau[~s.plan.actuated].any(), name
    law = laws_of(s, 200.0)["of one joint"]
    run = ct.simulate(s, s.assemble(), np.zeros(s.nv), 0.02, control=law, check=False)
    assert run.settings["control"].endswith("compiled")
    assert not run.tau[:, ~s.plan.actuated].any()


def test_feedforward_says_where_a_joint_with_some_motors_cannot_follow():
    m = ct.Mechanism("boom")
    m.add_body("b", 2.0, (0.5, 0, 0), 0.1)
    m.add_joint("shoulder", "ground", "b", ct.Sdof("ry", "dx"), actuated=(False, True))
    s = m.system()
    start = [np.pi / 2, 0.2]
    path = {"shoulder": ct.quintic([0.0, 0.1, 0.3], [start, start, [np.pi / 2 + 0.2, 0.2]])}
    for rate in (None, 500.0):
        law = ct.Feedforward(s, path, rate=rate)
        run = ct.simulate(s, start, np.zeros(2), 0.1, control=law, integrator="rk4", step=1e-3, check=False)
        assert run.settings["control"].endswith("compiled") and not run.tau[:, 0].any()
        with pytest.raises(ct.LoopError, match="cannot produce this motion"):
            ct.simulate(s, start, np.zeros(2), 0.3, control=law, integrator="rk4", step=1e-3, check=False)


@pytest.mark.parametrize("rate", [None, 400.0])
def test_feedforward_through_loops_is_known_ahead_as_polynomials(rate):
    s = smooth().system()
    q = s.assemble({"A": 0.4})
    law = ct.Feedforward(s, {"A": ct.quintic([0.01, 0.04], [0.4, 0.7])}, rate=rate)
    chosen = {"rtol": 1e-10, "check": False}
    inside = ct.simulate(s, q, np.zeros(s.nv), 0.06, control=law, **chosen)
    assert inside.settings["control"].endswith("compiled")
    for k in range(0, len(inside.t), 7):
        at = inside.t[k] if rate is None else np.floor(inside.t[k] * rate + 1e-9) / rate
        if min(abs(inside.t[k] - 0.01), abs(inside.t[k] - 0.04)) > 1e-6:
            taken = s.inverse_dynamics(*law.path.at(at))
            np.testing.assert_allclose(inside.tau[k], taken * s.plan.actuated, rtol=1e-8, atol=1e-8)
    if rate is None:
        # It is inverse dynamics of the motion, so the mechanism makes it.
        np.testing.assert_allclose(inside.at(0.04)[0], law.path.at(0.04).q, atol=1e-8)


class Still:
    """A user's own reference, which only Python knows."""

    span = None

    def at(self, t):
        t = np.asarray(t, dtype=float)
        return ct.simulation.references.ReferenceMotion(
            *(x + 0.0 * t[..., None] for x in (np.full(1, 0.2), 0.0, 0.0))
        )


def test_which_references_compile():
    """And which do not, as docs/control.md has it."""
    s, platform = arm7().system(), stewart().system()
    joint, tool = "joint2", s.pose(s.neutral(), "tool")
    function = ct.simulation.references.function
    circle = function(lambda t: [0.4 + 0.1 * ct.symbols.cos(t), 0.1 * ct.symbols.sin(t), 0.5])
    near = np.array([0.0, 0.5, 0.0, -1.5, 0.0, 1.1, 0.0])
    here = np.asarray(s.pose(near, "tool").p)
    line = ct.cubic([0.0, 0.3], [here, here + 0.05])
    inside = {
        "number": ct.JointPath(s, {joint: 0.3}),
        "cubic": ct.JointPath(s, {joint: ct.cubic([0.0, 1.0], [0.0, 1.0])}),
        "periodic spline": ct.JointPath(
            s, {joint: ct.spline([0.0, 0.5, 1.0], [0.0, 1.0, 0.0], ends="periodic")}
        ),
        "formula": ct.JointPath(s, {joint: function(lambda t: [ct.symbols.sin(t)])}),
        "path of a frame with an end": ct.TaskPath(s, "tool", line, near),
    }
    outside = {
        "path of a frame without end": ct.TaskPath(s, "tool", circle, near),
        "function of Python": ct.JointPath(s, {joint: lambda t: (0.2, 0.0, 0.0)}),
        "own class": ct.JointPath(s, {joint: Still()}),
    }
    for name, path in (inside | outside).items():
        assert (ct.ComputedTorque(s, path, 10.0).input_paths() is not None) == (name in inside), name
    for path in (tool, circle, line, ct.PosePath(line), ct.PosePath(circle, (1, 0, 0, 0))):
        assert ct.TaskSpace(s, "tool", path, 10.0).input_paths() is not None
    legs = {j: 0.1 for j in platform.joints if j.startswith("leg")}
    assert ct.ComputedTorque(platform, legs, 10.0).input_paths() is not None
