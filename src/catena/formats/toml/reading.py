"""Reading a mechanism from TOML.

Tables may stand in any order: a linkage is added first, then bodies, included files, frames and joints, which may end
on frames, then what acts on them. What the builder refuses is reported on the line of the file where it stands.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

from catena.errors import FormatError
from catena.forces.load_friction import BearingFriction, LoadFriction, SlideFriction
from catena.formats.findings import Severity
from catena.formats.source import Source
from catena.formats.toml.bodies import add_body, add_ground
from catena.formats.toml.composing import add_chain, add_included, repeated
from catena.formats.toml.forces import add_force
from catena.formats.toml.kinds import AXES, BUILT_IN, keys_of, make_kind
from catena.formats.toml.lines import Lines
from catena.formats.toml.linkages import add_linkage
from catena.formats.toml.parameters import read_parameters
from catena.formats.toml.schema import FORMAT, KEYS, MANY, ONCE, PARTS, RUN_MANY, RUN_ONCE, STUDY
from catena.formats.toml.tables import Document, FileTable
from catena.joints import JointKind
from catena.mechanism import Mechanism
from catena.mechanism.new_parts import initial_values, signal_values
from catena.mechanism.parts import Origin
from catena.mechanism.profiles import Spline
from catena.validation import shown, suggestion

DEEPEST = 100
"""How many parts a dotted key may have: models need three or four, and thousands take seconds to read."""
_PART = r"""(?>"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[A-Za-z0-9_-]+)"""
_TOO_DEEP = re.compile(rf"(?:^|[\[{{,])[ \t]*(?:{_PART}[ \t]*\.[ \t]*){{{DEEPEST}}}", re.MULTILINE)


def read(text: str, source: Source) -> Mechanism:
    """Return the mechanism that a TOML text describes."""
    top = _top(text, source, ("mechanism",))
    head = top.inner("mechanism", "mechanism")
    head.check_keys(*KEYS["mechanism"])
    head.who = f"mechanism {shown(head.text('name'))}"
    options = {"gravity": head.numbers("gravity")} if "gravity" in head else {}
    with head.at_fault():
        mechanism = Mechanism(head.text("name"), **options)
    mechanism = _add_parts(mechanism, top)
    mechanism.origin = Origin(
        text, source.name, top.document.parameters, dict(source.parameters),
        source.folder, source.search, source.kinds, source.fix, source.mimic,
    )  # fmt: skip
    return mechanism


def read_into(mechanism: Mechanism, text: str, source: Source) -> Mechanism:
    """Return a mechanism with the parts added that a TOML text describes, in whose [mechanism] only gravity may
    stand."""
    top = _top(text, source, ())
    if "mechanism" in top:
        head = top.inner("mechanism", "mechanism")
        head.check_keys((), ("gravity",))
        with head.at_fault():
            mechanism.gravity = head.numbers("gravity") if "gravity" in head else mechanism.gravity
    return _add_parts(mechanism, top)


def _top(text: str, source: Source, needed: tuple[str, ...]) -> FileTable:
    """Return the whole file as a table, checked for the tables it may have."""
    file = source.name
    _check_depth(text, file)
    try:
        content = tomllib.loads(text)
        lines = Lines(text)
    except tomllib.TOMLDecodeError as error:
        _syntax_error(error, text, file)
    except RecursionError:
        raise FormatError(f"{file}: brackets are nested too deeply: check that all are closed") from None
    except ValueError as error:
        raise FormatError(f"{file}: this is not TOML: {error}") from None
    top = FileTable(content, "", (), Document(source, lines))
    _check_top(top, needed)
    top.document.parameters.update(read_parameters(top, source.parameters))
    return top


def open_document(text: str, source: Source) -> FileTable:
    """Return a whole model file as a table, with its parameters computed, for whoever reads more than a mechanism."""
    return _top(text, source, ("mechanism",))


def part_tables(word: str, top: FileTable) -> list[FileTable]:
    """Return the tables in double brackets under a word, which messages call by their names."""
    return [_named(word, k, entry, top) for k, entry in enumerate(top.content.get(word, []))]


def is_of_run(wrench: FileTable, mechanism: Mechanism) -> bool:
    """Return whether a wrench changes during a run, with the time or with the state, and so is no part of its
    mechanism."""
    names = {"t", "q", "v", *mechanism.joints} - set(wrench.document.parameters)
    for key in ("moment", "force"):
        value = wrench.content.get(key)
        for k, entry in enumerate(value if isinstance(value, list) else ()):
            if not isinstance(entry, str):
                continue
            inside = (
                name if isinstance(name, str) else str(name[0]) for name in wrench.formula(key, k).names
            )
            if names.intersection(inside):
                return True
    return "path" in wrench


def _add_parts(mechanism: Mechanism, top: FileTable) -> Mechanism:
    """Add all parts of a file, sort after sort; those of repeated tables after those that stand for themselves."""
    parts: dict[str, list[FileTable]] = {
        word: part_tables(word, top) for word in ("body", "include", "chain", "frame", *PARTS[2:])
    }
    initial = [top.inner("initial", "initial")] if "initial" in top else []
    for repeat in top.tables("repeat") if "repeat" in top else ():
        repeat.who = "repeat"
        for word, table in repeated(repeat):
            (initial if word == "initial" else parts[word]).append(table)
    if "ground" in top:
        add_ground(mechanism, top.inner("ground", "ground"))
    if "linkage" in top:
        mechanism = add_linkage(mechanism, top.inner("linkage", "linkage"))
    for word, tables in parts.items():
        for table in tables:
            mechanism = ADD[word](mechanism, table)
    for table in initial:
        _set_initial(mechanism, table)
    if "states" in top:
        states = top.inner("states", "states")
        for name in states.content:
            _add_state(mechanism, name, states.inner(name, f"state {name!r}"))
    # The tables of a run may use parameters too, and are read by others.
    says_run = any(word in top for word in (*RUN_ONCE, *RUN_MANY, "wrench"))
    for name in () if says_run else top.document.parameters:
        if name not in top.document.used:
            line = top.document.lines.of(("parameters", name))
            message = "nothing is computed from it"
            top.document.source.note(Severity.NOTE, f"parameter {name!r}", message, line, "unused")
    return mechanism


def _check_depth(text: str, file: str) -> None:
    """Refuse keys of very many parts before they are read."""
    found = _TOO_DEEP.search(text)
    if found:
        line = text.count("\n", 0, found.end()) + 1
        raise FormatError(
            f"{file}:{line}: a key has more than {DEEPEST} parts: no table of a model is that deep"
        )


def _syntax_error(error: tomllib.TOMLDecodeError, text: str, file: str) -> NoReturn:
    """Raise the complaint of the TOML reader with its line in front."""
    message = str(error)
    place = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if place:
        line, what = int(place.group(1)), message[: place.start()] + f" in column {place.group(2)}"
    else:
        line = text.rstrip().count("\n") + 1
        what = message.removesuffix(" (at end of document)") + " where the file ends"
    raise FormatError(f"{file}:{line}: this is not TOML: {what[0].lower()}{what[1:]}") from None


def _check_top(top: FileTable, needed: tuple[str, ...]) -> None:
    """Refuse unknown tables, tables in the wrong brackets, a missing [mechanism] and files of the future."""
    version = top.content.get("format", FORMAT)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        top.fail(f"format is {shown(version)}: give format = {FORMAT}", "format")
    if version > FORMAT:
        top.fail(
            f"format is {shown(version)}, this Catena knows {FORMAT}: read it with a newer Catena", "format"
        )
    top.check_keys((), ("format", *ONCE, *MANY, *RUN_ONCE, *RUN_MANY, STUDY))
    if needed and "mechanism" not in top:
        top.fail('there is no [mechanism] table: a model begins with [mechanism] and name = "..."')
    for word in (*ONCE, *RUN_ONCE, STUDY):
        if word in top and not isinstance(top.content[word], dict):
            top.fail(f"{word!r} must be one table: write [{word}]", word)
    for word in (*MANY, *RUN_MANY):
        tables = top.content.get(word, [])
        if not isinstance(tables, list):
            top.fail(f"{word!r} must be in double brackets: write [[{word}]] above each of them", word)
        for k, table in enumerate(tables):
            if not isinstance(table, dict):
                top.fail(f"{word!r} must hold tables: write [[{word}]] above each of them", word, k)


def _named(word: str, index: int, content: dict[str, Any], top: FileTable) -> FileTable:
    """Return the table of a part, which messages call by its name as soon as it is known to have one."""
    name = content.get("name")
    who = f"{word} {shown(name)}" if isinstance(name, str) else f"{word} {index + 1}"
    return FileTable(content, who, (word, index), top.document)


def _add_joint(mechanism: Mechanism, table: FileTable) -> Mechanism:
    required, optional = KEYS["joint"]
    if "kind" not in table:
        arguments = {key for word in BUILT_IN for key in keys_of(word)}
        table.check_keys(required, (*sorted(arguments), *optional))
    word = table.text("kind")
    if ":" not in word and word not in BUILT_IN:
        table.fail(f"no kind of joint is named {shown(word)}: {suggestion(word, list(BUILT_IN))}", "kind")
    table.check_keys(required, (*keys_of(word), *optional))
    numbers = (
        "damping",
        "friction",
        "limits",
        "limit_stiffness",
        "limit_damping",
        "armature",
        "velocity_limit",
        "static_friction",
        "stribeck_velocity",
    )
    options = _options(table, *numbers)
    for side in ("in_parent", "in_child"):
        if side in table:
            options[side] = table.pose(side)
    if "actuated" in table:
        options["actuated"] = table.switches("actuated")
    if "load_friction" in table:
        options["load_friction"] = _load_friction(table)
    name, parent, child = (table.text(key) for key in ("name", "parent", "child"))
    kind = joint_kind(table, word)
    with table.at_fault():
        mechanism.add_joint(name, parent, child, kind, **options)
    table.document.source.places["joint", name] = table.line
    if "locked_at" not in table:
        return mechanism
    position = table.numbers("locked_at")
    with table.at_fault("locked_at"):
        return mechanism.lock(name, position)


def _load_friction(table: FileTable) -> LoadFriction | list[LoadFriction | None]:
    """Return the friction that comes from the load of a joint, one for all coordinates or one for each, {} where none
    does."""
    if isinstance(table.content["load_friction"], list):
        return [_one_load_friction(one) if one.content else None for one in table.tables("load_friction")]
    return _one_load_friction(table.inner("load_friction", f"{table.who}: load_friction"))


def _one_load_friction(table: FileTable) -> LoadFriction:
    word = "bearing friction" if "radius" in table else "slide friction"
    table.check_keys(*KEYS[word])
    kind = BearingFriction if "radius" in table else SlideFriction
    with table.at_fault():
        return kind(**{key: table.number_in(key, value) for key, value in table.content.items()})


def joint_kind(table: FileTable, word: str) -> JointKind:
    """Return the kind of joint that a table tells."""
    if ":" in word:
        arguments = table.inner("arguments", table.who).content if "arguments" in table else {}
        with table.at_fault("kind"):
            return make_kind(word, arguments, table.document.source.kinds)
    if word == "sdof" and "motions" not in table:
        table.fail("the key 'motions' is missing: give an array such as ['ry', 'rz', 'dx']")
    readers: dict[str, Callable[[str], Any]] = dict.fromkeys(AXES, table.axis)
    readers |= {"pitch": table.numbers, "motions": partial(_motions, table)}
    values = {key: readers[key](key) for key in keys_of(word) if key in table}
    with table.at_fault(*(values if len(values) == 1 else ())):
        return make_kind(word, values, table.document.source.kinds)


def _motions(table: FileTable, key: str) -> list[Any]:
    """Return the motions of an SDOF joint: names, and pairs of a name and a number of those that stand still."""
    motions = table.array(key)
    for k, motion in enumerate(motions):
        held = isinstance(motion, list) and len(motion) == 2 and isinstance(motion[0], str)
        if not held and not isinstance(motion, str):
            table.fail(
                f'{key} holds {shown(motion)}: give names in quotes, and pairs like ["rz", 0.5] of what stands still',
                key, k,
            )  # fmt: skip
    return [
        x if isinstance(x, str) else [x[0], table.number_in(key, x[1], k, 1)] for k, x in enumerate(motions)
    ]


def _add_frame(mechanism: Mechanism, table: FileTable) -> Mechanism:
    table.check_keys(*KEYS["frame"])
    pose = {"pose": table.pose("pose")} if "pose" in table else {}
    with table.at_fault():
        mechanism.add_frame(table.text("name"), table.text("body"), **pose)
    return mechanism


def _add_actuator(mechanism: Mechanism, table: FileTable) -> Mechanism:
    table.check_keys(*KEYS["actuator"])
    options = _options(table, "gear", "limits", "no_load_speed")
    if "components" in table:
        options["components"] = table.integers("components")
    with table.at_fault():
        mechanism.add_actuator(table.text("name"), table.text("joint"), **options)
    return mechanism


def _add_spring(mechanism: Mechanism, table: FileTable) -> Mechanism:
    if "joint" in table and "between" in table:
        table.fail("it has both 'joint' and 'between': give the one or the other", "between")
    if "joint" not in table and "between" not in table:
        table.fail('it has no place: give joint = "..." or between = ["...", "..."]')
    if "joint" in table:
        table.check_keys(*KEYS["spring at a joint"])
        options = _options(table, "stiffness", "rest", "damping")
        with table.at_fault():
            mechanism.add_spring(table.text("name"), table.text("joint"), **options)
        return mechanism
    table.check_keys(*KEYS["spring between frames"])
    ends = table.texts("between")
    if len(ends) != 2:
        table.fail(f"between names {len(ends)} frames: give two", "between")
    options = _options(table, "stiffness", "rest_length", "damping")
    with table.at_fault():
        mechanism.add_spring_between(table.text("name"), ends[0], ends[1], **options)
    return mechanism


def _add_wrench(mechanism: Mechanism, table: FileTable) -> Mechanism:
    if is_of_run(table, mechanism):
        # Its keys are checked by whoever reads the run.
        return mechanism
    table.check_keys(*KEYS["wrench"])
    options = _options(table, "moment", "force")
    if "axes" in table:
        options["axes"] = table.text("axes")
    with table.at_fault():
        mechanism.add_wrench(table.text("name"), table.text("frame"), **options)
    return mechanism


def _add_sensor(mechanism: Mechanism, table: FileTable) -> Mechanism:
    table.check_keys(*KEYS["sensor"])
    frame = table.text("frame") if "frame" in table else ""
    component: Any = table.integers("component") if "component" in table else None
    with table.at_fault():
        mechanism.add_sensor(table.text("name"), table.text("kind"), table.text("at"), frame, component)
    return mechanism


def _add_coupling(mechanism: Mechanism, table: FileTable) -> Mechanism:
    table.check_keys(*KEYS["coupling"])
    name = table.text("name")
    if "coefficients" in table:
        for key in ("joint", "of", "polynomial", "formula", "x", "y", "beyond"):
            if key in table:
                table.fail(f"it has coefficients and {key!r}: give the one or the other", key)
        inner = table.inner("coefficients", table.who)
        terms = {joint: inner.numbers(joint) for joint in inner.content}
        with table.at_fault():
            mechanism.add_coupling(name, terms, **_options(table, "offset"))
    else:
        _add_cam(mechanism, table, name)
    table.document.source.places["coupling", name] = table.line
    return mechanism


def _add_cam(mechanism: Mechanism, table: FileTable, name: str) -> None:
    """Add a coupling of two joints: by a polynomial, a formula of x, or points."""
    ways = {"polynomial": ("polynomial",), "formula": ("formula",), "points": ("x", "y")}
    ways_used = [way for way, keys in ways.items() if any(key in table for key in keys)]
    for key in ("joint", "of", *ways[ways_used[0] if ways_used else "polynomial"]):
        if key not in table:
            table.fail(
                f"the key {key!r} is missing: give coefficients, or joint and of with polynomial, formula, or x and y"
            )
    if "offset" in table:
        table.fail("an offset belongs to coefficients: put it into the polynomial or the points", "offset")
    if len(ways_used) > 1:
        table.fail(f"it has a {ways_used[0]} and {ways_used[1]}: give the one or the other", ways_used[0])
    ends = table.text("joint"), table.text("of")
    if ways_used == ["formula"]:
        formula = table.bound("formula", "x")
        with table.at_fault("formula"):
            mechanism.add_cam(name, *ends, str(formula))
        return
    with table.at_fault():
        if ways_used == ["points"]:
            beyond = table.text("beyond") if "beyond" in table else ""
            mechanism.add_cam(name, *ends, Spline(table.numbers("x"), table.numbers("y"), beyond))
        else:
            mechanism.add_polynomial_coupling(name, *ends, table.numbers("polynomial"))


def _options(table: FileTable, *keys: str) -> dict[str, Any]:
    """Return the numbers of the keys that the table has; a builder knows what the others are by default."""
    return {key: table.numbers(key) for key in keys if key in table}


def _set_initial(mechanism: Mechanism, table: FileTable) -> None:
    required, optional = KEYS["initial"]
    # Whether loops are closed around the values is a matter of the run.
    table.check_keys(required, (*optional, "assemble"))
    state: dict[str, dict[str, Any]] = {"q": {}, "v": {}}
    if not any(mechanism.initial is one for one in mechanism.states.values()):
        state = {"q": dict(mechanism.initial.q), "v": dict(mechanism.initial.v)}
    for what, name, value in _state_values(mechanism, table, "initial"):
        state[what][name] = value
    mechanism.set_initial(**state)


def _add_state(mechanism: Mechanism, name: str, table: FileTable) -> None:
    table.check_keys(*KEYS["state"])
    state: dict[str, dict[str, Any]] = {"q": {}, "v": {}, "signals": {}}
    for what, joint, value in _state_values(mechanism, table, f"state {name!r}"):
        state[what][joint] = value
    with table.at_fault():
        mechanism.add_state(name, **state)


def _state_values(mechanism: Mechanism, table: FileTable, who: str) -> Iterator[tuple[str, str, Any]]:
    """What a state says, (q, v or signals, name, value), each checked so that the fault is on the line of its joint."""
    for what in (what for what in table.content if what != "assemble"):
        joints = table.inner(what, f"{who} {what}")
        for name in joints.content:
            value = joints.numbers(name)
            with joints.at_fault(name):
                if what == "signals":
                    signal_values(mechanism, {name: value})
                else:
                    initial_values(mechanism, what, {name: value})
            yield what, name, value


ADD: dict[str, Callable[[Mechanism, FileTable], Mechanism]] = {
    "include": add_included,
    "body": add_body,
    "chain": add_chain,
    "joint": _add_joint,
    "frame": _add_frame,
    "actuator": _add_actuator,
    "spring": _add_spring,
    "wrench": _add_wrench,
    "force": add_force,
    "coupling": _add_coupling,
    "sensor": _add_sensor,
}
