"""A stepper takes what a run takes: the same motions, and taken up again from where it was saved."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, four_bar

q0, v0 = np.array([0.4, -0.7]), np.array([0.3, 0.2])


def arm():
    return chain(2, axes="y").system()


class Remembers:
    """A sampler with a memory of its own."""

    rate = 40.0

    def start(self, system, batch):
        self.total = np.zeros((*batch, system.nv))

    def __call__(self, t, q, v):
        self.total = self.total + q / self.rate
        return -4.0 * q - 3.0 * self.total + np.sin(4.0 * t)


def kinds(s):
    """Return what a stepper and a run are given, by name."""
    goals, masses = dict.fromkeys(s.joints, 0.2), {"link2.mass": [1.0, 2.0]}
    wave = {"link2": lambda t: [0, 0, 0, 2.0 * np.sin(5.0 * t), 0, 0]}
    lock = ct.at_time(0.113, then=lambda here: here.system.mechanism.lock(s.joints[1], at=here.configuration))
    free = ct.at_time(0.151, then=lambda here: here.system.mechanism.unlock(s.joints[1]))
    return {
        "sampler": {"control": Remembers(), "forces": wave},
        "law with a memory": {"control": ct.PID(s, goals, 5.0, ki=5.0, kd=0.1, rate=40.0)},
        "law": {"control": ct.SymbolicControl(lambda t, q, v: [ct.symbols.sin(4.0 * t) - x for x in q])},
        "function": {"control": lambda t, q, v: -q, "integrator": "rk4"},
        "sum": {"control": ct.PID(s, goals, 5.0, ki=5.0, rate=40.0) + Remembers()},
        "batch": {"control": ct.PID(s, goals, 5.0, ki=5.0, kd=0.1, rate=40.0), "parameters": masses},
        "event": {"events": [ct.Event(lambda t, q, v: q[0] - 0.41, "there")]},
        "stop": {"contacts": [ct.Stop(s.joints[1], -0.72, 0.2, restitution=0.4)], "control": Remembers(), "rtol": 1e-9},
        "stop, driven by Python": {"contacts": [ct.Stop(s.joints[1], -0.72, 0.2)], "forces": wave, "rtol": 1e-8},
        "formulas": {
            "control": {s.joints[0]: "-k * joint1 - 0.2 * v.joint1"}, "parameters": {"k": 3.0, "link2.mass": 1.5},
            "forces": {"link2": [0, 0, 0, "2 * sin(5 * t)", 0, 0]}, "events": ["joint1 - 0.41"],
        },
        "a driven joint": {"motion": {s.joints[0]: "0.4 + 0.3 * t"}, "control": lambda t, q, v: -v},
        "changes": {
            "changes": [ct.Change(at=0.113, lock=s.joints[1]), ct.Change(at=0.151, unlock=s.joints[1])],
            "control": ct.Described(ct.PID, {s.joints[0]: 0.2}, 5.0, ki=5.0, rate=40.0),
        },
        "stop and a change": {
            "contacts": [ct.Stop(s.joints[1], -0.72, 0.2)], "changes": [ct.Change(at=0.113, lock=s.joints[0])],
            "rtol": 1e-9,
        },
        "stiff": {"integrator": "radau", "control": lambda t, q, v: -q},
        "coordinates": {"coordinates": "absolute", "rtol": 1e-8},
        "structure": {
            "events": [lock, free],
            "control": ct.PerStructure(lambda s: ct.PID(s, {s.joints[0]: 0.2}, 5.0, ki=5.0, rate=40.0)),
        },
    }  # fmt: skip


def parts(run):
    return run.segments if hasattr(run, "segments") else [run]


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[pytest.mark.slow] if kind in ("stiff", "coordinates") else [])
        for kind in kinds(arm())
    ],
)
def test_a_stepper_moves_as_a_run_does_and_goes_on_from_where_it_was(kind):
    """Twenty steps are a run. Ten of them, then five that are undone, then ten: the same to the last digits."""
    s = arm()
    given = kinds(s)[kind]
    fixed = {"step": 0.01} if given.get("integrator") == "rk4" else {}
    run = ct.simulate(s, q0, v0, 0.2, start=0.3 if kind == "law" else 0.0, **given, **fixed)
    stepper = ct.Stepper(s, q0, v0, step=0.01, start=run.t[0], **{"integrator": "dopri5"} | given)
    events = []
    for k in range(20):
        if k == 10:
            saved = stepper.save_state()
            gone = [np.concatenate(stepper.step(), axis=-1) for _ in range(5)]
            stepper.restore_state(saved)
            assert stepper.t == saved.t
        state = np.concatenate(stepper.step(), axis=-1)
        events += stepper.happened.events
        if 10 <= k < 15:
            np.testing.assert_array_equal(state, gone[k - 10])
    last = parts(run)[-1]
    whole = np.concatenate([last.q[..., -1, :], last.v[..., -1, :]], axis=-1)
    np.testing.assert_allclose(state, whole, atol=1e-6 if "stop" in kind else 1e-9)
    assert stepper.t == pytest.approx(run.t[-1]) and len(stepper.system.joints) == len(last.system.joints)
    assert [hit.name for hit in events] == [hit.name for hit in run.events]
    np.testing.assert_allclose([hit.t for hit in events], [hit.t for hit in run.events], atol=1e-8)


def test_a_plain_stepper_is_saved_too():
    """Forces of the caller, a loop, and a method that remembers its last step."""
    for system, integrator in ((four_bar().system(), "rk4"), (arm(), "implicit_leapfrog")):
        stepper = ct.Stepper(system, step=2e-3, integrator=integrator)
        for _ in range(7):
            stepper.step(np.full(system.nv, 0.1))
        saved = stepper.save_state()
        gone = [stepper.step(np.full(system.nv, 0.3))[0] for _ in range(7)]
        stepper.restore_state(saved)
        again = [stepper.step(np.full(system.nv, 0.3))[0] for _ in range(7)]
        np.testing.assert_array_equal(gone, again)
        with pytest.raises(ct.StateError, match="no state that this stepper has saved"):
            ct.Stepper(system, step=2e-3).restore_state(saved)


def test_forces_of_the_caller_beside_contacts_and_an_end():
    """A block that is pushed up from the floor by the caller: as a run with the same forces; an event ends it."""
    m = ct.Mechanism("block")
    m.add_body("block", 2.0, inertia=0.1)
    m.add_joint("moves", "ground", "block", ct.Sdof("dx", "dz"))
    s, floor = m.system(), [ct.Contact("block", friction=0.4)]
    high = ct.Event(lambda t, q, v: q[1] - 0.05, "high", terminal=True)
    push = [np.array([0.0, 0.0]), np.array([9.0, 5.0]), np.array([3.0, 40.0])]
    control = ct.sampled(lambda t, q, v: push[min(2, round(t / 0.05))], 20.0)
    run = ct.simulate(s, [0.0, 0.0], [0.1, 0.0], 1.0, contacts=floor, events=high, control=control)
    stepper = ct.Stepper(
        s, [0.0, 0.0], [0.1, 0.0], step=0.05, integrator="dopri5", contacts=floor, events=high
    )
    while not stepper.ended:
        stepper.step(push[min(2, round(stepper.t / 0.05))])
    assert stepper.t == pytest.approx(run.t[-1], abs=1e-9)
    np.testing.assert_allclose(stepper.q, parts(run)[-1].q[-1], atol=1e-8)
    assert stepper.happened.events[-1].name == "high"
    with pytest.raises(ct.StateError, match="has ended .*high"):
        stepper.step()
    stepper.reset([0.0, 0.0], [0.0, 0.0])
    assert not stepper.ended and stepper.step()[0] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_what_a_stepper_cannot_take_is_said():
    s = arm()
    stop = [ct.Stop(s.joints[1], -0.9, 0.2)]
    with pytest.raises(ct.StateError, match="forces come from the controller"):
        ct.Stepper(s, q0, v0, control=lambda t, q, v: 0.0 * v).step([0.0, 1.0])
    with pytest.raises(ct.StateError, match="remembers its last step"):
        ct.Stepper(s, q0, v0, contacts=stop, integrator="implicit_leapfrog")
    fails = ct.Stepper(
        s, q0, v0, control=lambda t, q, v: 0.0 * v if t < 2.5e-3 else v[:1], integrator="dopri5"
    )
    fails.step()
    fails.step()
    with pytest.raises(ct.SimulationError, match="gave shape"):
        fails.step()
    assert fails.t == pytest.approx(2e-3)
