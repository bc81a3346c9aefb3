"""Changes of the structure during a run, as plain frozen data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Required, TypedDict

from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.joints import JointKind
from catena.mechanism import Mechanism
from catena.mechanism.placed_mechanism import PlacedMechanism
from catena.mechanism.validation import known
from catena.simulation.guards.common_events import at_time
from catena.simulation.guards.events import Event
from catena.simulation.scenario.frozen import frozen
from catena.spatial import Pose
from catena.validation import entries, is_finite, shown

ACTIONS = ("unlock", "detach", "attach", "lock", "free", "fix")
"""What a change may do, in the order in which it does so."""
NEEDED = ("name", "parent", "child", "kind")


class JointToAttach(TypedDict, total=False):
    """The arguments of `Mechanism.attach` by name."""

    name: Required[str]
    parent: Required[str]
    child: Required[str]
    kind: Required[JointKind]
    in_parent: Pose
    in_child: Pose
    damping: ArrayLike
    friction: ArrayLike
    limits: ArrayLike | None
    actuated: bool | Iterable[bool]
    limit_stiffness: ArrayLike | None
    limit_damping: ArrayLike
    armature: ArrayLike | None
    velocity_limit: ArrayLike | None
    static_friction: ArrayLike | None
    stribeck_velocity: ArrayLike | None


OPTIONS = tuple(key for key in JointToAttach.__annotations__ if key not in NEEDED)


@dataclass(frozen=True, eq=False)
class Change:
    """A change of the structure `at` a time [s], or when the `event` of a name happens.

    `lock`, `unlock` and `detach` name joints, one or several, as patterns such as "arm2/*" or not; joints are locked
    where they are. `attach` are the arguments of `Mechanism.attach`, {"name": ..., "parent": ..., "child": ...,
    "kind": ...} or several of these; a joint whose place on a body is not given is made where the bodies are. `free`
    lets the base float, `fix` holds it where it is. All that one change says is done together.
    """

    at: float | None = None
    event: str | None = None
    lock: str | Sequence[str] = ()
    unlock: str | Sequence[str] = ()
    detach: str | Sequence[str] = ()
    attach: JointToAttach | Sequence[JointToAttach] = ()
    free: bool = False
    fix: bool = False

    def __post_init__(self) -> None:
        if (self.at is None) == (self.event is None):
            raise StateError("Change: give either at=, a time in seconds, or event=, the name of an event.")
        if self.at is not None:
            if not is_finite(self.at):
                raise StateError(f"Change: at is {shown(self.at)}; give a number of seconds.")
            object.__setattr__(self, "at", float(self.at))
        elif not isinstance(self.event, str):
            raise StateError(f"Change: event is {shown(self.event)}; give the name of an event.")
        for what in ("lock", "unlock", "detach"):
            value = getattr(self, what)
            try:
                names = entries(value)
            except ValueError:
                names = (None,)
            if not all(isinstance(name, str) for name in names):
                raise StateError(
                    f"{self.label}: {what} is {shown(value)}; name a joint, or a list of joints."
                )
            object.__setattr__(self, what, names)
        for what in ("free", "fix"):
            if not isinstance(getattr(self, what), bool):
                raise StateError(f"{self.label}: {what} is {shown(getattr(self, what))}; give True or False.")
        attach = (self.attach,) if isinstance(self.attach, Mapping) else self.attach
        if isinstance(attach, str) or not isinstance(attach, Sequence):
            raise StateError(
                f"{self.label}: attach is {shown(attach)}; give the arguments of m.attach by name."
            )
        for one in attach:
            self._check_joint(one)
        object.__setattr__(self, "attach", frozen(list(attach)))
        if not any(getattr(self, what) for what in ACTIONS):
            raise StateError(f"{self.label}: it changes nothing; give one of {', '.join(ACTIONS)}.")

    def _check_joint(self, arguments: Any) -> None:
        if not isinstance(arguments, Mapping):
            raise StateError(
                f"{self.label}: attach is {shown(arguments)}; give the arguments of m.attach by name."
            )
        for key in arguments:
            if key not in (*NEEDED, *OPTIONS):
                raise StateError(
                    f"{self.label}: attach has no argument {shown(key)}; there are {', '.join((*NEEDED, *OPTIONS))}."
                )
        for key in NEEDED:
            wanted = JointKind if key == "kind" else str
            if not isinstance(arguments.get(key), wanted):
                found = f"is {shown(arguments[key])}" if key in arguments else "is missing"
                what = "a joint kind such as ct.Revolute('z')" if key == "kind" else "a name"
                raise StateError(f"{self.label}: attach: {key} {found}; give {what}.")

    @property
    def label(self) -> str:
        """Return what messages call it."""
        return f"Change at t = {self.at:g} s" if self.at is not None else f"Change at event {self.event!r}"

    @property
    def attached(self) -> tuple[str, ...]:
        """Return the names of the joints that it makes."""
        return tuple(one["name"] for one in self.attach)  # type: ignore[index]

    def of(self, mechanism: Mechanism, here: PlacedMechanism) -> Mechanism:
        """Return a mechanism changed so, with bodies where the configuration `here` has them."""
        if self.unlock:
            mechanism = mechanism.unlock(list(self.unlock))
        if self.detach:
            mechanism = mechanism.detach(list(self.detach))
        joint: Any
        for joint in self.attach:
            mechanism = mechanism.attach(**joint, at=here)
        if self.lock:
            mechanism = mechanism.lock(list(self.lock), at=here)
        if self.free:
            mechanism = mechanism.free_base()
        return mechanism.fix_base(at=here) if self.fix else mechanism

    def in_words(self) -> str:
        """Return what it does, in words."""
        words = [
            f"{what} {', '.join(getattr(self, what))}"
            for what in ("unlock", "detach", "lock")
            if getattr(self, what)
        ]
        if self.attach:
            words.insert(0, f"attach {', '.join(self.attached)}")
        words += [f"{what} the base" for what in ("free", "fix") if getattr(self, what)]
        return "; ".join(words)


def change_list(changes: Any) -> tuple[Change, ...]:
    """Return changes from one or many."""
    try:
        listed = (
            changes
            if type(changes) is tuple
            else (changes,)
            if isinstance(changes, Change)
            else entries(changes)
        )
    except ValueError:
        listed = (changes,)
    for change in listed:
        if not isinstance(change, Change):
            raise StateError(f"changes holds {shown(change)}; give a list of ct.Change.")
    return listed


def check_changes(changes: Sequence[Change], mechanism: Mechanism, events: Sequence[str]) -> None:
    """Refuse changes that name joints which no structure of a run can have, or events that there are none of."""
    made = [name for change in changes for name in change.attached]
    joints = [
        *mechanism.joints,
        *made,
        *(f"{name}.modes" for name, x in mechanism.bodies.items() if x.flexible),
    ]
    for change in changes:
        if change.event is not None:
            known("event", change.event, events, change.label)
        for name in (*change.lock, *change.unlock, *change.detach):
            if not any(letter in name for letter in "*?["):
                known("joint", name, joints, change.label)
        for one in change.attach:
            for side in ("parent", "child"):
                known("body or frame", one[side], [*mechanism.bodies, *mechanism.frames], change.label)  # type: ignore[index]


def with_changes(events: Sequence[Event], changes: Sequence[Change]) -> list[Event]:
    """Return events that make the changes: those of a run, and one for each time at which something changes."""
    found = list(events)
    for name in dict.fromkeys(change.event for change in changes if change.event is not None):
        k = next((k for k, event in enumerate(found) if event.label == name), None)
        if k is None:
            known("event", name, [event.label for event in events], "changes")
        assert k is not None
        if found[k].then is not None:
            raise StateError(
                f"Event {name!r} has a `then` of its own; leave that or the change of the structure out."
            )
        found[k] = replace(found[k], then=_doing([one for one in changes if one.event == name]))
    for time in dict.fromkeys(change.at for change in changes if change.at is not None):
        found.append(at_time(time, then=_doing([one for one in changes if one.at == time])))
    return found


def _doing(changes: Sequence[Change]) -> Callable[[Any], Mechanism]:
    """The `then` of an event that makes changes, one after the other."""

    def then(here: Any) -> Mechanism:
        mechanism = here.system.mechanism
        for change in changes:
            mechanism = change.of(mechanism, here.configuration)
        return mechanism

    return then
