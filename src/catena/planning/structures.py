"""Which structure is best for a task: joints locked or not, grapples closed or open, bases fixed or free, each
combination planned for the same task and ranked by what it costs (the outlook of Lampariello, Abiko and Hirzinger,
section IV-C)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.changing import transfer
from catena.errors import CatenaError, StateError
from catena.joints import JointKind
from catena.kernels import arrays
from catena.mechanism import Mechanism
from catena.mechanism.placed_mechanism import PlacedMechanism
from catena.planning.motion_plan import MotionPlan
from catena.planning.transcription import plan_motion
from catena.spatial import Pose
from catena.system import System
from catena.system.of_system import as_one_system
from catena.validation import is_count, listed, shown

AS_IS = "as it is"
Change = Callable[[Mechanism, PlacedMechanism], Mechanism]


@dataclass(frozen=True, eq=False)
class RankedStructure:
    """A structure that was tried: what was changed, by name, the mechanism, its plan and what that costs. Where there
    is no plan that meets all conditions the cost is infinite, and `reason` says why. `energy_loss` is what closing its
    joints takes from the motion that it begins with."""

    name: str
    mechanism: Mechanism | None
    plan: MotionPlan | None
    cost: float
    reason: str
    energy_loss: float

    @property
    def freedom(self) -> int:
        """The number of velocity components of its tree; 0 where it could not be made."""
        return 0 if self.plan is None else self.plan.system.nv


@dataclass(frozen=True, eq=False)
class StructureRanking(Sequence[RankedStructure]):
    """All structures that were tried for a task, the least cost first; those without a plan last."""

    tried: tuple[RankedStructure, ...]

    @property
    def best(self) -> RankedStructure:
        """The structure of least cost; a StateError if none has a plan."""
        if not np.isfinite(self.tried[0].cost):
            reasons = "; ".join(f"{x.name}: {x.reason}" for x in self.tried[:4])
            raise StateError(
                f"no structure that was tried does the task ({reasons}); try others, or ask for less."
            )
        return self.tried[0]

    def __getitem__(self, index: Any) -> Any:
        return self.tried[index]

    def __len__(self) -> int:
        return len(self.tried)

    def __iter__(self) -> Iterator[RankedStructure]:
        return iter(self.tried)

    def __str__(self) -> str:
        wide = max(len(x.name) for x in self.tried)
        rows = [f"{'structure':<{wide}}  freedom        cost  remark"]
        for x in self.tried:
            cost = f"{x.cost:10.4g}" if np.isfinite(x.cost) else "         -"
            rows.append(f"{x.name:<{wide}}  {x.freedom:7d}  {cost}  {x.reason}")
        return "\n".join(rows)


def rank_structures(
    system: System,
    start: ArrayLike,
    duration: float | tuple[float, float],
    *,
    velocity: ArrayLike | None = None,
    lock: Iterable[str | Sequence[str]] = (),
    grapples: Mapping[str, Sequence[str | JointKind | Mapping[str, object]]] | None = None,
    bases: Iterable[str] = (AS_IS,),
    structures: Mapping[str, Mechanism | Change] | None = None,
    most: int = 64,
    **task: Any,
) -> StructureRanking:
    """Plan one task with many structures of a mechanism that stands at `start` (nq,) with `velocity` (nv,), and return
    them ranked by the cost of their plans.

    `lock` are joints, patterns or lists of these, each of which may be locked where it stands; `grapples` {joint:
    (parent, child, kind, options of attach)} joints each of which may be closed where bodies stand; `bases` what
    floats: "as it is", "fixed", "free", or a body that the base is seen from. All combinations of these are tried, at
    most so many. `structures` are others by name, each a mechanism or a function of the mechanism and of where it is,
    `s.configuration(q)`. `task` is what `plan_motion` takes besides.
    """
    as_one_system(system, "rank_structures")
    _, q0, v0 = system.mechanics.states(start, np.zeros(system.nv) if velocity is None else velocity)
    if len(q0) != 1 or len(v0) != 1:
        raise StateError("rank_structures: start or velocity have batch dimensions; give one state.")
    closed, others = _by_name("grapples", grapples), _by_name("structures", structures)
    candidates = _combinations(_groups(lock), closed, arrays.as_list("bases", bases, str, "bases"))
    for name, structure in others.items():
        candidates[name] = [_own(structure)]
    if not is_count(most) or len(candidates) > most:
        raise StateError(
            f"rank_structures: {len(candidates)} structures are to be tried, and at most {shown(most)}; lock in "
            "groups, as in lock=[['arm2/*'], ['arm3/*']], or allow for more."
        )
    at = system.configuration(q0[0])
    tried = [
        _tried(system, name, steps, at, q0[0], v0[0], duration, task) for name, steps in candidates.items()
    ]
    return StructureRanking(tuple(sorted(tried, key=lambda x: x.cost)))


def _combinations(
    lock: list[list[str]],
    grapples: Mapping[str, Sequence[str | JointKind | Mapping[str, object]]],
    bases: list[str],
) -> dict[str, list[Change]]:
    """Return the changes of each combination by its name."""
    choices: list[list[tuple[str, Change | None]]] = [[(base, _based(base)) for base in bases]]
    for names in lock:
        choices.append([("", None), (f"{', '.join(names)} locked", _locked(names))])
    for joint, grapple in grapples.items():
        choices.append([("", None), (f"{joint} closed", _grappled(joint, grapple))])
    found = {}
    for picked in product(*choices):
        said = [name for name, _ in picked if name and name != AS_IS]
        found["; ".join(said) or AS_IS] = [change for _, change in picked if change is not None]
    return found


def _groups(lock: Any) -> list[list[str]]:
    """Return the joints and patterns of each group that may be locked."""
    try:
        return [
            arrays.as_list("lock", group, str, "joints")
            for group in ((lock,) if isinstance(lock, str) else listed(lock))
        ]
    except ValueError as error:
        raise StateError(
            f"rank_structures: lock is {shown(lock)}; give joints, patterns, or lists of these."
        ) from error


def _by_name(what: str, mapping: Any) -> dict[str, Any]:
    """Return what is given by name, or the complaint that it is not."""
    if mapping is None:
        return {}
    if not isinstance(mapping, Mapping) or not all(isinstance(name, str) for name in mapping):
        raise StateError(f"rank_structures: {what} are {shown(mapping)}; give a mapping from names.")
    return dict(mapping)


def _based(base: str) -> Change | None:
    if base == AS_IS:
        return None
    if base == "fixed":
        return lambda m, at: m.fix_base(at)
    if base == "free":
        return lambda m, at: m.free_base()
    return lambda m, at: m.reroot(base)


def _locked(names: list[str]) -> Change:
    return lambda m, at: m.lock(names, at)


def _grappled(joint: str, grapple: Sequence[Any]) -> Change:
    """Return the change that closes a joint where bodies stand; without poses it sits at the origin of its child."""
    parts: list[Any] = list(grapple) if isinstance(grapple, tuple | list) else []
    if not 3 <= len(parts) <= 4 or (len(parts) == 4 and not isinstance(parts[3], Mapping)):
        raise StateError(
            f"rank_structures: grapple {joint!r} is {shown(grapple)}; give (parent, child, kind), or these and options."
        )
    parent, child, kind, *rest = parts
    options = dict(rest[0]) if rest else {"in_child": Pose()}
    return lambda m, at: m.attach(joint, parent, child, kind, at=at, **options)


def _own(structure: Any) -> Change:
    if isinstance(structure, Mechanism):
        return lambda m, at: structure
    if not callable(structure):
        raise StateError(
            f"rank_structures: a structure is {shown(structure)}; give a mechanism, or a function of (mechanism, "
            "place)."
        )
    made: Change = structure
    return made


def _tried(
    system: System, name: str, steps: list[Change], at: PlacedMechanism, q: np.ndarray, v: np.ndarray, duration: Any,
    task: Mapping[str, Any],
) -> RankedStructure:  # fmt: skip
    """Return what becomes of the task with one structure."""
    mechanism, loss = None, 0.0
    try:
        mechanism = system.mechanism
        for change in steps:
            mechanism = change(mechanism, at)
        own = system if mechanism is system.mechanism else mechanism.system()
        state = (q, v)
        if own is not system:
            moved = transfer(system, q, v, own)
            state, loss = (moved.q, moved.v), float(moved.energy_loss)
        plan = plan_motion(own, state[0], duration, velocity=state[1], **task)
    except CatenaError as error:
        return RankedStructure(name, mechanism, None, np.inf, str(error), loss)
    cost = plan.cost if plan.success else np.inf
    return RankedStructure(name, mechanism, plan, cost, "" if plan.success else plan.message, loss)
