"""Whole turns of joints that close loops, and controllers that push there, beside contacts: however loops are cut."""

import numpy as np
import pytest

import catena as ct
from tests.simulation.acting.test_loop_turns import CUTS, Held, assert_alike, cranks

INSIDE = "compiled steps with contacts inside"
CLOSE = {"rtol": 1e-9, "atol": 1e-11, "check": False, "samples": 5}


def begun():
    """Return crank-rockers with a spring at a pin that turns, towards which a hammer moves on a rail: systems with that
    pin in a loop and in the tree, each with the same closed state."""
    m = cranks()
    m.add_frame("nose", "coupler", ct.Pose(p=(0.5, 0.0, -0.2)))
    m.add_body("hammer", mass=0.2, inertia=1e-4)
    m.add_joint("rail", "ground", "hammer", ct.Prismatic("z"), in_parent=ct.Pose(p=(0.75, 0.0, -0.5)))
    base = m.system(cut=["B"])
    q = base.assemble(guess={"D": -1.3, "A": -1.0, "C": 1.2, "rail": 0.0})
    v, found = base.velocity(q, {"A": 12.0, "rail": 1.5}), []
    for cut in CUTS:
        s = m.system(cut=[cut])
        moved = ct.transfer(base, q, v, s)
        at = moved.q.copy()
        if "B" in s.joints:
            at[s.slice_q("B")] = base.joint_position(q, "B")
        found.append((s, at, moved.v))
    return found


CONTROLS = {
    "none": None,
    "always asked": lambda t, q, v: {"B": 0.1, "D": -0.1},
    "held": Held("B"),
}


@pytest.mark.parametrize(
    "control", ["none", *(pytest.param(x, marks=pytest.mark.slow) for x in CONTROLS if x != "none")]
)
def test_a_linkage_that_has_turned_is_hit_the_same_way_for_all_cuts(control):
    hits = ct.Contact("nose", on="hammer", on_radius=0.05, radius=0.05, friction=0.1, restitution=0.5)
    runs = [
        ct.simulate(s, q, v, 0.6, contacts=[hits], control=CONTROLS[control], **CLOSE) for s, q, v in begun()
    ]
    assert_alike(runs, 1e-7)
    for run in runs:
        assert {part.settings["steps taken by"] for part in run.segments} == {INSIDE}
        (change, *_), (first, *_) = run.transitions, runs[0].transitions
        assert 0.1 < change.t == pytest.approx(first.t, abs=1e-8)
        np.testing.assert_allclose(change.impulse["nose"], first.impulse["nose"], atol=1e-6)
