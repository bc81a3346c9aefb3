"""Reading the tables of a run. What is refused is reported with the line of the file where it stands, formulas with the
column too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from catena.dynamics.contacts.tip_contact import Support, TipContact
from catena.errors import FormatError, FormulaError
from catena.formats.toml.kinds import BUILT_IN, keys_of
from catena.formats.toml.reading import is_of_run, joint_kind, part_tables
from catena.formats.toml.tables import FileTable
from catena.formulas import ParsedFormula
from catena.mechanism import GROUND, MODES, Mechanism
from catena.simulation.acting.external import ExternalWrench
from catena.simulation.contacts import Contact, HeightField, Stop
from catena.simulation.guards.events import Event
from catena.simulation.keeping import Keep
from catena.simulation.references import PosePath
from catena.simulation.scenario.changes import Change
from catena.simulation.scenario.described import Described
from catena.simulation.scenario.file.words import (
    ALWAYS,
    ATTACHED,
    CONTROLLERS,
    DIRECTIONS,
    KEYS,
    NEEDED,
    NO_LIMITS,
    PATHS,
    REMEDIES,
)
from catena.simulation.scenario.formulas import PLACE, POSITIONS, TIME, VELOCITIES, check_names
from catena.simulation.scenario.plots import Plot
from catena.simulation.scenario.scenario import check_run
from catena.simulation.stepping.drift import NAMES
from catena.validation import entries, shown, suggestion

OF_STATE = (TIME, POSITIONS, VELOCITIES)


class RunTables:
    """The tables of a run in a file `top`, whose mechanism is known: `arguments` gives those of a `Scenario`."""

    def __init__(self, top: FileTable, mechanism: Mechanism) -> None:
        self.top, self.mechanism = top, mechanism
        self.parameters = top.document.parameters
        made = [name for change in self._tables("change") for name in _attached_names(change)]
        self.joints = [*mechanism.joints, *made]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the scenario that the tables say."""
        found: dict[str, Any] = {"parameters": dict(self.parameters)}
        found["drives"] = self._drives()
        controllers = [self._controller(table) for table in self._tables("controller")]
        found["control"] = controllers or None
        found["wrenches"] = self._wrenches()
        found["contacts"] = [
            *(self._contact(table) for table in self._tables("contact")),
            *(self._stop(table) for table in self._tables("stop")),
            *(self._tip_contact(table) for table in self._tables("tip_contact")),
        ]
        found["events"] = [self._event(table) for table in self._tables("event")]
        found["changes"] = [self._change(table) for table in self._tables("change")]
        found["plots"] = [self._plot(table) for table in self._tables("plot")]
        if "view" in self.top:
            found["view"] = self._view(self.top.inner("view", "view"))
        if "run" in self.top:
            found |= self._run(self.top.inner("run", "run"), found["parameters"])
        if "initial" in self.top:
            initial = self.top.inner("initial", "initial")
            found["assemble"] = initial.switch("assemble") if "assemble" in initial else True
        return found

    def _tables(self, word: str) -> list[FileTable]:
        return part_tables(word, self.top)

    # What acts.

    def _drives(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for table in self._tables("drive"):
            table.check_keys(*KEYS["drive"])
            joint = self._joint(table, "joint")
            table.who = f"drive of joint {shown(joint)}"
            if ("position" in table) == ("path" in table):
                table.fail('give either position = "0.3 * sin(2 * t)" or path = { ... }')
            if joint in found:
                table.fail("the joint has two drives: leave one of them out", "joint")
            found[joint] = (
                self._path(table, "path") if "path" in table else self._followed(table, "position", (TIME,))
            )
        return found

    def _controller(self, table: FileTable) -> Described:
        if "kind" not in table:
            table.fail(f"the key 'kind' is missing: give one of {', '.join(CONTROLLERS)}")
        word = table.text("kind")
        if word not in CONTROLLERS:
            table.fail(f"no controller is named {shown(word)}: {suggestion(word, list(CONTROLLERS))}", "kind")
        table.who = f"controller {word}"
        make, sorts = CONTROLLERS[word]
        table.check_keys(("kind", *NEEDED.get(word, ())), tuple(sorts))
        arguments = {key: self._argument(table, key, sort) for key, sort in sorts.items() if key in table}
        with table.at_fault():
            return Described(make, **arguments)

    def _argument(self, table: FileTable, key: str, sort: str) -> Any:
        if sort == "followed":
            return self._by_joint(table, key, self._followed_or_path)
        if sort == "formulas":
            return self._by_joint(table, key, lambda inner, name: self._followed(inner, name, OF_STATE))
        if sort == "path":
            return (
                self._path(table, key)
                if isinstance(table.content[key], dict)
                else self._followed(table, key, (TIME,))
            )
        if sort == "gains":
            if isinstance(table.content[key], dict):
                return self._by_joint(table, key, lambda inner, name: inner.numbers(name))
            return table.numbers(key)
        if sort == "limits":
            if isinstance(table.content[key], dict):
                return self._by_joint(table, key, lambda inner, name: inner.numbers(name))
            words = {"actuators": "actuators", NO_LIMITS: None}
            return self._word_or_number(table, key, words)
        if sort == "rate":
            return self._word_or_number(table, key, {ALWAYS: None})
        if sort == "text" and key == "frame":
            return self._frame(table, key)
        readers: dict[str, Callable[[str], Any]] = {
            "text": table.text,
            "texts": table.texts,
            "switch": table.switch,
        }
        return readers.get(sort, table.numbers)(key)

    def _word_or_number(self, table: FileTable, key: str, words: Mapping[str, Any]) -> Any:
        value = table.content[key]
        return words[value] if isinstance(value, str) and value in words else table.numbers(key)

    def _by_joint(self, table: FileTable, key: str, read: Any) -> dict[str, Any]:
        inner = table.inner(key, f"{table.who}: {key}")
        for joint in inner.content:
            if joint not in self.joints:
                inner.fail(f"no joint is named {shown(joint)}: {suggestion(joint, self.joints)}", joint)
        return {joint: read(inner, joint) for joint in inner.content}

    def _wrenches(self) -> dict[str, ExternalWrench]:
        found: dict[str, ExternalWrench] = {}
        for table in self._tables("wrench"):
            if not is_of_run(table, self.mechanism):
                continue
            table.check_keys(("frame",), ("name", "moment", "force", "axes", "path"))
            frame = self._frame(table, "frame")
            axes = self._frame(table, "axes") if "axes" in table else GROUND
            if "path" in table:
                for key in ("moment", "force"):
                    if key in table:
                        table.fail(f"it has a path and {key!r}: give the one or the other", key)
                function: Any = self._path(table, "path")
            else:
                function = [*self._three(table, "moment"), *self._three(table, "force")]
            if frame in found:
                table.fail(f"two wrenches act on {frame!r} during the run: add them up in one", "frame")
            with table.at_fault():
                found[frame] = ExternalWrench(function, None if axes == frame else axes)
        return found

    def _three(self, table: FileTable, key: str) -> list[Any]:
        if key not in table:
            return [0.0] * 3
        values = table.array(key)
        if len(values) != 3:
            table.fail(f"{key} has {len(values)} entries: give three", key)
        return [self._entry(table, key, entry, OF_STATE, k) for k, entry in enumerate(values)]

    # What happens.

    def _contact(self, table: FileTable) -> Contact:
        table.check_keys(*KEYS["contact"])
        arguments: dict[str, Any] = {"frame": self._frame(table, "frame")}
        if "on" in table:
            arguments["on"] = self._frame(table, "on")
        arguments |= _numbers(table, "friction", "restitution", "radius", "on_radius", "rim")
        arguments |= {key: table.text(key) for key in ("name", "restitution_law") if key in table}
        if "floor" in table:
            floor = table.inner("floor", f"{table.who}: floor")
            floor.check_keys(*KEYS["floor"])
            with floor.at_fault():
                arguments["floor"] = HeightField(**_numbers(floor, *KEYS["floor"][0]))
        with table.at_fault():
            return Contact(**arguments)

    def _tip_contact(self, table: FileTable) -> TipContact:
        table.check_keys(*KEYS["tip_contact"])
        words = table.content["constrained"]
        named = isinstance(words, str) or (
            isinstance(words, list) and all(isinstance(word, str) for word in words)
        )
        arguments: dict[str, Any] = {"frame": self._frame(table, "frame")}
        arguments["constrained"] = entries(words) if named else table.numbers("constrained")
        arguments |= _numbers(table, "velocity", "acceleration", "since", "force", "friction")
        arguments |= {key: table.text(key) for key in ("name", "axes") if key in table}
        if "support" in table and "path" in table:
            table.fail("give either support, a pose, or path, which a support follows", "path")
        with table.at_fault():
            if "support" in table:
                arguments["support"] = Support(table.pose("support"))
            if "path" in table:
                arguments["support"] = Support.along(self._path(table, "path"))
            return TipContact(**arguments)

    def _stop(self, table: FileTable) -> Stop:
        table.check_keys(*KEYS["stop"])
        arguments = {"joint": self._joint(table, "joint"), **_numbers(table, "lower", "upper", "restitution")}
        if "index" in table:
            arguments["index"] = table.integers("index")
        with table.at_fault():
            return Stop(**arguments)

    def _event(self, table: FileTable) -> Event:
        table.check_keys(*KEYS["event"])
        if ("when" in table) == ("at" in table):
            table.fail('give either when = "A - 0.5", whose zeros are looked for, or at, a time')
        key = "when" if "when" in table else "at"
        formula = self._checked(table, key, (*OF_STATE, PLACE) if key == "when" else ())
        text = formula.text if key == "when" else f"t - ({formula.text})"
        arguments: dict[str, Any] = {"name": table.text("name") if "name" in table else ""}
        if key == "at":
            arguments["direction"] = 1
            if "name" not in table:
                arguments["name"] = f"t = {formula.text} s"
        if "direction" in table:
            word = table.text("direction")
            if word not in DIRECTIONS:
                table.fail(f"direction is {shown(word)}: give one of {', '.join(DIRECTIONS)}", "direction")
            arguments["direction"] = DIRECTIONS[word]
        if "terminal" in table:
            arguments["terminal"] = table.switch("terminal")
        with table.at_fault():
            return Event(text, **arguments)

    def _change(self, table: FileTable) -> Change:
        table.check_keys(*KEYS["change"])
        arguments: dict[str, Any] = {}
        if "at" in table:
            arguments["at"] = table.numbers("at")
        if "event" in table:
            arguments["event"] = table.text("event")
        for key in ("lock", "unlock", "detach"):
            if key in table:
                arguments[key] = (
                    [table.text(key)] if isinstance(table.content[key], str) else table.texts(key)
                )
                for name in arguments[key]:
                    if name not in self._lockable and not any(letter in name for letter in "*?["):
                        table.fail(
                            f"no joint is named {shown(name)}: {suggestion(name, self._lockable)}", key
                        )
        for key in ("free", "fix"):
            if key in table:
                arguments[key] = table.switch(key)
        if "attach" in table:
            single = isinstance(table.content["attach"], dict)
            inner = [table.inner("attach", f"{table.who}: attach")] if single else table.tables("attach")
            arguments["attach"] = [self._attached(one) for one in inner]
        with table.at_fault():
            return Change(**arguments)

    def _attached(self, table: FileTable) -> dict[str, Any]:
        word = table.text("kind") if "kind" in table else ""
        if word and ":" not in word and word not in BUILT_IN:
            table.fail(f"no kind of joint is named {shown(word)}: {suggestion(word, list(BUILT_IN))}", "kind")
        table.check_keys(("name", "parent", "child", "kind"), (*(keys_of(word) if word else ()), *ATTACHED))
        found: dict[str, Any] = {"name": table.text("name"), "kind": joint_kind(table, word)}
        found |= {side: self._frame(table, side) for side in ("parent", "child")}
        found |= {side: table.pose(side) for side in ("in_parent", "in_child") if side in table}
        if "actuated" in table:
            found["actuated"] = table.switches("actuated")
        rest = (key for key in ATTACHED if key not in ("in_parent", "in_child", "actuated"))
        return found | _numbers(table, *rest)

    # How it is computed, and drawn.

    def _run(self, table: FileTable, parameters: dict[str, Any]) -> dict[str, Any]:
        table.check_keys(*KEYS["run"])
        found = {}
        for key in ("duration", "start", "step", "rtol", "atol"):
            if key in table:
                found[key] = table.numbers(key)
        for key in ("integrator", "coordinates"):
            if key in table:
                found[key] = table.text(key)
        if "independent" in table:
            found["independent"] = table.texts("independent")
        if "samples" in table:
            whole = isinstance(table.content["samples"], int)
            found["samples"] = table.integers("samples") if whole else table.numbers("samples")
        if "keep" in table:
            found["keep"] = self._keep(table)
            with table.at_fault():
                Keep.of(found["keep"])
        if "drift" in table:
            found["drift"] = self._drift(table)
        if "near" in table:
            found["near"] = self._by_joint(table, "near", lambda inner, name: inner.numbers(name))
        if "vary" in table:
            inner = table.inner("vary", "run vary")
            for name in inner.content:
                if "." not in name:
                    inner.fail(f'{shown(name)} is no number of a part: write one such as "pole.mass"', name)
                parameters[name] = inner.numbers(name)
        if "plan" in table:
            found["plan"] = self._plan(table.inner("plan", "run plan"))
        with table.at_fault():
            check_run(found)
        return found

    def _keep(self, table: FileTable) -> Any:
        if not isinstance(table.content["keep"], dict):
            return table.texts("keep")
        inner = table.inner("keep", "run keep")
        return {name: inner.text(name) for name in inner.content}

    def _drift(self, table: FileTable) -> Any:
        if not isinstance(table.content["drift"], dict):
            return table.text("drift")
        inner = table.inner("drift", "run drift")
        word = inner.text("kind") if "kind" in inner else ""
        if word not in REMEDIES:
            inner.fail(
                f"kind is {shown(word)}: give one of {', '.join(REMEDIES)}", *(["kind"] if word else [])
            )
        inner.check_keys(("kind",), REMEDIES[word])
        arguments = {
            key: inner.integers(key) if key == "every" else inner.numbers(key)
            for key in REMEDIES[word]
            if key in inner
        }
        with inner.at_fault():
            return NAMES[word](**arguments)

    def _plan(self, table: FileTable) -> dict[str, Any]:
        table.check_keys(*KEYS["plan"])
        found: dict[str, Any] = {key: table.texts(key) for key in ("cut", "keep") if key in table}
        if "root" in table:
            found["root"] = table.text("root")
        return found | _numbers(table, "accuracy")

    def _plot(self, table: FileTable) -> Plot:
        table.check_keys(*KEYS["plot"])
        arguments: dict[str, Any] = {"file": table.text("file")} if "file" in table else {}
        if "show" in table:
            arguments["show"] = (
                [table.text("show")] if isinstance(table.content["show"], str) else table.texts("show")
            )
        with table.at_fault():
            return Plot(**arguments)

    def _view(self, table: FileTable) -> dict[str, Any]:
        table.check_keys(*KEYS["view"])
        found: dict[str, Any] = {"forces": table.switch("forces")} if "forces" in table else {}
        if "traces" in table:
            found["traces"] = table.texts("traces")
            for k, name in enumerate(found["traces"]):
                if name not in self._frames:
                    table.fail(
                        f"no body or frame is named {shown(name)}: {suggestion(name, self._frames)}",
                        "traces",
                        k,
                    )
        return found

    # Names and formulas.

    @property
    def _lockable(self) -> list[str]:
        bodies = self.mechanism.bodies.items()
        return [*self.joints, *(f"{name}{MODES}" for name, body in bodies if body.flexible is not None)]

    @property
    def _frames(self) -> list[str]:
        return [*self.mechanism.bodies, *self.mechanism.frames]

    def _joint(self, table: FileTable, key: str) -> str:
        name = table.text(key)
        if name not in self.joints:
            table.fail(f"no joint is named {shown(name)}: {suggestion(name, self.joints)}", key)
        return name

    def _frame(self, table: FileTable, key: str) -> str:
        name = table.text(key)
        if name not in self._frames:
            table.fail(f"no body or frame is named {shown(name)}: {suggestion(name, self._frames)}", key)
        return name

    def _followed_or_path(self, table: FileTable, key: str) -> Any:
        return (
            self._path(table, key)
            if isinstance(table.content[key], dict)
            else self._followed(table, key, (TIME,))
        )

    def _followed(self, table: FileTable, key: str, words: tuple[str, ...]) -> Any:
        """A number or formula, or an array of these."""
        value = table.content[key]
        if not isinstance(value, list):
            return self._entry(table, key, value, words)
        return [self._entry(table, key, entry, words, k) for k, entry in enumerate(value)]

    def _entry(self, table: FileTable, key: str, value: Any, words: tuple[str, ...], *place: int) -> Any:
        """A number, or a formula as it is written, whose names are known."""
        if not isinstance(value, str):
            return table.number_in(key, value, *place)
        return self._checked(table, key, words, *place).text

    def _checked(self, table: FileTable, key: str, words: tuple[str, ...], *place: int) -> ParsedFormula:
        formula = table.formula(key, *place)
        try:
            check_names(formula, self.parameters, self.joints if POSITIONS in words else (), words, table.who)
        except FormulaError as error:
            _place(table, error)
        self.top.document.used.update(name for name in formula.names if isinstance(name, str))
        return formula

    def _path(self, table: FileTable, key: str) -> Any:
        inner = table.inner(key, f"{table.who}: {key}")
        if "kind" not in inner:
            inner.check_keys(("position",), ("rotation",))
            parts = {name: self._part_of_pose(inner, name) for name in inner.content}
            with inner.at_fault():
                return PosePath(**parts)
        word = inner.text("kind")
        if word not in PATHS:
            inner.fail(f"no path is named {shown(word)}: {suggestion(word, list(PATHS))}", "kind")
        make, (needed, other) = PATHS[word]
        inner.check_keys(("kind", *needed), other)
        arguments: dict[str, Any] = {}
        for name in (*needed, *other):
            if name in inner:
                texts, switches = name in ("ends", "law"), name == "periodic"
                reader = inner.text if texts else inner.switch if switches else inner.numbers
                arguments[name] = inner.integers(name) if name == "degree" else reader(name)
        with inner.at_fault():
            made = make(**arguments)
            # A path that nobody can follow is one of the file's faults, not of the run's.
            made.at(0.0)
            return made

    def _part_of_pose(self, table: FileTable, key: str) -> Any:
        return self._path(table, key) if isinstance(table.content[key], dict) else table.numbers(key)


def _numbers(table: FileTable, *keys: str) -> dict[str, Any]:
    return {key: table.numbers(key) for key in keys if key in table}


def _attached_names(change: FileTable) -> list[str]:
    value = change.content.get("attach", [])
    tables = value if isinstance(value, list) else [value]
    names = (one.get("name") for one in tables if isinstance(one, dict))
    return [name for name in names if isinstance(name, str)]


def _place(table: FileTable, error: FormulaError) -> NoReturn:
    """Raise the fault of a formula, whose words begin with its place, as one of a table."""
    where, _, rest = str(error).partition(": ")
    raise FormatError(f"{where}: {table.who}: {rest}") from None
