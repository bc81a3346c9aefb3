"""Numbers that differ from state to state: in lanes against a mechanism of its own for each state."""

from time import process_time

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, random_mechanism

STATES = 6


def cart_pole():
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", mass=1.0)
    m.add_body("pole", mass=0.2, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001))
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"), in_child=ct.Pose(p=(0, 0, 0.05)))
    m.add_frame("tip", "pole", ct.Pose(p=(0, 0, 1.0)))
    m.add_spring("coil", "hinge", stiffness=0.0, damping=0.1)
    m.add_spring_between("strut", "ground", "tip", stiffness=2.0, rest_length=0.3)
    return m


def parameters(rng):
    return {
        "pole.mass": rng.uniform(0.1, 1.0, STATES), "pole.com.z": rng.uniform(0.2, 1.0, STATES),
        "rail.damping": rng.uniform(0.0, 1.0, STATES), "coil.stiffness": rng.uniform(0.5, 2.0, STATES),
        "strut.rest_length": rng.uniform(0.2, 0.6, STATES), "tip.p.z": rng.uniform(0.8, 1.2, STATES),
        "hinge.in_child.p": rng.normal(size=(STATES, 3)) * 0.05, "gravity.length": rng.uniform(1.0, 10.0, STATES),
    }  # fmt: skip


def own(given, k):
    g = {name: x[k] for name, x in given.items()}
    m = cart_pole().with_body("pole", mass=g["pole.mass"], com=(0, 0, g["pole.com.z"]))
    m = m.with_joint("rail", damping=g["rail.damping"]).with_spring("coil", stiffness=g["coil.stiffness"])
    m = m.with_spring("strut", rest_length=g["strut.rest_length"])
    m = m.with_frame("tip", ct.Pose(p=(0, 0, g["tip.p.z"])))
    m = m.with_joint("hinge", in_child=ct.Pose(p=g["hinge.in_child.p"]))
    m.gravity = (0, 0, -g["gravity.length"])
    return m.system()


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(3)
    given = parameters(rng)
    q, v, tau = (rng.normal(size=(STATES, 2)) for _ in range(3))
    return given, q, v, tau, [own(given, k) for k in range(STATES)]


def test_dynamics_in_lanes_are_those_of_each_mechanism(case):
    given, q, v, tau, alone = case
    s = cart_pole().system()
    vdot = s.forward_dynamics(q, v, tau, parameters=given)
    np.testing.assert_allclose(vdot, [a.forward_dynamics(*x) for a, *x in zip(alone, q, v, tau)], rtol=1e-12)
    np.testing.assert_allclose(s.inverse_dynamics(q, v, vdot, parameters=given), tau, rtol=1e-10, atol=1e-11)
    H = s.mass_matrix(q, parameters=given)
    np.testing.assert_allclose(H, [a.mass_matrix(x) for a, x in zip(alone, q)], rtol=1e-12, atol=1e-15)
    push = {"pole": np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])}
    found = s.forward_dynamics(q, v, tau, f_ext=push, parameters=given)
    pushed = [a.forward_dynamics(*x, f_ext=push) for a, *x in zip(alone, q, v, tau)]
    np.testing.assert_allclose(found, pushed, rtol=1e-12)


@pytest.mark.parametrize("ask", [
    lambda s, q, v: s.kinetic_energy(q, v), lambda s, q, v: s.potential_energy(q), lambda s, q, v: s.momentum(q, v),
    lambda s, q, v: s.pose(q, "tip").matrix(),
    lambda s, q, v: s.body_poses(q)["pole"], lambda s, q, v: s.twist(q, v, "tip"), lambda s, q, v: s.jacobian(q, "tip"),
    lambda s, q, v: s.forces.loads(q, v).tau, lambda s, q, v: s.forces.loads(q, v).f_ext["pole"],
    lambda s, q, v: s.forces.energy(q), lambda s, q, v: s.forces.outputs(q, v)["strut"]["tension"],
    lambda s, q, v: s.forces.powers(q, v)["friction"], lambda s, q, v: s.reactions(q, v)["hinge"],
    lambda s, q, v: s.operational_space(q, "tip")[0], lambda s, q, v: s.hybrid_dynamics(q, v, None, {"rail": 0.4})[1],
])  # fmt: skip
def test_everything_asked_of_a_varied_system_is_that_of_each_mechanism(case, ask):
    given, q, v, _, alone = case
    varied = cart_pole().system().vary(given)
    expected = np.stack([ask(a, *x) for a, *x in zip(alone, q, v)])
    np.testing.assert_allclose(ask(varied, q, v), expected, rtol=1e-11, atol=1e-13)


def test_rotors_of_each_state_are_in_its_mass_matrix():
    rotors, q, m = (
        np.array([0.1, 0.3, 0.4]),
        np.array([0.2, 0.7]),
        cart_pole().with_joint("hinge", armature=0.2),
    )
    found = m.system().mass_matrix(q, parameters={"hinge.armature": rotors})
    alone = [m.with_joint("hinge", armature=x).system().mass_matrix(q) for x in rotors]
    np.testing.assert_allclose(found, alone, rtol=1e-12)


def test_a_closed_mechanism_varies_in_lanes():
    m = ct.generators.four_bar()
    s = m.system()
    q = s.assemble({"A": 0.7})
    v = s.velocity(q, {"A": 1.3})
    masses = np.array([0.5, 1.0, 2.0])
    found = s.forward_dynamics(q, v, [1.0, 0, 0], parameters={"coupler.mass": masses})
    alone = [m.with_body("coupler", mass=x).system().forward_dynamics(q, v, [1.0, 0, 0]) for x in masses]
    np.testing.assert_allclose(found, alone, rtol=1e-11)
    varied = s.vary({"B.in_child.p.x": [0.0, 0.05]})
    closed = varied.assemble({"A": 0.7})
    assert np.abs(varied.closure(closed)[0]).max() < 1e-11
    assert np.abs(closed[0] - closed[1]).max() > 1e-3
    np.testing.assert_allclose(closed[1], varied.variants.state(1).assemble({"A": 0.7}), atol=1e-12)


def test_plain_numbers_agree(case):
    given, q, v, tau, _ = case
    s = cart_pole().system()
    with ct.plain_numbers():
        plain = s.forward_dynamics(q, v, tau, parameters=given)
    np.testing.assert_allclose(plain, s.forward_dynamics(q, v, tau, parameters=given), rtol=1e-11)


@pytest.mark.parametrize("given, words", [
    ({"pole.masss": 1.0}, "Did you mean 'pole.mass'"),
    ({"coil.stifness": 1.0}, "Did you mean 'coil.stiffness'"),
    ({"poel.mass": 1.0}, "did you mean 'pole'"),
    ({"pole.mass": np.ones((2, 3))}, r"parameters \(2, 3\)"),
    ({"pole.com": 1.0}, "last dimension must be 3"),
    ({"pole.mass": [1.0, np.nan]}, r"nan in state \(1,\)"),
    ({"pole.mass": [1.0, -1.0]}, r"-1 in state \(1,\)"),
    ({"pole.mass": "heavy"}, "not an array of numbers"),
    ({"pole.inertia": [[1.0, 0, 0, 0.1, 0, 0.1]] * STATES}, "body 'pole' in state .*principal moments"),
    ([1.0], "give a mapping"),
    ({3: 1.0}, "the key 3"),
])  # fmt: skip
def test_wrong_parameters_are_named(case, given, words):
    _, q, v, tau, _ = case
    with pytest.raises(ct.CatenaError, match=words):
        cart_pole().system().forward_dynamics(q, v, tau, parameters=given)


def test_what_belongs_to_one_mechanism_is_told_for_each(case):
    """Answers that are more than arrays come as an array of them, each as its own mechanism gives it."""
    given, q, _, _, alone = case
    varied = cart_pole().system().vary(given)
    for at, which in ((q, q), (np.zeros(2), np.zeros((len(alone), 2)))):
        found = varied.linearise(at)
        assert found.shape == (len(alone),)
        for mine, own, x in zip(found, alone, which, strict=True):
            np.testing.assert_allclose(mine.A, own.linearise(x).A, rtol=1e-9, atol=1e-9)
    own = [ct.inertial_parameters(s) for s in alone]
    np.testing.assert_allclose(ct.inertial_parameters(varied), own, rtol=1e-12)
    with pytest.raises(ct.CatenaError, match="no state 99"):
        varied.variants.state(99)


def test_derivatives_know_the_numbers_of_forces():
    m = cart_pole()
    s = m.system()
    q, v = np.array([0.1, 0.4]), np.array([0.3, 0.2])

    def vdot(length):
        return m.with_spring("strut", rest_length=length).system().forward_dynamics(q, v)

    found = s.parameter_derivatives(q, v, np.zeros(2), ["strut.rest_length"])["strut.rest_length"]
    np.testing.assert_allclose(found[:, 0], (vdot(0.3 + 1e-6) - vdot(0.3 - 1e-6)) / 2e-6, rtol=1e-7)
    with pytest.raises(ct.CatenaError, match="no springs"):
        s.equations("mass_matrix", symbols=["strut.stiffness"])


def test_no_parameters_at_all_are_those_of_the_mechanism():
    s = four_bar().system()
    q = s.neutral()
    np.testing.assert_allclose(s.mass_matrix(q, parameters={}), s.mass_matrix(q), rtol=1e-14)


@pytest.mark.parametrize("member", [1e308, [1j, 1j], "rocker"])
@pytest.mark.parametrize("parameters", [None, {"rocker.mass": 1.5}])
def test_a_member_is_refused_with_parameters_as_without(member, parameters):
    s = four_bar().system()
    with pytest.raises(ct.StateError, match="only the method reference_member has one"):
        s.forward_dynamics(s.neutral(), np.zeros(s.nv), member=member, parameters=parameters)


def wishbone():
    """A suspension corner of two wishbones, an upright and a track rod: loops of spherical joints in space."""
    m = ct.Mechanism("wishbones")
    for name in ("lower", "upper", "upright", "rod"):
        m.add_body(name, 1.0, (0, 0.1, 0), 0.01)
    m.add_joint("lower", "ground", "lower", ct.Revolute("x"), ct.Pose(p=(0, 0.3, 0.2)), armature=0.1)
    m.add_joint("upper", "ground", "upper", ct.Revolute((1, 0.1, 0)), ct.Pose(p=(0, 0.35, 0.5)))
    m.add_joint("below", "lower", "upright", ct.Spherical(), ct.Pose(p=(0, 0.4, 0)))
    m.add_joint(
        "above", "upper", "upright", ct.Spherical(), ct.Pose(p=(0, 0.3, 0)), ct.Pose(p=(0, -0.05, 0.3))
    )
    m.add_joint("inner", "ground", "rod", ct.Universal("x", "z"), ct.Pose(p=(-0.1, 0.3, 0.25)))
    m.add_joint(
        "outer", "rod", "upright", ct.Spherical(), ct.Pose(p=(0, 0.38, 0)), ct.Pose(p=(-0.1, -0.02, 0.05))
    )
    return m


def test_assembly_in_lanes_is_that_of_each_mechanism():
    rng = np.random.default_rng(5)
    s = wishbone().system()
    start = s.assemble({"lower": 0.0})
    n = 300
    varied = s.vary({
        "below.in_parent.p.y": 0.4 + 0.01 * rng.normal(size=(n, 1)), "outer.in_child.p": [-0.1, -0.02, 0.05]
        + 0.005 * rng.normal(size=(n, 1, 3)), "upper.in_parent.p.z": 0.5 + 0.01 * rng.normal(size=(n, 1)),
    })  # fmt: skip
    angles = np.linspace(-0.2, 0.2, 9)[:, None]
    began = process_time()
    q = varied.assemble({"lower": angles}, guess=start)
    taken = process_time() - began
    assert q.shape == (n, 9, s.nq) and np.abs(varied.closure(q)[0]).max() < 1e-10
    began = process_time()
    for k in range(0, n, n // 5):
        np.testing.assert_allclose(
            varied.variants.state(k).assemble({"lower": angles}, guess=start), q[k], atol=1e-8
        )
    assert taken < 20.0 * (process_time() - began)
    np.testing.assert_allclose(
        s.vary({"lower.mass": 2.0}).assemble({"lower": 0.1}, guess=start),
        s.assemble({"lower": 0.1}, guess=start),
        atol=1e-10,
    )


def test_one_variant_that_does_not_close_is_named_and_limits_are_kept_in_lanes():
    m = four_bar().with_joint("D", limits=(-0.3, 0.3))
    s = m.system()
    lengths = np.linalg.norm(m.joints["B"].in_parent.p) * np.array([0.95, 1.0, 1.05])
    varied = s.vary({"B.in_parent.p.length": lengths})
    q = varied.assemble({"A": 0.2})
    assert (np.abs(q[:, s.slice_q("D")]) <= 0.3 + 1e-9).all()
    for k in range(3):
        np.testing.assert_allclose(q[k], varied.variants.state(k).assemble({"A": 0.2}), atol=1e-9)
    with pytest.raises(ct.LoopError, match="do not close|cannot be closed"):
        s.vary({"B.in_parent.p.length": [0.4, 9.0]}).assemble({"A": 0.2})
    with pytest.raises(ct.StateError, match=r"parameters \(3,\)"):
        varied.assemble({"A": np.zeros((2, 1))})


def test_searches_are_those_of_each_mechanism():
    varied = four_bar().system().vary({"B.in_parent.p.length": [0.4, 0.42]})
    for k, (drive, branches, reach) in enumerate(
        zip(
            varied.drive("A", samples=5),
            ct.branches(varied, {"A": 0.1}),
            ct.reach(varied, {"coupler": (0.1, 0, 0.1)}),
            strict=True,
        )
    ):
        own = varied.variants.state(k)
        np.testing.assert_allclose(drive.q, own.drive("A", samples=5).q, atol=1e-9)
        np.testing.assert_allclose(branches, ct.branches(own, {"A": 0.1}), atol=1e-9)
        np.testing.assert_allclose(reach.q, ct.reach(own, {"coupler": (0.1, 0, 0.1)}).q, atol=1e-9)


def spinning_top():
    m = ct.Mechanism("top")
    m.add_body("top", 1.0, (0.02, -0.03, 0.4), (0.1, 0.12, 0.15))
    m.add_joint("ball", "ground", "top", ct.Spherical(), damping=(0.1, 0.2, 0.3))
    return m


TURN = ct.Pose(rpy=(0.3, 0.5, 0.7)).R
FORMS = {
    "one number": (0.2, 0.2),
    "one number in a row": ([0.2], 0.2),
    "three moments": ((0.1, 0.2, 0.25), (0.1, 0.2, 0.25)),
    "a matrix": (TURN @ np.diag([0.1, 0.2, 0.25]) @ TURN.T,) * 2,
    "six numbers": (
        (0.1, 0.01, 0.02, 0.2, 0.03, 0.25),
        [[0.1, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.25]],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_inertia_is_given_in_every_form_that_add_body_takes(form):
    given, same = FORMS[form]
    m = spinning_top()
    s, other = m.system(), m.with_body("top", inertia=same).system()
    random = np.random.default_rng(0)
    q = s.integrate(s.neutral(), random.normal(size=3), 1.0)
    v, tau = random.normal(size=3), random.normal(size=3)
    expected = other.forward_dynamics(q, v, tau)
    close = {"rtol": 1e-12, "atol": 1e-12}
    parameters = {"top.inertia": given}
    np.testing.assert_allclose(s.forward_dynamics(q, v, tau, parameters=parameters), expected, **close)
    np.testing.assert_allclose(s.vary(parameters).forward_dynamics(q, v, tau), expected, **close)
    equations = s.equations("forward_dynamics", symbols=["top.inertia"])
    np.testing.assert_allclose(equations(q, v, tau, parameters=parameters), expected, **close)
    run = ct.simulate(s, q, v, 0.1, parameters=parameters, samples=2)
    np.testing.assert_allclose(
        run.v[-1], ct.simulate(other, q, v, 0.1, samples=2).v[-1], rtol=1e-9, atol=1e-9
    )
    # A batch has the same form behind its own dimension, whatever its size.
    for size in (1, 2, 3, 6):
        factors = np.linspace(1.0, 1.2, size)
        row = np.atleast_1d(np.asarray(given, dtype=float))
        batch = factors.reshape(size, *[1] * row.ndim) * row
        if batch.shape == (3, 3) and form == "three moments":
            with pytest.raises(
                ct.StateError, match="not symmetric: for a batch of three moments each give all six"
            ):
                s.forward_dynamics(q, v, tau, parameters={"top.inertia": batch})
            continue
        found = s.forward_dynamics(q, v, tau, parameters={"top.inertia": batch})
        for k, factor in enumerate(factors):
            one = m.with_body("top", inertia=factor * np.asarray(same)).system()
            np.testing.assert_allclose(found[k], one.forward_dynamics(q, v, tau), **close)


def test_shapes_of_inertias_that_could_mean_anything_are_refused_in_words():
    s = spinning_top().system()
    for shape in ((5,), (4, 2), (3, 3, 4)):
        with pytest.raises(
            ct.StateError, match="or 3 for moments, or 1 for the same about all axes, or its last two"
        ):
            s.vary({"top.inertia": np.full(shape, 0.1)})


def test_one_number_stands_for_the_damping_of_all_axes():
    s = spinning_top().system()
    q, v = s.neutral(), np.array([0.3, 0.2, 0.1])
    for given in (0.4, [0.4], (0.4, 0.4, 0.4)):
        expected = spinning_top().with_joint("ball", damping=0.4).system().forward_dynamics(q, v, np.zeros(3))
        found = s.forward_dynamics(q, v, np.zeros(3), parameters={"ball.damping": given})
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_velocities_of_varied_loops_are_those_of_each_state(seed):
    """Loops of any joints, redundant ones among them, with given velocities that differ from state to state and joints
    on no loop: in lanes against the careful way of one mechanism after the other."""
    random = np.random.default_rng(seed)
    if seed < 2:
        m, given = four_bar(), {"A": random.normal(size=(4, 1))}
        numbers = {"B.in_child.p.x": np.linspace(0.0, 0.05, 4), "coupler.mass": random.uniform(1.0, 3.0, 4)}
    else:
        m = random_mechanism(seed, 5, kinds=["Revolute", "Spherical", "Prismatic"], loops=1 + seed % 2)
        body = list(m.bodies)[2]
        numbers, given = {f"{body}.mass": m.bodies[body].mass * np.array([1.0, 0.4, 2.0, 5.0])}, {}
    s = m.system()
    if not given:
        moving = s.project(s.neutral(), random.normal(size=s.nv))[1]
        joint = max(s.joints, key=lambda name: np.abs(moving[s.slice_v(name)]).max())
        given = {joint: np.outer(random.uniform(0.5, 2.0, 4), moving[s.slice_v(joint)])}
    varied = s.vary(numbers)
    q = varied.assemble()
    v = varied.velocity(q, given)
    position, opening = varied.closure(q, v)
    assert np.abs(opening).max() < 1e-12 * max(1.0, np.abs(v).max())
    for k in range(4):
        alone = varied.variants.state(k).velocity(q[k], {name: x[k] for name, x in given.items()})
        np.testing.assert_allclose(v[k], alone, rtol=0, atol=1e-11 * max(1.0, np.abs(alone).max()))


def test_a_velocity_that_one_varied_loop_does_not_allow_leaves_the_others():
    s = four_bar().system()
    varied = s.vary({"coupler.mass": np.array([1.0, 2.0, 3.0])})
    q = varied.assemble()
    good = varied.velocity(q, {"A": 1.0})
    given = {"A": np.ones((3, 1)), "D": np.repeat(good[:, s.slice_v("D")], 1, axis=1)}
    given["D"][1] += 0.3
    with pytest.raises(ct.LoopError, match="do not allow") as caught:
        varied.velocity(q, given)
    assert list(caught.value.failed) == [(1,)]
    np.testing.assert_allclose(caught.value.found[[0, 2]], good[[0, 2]], atol=1e-12)
