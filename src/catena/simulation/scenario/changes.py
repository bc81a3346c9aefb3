"""Changes of the structure during a run, as plain frozen data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from catena.errors import StateError
from catena.joints import JointKind
from catena.mechanism import Mechanism
from catena.mechanism.validation import known
from catena.simulation.guards.common_events import at_time
from catena.simulation.guards.events import Event
from catena.simulation.scenario.frozen import frozen
from catena.validation import entries, is_finite, shown

ACTIONS = ("unlock", "detach", "attach", "lock", "free", "fix")
"""What a change may do, in the order in which it does so."""
NEEDED = ("name", "parent", "child", "kind")
OPTIONS = (
    "in_parent", "in_child", "damping", "friction", "limits", "actuated", "limit_stiffness", "limit_damping",
    "armature", "velocity_limit", "static_friction", "stribeck_velocity",
)  # fmt: skip


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
    attach: Mapping[str, Any] | Sequence[Mapping[str, Any]] = ()
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
            given = getattr(self, what)
            try:
                names = entries(given)
            except ValueError:
                names = (None,)
            if not all(isinstance(name, str) for name in names):
                raise StateError(
                    f"{self.label}: {what} is {shown(given)}; name a joint, or a list of joints."
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

    def _check_joint(self, given: Any) -> None:
        if not isinstance(given, Mapping):
            raise StateError(
                f"{self.label}: attach is {shown(given)}; give the arguments of m.attach by name."
            )
        for key in given:
            if key not in (*NEEDED, *OPTIONS):
                raise StateError(
                    f"{self.label}: attach has no argument {shown(key)}; there are {', '.join((*NEEDED, *OPTIONS))}."
                )
        for key in NEEDED:
            wanted = JointKind if key == "kind" else str
            if not isinstance(given.get(key), wanted):
                found = f"is {shown(given[key])}" if key in given else "is missing"
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

    def of(self, mechanism: Mechanism, here: Any) -> Mechanism:
        """Return a mechanism changed so, with bodies where the configuration `here` has them."""
        if self.unlock:
            mechanism = mechanism.unlock(list(self.unlock))
        if self.detach:
            mechanism = mechanism.detach(list(self.detach))
        for one in self.attach:
            given = dict(one)  # type: ignore[arg-type]
            # All of them are taken out before the rest is unpacked, which a generator here would be too late for.
            needed = [given.pop(key) for key in NEEDED]
            mechanism = mechanism.attach(*needed, at=here, **given)
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


def change_list(given: Any) -> tuple[Change, ...]:
    """Return changes from one or many."""
    try:
        listed = given if type(given) is tuple else (given,) if isinstance(given, Change) else entries(given)
    except ValueError:
        listed = (given,)
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
