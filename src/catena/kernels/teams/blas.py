"""NumPy's linear algebra by one thread, for matrices as small as those of mechanisms.

OpenBLAS splits the work of a matrix of 60 rows among all cores, and its threads wait for each other without sleeping.
Where a core is busy with something else, another thread of Catena for example, that takes up to hundreds of times as
long as one thread alone would (docs/decisions/036). So calls that do such algebra ask OpenBLAS for one thread
while they last. The library that comes with NumPy, and with SciPy where that is loaded, is found beside it; other
libraries are left as they are.
"""

import ctypes
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

from catena.kernels.undisturbed import hold_in_forks

P = ParamSpec("P")
T = TypeVar("T")
# How builds of OpenBLAS name a function: SciPy's, with integers of 64 bits or 32, and older ones.
_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")
_lock = threading.Lock()
hold_in_forks(_lock)
_depth = 0
_before: list[tuple["_Library", int]] = []
_found: dict[str, "_Library | None"] = {}


class _Library:
    """The two functions of an OpenBLAS that tell and set its number of threads."""

    def __init__(self, path: Path) -> None:
        # Python's lock stays where it is: the calls take less time than handing it over.
        loaded = ctypes.PyDLL(str(path))
        name = next(n for n in _NAMES if hasattr(loaded, n.format("set_num_threads")))
        self.get = getattr(loaded, name.format("get_num_threads"))
        self.set = getattr(loaded, name.format("set_num_threads"))
        self.set.restype = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let NumPy and SciPy do linear algebra by one thread while this block lasts, in all threads of the process. Blocks
    may lie within each other and overlap; with the end of the last one everything is as it was."""
    _enter()
    try:
        yield
    finally:
        _leave()


def by_one_blas_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that runs in a block of `one_blas_thread`."""

    @functools.wraps(function)
    def alone(*args: P.args, **kwargs: P.kwargs) -> T:
        _enter()
        try:
            return function(*args, **kwargs)
        finally:
            _leave()

    return alone


def _enter() -> None:
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            for library in _libraries():
                count = library.get()
                if count > 1:
                    library.set(1)
                    _before.append((library, count))


def _leave() -> None:
    global _depth
    with _lock:
        _depth -= 1
        if _depth == 0:
            while _before:
                library, count = _before.pop()
                library.set(count)


def _libraries() -> Iterator[_Library]:
    """Return the libraries of the packages that are loaded."""
    for package in ("numpy", "scipy"):
        if package not in _found and package in sys.modules:
            _found[package] = _library_of(package)
        library = _found.get(package)
        if library is not None:
            yield library


def _library_of(package: str) -> _Library | None:
    """Return the OpenBLAS that a wheel has brought along; None where there is none."""
    file = getattr(sys.modules[package], "__file__", None)
    if file is None:
        return None
    folder = Path(file).parent
    for place in (folder.parent / f"{package}.libs", folder / ".dylibs"):
        for path in sorted(place.glob("*openblas*")) if place.is_dir() else ():
            try:
                return _Library(path)
            except (OSError, StopIteration):
                continue
    return None
