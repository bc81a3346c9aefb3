"""Checks that the rooms of Catena stay what they are meant to be, by reading their sources.

* `system/` faces users and leaves numerics to others: no `np.linalg` there.
* Nothing derives from `System`: what differs between systems is data.
* No class is called like another one.
* Files that compiled code does not depend on (`BESIDE` in `sources.py`) define no steps, and no file that it does
  depend on imports from them.
* No room calls one after it through a `Protocol`.
* Kinds of joints are told apart in `joints/`, and kinds of forces in `forces/`, and nowhere else: others ask the
  contract. A format may know the few kinds that it has words of its own for (`WORDS_FOR_KINDS`).
* No folder has more than `MOST_FILES` files beside each other.

Usage: python tools/check_rooms.py [package folder]
Prints file:line and a sentence for each offence; the exit code is 1 if there is one.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# What is written in steps and sweeps is traced; these words of `catena.kernels` say so.
TRACED = {"Algorithm", "Schedule", "on_call", "to_base", "to_tip"}
# Tests for kinds that formats have words of their own for.
WORDS_FOR_KINDS = {
    "formats/mjcf/part_values.py": 5, "formats/mjcf/writing.py": 1,
    "formats/sdf/writing.py": 1, "formats/toml/kinds.py": 1, "formats/urdf/companion.py": 1,
}  # fmt: skip
# Rooms of kinds, and the classes that a kind derives from.
CONTRACTS = {"joints": ("JointKind",), "forces": ("FrameForce", "JointForce", "LineForce")}
MOST_FILES = 39


def find_offences(package: Path) -> list[str]:
    """All offences in the package folder, as lines of text."""
    trees = {
        file.relative_to(package).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
        for file in sorted(package.rglob("*.py"))
    }
    found = [
        *_linear_algebra(trees),
        *_derived(trees),
        *_protocols(trees),
        *_namesakes(trees),
        *_kinds(trees),
        *_crowds(trees),
    ]
    if {"sources.py", "kernels/cache.py"} <= trees.keys():
        found += _beside(trees)
    return found


def _linear_algebra(trees: dict[str, ast.Module]) -> Iterator[str]:
    for file, tree in trees.items():
        if not file.startswith("system/"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "linalg":
                yield f"{file}:{node.lineno}: system/ leaves linear algebra to the rooms before it."


def _derived(trees: dict[str, ast.Module]) -> Iterator[str]:
    for file, node in _classes(trees):
        if any(_name(base) == "System" for base in node.bases):
            yield f"{file}:{node.lineno}: {node.name!r} derives from System; what differs is data of a system."


def _namesakes(trees: dict[str, ast.Module]) -> Iterator[str]:
    first: dict[str, str] = {}
    for file, node in _classes(trees):
        here = f"{file}:{node.lineno}"
        if node.name in first:
            yield f"{here}: another class is called {node.name!r} at {first[node.name]}; give each a name of its own."
        first.setdefault(node.name, here)


def _protocols(trees: dict[str, ast.Module]) -> Iterator[str]:
    for file, node in _classes(trees):
        if file.startswith(("kinematics/", "dynamics/")) and any(_name(b) == "Protocol" for b in node.bases):
            yield f"{file}:{node.lineno}: {node.name!r} stands for something after this room; take what is before it."


def _kinds(trees: dict[str, ast.Module]) -> Iterator[str]:
    described = {
        node.name: room
        for file, node in _classes(trees)
        for room, contracts in CONTRACTS.items()
        if file.startswith(f"{room}/") and len(node.bases) == 1 and _name(node.bases[0]) in contracts
        if node.name not in ("Modal", *contracts)
    }
    for file, tree in trees.items():
        tests = [
            (node.lineno, kinds)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and _name(node.func) in ("isinstance", "issubclass")
            if (
                kinds := {_name(x) for x in ast.walk(node.args[1]) if isinstance(x, ast.expr)}
                & described.keys()
            )
            if not any(file.startswith(f"{described[kind]}/") for kind in kinds)
        ]
        if len(tests) > WORDS_FOR_KINDS.get(file, 0):
            for line, kinds in tests:
                yield f"{file}:{line}: this tests for {', '.join(sorted(kinds))}; let the contract answer."


def _crowds(trees: dict[str, ast.Module]) -> Iterator[str]:
    counts = Counter(file.rpartition("/")[0] for file in trees if not file.endswith("__init__.py"))
    for folder, count in counts.items():
        if count > MOST_FILES:
            yield f"{folder}:1: {count} files lie beside each other; folders with at most {MOST_FILES} read like a map."


def _beside(trees: dict[str, ast.Module]) -> Iterator[str]:
    rooms, beside = _tuple(trees["kernels/cache.py"], "ROOMS"), _tuple(trees["sources.py"], "BESIDE")
    beside += tuple(file for file in ("thresholds.py",) if file in trees)
    for place in beside:
        if not any(_is_in(file, (place,)) for file in trees):
            yield f"sources.py:1: BESIDE names {place!r}, and there is no such file or folder."
    for file, tree in trees.items():
        if not _is_in(file, rooms):
            continue
        is_beside = _is_in(file, beside)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("catena."):
                targets = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                if not is_beside and any(_is_in(_path(target), beside) for target in targets):
                    yield (
                        f"{file}:{node.lineno}: this may be traced, and imports from {node.module}, which by BESIDE in "
                        f"sources.py compiled code does not depend on."
                    )
            if is_beside and isinstance(node, ast.Call) and _name(node.func) in TRACED:
                yield f"{file}:{node.lineno}: {_name(node.func)} makes code that is traced, but BESIDE names this file."


def _path(module: str) -> str:
    """The file of a module, as far as its name tells: packages are folders."""
    return module.removeprefix("catena.").replace(".", "/") + ".py"


def _is_in(file: str, places: tuple[str, ...]) -> bool:
    return any(file == place or file.startswith(f"{place}/") or file == f"{place}.py" for place in places)


def _tuple(tree: ast.Module, name: str) -> tuple[str, ...]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(_name(target) == name for target in node.targets):
            return tuple(ast.literal_eval(node.value))
    return ()


def _classes(trees: dict[str, ast.Module]) -> Iterator[tuple[str, ast.ClassDef]]:
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield file, node


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def main(arguments: list[str]) -> int:
    """Print what is wrong and return the exit code."""
    package = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[1] / "src" / "catena"
    if not package.is_dir():
        print(f"{package} is not a folder; name the folder of the package.", file=sys.stderr)
        return 2
    offences = find_offences(package)
    for offence in offences:
        print(offence)
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
