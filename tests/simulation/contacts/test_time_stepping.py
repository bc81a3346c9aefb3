"""Steps of fixed size with contacts of their own: closed forms, the exact way, and one state as in a batch."""

from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from benchmarks.time_stepping import humanoid_family
from benchmarks.walkers import LEGS, askew, walker_on_springs
from catena.errors import StateError
from catena.mechanism.generators import n_four_bars
from catena.simulation.arguments import TimeSpan, TimeWindow
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.geometry import ContactPlaces
from catena.simulation.contacts.holding import Holding
from catena.simulation.contacts.landing import EXACT, Landing
from catena.simulation.contacts.standing import Standing
from catena.simulation.contacts.stretch import ContactStretch
from catena.simulation.following import Following
from catena.simulation.problem import Problem
from tests.simulation.contacts.test_pairs_of_contacts import leg, start
from tests.simulation.contacts.test_through_elimination import dropped, on_two_legs

G = 9.81


def free_body(radius=0.0, gravity=(0.0, 0.0, -G)):
    """A body of 2 kg that is free, a solid ball if it has a radius."""
    m = ct.Mechanism("free", gravity=gravity)
    m.add_body("b", mass=2.0, inertia=(0.4 * 2.0 * radius**2,) * 3 if radius else (0.01, 0.02, 0.03))
    m.add_joint("j", "ground", "b", ct.Free())
    return m.system()


def slider(axis="z", **options):
    """A body of 1 kg on a slide."""
    m = ct.Mechanism("slider")
    m.add_body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("j", "ground", "b", ct.Prismatic(axis), **options)
    return m.system()


def stepped(s, q, v, duration, step=1e-3, check=False, **options):
    return ct.simulate(s, q, v, duration, integrator="time_stepping", step=step, check=check, **options)


def order(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def walkers(count, seed=0):
    s, rng = walker_on_springs().system(), np.random.default_rng(seed)
    q = np.array([askew(s, height) for height in rng.choice([0.02, 0.05], count)])
    turn = np.zeros((count, s.nv))
    turn[:, :3] = 0.03 * rng.standard_normal((count, 3))
    return s, s.integrate(q, turn), np.zeros((count, s.nv)), rng.uniform(0.3, 1.0, count)


FEET = [ct.Contact(f"{leg}/foot", friction=0.6) for leg in LEGS]


def test_a_ball_bounces_as_it_does_by_formulas():
    """Heights between bounces, up to the part 1e-10 that contacts give way; the last ones end at rest."""
    s, e, height = slider(), 0.7, 0.5
    run = stepped(s, [height], [0.0], 4.0, step=1e-3, contacts=[ct.Contact("b", restitution=e)])
    t, v = np.sqrt(2.0 * height / G), e * np.sqrt(2.0 * G * height)
    for _ in range(6):
        # Within a flight, away from what lands.
        inside = (run.t > t + 1e-9) & (run.t < t + 2.0 * v / G - 1e-9)
        x = run.t[inside] - t
        assert np.abs(run.q[inside, 0] - (v * x - 0.5 * G * x * x)).max() < 2e-9
        t, v = t + 2.0 * v / G, e * v
    assert abs(run.q[-1, 0]) < 1e-9 and abs(run.v[-1, 0]) < 1e-9
    assert run.contact_forces["b"][-1, 2] == pytest.approx(G, rel=1e-9)


def test_a_block_slides_to_rest_and_stays():
    s, mu, speed = free_body(), 0.3, 1.0
    v = np.zeros(6)
    v[3] = speed
    steps, way = (8e-3, 4e-3, 2e-3, 1e-3), speed**2 / (2.0 * mu * G)
    runs = [stepped(s, s.neutral(), v, 0.6, step=h, contacts=[ct.Contact("b", friction=mu)]) for h in steps]
    # The step in which it comes to rest has an error of second order.
    assert all(abs(run.q[-1, 0] - way) < 0.5 * mu * G * h**2 for run, h in zip(runs, steps, strict=True))
    for run in runs:
        assert np.abs(run.v[-1]).max() < 1e-9 and np.abs(run.q[-1, 1:3]).max() < 1e-9
        sliding = run.t[1:-1] < 0.9 * speed / (mu * G)
        assert run.contact_forces["b"][1:-1][sliding, 0] == pytest.approx(-mu * 2.0 * G, rel=1e-6)


def test_a_ball_slips_and_then_rolls():
    """Pure rolling begins at 2 u / (7 mu g) with 5/7 of the speed; the error is of second order."""
    s, mu, radius = free_body(0.1), 0.3, 0.1
    q, v = s.neutral(), np.zeros(6)
    q[2], v[3] = radius, 1.0
    slips = 2.0 / (7.0 * mu * G)
    way = slips - 0.5 * mu * G * slips**2 + 5.0 / 7.0 * (0.6 - slips)
    contact = ct.Contact("b", friction=mu, radius=radius)
    runs = [stepped(s, q, v, 0.6, step=h, contacts=[contact]) for h in (4e-3, 2e-3, 1e-3)]
    speeds = [abs(np.linalg.norm(run.v[-1, 3:]) - 5.0 / 7.0) for run in runs]
    assert order((4e-3, 2e-3, 1e-3), speeds) > 1.8
    assert all(abs(run.q[-1, 0] - way) < h**2 for run, h in zip(runs, (4e-3, 2e-3, 1e-3), strict=True))


def test_nothing_creeps_on_an_incline():
    s = free_body(gravity=(G * np.sin(0.3), 0.0, -G * np.cos(0.3)))
    run = stepped(s, s.neutral(), np.zeros(6), 10.0, step=1e-2, contacts=[ct.Contact("b", friction=0.4)])
    assert np.abs(run.q[-1, :3]).max() < 1e-9
    assert run.contact_forces["b"][-1] == pytest.approx([-2.0 * G * np.sin(0.3), 0.0, 2.0 * G * np.cos(0.3)])


def test_an_arm_that_friction_stops_stays():
    """Two joints that rub, one behind the other: they come to rest as in the exact way, and nothing creeps then."""
    m = ct.Mechanism("arm")
    for name, parent, drop, friction in (("upper", "ground", 0.0, 3.0), ("lower", "upper", -0.4, 1.2)):
        m.add_body(name, mass=1.0, com=(0.0, 0.0, -0.2), inertia=0.02)
        at = ct.Pose(p=(0.0, 0.0, drop))
        m.add_joint(f"{name} joint", parent, name, ct.Revolute("y"), in_parent=at, friction=friction)
    s, begins = m.system(), ([0.3, 0.2], [0.3, 2.0])
    run = stepped(s, *begins, 0.5, step=5e-4, samples=6)
    assert np.abs(run.v[1:]).max() < 1e-10
    assert np.abs(run.q[-1] - run.q[1]).max() < 1e-11
    exact = ct.simulate(s, *begins, 0.1)
    assert np.abs(run.q[1] - exact.q[-1]).max() < 1e-6


def test_stops_bounce_and_hold():
    s, e = slider("x"), 0.5
    stop = ct.Stop("j", lower=-0.2, upper=0.3, restitution=e)
    run = stepped(s, [0.0], [1.0], 1.5, contacts=[stop])
    # To the upper stop, back to the lower one at half the speed, and again at a quarter.
    first, second = 0.3, 0.3 + 0.5 / e
    expected = np.where(
        run.t < first,
        run.t,
        np.where(run.t < second, 0.3 - e * (run.t - first), -0.2 + e * e * (run.t - second)),
    )
    assert np.abs(run.q[:, 0] - expected).max() < 1e-9
    pressed = stepped(
        s, [0.0], [0.0], 2.0, contacts=[replace(stop, restitution=0.0)], control=lambda t, q, v: [1.0]
    )
    assert pressed.q[-1, 0] == pytest.approx(0.3, abs=1e-9)
    assert pressed.contact_forces["j upper"][-1, 2] == pytest.approx(1.0)
    assert not pressed.contact_forces["j lower"].any()


def test_dry_friction_of_joints_holds_and_slips():
    held = stepped(slider("x", friction=2.0), [0.0], [0.0], 10.0, step=1e-2, control=lambda t, q, v: [1.0])
    assert np.abs(held.q).max() < 1e-9
    run = stepped(slider("x", friction=2.0), [0.0], [1.0], 1.0)
    assert run.q[-1, 0] == pytest.approx(0.25, abs=2e-6) and abs(run.v[-1, 0]) < 1e-12
    pulled = stepped(slider("x", friction=2.0), [0.0], [0.0], 1.0, control=lambda t, q, v: [3.0])
    assert pulled.v[-1, 0] == pytest.approx(1.0, abs=1e-9)


def test_what_is_told_of_joints_that_rub_adds_up():
    """Friction of a slide, once: its accelerations are those of a formula, and of the exact way."""
    s = slider("x", friction=2.0)
    run = stepped(s, [0.0], [1.0], 0.2, samples=5)
    np.testing.assert_allclose(run.acceleration[:, 0], -2.0, atol=1e-9)
    np.testing.assert_allclose(run.v[:, 0], 1.0 - 2.0 * run.t, atol=1e-12)


def test_two_balls_hit_and_keep_their_momentum():
    m = ct.Mechanism("two", gravity=(0.0, 0.0, 0.0))
    for name, mass in (("a", 1.0), ("b", 3.0)):
        m.add_body(name, mass=mass, inertia=(0.4 * mass * 0.01,) * 3)
        m.add_joint(f"{name} moves", "ground", name, ct.Free())
    s = m.system()
    q, v = s.neutral(), np.zeros(12)
    q[s.slice_q("b moves")][:3] = 1.0, 0.05, 0.0
    v[s.slice_v("a moves")][3] = 2.0
    for friction, close in ((0.0, 1e-6), (0.2, 1e-5)):
        # When they meet is foreseen to third order; with friction they spin, to second order.
        contact = ct.Contact("a", "b", radius=0.1, on_radius=0.1, restitution=0.8, friction=friction)
        run = stepped(s, q, v, 1.0, contacts=[contact])
        exact = ct.simulate(s, q, v, 1.0, contacts=[contact])
        assert np.abs(run.momentum - run.momentum[0]).max() < close
        assert np.abs(run.v[-1] - exact.v[-1]).max() < close
        assert np.abs(run.q[-1] - exact.q[-1]).max() < close


def test_standing_is_of_second_order():
    """A walker that swings on feet that stick, without impacts."""
    s = walker_on_springs().system()
    q, v = askew(s, 0.0), np.zeros(s.nv)
    turn = np.zeros(s.nv)
    turn[:3] = -0.08, -0.05, 0.0
    q = s.integrate(q, turn)
    q[s.slice_q("base")][2] -= min(s.pose(q, f"{leg}/foot").p[2] for leg in LEGS)
    contacts = [ct.Contact(f"{leg}/foot", friction=5.0) for leg in LEGS]
    steps = (4e-3, 2e-3, 1e-3)
    exact = ct.simulate(s, q, v, 0.2, contacts=contacts, rtol=1e-9, atol=1e-11)
    errors = [
        np.abs(stepped(s, q, v, 0.2, step=h, contacts=contacts).q[-1] - exact.q[-1]).max() for h in steps
    ]
    assert errors[-1] < 1e-5
    assert order(steps, errors) > 1.8


def test_walkers_land_as_on_the_exact_way():
    s, q, v, mu = walkers(3)
    varied = {contact.frame + ".friction": mu for contact in FEET}
    run = stepped(s, q, v, 0.3, contacts=FEET, parameters=varied, samples=4)
    for k in range(3):
        contacts = [replace(contact, friction=mu[k]) for contact in FEET]
        exact = ct.simulate(s, q[k], v[k], 0.3, contacts=contacts, rtol=1e-6, atol=1e-8, samples=2)
        for frame in ("trunk", *(contact.frame for contact in FEET)):
            assert np.linalg.norm(run.state(k).position(frame)[-1] - exact.position(frame)[-1]) < 3e-4


@pytest.mark.slow
def test_walkers_that_land_and_slip_converge_nearly_by_the_square_of_the_step():
    """Errors of single walkers fall unevenly, as changes come to lie in steps; those of the family by h^1.6."""
    s, q, v, mu = walkers(8)
    varied = {contact.frame + ".friction": mu for contact in FEET}
    frames, steps, exact = ("trunk", *(contact.frame for contact in FEET)), 4e-3 * 0.5 ** np.arange(5), []
    for k in range(8):
        contacts = [replace(contact, friction=mu[k]) for contact in FEET]
        exact.append(
            ct.simulate(s, q[k], v[k], 0.3, contacts=contacts, rtol=1e-8, atol=1e-10, samples=2, check=False)
        )
    errors = np.zeros((len(steps), 8))
    for i, h in enumerate(steps):
        run = stepped(s, q, v, 0.3, step=h, contacts=FEET, parameters=varied, samples=2)
        for k in range(8):
            apart = [run.state(k).position(x)[-1] - exact[k].position(x)[-1] for x in frames]
            errors[i, k] = np.linalg.norm(apart, axis=1).max()
    assert order(steps, np.median(errors, axis=1)) > 1.5
    assert order(steps, errors.max(axis=1)) > 1.4 and errors[-1].max() < 1e-5


def test_humanoids_land_on_eight_points_as_on_the_exact_way():
    """Four points of a sole say more than a foot can do, and hardly a step needs the exact law for that."""
    family = humanoid_family()
    s = family.system()
    q, mu = family.states(s, 24)
    varied = {f"{frame}.friction": mu for frame in family.frames}
    points = [ct.Contact(frame) for frame in family.frames]
    run = stepped(s, q, np.zeros((24, s.nv)), 0.4, contacts=points, parameters=varied, samples=11)
    assert int(run.settings.get("steps finished by the exact law", 0)) < 3
    k, places = 3, (family.trunk, *family.frames)
    own = [replace(point, friction=mu[k]) for point in points]
    exact = ct.simulate(
        s, q[k], np.zeros(s.nv), 0.08, contacts=own, rtol=1e-6, atol=1e-8, samples=2, check=False
    )
    apart = [run.state(k).position(x)[2] - exact.position(x)[-1] for x in places]
    assert np.isclose(run.t[2], 0.08) and np.linalg.norm(apart, axis=1).max() < 2e-4


def test_one_state_moves_as_in_a_batch():
    """Eight lanes, two lanes, and neighbours that need more iterations give the same numbers."""
    s, q, v, mu = walkers(11)
    varied = {contact.frame + ".friction": mu for contact in FEET}
    run = stepped(s, q, v, 0.2, step=2e-3, contacts=FEET, parameters=varied, samples=5)
    for k in (0, 4, 10):
        one = {name: x[k] for name, x in varied.items()}
        alone = stepped(s, q[k], v[k], 0.2, step=2e-3, contacts=FEET, parameters=one, samples=5)
        assert np.abs(run.q[k] - alone.q).max() < 1e-12
        for contact in FEET:
            pushed, own = (x.contact_forces[contact.label] for x in (run.state(k), alone))
            assert np.abs(pushed - own).max() < 1e-8 * max(1.0, np.abs(own).max())


def test_two_threads_give_the_same_numbers():
    s, q, v, _ = walkers(64)
    found = []
    for count in (1, 2):
        ct.set_threads(count)
        found.append(stepped(s, q, v, 0.15, step=3e-3, contacts=FEET, samples=2).q)
    ct.set_threads(1)
    assert np.array_equal(*found)


def test_python_is_asked_for_all_states_at_once():
    """A controller with a rate acts as on the exact way, and is asked once for all states."""
    s, q, v, _ = walkers(3)
    shapes, rest = [], s.neutral()[s.slice_q("base").stop :]
    legs = slice(s.slice_v("base").stop, s.nv)

    def law(t, q, v):
        shapes.append(q.shape)
        tau = np.zeros_like(v)
        tau[..., legs] = -50.0 * (q[..., s.slice_q("base").stop :] - rest)
        return tau

    run = stepped(s, q, v, 0.1, contacts=FEET, control=ct.sampled(law, 100.0), samples=3)
    assert set(shapes) == {(3, s.nq)} and len(shapes) <= 12
    exact = ct.simulate(
        s, q[1], v[1], 0.1, contacts=FEET, control=ct.sampled(law, 100.0), rtol=1e-6, atol=1e-8, samples=2
    )
    assert np.abs(run.q[1, -1] - exact.q[-1]).max() < 3e-4


def test_masses_differ_from_state_to_state():
    m = ct.Mechanism("sliding")
    m.add_body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("j", "ground", "b", ct.Free())
    s = m.system()
    v = np.zeros(6)
    v[3] = 1.0
    run = stepped(
        s, s.neutral(), v, 1.0, contacts=[ct.Contact("b")],
        parameters={"b.mass": [1.0, 4.0], "b.friction": [0.2, 0.4]}, samples=11,
    )  # fmt: skip
    assert run.q[:, -1, 0] == pytest.approx([0.5 / (0.2 * G), 0.5 / (0.4 * G)], abs=1e-5)
    assert run.contact_forces["b"][:, 1, 2] == pytest.approx([G, 4.0 * G])
    assert run.contact_forces["b"][:, 1, 0] == pytest.approx([-0.2 * G, -1.6 * G])


def test_energy_changes_by_the_work_of_contacts():
    """The audit of a run that lands, slides and rolls has nothing to warn of; its works are those of impulses."""
    s, q, v, _ = walkers(2)
    run = stepped(s, q, v, 0.3, contacts=FEET, samples=31)
    rest = run.energy - run.energy[:, :1] - sum(run.work.values())
    assert np.abs(rest).max() < 1e-3 * np.ptp(run.energy)
    assert not any(line.level == "warn" for line in run.audit())
    assert np.all(run.work["wrenches"][:, -1] < 0.0)


def test_a_stepper_goes_the_same_way():
    s, q, v, _ = walkers(2)
    stepper = ct.Stepper(s, q, v, step=2e-3, integrator="time_stepping", contacts=FEET)
    for _ in range(50):
        found = stepper.step()
    run = stepped(s, q, v, 0.1, step=2e-3, contacts=FEET, samples=2)
    assert np.abs(found[0] - run.q[:, -1]).max() < 1e-9


@pytest.mark.parametrize("floor", [None, ct.HeightField(range(4), range(4), np.zeros((4, 4)))])
def test_a_scenario_says_it_in_a_file(tmp_path, floor):
    m = ct.Mechanism("ball")
    m.add_body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("j", "ground", "b", ct.Prismatic("z"))
    scenario = ct.Scenario(
        m, initial={"j": 0.5}, contacts=[ct.Contact("b", restitution=0.5, floor=floor)], duration=1.0,
        integrator="time_stepping", step=1e-3,
    )  # fmt: skip
    scenario.save(tmp_path / "ball.toml")
    assert 'integrator = "time_stepping"' in (tmp_path / "ball.toml").read_text()
    runs = [one.run() for one in (scenario, ct.Scenario.load(tmp_path / "ball.toml"))]
    assert np.array_equal(runs[0].q, runs[1].q)


def test_what_is_not_found_goes_on_by_the_exact_law():
    """The rest of a step by the law that locates what contacts do."""
    s, q, v, mu = walkers(2)
    begun = stepped(s, q, v, 0.12, contacts=FEET, samples=2)
    landing = Landing.of(s, FEET, {("front_left/foot", "friction"): mu})
    problem = Problem(s, integrator="time_stepping", step=2e-3, landing=landing)
    after = landing.finished(
        problem, 1, TimeSpan(0.12, 0.122), begun.q[1, -1], begun.v[1, -1], np.zeros(s.nv)
    )
    fine = stepped(
        s, begun.q[1, -1], begun.v[1, -1], 0.002, step=1e-4, samples=2, contacts=FEET,
        parameters={"front_left/foot.friction": mu[1]},
    )  # fmt: skip
    assert np.abs(after[0] - fine.q[-1]).max() < 1e-5 and np.abs(after[1] - fine.v[-1]).max() < 1e-2


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_steps_that_jam_are_finished(sense):
    """Painleve's rod, for which the exact law has no force: its tip stops in an impact without a collision, as in
    steps that are shorter."""
    m = ct.Mechanism("rod")
    m.add_body("rod", mass=1.0, inertia=(1e-3, 1.0 / 12.0, 1.0 / 12.0))
    m.add_joint("moves", "ground", "rod", ct.Planar("y"), actuated=False)
    m.add_frame("tip", "rod", ct.Pose(p=(-0.5, 0.0, 0.0)))
    s, contacts = m.system(), [ct.Contact("tip", friction=3.0)]
    # The coordinates of the plane are along z, x and around y.
    q, v = np.array([0.0, 0.0, sense * np.pi / 3.0]), np.array([0.0, sense, 0.0])
    q[0] = -s.pose(q, "tip")[2, 3]
    with pytest.raises(ct.SimulationError, match="Painleve"):
        ct.simulate(s, q, v, 0.002, contacts=contacts)
    landing = Landing.of(s, contacts)
    problem = Problem(s, integrator="time_stepping", step=1e-3, landing=landing)
    _, after = landing.finished(problem, 0, TimeSpan(0.0, 0.002), q, v, np.zeros(3))
    fine = stepped(s, q, v, 0.002, step=1e-5, contacts=contacts, samples=2)
    assert np.abs(after - v).max() > 0.4 and np.abs(after - fine.v[-1]).max() < 1e-5


def test_joints_of_points_that_stick_begin_at_rest():
    """A crate whose corners are a tenth of a millimetre in the floor, and come back from there, is held by joints."""
    s = free_body()
    m = s.mechanism.copy()
    for k, (x, y) in enumerate(((0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1))):
        m.add_frame(f"corner {k}", "b", ct.Pose(p=(x, y, -0.1)))
    s = m.system()
    contacts = [ct.Contact(f"corner {k}", friction=0.5) for k in range(4)]
    q, v = s.neutral(), np.zeros(6)
    q[s.slice_q("j")][2], v[s.slice_v("j")][5] = 0.1 - 1e-4, 1e-3
    places = ContactPlaces(s, contacts)
    free, touches = FreeMotion(Problem(s), places), places.at(q[None], v[None])
    standing = Standing(("stick",) * 4, np.zeros((4, 2)), u=touches.u[0], gap=touches.gap[0])
    holding, span = Holding(free, standing, 0.5, standing.slip), TimeSpan(0.0, 0.01)
    window = TimeWindow(0.0, 0.01, 0.01)
    made = ContactStretch(holding, window, EXACT, lambda t, q, v: [], 1e-4, Following(span, False)).go(
        0.0, q, v
    )
    assert made.run is not None and made.change is None
    assert np.abs(made.run.v[-1]).max() < 1e-12 and np.abs(made.run.q[-1] - q).max() < 1e-12


def test_structures_change_where_feet_stand():
    """Legs whose knees are locked while their feet slide or stick, each state by itself; steppers as well."""
    s = leg().system()
    q, v = start(s)

    def locks(here):
        return here.system.mechanism.lock("knee", here.q[-1])

    def options(mu):
        touch = ct.Contact("foot", on="floor", friction=mu)
        return {"contacts": [touch], "events": [ct.at_time(0.12, then=locks)]}

    errors = []
    for h in (2e-3, 1e-3):
        varied = {"foot.friction": [0.3, 1.0]}
        run = stepped(s, q, v, 0.25, step=h, samples=6, parameters=varied, **options(0.0))
        errors.append([])
        for k, mu in enumerate((0.3, 1.0)):
            exact = ct.simulate(s, q, v, 0.25, rtol=1e-8, atol=1e-10, samples=6, check=False, **options(mu))
            own = run.state(k)
            assert len(own.segments) == 2 and own.segments[-1].system.nv == exact.segments[-1].system.nv == 4
            assert own.contact_forces["foot"][-1, 2] == pytest.approx(
                exact.contact_forces["foot"][-1, 2], rel=0.02
            )
            errors[-1].append(np.abs(own.position("foot")[-1] - exact.position("foot")[-1]).max())
    assert np.max(errors[1]) < 1e-4 and np.max(errors[1]) < 0.5 * np.max(errors[0])
    stepper = ct.Stepper(s, q, v, step=1e-3, integrator="time_stepping", **options(1.0))
    for _ in range(250):
        found = stepper.step()
    assert np.abs(found[0] - run.state(1).segments[-1].q[-1]).max() < 5e-5


def test_steppers_step_through_loops():
    """A trunk on legs that links close, against the run; and a linkage that nothing touches."""
    s = on_two_legs().system()
    feet = [ct.Contact(f"{leg}/foot", friction=0.5) for leg in ("left", "right")]
    q = dropped(s, 0.0, [foot.frame for foot in feet], s.assemble())
    stepper = ct.Stepper(s, q, np.zeros(s.nv), step=1e-3, integrator="time_stepping", contacts=feet)
    for _ in range(20):
        found = stepper.step()
    run = stepped(s, q, np.zeros(s.nv), 0.02, contacts=feet, samples=2)
    assert np.abs(found[0] - run.q[-1]).max() < 1e-14
    s = n_four_bars(1).system()
    free = stepped(s, s.assemble(), np.zeros(s.nv), 0.1, samples=2)
    assert (
        np.abs(free.q[-1] - ct.simulate(s, s.assemble(), np.zeros(s.nv), 0.1, samples=2).q[-1]).max() < 1e-6
    )


@pytest.mark.parametrize("control", [None, lambda t, q, v: 0.0 * v])
def test_what_there_is_of_a_batch_is_kept_where_a_state_fails(control):
    s, given = slider(), {"contacts": [ct.Contact("b")], "control": control}
    with pytest.raises(ct.SimulationError, match="state 1") as raised:
        stepped(s, [[0.5], [0.5], [0.4]], [[0.0], [1e8], [0.0]], 0.1, **given)
    assert list(raised.value.failed) == [(1,)] and raised.value.trajectory.q.shape[0] == 3
    run = stepped(s, [[0.5], [0.5], [0.4]], [[0.0], [1e8], [0.0]], 0.1, on_error="record", **given)
    assert list(run.failed) == [(1,)] and run.q.shape[0] == 2


def test_what_is_not_taken_is_said():
    s = free_body()
    contact = ct.Contact("b", friction=0.3)
    with pytest.raises(StateError, match="beyond the plane"):
        q = s.neutral()
        q[2] = -0.1
        stepped(s, q, np.zeros(6), 0.1, contacts=[contact])
    with pytest.raises(StateError, match="numbers, 0 to 1"):
        stepped(s, None, None, 0.1, contacts=[contact], parameters={"b.restitution": [2.0]})
    with pytest.raises(StateError, match="fixed steps: give step"):
        ct.simulate(s, None, None, 0.1, contacts=[contact], integrator="time_stepping")
