"""The file robot.yaml of Extended URDF, which lies beside a URDF tree and says what the tree cannot.

`closed_loop` has pairs of links that coincide, `type` whether by their origins (3d) or wholly (6d), `joint_name` and
`joint_type` what some joints of the tree really are, and `name_mot` which joints have motors. The text is only taken
apart into lists of words: nothing that YAML can construct is constructed.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from catena.errors import CatenaError, FormatError
from catena.formats.closing import loop_name
from catena.formats.findings import Severity
from catena.formats.source import Source
from catena.joints import Fixed, JointKind, Spherical, Universal
from catena.mechanism import Mechanism

LARGEST = 256 * 2**10
"""How many bytes such a file may have: robots need a few thousand, and YAML is slow to read."""
PAIRS, TYPES, MOTORS, JOINTS, KINDS = "closed_loop", "type", "name_mot", "joint_name", "joint_type"
CLOSED_BY: dict[str, type[JointKind]] = {"3d": Spherical, "6d": Fixed}
_OURS = re.compile(rf"^[\s{{]*[\"']?(?:{PAIRS}|{MOTORS}|{KINDS})[\"']?\s*:", re.MULTILINE)
_UNIVERSAL = re.compile(r"UJOINT_([XYZ])(?!\1)([XYZ])")


def is_companion(text: str) -> bool:
    """Return whether a YAML text looks like such a file: many robots have others of their name beside them."""
    return _OURS.search(text) is not None


def read_into(mechanism: Mechanism, text: str, source: Source) -> Mechanism:
    """Return a mechanism with the loops, kinds of joints and motors that a companion file tells."""
    content = _Content(text, source)
    parts = []
    names, kinds = content.words(JOINTS), content.words(KINDS)
    content.require_as_many(JOINTS, names, KINDS, kinds)
    for (name, line), (word, _) in zip(names, kinds):
        with_kind = {"kind": _kind(word, f"{source.name}:{line}", name)}
        mechanism = content.refused(line, mechanism.with_joint, name, **with_kind)
    if names:
        parts.append(f"other kinds of {len(names)} joints")
    pairs, types = content.pairs(PAIRS), content.words(TYPES)
    if types:
        content.require_as_many(PAIRS, pairs, TYPES, types)
    for k, ((first, second), line) in enumerate(pairs):
        word = types[k][0] if types else "6d"
        if word.lower() not in CLOSED_BY:
            content.fail(line, f"a loop is of type {word!r}: give '3d' or '6d'")
        ends = (_link(mechanism, first), _link(mechanism, second))
        joint, kind = loop_name(first, second), CLOSED_BY[word.lower()]()
        content.refused(line, mechanism.add_joint, joint, *ends, kind, actuated=False)
        source.places["joint", joint] = line
    if pairs:
        parts.append(f"{len(pairs)} loops")
    if content.has(MOTORS):
        mechanism = _with_motors(mechanism, content, source)
        parts.append(f"{len(content.words(MOTORS))} motors")
    message = f"it was read with the model: {', '.join(parts) or 'nothing'}"
    source.note(Severity.NOTE, "", message, what="loop")
    return mechanism


def _link(mechanism: Mechanism, name: str) -> str:
    """Return the body of a link; the link called world is ground, which no file calls so."""
    return (
        name if name in mechanism.bodies or name in mechanism.frames else {"world": "ground"}.get(name, name)
    )


def _kind(word: str, where: str, joint: str) -> JointKind:
    """Return the kind of joint of a word such as SPHERICAL, FIXED or UJOINT_XY."""
    upper = word.upper()
    if upper in ("SPHERICAL", "FIXED"):
        return Spherical() if upper == "SPHERICAL" else Fixed()
    axes = _UNIVERSAL.fullmatch(upper)
    if axes is not None:
        return Universal(axes.group(1).lower(), axes.group(2).lower())
    raise FormatError(
        f"{where}: joint {joint!r}: no type of joint is named {word!r}: there are SPHERICAL, FIXED, and UJOINT_XY "
        "with these and other axes"
    )


def _with_motors(mechanism: Mechanism, content: _Content, source: Source) -> Mechanism:
    """Return the mechanism in which the joints with motors are driven and no others."""
    motors = set()
    for name, line in content.words(MOTORS):
        motors.add(name)
        if name not in mechanism.joints:
            message = f"{MOTORS} has {name!r}, which is no joint: it is left out"
            source.note(Severity.WARNING, "", message, line, "motor")
    idle = [name for name, a in mechanism.actuators.items() if a.joint not in motors]
    if idle:
        mechanism = mechanism.without_actuator(idle)
    for name, joint in mechanism.joints.items():
        if joint.actuated != (name in motors) and joint.kind.nv:
            mechanism = mechanism.with_joint(name, actuated=name in motors)
    return mechanism


class _Content:
    """The lists of a companion file with the lines that they stand on."""

    def __init__(self, text: str, source: Source) -> None:
        self._source = source
        try:
            import yaml
        except ImportError:
            raise FormatError(
                f"{source.name}: the loops of the model are in a YAML file, which needs the package PyYAML: pip "
                "install 'catena-dynamics[yaml]', or load the tree alone, load(path, loops=False)"
            ) from None
        if len(text) > LARGEST:
            raise FormatError(
                f"{source.name}: it has {len(text)} characters: such a file has at most {LARGEST}"
            )
        try:
            # Nodes only: no tag is looked at, and nothing is made of them but words.
            top = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = "" if mark is None else f":{mark.line + 1}"
            raise FormatError(
                f"{source.name}{line}: this is not YAML: {getattr(error, 'problem', None) or error}"
            ) from None
        except RecursionError:
            raise FormatError(f"{source.name}: brackets are nested too deeply: this is no model") from None
        if not isinstance(top, yaml.MappingNode):
            raise FormatError(f"{source.name}: it has no keys: give {PAIRS}: [[..., ...]] and others")
        self._nodes: dict[str, Any] = {}
        for key, node in top.value:
            word = key.value if isinstance(key, yaml.ScalarNode) else ""
            if word in (PAIRS, TYPES, MOTORS, JOINTS, KINDS):
                self._nodes[word] = node
            else:
                message = f"the key {word!r} is not read"
                source.note(Severity.NOTE, "", message, key.start_mark.line + 1, "unread")

    def has(self, key: str) -> bool:
        """Return whether a key is there."""
        return key in self._nodes

    def words(self, key: str) -> list[tuple[str, int]]:
        """Return the words of a list with their lines, none where the key is missing."""
        return [(self._word(key, node), node.start_mark.line + 1) for node in self._entries(key)]

    def pairs(self, key: str) -> list[tuple[tuple[str, str], int]]:
        """Return the pairs of words of a list with their lines."""
        found = []
        for node in self._entries(key):
            line = node.start_mark.line + 1
            if node.id != "sequence" or len(node.value) != 2:
                self.fail(line, f"{key} must hold pairs of links: write [[first, second], ...]")
            first, second = (self._word(key, one) for one in node.value)
            found.append(((first, second), line))
        return found

    def require_as_many(self, key: str, these: list[Any], other: str, those: list[Any]) -> None:
        """Raise unless two lists have the same length."""
        if len(these) != len(those):
            node = self._nodes[other if those else key]
            message = f"{key} has {len(these)} entries and {other} has {len(those)}: give as many"
            self.fail(node.start_mark.line + 1, message)

    def refused(self, line: int, edit: Any, *arguments: Any, **options: Any) -> Any:
        """Return what an edit returns; what it refuses is a fault on this line."""
        try:
            return edit(*arguments, **options)
        except CatenaError as error:
            raise FormatError(f"{self._source.name}:{line}: {error}") from error

    def fail(self, line: int, message: str) -> NoReturn:
        """Raise a fault on this line."""
        raise FormatError(f"{self._source.name}:{line}: {message}")

    def _entries(self, key: str) -> list[Any]:
        node = self._nodes.get(key)
        if node is None or (node.id == "scalar" and node.value in ("", "null", "~")):
            return []
        if node.id != "sequence":
            self.fail(node.start_mark.line + 1, f"{key} must be a list: write {key}: [...]")
        return list(node.value)

    def _word(self, key: str, node: Any) -> str:
        if node.id != "scalar" or not node.value.strip():
            self.fail(node.start_mark.line + 1, f"{key} must hold names")
        return str(node.value).strip()
