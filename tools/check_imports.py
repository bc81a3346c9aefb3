"""Checks that the folders of Catena import only upwards in reading order.

Every import statement below `src/catena` is read with `ast`, so nothing is executed. A file may import from
its own room (a folder, or a module that stands for one) and from the rooms before it in ORDER. Imports under
`if TYPE_CHECKING:` are exempt, because they do not exist at run time; `catena/__init__.py` is exempt, because
it is the public surface over all rooms. Imports inside functions count like all others: being lazy is about
time, not about direction.

Usage: python tools/check_imports.py [package folder]
Prints file:line and a sentence for each offence; the exit code is 1 if there is one.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ORDER = (
    "sources",
    "errors",
    "validation",
    "thresholds",
    "descent",
    "hooks",
    "formulas",
    "spatial",
    "joints",
    "forces",
    "bodies",
    "mechanism",
    "formats",
    "structure",
    "kernels",
    "kinematics",
    "dynamics",
    "equations",
    "questions",
    "system",
    "changing",
    "flying",
    "planning",
    "simulation",
    "bridges",
    "view",
    "studies",
    "studio",
    "cli",
    "__main__",
)


@dataclass(frozen=True)
class Offence:
    """One import that goes against the order, or a room that has no place in it."""

    file: Path
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.sentence}"


def find_offences(package: Path) -> list[Offence]:
    """All offences in the package folder, by file and line."""
    offences: list[Offence] = []
    for file in sorted(package.rglob("*.py")):
        inside = file.relative_to(package)
        if inside == Path("__init__.py"):
            continue
        room = inside.parts[0].removesuffix(".py")
        if room not in ORDER:
            sentence = f"{room!r} has no place in the reading order; give it one in tools/check_imports.py."
            offences.append(Offence(file, 1, sentence))
            continue
        # The names that a relative import starts from: the package that holds the module.
        package_of_file = (package.name, *inside.parts[:-1])
        tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
        for statement in _imports_at_run_time(tree):
            for target in _targets(statement, package_of_file, package):
                sentence = _judge(room, target)
                if sentence:
                    offences.append(Offence(file, statement.lineno, sentence))
    return offences


def _judge(room: str, target: str) -> str:
    """The complaint about an import of `target` in `room`, or an empty string."""
    if target == "":
        return f"{room!r} imports the public surface; import from the room that defines the name."
    if target not in ORDER:
        return f"{room!r} imports {target!r}, which is no room; import from the room that defines it."
    if ORDER.index(target) > ORDER.index(room):
        return f"{room!r} imports {target!r}, which comes after it; a room imports only what comes before it."
    return ""


def _imports_at_run_time(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements below a node, without those that only the type checker sees."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and _is_type_checking(child.test):
            for statement in child.orelse:
                yield from _imports_at_run_time(ast.Module([statement], []))
        else:
            yield from _imports_at_run_time(child)


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _targets(
    statement: ast.Import | ast.ImportFrom, package_of_file: tuple[str, ...], package: Path
) -> Iterator[str]:
    """The rooms a statement imports from; "" is the package itself, other packages are left out."""
    if isinstance(statement, ast.Import):
        modules = [tuple(alias.name.split(".")) for alias in statement.names]
    else:
        start = package_of_file[: len(package_of_file) - statement.level + 1] if statement.level else ()
        module = start + tuple(statement.module.split(".") if statement.module else ())
        if module == (package.name,):
            # `from catena import x` names a room when x is one, and the public surface otherwise.
            names = [alias.name for alias in statement.names]
            modules = [(*module, name) if _is_room(package, name) else module for name in names]
        else:
            modules = [module]
    for module in modules:
        if module and module[0] == package.name:
            yield module[1] if len(module) > 1 else ""


def _is_room(package: Path, name: str) -> bool:
    return name in ORDER or (package / name).is_dir() or (package / f"{name}.py").is_file()


def main(arguments: list[str]) -> int:
    """Prints what is wrong and returns the exit code."""
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
