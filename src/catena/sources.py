"""The sources that this process was loaded from, for whoever keeps on disk what they lead to.

Modules are loaded one by one while a process runs. A source that is edited meanwhile says nothing about the code that
was loaded before, and nobody knows which modules were loaded after. So the stamps of all files are noted before the
first of them is loaded, which takes half a millisecond, and files whose stamps have changed since have no digest.
"""

import os
import sys

Stamp = tuple[int, int, int, int]

# What compiled code depends on. Everything else may be edited at any time.
ROOMS = (
    "spatial",
    "joints",
    "forces",
    "kernels",
    "kinematics",
    "dynamics",
    "equations",
    "simulation/stepping/methods",
)
# Files and folders in these rooms that only call compiled code. Steps that are compiled for any mechanism are not
# written there, and import nothing from there (`tools/check_rooms.py`): they count only for those who name them.
BESIDE = (
    "kernels/evaluation.py",
    "kernels/arrays.py",
    "kernels/stations.py",
    "kinematics/body_jacobians.py",
    "kinematics/kind_values.py",
    "kinematics/loops",
    "kinematics/stacks.py",
    "dynamics/contacts/tip_contact.py",
    "dynamics/contacts/tip_forces.py",
    "dynamics/elements/elements.py",
    "dynamics/elements/placed_forces.py",
    "dynamics/flexible/tree_accelerations.py",
    "dynamics/loops/closed_chains.py",
    "dynamics/loops/closing",
    "dynamics/loops/felt_inertia.py",
    "dynamics/loops/formulations",
    "dynamics/loops/inertia_root.py",
    "dynamics/loops/least_holding.py",
    "dynamics/loops/motion_problem.py",
    "dynamics/loops/prescribed.py",
    "dynamics/loops/problem.py",
    "dynamics/loops/square_root.py",
    "dynamics/mechanics.py",
)
PACKAGE = os.path.dirname(os.path.abspath(__file__))


def digest(*places: str) -> str | None:
    """Return a digest of the sources in some rooms, or single files of them, as they were loaded; None where that is
    not known, because one of them has changed since Catena was imported. What is `BESIDE` counts if it is named."""
    if _loaded.may_have_changed():
        _loaded.look()
    if places not in _digests:
        found = _digest_of(places)
        # What changed while it was read, or before, is seen now.
        _digests[places] = found if are_as_loaded(*places) else None
    return None if any(_is_in(file, places) for file in _loaded.changed) else _digests[places]


def are_as_loaded(*places: str) -> bool:
    """Return whether the sources in some rooms are still as they were when Catena was imported."""
    _loaded.look()
    return not any(_is_in(file, places) for file in _loaded.changed)


class _Loaded:
    """The stamps of all sources when Catena was imported, and the files that have changed since."""

    def __init__(self) -> None:
        self.at_import = _stamps()
        self.changed: set[str] = set()
        self._modules = len(sys.modules)

    def may_have_changed(self) -> bool:
        """Return whether modules were loaded since the last look. What was loaded before is as it was then."""
        return len(sys.modules) != self._modules

    def look(self) -> None:
        """Note which files differ from what they were when Catena was imported."""
        self._modules = len(sys.modules)
        now = _stamps()
        self.changed |= {
            file for file in {*now, *self.at_import} if now.get(file) != self.at_import.get(file)
        }


def _stamps() -> dict[str, Stamp]:
    """Return when the source files were written, when they came to where they are, their sizes and numbers. Files are
    named as seen from the package, with slashes on every system."""
    found: dict[str, Stamp] = {}
    folders = list(ROOMS)
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(f"{PACKAGE}/{folder}") as inside:
                for entry in inside:
                    name = f"{folder}/{entry.name}"
                    if entry.name.endswith(".py"):
                        s = entry.stat()
                        found[name] = (s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_ino)
                    elif entry.name != "__pycache__" and entry.is_dir():
                        folders.append(name)
        except OSError:
            # In an archive there are no files to look at, and while a folder is replaced there may be none.
            continue
    return found


def _digest_of(places: tuple[str, ...]) -> str | None:
    """Return the digest of the files in some places, None where there are none or one cannot be read."""
    import hashlib

    found = hashlib.sha256()
    files = sorted(file for file in _loaded.at_import if _is_in(file, places))
    try:
        for file in files:
            with open(f"{PACKAGE}/{file}", "rb") as source:
                found.update(hashlib.sha256(source.read()).digest())
    except OSError:
        return None
    return found.hexdigest() if files else None


def _is_in(file: str, places: tuple[str, ...]) -> bool:
    """Return whether a file counts for whoever depends on some places."""
    found = [place for place in places if file == place or file.startswith(f"{place}/")]
    if not found or not any(file == place or file.startswith(f"{place}/") for place in BESIDE):
        return bool(found)
    return any(place in BESIDE for place in found)


_loaded = _Loaded()
_digests: dict[tuple[str, ...], str | None] = {}
