"""Diagnosing loops: mobility, rank, redundancy and singularity, as data and in words."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, n_four_bars, stewart
from catena.spatial import Pose
from tests.mechanisms import two_bars


def spatial_four_bar(tilt=0.0):
    """The planar four-bar, with the axis of joint D tilted by `tilt` rad about the line from D to C."""
    tilted = ct.Revolute((0.0, -np.cos(tilt), np.sin(tilt)))
    return four_bar().copy("spatial four-bar").with_joint("D", kind=tilted)


def bricard():
    """Six bars along the edges of a cube (IFToMM A04): 1 dof, though counting constraints gives none."""
    points = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1.0]])
    axes = ["y", "z", "x", "y", "z", "x"]
    m = ct.Mechanism("bricard", gravity=(0, -9.81, 0))
    origin = {"ground": np.zeros(3)}
    for k in range(5):
        rod = points[k + 1] - points[k]
        m.add_body(f"rod{k}", 1.0, rod / 2, np.eye(3) / 12 + np.outer(rod, rod) * (1 / 600 - 1 / 12))
        origin[f"rod{k}"] = points[k]
    bodies = ["ground", *(f"rod{k}" for k in range(5)), "ground"]
    for k, axis in enumerate(axes):
        ends = [Pose(p=points[k] - origin[body]) for body in bodies[k : k + 2]]
        m.add_joint(f"J{k}", *bodies[k : k + 2], ct.Revolute(axis), *ends)
    return m


def test_planar_four_bar_has_three_redundant_constraints():
    s = four_bar().system(cut=["D"])
    d = s.diagnose(s.assemble({"A": 0.3}))
    assert (d.freedom, d.constraints, d.rank, d.mobility, d.redundancy) == (3, 5, 2, 1, 3)
    assert not d.singular and not d.nearly_redundant and d.generic_mobility == 1
    assert [r.loop for r in d.redundant] == ["D"] * 3
    assert {r.words for r in d.redundant} == {"rotation about x", "rotation about z", "translation along y"}
    assert all(r.loops == ("D",) for r in d.redundant)
    assert d.gap[0] > 0.1 and d.gap[1] < 1e-14
    text = str(d)
    for part in ("mobility 1", "rotation about x of joint D's frame", "not unique", "not singular"):
        assert part in text


def test_redundant_directions_carry_no_motion():
    """A force along a redundant direction alone moves nothing: it is a left null vector of the Jacobian."""
    s = four_bar().system()
    q = s.assemble({"A": 0.3})
    from catena.kinematics.loops.closure import loop_kinematics

    state = loop_kinematics(s.mechanics.evaluator, q)[0]
    turn = np.array(s.mechanism.joints["C"].kind.canonical()[0])
    for r in s.diagnose(q).redundant:
        force = np.concatenate([turn.T @ r.direction[:3], turn.T @ r.direction[3:]])
        np.testing.assert_allclose(force @ state.J_rel, 0.0, atol=1e-14)


def test_stewart_platform_has_none():
    s = stewart().system()
    d = s.diagnose(s.neutral())
    assert (d.mobility, d.rank, d.redundancy, d.singular) == (6, 15, 0, False)
    assert "all reactions are unique" in str(d)


def test_rows_of_four_bars():
    s = n_four_bars(4).system()
    d = s.diagnose(s.assemble({"pin0": 0.4}))
    assert (d.mobility, d.redundancy, d.singular) == (1, 12, False)
    assert all(sum(r.loop == name for r in d.redundant) == 3 for name in s.loops)


def test_bricard_moves_although_it_should_not():
    s = bricard().system()
    for angle in (0.0, 0.4):
        d = s.diagnose(s.assemble({"J0": angle}))
        assert (d.freedom - d.constraints, d.mobility, d.redundancy, d.singular) == (0, 1, 1, False)


def test_loops_that_share_a_redundancy_are_named():
    """A door on three hinges, where each extra hinge is redundant by itself, and a table on four feet, where the
    forces of all feet play against each other."""
    m = ct.Mechanism("door")
    m.add_body("door", 10.0, (0.5, 0, 1.0), (1, 1, 1))
    for k in range(3):
        m.add_joint(f"hinge{k}", "ground", "door", ct.Revolute("z"), Pose(p=(0, 0, k)), Pose(p=(0, 0, k)))
    d = m.system().diagnose([0.3])
    assert (d.mobility, d.constraints, d.redundancy) == (1, 10, 10)
    assert len(d.redundant) == 10
    m = ct.Mechanism("table")
    m.add_body("top", 10.0, (0, 0, 0), (1, 1, 1))
    m.add_joint("float", "ground", "top", ct.Free())
    for k, (x, y) in enumerate([(1, 1), (-1, 1), (-1, -1), (1, -1)]):
        m.add_body(f"leg{k}", 0.1, (0, 0, 0), (0.01, 0.01, 0.01))
        m.add_joint(f"ball{k}", "top", f"leg{k}", ct.Spherical(), Pose(p=(x, y, 0)))
        m.add_joint(f"foot{k}", "ground", f"leg{k}", ct.Planar("z"), Pose(p=(x, y, 0)))
    s = m.system()
    d = s.diagnose(s.neutral())
    assert d.redundancy == 1 and set(d.redundant[0].loops) == {name for name in s.loops if name != "float"}
    assert len(d.redundant[0].loops) >= 3
    assert "shared with" in str(d)


def test_flat_four_bar_is_singular_and_its_neighbour_is_near():
    s = n_four_bars(1).system()
    flat = s.diagnose(s.assemble({"pin0": np.pi / 2}))
    assert flat.singular and not flat.shaky
    assert (flat.rank, flat.generic_rank, flat.mobility, flat.generic_mobility) == (1, 2, 2, 1)
    assert "beside it the rank is 2" in str(flat)
    near = s.diagnose(s.assemble({"pin0": np.pi / 2 - 1e-5}))
    assert not near.singular and near.near_singular and near.mobility == 1
    assert near.nearly_redundant[0].words == "translation along x"
    assert "a singular configuration is near" in str(near)
    away = s.diagnose(s.assemble({"pin0": 1.0}))
    assert not away.singular and not away.near_singular


def test_stretched_bars_are_shaky():
    s = two_bars(2.0).system()
    d = s.diagnose(s.neutral())
    assert d.mobility == 1 and d.singular and d.shaky
    assert "lead nowhere" in str(d)
    bent = two_bars(1.5).system()
    q = bent.assemble(guess=[-0.5, 1.0] if bent.nv == 2 else None)
    d = bent.diagnose(q)
    assert d.mobility == 0 and not d.singular


@pytest.mark.parametrize("tilt", [1e-2, 1e-4, 1e-6, 1e-8])
def test_misaligned_axis_is_seen(tilt):
    """By the letter below the accuracy too, where it counts as redundant otherwise (test_near_redundancy)."""
    s = spatial_four_bar(tilt).system(cut=["D"])
    d = s.diagnose(s.neutral(), tolerance=1e-10) if tilt < 1e-6 else s.diagnose(s.neutral())
    assert d.mobility == 0 and d.rank == 3 and d.redundancy == 2
    smallest = d.gap[0]
    assert 0.02 * tilt < smallest < 2.0 * tilt
    assert d.gap[1] < 1e-3 * smallest
    if tilt <= 1e-5:
        assert len(d.nearly_redundant) == 1
        seen = d.nearly_redundant[0]
        assert seen.loop == "D" and seen.words.startswith("rotation about")
        assert seen.singular_value == smallest
        assert "small errors of the dimensions, without which the mobility would be 1" in str(d)


def test_each_nearly_redundant_constraint_has_its_own_singular_value():
    """Two linkages that do not touch: each is told what it is told alone, the weaker one last."""
    alone = [spatial_four_bar(tilt).system(cut=["D"]) for tilt in (1e-5, 1e-6)]
    expected = [s.diagnose(s.neutral()).nearly_redundant[0].singular_value for s in alone]
    both = spatial_four_bar(1e-5)
    both.add_mechanism(spatial_four_bar(1e-6), prefix="other ")
    s = both.system(cut=["D", "other D"])
    seen = s.diagnose(s.neutral()).nearly_redundant
    assert {one.loop: one.singular_value for one in seen} == pytest.approx(
        {"D": expected[0], "other D": expected[1]}, rel=1e-3
    )


def test_misaligned_axis_is_seen_where_the_loop_cannot_close():
    s = spatial_four_bar(1e-6).system()
    with pytest.warns(ct.CatenaWarning, match="stay open"):
        q = s.assemble({"A": 0.3})
    d = s.diagnose(q)
    assert d.mobility == 0 and len(d.nearly_redundant) == 1
    assert 1e-8 < d.closure_error < 1e-5 and "The loops are open by" in str(d)


def test_aligned_axes_leave_nothing_to_see():
    s = spatial_four_bar(0.0).system()
    d = s.diagnose(s.assemble({"A": 0.3}))
    assert d.mobility == 1 and not d.nearly_redundant and d.gap[1] < 1e-14


def test_rank_survives_a_little_drift():
    s = bricard().system()
    q = s.assemble({"J0": 0.4})
    d = s.diagnose(q + 1e-8 * np.array([1.0, -2.0, 1.0, 0.5, 3.0]))
    assert d.mobility == 1 and d.redundancy == 1 and 1e-9 < d.closure_error < 1e-6


def test_rank_does_not_depend_on_units_or_mass():
    """The four-bar in millimetres and with masses of very different size."""
    plain = four_bar()
    for size, masses in ((1e-3, (1.0, 1.0, 1.0)), (1.0, (1e-4, 1e4, 1.0)), (1e3, (1e3, 1.0, 1e-3))):
        m = ct.Mechanism("scaled")
        for (name, body), mass in zip(list(plain.bodies.items())[1:], masses, strict=True):
            m.add_body(name, mass * body.mass, size * body.com, mass * size**2 * body.inertia)
        for name, j in plain.joints.items():
            ends = (
                Pose(p=size * j.in_parent.p, R=j.in_parent.R),
                Pose(p=size * j.in_child.p, R=j.in_child.R),
            )
            m.add_joint(name, j.parent, j.child, j.kind, *ends)
        s = m.system()
        d = s.diagnose(s.assemble({"A": 0.3}))
        assert (d.rank, d.mobility, d.nearly_redundant) == (2, 1, ())


def test_trees_have_nothing_to_diagnose():
    m = ct.Mechanism("arm")
    m.add_body("link", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("A", "ground", "link", ct.Revolute("y"))
    d = m.system().diagnose([0.2])
    assert (d.mobility, d.rank, d.singular) == (1, 0, False) and "no loops" in str(d)


def test_one_configuration_at_a_time():
    s = four_bar().system()
    with pytest.raises(ct.StateError, match="one configuration"):
        s.diagnose(np.zeros((2, 3)))
    with pytest.raises(ct.StateError):
        s.diagnose([0.0, np.nan, 0.0])
