"""The audit: quiet about good runs, and in the right words about each way a run can be wrong."""

import warnings

import numpy as np
import pytest

import catena as ct
from catena.errors import CatenaWarning
from catena.mechanism.generators import arm7, four_bar, humanoid
from catena.simulation import Trajectory
from catena.simulation.results.audit import energy_balance, works
from tests.fuzz.builder import built
from tests.fuzz.test_mechanisms import Subject


@pytest.fixture(scope="module")
def bars():
    system = four_bar().system()
    q = system.neutral()
    return ct.simulate(system, q, system.velocity(q, {"A": 2.0}), 0.5, samples=26)


@pytest.fixture(scope="module")
def falling():
    system = humanoid().system()
    v = np.random.default_rng(0).normal(size=system.nv)
    return ct.simulate(system, system.neutral(), v, 0.3, samples=7)


def slide(**options):
    m = ct.Mechanism("slide", gravity=(0, 0, 0))
    m.add_body("mass", mass=2.0)
    m.add_joint("x", "ground", "mass", ct.Prismatic("x"), **options)
    return m


def coasting(samples=21, sign=1.0):
    """A mass with damping 1 and exact states; sign = -1 lets it gain what it should lose."""
    t = np.linspace(0.0, 2.0, samples)
    v = np.exp(-0.5 * sign * t)[:, None]
    q = 2.0 * sign * (1.0 - v)
    return Trajectory.of(slide(damping=1.0).system(), t, q, v, np.zeros((samples, 1)), 0)


def test_good_runs_give_nothing_to_warn_of(bars, falling):
    for run in (bars, falling):
        audit = run.audit()
        assert audit.ok
        assert "nothing to warn of" in str(audit)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            audit.warn()
    assert [line.name for line in bars.audit()] == ["energy", "velocities", "loops", "loop velocities"]
    assert [line.name for line in falling.audit()] == [
        "energy",
        "velocities",
        "linear momentum",
        "angular momentum",
        "quaternions",
    ]


@pytest.mark.parametrize("seed", [7, 1321, 1618, 2686])
def test_rounding_in_a_structure_that_cannot_move_is_no_lost_energy(seed):
    """Three tonnes on legs of 20 m that hold them still: of their 4e5 J only the last digits change. Some without mass
    under a load. And some without gravity, held against springs that store 1e6 J, whose forces do work along the last
    digits of positions."""
    case = Subject(built(seed))
    assert case.system.diagnose(case.q).mobility == 0
    tau = np.ones(case.system.nv)
    push = ct.sampled(lambda t, q, v: tau * (-1.0) ** round(t * 1e3), rate=1e3)
    run = ct.simulate(
        case.system,
        case.q,
        np.zeros(case.system.nv),
        0.03,
        rtol=1e-8,
        atol=1e-10,
        control=push,
        progress=False,
    )
    assert run.audit().ok, str(run.audit())


def test_steps_that_are_too_large_are_seen_in_the_energy_and_warned_of():
    system = four_bar().system()
    q = system.neutral()
    v = system.velocity(q, {"A": 2.0})
    run = ct.simulate(system, q, v, 0.5, integrator="euler", step=1e-2, samples=11)
    line = run.audit()["energy"]
    assert line.level == "warn"
    assert line.value == pytest.approx(np.max(np.abs(run.energy - run.energy[0])) / energy_balance(run).moved)
    assert "smaller step or rtol" in line.text
    with pytest.warns(CatenaWarning, match=r"'four-bar': The energy changes by .* smaller step") as given:
        run.audit().warn()
        ct.simulate(system, q, v, 0.5, integrator="euler", step=1e-2, samples=11)
    # About lines in this file, not about any in between.
    assert {each.filename for each in given} == {__file__}
    assert len({each.lineno for each in given}) == 2


def test_work_that_was_not_counted_is_estimated_from_the_samples():
    """Exact: the kinetic energy that a coasting mass loses to its damper is 1 - exp(-t)."""
    run = coasting()
    estimated, is_estimate = works(run)
    assert is_estimate
    np.testing.assert_allclose(estimated["friction"], np.exp(-run.t) - 1.0, atol=1e-8)
    line = run.audit()["energy"]
    assert line.level == "ok"
    assert "estimated from the samples" in line.text
    assert coasting(sign=-1.0).audit()["energy"].level == "warn"


def test_work_that_was_counted_is_taken_as_it_is():
    run = coasting()
    assert run.with_(work={"friction": np.exp(-run.t) - 1.0}).audit()["energy"].value < 1e-12
    assert not run.with_(work={"friction": np.zeros(21)}).audit().ok


def test_control_forces_that_are_held_do_the_work_the_energy_shows():
    """A mass under piecewise constant forces, on exact parabolas."""
    t, tau = np.array([0.0, 1.0, 1.5, 3.0]), np.array([[2.0], [-6.0], [4.0], [0.0]])
    h, a = np.diff(t)[:, None], tau[:-1] / 2.0
    v = np.concatenate([[[0.0]], np.cumsum(a * h, axis=0)])
    q = np.concatenate([[[0.0]], np.cumsum(v[:-1] * h + 0.5 * a * h**2, axis=0)])
    run = Trajectory.of(slide().system(), t, q, v, tau, 0, held=True)
    assert run.audit()["energy"].value < 1e-12
    assert run.audit()["energy"].value < run.with_(held=False).audit()["energy"].value


def test_momentum_is_judged_where_nothing_outside_acts(falling):
    audit = falling.audit()
    assert audit["linear momentum"].value < 1e-8
    assert audit["angular momentum"].value < 1e-8
    off = falling.v.copy()
    off[3:, :3] += 1e-3
    bad = falling.with_(v=off).audit()
    assert bad["angular momentum"].level == "warn"
    assert "t = 0." in bad["angular momentum"].text


@pytest.mark.parametrize(
    "what", ["fixed base", "wrench", "control at the base", "spring to ground", "driven"]
)
def test_momentum_is_not_judged_where_something_outside_acts(falling, what):
    m = humanoid()
    changes = {}
    body = list(m.bodies)[1]
    if what == "fixed base":
        m = m.fix_base()
        changes = {"q": falling.q[..., 7:], "v": falling.v[..., 6:], "tau": falling.tau[..., 6:]}
    elif what == "wrench":
        changes = {"wrenches": {body: np.ones((7, 6))}}
    elif what == "control at the base":
        changes = {"tau": falling.tau + 1.0}
    elif what == "spring to ground":
        m.add_spring_between("cord", "ground", body, stiffness=1.0)
    else:
        changes = {"driven": {"base": np.zeros((*falling.v.shape[:-1], 6))}}
    assert not [
        line for line in falling.with_(system=m.system(), **changes).audit() if "momentum" in line.name
    ]


def test_open_loops_are_reported_with_the_cure(bars):
    q = bars.q.copy()
    q[10] += 1e-4
    line = bars.with_(q=q).audit()["loops"]
    assert line.level == "warn"
    assert "drift='projection'" in line.text
    assert f"t = {bars.t[10]:.4g} s" in line.text


def test_quaternions_off_their_length_are_reported(falling):
    q = falling.q.copy()
    q[2, 3:7] *= 1.0 + 1e-7
    line = falling.with_(q=q).audit()["quaternions"]
    assert line.level == "warn"
    assert line.value == pytest.approx(1e-7, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "name", "level"),
    [
        ({"limits": (-1.0, 2.0)}, "limits", "ok"),
        ({"limits": (-1.0, 0.995)}, "limits", "note"),
        ({"limits": (-1.0, 0.5)}, "limits", "warn"),
        ({"limits": (-1.0, 0.5), "limit_stiffness": 10.0}, "elastic limits", "note"),
    ],
)
def test_positions_beyond_limits_are_reported(options, name, level):
    t = np.linspace(0.0, 1.0, 11)
    run = Trajectory.of(slide(**options).system(), t, t[:, None], np.ones((11, 1)), np.zeros((11, 1)), 0)
    line = run.audit()[name]
    assert line.level == level
    assert line.value == pytest.approx(max(0.0, 1.0 - options["limits"][1]))


def test_actuators_at_their_limits_are_noted():
    m = slide()
    m.add_actuator("motor", "x", gear=2.0, limits=3.0)
    t = np.linspace(0.0, 1.0, 5)
    tau = np.array([[1.0], [6.0], [-6.0], [0.0], [2.0]])
    run = Trajectory.of(m.system(), t, t[:, None], np.ones((5, 1)), tau, 0)
    line = run.audit()["actuators"]
    assert (line.level, line.value) == ("note", 0.4)
    assert "'motor' gives all it can" in line.text
    assert run.with_(tau=0.9 * tau).audit()["actuators"].level == "ok"


def test_the_worst_state_of_a_batch_is_named():
    system = arm7().system()
    v = np.zeros((3, 7))
    v[1, 1] = 8.0
    run = ct.simulate(system, np.zeros((3, 7)), v, 0.3, integrator="semi_implicit", step=1e-2, samples=4)
    assert "in state 1" in run.audit()["energy"].text


def test_an_early_end_is_said(bars):
    assert "Stopped by the user" in bars.with_(ended="stopped by the user").audit()["end"].text


@pytest.mark.parametrize("make", [arm7, four_bar, humanoid])
def test_a_run_warns_at_once_of_what_its_audit_warns_of(make):
    """The short look at a run, and all checks in full: coarse steps and few samples, and fine ones."""
    system, told = make().system(), 0
    q = system.neutral()
    v = system.project(q, np.random.default_rng(1).normal(size=system.nv))[1]
    for integrator in ("euler", "semi_implicit", "midpoint", "rk4"):
        for step in (1e-3, 3e-2, 0.2):
            options = {"integrator": integrator, "step": step, "samples": 4 if step < 0.2 else None}
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                run = ct.simulate(system, q, v, 0.6, **options)
            heard = [str(x.message) for x in caught]
            expected = [f"{system.mechanism.name!r}: {line.text}" for line in run.audit() if not line.ok]
            assert heard == expected
            told += len(heard)
    assert told >= 4
