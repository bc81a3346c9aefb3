"""What one load may read in all. Files include each other, and a few short ones that each include the next ten times
would be read for ever."""

from __future__ import annotations

from dataclasses import dataclass

from catena.errors import FormatError

MOST_BYTES = 64 * 2**20
"""How many bytes of models a load may read, files that are included several times counted as often."""
MOST_FILES = 1000
"""How many files a load may open."""
MOST_ELEMENTS = 500_000
"""How many elements of XML a load may make."""
MOST_PARTS = 20_000
"""How many parts repetition may make."""
MOST_COPIED = 4 * 2**20
"""How many characters and numbers these parts may have together."""


@dataclass
class Budget:
    """What a load has used so far; the sources of all files that it reads share it."""

    bytes: int = 0
    files: int = 0
    elements: int = 0
    parts: int = 0
    copied: int = 0

    def add_file(self, file: str, size: int) -> None:
        """Count a file that was read."""
        self.files += 1
        self.bytes += size
        if self.files > MOST_FILES:
            raise FormatError(f"{file}: more than {MOST_FILES} files include each other: this is no model")
        if self.bytes > MOST_BYTES:
            raise FormatError(f"{file}: the files that include each other have more than {MOST_BYTES} bytes")

    def add_element(self, where: str) -> None:
        """Count an element of XML."""
        self.elements += 1
        if self.elements > MOST_ELEMENTS:
            raise FormatError(f"{where}: there are more than {MOST_ELEMENTS} elements: this is no model")

    def add_part(self, size: int) -> str:
        """Count a part that repetition makes, of so many characters and numbers; why it is one too many, or ""."""
        self.parts += 1
        self.copied += size
        if self.parts > MOST_PARTS:
            return f"repetition makes more than {MOST_PARTS} parts"
        return f"what is repeated has more than {MOST_COPIED} characters" if self.copied > MOST_COPIED else ""
