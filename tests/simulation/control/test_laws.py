"""Control laws compiled into the loop do what the same laws do when they are asked from Python."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, chain, four_bar, hslm
from catena.simulation.control.one_call import compiled_call
from tests.simulation.control.laws import ByNumbers, FromPython, agrees

SLIDES = {"slide1": 0.0, "slide2": 0.0, "slide3": 0.0}


@pytest.mark.parametrize(("integrator", "step"), [("rk4", 1e-3), ("rk4", 5e-4), ("semi_implicit", 1e-3)])
def test_a_sampled_law_in_a_closed_mechanism(integrator, step):
    s = hslm().system()
    pid = ct.PID(s, SLIDES, 800.0, 1000.0, 50.0, rate=1000.0)
    chosen = {"duration": 0.05, "integrator": integrator, "step": step}
    inside = ct.simulate(s, s.neutral(), np.zeros(s.nv), control=pid, **chosen)
    outside = ct.simulate(s, s.neutral(), np.zeros(s.nv), control=FromPython(pid), **chosen)
    np.testing.assert_allclose(inside.q, outside.q, atol=1e-11)
    np.testing.assert_allclose(inside.tau, outside.tau, atol=1e-8)


def test_a_law_that_is_always_asked_runs_in_adaptive_steps():
    s = arm7().system()
    law = ct.SymbolicControl(lambda t, q, v: -20.0 * q - 5.0 * v + ct.symbols.sin(3.0 * t))
    q = 0.2 * np.ones(7)
    inside = ct.simulate(s, q, np.zeros(7), 0.2, control=law)
    outside = ct.simulate(
        s, q, np.zeros(7), 0.2, control=lambda t, q, v: -20.0 * q - 5.0 * v + np.sin(3.0 * t)
    )
    assert inside.settings["steps taken by"] == "the compiled loop"
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-11)
    expected = -20.0 * inside.q - 5.0 * inside.v + np.sin(3.0 * inside.t)[:, None]
    np.testing.assert_allclose(inside.tau, expected, atol=1e-12)


def test_actuators_limit_a_law_in_the_loop():
    m = chain(1)
    joint = next(iter(m.joints))
    m.add_actuator("motor", joint, limits=(-0.5, 0.5))
    s = m.system()
    law = ct.SymbolicControl(lambda t, q, v: 100.0 + 0.0 * q, rate=100.0)
    inside = ct.simulate(s, [0.3], [0.0], 0.2, control=law, integrator="rk4", step=1e-3)
    outside = ct.simulate(s, [0.3], [0.0], 0.2, control=lambda t, q, v: np.array([100.0]))
    assert np.all(inside.tau == 0.5) and np.all(outside.tau == 0.5)
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-10)


def test_states_of_a_batch_have_their_own_memory():
    s = chain(2).system()
    pid = ct.PID(s, dict.fromkeys(s.joints, 0.5), 2.0, 1.0, 0.02, rate=200.0)
    q = np.array([[0.0, 0.0], [0.4, -0.3], [1.0, 0.2]])
    chosen = {"duration": 0.5, "integrator": "rk4", "step": 1e-3, "samples": 6, "control": pid}
    run = ct.simulate(s, q, np.zeros_like(q), **chosen)
    for k in range(3):
        alone = ct.simulate(s, q[k], np.zeros(2), **chosen)
        np.testing.assert_allclose(run.q[k], alone.q, atol=1e-13)


def test_new_gains_compile_nothing():
    s = hslm().system()
    chosen = {"duration": 0.01, "integrator": "rk4", "step": 1e-3}
    ct.simulate(s, s.neutral(), np.zeros(s.nv), control=ct.PID(s, SLIDES, 800.0, 1000.0, 50.0), **chosen)
    before = ct.compilations()
    ct.simulate(s, s.neutral(), np.zeros(s.nv), control=ct.PID(s, SLIDES, 900.0, 500.0, 60.0), **chosen)
    assert ct.compilations() == before


def test_laws_hold_where_the_loop_hands_steps_over():
    """Upright four-bars under a law pass flat configurations, with sampled forces that are the same either way."""
    s = ct.generators.n_four_bars(2).system()
    q = s.neutral()
    v = s.velocity(q, {"pin0": 1.0})
    pid = ct.PID(s, {"pin0": 0.0}, 0.0, 0.0, 0.1, rate=100.0)
    chosen = {"duration": 2.0, "integrator": "rk4", "step": 2e-3}
    inside = ct.simulate(s, q, v, control=pid, **chosen)
    outside = ct.simulate(s, q, v, control=FromPython(pid), **chosen)
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-8)


def swing():
    """A mechanism with a loop and references for its crank: smooth, with knots inside the run, and periodic."""
    s = four_bar().system()
    wave = ct.spline([0.0, 0.05, 0.1, 0.15], [0.1, 0.4, -0.2, 0.1], ends="periodic")
    return s, {"cubic": ct.cubic([0.02, 0.11], [0.1, 0.5]), "quintic": ct.quintic([0.0, 0.07, 0.3], [0.1, 0.5, 0.0]),
               "spline": wave, "held": 0.3}  # fmt: skip


@pytest.mark.parametrize("reference", ["cubic", "quintic", "spline", "held"])
@pytest.mark.parametrize(
    ("rate", "ki", "chosen"),
    [(None, 0.0, {"rtol": 1e-11}), (None, 0.0, {"integrator": "rk4", "step": 5e-4}), (170.0, 90.0, {"rtol": 1e-11})],
    ids=["always, adaptive", "always, fixed", "sampled, adaptive"],
)  # fmt: skip
def test_references_are_followed_inside_the_loop(reference, rate, ki, chosen):
    s, references = swing()
    pid = ct.PID(s, {"A": references[reference]}, 60.0, ki, 2.0, rate=rate)
    start = s.assemble({"A": 0.1})
    inside = ct.simulate(s, start, np.zeros(s.nv), 0.2, control=pid, **chosen)
    outside = ct.simulate(s, start, np.zeros(s.nv), 0.2, control=FromPython(pid), **chosen)
    assert inside.settings["control"].endswith("compiled")
    assert inside.settings["steps taken by"] == "the compiled loop"
    # Without knots that stop them, steps of the other run pass the places where references are not smooth.
    atol = 1e-9 if rate is not None or reference == "held" else 3e-6 if "step" in chosen else 2e-8
    np.testing.assert_allclose(inside.at(0.2)[0], outside.at(0.2)[0], atol=atol)
    np.testing.assert_allclose(inside.at(0.13)[0], outside.at(0.13)[0], atol=atol)


def test_states_of_a_batch_find_their_samples_in_adaptive_steps():
    s, references = swing()
    pid = ct.PID(s, {"A": references["cubic"]}, 60.0, 90.0, 2.0, rate=170.0)
    start = np.stack([s.assemble({"A": x}) for x in (0.1, 0.2, 0.9)])
    run = ct.simulate(s, start, np.zeros((3, s.nv)), 0.1, control=pid)
    assert run.settings["control"].endswith("compiled")
    for k in range(3):
        alone = ct.simulate(s, start[k], np.zeros(s.nv), 0.1, control=pid)
        np.testing.assert_array_equal(run.q[k, -1], alone.q[-1])


@pytest.mark.parametrize("inputs", [[2.0, 0.5], ct.cubic([0.0, 0.1], [[2.0, 0.5], [1.0, 3.0]])])
@pytest.mark.parametrize("rate", [None, 300.0])
def test_inputs_of_a_formula_may_be_numbers_or_references(inputs, rate):
    s = chain(1).system()

    def formula(t, q, v, given):
        return given[..., :1] * ct.symbols.sin(given[..., 1:] * t) - q

    law = ct.SymbolicControl(formula, inputs=inputs, rate=rate)
    inside = ct.simulate(s, [0.3], [0.0], 0.2, control=law)
    outside = ct.simulate(s, [0.3], [0.0], 0.2, control=FromPython(law))
    assert inside.settings["control"].endswith("compiled")
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-9)


def test_a_function_that_repeats_itself_is_not_taken_for_a_number():
    """Inputs were once compared at seven times of the run, where this one is always the same."""
    s = chain(1).system()
    law = ct.SymbolicControl(lambda t, q, v, x: x + 0.0 * q, inputs=lambda t: [np.sin(60.0 * np.pi * t)])
    inside = ct.simulate(s, [0.3], [0.0], 0.2, control=law)
    outside = ct.simulate(s, [0.3], [0.0], 0.2, control=lambda t, q, v: np.sin(60.0 * np.pi * t) + 0.0 * q)
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-9)


def _with_ball():
    """A branched tree with a ball joint, whose positions are no numbers to subtract."""
    kinds = ("Revolute", "Spherical", "Prismatic")
    return ct.generators.random_mechanism(4, bodies=5, kinds=kinds).system()


@pytest.mark.parametrize("make", (lambda: arm7().system(), _with_ball))
@pytest.mark.parametrize("chosen", ({"integrator": "rk4", "step": 1e-3}, {"rtol": 1e-9, "atol": 1e-11}))
@pytest.mark.parametrize("rate", (500.0, None))
def test_computed_torque_in_the_step_is_what_it_is_in_python(make, chosen, rate):
    s = make()
    goal = s.integrate(s.neutral(), 0.2 * np.ones(s.nv))
    path = {}
    for j in s.joints:
        where = s.slice_q(j)
        flat = where.stop - where.start == s.slice_v(j).stop - s.slice_v(j).start
        ends = [s.neutral()[where], goal[where]]
        path[j] = ct.quintic([0.0, 0.1], ends) if flat else goal[where]
    law = ct.ComputedTorque(s, path, kp=200.0, rate=rate)
    assert law.compiles
    v = np.zeros(s.nv)
    inside = ct.simulate(s, s.neutral(), v, 0.12, control=law, **chosen)
    outside = ct.simulate(s, s.neutral(), v, 0.12, control=FromPython(law), **chosen)
    assert inside.settings["steps taken by"] == "the compiled loop"
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-9)
    np.testing.assert_allclose(inside.v[-1], outside.v[-1], atol=1e-8)
    np.testing.assert_allclose(inside.tau[-1], outside.tau[-1], atol=1e-6)


def test_errors_under_compiled_computed_torque_decay_as_damped_oscillators():
    s, kp, kd = arm7().system(), 36.0, 5.0
    law = ct.ComputedTorque(s, dict.fromkeys(s.joints, 0.0), kp=kp, kd=kd)
    run = ct.simulate(s, 0.1 * np.ones(7), np.zeros(7), 1.0, control=law)
    rest, w = np.exp(-kd / 2 * run.t), np.sqrt(kp - kd**2 / 4)
    expected = 0.1 * rest * (np.cos(w * run.t) + kd / (2 * w) * np.sin(w * run.t))
    np.testing.assert_allclose(run.q, np.repeat(expected[:, None], 7, axis=1), atol=1e-9)


def _with_forces(seed=1):
    """A random tree of joints of several kinds with everything that acts by formulas."""
    m = ct.generators.random_mechanism(seed, bodies=4, kinds=("Revolute", "Spherical", "Prismatic"))
    first, second = list(m.joints)[:2]
    turning = next(name for name, joint in m.joints.items() if joint.kind.nv == 1)
    m = m.with_joint(first, damping=0.4).with_joint(second, friction=0.3)
    m.add_force("spring", ct.forces.JointSpring(30.0, 0.2), joint=turning)
    bodies = list(m.bodies)
    m.add_force("strut", ct.forces.PointSpring(50.0, 0.1, 2.0), between=(bodies[1], bodies[-1]))
    m.add_force("air", ct.forces.Drag(0.3), between=("ground", bodies[2]))
    return m


def states_of(s, rng):
    """A state in motion and one at rest."""
    return [
        (s.integrate(s.neutral(), rng.normal(size=s.nv), 1.0), x * rng.normal(size=s.nv)) for x in (1.0, 0.0)
    ]


def _laws_of(s):
    """All laws that know the mechanism, of a tree that may lack motors."""
    frame, rng = list(s.plan.body_pose)[-1], np.random.default_rng(0)
    goal = s.integrate(s.neutral(), 0.3 * rng.normal(size=s.nv))
    path = {j: goal[s.slice_q(j)] for j in s.joints}
    some = dict(list(path.items())[:2])
    return {
        "computed torque": ct.ComputedTorque(s, path, 30.0, damping=3.0),
        "of part": ct.ComputedTorque(s, some, 30.0, damping=3.0),
        "gravity": ct.PID(s, path, 1.0, rate=None) + ct.GravityCompensation(s, partial=True),
        "feedforward": ct.Feedforward(s, path) if s.plan.actuated.all() else None,
        "place": ct.TaskSpace(s, frame, (0.3, -0.2, 0.4), 30.0, posture=goal, damping=3.0),
        "pose": ct.TaskSpace(s, frame, ct.PosePath((0.3, -0.2, 0.4)), 30.0),
    }


@pytest.mark.parametrize("seed", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 8))])
def test_forces_of_the_mechanism_are_in_laws_that_compile(seed):
    """Springs, dampers, friction and drag: against the forces that numbers give, which inverse dynamics knows."""
    m, rng = _with_forces(seed), np.random.default_rng(seed)
    s, bare = m.system(), m.without_forces().system()
    q, v = s.integrate(s.neutral(), rng.normal(size=s.nv), 1.0), rng.normal(size=s.nv)
    others = _laws_of(bare)
    for name, law in _laws_of(s).items():
        agrees(s, law, name, states_of(s, rng))
        without, inputs = others[name], law.inputs(0.3)
        without.memory(bare)
        with_them, alone = (x.evaluate(0.3, q, v, np.zeros(0), inputs)[0] for x in (law, without))
        assert np.abs(with_them - alone).max() > 1e-3, name


@pytest.mark.parametrize("seed", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 8))])
def test_joints_without_motors_get_nothing_from_laws_that_compile(seed):
    m, rng = _with_forces(seed), np.random.default_rng(seed)
    for name in list(m.joints)[:: 1 + seed % 2][:2]:
        m = m.with_joint(name, actuated=False)
    s = m.system()
    for name, law in _laws_of(s).items():
        # With a reference for more than six components it is long code where joints lack motors.
        if law is not None and (name != "computed torque" or law.compiles):
            agrees(s, law, name, states_of(s, rng))
            tau = law.evaluate(0.0, s.neutral(), rng.normal(size=s.nv), np.zeros(0), law.inputs(0.0))[0]
            assert not tau[~s.plan.actuated].any() and tau.any(), name


def test_a_passive_pole_and_a_spring_are_controlled_inside_the_step():
    """The cart of a pole follows its reference; the pole, on a spring, has no motor."""
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", 2.0, inertia=0.1)
    m.add_body("pole", 0.5, (0, 0, 0.4), 0.02)
    m.add_joint("slide", "ground", "cart", ct.Prismatic("x"), damping=0.5)
    m.add_joint("pin", "cart", "pole", ct.Revolute("y"), actuated=False, friction=0.02)
    m.add_force("spring", ct.forces.JointSpring(8.0), joint="pin")
    s = m.system()
    path = {"slide": ct.quintic([0.0, 0.3], [0.0, 0.2])}
    # Where the pin sticks and slips, steps of fixed size end between two samples; laws were once asked there.
    for law in (
        ct.ComputedTorque(s, path, 100.0, rate=1000.0),
        ct.PID(s, path, 400.0, 200.0, 60.0, rate=1000.0),
    ):
        chosen = {"integrator": "rk4", "step": 1e-3}
        inside, outside = (
            ct.simulate(s, [0.0, 0.1], [0.0, 0.0], 0.5, control=x, **chosen) for x in (law, FromPython(law))
        )
        assert inside.settings["control"].endswith("compiled")
        np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-9)
        np.testing.assert_allclose(inside.at(0.2)[0], outside.at(0.2)[0], atol=1e-9)
        assert not inside.tau[:, 1].any()
        assert abs(inside["slide"][-1] - 0.2) < 0.01


def test_laws_of_systems_that_differ_from_state_to_state_know_each():
    """They were once compiled with the numbers of the mechanism that all are made from."""
    s = arm7().system().vary({"link3.mass": np.array([1.0, 5.0])})
    q, rest = np.tile(BENT, (2, 1)), np.zeros((2, 7))
    hold = dict(zip(s.joints, BENT.tolist(), strict=True))
    chosen = {"integrator": "rk4", "step": 1e-3}
    for law in (ct.ComputedTorque(s, hold, 100.0, rate=500.0), ct.GravityCompensation(s, rate=500.0)):
        assert not law.compiles
        run = ct.simulate(s, q, rest, 0.02, control=law, **chosen)
        np.testing.assert_allclose(run.q[:, -1], q, atol=1e-6)
    nominal = ct.ComputedTorque(arm7().system(), hold, 100.0)
    assert nominal.compiles


def test_what_no_formula_tells_stays_in_python():
    m = arm7().with_joint("joint2", load_friction=ct.BearingFriction(0.1, 0.02))
    assert not ct.ComputedTorque(m.system(), {"joint1": 0.0}, kp=1.0).compiles


def test_one_time_of_polynomial_references_is_that_of_many():
    s = arm7().system()
    path = ct.JointPath(s, {
        "joint1": ct.cubic([0.0, 0.5, 1.0], [0.0, 1.0, -1.0]), "joint2": 0.3,
        "joint3": ct.quintic([0.2, 0.7], [0.0, 1.0]), "joint5": ct.quintic([0.2, 0.7], [1.0, 2.0]),
    })  # fmt: skip
    times = np.array([-1.0, 0.0, 0.1, 0.2, 0.45, 0.5, 0.7, 1.0, 3.0])
    many = path.given(times)
    for k, t in enumerate(times.tolist()):
        for one, all_of_them in zip(path.given(t), many, strict=True):
            np.testing.assert_allclose(one, all_of_them[k], atol=1e-12)


BENT = np.array([0.0, 0.5, 0.0, -1.5, 0.0, 1.1, 0.0])
KP = np.array([200.0, 200.0, 200.0, 200.0, 20.0, 20.0, 5.0])


def laws_of_an_arm():
    """Laws that the library knows, with references of all kinds, of a system and a rate."""
    pose = arm7().system().pose(BENT, "tool")
    there = ct.Pose(p=np.add(pose.p, 0.02), R=pose.R @ ct.Pose(rpy=(0.05, 0.1, 0.02)).R)
    path = ct.PosePath.through([0.0, 0.05, 0.15], [pose, there, pose])
    turn = ct.OrientationPath(
        ct.simulation.references.function(lambda t: [t, 2.0 * t**2, ct.symbols.sin(t)]), pose.quat
    )
    waves = {
        f"joint{k}": ct.simulation.references.function(
            lambda t, k=k: [BENT[k - 1] + 0.1 * ct.symbols.sin(k * t)]
        )
        for k in range(1, 8)
    }
    mixed = waves | {"joint2": ct.quintic([0.0, 0.1], [0.5, 0.9]), "joint5": 0.2}
    return {
        "gravity": lambda s, r: ct.GravityCompensation(s, rate=r),
        "PID and gravity": lambda s, r: ct.PID(s, mixed, KP, 0.0, 0.1 * KP, rate=r) + ct.GravityCompensation(s),
        "feedforward": lambda s, r: ct.Feedforward(s, mixed, rate=r),
        "computed torque": lambda s, r: ct.ComputedTorque(s, waves, 100.0, rate=r),
        "pose path": lambda s, r: ct.TaskSpace(s, "tool", path, 100.0, rate=r),
        "turning tool": lambda s, r: ct.TaskSpace(s, "tool", ct.PosePath(pose.p, turn), 100.0, posture=BENT, rate=r),
        "place": lambda s, r: ct.TaskSpace(s, "tool", path.position, 100.0, posture=BENT + 0.1, rate=r),
    }  # fmt: skip


FEW = [(name, way) for name in laws_of_an_arm() for way in range(3)]
QUICK = {("PID and gravity", 0), ("place", 0)}


@pytest.mark.parametrize(
    ("name", "way"), [pytest.param(*x, marks=[] if x in QUICK else pytest.mark.slow) for x in FEW]
)
def test_known_laws_in_the_step_are_what_numbers_give(name, way):
    s = arm7().system()
    ways = ((1000.0, {"rtol": 1e-9}), (None, {"rtol": 1e-9}), (1000.0, {"integrator": "rk4", "step": 1e-3}))
    for rate, chosen in ways[way : way + 1]:
        law = laws_of_an_arm()[name](s, rate)
        inside = ct.simulate(s, BENT + 0.03, np.zeros(7), 0.05, control=law, check=False, **chosen)
        outside = ct.simulate(
            s, BENT + 0.03, np.zeros(7), 0.05, control=ByNumbers(law), check=False, **chosen
        )
        assert inside.settings["control"].endswith("compiled")
        np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-8 if rate is None else 1e-11)
        np.testing.assert_allclose(
            inside.tau[-1], outside.tau[-1], rtol=1e-6 if rate is None else 1e-8, atol=1e-8
        )


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 8))])
def test_task_space_as_machine_code_is_what_decompositions_give(seed):
    """Trees with joints of all kinds, redundant or not, near singular positions, with directions that are blocked."""
    rng = np.random.default_rng(seed)
    s = ct.generators.random_mechanism(seed, bodies=(3, 5, 7, 4)[seed % 4]).system()
    frame = list(s.plan.body_pose)[-1]
    for path in (ct.PosePath((0.1, 0.2, 0.3)), ct.cubic([0.0, 1.0], [[0.1, 0.2, 0.3], [0.3, -0.2, 0.1]])):
        law = ct.TaskSpace(s, frame, path, 30.0, posture=s.neutral(), damping=2.0)
        assert law.compiles == (s.nv <= 12)
        for scale in (1.0, 1e-3, 0.0):
            q = s.integrate(s.neutral(), scale * rng.normal(size=s.nv), 1.0)
            v = rng.normal(size=s.nv)
            plain = law.evaluate(0.3, q, v, np.zeros(0), law.inputs(0.3))[0]
            np.testing.assert_allclose(law(0.3, q, v), plain, rtol=1e-7, atol=1e-8 * np.abs(plain).max())


def test_a_frame_is_not_pushed_where_it_cannot_go():
    """A planar arm in an oblique plane: across it, rows of the Jacobian are nothing but rounding."""
    m = ct.Mechanism("oblique")
    for k, parent in enumerate(("ground", "a", "b")):
        name = "abc"[k]
        m.add_body(name, 1.0, (0.3, 0.0, 0.0), (0.01, 0.1, 0.1))
        placed = ct.Pose(rpy=(0.3, 0.7, 0.2)) if k == 0 else ct.Pose(p=(0.6, 0.0, 0.0))
        m.add_joint(f"j{k}", parent, name, ct.Revolute("z"), in_parent=placed)
    s = m.system()
    q, v = np.array([0.3, 0.5, -0.4]), np.array([0.1, 0.2, -0.3])
    law = ct.TaskSpace(s, "c", (0.3, 0.4, 0.9), 30.0)
    plain = law.evaluate(0.0, q, v, np.zeros(0), law.inputs(0.0))[0]
    np.testing.assert_allclose(law(0.0, q, v), plain, rtol=1e-8)
    assert np.abs(plain).max() < 1e3


@pytest.mark.parametrize("seed", [2, *(pytest.param(k, marks=pytest.mark.slow) for k in range(6))])
def test_computed_torque_whatever_the_order_of_bodies(seed):
    """Coordinates are in the order of joints, bodies in that of the tree; the formula once took one for the other."""
    rng = np.random.default_rng(seed)
    s = ct.generators.random_mechanism(seed, bodies=7).system()
    q, v = s.integrate(s.neutral(), rng.normal(size=s.nv), 1.0), rng.normal(size=s.nv)
    goal = {j: s.neutral()[s.slice_q(j)] for j in s.joints}
    law = ct.ComputedTorque(s, goal, 25.0)
    assert law.compiles
    compiled = compiled_call(law, s)(q, v, np.array([0.3]), law.inputs(0.3))
    np.testing.assert_allclose(compiled, law(0.3, q, v), rtol=1e-10, atol=1e-10)
