"""Checks that tests, benchmarks and examples use the public names of Catena only.

Private are the names with one leading underscore that anything below `src/catena` defines: functions, classes,
variables and attributes. Files are read with `ast`, so nothing is executed. Refused are reading or writing such an
attribute of anything but `self` and `cls`, importing such a name from Catena, and naming it in a text for `getattr`,
`setattr`, `hasattr`, `delattr` or a monkeypatch. Private names of other packages are not looked at. What a test needs
gets a public name, or the test looks at behaviour instead.

Usage: python tools/check_privates.py [root of the repository]
Prints file:line and a sentence for each offence; the exit code is 1 if there is one.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path("src", "catena")
USERS = ("tests", "benchmarks", "examples")
# Private names of other packages that Catena happens to have as well: of MuJoCo's objects, SymPy's time, and what
# IPython
# asks of objects that show themselves.
FOREIGN = {"_address", "_t", "_repr_html_"}
BY_TEXT = ("getattr", "setattr", "hasattr", "delattr")


@dataclass(frozen=True)
class Offence:
    """One use of a private name of Catena."""

    file: Path
    line: int
    name: str

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line}: {self.name!r} is private to Catena; give what is needed a public name, or look "
            "at behaviour."
        )


def find_offences(root: Path) -> list[Offence]:
    """Find all uses of private names below the root of a repository, by file and line."""
    private = {name for file in (root / PACKAGE).rglob("*.py") for name in _defined(_tree(file))} - FOREIGN
    offences = {
        Offence(file, line, name)
        for folder in USERS
        for file in (root / folder).rglob("*.py")
        for line, name in _uses(_tree(file), private)
    }
    return sorted(offences, key=lambda offence: (offence.file, offence.line, offence.name))


def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _defined(tree: ast.Module) -> Iterator[str]:
    """Find the private names that a file defines."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                pass
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                pass
            case _:
                continue
        if _is_private(name):
            yield name


def _uses(tree: ast.Module, private: set[str]) -> Iterator[tuple[int, str]]:
    """Find the lines in which a file uses private names, and these names."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                found = []
            case ast.Attribute(attr=name):
                found = [name]
            case ast.ImportFrom(module=str(module), names=aliases) if (
                module.partition(".")[0] == PACKAGE.name
            ):
                found = [*module.split("."), *(alias.name for alias in aliases)]
            case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function)) if function in BY_TEXT:
                texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
                found = [part for text in texts if isinstance(text, str) for part in text.split(".")]
            case _:
                continue
        for name in found:
            if name in private:
                yield node.lineno, name


def main(arguments: list[str]) -> int:
    """Print what is wrong and return the exit code."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[1]
    if not (root / PACKAGE).is_dir():
        print(f"{root / PACKAGE} is not a folder; name the root of the repository.", file=sys.stderr)
        return 2
    offences = find_offences(root)
    for offence in offences:
        print(offence)
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
