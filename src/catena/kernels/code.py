"""Compiled steps: from the disk cache where they are there, traced, lowered and compiled where they are not.

A unit holds all steps that one sort of owner (a body or a loop on a joint of one kind, a multiplier, the
frame, the ground) does in one algorithm with one choice of optional inputs. Units know nothing of any
mechanism, so a changed one compiles nothing unless it brings a joint kind that was never met.
"""

import inspect
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catena.joints.contract import JointKind
from catena.kernels import cache, crew, driver, engine, shortcut, tracing
from catena.kernels.algorithm import Algorithm
from catena.kernels.lowering import lower, prelude

_lock = threading.RLock()
_units: dict[tuple[object, ...], "Unit"] = {}
_loops: dict[int, dict[str, int]] = {}


@dataclass(frozen=True)
class Unit:
    """Addresses of compiled steps by sweep and variant, the size of the record they work on, the slots of its
    fields, and the size of the flows."""

    steps: dict[tuple[int, int], int]
    size: int
    fields: dict[str, list[int]]
    flow_size: int


def body_unit(algorithm: Algorithm, kind: JointKind, absent: frozenset[str], lanes: int) -> Unit:
    """The steps done by a body on a joint of this kind."""
    return _unit(algorithm, absent, ("body", *kind.signature), kind, lanes)


def frame_unit(algorithm: Algorithm, absent: frozenset[str], lanes: int) -> Unit:
    """The steps done by the frame that was asked for."""
    return _unit(algorithm, absent, ("frame",), None, lanes)


def loop_unit(algorithm: Algorithm, kind: JointKind, absent: frozenset[str], lanes: int) -> Unit:
    """The steps done by a loop that a joint of this kind closes."""
    return _unit(algorithm, absent, ("loop", *kind.signature), kind, lanes)


def multiplier_unit(algorithm: Algorithm, absent: frozenset[str], lanes: int) -> Unit:
    """The steps done by the multiplier of any loop."""
    return _unit(algorithm, absent, ("multiplier",), None, lanes)


def ground_unit(algorithm: Algorithm, absent: frozenset[str], lanes: int) -> Unit:
    """The ground function, the clearing of flows, and whatever else the ground does."""
    return _unit(algorithm, absent, ("ground",), None, lanes)


def loops(lanes: int) -> dict[str, int]:
    """The addresses of the compiled loops for so many lanes: `run`, `run_one`, `shortcut`, `serve` and
    `offer_and_run`."""
    with _lock:
        if lanes not in _loops:
            entry = cache.key("loops", str(lanes))
            found = cache.read(entry)
            code = (
                found[0]
                if found
                else engine.compile_object(driver.text(lanes) + shortcut.text() + crew.text())
            )
            if not found:
                cache.write(entry, code, {})
            names = ["run", "run_one", "shortcut", "serve", "offer_and_run"]
            _loops[lanes] = engine.load_object(f"loops-{lanes}", code, names)
        return _loops[lanes]


def _unit(
    algorithm: Algorithm,
    absent: frozenset[str],
    owner: tuple[object, ...],
    kind: JointKind | None,
    lanes: int,
) -> Unit:
    memory_key = (algorithm.name, algorithm.sources, absent, owner, type(kind), lanes)
    if memory_key in _units:
        return _units[memory_key]
    with _lock:
        if memory_key in _units:
            return _units[memory_key]
        files = sources_of(algorithm, kind)
        entry = None
        if files is not None:
            digests = [cache.digest_file(f) for f in files]
            entry = cache.key(algorithm.name, *sorted(absent), json.dumps(owner), str(lanes), *digests)
        found = cache.read(entry) if entry else None
        if found is None:
            code, description = _compile(algorithm, absent, owner, kind, lanes)
            if entry:
                cache.write(entry, code, description)
        else:
            code, description = found
        names = {(index, variant): name for index, variant, name in description["steps"]}
        addresses = (
            engine.load_object(f"{algorithm.name}-{owner}", code, list(names.values())) if names else {}
        )
        steps = {key: addresses[name] for key, name in names.items()}
        _units[memory_key] = Unit(steps, description["size"], description["fields"], description["flow_size"])
        return _units[memory_key]


def _compile(
    algorithm: Algorithm,
    absent: frozenset[str],
    owner: tuple[object, ...],
    kind: JointKind | None,
    lanes: int,
) -> tuple[bytes, dict[str, Any]]:
    traced = tracing.trace_ground(algorithm, absent)
    if owner[0] == "body":
        assert kind is not None
        traced = tracing.trace_kind(algorithm, kind, absent, traced)
    elif owner[0] == "loop":
        assert kind is not None
        traced = tracing.trace_loop(algorithm, kind, traced)
    elif owner[0] == "multiplier":
        traced = tracing.trace_multiplier(algorithm, traced)
    elif owner[0] == "frame":
        traced = tracing.trace_frame(algorithm, absent, traced)
    names = {key: f"step_{number}" for number, key in enumerate(traced.steps)}
    functions = [
        lower(names[key], list(step.loads.items()), list(step.stores.items()), lanes)
        for key, step in traced.steps.items()
    ]
    fields = {n: f.offsets() for n, f in traced.layout.fields.items() if all(f.slots)}
    description = {
        "steps": [[*key, name] for key, name in names.items()], "size": traced.layout.size, "fields": fields,
        "flow_size": traced.flows.size,
    }  # fmt: skip
    return (engine.compile_object(prelude(lanes) + "".join(functions)) if functions else b""), description


def sources_of(algorithm: Algorithm, kind: JointKind | None) -> list[str] | None:
    """The files that a unit depends on besides the package's own; None when one of them cannot be read (a
    joint kind typed at a prompt)."""
    try:
        files = set(algorithm.sources)
        for owner in _classes(kind):
            files.add(inspect.getfile(owner))
        return (
            sorted(f for f in files if Path(f).is_file()) if all(Path(f).is_file() for f in files) else None
        )
    except (TypeError, OSError):
        return None


def _classes(kind: JointKind | None) -> Iterable[type]:
    while kind is not None:
        yield from (c for c in type(kind).__mro__ if c.__module__ not in ("builtins", "abc"))
        kind = getattr(kind, "kind", None)
