"""Loops that no configuration closes: which are at fault, by how much, and the smallest change that closes them,
against gaps known by geometry and against the fault that was put in."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import andrews, four_bar, stewart


def refused(m, given=None):
    with pytest.raises(ct.LoopError, match="cannot be closed") as caught:
        m.system().assemble(given)
    return caught.value


def repaired(m, error):
    for joint, place in error.repair.items():
        m = m.with_joint(joint, in_parent=place)
    s = m.system()
    q = s.assemble(guess=error.configuration, slack=1e-9)
    assert np.abs(s.closure(q)[0]).max(initial=0.0) < 1e-10
    return m


def moves(m, error):
    """How far each joint was moved [m], and turned [rad]."""
    steps = {name: m.joints[name].in_parent.inverse() * place for name, place in error.repair.items()}
    return {
        name: (np.linalg.norm(step.p), 2 * np.arctan2(np.linalg.norm(step.quat[1:]), abs(step.quat[0])))
        for name, step in steps.items()
    }


@pytest.mark.parametrize("long", [1.5, 2.0, 5.0])
def test_a_bar_that_is_too_long_is_shortened_by_what_it_is_too_long(long):
    # Crank 0.4, rocker 0.9, ground 1.0: stretched out they reach 2.3.
    m = four_bar()
    m = m.with_joint("C", in_parent=ct.Pose(p=(1.2 + long, 0, 0)))
    error = refused(m)
    assert list(error.gaps) == list(m.system().loops)
    (turn, slide) = error.gaps[m.system().loops[0]]
    # The search for a closed configuration ends where it gains little.
    assert slide == pytest.approx(1.2 + long - 2.3, rel=1e-3) and turn < 1e-9
    ((move, angle),) = moves(m, error).values()
    assert move == pytest.approx(1.2 + long - 2.3, rel=1e-5) and angle < 1e-9
    (joint,) = error.repair
    assert f"move joint {joint!r} by" in str(error) and "loop 'C'" in str(error)
    repaired(m, error)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", [four_bar, andrews], ids=lambda make: make.__name__)
def test_a_planar_linkage_moved_out_of_its_plane_is_moved_back(make, seed):
    rng = np.random.default_rng(seed)
    m = make()
    s = m.system()
    on_loops = [name for name in m.joints if m.joints[name].kind == m.joints[next(iter(m.joints))].kind]
    name = on_loops[rng.integers(len(on_loops))]
    axis = np.array(m.joints[name].kind.axis)
    off = rng.uniform(0.01, 0.1) * rng.choice([-1.0, 1.0])
    old = m.joints[name].in_parent
    bad = m.with_joint(name, in_parent=old * ct.Pose(p=off * axis))
    error = refused(bad)
    assert error.gaps and set(error.gaps) <= set(s.loops)
    # No sum of moves along the axes smaller than that brings all bars back into one plane.
    assert sum(move for move, _ in moves(bad, error).values()) == pytest.approx(abs(off), rel=1e-3)
    repaired(bad, error)


def test_only_the_loops_at_fault_are_named():
    m = four_bar()
    other = four_bar().copy("other")
    for body in list(other.bodies.values())[1:]:
        m.add_body(f"{body.name} 2", body.mass, body.com, body.inertia)
    at = {"ground": "ground"}
    for joint in other.joints.values():
        ends = [at.get(end, f"{end} 2") for end in (joint.parent, joint.child)]
        long = ct.Pose(p=(4, 0, 0)) if joint.name == "C" else joint.in_parent
        m.add_joint(f"{joint.name} 2", *ends, joint.kind, long, joint.in_child)
    error = refused(m)
    assert list(error.gaps) == ["C 2"] and "loop 'C'" not in str(error) and "loop 'C 2'" in str(error)
    assert all(name.endswith(" 2") for name in error.repair)
    repaired(m, error)


def test_a_check_of_a_file_names_the_loop_and_the_repair(tmp_path):
    m = four_bar().with_joint("C", in_parent=ct.Pose(p=(3.0, 0, 0)))
    m.save(tmp_path / "m.toml")
    (error,) = [found for found in ct.check(tmp_path / "m.toml") if found.severity == "error"]
    assert "loop 'C' 0.7 m" in error.message and "The smallest change of dimensions found" in error.message


def test_values_that_do_not_fit_are_no_fault_of_the_dimensions():
    with pytest.raises(ct.LoopError, match="do not close with the values given") as caught:
        four_bar().system().assemble({"A": 0.3, "D": 3.0})
    assert caught.value.repair is None and caught.value.gaps is None


def test_a_platform_whose_leg_is_out_of_reach_is_told_so():
    m = stewart()
    joint = next(name for name in m.joints if "6" in name and m.joints[name].parent == "ground")
    held = [name for name in m.joints if m.joints[name].kind == ct.Prismatic("z")]
    assert held
    old = m.joints[joint].in_parent
    bad = m.lock(held).with_joint(joint, in_parent=ct.Pose(p=old.p + np.array([9.0, 0, 0]), R=old.R))
    error = refused(bad)
    assert sum(move for move, _ in moves(bad, error).values()) < 9.0
    repaired(bad, error)
