"""A run as an `xarray.Dataset`, and back: arrays with named dimensions, everything else as attributes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from catena.errors import CatenaError, FormatError
from catena.formats import toml
from catena.formats.kinds import Kinds
from catena.formats.source import LARGEST, Source
from catena.simulation.contacts.contact import Contact
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.labels import labels
from catena.simulation.results.recording.table import table
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory
from catena.system import System

VERSION = 2
NO_KINDS = Kinds()
_WRENCH = ("mx", "my", "mz", "fx", "fy", "fz")


def require_xarray() -> Any:
    """Return `xarray`, or raise an error that says how to install it."""
    try:
        import xarray
    except ImportError as error:
        raise CatenaError(
            'Keeping runs needs xarray, which is not installed: pip install "catena-dynamics[record]".'
        ) from error
    return xarray


def to_dataset(run: Trajectory) -> Any:
    """Return a run as a dataset to work with: that of its segment, or, of several, the columns of its table over `time`
    (and `state`), with q, v and tau where all have the same coordinates, and with the changes along `change`."""
    if len(run.all_segments) == 1 and not run.transitions and run.given_before is None:
        return segment_dataset(run.all_segments[0])
    xarray = require_xarray()
    states = _state_names(len(run.batch))
    over, shape = (*states, "time"), (*run.batch, len(run.t))
    data: dict[str, Any] = {}
    for column in table(run).columns:
        if column.name in ("t", "state"):
            continue
        about = {"long_name": column.meaning} | ({"units": column.unit} if column.unit else {})
        data[_file_name(column.name)] = (over, column.values.reshape(shape), about)
    for name, force in run.contact_forces.items():
        data[f"contact_force.{_file_name(name)}"] = ((*over, "axis"), np.array(force), {"units": "N"})
    coords: dict[str, Any] = {"time": ("time", run.t, {"units": "s"})}
    if run.is_one_structure:
        data |= _along_coordinates(run, over)
        coords |= _coordinate_names(run.system)
    if run.transitions:
        data["change_time"] = ("change", np.array([change.t for change in run.transitions]), {"units": "s"})
        data["change_name"] = ("change", [change.name for change in run.transitions])
        losses = np.array([change.energy_loss for change in run.transitions])
        data["energy_loss"] = ("change", losses, {"units": "J"})
    return xarray.Dataset(data, coords, {"ended": run.ended}).copy(deep=True)


def segment_dataset(run: Segment) -> Any:
    """Return a segment as a dataset over `time`, with `coordinate` along q and `component` along v and tau, and a
    dimension `state` for a batch (`state_0`, `state_1` ... where it has more dimensions)."""
    xarray = require_xarray()
    states = _state_names(len(run.batch))
    over = (*states, "time")
    data: dict[str, Any] = {
        **_along_coordinates(run, over),
        "kinetic_energy": (over, run.kinetic_energy, {"units": "J"}),
        "potential_energy": (over, run.potential_energy, {"units": "J"}),
        "closure": (
            over,
            run.closure,
            {"long_name": "largest position error of a loop", "units": "m or rad"},
        ),
    }
    data |= {
        f"driven_{name}": (
            (*over, f"component of {name}"),
            np.array(vdot),
            {"long_name": "prescribed acceleration"},
        )
        for name, vdot in run.driven.items()
    }
    for prefix, words, found in _of_joints(run):
        for name, x in found.items():
            dimensions = (*over, f"{prefix} of {_file_name(name)}")
            data[f"{prefix}_{_file_name(name)}"] = (dimensions, np.array(x), {"long_name": words})
    data |= {f"work_{name}": (over, work, {"units": "J"}) for name, work in run.work.items()}
    frames = list(run.wrenches)
    coords: dict[str, Any] = {"time": ("time", run.t, {"units": "s"}), **_coordinate_names(run.system)}
    if frames:
        # A wrench may be the same for all states.
        shape = (*run.q.shape[:-1], 6)
        stacked = np.stack([np.broadcast_to(run.wrenches[name], shape) for name in frames], axis=-2)
        data["wrench"] = ((*over, "frame", "entry"), stacked, {"long_name": "given wrenches [moment; force]"})
        coords |= {"frame": frames, "entry": list(_WRENCH)}
    # An attribute of an HDF5 file holds no more than 64 KiB, which a model may exceed.
    data["mechanism"] = ((), _model(run.system.variants.origin), {"long_name": "the model as TOML"})
    for name, value in run.system.variants.parameters.items():
        numbers = np.broadcast_to(value, (*run.batch, 1, value.shape[-1]))[..., 0, :]
        data[f"parameter_{name}"] = (
            (*states, f"entry of {name}"),
            numbers,
            {"long_name": "a number that differs"},
        )
    if run.events:
        data |= {
            "event_name": ("event", [found.name for found in run.events]),
            "event_state": (
                ("event", "index"),
                np.stack([np.atleast_1d(found.state) for found in run.events]),
            ),
            "event_time": ("event", np.array([found.t for found in run.events]), {"units": "s"}),
            "event_q": (("event", "coordinate"), np.stack([found.q for found in run.events])),
            "event_v": (("event", "component"), np.stack([found.v for found in run.events])),
        }
    # Arrays are copied, so that changing the dataset leaves the run alone.
    return xarray.Dataset(data, coords, _attributes(run)).copy(deep=True)


def _along_coordinates(run: Trajectory | Segment, over: tuple[str, ...]) -> dict[str, Any]:
    return {
        "q": ((*over, "coordinate"), run.q, {"long_name": "positions of the tree joints"}),
        "v": ((*over, "component"), run.v, {"long_name": "velocities of the tree joints"}),
        "tau": ((*over, "component"), run.tau, {"long_name": "control forces"}),
    }


def _coordinate_names(system: System) -> dict[str, Any]:
    coords: dict[str, Any] = {}
    for dimension, quantity in (("coordinate", "position"), ("component", "velocity")):
        named = labels(system, quantity)  # type: ignore[arg-type]
        coords[dimension] = [label.key for label in named]
        coords[f"{dimension}_unit"] = (dimension, [label.unit for label in named])
    return coords


def _file_name(name: str) -> str:
    """Return a name without what parts groups from each other in a file."""
    return name.replace("/", "_")


def _of_joints(run: Segment) -> tuple[tuple[str, str, Mapping[str, np.ndarray]], ...]:
    """Return what is kept of joints besides what is along q, v and tau: how it is called, what it is, and by joint."""
    return (
        ("loop_force", "control forces at a joint that closes a loop", run.loop_forces),
        ("stop_force", "forces of rigid stops, and of friction that sticks", run.stop_forces),
        ("loop_position", "positions of a joint that closes a loop, with all turns", run.loop_positions),
        ("contact_force", "forces of a contact in the axes of its plane", run.contact_forces),
        ("tip_force", "wrenches that a tip exerts on its support in the axes of the contact", run.tip_forces),
    )


def segment_from(dataset: Any, file: str, system: System | None = None, kinds: Kinds = NO_KINDS) -> Segment:
    """Return the segment that a dataset holds; `file` is what messages call it. A dataset that is damaged, in whatever
    way, raises a `FormatError`."""
    try:
        return _segment_from(dataset, file, system, kinds)
    except FormatError:
        raise
    except CatenaError as error:
        raise FormatError(f"{file}: the run is damaged: {error}") from error
    except Exception as error:
        # A file may lack anything and hold anything, and every library on the way has exceptions of its own for that.
        raise FormatError(
            f"{file}: the run is damaged ({type(error).__name__}: {error}): save it again, or read another file"
        ) from error


def _segment_from(dataset: Any, file: str, system: System | None, kinds: Kinds) -> Segment:
    about = dataset.attrs
    if "catena_run" not in about:
        raise FormatError(f"{file}: this file does not hold a run of Catena: it has no attribute catena_run")
    if int(about["catena_run"]) != VERSION:
        raise FormatError(
            f"{file}: the run is of version {about['catena_run']}, and this Catena reads {VERSION}: read it with "
            "the Catena that wrote it, and simulate it anew here"
        )
    if system is None:
        system = _system(str(dataset["mechanism"].values), about, file, kinds)
    names = {key: list(map(str, dataset[key].values)) for key in ("coordinate", "component")}
    for dimension, quantity in (("coordinate", "position"), ("component", "velocity")):
        own = [label.key for label in labels(system, quantity)]  # type: ignore[arg-type]
        if own != names[dimension]:
            raise FormatError(
                f"{file}: the run has the {dimension}s {_few(names[dimension])}, but the system has {_few(own)}: give "
                f"the system that was simulated, or leave it out"
            )

    varied = {
        str(name)[10:]: dataset[name].values for name in dataset.data_vars if str(name)[:10] == "parameter_"
    }
    if varied:
        single = {name: x[..., 0] if x.shape[-1] == 1 else x for name, x in varied.items()}
        batch = next(iter(varied.values())).shape[:-1]
        system = system.vary(single).variants.reshaped((*batch, 1))

    def values(name: str) -> np.ndarray:
        return np.ascontiguousarray(dataset[name].values, dtype=np.float64)

    named = json.loads(about.get("of_joints", "{}"))
    of_joints: dict[str, Any] = {
        f"{prefix}s": {name: values(f"{prefix}_{_file_name(name)}") for name in named.get(prefix, ())}
        for prefix in ("loop_force", "stop_force", "loop_position", "contact_force", "tip_force")
    }
    work = {str(name)[5:]: values(str(name)) for name in dataset.data_vars if str(name).startswith("work_")}
    wrenches = {
        str(name): np.ascontiguousarray(dataset["wrench"].values[..., k, :])
        for k, name in enumerate(dataset["frame"].values if "wrench" in dataset else ())
    }
    events = tuple(
        EventHit(str(event.event_name.values), float(event.event_time), event.event_q.values, event.event_v.values,
              tuple(int(k) for k in event.event_state.values))
        for event in (dataset.isel(event=k) for k in range(dataset.sizes.get("event", 0)))
    )  # fmt: skip
    contacts = tuple(Contact(**fields) for fields in json.loads(about.get("contacts", "[]")))
    return Segment(
        system, values("time"), values("q"), values("v"), values("tau"), int(about["steps"]), work=work,
        wrenches=wrenches, driven={name: values(f"driven_{name}") for name in json.loads(about["driven"])},
        events=events, ended=str(about["ended"]),
        settings=json.loads(about["settings"]), held=bool(about["held"]), contacts=contacts, **of_joints,
    )  # fmt: skip


def _attributes(run: Segment) -> dict[str, Any]:
    plan = run.system.plan
    return {
        "catena_run": VERSION,
        "title": run.system.mechanism.name,
        "root": plan.root or "",
        "cut": json.dumps(list(plan.cut)),
        "steps": int(run.steps),
        "driven": json.dumps(list(run.driven)),
        "of_joints": json.dumps({prefix: list(found) for prefix, _, found in _of_joints(run)}),
        "ended": run.ended,
        "settings": json.dumps(dict(run.settings), default=str),
        "held": int(run.held),
        "contacts": json.dumps([asdict(contact) for contact in run.contacts]),
    }


def _model(system: System) -> str:
    """Return the mechanism as TOML, or "" if joint kinds of the user's own have no place in a file."""
    try:
        return toml.write(system.mechanism, "the mechanism")
    except FormatError:
        return ""


def _system(model: str, about: Any, file: str, kinds: Kinds) -> System:
    if not model:
        raise FormatError(
            f"{file}: the mechanism of this run has joint kinds of its own and is not in the file: give its system, "
            f"load_run(path, system)"
        )
    if len(model) > LARGEST:
        raise FormatError(f"{file}: the mechanism has {len(model)} characters: a model has at most {LARGEST}")
    mechanism = toml.read(model, Source(f"{file} (mechanism)", kinds=kinds))
    return System(mechanism, root=str(about["root"]) or None, cut=json.loads(about["cut"]))


def _state_names(count: int) -> tuple[str, ...]:
    return ("state",) if count == 1 else tuple(f"state_{k}" for k in range(count))


def _few(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f", ... ({len(names)} in all)" if len(names) > 6 else "")
