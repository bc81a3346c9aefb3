"""The table of thresholds in docs/notation.md names constants that exist, with the values they have."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

PAGE = Path(__file__).resolve().parents[2] / "docs" / "notation.md"


def modules(named):
    """The modules of paths such as `dynamics/loops/formulations/hybrid`; a package stands for all in it."""
    folder = ""
    for path in re.findall(r"`([^`]+)`", named):
        # A name without a folder is in that of the one before.
        folder = path.rpartition("/")[0] if "/" in path else folder
        where = f"catena/{folder}/{path.rpartition('/')[2]}".replace("//", "/").replace("/", ".")
        module = import_module(where)
        yield module
        for found in iter_modules(getattr(module, "__path__", ())):
            yield import_module(f"{module.__name__}.{found.name}")


def test_the_table_of_thresholds_is_true():
    rows = [line.split("|")[1:3] for line in PAGE.read_text().splitlines() if re.match(r"\| `[A-Z]", line)]
    assert len(rows) > 10
    for constants, where in rows:
        known = list(modules(where))
        for name, values in re.findall(r"`([A-Z_]+)`([^`]*)", constants):
            have = {getattr(module, name) for module in known if hasattr(module, name)}
            assert have, (name, where)
            told = {float(x) for x in re.findall(r"[0-9.]+(?:e-?[0-9]+)?", values)}
            assert told <= have, (name, told, have)
