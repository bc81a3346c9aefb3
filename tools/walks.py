"""Measures how far a call walks through the sources of Catena: what of them Python enters on the second call.

Usage: python tools/walks.py                  files and functions that are entered, and how deep they are nested
       python tools/walks.py --tree [WORD]    what calls what, in the order of first calls, of walks with WORD in their
                                              names

A function is what has a frame of its own: comprehensions and generator expressions count where Python gives them one,
which those of lists, sets and dictionaries lost with Python 3.12. What compiled code does is not seen.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import catena as ct

PACKAGE = Path(ct.__file__).parent


@dataclass
class Walk:
    """What one function enters, by file and name; a whole walk is a nameless function that calls the first ones."""

    file: str = ""
    name: str = ""
    times: int = 0
    inner: dict[tuple[str, str], "Walk"] = field(default_factory=dict)

    def enter(self, file: str, name: str) -> "Walk":
        """Return the function entered from here, counted once more."""
        found = self.inner.setdefault((file, name), Walk(file, name))
        found.times += 1
        return found

    def everything(self, depth: int = 1) -> Iterator[tuple[int, "Walk"]]:
        """Yield all that is entered below, each with its depth."""
        for walk in self.inner.values():
            yield depth, walk
            yield from walk.everything(depth + 1)

    def size(self) -> tuple[int, int, int]:
        """Return the number of files, the number of functions and the depth of what is entered below."""
        entered = [(depth, walk.file, walk.name) for depth, walk in self.everything()]
        functions = {(file, name) for _, file, name in entered}
        return (
            len({file for file, _ in functions}),
            len(functions),
            max((depth for depth, *_ in entered), default=0),
        )


def walk_of(call: Callable[[], Any]) -> Walk:
    """Return what a call enters of the package when it is made for the second time."""
    root = f"{PACKAGE}/"
    path = [Walk()]

    def look(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(root):
            return
        if event == "call":
            path.append(path[-1].enter(code.co_filename.removeprefix(root), code.co_qualname))
        else:
            path.pop()

    call()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return path[0]


def walks() -> dict[str, Walk]:
    """Return the walks of a simulation, of a transfer to a locked mechanism, and of a view of a run."""
    m = ct.generators.four_bar()
    s = m.system()
    q = s.assemble({"A": 0.3})
    v = s.velocity(q, {"A": 1.0})
    run = ct.simulate(s, q, v, 0.1)
    locked = m.lock("A", at=0.3).system()
    return {
        "simulate(four_bar)": walk_of(lambda: ct.simulate(s, q, v, 0.1)),
        "transfer of a lock": walk_of(lambda: ct.transfer(s, q, v, locked)),
        "run.view()": walk_of(lambda: run.view(show=False).close()),
    }


def main(arguments: list[str]) -> int:
    """Print what is asked for and return the exit code."""
    if arguments and (arguments[0] != "--tree" or arguments[2:]):
        print((__doc__ or "").partition("Usage: ")[2], file=sys.stderr)
        return 2
    word = arguments[1] if arguments[1:] else ""
    for name, walk in walks().items():
        if word not in name:
            continue
        print("{:20s} {:4d} files {:4d} functions, {:3d} deep".format(name, *walk.size()))
        for depth, entered in walk.everything() if arguments else ():
            often = f" x{entered.times}" if entered.times > 1 else ""
            print(f"{'  ' * depth}{entered.file} {entered.name}{often}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
