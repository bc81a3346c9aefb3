"""A force on one plan of a mechanism: its kind, the nodes it acts on, and where on them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from catena.forces.contract import ForceKind
from catena.joints import JointKind
from catena.spatial import Transform

FRAMES, TREE, LOOP = "frames", "tree", "loop"


@dataclass(frozen=True, eq=False)
class PlacedForce:
    """A force of a kind on the nodes `a` and `b` of a plan (0 is ground).

    `site` is FRAMES for a force between frames, which the transforms `on_a` and `on_b` reach from the frames of the
    nodes. It is LOOP for one at the `joint` that closes a loop, with the same for the parent's and the child's side of
    the joint, and TREE for one at the joint of node b, whose parent a is. One that does not act (`acts`) is told and
    counted, but bodies do not feel it: the friction of joints, which the dynamics applies by itself. `at` is the name
    of the joint, `frames` are those of the two ends. A stretch of a line over several frames has the name of the whole
    as its `owner`.
    """

    name: str
    kind: ForceKind
    site: str
    a: int
    b: int
    on_a: Transform = Transform.identity()
    on_b: Transform = Transform.identity()
    joint: JointKind | None = None
    acts: bool = True
    at: str = ""
    frames: tuple[str, str] | None = None
    owner: str = ""

    @property
    def whole(self) -> str:
        """The name of the force that this is, or is a part of."""
        return self.owner or self.name

    @property
    def signature(self) -> tuple[Hashable, ...]:
        """What the code for this force depends on."""
        silent = () if self.acts else ("does not act",)
        return (
            self.site,
            *silent,
            *self.kind.signature,
            *(self.joint.signature if self.joint is not None else ()),
        )

    @property
    def counts(self) -> bool:
        """Whether the position of the joint is read off where its two sides are, which does not tell whole turns: they
        are counted on from a position that the force is told to be near."""
        looks = getattr(self.kind, "looks", False)
        return self.site == LOOP and looks and self.joint is not None and bool(self.joint.wraps)

    @property
    def moves_nothing(self) -> bool:
        """Whether the force acts within one node, so that it does not move anything."""
        return self.a == self.b and getattr(self.kind, "reacts", True)

    @property
    def is_from_outside(self) -> bool:
        """Whether the force comes from the ground or from outside, so that it changes the momentum."""
        return 0 in (self.a, self.b) or not getattr(self.kind, "reacts", True)

    @property
    def is_compiled(self) -> bool:
        """Whether there is a formula for all of it: at a loop the joint must find its coordinates by one."""
        return self.site != LOOP or self.joint is None or self.joint.finds_coordinates_of_symbols

    def constants(self) -> list[float]:
        """Return the numbers that the code reads: both transforms (12 each), the parameters of the kind and of the
        joint."""
        joint = self.joint.params() if self.joint is not None else ()
        return [*self.on_a.entries(), *self.on_b.entries(), *self.kind.params(), *joint]

    def with_constants(self, numbers: Sequence[float]) -> PlacedForce:
        """Return the same force with other numbers, in the order of `constants`."""
        at = 24 + len(self.kind.params())
        return replace(
            self, on_a=Transform.from_entries(numbers[:12]), on_b=Transform.from_entries(numbers[12:24]),
            kind=self.kind.with_params(numbers[24:at]),
            joint=None if self.joint is None else self.joint.with_params(numbers[at:]),
        )  # fmt: skip
