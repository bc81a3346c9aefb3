"""What joint kinds have in common that stand around another one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from catena.joints.contract import JointKind


@dataclass(frozen=True)
class Around:
    """The part of a kind that stands around `kind`: it has its coordinates, and its code is that of both."""

    kind: JointKind

    @property
    def nq(self) -> int:
        return self.kind.nq

    @property
    def nv(self) -> int:
        return self.kind.nv

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return (type(self).__name__, *self.kind.signature)
