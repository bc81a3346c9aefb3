"""A step that takes over its first stage from the step before, and one that finds it anew, as the first of a call does:
the same motion, bit for bit, whatever acts."""

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.elimination import shape_for
from catena.mechanism.generators import arm7, chain, four_bar, random_mechanism
from catena.simulation.stepping import compiled
from catena.simulation.stepping.methods.step import reuses_last_stage
from catena.simulation.stepping.methods.tableaus import tableau
from catena.simulation.stepping.methods.variant import LawShape, StepVariant

DURATION = 0.3
ADAPTIVE = ("dopri5", "dop853")


def _formula(t, q, v):
    return [t * q[..., 0], 0.0, 0.1 * v[..., 1], ct.symbols.sin(t), q[..., 0] ** 2, 1.0]


def bare_arm():
    return arm7().system(), {}


def rubbing_arm():
    m = arm7()
    for name in list(m.joints):
        m.add_spring(f"{name} spring", name, stiffness=30.0, damping=0.3)
    return m.system(), {}


def steered_arm():
    s = arm7().system()
    return s, {
        "control": ct.PID(s, {"joint2": 0.7}, kp={"joint2": 80.0}, ki=0.0, kd={"joint2": 4.0}, rate=None)
    }


def sampled_arm():
    s = arm7().system()
    return s, {
        "control": ct.PID(s, {"joint2": 0.7}, kp={"joint2": 80.0}, ki=1.0, kd={"joint2": 4.0}, rate=187.0)
    }


def pushed_arm():
    m = arm7()
    return m.system(), {"forces": {list(m.bodies)[-1]: ct.ExternalWrench(_formula, symbolic=True)}}


def pushed_along_a_spline():
    m = arm7()
    along = ct.quintic([0.0, 0.5 * DURATION, DURATION], [np.zeros(6), np.arange(6.0), -np.ones(6)])
    return m.system(), {"forces": {list(m.bodies)[-1]: ct.ExternalWrench(along, axes="ground")}}


def driven_arm():
    return arm7().system(), {"motion": {"joint3": ct.quintic([0.0, DURATION], [0.2, 0.5])}}


def chain_of_all_joints():
    m = random_mechanism(5, bodies=9)
    return m.system(), {}


def bending_arm():
    m = ct.Mechanism("arm", gravity=(0.0, -9.81, 0.0))
    m.add_body("beam", flexible=ct.Beam(1.0, 1e-4, 1e-9, 2700.0, 7e10, modes={"y": 2}, damping=0.02))
    m.add_body("load", mass=0.2, inertia=(1e-3, 2e-3, 2e-3))
    m.add_joint("shoulder", "ground", "beam", ct.Revolute("z"), damping=0.01)
    m.add_joint("wrist", "beam", "load", ct.Revolute("z"), in_parent=ct.Pose(p=(1.0, 0.0, 0.0)))
    return m.system(), {}


CASES = (
    bare_arm,
    rubbing_arm,
    steered_arm,
    sampled_arm,
    pushed_arm,
    pushed_along_a_spline,
    driven_arm,
    chain_of_all_joints,
    bending_arm,
)


def start(system, states):
    rng = np.random.default_rng(2)
    q = system.integrate(np.tile(system.neutral(), (states, 1)), 0.05 * rng.normal(size=(states, system.nv)))
    return q, 0.5 * rng.normal(size=(states, system.nv))


@pytest.mark.parametrize("integrator", ADAPTIVE)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_stages_that_are_taken_over_and_found_anew(case, integrator, monkeypatch):
    """Of a batch of five, in which steps are rejected, with a first step that is too large."""
    system, options = case()
    q, v = start(system, 5)

    def run():
        return ct.simulate(
            system,
            q,
            v,
            DURATION,
            integrator=integrator,
            rtol=1e-8,
            atol=1e-10,
            samples=7,
            check=False,
            **options,
        )

    taken_over = run()
    monkeypatch.setattr(compiled, "LONGEST_CALL", 1)
    anew = run()
    assert taken_over.settings["steps taken by"] == "the compiled loop"
    # Where forces are told by the time, that of the last stage is the next one's up to rounding.
    none = 1e-12 if "forces" in options else 0.0
    for name in ("q", "v", "tau"):
        now, then = (getattr(each, name) for each in (taken_over, anew))
        np.testing.assert_allclose(
            now, then, rtol=0.0, atol=none * max(1.0, np.abs(then).max()), err_msg=name
        )
    for name, work in anew.work.items():
        np.testing.assert_allclose(taken_over.work[name], work, rtol=0.0, atol=none, err_msg=name)


def test_events_and_what_is_between_steps(monkeypatch):
    """Samples and events lie between steps, where the accelerations at both ends of a step say what is there."""
    system = chain(3).system()
    event = ct.Event(lambda t, q, v: q[0] - 0.9, "passes")

    def run():
        return ct.simulate(
            system, [0.5, 0.3, -0.2], [0.0, 0.0, 0.0], 1.0, events=event, samples=300, check=False
        )

    taken_over = run()
    monkeypatch.setattr(compiled, "LONGEST_CALL", 1)
    anew = run()
    assert len(anew.events) >= 1
    assert [e.t for e in taken_over.events] == pytest.approx([e.t for e in anew.events], abs=0.0)
    np.testing.assert_array_equal(taken_over.v, anew.v)


def test_where_the_first_stage_is_taken_over():
    """Nowhere where the state, or what acts, is another one behind the step."""
    always, memory, sampled = (
        LawShape(*shape) for shape in ((0, 2, "always"), (1, 2, "always"), (0, 2, "timed"))
    )
    assert [name for name in (*ADAPTIVE, "rk4", "midpoint", "euler") if tableau(name).ends_at_result] == [
        *ADAPTIVE
    ]
    for name in ADAPTIVE:
        assert reuses_last_stage(StepVariant(name, None))
        assert reuses_last_stage(StepVariant(name, None, law=always))
        assert not reuses_last_stage(StepVariant(name, None, law=memory))
        assert not reuses_last_stage(StepVariant(name, None, law=sampled))
        assert not reuses_last_stage(StepVariant(name, None, driven=True))
        assert not reuses_last_stage(
            StepVariant(
                name,
                shape_for(four_bar().system().mechanics.effective_plan),
            )
        )
    assert not any(reuses_last_stage(StepVariant(name, None)) for name in ("rk4", "abm4", "leapfrog"))
