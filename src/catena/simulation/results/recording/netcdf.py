"""A run as a NetCDF 4 file, which is an HDF5 file that many programs open."""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path

from catena.errors import CatenaError, FormatError
from catena.formats.kinds import Kinds
from catena.simulation.results.recording.dataset import require_xarray
from catena.simulation.results.recording.parts import whole_dataset, whole_run
from catena.simulation.results.recording.plain_file import require_plain
from catena.simulation.results.trajectory import Trajectory
from catena.system import System


def write(run: Trajectory) -> bytes:
    """Return the dataset of a run as the content of a file. It is made in memory, because the HDF5 library does not
    survive a disk that is full."""
    _require_hdf5()
    stream = io.BytesIO()
    whole_dataset(run).to_netcdf(stream, engine="h5netcdf", format="NETCDF4")
    return stream.getvalue()


def read(file: Path, system: System | None, kinds: Kinds) -> Trajectory:
    """Read a run from a file, with the mechanism in it or the system given; one of several structures has them all in
    it."""
    _require_hdf5()
    try:
        require_plain(file)
        dataset = require_xarray().load_dataset(file, engine="h5netcdf")
    except FormatError:
        raise
    except Exception as error:
        # HDF5, its binding and xarray raise whatever they like on a damaged file.
        raise FormatError(f"{file}: the file is no NetCDF 4 or HDF5 file, or is damaged: {error}") from error
    return whole_run(dataset, str(file), system, kinds)


def _require_hdf5() -> None:
    require_xarray()
    for package in ("h5netcdf", "h5py"):
        if find_spec(package) is None:
            raise CatenaError(
                f'NetCDF and HDF5 files need {package}, which is not installed: pip install "catena-dynamics[record]".'
            )
