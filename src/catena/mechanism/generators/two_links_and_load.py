"""The two links that hold a load of van der Merwe's thesis."""

from __future__ import annotations

from math import pi

from numpy.typing import ArrayLike

from catena.joints import Revolute
from catena.mechanism.generators.asked import asked
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose


@asked
def two_links_and_load(com: ArrayLike = (0.0, 0.0, 0.0)) -> Mechanism:
    """A 5 kg load on two parallel links of 1.5 m and 1 kg each: 1 dof, one loop with 3 redundant constraints; the
    illustrative example of van der Merwe's thesis (section 6.5), with its gravity of 10 m/s^2.

    Link k = 1, 2 turns about y at joint "base{k}" on ground, the second 0.8 m beside the first along x, and holds the
    body "load" at joint "tip{k}", which is 0.4 m to the side of the load's frame. Angles of the bases count
    downwards from the level. `com` is the mass centre of the load in its frame: the load stays level, so the motion
    does not depend on it, while the forces at the tips do.

    The initial state is rest with both links 45 degrees below the level. At q = 0 the linkage is flat and singular.
    """
    mechanism = Mechanism("two links and a load", gravity=(0.0, 0.0, -10.0))
    mechanism.add_body("load", 5.0, com, 0.5)
    for k, x in enumerate((0.0, 0.8), 1):
        mechanism.add_body(f"link{k}", 1.0, (0.75, 0.0, 0.0), (0.025, 0.25, 0.25))
        mechanism.add_joint(f"base{k}", "ground", f"link{k}", Revolute("y"), Pose(p=(x, 0.0, 0.0)))
        mechanism.add_joint(
            f"tip{k}", f"link{k}", "load", Revolute("y"),
            Pose(p=(1.5, 0.0, 0.0)), Pose(p=(x - 0.4, 0.0, 0.0)), actuated=False,
        )  # fmt: skip
    # The second angle says which of the two ways to assemble a four-bar is meant.
    mechanism.set_initial({"base1": pi / 4.0, "base2": pi / 4.0})
    return mechanism
