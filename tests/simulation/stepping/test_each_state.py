"""Batches in which contacts and changes of structure give every state a motion, and a structure, of its own."""

import numpy as np
import pytest

import catena as ct

MASSES = np.array([1.0, 2.5, 0.6])
LOOSE = {"rtol": 1e-9, "atol": 1e-11}


def hopper(mass=1.0):
    """A block over the floor with an arm on it."""
    m = ct.Mechanism("hopper")
    m.add_body("block", mass, inertia=0.1)
    m.add_joint("moves", "ground", "block", ct.Sdof("dx", "dz"))
    m.add_body("arm", 0.5, com=(0.0, 0.0, -0.2), inertia=0.02)
    m.add_joint("pin", "block", "arm", ct.Revolute("y"), in_parent=ct.Pose(p=(0.0, 0.0, 0.6)))
    return m


class Swings:
    """A sampled controller that remembers: it must have a memory of its own for each state."""

    rate = 50.0

    def start(self, system, batch):
        self.total = 0.0

    def __call__(self, t, q, v):
        self.total = self.total + q[-1] / self.rate
        return np.array([0.0] * (len(v) - 1) + [-2.0 * q[-1] - 3.0 * self.total])


def lock(here):
    return here.system.mechanism.lock("pin", at=here.configuration)


CASES = {
    "contact": {"contacts": [ct.Contact("block", friction=0.4, restitution=0.3)], "control": Swings()},
    # The lightest block does not get so far, and keeps its structure.
    "structure": {
        "events": [ct.Event(lambda here: here["moves"][0] - 0.0188, "there", direction=1, then=lock)]
    },
}


@pytest.mark.parametrize("case", CASES)
def test_parameters_are_those_of_mechanisms_edited_by_hand(case):
    """Masses that differ from state to state, in a run and in steps, against a mechanism for each. Steps are taken up
    again from where they were saved; the memory of a controller is that of its state."""
    given, s = {**CASES[case], **LOOSE}, hopper().system()
    q, v = np.array([0.0, 0.02, 0.9]), np.array([0.1, 0.0, -1.0])
    batch = {"parameters": {"block.mass": MASSES}}
    run = ct.simulate(s, q, v, 0.2, check=False, **given, **batch)
    alone = [ct.simulate(hopper(m).system(), q, v, 0.2, check=False, **given) for m in MASSES]
    stepper = ct.Stepper(s, q, v, step=0.02, integrator="dopri5", **given, **batch)
    events, changes = [], []
    for k in range(10):
        if k == 4:
            saved = stepper.save_state()
            gone = [stepper.step()[0] for _ in range(3)]
            stepper.restore_state(saved)
        there, _ = stepper.step()
        events += stepper.happened.events
        changes += stepper.happened.transitions
        if 4 <= k < 7:
            for x, y in zip(there, gone[k - 4], strict=True):
                np.testing.assert_array_equal(x, y)
    assert run.batch == (3,) and [x.state for x in run.transitions] == sorted(
        x.state for x in run.transitions
    )
    for k, one in enumerate(alone):
        own, last = run.state(k), one.segments[-1]
        assert own.segments[-1].system.mechanism.bodies["block"].mass == MASSES[k]
        assert [x.told for x in own.transitions] == [x.told for x in one.transitions]
        assert [x.told for x in changes if x.state == (k,)][-1:] == [x.told for x in one.transitions][-1:]
        assert [(x.name, x.t) for x in events if x.state == (k,)] == [
            (x.name, pytest.approx(x.t, abs=1e-7)) for x in one.events
        ]
        np.testing.assert_allclose(own.segments[-1].q[-1], last.q[-1], rtol=0, atol=1e-12)
        state = stepper.state(k)
        assert state.system.joints == last.system.joints
        np.testing.assert_allclose(state.q, last.q[-1], rtol=0, atol=1e-6)
        np.testing.assert_allclose(there[k], last.q[-1], rtol=0, atol=1e-6)
    if case == "structure":
        assert len({x.segments[-1].system.joints for x in alone}) == 2
        assert there.dtype == object and stepper.q.shape == (3,)
        with pytest.raises(ct.StateError, match=r"stepper.state\(0\).system"):
            _ = stepper.system
    with pytest.raises(ct.StateError, match="no state"):
        stepper.state(3)


def test_forces_of_the_caller_go_to_their_states():
    """Blocks that are pushed along the floor by forces of their own, as steppers of single states are."""
    s, floor = hopper().system(), [ct.Contact("block", friction=0.3)]
    q, push = np.array([0.0, 0.0, 0.1]), np.array([[9.0, 0.0, 0.0], [3.0, 4.0, 0.0]])
    given = {"step": 0.05, "integrator": "dopri5", "contacts": floor, **LOOSE}
    both = ct.Stepper(s, np.stack([q, q]), np.zeros(3), **given)
    each = [ct.Stepper(s, q, np.zeros(3), **given) for _ in push]
    for tau in (push, None, push[::-1]):
        there = both.step(tau)
        rows = [one.step(None if tau is None else tau[k]) for k, one in enumerate(each)]
        for k in range(2):
            np.testing.assert_array_equal(there[k], [row[k] for row in rows])
    by_name = {"moves": np.array([[5.0, 0.0], [0.0, 2.0]])}
    there, rows = both.step(by_name), [one.step({"moves": by_name["moves"][k]}) for k, one in enumerate(each)]
    np.testing.assert_array_equal(there[0], [row[0] for row in rows])
    np.testing.assert_array_equal(both.position("pin")[:, 0], there[0][:, 2])
    with pytest.raises(ct.StateError, match="does not go with a batch"):
        both.step(np.zeros((3, 3)))
