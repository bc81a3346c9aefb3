"""A table of a run as a Parquet file, which data frames of all sorts read quickly."""

from __future__ import annotations

import io
from typing import Any

from catena.errors import CatenaError
from catena.simulation.results.recording.table import RunTable


def write(table: RunTable, about: dict[str, str]) -> bytes:
    """Return the content of the file: a column for each of the table, whose metadata have its `unit` and `meaning`, and
    `about` as metadata of the whole."""
    arrow, parquet = _require_arrow()
    fields, arrays = [], []
    for column in table.columns:
        array = arrow.array(column.values)
        metadata = {"unit": column.unit, "meaning": column.meaning}
        fields.append(arrow.field(column.name, array.type, metadata=metadata))
        arrays.append(array)
    stream = io.BytesIO()
    parquet.write_table(arrow.Table.from_arrays(arrays, schema=arrow.schema(fields, metadata=about)), stream)
    return stream.getvalue()


def _require_arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise CatenaError(
            'Parquet files need pyarrow, which is not installed: pip install "catena-dynamics[export]".'
        ) from error
    return pyarrow, pyarrow.parquet
