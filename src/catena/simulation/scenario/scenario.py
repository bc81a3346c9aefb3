"""A run as data: what moves, from where, what acts on it, what happens on the way, and how it is computed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.contacts.tip_contact import TipContact
from catena.errors import StateError
from catena.mechanism import MODES, InitialState, Mechanism
from catena.mechanism.validation import known
from catena.simulation.acting.external import as_wrench
from catena.simulation.arguments import event_list, initial_state, sample_times, time_span
from catena.simulation.contacts import Contact, Stop, tips_apart
from catena.simulation.guards.events import Event, distinct
from catena.simulation.keeping import Choice, Keep
from catena.simulation.problem import (
    Applied,
    Control,
    ForcesByFormula,
    check_coordinates,
    check_settings,
)
from catena.simulation.references.protocol import Prescribed, is_reference
from catena.simulation.scenario.changes import Change, change_list, check_changes
from catena.simulation.scenario.contents import contents, digest, same
from catena.simulation.scenario.described import Described, together
from catena.simulation.scenario.formulas import formula_control, is_text, joints_in
from catena.simulation.scenario.frozen import FrozenMapping, frozen
from catena.simulation.scenario.plots import WORDS, Plot, ViewOptions, plot_list
from catena.simulation.scenario.resolving import motions, named_numbers
from catena.simulation.stepping.drift import Remedy
from catena.system import System
from catena.validation import entries, real_array, shown

if TYPE_CHECKING:
    from catena.mechanism.parts import Origin
    from catena.simulation.following import Cancellation
    from catena.simulation.results.trajectory import Trajectory
    from catena.simulation.scenario.stream import Stream


class PlanOptions(TypedDict, total=False):
    """The arguments of `Mechanism.system` that a scenario may say."""

    root: str
    cut: Iterable[str]
    keep: Iterable[str]
    accuracy: float


def _nothing() -> Any:
    return FrozenMapping({})


@dataclass(frozen=True, eq=False)
class Scenario:
    """A run as data, which `ct.simulate(scenario)` and `scenario.run()` simulate.

    `mechanism` is copied, so that later edits change nothing here. `initial` are positions of joints, around which the
    loops are closed, or q (..., nq) as it is; `velocity` likewise; without them the mechanism's own initial state is
    taken. `drives` are joints whose motion is prescribed, `control` what forces actuators give, `wrenches` act on
    frames or bodies, `contacts` are `ct.Contact`, `ct.Stop` and `ct.TipContact`, `events` are looked for, and
    `changes` change the structure at a time or at an event. The other arguments are those of `ct.simulate`; `plan`
    those of `Mechanism.system`.

    What is a function of time or state may be a formula: drives={"A": "0.3 * sin(w * t)"}, control={"A": "-k * A"},
    ct.Event("A - 0.5"). Names in it are t, joints, q.joint and v.joint, and the named numbers in `parameters`; names
    with a point there, such as "pole.mass", are numbers of the mechanism, as `System.vary` takes them. Controllers are
    told by `ct.Described(ct.PID, {"A": 0.3}, kp=20.0)`, several in a list; a function of Python or a controller works
    too, but cannot be written to a file and has no digest. `plots` and `view` say what is drawn of the run.

    A scenario does not change: `with_` makes changed copies. Two are equal if they have the same contents, and then
    have the same `digest`, in any process.
    """

    mechanism: Mechanism
    initial: ArrayLike | Mapping[str, ArrayLike] | None = None
    velocity: ArrayLike | Mapping[str, ArrayLike] | None = None
    drives: Mapping[str, Prescribed | ArrayLike | str] = field(default_factory=_nothing)
    control: Control | Described | ForcesByFormula | Sequence[Described] | None = None
    wrenches: Mapping[str, Applied | Sequence[str | float]] = field(default_factory=_nothing)
    contacts: Sequence[Contact | Stop | TipContact] | Contact | Stop | TipContact = ()
    events: Sequence[Event | Control] | Event | Control = ()
    changes: Sequence[Change] | Change = ()
    parameters: Mapping[str, ArrayLike] = field(default_factory=_nothing)
    duration: float = 1.0
    start: float = 0.0
    integrator: str = "dopri5"
    step: float | None = None
    rtol: float = 1e-11
    atol: float = 1e-13
    drift: str | Remedy = "projection"
    samples: int | ArrayLike | None = None
    near: Mapping[str, ArrayLike] = field(default_factory=_nothing)
    plan: PlanOptions = field(default_factory=_nothing)
    plots: Sequence[Plot] | Plot = ()
    view: ViewOptions = field(default_factory=_nothing)
    keep: Choice | None = None
    coordinates: str = "joint"
    independent: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        planned = self.mechanism if isinstance(self.mechanism, System) else None
        if planned is not None:
            plan = planned.plan
            own = {
                "root": plan.root,
                "cut": plan.cut,
                "keep": plan.keep,
                "accuracy": planned.mechanics.accuracy,
            }
            planned.mechanics.evaluator.check_current()
            self._set("mechanism", planned.mechanism)
            self._set("plan", {name: value for name, value in own.items() if value} | dict(self.plan))
        if not isinstance(self.mechanism, Mechanism):
            raise StateError(f"Scenario: the mechanism is {shown(self.mechanism)}; give a ct.Mechanism.")
        self._set("mechanism", self.mechanism.copy())
        for name in ("drives", "wrenches", "parameters", "near", "plan", "view"):
            mapping = getattr(self, name)
            if not isinstance(mapping, Mapping) or not all(isinstance(key, str) for key in mapping):
                raise StateError(f"Scenario: {name} is {shown(mapping)}; give a mapping from names.")
            self._set(name, FrozenMapping(mapping))
        self._check_start()
        self._check_acting()
        self._check_happening()
        self._own_start()
        check_run({one.name: getattr(self, one.name) for one in fields(self)})
        self._check_settings()
        if planned is not None and not self._to_keep(planned):
            # Controllers that were made for this plan go on working.
            self.__dict__["system"] = planned

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_start(self) -> None:
        own = self.mechanism.initial
        for name, default in (("initial", own.q), ("velocity", own.v)):
            start = getattr(self, name)
            start = default if start is None else start
            rows = start if isinstance(start, Mapping) else {"": start}
            checked = {}
            for joint, value in rows.items():
                who = f"Scenario: {name}" + (f" of joint {joint!r}" if joint else "")
                if joint or isinstance(start, Mapping):
                    known("joint", joint, [*self.mechanism.joints, *self._modes], f"Scenario: {name}")
                checked[joint] = _numbers(value, who) if isinstance(start, Mapping) else _finite(value, who)
            self._set(name, FrozenMapping(checked) if isinstance(start, Mapping) else frozen(checked[""]))
        for joint, value in self.near.items():
            known("joint", joint, self._joints, "Scenario: near")
            _numbers(value, f"Scenario: near of joint {joint!r}")

    def _own_start(self) -> None:
        """Let the mechanism begin where the scenario does, so that there is one way only to say where that is."""
        values = {"q": self.initial, "v": self.velocity}
        own_start = {
            what: start
            for what, start in values.items()
            if isinstance(start, Mapping) and not _is_batch(start)
        }
        if not same(self.mechanism.initial, InitialState(**own_start)):  # type: ignore[arg-type]
            self.mechanism.set_initial(**own_start)
        self.__dict__["_revision"] = self.mechanism.revision

    def _check_acting(self) -> None:
        for joint, moves in self.drives.items():
            known("joint", joint, self._joints, "Scenario: drives")
            if not (is_text(moves) or callable(moves) or is_reference(moves)):
                _numbers(moves, f"Scenario: the drive of joint {joint!r}")
        frames = [*self.mechanism.bodies, *self.mechanism.frames]
        for frame in self.wrenches:
            known("frame", frame, frames, "Scenario: wrenches")
        wrenches = {frame: as_wrench(wrench) for frame, wrench in self.wrenches.items()}
        self._set("wrenches", FrozenMapping(wrenches))
        _, varied = named_numbers(self.parameters)
        for name, value in (varied or {}).items():
            _numbers(value, f"Scenario: parameters {name!r}")
        control = self.control
        if isinstance(control, list | tuple):
            for part in control:
                if not isinstance(part, Described):
                    raise StateError(
                        f"Scenario: control holds {shown(part)}; a list holds ct.Described(...), which are added."
                    )
            control = control[0] if len(control) == 1 else Described(together, *control) if control else None
        if isinstance(control, Mapping):
            for joint in control:
                known("joint", joint, self._joints, "Scenario: control")
            control = Described(formula_control, control)
        elif control is not None and not isinstance(control, Described) and not callable(control):
            raise StateError(
                f"Scenario: control is {shown(control)}; give ct.Described(...), formulas by joint, a function of "
                "(t, q, v), or a controller."
            )
        self._set("control", control)

    def _check_happening(self) -> None:
        made, tips = tips_apart(self.contacts)
        self._set("contacts", (*made, *tips))
        frames = [*self.mechanism.bodies, *self.mechanism.frames]
        for contact in self.contacts:  # type: ignore[union-attr]
            if isinstance(contact, Stop):
                known("joint", contact.joint, self._joints, "Scenario: Stop")
            else:
                others = (contact.on,) if isinstance(contact, Contact) else ()
                for frame in (contact.frame, *others):
                    known("body or frame", frame, frames, f"Scenario: Contact {contact.label!r}")
        self._set("events", tuple(distinct(event_list(self.events))))
        listed = change_list(self.changes)
        self._set("changes", listed)
        check_changes(listed, self.mechanism, [event.label for event in self.events])  # type: ignore[union-attr]

    def _check_settings(self) -> None:
        if self.independent is not None:
            self._set("independent", entries(self.independent))
        if self.contacts and self.coordinates != "joint":
            raise StateError(
                f"Scenario: coordinates={self.coordinates!r} are for runs without contacts; with these leave them out."
            )
        Keep.of(self.keep)
        if isinstance(self.keep, Mapping):
            self._set("keep", FrozenMapping(self.keep))
        elif self.keep is not None:
            self._set("keep", entries(self.keep))
        self._set("duration", float(self.duration))
        self._set("start", float(self.start))
        for name in ("step", "rtol", "atol"):
            if getattr(self, name) is not None:
                self._set(name, float(getattr(self, name)))
        if self.samples is not None:
            whole = isinstance(self.samples, int | np.integer)
            self._set("samples", int(self.samples) if whole else frozen(np.array(real_array(self.samples))))  # type: ignore[arg-type]
        for name in self.plan:
            known("argument", name, PlanOptions.__annotations__, "Scenario: plan")
        for name in self.view:
            known("option", name, ViewOptions.__annotations__, "Scenario: view")
        plots = plot_list(self.plots)
        for plot in plots:
            for word in plot.show:
                known("word or name", word, [*WORDS, *self._joints, *self._frames], "Scenario: Plot")
        self._set("plots", plots)

    @property
    def _modes(self) -> list[str]:
        return [f"{name}{MODES}" for name, body in self.mechanism.bodies.items() if body.flexible is not None]

    @property
    def _frames(self) -> list[str]:
        return [*self.mechanism.bodies, *self.mechanism.frames]

    @property
    def _joints(self) -> list[str]:
        """The joints of the mechanism, and those that changes of the structure make."""
        made = [name for change in change_list(self.changes) for name in change.attached]
        return [*self.mechanism.joints, *self._modes, *made]

    @cached_property
    def system(self) -> System:
        """The plan that the run begins with. Joints that are driven or have stops, and those that formulas look at,
        carry coordinates in it."""
        self._require_unchanged()
        options: dict[str, Any] = {**self.plan}
        system = self.mechanism.system(**options)
        names = self._to_keep(system)
        if names:
            options["keep"] = [*options.get("keep", ()), *names]
            options["cut"] = [name for name in options.get("cut", ()) if name not in names]
            system = self.mechanism.system(**options)
        return system

    def _to_keep(self, system: System) -> list[str]:
        """The joints that close loops in a plan, although something in the run needs their coordinates."""
        stops = [contact.joint for contact in self.contacts if isinstance(contact, Stop)]  # type: ignore[union-attr]
        wanted = [
            *self.drives,
            *stops,
            *joints_in(self.control, self.mechanism),
            *joints_in(self.wrenches, self.mechanism),
        ]
        return [name for name in dict.fromkeys(wanted) if name in system.loops]

    def _require_unchanged(self) -> None:
        if self.mechanism.revision != self.__dict__["_revision"]:
            raise StateError(
                "The mechanism of a scenario was edited, and a scenario does not change: edit a copy, "
                "m = scenario.mechanism.copy(), and take scenario.with_(mechanism=m)."
            )

    def _start(self) -> tuple[Any, Any]:
        """The positions and velocities to begin with, as `ct.simulate` takes them: driven joints are where their
        motions begin, and the loops are closed around them."""
        initial, velocity = self.initial, self.velocity
        if not self.drives or not isinstance(initial, Mapping):
            return initial, velocity
        named, _ = named_numbers(self.parameters)
        begin = {
            joint: motion_at(moves, float(self.start))
            for joint, moves in motions(self.drives, named).items()
            if joint in self.mechanism.joints
        }
        q = {**initial, **{joint: x[0] for joint, x in begin.items()}}
        if not isinstance(velocity, Mapping):
            return q, velocity
        return q, {**velocity, **{joint: x[1] for joint, x in begin.items()}}

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """The state q (..., nq), v (..., nv) that the run begins with, loops closed."""
        return initial_state(self.system, *self._start())

    def with_(self, **changed: Any) -> Scenario:
        """Return a scenario in which some arguments are others."""
        names = [one.name for one in fields(self)]
        for name in changed:
            known("argument", name, names, "Scenario.with_")
        self._require_unchanged()
        origin, parameters = self.origin, changed.get("parameters")
        if origin is not None and isinstance(parameters, Mapping):
            own = {name: x for name, x in parameters.items() if name in origin.parameters}
            if any(x != origin.parameters[name] for name, x in own.items()):
                # Lengths and gains of the file follow from its parameters.
                return self._read_with(own, changed)
        made = replace(self, **changed)
        if origin is not None and "mechanism" not in changed:
            made.__dict__["_origin"] = origin, {**self._changed, **changed}, self.__dict__["_origin"][2]
        return made

    def from_file(self, origin: Origin, settings: Iterable[str]) -> Scenario:
        """Return this scenario, as one that was read from a file, whose [run] says some settings."""
        made = replace(self)
        made.__dict__["_origin"] = origin, {}, tuple(settings)
        return made

    @property
    def origin(self) -> Origin | None:
        """The text of the file that it was read from, None if it comes from no file."""
        found: Origin | None = self.__dict__.get("_origin", (None, {}, ()))[0]
        return found

    def says(self, name: str) -> bool:
        """Return whether the file that it was read from, or `with_` since then, says a setting of the run."""
        _, changed, settings = self.__dict__.get("_origin", (None, {}, ()))
        return name in settings or name in changed

    @property
    def _changed(self) -> dict[str, Any]:
        """What was changed since it was read."""
        found: dict[str, Any] = self.__dict__.get("_origin", (None, {}, ()))[1]
        return found

    def _read_with(self, parameters: Mapping[str, Any], changed: Mapping[str, Any]) -> Scenario:
        """Return the scenario of the same file with other values of its parameters, and with what was changed since."""
        from catena.simulation.scenario.file.loading import read_with

        assert self.origin is not None
        again = read_with(self.origin, parameters)
        others = {**self._changed, **changed}
        return again.with_(**{**others, "parameters": {**again.parameters, **changed["parameters"]}})

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        parameters: Mapping[str, float | str] | None = None,
        search: Iterable[str | os.PathLike[str]] = (),
        kinds: Iterable[type | str] = (),
    ) -> Scenario:
        """Read a scenario from a .toml file: a model file with tables such as [[controller]] and [run]. `parameters`
        gives parameters of the file other values; `search` and `kinds` are those of `ct.load`."""
        from catena.simulation.scenario.file import load_scenario

        return load_scenario(path, parameters, search, kinds)

    def save(self, path: str | os.PathLike[str], functions: str = "refuse") -> None:
        """Write it to a .toml file, from which `Scenario.load` reads it back to the last digit. A file that exists
        keeps its comments and order where it says the same. A function of Python cannot be written: it is refused by
        name, or left out with functions="leave out"."""
        from catena.simulation.scenario.file import save_scenario

        save_scenario(self, path, functions)

    def run(
        self,
        progress: bool | None = None,
        check: bool = True,
        observe: Callable[[Trajectory], Any] | None = None,
        every: float = 0.05,
        cancel: Cancellation | None = None,
        on_error: str = "raise",
    ) -> Trajectory:
        """Simulate it; the arguments are those of `ct.simulate`."""
        from catena.simulation.simulate import simulate

        self._require_unchanged()
        found = simulate(
            self.system, *self._start(), **self._arguments(), progress=progress, check=check, observe=observe,
            every=every, cancel=cancel, on_error=on_error,
        )  # fmt: skip
        assert not isinstance(found, list)
        return found

    def stream(self, every: float = 0.05, check: bool = True) -> Stream:
        """Simulate it, and give what is new every so many seconds on the clock: `for part in scenario.stream():`. The
        samples of the parts, one behind the other, are those of the whole run to the last bit, and that is `stream.run`
        once all were given. Whoever leaves the loop early cancels the run."""
        from catena.simulation.scenario.stream import Stream

        return Stream(self, every, check)

    def _arguments(self) -> dict[str, Any]:
        """The keyword arguments of `simulate` that say all but the state it begins with."""
        return {
            "duration": self.duration, "control": self.control, "motion": self.drives, "forces": self.wrenches,
            "integrator": self.integrator, "step": self.step, "rtol": self.rtol, "atol": self.atol, "drift": self.drift,
            "events": self.events, "samples": self.samples, "contacts": self.contacts, "changes": self.changes,
            "parameters": self.parameters or None, "near": self.near or None, "start": self.start,
            "keep": self.keep, "coordinates": self.coordinates, "independent": self.independent,
        }  # fmt: skip

    @property
    def digest(self) -> str:
        """A text of 64 letters: the same for scenarios with the same contents, in any process. Functions of Python have
        none, and a StateError names what has to be said otherwise. Classes of one's own count by their names."""
        self._require_unchanged()
        return digest(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and same(self, other)

    def __hash__(self) -> int:
        return hash(contents(self))

    def __getstate__(self) -> dict[str, Any]:
        kept = {one.name: getattr(self, one.name) for one in fields(self)}
        # A plan that controllers were made for goes along, so that it stays theirs.
        bound = callable(self.control) and "system" in self.__dict__
        more = {name: self.__dict__[name] for name in ("_revision", "_origin") if name in self.__dict__}
        return kept | more | ({"system": self.system} if bound else {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        changed = [one.name for one in fields(self)[1:] if not _is_default(one, getattr(self, one.name))]
        changes = f", with {', '.join(changed)}" if changed else ""
        return f"Scenario({self.mechanism.name!r}, {self.duration:g} s of {self.integrator}{changes})"

    def __str__(self) -> str:
        from catena.simulation.scenario.words import report

        return report(self)


def check_run(settings: Mapping[str, Any]) -> None:
    """Refuse settings of a run, by name, that no run can have; those that are not given have their defaults."""
    wanted: dict[str, Any] = {**{one.name: one.default for one in fields(Scenario)}, **settings}
    check_settings(*(wanted[name] for name in ("integrator", "step", "rtol", "atol", "drift")))
    check_coordinates(*(wanted[name] for name in ("coordinates", "independent", "integrator", "drift")))
    sample_times(wanted["samples"], time_span(wanted["start"], wanted["duration"]), False)


def motion_at(moves: Any, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return position and velocity of a prescribed motion at a time, as rows."""
    found = moves.at(t) if is_reference(moves) else moves(t)
    return np.atleast_1d(real_array(found[0])), np.atleast_1d(real_array(found[1]))


def _is_default(one: Any, value: Any) -> bool:
    default = one.default_factory() if one.default_factory is not MISSING else one.default
    return same(value, default)


def _numbers(value: Any, who: str) -> Any:
    """Return finite numbers as an array that nobody writes to, one number as a float."""
    found = _finite(value, who)
    return float(found.reshape(())) if found.shape in ((), (1,)) else frozen(found)


def _finite(value: Any, who: str) -> np.ndarray:
    """Return finite numbers as an array."""
    try:
        found = real_array(value)
    except ValueError as error:
        raise StateError(f"{who} is {shown(value)} ({error}); give numbers.") from error
    if not np.isfinite(found).all():
        raise StateError(f"{who} is {shown(value)}; every entry must be a finite number.")
    return found


def _is_batch(by_joint: Mapping[str, Any]) -> bool:
    return any(np.ndim(value) > 1 for value in by_joint.values())
