"""Serial chains and regular trees of revolute joints, for scaling measurements and tests."""

from __future__ import annotations

from collections.abc import Sequence

from catena.errors import ModelError
from catena.joints import Revolute
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.generators.shapes import cylinder
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose


@checks_arguments
def chain(n: int, axes: Sequence[str] = ("y", "x", "z"), length: float = 0.2, mass: float = 1.0) -> Mechanism:
    """A serial chain of n revolute joints: n dof.

    Bodies link1..linkn are rods of the given length [m] and mass [kg] and 20 mm radius along their x axis;
    joint1..jointn sit at the near ends and turn about `axes` in rotation. At q = 0 the chain is straight
    along x; frame "tip" is at the end of the last link.
    """
    _check_count("chain", n)
    mechanism = Mechanism(f"chain{n}")
    link = cylinder(mass, 0.02, (length, 0.0, 0.0))
    kinds = [Revolute(axis) for axis in axes]
    far_end, near_end = Pose(p=(length, 0.0, 0.0)), Pose()
    for i in range(1, n + 1):
        mechanism.add_body(f"link{i}", **link)
        parent, at = ("ground", near_end) if i == 1 else (f"link{i - 1}", far_end)
        mechanism.add_joint(f"joint{i}", parent, f"link{i}", kinds[(i - 1) % len(kinds)], in_parent=at)
    mechanism.add_frame("tip", f"link{n}", far_end)
    return mechanism


@checks_arguments
def tree(n: int, branching: int = 2) -> Mechanism:
    """A regular tree of n revolute joints in which every link carries `branching` links: n dof.

    Bodies link1..linkn and joint1..jointn are numbered level by level: link i hangs on link (i - 2) //
    branching + 1, link1 on ground. Links are rods 0.2 m long along x; siblings fan out over 120 degrees
    about z, and the joints turn about y, x, z in rotation.
    """
    _check_count("tree", n)
    _check_count("tree", branching)
    mechanism = Mechanism(f"tree{n}")
    link = cylinder(1.0, 0.02, (0.2, 0.0, 0.0))
    kinds = [Revolute("y"), Revolute("x"), Revolute("z")]
    fan = 2.0943951023931953  # 120 degrees
    spread = [0.0] if branching == 1 else [fan * (k / (branching - 1) - 0.5) for k in range(branching)]
    branches = [Pose(p=(0.2, 0.0, 0.0), rpy=(0.0, 0.0, angle)) for angle in spread]
    for i in range(1, n + 1):
        mechanism.add_body(f"link{i}", **link)
        parent = "ground" if i == 1 else f"link{(i - 2) // branching + 1}"
        at = Pose() if i == 1 else branches[(i - 2) % branching]
        mechanism.add_joint(f"joint{i}", parent, f"link{i}", kinds[(i - 1) % 3], in_parent=at)
    return mechanism


def _check_count(who: str, n: int) -> None:
    if n < 1:
        raise ModelError(f"generator {who!r}: a count of {n} was asked for: give 1 or more")
