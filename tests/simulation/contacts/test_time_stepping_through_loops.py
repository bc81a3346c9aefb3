"""Steps of fixed size with contacts of their own through loops, couplings and flexible bodies: the exact way, other
cuts of the same loop, and one state as in a batch."""

import numpy as np
import pytest

import catena as ct
from catena.errors import StateError
from catena.simulation.arguments import TimeSpan
from catena.simulation.contacts.landing import Landing
from catena.simulation.problem import Problem
from tests.simulation.contacts.test_cut_joints_that_rub import CONTACTS, linkage, on_a_rail
from tests.simulation.contacts.test_through_elimination import dropped, on_a_beam, on_two_legs

KINDS = ["looped", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("geared", "flexible"))]


def stepped(s, q, v, duration, step=1e-3, **options):
    return ct.simulate(s, q, v, duration, integrator="time_stepping", step=step, check=False, **options)


def over_a_floor(kind, height=0.01, turn=(0.05, 0.08, 0.0)):
    """A mechanism of a kind whose lowest foot is so high over the floor [m], how it stands, and its feet."""
    if kind == "flexible":
        s, feet = on_a_beam().system(), ["foot"]
        q = s.neutral()
        q[s.slice_q("hip")] = 1.0
    else:
        s, feet = on_two_legs(kind == "geared").system(), ["left/foot", "right/foot"]
        turned = np.zeros(s.nv)
        turned[s.slice_v("base")][:3] = turn
        q = s.integrate(s.assemble(), turned)
    return s, dropped(s, height, feet, q), feet


def apart(run, other, frames):
    return max(np.abs(run.position(frame)[-1] - other.position(frame)[-1]).max() for frame in frames)


@pytest.mark.parametrize("kind", KINDS)
def test_feet_that_land_come_to_the_exact_way(kind):
    """Friction differs from state to state. Where feet stick, of second order in the step; where they slip and turn, as
    in a tree (`test_time_stepping`), of first."""
    s, q, feet = over_a_floor(kind)
    duration, mu, errors = 0.15 if kind == "flexible" else 0.12, (0.2, 0.8), []
    given = {
        "contacts": [ct.Contact(foot) for foot in feet],
        "parameters": {f"{x}.friction": mu for x in feet},
    }
    exact = [
        ct.simulate(
            s, q, 0.0 * q[: s.nv], duration, contacts=[ct.Contact(foot, friction=x) for foot in feet], rtol=1e-8,
            atol=1e-10, samples=2, check=False,
        )
        for x in mu
    ]  # fmt: skip
    for h in (2e-3, 1e-3, 5e-4):
        run = stepped(s, q, np.zeros(s.nv), duration, h, samples=2, **given)
        assert run.settings["steps taken by"] == "the compiled loop"
        errors.append([apart(run.state(k), exact[k], feet) for k in range(2)])
    slips, sticks = np.array(errors).T
    assert sticks[1] < 2e-6 and np.polyfit(np.log([2e-3, 1e-3, 5e-4]), np.log(sticks), 1)[0] > 1.75
    assert slips[2] < 1e-4 and slips[0] > 2.0 * slips[2]
    for k, other in enumerate(exact):
        assert abs(run.state(k).energy[-1] - other.energy[-1]) < 3e-4
        pushes = [
            sum(x[foot][-1, 2] for foot in feet) for x in (run.state(k).contact_forces, other.contact_forces)
        ]
        assert abs(pushes[0] - pushes[1]) < 0.2


@pytest.mark.parametrize("kind", KINDS)
def test_states_move_as_in_a_batch_and_gain_no_energy(kind):
    rng = np.random.default_rng(3)
    s, _, feet = over_a_floor(kind)
    q = np.array(
        [over_a_floor(kind, h, 0.1 * rng.normal(size=3))[1] for h in (0.05, 0.002, 0.01, 0.02, 0.002)]
    )
    given = {"contacts": [ct.Contact(foot, friction=0.4, restitution=0.3) for foot in feet], "samples": 61}
    run = stepped(s, q, np.zeros((5, s.nv)), 0.24, **given)
    for k in (0, 3):
        alone = stepped(s, q[k], np.zeros(s.nv), 0.24, **given)
        assert np.array_equal(alone.q, run.q[k]) and np.array_equal(alone.v, run.v[k])
    assert np.diff(run.energy, axis=-1).max() < 1e-12 and np.all(np.ptp(run.energy, axis=-1) > 0.1)
    assert min(run.contact(foot).gap.min() for foot in feet) > -2e-6
    if s.loops:
        assert np.abs(s.closure(run.q)[0]).max() < 1e-12
        assert np.abs(s.closure_jacobian(run.q) @ run.v[..., None]).max() < 1e-9


def test_what_is_not_found_goes_on_by_the_exact_law():
    """The rest of a step of feet that slip, against steps that are a twentieth of it; loops stay closed in one way."""
    s, q, feet = over_a_floor("looped")
    contacts = [ct.Contact(foot, friction=0.2) for foot in feet]
    begun = stepped(s, q, np.zeros(s.nv), 0.09, contacts=contacts, samples=2)
    problem = Problem(s, integrator="time_stepping", step=2e-3)
    q, v = begun.q[-1], begun.v[-1]
    after = Landing.of(s, contacts).finished(problem, 0, TimeSpan(0.09, 0.092), q, v, np.zeros(s.nv))
    fine = stepped(s, q, v, 0.002, 1e-4, contacts=contacts, samples=2)
    assert np.abs(after[0] - fine.q[-1]).max() < 1e-5 and np.abs(after[1] - fine.v[-1]).max() < 2e-2
    with pytest.raises(StateError, match="by projection, or not at all"):
        stepped(s, q, v, 0.002, contacts=contacts, drift="baumgarte")


def test_works_add_up_where_joints_are_driven_and_stop():
    """A hip that is driven, an ankle spring and a stop, against the exact way."""
    s, q, feet = over_a_floor("looped")
    hips = [q[s.slice_q(f"{leg}/hip")][0] for leg in ("left", "right")]

    def swing(t):
        return [hips[0] + 0.1 * (1.0 - np.cos(10.0 * t))], [np.sin(10.0 * t)], [10.0 * np.cos(10.0 * t)]

    given = {
        "contacts": [*(ct.Contact(x, friction=0.8) for x in feet), ct.Stop("right/hip", upper=hips[1] + 0.02)],
        "motion": {"left/hip": swing}, "samples": 2,
    }  # fmt: skip
    exact = ct.simulate(s, q, np.zeros(s.nv), 0.12, rtol=1e-8, atol=1e-10, check=False, **given)
    runs = [stepped(s, q, np.zeros(s.nv), 0.12, h, **given) for h in (2e-3, 1e-3)]
    errors = [apart(run, exact, feet) for run in runs]
    assert errors[1] < 1e-6 and errors[1] < 0.5 * errors[0]
    gained = sum(work[-1] for work in runs[1].work.values())
    assert abs(runs[1].energy[-1] - runs[1].energy[0] - gained) < 2e-4
    assert runs[1].work["motion"][-1] > 0.1


def test_python_is_asked_for_all_states_and_numbers_differ_between_them():
    s, q, feet = over_a_floor("looped")
    hip, asked = s.slice_v("left/hip"), []

    def damp(t, q, v):
        asked.append(v.shape)
        force = np.zeros_like(v)
        force[..., hip] = np.sin(20.0 * t) - 2.0 * v[..., hip]
        return force

    given = {"contacts": [ct.Contact(foot, friction=0.8) for foot in feet], "samples": 2}
    masses = {"trunk.mass": [4.0, 6.0]}
    run = stepped(s, q, np.zeros(s.nv), 0.1, control=damp, parameters=masses, **given)
    assert set(asked) == {(2, s.nv)} and len(asked) < 200
    for k, mass in enumerate(masses["trunk.mass"]):
        m = on_two_legs().with_body("trunk", mass=mass)
        alone = stepped(m.system(), q, np.zeros(s.nv), 0.1, control=damp, **given)
        assert np.abs(alone.q[-1] - run.q[k, -1]).max() < 1e-12


def askew_on_a_rail(friction, cut, of_cut=0.5):
    """A trunk over a four-bar that is to land, whose joints rub, and its configuration."""
    s = on_a_rail(friction).with_joint(cut, friction=of_cut).system(cut=[cut])
    q = s.assemble({"A": -1.0}, guess={"A": -1.0, "B": 0.7, "D": -1.2})
    q[s.slice_q("rail")] += 0.02 - s.pose(q, "foot").p[2]
    return s, q


def test_friction_of_joints_that_close_loops_differs_from_state_to_state():
    given, frictions = {"contacts": [ct.Contact("foot", friction=0.3)], "samples": 2}, [0.2, 1.0]
    s, q = askew_on_a_rail(0.5, "A")
    run = stepped(s, q, 0.0 * q, 0.2, parameters={"A.friction": frictions}, **given)
    for k, friction in enumerate(frictions):
        alone = stepped(askew_on_a_rail(0.5, "A", friction)[0], q, 0.0 * q, 0.2, **given)
        assert np.abs(alone.q - run.q[k]).max() < 1e-12
    assert np.abs(np.subtract(*run.q)).max() > 1e-3
    with pytest.raises(StateError, match="some states have friction in 'A'"):
        stepped(s, q, 0.0 * q, 0.2, parameters={"A.friction": [0.0, 1.0]}, **given)


def test_joints_that_close_loops_rub_as_others_do():
    """A trunk over a four-bar that lands, slips and comes to rest, whatever joint the plan cuts, against the exact
    way."""
    ends, friction = [], 0.5
    for cut in "AC":
        s, q = askew_on_a_rail(friction, cut)
        given = {"contacts": [ct.Contact("foot", friction=0.3)], "samples": 2}
        run = stepped(s, q, 0.0 * q, 0.3, **given)
        exact = ct.simulate(s, q, 0.0 * q, 0.3, rtol=1e-8, atol=1e-10, **given)
        assert apart(run, exact, ("trunk", "crank", "coupler", "rocker", "foot")) < 2e-6
        assert abs(run.energy[-1] - exact.energy[-1]) < 2e-5
        # What four joints and a foot bear that hold two freedoms is not determined.
        assert all(np.abs(run.velocity(joint)[-1]).max() < 1e-9 for joint in "ABCD")
        assert all(np.abs(run.stop_forces[joint][-1]).max() <= friction for joint in "ABCD")
        ends.append([run.position(body)[-1] for body in ("trunk", "crank", "rocker")])
    assert np.abs(np.subtract(*ends)).max() < 1e-7


def test_a_parallelogram_begins_where_it_is_flat():
    """Loops that say more where they are open are closed in the middle of steps too."""
    m, y = ct.Mechanism("parallelogram"), ct.Revolute("y")
    for name, length in (("crank", 0.3), ("coupler", 0.5), ("rocker", 0.3)):
        m.add_body(name, mass=1.0, com=(length / 2.0, 0.0, 0.0), inertia=(1e-3, 1e-2, 1e-2))
    crank, coupler = (ct.Pose(p=(x, 0.0, 0.0)) for x in (0.3, 0.5))
    m.add_joint("A", "ground", "crank", y)
    m.add_joint("D", "ground", "rocker", y, in_parent=coupler)
    m.add_joint("B", "crank", "coupler", y, in_parent=crank)
    m.add_joint("C", "coupler", "rocker", y, in_parent=coupler, in_child=crank)
    m.add_frame("foot", "coupler", ct.Pose(p=(0.25, 0.0, -0.05)))
    m.add_frame("floor", "ground", ct.Pose(p=(0.0, 0.0, -0.2)))
    s = m.system()
    q = s.assemble({"A": 0.0}, guess={"A": 0.0, "B": 0.0, "D": 0.0})
    v = s.velocity(q, {"A": 1.0, "D": 1.0})
    foot = ct.Contact("foot", on="floor", friction=0.3, restitution=0.5)
    exact = ct.simulate(s, q, v, 0.25, contacts=[foot], rtol=1e-8, samples=2, check=False)
    run = stepped(s, q, v, 0.25, contacts=[foot])
    assert exact.transitions and apart(run, exact, ["foot"]) < 2e-6


@pytest.mark.parametrize("below", [0.02, 0.0])
def test_nothing_creeps_where_a_joint_holds_that_closes_a_loop(below):
    for joint in "AD":
        s = linkage(0.0, "", below).with_joint(joint, friction=30.0).system(cut=[joint])
        q = s.assemble({"A": 0.6})
        run = stepped(s, q, np.zeros(s.nv), 1.0, 2e-3, contacts=CONTACTS, samples=2)
        assert np.abs(run.q[-1] - q).max() < 1e-13
