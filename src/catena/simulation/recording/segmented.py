"""A motion of several structures as one table or dataset: one time axis, joints by name, nothing where one is not."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from catena.errors import FormatError
from catena.simulation.labels import joint_labels
from catena.simulation.recording.dataset import require_xarray
from catena.simulation.segments import SegmentedTrajectory


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
    """Return the dataset as the content of a NetCDF 4 file, for other programs to read."""
    stream = io.BytesIO()
    to_dataset(run).to_netcdf(stream, engine="h5netcdf", format="NETCDF4")
    return stream.getvalue()
