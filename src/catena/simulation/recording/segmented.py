"""A motion of several structures as one table or dataset: one time axis, joints by name, nothing where one is not."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import Any

import numpy as np

from catena.errors import CatenaError, FormatError
from catena.formats.kinds import Kinds
from catena.simulation.contacts.contact import Contact
from catena.simulation.labels import joint_labels
from catena.simulation.recording import dataset as single
from catena.simulation.recording.dataset import require_xarray
from catena.simulation.segments import SegmentedTrajectory, Transition

SEGMENTS = "catena_segments"
"""The attribute with the number of segments, which tells a file of several structures."""


def columns(run: SegmentedTrajectory) -> dict[str, np.ndarray]:
    """Return columns (samples,) by name: the time t, the number of the segment, positions q.joint, velocities v.joint
    and control forces tau.joint of all joints that are in some tree, and energies; NaN where there is none."""
    if run.batch:
        raise FormatError(
            f"A motion of several structures is written one at a time; this is a batch {run.batch}."
        )
    found = {"t": run.t}
    counts = [len(part.t) for part in run.segments]
    found["segment"] = np.repeat(np.arange(len(counts)), counts).astype(np.float64)
    for joint in dict.fromkeys(name for part in run.segments for name in part.system.joints):
        owner = next(part.system for part in run.segments if joint in part.system.joints)
        for prefix, quantity, values in (
            ("q", "position", run[joint]),
            ("v", "velocity", run.velocity(joint)),
            ("tau", "velocity", run.force(joint)),
        ):
            titles = joint_labels(owner, joint, quantity)  # type: ignore[arg-type]
            found |= {f"{prefix}.{label.key}": values[:, k] for k, label in enumerate(titles)}
    return found | {"kinetic_energy": run.kinetic_energy, "potential_energy": run.potential_energy}


def write_csv(run: SegmentedTrajectory) -> bytes:
    """Return the table as text, numbers to the last digit and empty cells where there is none."""
    found = columns(run)
    stream = io.StringIO(newline="")
    out = csv.writer(stream)
    out.writerow(found)
    for row in zip(*(x.tolist() for x in found.values()), strict=True):
        out.writerow("" if x != x else repr(x) for x in row)
    return stream.getvalue().encode("utf-8")


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
