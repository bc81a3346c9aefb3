"""What compiled code finds of contacts, and what Python finds: forces, mobility, impulses, and whole motions."""

import numpy as np
import pytest

import catena as ct
from benchmarks.contacts import walkers
from benchmarks.walkers import LEGS, askew, walker_on_springs
from catena.dynamics.contacts.contact_forces import PLACES, inverse_of
from catena.kernels import play
from catena.simulation.arguments import TimeWindow
from catena.simulation.contacts.careful import CarefulSteps
from catena.simulation.contacts.coulomb import pressed
from catena.simulation.contacts.deciding import Deciding
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.geometry import ContactPlaces
from catena.simulation.contacts.holding import Holding
from catena.simulation.contacts.impulses import ImpulseSteps
from catena.simulation.contacts.inside import Inside, can_be_inside
from catena.simulation.contacts.instant_loads import InstantLoads
from catena.simulation.contacts.quick_steps import ContactState, QuickSteps
from catena.simulation.contacts.situation import ByJoints, Mobile
from catena.simulation.contacts.standing import Standing
from catena.simulation.contacts.stiffness import StiffnessWatch
from catena.simulation.lanes import alone
from catena.simulation.problem import Problem
from tests.simulation.contacts.other_plans import beside_a_loop, placed, velocities


def situation(seed, acts="nothing"):
    """A walker in any state: a foot on the floor, a ball on it, a ball on a ball, and a foot on a plane that moves; and
    what acts besides."""
    rng, s = np.random.default_rng(seed), walker_on_springs().system()
    contacts = [
        ct.Contact("front_left/foot", friction=0.5),
        ct.Contact("hind_right/foot", friction=0.3, radius=0.02),
        ct.Contact("front_right/foot", on="hind_left/foot", on_radius=0.1, friction=0.7),
        ct.Contact("hind_left/foot", on="front_left/shank", friction=0.6),
    ]
    q = s.integrate(s.neutral(), 0.3 * rng.normal(size=s.nv))
    places = ContactPlaces(s, contacts)
    places.refer(q)
    v = rng.normal(size=s.nv)
    given = {}
    if acts == "stops":
        contacts[1], contacts[3] = (
            side for joint, place in zip(s.joints[1:3], (0.2, 0.3), strict=True)
            for side in ct.Stop(joint, upper=place).sides(s)
        )  # fmt: skip
        places = ContactPlaces(s, contacts)
        places.refer(q)
    if acts == "bent":
        x = np.linspace(-1.5, 1.5, 9)
        hills = ct.HeightField(x, x, 0.1 * np.sin(2.0 * x)[:, None] * np.cos(3.0 * x) - 0.3)
        contacts = [
            ct.Contact("front_left/foot", rim=0.05, radius=0.01, friction=0.5),
            ct.Contact("hind_right/foot", floor=hills, radius=0.02, friction=0.3),
            ct.Contact("front_right/foot", on="hind_left/foot", rim=0.03, friction=0.7),
            ct.Contact("hind_left/foot", on="front_left/shank", floor=hills, friction=0.6),
        ]
        places = ContactPlaces(s, contacts)
        places.refer(q)
    if acts == "drives":
        hip = s.joints[1]
        given["motion"] = {hip: lambda t: (q[s.slice_q(hip)], v[s.slice_v(hip)], [0.7])}
    if acts == "wrench":
        given["forces"] = {"trunk": lambda t, q, v: [1.0, 2.0, 3.0, 4.0, 5.0, q[..., 0]]}
    if acts == "control":
        given["control"] = lambda t, q, v: np.sin(np.arange(s.nv))
    return s, q, v, FreeMotion(Problem(s, rtol=1e-6, atol=1e-8, **given), places), rng


INSIDE = "compiled steps with contacts inside"
ACTS = ("nothing", "stops", "bent", "drives", "wrench", "control")


@pytest.mark.parametrize("acts", ACTS)
@pytest.mark.parametrize(
    "modes",
    [("slide", "stick", "slide", "open"), ("stick",) * 4, ("slide",) * 4, ("open", "slide", "stick", "open")],
)
def test_forces_with_known_modes(modes, acts):
    """The compiled step and the mobility from the motions of all joints give the same forces, slips and gaps, whatever
    acts besides."""
    s, q, v, free_motion, rng = situation(3, acts)
    if acts == "stops":
        # Stops have no friction.
        modes = tuple("slide" if k in (1, 3) and mode == "stick" else mode for k, mode in enumerate(modes))
    along = rng.normal(size=(4, 2))
    holding = Holding(
        free_motion, Standing(modes, along / np.linalg.norm(along, axis=1)[:, None]), 1.0, along
    )
    holding.begin(0.0, q, v)
    inside = Inside(free_motion.places)
    assert can_be_inside(free_motion.problem, free_motion.places)
    quick = QuickSteps(free_motion, inside, TimeWindow(0.0, 1.0, 1.0), 1.0, 1e-4, 1.0)
    quick.tell(inside.numbers_of(holding, np.zeros(4)))
    told = quick.look(0.0, q, v)
    tau = free_motion.command(0.0, q, v)
    expected = holding.forces(np.zeros(1), q[None], v[None], tau[None])
    touches = free_motion.places.at(q[None], v[None])
    size = np.abs(expected.f).max()
    assert np.abs(told[holding.closed, :3] - expected.f[0]).max() < 1e-10 * size
    assert not told[[k for k in range(4) if modes[k] == "open"], :3].any()
    assert np.abs(told[:, 3:6] - touches.u[0]).max() < 1e-13
    assert np.abs(told[:, 6] - touches.gap[0]).max() < 1e-14
    assert told[:, 7].min() > 1e-6


def test_a_step_with_contacts_is_played_on_plain_numbers():
    """A walker that stands on a point, a ball, a rim and a floor that is bent: the compiled step, and the same Python
    functions on plain numbers, lead to the same state with the same forces."""
    s, x = walker_on_springs().system(), np.linspace(-1.5, 1.5, 9)
    q = s.neutral()
    q[s.slice_q("base")][2] -= s.pose(q, "front_left/foot").p[2]
    floor = ct.HeightField(x, x, 1e-4 * np.sin(2.0 * x)[:, None] * np.cos(3.0 * x))
    kinds = ({}, {"radius": 1e-3}, {"rim": 0.03}, {"floor": floor})
    contacts = [
        ct.Contact(f"{leg}/foot", friction=9.0, **kind) for leg, kind in zip(LEGS, kinds, strict=True)
    ]
    free_motion = FreeMotion(Problem(s, rtol=1e-3, atol=1e-3), ContactPlaces(s, contacts))
    modes, h = ("stick",) * 4, 1e-5
    holding = Holding(free_motion, Standing(modes, np.zeros((4, 2))), 1.0, np.zeros((4, 2)))
    inside = Inside(free_motion.places)
    quick = QuickSteps(free_motion, inside, TimeWindow(0.0, 1.0, 1.0), 1.0, h, 1.0)
    quick.tell(inside.numbers_of(holding, np.zeros(4)))
    told, state = quick.look(0.0, q, np.zeros(s.nv)), ("q", "qd", "told", "t")
    names = quick.session.program.input_names
    given = {name: quick.b[name][0].copy() for name in names} | {"end": np.array([h])}
    quick.b["end"][:] = h
    assert not quick.session.piece(0, None, names, state)()
    mover = quick.mover
    plain = play(mover.chosen.algorithm, s.plan, s.plan.gravity, given, forces=mover.acting.placed)
    assert np.abs(quick.b["told"][0] - told.reshape(-1)).max() == 0.0 and quick.b["t"][0, 0] == h
    for name in state:
        expected = quick.b[name][0]
        own = np.asarray(plain[name], dtype=float)
        assert np.abs(own - expected).max() < 1e-11 * np.abs(expected).max(), name


def test_a_run_within_plain_numbers_is_the_one_without():
    s, q, v, contacts = thrown()
    with ct.plain_numbers():
        plain = ct.simulate(s, q, v, 0.16, contacts=contacts, rtol=1e-6, check=False)
    run = ct.simulate(s, q, v, 0.16, contacts=contacts, rtol=1e-6, check=False)
    assert [x.told for x in plain.transitions] == [x.told for x in run.transitions] != []
    assert np.abs(plain.q[-1] - run.q[-1]).max() < 1e-10


def test_few_contacts_and_more():
    """Four contacts are eliminated in one step, five one after the other; a fifth that is open changes nothing."""
    s, q, v, free_motion, rng = situation(5)
    more = ContactPlaces(s, [*free_motion.places.contacts, ct.Contact("trunk", friction=0.5)])
    more.refer(q)
    modes, along = ("slide", "stick", "slide", "stick", "open"), rng.normal(size=(5, 2))
    told = []
    for places, count in ((free_motion.places, 4), (more, 5)):
        own = FreeMotion(free_motion.problem, places)
        holding = Holding(own, Standing(modes[:count], along[:count]), 1.0, along[:count])
        holding.begin(0.0, q, v)
        quick = QuickSteps(own, Inside(places), TimeWindow(0.0, 1.0, 1.0), 1.0, 1e-4, 1.0)
        quick.tell(Inside(places).numbers_of(holding, np.zeros(count)))
        told.append(quick.look(0.0, q, v))
    assert np.abs(told[0] - told[1][:4]).max() < 1e-11 * np.abs(told[0]).max()
    assert not told[1][4, :3].any() and told[1][4, 7] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("turn", [0.0, 0.5], ids=["along an axis", "across both axes"])
def test_a_planar_mechanism(turn):
    """A biped that moves in a vertical plane lands and slips by compiled steps as it does where Python takes them: its
    feet do not yield across the plane, and are not pushed there."""
    m = ct.Mechanism("biped")
    m.add_body("trunk", mass=4.0, inertia=(0.05, 0.06, 0.04))
    m.add_joint(
        "moves", "ground", "trunk", ct.Planar("y"), in_parent=ct.Pose(rpy=(0.0, 0.0, turn)), actuated=False
    )
    for side, x in (("left", 0.1), ("right", -0.1)):
        m.add_body(side, mass=0.5, com=(0.0, 0.0, -0.15), inertia=(4e-3, 4e-3, 1e-4))
        m.add_joint(f"{side} hip", "trunk", side, ct.Revolute("y"), in_parent=ct.Pose(p=(x, 0.0, -0.05)))
        m.add_spring(f"{side} spring", f"{side} hip", stiffness=200.0, damping=4.0)
        m.add_frame(f"{side} foot", side, ct.Pose(p=(0.0, 0.0, -0.3)))
    s = m.system()
    # Coordinates are up, along and the angle.
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("moves")], v[s.slice_v("moves")] = (0.391, 0.0, 0.15), (0.0, 0.8, 0.0)
    feet = ("left foot", "right foot")
    given = {"contacts": [ct.Contact(foot, friction=0.4) for foot in feet], "rtol": 1e-7, "atol": 1e-9}
    quick = ct.simulate(s, q, v, 0.3, check=False, **given)
    slow = ct.simulate(s, q, v, 0.3, check=False, control=lambda t, q, v: np.zeros(s.nv), **given)
    taken = {run.settings["steps taken by"] for run in quick.segments}
    assert taken <= {"compiled steps with contacts inside", "compiled steps, one by one"}
    assert [x.told for x in quick.transitions] == [x.told for x in slow.transitions]
    assert len(quick.transitions) > 2
    times = np.linspace(0.0, 0.3, 14)
    a, b = (np.array([run.at(t)[0] for t in times]) for run in (quick, slow))
    # Careful steps are of first order, and each way takes its own.
    assert np.abs(a - b).max() < 3e-6
    across = np.array([-np.sin(turn), np.cos(turn)])
    force = quick.contact_forces["left foot"]
    assert np.abs(force[:, :2] @ across).max() < 1e-9 * np.abs(force).max()


def test_an_inverse_loses_no_more_digits_than_the_condition_has():
    """Two of three directions yield next to nothing; cofactors would lose twice as many digits."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        m = Q @ np.diag([1.0, 3e-7, 1e-7]) @ Q.T
        found, determinant = inverse_of(m.tolist())
        exact = np.linalg.inv(m)
        assert np.abs(found.reshape(3, 3) - exact).max() < 1e-8 * np.abs(exact).max()
        assert determinant == pytest.approx(np.linalg.det(m), rel=1e-8)


def test_steps_in_a_row_are_those_one_by_one():
    """What many steps in a call record is what each step by itself gives, with what contacts do where it begins."""
    s, q, v, free_motion, _ = situation(1)
    inside = Inside(free_motion.places)
    quick = QuickSteps(free_motion, inside, TimeWindow(0.0, 1.0, 1.0), 1.0, 1e-4, 1.0)
    numbers = inside.numbers.copy()
    numbers[:, PLACES["deep"]] = 10.0
    quick.tell(numbers)
    now = ContactState(0.0, q, v, np.zeros(4), None, None)
    passed = alone(quick.many(now, 1e-3))
    assert len(passed.t) > 8 and not passed.halted and not passed.lost
    for told, t, then_q, then_v in zip(passed.told, passed.t, passed.q, passed.v, strict=False):
        assert np.abs(told - quick.look(now.t, now.q, now.v)).max() < 1e-12
        one = alone(quick.moved(now, t - now.t))
        assert np.abs(one.q - then_q).max() < 1e-13 and np.abs(one.v - then_v).max() < 1e-12
        assert np.abs(one.told - quick.look(one.t, one.q, one.v)).max() < 1e-12
        now = one


def box_on_corners():
    """A box on four corners with contacts, and its free motion."""
    m = ct.Mechanism("box")
    m.add_body("box", mass=2.0, inertia=(0.1, 0.12, 0.15))
    m.add_joint("moves", "ground", "box", ct.Free(), actuated=False)
    corners = [(x, y, -0.1) for x in (-0.2, 0.25) for y in (-0.15, 0.2)]
    for k, p in enumerate(corners):
        m.add_frame(f"corner{k}", "box", ct.Pose(p=p))
    s = m.system()
    contacts = [ct.Contact(f"corner{k}", friction=0.5) for k in range(4)]
    q = s.neutral()
    q[2] = 0.1
    return s, q, FreeMotion(Problem(s), ContactPlaces(s, contacts))


@pytest.mark.parametrize("modes", [("slide",) * 4, ("stick",) * 4, ("slide", "open", "slide", "slide")])
def test_contacts_that_say_the_same(modes):
    """Four corners of one box have more forces than needed: what is left of their blocks is next to nothing, and the
    least forces are those that a singular value decomposition finds, however slips turn."""
    s, q, free_motion = box_on_corners()
    v = np.array([0.0, 0.0, 2.0, 0.5, 0.1, 0.0]) if modes[0] == "slide" else np.zeros(s.nv)
    inside = Inside(free_motion.places)
    holding = Holding(free_motion, Standing(modes, np.zeros((4, 2))), 0.4, np.tile([1.0, 0.0], (4, 1)))
    holding.begin(0.0, q, v)
    told = []
    for least in (False, True):
        quick = QuickSteps(free_motion, inside, TimeWindow(0.0, 1.0, 1.0), 0.4, 1e-4, 1.0, least=least)
        quick.tell(inside.numbers_of(holding, np.zeros(4)))
        told.append(quick.look(0.0, q, v))
    if "open" not in modes:
        assert np.nanmin(told[0][:, 7]) < 1e-12
    assert told[1][:, 7].min() == 1.0
    expected = holding.forces(np.zeros(1), q[None], v[None], np.zeros((1, s.nv))).f[0]
    assert np.abs(told[1][holding.closed, :3] - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("friction", [0.2, 0.8])
def test_a_box_on_its_corners_beside_a_loop(friction):
    """A box that lands on four corners, slides, turns and rests goes the same way where its forces are found in the
    compiled step and where Python finds them, and no force pulls or leaves its cone."""
    alone, q, free_motion = box_on_corners()
    q = alone.integrate(q, np.array([0.06, -0.04, 0.2, 0.0, 0.0, 0.0]))
    q[2] += 0.01 - free_motion.places.gaps(q[None]).min()
    v, runs = np.array([0.0, 0.0, 1.0, 0.4, -0.2, 0.0]), []
    contacts = [ct.Contact(f"corner{k}", friction=friction) for k in range(4)]
    for s in (alone, beside_a_loop(alone.mechanism.copy()).system()):
        start = placed(s, alone, q), velocities(s, alone, v)
        runs.append(ct.simulate(s, *start, 0.4, contacts=contacts, rtol=1e-8, atol=1e-10, check=False))
    assert all("compiled steps" in run.settings["steps taken by"] for run in runs[0].segments)
    for t in np.linspace(0.0, 0.4, 9):
        at = [
            np.concatenate([run.system.pose(run.at(t)[0], f"corner{k}").p for k in range(4)]) for run in runs
        ]
        assert np.abs(at[0] - at[1]).max() < 1e-6
    for force in runs[0].contact_forces.values():
        size = np.abs(force).max()
        assert force[:, 2].min() > -1e-6 * size
        assert (np.hypot(force[:, 0], force[:, 1]) - friction * force[:, 2]).max() < 1e-5 * size


@pytest.mark.parametrize("acts", ACTS)
def test_mobility(acts):
    """Gaps, velocities, accelerations, mobility and what impulses do, by compiled code and from all joints."""
    s, q, v, free_motion, rng = situation(len(acts), acts)
    tau = free_motion.command(0.0, q, v)
    slow, quick = (
        ByJoints(free_motion, 0.0, q, v, tau),
        Mobile(InstantLoads(free_motion.acting), Inside(free_motion.places)).at(0.0, q, v, tau),
    )
    some, p = [0, 2, 3], rng.normal(size=(3, 3))
    pairs = [
        (slow.gap, quick.gap), (slow.u, quick.u), (slow.mobility(some), quick.mobility(some)),
        (slow.accelerations(some), quick.accelerations(some)), (slow.pushed(some, p), quick.pushed(some, p)),
    ]  # fmt: skip
    for a, b in pairs:
        assert np.abs(a - b).max() < 1e-11 * max(1.0, np.abs(a).max())


@pytest.mark.parametrize("friction", [0.0, 0.4, 1.0])
def test_careful_steps(friction):
    """A walker that lands askew: Moreau's steps by compiled code and from Python go the same way."""
    s = walker_on_springs().system()
    turn = np.zeros(s.nv)
    turn[s.slice_v("base")][:3] = (0.02, 0.01, 0.0)
    q = s.integrate(s.neutral(), turn)
    q[s.slice_q("base")][2] += 1e-3 - min(s.pose(q, f"{leg}/foot").p[2] for leg in LEGS)
    v = np.zeros(s.nv)
    v[s.slice_v("base")] = (0.1, 0.2, 0.3, 0.3, -0.2, -0.3)
    free_motion = FreeMotion(
        Problem(s), ContactPlaces(s, [ct.Contact(f"{leg}/foot", friction=friction) for leg in LEGS])
    )
    ways = [
        CarefulSteps(free_motion, 0.6, 2e-4, compiled, StiffnessWatch(free_motion)).go(
            0.0, q, v, 0.02, lambda p, u, yields: True
        )
        for compiled in (None, ImpulseSteps(InstantLoads(free_motion.acting), Inside(free_motion.places)))
    ]
    (slow, f), (quick, g) = ways
    assert len(slow.t) == len(quick.t) > 90 and np.abs(f[:, :, 2]).max() > 10.0
    assert np.abs(slow.q - quick.q).max() < 1e-7
    assert np.abs(slow.v - quick.v).max() < 1e-5 * np.abs(slow.v).max()
    assert np.abs(slow.position("front_left/foot")[:, 2]).min() > -1e-9
    for run in (slow, quick):
        rest = run.energy - run.energy[0] - sum(run.work.values())
        # A foot that hits within a step is moved out of the floor at its end.
        assert np.abs(rest).max() < 1e-4 * (run.kinetic_energy.max() + np.ptp(run.potential_energy))
    for name, work in slow.work.items():
        assert np.abs(work - quick.work[name]).max() < 1e-6 * max(1.0, np.abs(work).max())


def thrown():
    """A plate on three feet that is thrown on a slope, lands, slides and turns, and comes to rest."""
    m = ct.Mechanism("plate")
    m.add_body("plate", mass=2.0, inertia=(0.04, 0.03, 0.06))
    m.add_joint("moves", "ground", "plate", ct.Free(), actuated=False)
    m.add_frame("slope", "ground", ct.Pose(rpy=(0.15, 0.0, 0.0)))
    for k in range(3):
        angle = 2.0 * np.pi * k / 3.0
        m.add_frame(f"foot{k}", "plate", ct.Pose(p=(0.2 * np.cos(angle), 0.2 * np.sin(angle), -0.05)))
    s = m.system()
    q = s.integrate(s.neutral(), np.array([0.17, 0.02, 0.3, 0.0, 0.0, 0.0]))
    q[2] += 0.08
    contacts = [ct.Contact(f"foot{k}", on="slope", friction=0.5, restitution=0.2) for k in range(3)]
    return s, q, np.array([0.0, 0.0, 2.0, 0.6, 0.2, 0.0]), contacts


@pytest.mark.parametrize(
    "method, steps, power, tolerance",
    [
        ("rk4", (2e-3, 1e-3), 3.5, 1e-9),
        pytest.param("midpoint", (1e-3, 5e-4), 1.8, 1e-5, marks=pytest.mark.slow),
        pytest.param("euler", (2.5e-4, 1.25e-4), 0.8, 1e-4, marks=pytest.mark.slow),
        pytest.param("semi_implicit", (1e-3, 5e-4), 0.8, 1e-2, marks=pytest.mark.slow),
        pytest.param("leapfrog", (1e-3, 5e-4), 0.8, 1e-4, marks=pytest.mark.slow),
    ],
)
def test_steps_of_fixed_size_have_contacts_inside(method, steps, power, tolerance):
    """A plate that lands and slides comes nearer to what steps of chosen size give with smaller steps, by the power of
    the method."""
    s, q, v, contacts = thrown()
    exact = ct.simulate(s, q, v, 0.12, contacts=contacts, rtol=1e-11, atol=1e-13, check=False)
    errors = []
    for step in steps:
        run = ct.simulate(s, q, v, 0.12, contacts=contacts, integrator=method, step=step, check=False)
        assert {part.settings["steps taken by"] for part in run.segments} == {INSIDE}
        assert run.segments[0].settings["integrator"] == f"{method}, step {step:g} s"
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
    assert errors[1] < tolerance and np.log2(errors[0] / errors[1]) > power


@pytest.mark.parametrize(
    "method, options",
    [
        ("dopri5", {"rtol": 1e-6, "atol": 1e-8}),
        ("dopri5", {"rtol": 1e-10, "atol": 1e-12}),
        ("dop853", {"rtol": 1e-8, "atol": 1e-10}),
        ("rk4", {"step": 5e-4}),
    ],
)
@pytest.mark.parametrize("way", ["wrench", "control"])
def test_ways_to_move(method, options, way):
    """A wrench that is nothing makes Python find the forces of contacts, and a controller that gives nothing lets it
    ask in between. All ways land, slide and rest alike, and tell the same forces."""
    s, q, v, contacts = thrown()
    given = {"contacts": contacts, "integrator": method, "check": False, **options}
    quick = ct.simulate(s, q, v, 0.5, **given)
    acts = (
        {"forces": {"plate": lambda t: np.zeros(6)}}
        if way == "wrench"
        else {"control": lambda t, q, v: 0.0 * v}
    )
    slow = ct.simulate(s, q, v, 0.5, **acts, **given)
    # Until it comes to rest motions are exact; there either way takes some careful steps, which are of first order.
    for end, tolerance in ((0.13, options.get("rtol", 1e-9) + 1e-9), (0.5, 1e-6)):
        a, b = (np.array([run.at(t)[0] for t in np.linspace(0.0, end, 14)]) for run in (quick, slow))
        assert np.abs(a - b).max() < tolerance
    first, second = ([x for x in run.transitions if x.t < 0.13] for run in (quick, slow))
    assert [x.told for x in first] == [x.told for x in second] and len(first) > 15
    for x, y in zip(first, second, strict=True):
        assert abs(x.t - y.t) < 1e-7 and abs(x.energy_loss - y.energy_loss) < 1e-5 * slow.energy[0]
    assert np.max(np.diff(quick.energy)) < 1e-6 * slow.energy[0]
    assert quick.kinetic_energy[-1] < 1e-6 * quick.kinetic_energy[0]
    for contact in contacts:
        f, g = (run.contact_forces[contact.label][-1] for run in (quick, slow))
        assert np.abs(f - g).max() < 1e-3 * np.abs(g).max()


def test_an_event_besides_contacts():
    """An event of the user's own is met while contacts slide, as it is where Python takes the steps."""
    s, q, v, contacts = thrown()
    half = ct.Event(lambda t, q, v: t - 0.21, name="later")
    given = {"contacts": contacts, "rtol": 1e-8, "atol": 1e-10, "check": False, "events": [half]}
    quick = ct.simulate(s, q, v, 0.3, **given)
    slow = ct.simulate(s, q, v, 0.3, forces={"plate": lambda t: np.zeros(6)}, **given)
    assert len(quick.events) == len(slow.events) == 1
    assert np.abs(quick.events[0].q - slow.events[0].q).max() < 1e-6


@pytest.mark.parametrize("terminal", [False, True])
def test_events_are_as_exact_as_the_motion(terminal):
    """Events of compiled steps with contacts are those that runs from Python find, and cost no more steps."""
    s, q, v, contacts = thrown()

    def swings(t, q, v):
        return np.sin(150.0 * (t + q[0])) + 0.1 * v[4]

    event = ct.Event(swings, "swings", terminal=terminal)
    given = {"contacts": contacts, "rtol": 1e-10, "atol": 1e-12, "check": False}
    bare = ct.simulate(s, q, v, 0.12, **given)
    quick = ct.simulate(s, q, v, 0.12, events=[event], **given)
    slow = ct.simulate(s, q, v, 0.12, events=[event], forces={"plate": lambda t: np.zeros(6)}, **given)
    assert all(
        "inside" in x.settings["steps taken by"] for x in quick.segments if "careful" not in str(x.settings)
    )
    assert len(quick.events) == len(slow.events) == (1 if terminal else len(quick.events)) > 0
    for a, b in zip(quick.events, slow.events, strict=True):
        assert abs(a.t - b.t) < 1e-8 and np.abs(a.q - b.q).max() < 1e-8 and np.abs(a.v - b.v).max() < 1e-6
        assert abs(swings(a.t, a.q, a.v)) < 1e-8
    assert quick.ended == slow.ended and bool(quick.ended) == terminal
    if terminal:
        assert quick.t[-1] == quick.events[0].t
    else:
        assert len(quick.events) > 2
        assert sum(x.steps for x in quick.segments) <= sum(x.steps for x in bare.segments)


def test_an_event_costs_no_steps():
    """A walker that lands askew has slips that friction stops at once, where steps must not become small."""
    s = walker_on_springs().system()
    q, v = askew(s, 0.005), np.zeros(s.nv)
    contacts = [ct.Contact(f"{leg}/foot", friction=1.0) for leg in LEGS]
    given = {"contacts": contacts, "rtol": 1e-5, "atol": 1e-7, "check": False}
    runs = [
        ct.simulate(s, q, v, 0.2, events=events, **given)
        for events in ((), [ct.Event(lambda t, q, v: v[5], "turns")])
    ]
    assert len(runs[1].events) > 0
    with_event, without = (sum(x.steps for x in run.segments) for run in reversed(runs))
    assert with_event == without
    assert np.abs(runs[0].at(0.2)[0] - runs[1].at(0.2)[0]).max() < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_coulombs_law_is_the_same_in_compiled_steps(seed):
    """Forces of the feet of a walker by Newton's method on projections, for random motions, frictions and slips, are
    those that sweeps and exact solutions of sets find, with the same modes."""
    _, q, v, free_motion, rng = situation(seed)
    mobile = Mobile(InstantLoads(free_motion.acting), Inside(free_motion.places))
    now, found = mobile.at(0.0, q, v, np.zeros(len(v))), 0
    for _ in range(20):
        some = sorted(rng.choice(4, size=rng.integers(1, 5), replace=False).tolist())
        c, mu = rng.normal(size=(len(some), 3)), rng.uniform(0.0, 1.2, size=len(some))
        c[:, 2] -= 1.0
        angle = rng.uniform(0.0, 2.0 * np.pi, size=len(some))
        sliding = [np.array([np.cos(a), np.sin(a)]) if rng.random() < 0.3 else None for a in angle]
        quick = now.pressed(some, c, mu, sliding)
        if quick is None:
            continue
        found += 1
        expected = pressed(now.mobility(some), c, mu, sliding, [str(k) for k in some])
        np.testing.assert_allclose(quick.f, expected.f, rtol=0, atol=1e-8 * np.abs(expected.f).max())
        assert quick.modes == expected.modes
    assert found >= 16


@pytest.mark.parametrize("seed", range(3))
def test_decided_at_once_or_part_by_part(seed):
    """Impacts, slips that friction stops, and forces behind them: by one call of compiled code, or each part by itself
    with Python in between."""
    rng, s = np.random.default_rng(seed), walker_on_springs().system()
    contacts = [ct.Contact(f"{leg}/foot", friction=rng.uniform(0.2, 1.0)) for leg in LEGS]
    free_motion = FreeMotion(Problem(s, rtol=1e-6, atol=1e-8), ContactPlaces(s, contacts))
    loads, inside = InstantLoads(free_motion.acting), Inside(free_motion.places)
    at_once, by_parts = (Deciding(free_motion, 0.6, 2e-4, Mobile(loads, inside)) for _ in range(2))
    by_parts.mobile.strike = None
    modes = set()
    for size in (0.0, 1e-9, 1e-3, 0.3, 0.3, 0.3, 2.0, 2.0):
        v, turn = size * rng.normal(size=s.nv), np.zeros(s.nv)
        turn[s.slice_v("base")][:2] = rng.choice([0.0, 0.0, 0.05], size=2)
        q = s.integrate(s.neutral(), turn)
        q[s.slice_q("base")][2] -= min(s.pose(q, f"{leg}/foot").p[2] for leg in LEGS)
        rests = (0,) if rng.random() < 0.3 and size < 0.1 else ()
        a, b = (deciding.decide(0.0, q, v, rests=rests) for deciding in (at_once, by_parts))
        assert a.standing.modes == b.standing.modes
        modes |= set(a.standing.modes)
        pairs = [(a.v, b.v), (a.impulse, b.impulse), (a.standing.slip, b.standing.slip)]
        if set(a.standing.modes) != {"open"}:
            pairs.append((a.standing.rates, b.standing.rates))
        for x, y in pairs:
            assert np.abs(np.subtract(x, y)).max() < 1e-7 * max(1.0, np.abs(y).max())
        assert a.lost == pytest.approx(b.lost, rel=1e-7, abs=1e-12)
    assert modes == {"open", "stick", "slide"}


@pytest.mark.parametrize("seed", range(2))
def test_slow_slips_of_light_feet_are_not_stiff(seed):
    """Feet of a walker slip, stop and slip again: few large steps go where small ones go, and where time stepping goes,
    which knows no directions of slips."""
    rng, s = np.random.default_rng(seed), walker_on_springs().system()
    turn, v = np.zeros(s.nv), np.zeros(s.nv)
    turn[s.slice_v("base")][:3] = rng.uniform(-0.1, 0.1, 3)
    v[s.slice_v("base")][3:] = rng.uniform(-0.3, 0.3, 3)
    q = s.integrate(s.neutral(), turn)
    q[s.slice_q("base")][2] += 0.01 - min(s.pose(q, f"{leg}/foot").p[2] for leg in LEGS)
    given = {"contacts": [ct.Contact(f"{leg}/foot", friction=0.4) for leg in LEGS], "check": False}
    large = ct.simulate(s, q, v, 0.3, rtol=1e-4, atol=1e-6, **given)
    small = ct.simulate(s, q, v, 0.3, rtol=1e-9, atol=1e-11, **given)
    other = ct.simulate(s, q, v, 0.3, integrator="time_stepping", step=5e-5, **given)
    assert sum("slide" in line for change in large.transitions for line in change.told) > 4
    assert not any("careful" in change.name for change in (*large.transitions, *small.transitions))
    assert sum(run.steps for run in large.segments) < 500
    feet = [np.array([run.position(f"{leg}/foot")[-1] for leg in LEGS]) for run in (large, small, other)]
    assert np.abs(feet[0] - feet[1]).max() < 1e-5
    assert np.abs(feet[1] - feet[2]).max() < 1e-5


def test_a_slip_that_turns_round():
    """While a foot of a walker slips slowly another one lands, and turns its slip round: held in its direction it
    would end at once, which led 3e-5 m astray. Large steps go where small ones go."""
    walker = walkers(4)[3]
    s, given = walker.system, {"contacts": walker.contacts, "check": False}
    large, small = (
        ct.simulate(s, walker.q, None, 0.16, rtol=rtol, atol=1e-2 * rtol, **given) for rtol in (1e-4, 1e-9)
    )
    assert sum("touches" in change.name for change in large.transitions) == 2
    feet = [np.array([run.position(f"{leg}/foot")[-1] for leg in LEGS]) for run in (large, small)]
    assert np.abs(feet[0] - feet[1]).max() < 5e-6
