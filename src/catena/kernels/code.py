"""Compiled steps: from the disk cache where they are there, traced, lowered and compiled where they are not.

A unit holds all steps that one sort of owner (a body or a loop on a joint of one kind, a force of one kind, a
multiplier, the frame, the ground) does in one algorithm with one choice of optional inputs. With `varying` its
constants, such as masses and lengths, are numbers for each state. Units know nothing of any mechanism, so a changed one
compiles nothing unless it brings a kind of joint or force that was never met.
"""

import inspect
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from catena.forces import PlacedForce
from catena.joints.contract import JointKind
from catena.kernels import cache, driver, shortcut, tracing
from catena.kernels.algorithm import Algorithm
from catena.kernels.machine_code import engine
from catena.kernels.machine_code.lowering import RECORDS, lower, prelude
from catena.kernels.machine_code.objects import compiled_object, kept_object, shared_object
from catena.kernels.machine_code.platforms import Platform
from catena.kernels.teams import crew, teamwork
from catena.kernels.traced_records import TracedStep
from catena.kernels.undisturbed import hold_in_forks
from catena.mechanism.profiles import Formula, Profile
from catena.spatial.on_symbols import on_symbols

building = threading.RLock()
"""Held while units are compiled or loaded, and by whoever builds a tape of them. A fork waits for it."""
hold_in_forks(building)
# Units that are kept although no tape may need them; a kind without parameters has some for every value it takes.
MOST_UNITS = 512
units: dict[tuple[object, ...], "CompiledUnit"] = {}
"""The units in memory, the oldest first."""
_loops: dict[int, engine.Code] = {}
# What differs between owners of one sort.
Kind = JointKind | PlacedForce | Profile | None


Touched = list[list[list[int]]]
"""For each record of a step the slots that it reads and those that it writes, as ranges."""


@dataclass(frozen=True)
class CompiledUnit:
    """Addresses of compiled steps by sweep and variant, the size of the record they work on, the slots of its
    fields, and the size of the flows. `touches` says for each address which slots of its records it reads and which it
    writes: for each record two lists of places where ranges begin and end in turn. The addresses are good as long as
    somebody holds the code."""

    steps: dict[tuple[int, int], int]
    size: int
    fields: dict[str, list[int]]
    flow_size: int
    code: engine.Code | None
    touches: dict[int, Touched]


def unit_for(
    algorithm: Algorithm, owner: str, kind: Kind, absent: frozenset[str], lanes: int, varying: bool = False
) -> CompiledUnit:
    """Return the steps that an owner does: a "body" on a joint of this kind, a "loop" that one closes, a joint of a
    coupling with a profile of this kind ("term"), a "force" of this kind placed as this one is; and without a kind the
    "ground" (with the clearing of flows), the "frame" that was asked for, the "multiplier" of any loop, and "views"
    such as those of velocity components."""
    signature = () if kind is None else kind.signature
    return _unit(algorithm, absent, (owner, *signature), kind, lanes, varying)


def loops(lanes: int) -> engine.Code:
    """Return the compiled loops for so many lanes: `run`, `run_one`, `shortcut`, `serve`, `offer_and_run`, and of
    several threads that share one state `assist`, `run_helped` and `let_go`."""
    if lanes in _loops:
        return _loops[lanes]
    with building:
        if lanes not in _loops:
            code = shared_object(loops_text(lanes, engine.native_platform()))
            names = ["run", "run_one", "shortcut", "serve", "offer_and_run", "assist", "run_helped", "let_go"]
            _loops[lanes] = engine.load_object(f"loops-{lanes}", code, names)
        return _loops[lanes]


def loops_text(lanes: int, platform: Platform) -> str:
    """Return LLVM text of the loops for so many lanes on systems of one sort."""
    return driver.text(lanes) + teamwork.text(platform) + shortcut.text() + crew.text(platform)


def _unit(
    algorithm: Algorithm,
    absent: frozenset[str],
    owner: tuple[object, ...],
    kind: Kind,
    lanes: int,
    varying: bool,
) -> CompiledUnit:
    kinds = tuple(type(k) for k in _kinds(kind))
    written = _digests(algorithm, algorithm.sources)
    name = algorithm.code or algorithm.name
    memory_key = (name, written or algorithm, absent, owner, kinds, lanes, varying)
    known = units.get(memory_key)
    if known is not None:
        return known
    with building:
        if memory_key in units:
            return units[memory_key]
        # In a function of its own: where comprehensions are part of the function around them (from Python 3.12 on), an
        # exception that a trace raises in one passes by the end of this block, and the lock would stay taken.
        unit = _new_unit(algorithm, absent, owner, kind, lanes, varying, kinds, written)
        while len(units) >= MOST_UNITS:
            del units[next(iter(units))]
        units[memory_key] = unit
        return unit


def _new_unit(
    algorithm: Algorithm,
    absent: frozenset[str],
    owner: tuple[object, ...],
    kind: Kind,
    lanes: int,
    varying: bool,
    kinds: tuple[type, ...],
    written: tuple[str, ...],
) -> CompiledUnit:
    """Return a unit of these classes of kinds, from an algorithm whose files have these digests (none: not to be kept),
    with code that is read from the disk or compiled."""
    name = algorithm.code or algorithm.name
    described = [_digests(c, (_file(c),)) for each in kinds for c in each.__mro__ if _is_ours(c)]
    entry = None
    if written and all(described) and not isinstance(kind, Formula):
        digests = sorted({*written, *(d for each in described for d in each)})
        wide = f"{lanes}, varying" if varying else str(lanes)
        entry = cache.key(name, *sorted(absent), json.dumps(owner), wide, *digests)
    code, description = _kept(entry) if entry else (None, {})
    if code is None and entry:
        with cache.only_once(entry):
            code, description = _kept(entry)
            if code is None:
                with engine.timed():
                    code, description = _compile(algorithm, absent, owner, kind, lanes, varying)
                cache.write(entry, b"", description)
    elif code is None:
        with engine.timed():
            code, description = _compile(algorithm, absent, owner, kind, lanes, varying)
    names = {(index, variant): name for index, variant, name, _ in description["steps"]}
    loaded = engine.load_object(f"{name}-{owner}", code, list(names.values())) if names else None
    steps = {key: loaded[name] for key, name in names.items()} if loaded else {}
    touches = {loaded[name]: touched for _, _, name, touched in description["steps"]} if loaded else {}
    return CompiledUnit(
        steps, description["size"], description["fields"], description["flow_size"], loaded, touches
    )


def _kept(entry: str) -> tuple[bytes | None, dict[str, Any]]:
    """Return machine code and description of an entry; no code where either is not kept."""
    found = cache.read(entry)
    if found is None:
        return None, {}
    name = found[1]["object"]
    return (kept_object(name) if name else b""), found[1]


def _compile(
    algorithm: Algorithm,
    absent: frozenset[str],
    owner: tuple[object, ...],
    kind: Kind,
    lanes: int,
    varying: bool,
) -> tuple[bytes, dict[str, Any]]:
    engine.prepare_tracing()
    with on_symbols(_described(kind)):
        traced = _traced(algorithm, absent, owner, kind)
    # A step that leaves nothing behind for a kind of joint is not called for it.
    acting = {key: s for key, s in traced.steps.items() if s.stores or owner[0] != "body"}
    names = {key: f"step_{number}" for number, key in enumerate(acting)}
    functions = [
        lower(names[key], list(step.loads.items()), list(step.stores.items()), lanes, varying)
        for key, step in acting.items()
    ]
    fields = {n: f.offsets() for n, f in traced.layout.fields.items() if all(f.slots)}
    description = {
        "steps": [[*key, name, _touched(acting[key])] for key, name in names.items()], "size": traced.layout.size,
        "fields": fields, "flow_size": traced.flows.size,
    }  # fmt: skip
    description["object"], code = (
        compiled_object(prelude(lanes) + "".join(functions)) if functions else ("", b"")
    )
    return code, description


def _touched(step: TracedStep) -> Touched:
    """Return the slots of its records that a step reads and writes, as ranges."""
    touched: Touched = []
    for record in range(RECORDS):
        slots = [sorted({s.index for s in some if s.record == record}) for some in (step.loads, step.stores)]
        touched.append([_ranges(some) for some in slots])
    return touched


def _ranges(slots: list[int]) -> list[int]:
    """Return where ranges of slots in order begin and end, in turn."""
    ends: list[int] = []
    for slot in slots:
        if ends and ends[-1] == slot:
            ends[-1] += 1
        else:
            ends += [slot, slot + 1]
    return ends


def _traced(
    algorithm: Algorithm, absent: frozenset[str], owner: tuple[object, ...], kind: Kind
) -> tracing.Traced:
    """Return what an owner does in an algorithm, in symbols."""
    traced = tracing.trace_ground(algorithm, absent)
    if isinstance(kind, PlacedForce):
        return tracing.trace_force(algorithm, kind, traced, absent)
    if owner[0] == "body":
        assert isinstance(kind, JointKind)
        return tracing.trace_kind(algorithm, kind, absent, traced)
    if owner[0] == "loop":
        assert isinstance(kind, JointKind)
        return tracing.trace_loop(algorithm, kind, traced)
    if isinstance(kind, Profile):
        return tracing.trace_term(algorithm, kind, traced)
    if owner[0] == "multiplier":
        return tracing.trace_multiplier(algorithm, traced)
    if owner[0] == "views":
        return tracing.trace_views(algorithm, traced)
    if owner[0] == "frame":
        return tracing.trace_frame(algorithm, absent, traced)
    return traced


def _described(kind: Kind) -> str:
    """Return whose formulas are called on symbols, as messages begin."""
    if isinstance(kind, PlacedForce):
        return f"force kind {type(kind.kind).__name__}"
    sort = "joint kind" if isinstance(kind, JointKind) else "profile" if kind is not None else "algorithm"
    return f"{sort} {type(kind).__name__}" if kind is not None else sort


def sources_of(algorithm: Algorithm, kind: JointKind | None) -> list[str] | None:
    """Return the files that code for a kind depends on besides the package's own; None when one of them cannot be
    read, as that of a kind typed at a prompt."""
    classes = {c for each in _kinds(kind) for c in type(each).__mro__ if _is_ours(c)}
    files = {*algorithm.sources, *(_file(c) for c in classes)}
    return sorted(files) if all(Path(f).is_file() for f in files) else None


def _kinds(kind: Any) -> Iterable[Any]:
    """Return a kind of joint or force and those that it is made of."""
    if kind is None:
        return
    if not isinstance(kind, PlacedForce):
        yield kind
    for part in vars(kind).values() if hasattr(kind, "__dict__") else ():
        if hasattr(part, "signature"):
            yield from _kinds(part)


def _is_ours(each: type) -> bool:
    return each.__module__ not in ("builtins", "abc")


def _file(each: type) -> str:
    """Return the file that a class is written in; empty when there is none, as for one typed at a prompt."""
    try:
        return inspect.getfile(each)
    except (TypeError, OSError):
        return ""


_known_digests: WeakKeyDictionary[Any, tuple[str, ...]] = WeakKeyDictionary()


def _digests(owner: Any, files: tuple[str, ...]) -> tuple[str, ...]:
    """Return the digests of the files that an algorithm or a class was made from, nothing when one of them cannot be
    read.

    They are those of the time when it was first used: a file that is edited while a class made from it lives on says
    nothing about that class, and one that is loaded again makes a new class.
    """
    if owner not in _known_digests:
        try:
            _known_digests[owner] = tuple(cache.digest_file(f) for f in files)
        except OSError:
            _known_digests[owner] = ()
    return _known_digests[owner]
