"""A motion of several structures as one dataset: one time axis, joints by name, nothing where one is not."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from typing import Any

import numpy as np

from catena.errors import CatenaError, FormatError
from catena.formats.kinds import Kinds
from catena.simulation.contacts.contact import Contact
from catena.simulation.results.recording import dataset as single
from catena.simulation.results.recording.dataset import require_xarray
from catena.simulation.results.recording.table import table
from catena.simulation.results.trajectory import SegmentedTrajectory, Transition

SEGMENTS = "catena_segments"
"""The attribute with the number of segments, which tells a file of several structures."""


def columns(run: SegmentedTrajectory) -> dict[str, np.ndarray]:
    """Return the columns (samples,) of the table of a single motion by name."""
    if run.batch:
        raise FormatError(
            f"A motion of several structures is written one at a time; this is a batch {run.batch}."
        )
    return dict(table(run))


def to_dataset(run: SegmentedTrajectory) -> Any:
    """Return the motion as an `xarray.Dataset` over `time`, with the changes of structure along `change`."""
    xarray = require_xarray()
    found = columns(run)
    t = found.pop("t")
    data: dict[str, Any] = {name.replace("/", "_"): ("time", x) for name, x in found.items()}
    if run.transitions:
        data["change_time"] = ("change", np.array([change.t for change in run.transitions]), {"units": "s"})
        data["change_name"] = ("change", [change.name for change in run.transitions])
        data["energy_loss"] = (
            "change",
            np.array([change.energy_loss for change in run.transitions]),
            {"units": "J"},
        )
    return xarray.Dataset(data, {"time": ("time", t, {"units": "s"})}, {"ended": run.ended})


def write_netcdf(run: SegmentedTrajectory) -> bytes:
    """Return the motion as the content of a NetCDF 4 file: the dataset over one time axis, for other programs to read,
    and behind it each segment as a run of its own, from which it is read back."""
    found = to_dataset(run)
    for k, part in enumerate(run.segments):
        own = single.to_dataset(part)
        names = {str(name): f"segment{k}.{name}" for name in {*own.variables, *own.dims}}
        found = found.merge(own.rename(names))
        found.attrs[f"segment{k}"] = json.dumps(own.attrs)
    for name, force in run.contact_forces.items():
        found[f"contact_force.{name.replace('/', '_')}"] = (("time", "axis"), force, {"units": "N"})
    found.attrs |= {
        SEGMENTS: len(run.segments),
        "note": run.note,
        "contacts": json.dumps([asdict(contact) for contact in run.contacts]),
        "contact_forces": json.dumps(list(run.contact_forces)),
        "transitions": json.dumps([_told(change) for change in run.transitions]),
    }
    stream = io.BytesIO()
    found.to_netcdf(stream, engine="h5netcdf", format="NETCDF4")
    return stream.getvalue()


def from_dataset(dataset: Any, file: str, kinds: Kinds) -> SegmentedTrajectory:
    """Return the motion of several structures that a dataset holds; `file` is what messages call it."""
    try:
        parts = []
        for k in range(int(dataset.attrs[SEGMENTS])):
            prefix = f"segment{k}."
            own = dataset[[name for name in dataset.variables if str(name).startswith(prefix)]]
            names = {
                str(name): str(name).removeprefix(prefix)
                for name in {*own.variables, *own.dims}
                if str(name).startswith(prefix)
            }
            own = own.rename(names)
            own.attrs = json.loads(dataset.attrs[f"segment{k}"])
            parts.append(single.from_dataset(own, f"{file} (segment {k})", None, kinds))
        contacts = tuple(Contact(**about) for about in json.loads(dataset.attrs["contacts"]))
        labels = json.loads(dataset.attrs.get("contact_forces", "[]")) or [x.label for x in contacts]
        forces = {
            label: np.array(dataset[name].values, dtype=np.float64)
            for label in labels
            if (name := f"contact_force.{label.replace('/', '_')}") in dataset
        }
        changes = tuple(
            Transition(
                **{**about, "impulse": {name: np.array(x) for name, x in about["impulse"].items()},
                   "told": tuple(about["told"])}
            )
            for about in json.loads(dataset.attrs["transitions"])
        )  # fmt: skip
        return SegmentedTrajectory(tuple(parts), changes, str(dataset.attrs["note"]), contacts, forces)
    except CatenaError:
        raise
    except Exception as error:
        # A file may lack anything and hold anything.
        raise FormatError(
            f"{file}: the run is damaged ({type(error).__name__}: {error}): save it again, or read another file"
        ) from error


def _told(change: Transition) -> dict[str, Any]:
    """Return what a file keeps of a transition."""
    impulse = {name: np.asarray(x).tolist() for name, x in change.impulse.items()}
    return {
        "t": change.t, "name": change.name, "energy_loss": float(change.energy_loss), "impulse": impulse,
        "momentum_error": float(change.momentum_error), "told": list(change.told),
    }  # fmt: skip
