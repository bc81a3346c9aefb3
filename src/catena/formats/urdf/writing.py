from pathlib import Path

from catena.errors import FormatError
from catena.mechanism import Mechanism


def write(mechanism: Mechanism, path: Path) -> dict[str, str]:
    raise FormatError(f"{path}: later")
