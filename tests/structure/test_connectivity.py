"""The tables of Lampariello, Abiko and Hirzinger, as corrected in docs/notation.md, from plans."""

import numpy as np

import catena as ct
from catena.joints import Fixed, Free, Revolute


def robot(chains, name="robot"):
    """A base that floats, and links on revolute joints: {link: parent}, links numbered from 1, the base being 0."""
    m = ct.Mechanism(name, gravity=(0, 0, 0))
    m.add_body("link0", mass=10.0, inertia=1.0)
    m.add_joint("base", "ground", "link0", Free())
    for link, parent in chains.items():
        m.add_body(f"link{link}", mass=1.0, com=(0.2, 0, 0), inertia=0.02)
        at = ct.Pose(p=(0.4, 0.1 * link, 0.0))
        m.add_joint(f"joint{link}", f"link{parent}", f"link{link}", Revolute("z"), in_parent=at)
    return m


FIGURE_3 = {1: 0, 2: 1, 3: 1, 4: 3, 5: 0, 6: 5, 7: 6}


def test_table_2_a_loop_between_two_arms():
    m = robot(FIGURE_3)
    closed = m.attach(
        "grasp", "link2", "link7", Revolute("z"), at=m.system().configuration(m.system().neutral())
    )
    table = ct.connectivity(closed.system(cut=["grasp"]), base="link0")
    assert [link.number for link in table.links] == [1, 2, 3, 4, 5, 6, 7]
    assert table.column("parent") == (0, 1, 1, 3, 0, 5, 6)
    assert table.column("end_effector") == (0, 1, 0, 2, 0, 0, 3)
    assert table.column("connect") == (0, 0, 0, 0, 0, 0, 2)
    assert table.column("cflag") == (-1, -1, -1, -1, -1, -1, 2)


def test_a_link_that_closes_several_loops_shows_all_of_them():
    m = robot(FIGURE_3)
    at = m.system().configuration(m.system().neutral())
    closed = m.attach("grasp", "link2", "link7", Revolute("z"), at=at)
    closed = closed.attach("second", "link4", "link7", Revolute("z"), at=at)
    closed = closed.attach("again", "link4", "link7", Revolute("z"), at=at)
    table = ct.connectivity(closed.system(cut=["grasp", "second", "again"]), base="link0")
    last = table.links[-1]
    assert last.loops == (2, 4) and last.cflag == 2 and last.connect == 3
    assert all(link.loops == () and link.cflag == -1 for link in table.links[:-1])
    assert "2,4  link7" in str(table)


def test_table_3_before_and_after_joints_are_locked():
    m = ct.Mechanism("two arms", gravity=(0, 0, 0))
    m.add_body("link1", mass=10.0, inertia=1.0)
    m.add_joint("base", "ground", "link1", Free())
    for link, parent in {2: 1, 3: 2, 4: 3, 5: 4, 6: 1, 7: 6, 8: 7, 9: 8}.items():
        m.add_body(f"link{link}", mass=1.0, inertia=0.02)
        m.add_joint(
            f"joint{link}", f"link{parent}", f"link{link}", Revolute("z"), in_parent=ct.Pose(p=(0.4, 0, 0))
        )
    reduced = m.lock([f"joint{k}" for k in (4, 5, 6, 7, 8, 9)])
    before = ct.connectivity_before(reduced)
    assert before.column("parent") == (0, 1, 2, 3, 4, 1, 6, 7, 8)
    assert before.column("end_effector") == (0, 0, 0, 0, 1, 0, 0, 0, 2)
    # Printed as 0 for link 4, whose joint is locked as well: see docs/notation.md.
    assert before.column("connect") == (0, 0, 0, 2, 2, 4, 4, 4, 4)
    assert set(before.column("cflag")) == {-1}
    after = ct.connectivity(reduced.system())
    assert after.column("parent") == (0, 1, 2)
    assert after.column("end_effector") == (0, 0, 1)
    assert after.column("connect") == (0, 0, 0) and after.column("cflag") == (-1, -1, -1)
    assert "link  parent  end-effector  connect  cflag" in str(after)


def test_example_1_two_coordinates_and_no_constraints():
    """A one-joint free-flyer that takes hold of a fixed handle by a joint of one freedom, on the plan that suits it,
    and the alternative of Nakamura and Yamane, which keeps the tree: seven coordinates in space, five constraints."""
    m = robot({1: 0}, "one joint")
    s = m.system()
    held = m.attach("fixture", "ground", "link1", Revolute("z"), at=s.configuration(s.neutral()))
    best = held.system()
    assert (best.nv, best.plan.total_constraints) == (2, 0)
    assert best.joints == ("joint1", "fixture") and best.loops == ("base",)
    kept = held.system(cut=["fixture"])
    assert (kept.nv, kept.plan.total_constraints) == (7, 5)
    assert kept.diagnose(kept.neutral()).mobility == 2
    table = ct.connectivity(best)
    assert table.column("parent") == (0, 1) and table.column("end_effector") == (0, 1)


def test_example_2_two_loops_to_a_fixed_point():
    """Three arms, the first two of which hold each other and the same fixed point, with the third one on the ground."""
    m = robot({1: 0, 2: 1, 3: 2, 4: 0, 5: 4, 6: 0, 7: 6}, "three arms")
    s = m.system()
    here = s.configuration(s.neutral())
    closed = (
        m.attach("hold", "ground", "link3", Fixed(), at=here)
        .attach("loop 1", "link3", "link5", Revolute("z"), at=here)
        .attach("loop 2", "ground", "link7", Revolute("z"), at=here)
    )
    fixed = closed.system()
    assert "base" in fixed.loops and fixed.plan.total_constraints == 10
    # The paper's own choice: the first arm inverted, loops closed at the ends of the others.
    inverted = closed.system(cut=["loop 1", "loop 2", "base"])
    table = ct.connectivity(inverted)
    # Link 3 is ground now; the numbers go inwards along the first arm and out along the others.
    assert table.column("parent") == (0, 1, 2, 3, 4, 3, 6)
    assert table.column("cflag") == (-1, -1, -1, -1, 0, -1, 0)
    q = s.neutral()
    q2, v2 = ct.transfer(s, q, np.zeros(s.nv), inverted)
    assert np.abs(inverted.closure(q2)[0]).max() < 1e-12
