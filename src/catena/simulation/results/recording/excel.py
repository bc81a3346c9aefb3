"""A table of a run as an Excel workbook: an index of all columns, then a sheet for each group of them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from catena.errors import CatenaError, FormatError
from catena.simulation.results.recording.table import Column, RunTable
from catena.validation import printable

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""How many rows and columns a sheet can have."""
LONGEST_TITLE = 31
"""How many letters the name of a sheet can have."""
LONGEST_TEXT = 32_767
"""How many letters a cell can have."""


def write(table: RunTable, about: dict[str, str], events: Sequence[tuple[str, float, str]] = ()) -> bytes:
    """Return the content of the workbook: the sheet `index` with what it is `about` and all columns with unit and
    meaning, then sheets of columns, each beginning with the time, names in the first row and units in the second, and
    `events` with time and state where there are any."""
    openpyxl = _require_openpyxl()
    first = [column for column in table.columns if column.group == "time"]
    groups: dict[str, list[Column]] = {}
    for column in table.columns:
        if column.group != "time":
            groups.setdefault(column.group, []).append(column)
    _require_room(table, groups, len(first))
    titles = _titles(["index", *groups, "events"])
    book = openpyxl.Workbook(write_only=True)
    sheet = _Sheet(book.create_sheet(titles["index"]), openpyxl, (16, 24, 12, 80))
    for name, text in about.items():
        sheet.row([name, text])
    sheet.row([])
    sheet.row(["sheet", "column", "unit", "meaning"], bold=True)
    for group, columns in groups.items():
        for column in (*first, *columns):
            sheet.row([titles[group], column.name, column.unit, column.meaning])
    for group, columns in groups.items():
        own = (*first, *columns)
        sheet = _Sheet(
            book.create_sheet(titles[group]), openpyxl, [max(10, len(x.name) + 2) for x in own], frozen="B3"
        )
        sheet.row([column.name for column in own], bold=True)
        sheet.row([column.unit for column in own])
        sheet.numbers(zip(*(column.values.tolist() for column in own), strict=True))
    if events:
        sheet = _Sheet(book.create_sheet(titles["events"]), openpyxl, (40, 20, 12), frozen="A2")
        sheet.row(["event", "t [s]", "state"], bold=True)
        for name, t, state in events:
            sheet.row([name, t, state])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


class _Sheet:
    """A sheet that is written row by row. Texts are texts, whatever they look like: a name that begins with = would be
    a formula otherwise."""

    def __init__(self, sheet: Any, openpyxl: Any, widths: Iterable[float], frozen: str = "") -> None:
        self._sheet, self._openpyxl = sheet, openpyxl
        for k, width in enumerate(widths, 1):
            sheet.column_dimensions[openpyxl.utils.get_column_letter(k)].width = min(float(width), 80.0)
        if frozen:
            sheet.freeze_panes = frozen

    def row(self, values: Sequence[str | float], bold: bool = False) -> None:
        """Write texts and numbers."""
        self._sheet.append([self._cell(value, bold) if isinstance(value, str) else value for value in values])

    def numbers(self, rows: Iterable[Sequence[float]]) -> None:
        """Write rows of numbers; what is none stays empty, because a sheet has no word for it."""
        for row in rows:
            self._sheet.append([x if abs(x) < float("inf") else None for x in row])

    def _cell(self, text: str, bold: bool) -> Any:
        from openpyxl.cell import WriteOnlyCell

        cell = WriteOnlyCell(self._sheet)
        cell.value = printable(text)[:LONGEST_TEXT]
        cell.data_type = "s"
        if bold:
            cell.font = self._openpyxl.styles.Font(bold=True)
        return cell


def _titles(groups: Iterable[str]) -> dict[str, str]:
    """Return names of sheets as Excel takes them, no two of which differ in case only."""
    titles: dict[str, str] = {}
    taken: set[str] = set()
    for group in groups:
        start = re.sub(r"[\\/*?:\[\]]", "_", printable(group)).strip("' ") or "sheet"
        title, number = start[:LONGEST_TITLE], 1
        while title.lower() in taken:
            number += 1
            ending = f" {number}"
            title = start[: LONGEST_TITLE - len(ending)] + ending
        taken.add(title.lower())
        titles[group] = title
    return titles


def _require_room(table: RunTable, groups: dict[str, list[Column]], first: int) -> None:
    if table.rows + 2 > MOST_ROWS:
        raise FormatError(
            f"the run has {table.rows} rows, and a sheet of Excel holds {MOST_ROWS - 2}: save run.resample(...) or a "
            f".parquet file"
        )
    for group, columns in groups.items():
        if first + len(columns) > MOST_COLUMNS:
            raise FormatError(
                f"{group}: there are {len(columns)} columns, and a sheet of Excel holds {MOST_COLUMNS - first}: choose "
                f"fewer, or save a .parquet file"
            )


def _require_openpyxl() -> Any:
    try:
        import openpyxl
        import openpyxl.styles
        import openpyxl.utils
    except ImportError as error:
        raise CatenaError(
            'Excel workbooks need openpyxl, which is not installed: pip install "catena-dynamics[export]".'
        ) from error
    return openpyxl
