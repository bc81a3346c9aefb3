"""What messages and pages advise to install is what this project is called: its name on PyPI is not that of the import,
which belongs to somebody else there."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PLACES = ("src", "docs", "tests", "examples", "benchmarks", "tools")
# Words in brackets after the name, and what follows pip's command.
EXTRAS = re.compile(r"(?<![\w.-])(catena[\w-]*)\\?\[([a-z{][\w,{}]*)\\?\]")
INSTALLED = re.compile(r"pip install (?:-\S+ )*[\"']?(catena[\w-]*)")


def texts():
    """All text that somebody may read, by file; this file apart."""
    files = [
        f for place in PLACES for ending in ("py", "md", "js") for f in (ROOT / place).rglob(f"*.{ending}")
    ]
    for file in (*files, *ROOT.glob("*.md"), ROOT / "Makefile"):
        if file != Path(__file__):
            yield file.relative_to(ROOT), file.read_text(encoding="utf-8")


def test_nobody_is_sent_to_another_project():
    wrong, right = [], 0
    for file, text in texts():
        for name, extras in EXTRAS.findall(text):
            known = all(
                extra in PROJECT["optional-dependencies"] or "{" in extra for extra in extras.split(",")
            )
            if name == PROJECT["name"] and not known:
                wrong.append(f"{file}: {name}[{extras}] does not exist")
            elif name == "catena" and known:
                wrong.append(f"{file}: {name}[{extras}] is not this project")
        for name in INSTALLED.findall(text):
            right += name == PROJECT["name"]
            if name != PROJECT["name"]:
                wrong.append(f"{file}: pip install {name}")
    assert wrong == []
    assert right > 14


def test_the_name_and_the_version():
    import catena

    assert PROJECT["name"] == "catena-dynamics"
    assert PROJECT["version"] == catena.__version__
    assert list(PROJECT["scripts"]) == ["catena"]
