"""A run of any number of segments and states as one dataset that is read back to the last digit.

A run of one segment is the dataset of that segment. One of several has the arrays and columns that other programs read,
and behind them each segment by itself, its variables and dimensions with a prefix; a batch whose states moved one by
one has each state so, and in it its segments.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from catena.errors import CatenaError, FormatError, StateError
from catena.formats.kinds import Kinds
from catena.simulation.contacts.contact import Contact
from catena.simulation.results.batch import StateByState
from catena.simulation.results.joining import Before
from catena.simulation.results.recording.dataset import (
    require_xarray,
    segment_dataset,
    segment_from,
    to_dataset,
)
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory
from catena.simulation.results.transition import Transition
from catena.system import System

SEGMENTS, STATES = "catena_segments", "catena_states"
"""The attributes with the number of segments, and with the shape of a batch whose states moved one by one."""


def whole_dataset(run: Trajectory) -> Any:
    """Return a run as a dataset that has all of it."""
    if isinstance(run, StateByState):
        return _of_states(run)
    if len(run.segments) == 1 and not run.transitions and not run.note and run.given_before is None:
        return _with_failed(segment_dataset(run.segments[0]), run)
    found = to_dataset(run)
    found = _with_parts(found, "segment", [segment_dataset(part) for part in run.segments])
    found.attrs |= {SEGMENTS: len(run.segments), "note": run.note}
    # An attribute of an HDF5 file holds no more than 64 KiB, which changes may exceed.
    found["transitions"] = ((), json.dumps([_told(change) for change in run.transitions]))
    if run.given_before is not None:
        found["before"] = ((), json.dumps([_as_data(before) for before in run.given_before]))
    return _with_failed(found, run)


def whole_run(dataset: Any, file: str, system: System | None, kinds: Kinds) -> Trajectory:
    """Return the run that a dataset holds; `file` is what messages call it. One of several segments or states has all
    its systems in it."""
    several = [name for name in (SEGMENTS, STATES) if name in dataset.attrs]
    if several and system is not None:
        raise FormatError(f"{file}: the run has several structures, all in the file: leave the system out")
    try:
        if STATES in dataset.attrs:
            return _states_from(dataset, file, kinds)
        if SEGMENTS in dataset.attrs:
            return _segments_from(dataset, file, kinds)
        return Trajectory([segment_from(dataset, file, system, kinds)], failed=_failed(dataset))
    except CatenaError:
        raise
    except Exception as error:
        # A file may lack anything and hold anything.
        raise FormatError(
            f"{file}: the run is damaged ({type(error).__name__}: {error}): save it again, or read another file"
        ) from error


def _of_states(run: StateByState) -> Any:
    """Return a batch whose states moved one by one as a dataset."""
    try:
        found = to_dataset(run)
    except StateError:
        # Its states have times of their own, so that there are no common columns.
        found = require_xarray().Dataset()
    found = _with_parts(found, "state", [whole_dataset(one) for one in run.states])
    found.attrs[STATES] = json.dumps(list(run.batch))
    return _with_failed(found, run)


def _states_from(dataset: Any, file: str, kinds: Kinds) -> Trajectory:
    batch = tuple(int(n) for n in json.loads(dataset.attrs[STATES]))
    parts = _parts_of(dataset, "state", int(np.prod(batch)))
    states = [whole_run(own, f"{file} (state {k})", None, kinds) for k, own in enumerate(parts)]
    return StateByState(states, batch, _failed(dataset))


def _segments_from(dataset: Any, file: str, kinds: Kinds) -> Trajectory:
    parts = [
        segment_from(own, f"{file} (segment {k})", None, kinds)
        for k, own in enumerate(_parts_of(dataset, "segment", int(dataset.attrs[SEGMENTS])))
    ]
    parts = _with_contacts_of_all(dataset, parts)
    transitions = (
        str(dataset["transitions"].values) if "transitions" in dataset else dataset.attrs["transitions"]
    )
    changes = [
        Transition(
            **{**about, "impulse": {name: np.array(x) for name, x in about["impulse"].items()},
               "told": tuple(about["told"])}
        )
        for about in json.loads(transitions)
    ]  # fmt: skip
    before = (
        [_from_data(about) for about in json.loads(str(dataset["before"].values))]
        if "before" in dataset
        else None
    )
    return Trajectory(parts, changes, str(dataset.attrs["note"]), _failed(dataset), before)


def _with_contacts_of_all(dataset: Any, parts: list[Segment]) -> list[Segment]:
    """Return segments with their contacts, where an older file has these over all segments at once."""
    if "contacts" not in dataset.attrs:
        return parts
    contacts = tuple(Contact(**about) for about in json.loads(dataset.attrs["contacts"]))
    labels = json.loads(dataset.attrs.get("contact_forces", "[]")) or [x.label for x in contacts]
    forces = {
        label: np.array(dataset[name].values, dtype=np.float64)
        for label in labels
        if (name := f"contact_force.{label.replace('/', '_')}") in dataset
    }
    return _split(parts, contacts, forces)


def _split(
    parts: Sequence[Segment], contacts: tuple[Contact, ...], forces: dict[str, np.ndarray]
) -> list[Segment]:
    """Return segments, each with its part of the contact forces (samples, 3) over all of them."""
    found, first = [], 0
    for part in parts:
        here = slice(first, first + len(part.t))
        own = {label: f[here] for label, f in forces.items()}
        found.append(replace(part, contacts=contacts, contact_forces=own))
        first = here.stop
    return found


def _with_parts(found: Any, word: str, parts: Sequence[Any]) -> Any:
    """Return a dataset with others behind it, their names and dimensions with a prefix of the word and a number."""
    abouts = []
    for k, own in enumerate(parts):
        names = {str(name): f"{word}{k}.{name}" for name in {*own.variables, *own.dims}}
        found = found.merge(own.rename(names))
        abouts.append(own.attrs)
    found[f"{word}s"] = ((), json.dumps(abouts))
    return found


def _parts_of(dataset: Any, word: str, count: int) -> list[Any]:
    """Return the datasets behind a dataset."""
    together = f"{word}s" in dataset
    abouts = json.loads(str(dataset[f"{word}s"].values)) if together else None
    found = []
    for k in range(count):
        prefix = f"{word}{k}."
        own = dataset[[name for name in dataset.variables if str(name).startswith(prefix)]]
        names = {
            str(name): str(name).removeprefix(prefix)
            for name in {*own.variables, *own.dims}
            if str(name).startswith(prefix)
        }
        own = own.rename(names)
        own.attrs = json.loads(dataset.attrs[f"{word}{k}"]) if abouts is None else abouts[k]
        found.append(own)
    return found


def _with_failed(found: Any, run: Trajectory) -> Any:
    if run.failed:
        found["failed"] = ((), json.dumps([[list(index), words] for index, words in run.failed.items()]))
    return found


def _failed(dataset: Any) -> dict[tuple[int, ...], str]:
    failed = json.loads(str(dataset["failed"].values)) if "failed" in dataset else []
    return {tuple(int(k) for k in index): str(words) for index, words in failed}


def _told(change: Transition) -> dict[str, Any]:
    """Return what a file keeps of a transition."""
    impulse = {name: np.asarray(x).tolist() for name, x in change.impulse.items()}
    return {
        "t": change.t, "name": change.name, "energy_loss": float(change.energy_loss), "impulse": impulse,
        "momentum_error": float(change.momentum_error), "told": list(change.told),
    }  # fmt: skip


def _as_data(before: Before) -> dict[str, Any]:
    work = {name: np.asarray(x).tolist() for name, x in before.work.items()}
    return {"energy": np.asarray(before.energy).tolist(), "work": work}


def _from_data(about: dict[str, Any]) -> Before:
    return Before(np.array(about["energy"]), {name: np.array(x) for name, x in about["work"].items()})
