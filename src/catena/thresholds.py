"""When numbers count as zero, as equal or as within bounds: the comparisons that several algorithms make.

`RANK_...` say when a singular value counts as zero, one for each kind of matrix that is asked for its rank. Each is
compared with the largest singular value of the matrix or, where all of them may be rounding, with a row or column of
size 1 that does something: rows are scaled to radians and lengths of the mechanism.

What only one algorithm compares has its constant there; the page on notation lists them. Code that is traced takes no
number from here, because compiled code does not depend on this file.
"""

RANK_EXACT = 1e-10
"""Constraints and motions at configurations that are known as well as numbers can be. Rounding is near 1e-15 and grows
with the depth of the tree; a misalignment of 1e-6 rad is near 1e-6. Tenfold the gap where loops are open."""

RANK_MOVING = 1e-9
"""The same along motions: states of a run are closed to 1e-9 at worst, and what they are asked for is a rate."""

RANK_SEARCHED = 1e-7
"""The same at configurations that a search came to. Next to a singular one it stops when loops are closed to 1e-13, and
the distance left is about the root of that: what the constraints hardly see there is left alone."""

RANK_ACTUATED = 1e-8
"""What actuators can do in a direction beside all that they can do. What takes a hundred million times the force is not
asked of them."""

RANK_TOUCHING = 1e-11
"""Mobilities of contacts, whose square roots are as exact as constraints are; four feet of a table are redundant."""

CONTRADICTION = 1e-6
"""What cannot be had, as a part of all that is at work in it, products of velocities included: prescribed accelerations
that open loops or differ at contacts, forces that no actuators give. Below it users may have rounded."""

LEFT_OF_SUMS = 1e-10
"""What is left of velocities or accelerations as a part of all that was summed up, where nothing should be left:
rounding near 1e-15 that the condition of the problem has made larger."""

LIMIT_SLACK = 1e-9
"""How far [rad, m, rad/s or m/s] joints may be beyond their limits: a number that was found is not exact."""

PLACE_TOLERANCE = 1e-6
"""How far a place that is given for a flexible body may be beside it, as a part of the body's size: files have seven
digits."""
