"""Friction in proportion to the load of joints beside contacts and stops, and by methods whose steps cannot change
senses: against closed forms, and against runs without contacts, in which senses change within the step."""

import numpy as np
import pytest

import catena as ct
from catena.errors import SimulationError
from tests.simulation.acting.test_load_friction import drawer, pendulum, rubbed
from tests.simulation.contacts.test_cut_joints_that_rub import (
    CONTACTS,
    angles,
    linkage,
    run_of,
)
from tests.simulation.contacts.test_dry_friction_beside_contacts import assert_same_motion, with_far_floor

G = 9.81


@pytest.mark.slow
def test_a_pendulum_in_a_journal_bearing_swings_to_rest_as_without_contacts():
    _, beside = assert_same_motion(pendulum(), [0.1], [0.0], 3.0, 1e-8)
    at_rest = beside.t > beside.t[-1] - 1.0
    assert np.ptp(beside.q[at_rest]) < 1e-12 and np.abs(beside.v[at_rest]).max() < 1e-12
    assert beside.q[-1, 0] > 0.01


def test_what_holds_more_at_rest_falls_with_the_slip_as_without_contacts():
    m = pendulum(static_mu=0.6).with_joint("pin", stribeck_velocity=0.5)
    assert_same_motion(m, [0.2], [0.0], 0.4, 1e-8)


@pytest.mark.parametrize(
    "words",
    [("revolute", "prismatic"), pytest.param(("universal", "spherical", "helical"), marks=pytest.mark.slow)],
)
def test_trees_move_as_without_contacts(words):
    m = rubbed(1, words)
    s = m.system()
    assert_same_motion(m, s.neutral(), np.random.default_rng(1).uniform(0.5, 1.5, s.nv), 0.2, 1e-8)


def pressing(mu, press):
    """A carriage of 3 kg on a rail, from which a ram of 1 kg is pressed down on a floor without friction."""
    m = ct.Mechanism("carriage")
    m.add_body("carriage", mass=3.0, inertia=0.1)
    m.add_body("ram", mass=1.0, inertia=0.1)
    m.add_joint("rail", "ground", "carriage", ct.Prismatic("x"), load_friction=ct.SlideFriction(mu))
    m.add_joint("cylinder", "carriage", "ram", ct.Prismatic("z"))
    return m, {"control": lambda t, q, v: [0.0, -press]}


@pytest.mark.parametrize(("press", "rubs"), [(0.0, 0.0), (70.0, 0.2), (20.0, 0.2)])
def test_a_contact_loads_a_slide(press, rubs):
    """The rail carries |3 g - press|, the floor 1 g + press and rubs besides; both stop the carriage, and it stays."""
    mu = 0.3
    m, acts = pressing(mu, press)
    run = ct.simulate(
        m.system(),
        [0.0, 0.0],
        [0.7, 0.0],
        3.0,
        contacts=[ct.Contact("ram", friction=rubs)],
        rtol=1e-9,
        **acts,
    )
    slower = (mu * abs(3.0 * G - press) + rubs * (G + press)) / 4.0
    assert run.q[-1, 0] == pytest.approx(0.7**2 / 2.0 / slower, rel=1e-8)
    rests = run.t > 0.7 / slower + 1e-3
    assert rests.sum() > 2 and np.ptp(run.q[rests, 0]) < 1e-11
    assert run.contact_forces["ram"][0, 2] == pytest.approx(G + press, rel=1e-9)
    assert run.audit().ok
    # The system of the run still has the friction that was described.
    assert run.system.sticking([0.0, 0.0], [1.0, 0.0]).force[0] < 0.0


@pytest.mark.parametrize("part", [1.0 + 1e-8, 0.9])
def test_a_drawer_locks_itself_at_its_threshold_beside_a_stop(part):
    """mu = length / (2 offset), whatever the push; below it the drawer comes to its stop and presses against it with
    what friction leaves of the push."""
    stop = ct.Stop("guide", lower=-1.0, upper=0.1)
    run = ct.simulate(drawer(part * 0.2, 3.0), [0.0], [0.0], 3.0, contacts=[stop], rtol=1e-9)
    if part > 1.0:
        assert not run.q.any() and not run.v.any()
        return
    hit = next(change for change in run.transitions if change.impulse)
    assert hit.t == pytest.approx(np.sqrt(2.0 * 0.1 / (0.1 * 3.0 / 2.0)), rel=1e-8)
    assert run.q[-1, 0] == pytest.approx(0.1, abs=1e-9) and not run.v[-1].any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "bound"),
    [({"integrator": "abm4", "step": 1e-3}, 1e-5), ({"integrator": "lsoda", "rtol": 1e-7}, 1e-5)],
)
def test_by_methods_whose_steps_cannot_change_senses(options, bound):
    exact = ct.simulate(pendulum().system(), [0.05], [0.0], 0.8, rtol=1e-10).resample(11)
    found = ct.simulate(pendulum().system(), [0.05], [0.0], 0.8, **options).resample(11)
    np.testing.assert_allclose(found.q, exact.q, atol=bound)


def test_where_no_friction_fits_and_what_is_not_taken_is_said():
    m, contacts = with_far_floor(drawer(0.5, -4.0, at_mass=True).mechanism)
    with pytest.raises(SimulationError, match="'guide'.*Painleve"):
        ct.simulate(m.system(), [0.0], [1.0], 0.1, contacts=contacts)


def linkage_that_bears(below):
    """A four-bar with a foot so high above a floor, whose pins rub by what they bear, and besides."""
    m = linkage(0.8, "ABCD", below)
    for joint, radius in {"A": 0.03, "B": 0.05, "C": 0.04, "D": 0.06}.items():
        m = m.with_joint(joint, load_friction=ct.BearingFriction(0.3, radius, static_mu=0.4))
    return m


@pytest.mark.parametrize("cut", ["C", *(pytest.param(k, marks=pytest.mark.slow) for k in "ABD")])
def test_loads_of_a_cut_joint_rub_it_as_without_contacts(cut):
    """Pins stop a linkage and hold it, over a floor that it never touches."""
    m = linkage_that_bears(5.0)
    alone, beside = (run_of(m, cut, 1.0, 0.3, contacts).resample(11) for contacts in ((), CONTACTS))
    np.testing.assert_allclose(angles(beside), angles(alone), atol=1e-8)
    assert np.abs(alone.velocity("D")[3]).max() > 0.1 and np.abs(alone.velocity("A")[-1]).max() < 1e-12
    assert np.abs(beside.velocity("D")[-1]).max() < 1e-9
