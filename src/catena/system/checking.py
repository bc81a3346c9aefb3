"""Everything that can be found wrong with a model file, loops that cannot close among it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from catena.errors import CatenaError, FormatError
from catena.formats.files import Loops, PathLike, read_and_check
from catena.formats.findings import Finding, Severity
from catena.mechanism import Mechanism
from catena.system.system import System


def check(
    path: PathLike,
    *,
    search: PathLike | Iterable[PathLike] = (),
    kinds: Iterable[type | str] = (),
    loops: Loops = None,
    mimic: bool = True,
    fix: bool = False,
    macros: bool = False,
    parameters: Mapping[str, float | str] | None = None,
) -> list[Finding]:
    """Return what is found in a model file, errors first; the arguments are those of `load`.

    Unlike `load` it does not raise for a fault in the file, which is a finding of severity "error", and it plans the
    mechanism and closes its loops to see whether that can be done.
    """
    _, findings = examine(
        path,
        search=search,
        kinds=kinds,
        loops=loops,
        mimic=mimic,
        fix=fix,
        macros=macros,
        parameters=parameters,
    )
    return findings


def examine(path: PathLike, **options: Any) -> tuple[Mechanism | None, list[Finding]]:
    """Return the mechanism of a file, None if it has none, and all findings, errors first."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else str(path)
    try:
        mechanism, findings = read_and_check(path, **options)
    except FormatError as error:
        place, message = _split(str(error), name)
        return None, [Finding(Severity.ERROR, place, "", message, "format")]
    findings += _try(mechanism, name)
    order = list(Severity)
    return mechanism, sorted(findings, key=lambda finding: order.index(finding.severity))


def _split(message: str, name: str) -> tuple[str, str]:
    """Return the place with which a message begins, and the rest of it, without the text below that shows where a
    formula is wrong."""
    message = re.sub(r"\n    .*\n    *\^$", "", message)
    place = re.match(r":\d+(:\d+)?(?=: )", message[len(name) :]) if message.startswith(name) else None
    if place is None:
        return name, message.removeprefix(f"{name}:").strip()
    return name + place.group(), message[len(name) + place.end() + 1 :].strip()


def _try(mechanism: Mechanism, name: str) -> list[Finding]:
    """Plan the mechanism and close its loops from the initial state it tells."""
    try:
        system = System(mechanism)
        if system.mechanics.constrained:
            q = system.assemble()
            system.closure(q, np.zeros(system.nv))
    except CatenaError as error:
        what = "loop" if mechanism.joints else "plan"
        return [Finding(Severity.ERROR, name, "", str(error), what)]
    return []
