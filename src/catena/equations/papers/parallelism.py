"""Nikravesh, Gim, Arabyan and Rein, sections 4 and 5, computed: critical paths and largest speed-ups of the Stanford
arm (their figure 7), and from which length on the recursive form is the cheaper one (their figure 6)."""

from collections.abc import Iterator
from dataclasses import dataclass

from catena.equations.dataflow import UNIT, Costs, dataflow
from catena.equations.papers.chains import STANFORD, general_chain, general_loop, general_star
from catena.equations.papers.non_recursive import non_recursive
from catena.equations.papers.recursive import recursive
from catena.equations.sums import TREES, WRITTEN
from catena.errors import EquationsError
from catena.structure import plan

PRINTED_SPEED_UPS = {1: 11, 6: 76}
"""What is read off the paper's figure 7, by degrees of freedom. It does not say what one task is."""


@dataclass(frozen=True)
class PaperReading:
    """One way to read the paper, for an arm of so many degrees of freedom: the time on one processor and on any number
    of them."""

    freedom: int
    every_zero: bool
    sums: str
    serial_time: float
    critical_time: float

    @property
    def largest_speed_up(self) -> float:
        """The serial time over the length of the critical path."""
        return self.serial_time / self.critical_time


def stanford_readings(freedom: int, costs: Costs = UNIT) -> Iterator[PaperReading]:
    """The four readings of figure 7: zeros skipped or multiplied out, sums as they are written, one term after the
    other, or as trees. The mechanism is the base and the first links of the Stanford arm, with general numbers; gravity
    acts along y, and nothing else."""
    arm = plan(general_chain(STANFORD[:freedom], gravity=(0.0, -9.81, 0.0)))
    for every_zero in (False, True):
        graph, _ = non_recursive(arm, every_zero, driven=False)
        for sums in (WRITTEN, TREES):
            flow = dataflow(graph, costs=costs, sums=sums)
            yield PaperReading(freedom, every_zero, sums, flow.serial_time, flow.critical_time)


@dataclass(frozen=True)
class Forms:
    """Operations of the two forms for a tree of so many joints."""

    joints: int
    non_recursive: float
    recursive: float


FAMILIES = {"chain": general_chain, "star": general_star, "loop": general_loop}
"""Trees that are compared, by name."""


def forms(letter: str, joints: int, family: str = "chain") -> Forms:
    """Count both forms for a tree of so many joints "R", "P" or "S": a "chain", a "star", or the "loop" whose two
    chains a cut in its middle leaves. The rows of the cut joint and its multipliers are counted in neither form."""
    tree = plan(FAMILIES[family](letter * joints))
    counted = [
        dataflow(graph).serial_time
        for graph, _ in (non_recursive(tree, along_the_chain=True), recursive(tree))
    ]
    return Forms(joints, *counted)


def break_even(letter: str, most: int, family: str = "chain", least: int = 2) -> int | None:
    """Return the first number of joints, "R" or "S", from `least` to `most`, for which the recursive form takes fewer
    operations; None if there is none. Prismatic joints are refused: in a chain of nothing else nothing turns, both
    forms fold constant rotations away, and where they meet says how much was folded rather than which form is the
    cheaper one."""
    if letter not in ("R", "S"):
        raise EquationsError(
            f"break_even of {letter!r}: the comparison has a meaning for chains whose links turn, 'R' (revolute) or "
            f"'S' (spherical). In a chain of prismatic joints nothing turns, and what that leaves out decides it; "
            f"forms() tells the counts."
        )
    for joints in range(least, most + 1):
        both = forms(letter, joints, family)
        if both.recursive < both.non_recursive:
            return joints
    return None
