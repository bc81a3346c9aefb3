"""Compiling ahead, so that nothing is compiled in the middle of an on-line change of structure.

Code is compiled once for each kind of joint, in trees and where it closes a loop, and once for each shape in which
loops hang together; it is kept on disk. Small mechanisms of all kinds and some machines are put through what an
on-line change and a run ask for, shared out among processes.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pickle
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from catena.changing import transfer
from catena.errors import CatenaError, ModelError
from catena.joints import KINDS, Free, JointKind
from catena.kernels import compilations
from catena.kernels.other_process import finish, start_python
from catena.kernels.teams.threads import threads
from catena.mechanism import Mechanism
from catena.mechanism.generators import (
    andrews,
    arms_on_object,
    delta,
    four_bar,
    free_flyer,
    hslm,
    n_four_bars,
    nested_loops,
    stewart,
    walker,
)
from catena.simulation.simulate import simulate
from catena.system import System
from catena.validation import shown

MACHINES: tuple[Callable[[], Mechanism], ...] = (
    stewart, hslm, delta, lambda: arms_on_object(2), lambda: nested_loops(2), andrews, walker, free_flyer, four_bar,
    lambda: n_four_bars(3),
)  # fmt: skip
"""Machines whose loops hang together in the ways that are common."""


@dataclass(frozen=True)
class Warmed:
    """What compiling ahead did: pieces of code that were not there before, and the time [s] that it took."""

    compiled: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.compiled} pieces of code compiled in {self.seconds:.1f} s"


class Warming:
    """Compiling that goes on in another process while this one works: `done` tells whether it is over, `wait` waits
    for it. What it has compiled is used as soon as it is there, whether or not anybody waits; it ends with this
    process."""

    def __init__(
        self, child: subprocess.Popen[bytes] | None, mechanisms: Sequence[Mechanism],
        teller: threading.Thread | None = None,
    ) -> None:  # fmt: skip
        self._child, self._mechanisms, self._teller = child, tuple(mechanisms), teller
        self._began, self._found = time.perf_counter(), None if child is not None else self._here()

    @property
    def done(self) -> bool:
        """Whether nothing is left to compile."""
        return self._found is not None or self._child is None or self._child.poll() is not None

    def wait(self) -> Warmed:
        """Return what was compiled, when it is."""
        if self._found is None:
            assert self._child is not None and self._teller is not None
            self._teller.join()
            answer = finish(self._child)
            compiled = int(answer) if answer else self._here().compiled
            self._found = Warmed(compiled, time.perf_counter() - self._began)
        return self._found

    def _here(self) -> Warmed:
        """Compile in this process, where another one cannot be or cannot make the mechanisms."""
        began, before = time.perf_counter(), compilations()
        _do([mechanism.system for mechanism in self._mechanisms], None)
        return Warmed(compilations() - before, time.perf_counter() - began)


@overload
def warm(
    *mechanisms: Mechanism, processes: int | None = None, progress: Callable[[int, int], None] | None = None,
    background: Literal[False] = False,
) -> Warmed: ...  # fmt: skip


@overload
def warm(
    *mechanisms: Mechanism, processes: int | None = None, progress: Callable[[int, int], None] | None = None,
    background: Literal[True],
) -> Warming: ...  # fmt: skip


def warm(
    *mechanisms: Mechanism, processes: int | None = None, progress: Callable[[int, int], None] | None = None,
    background: bool = False,
) -> Warmed | Warming:  # fmt: skip
    """Compile ahead of time what these mechanisms need, or all kinds of joints and usual loops if none is given.

    Everything is kept in the cache on disk, for this and other processes, until Catena or the processor changes. All
    kinds take about a minute of computing, shared out among `processes` (as many as there are threads unless said);
    mechanisms that are given are done in this one. `progress(done, of)` is called as parts are finished.

    In the `background` mechanisms are done by another process while this one goes on: who knows what a mechanism will
    become, a robot that has grappled or a leg that stands, warms it when that is planned, and the change itself then
    compiles nothing. The result is a `Warming` to ask or to wait for.
    """
    for mechanism in mechanisms:
        if not isinstance(mechanism, Mechanism):
            raise ModelError(
                f"warm: {shown(mechanism)} is no mechanism: give mechanisms, or nothing for all kinds"
            )
    if processes is not None and (
        isinstance(processes, bool) or not isinstance(processes, int) or processes < 1
    ):
        raise ModelError(f"warm: processes is {shown(processes)}: give a whole number from 1 on")
    if background:
        return _behind(mechanisms)
    began, before = time.perf_counter(), compilations()
    if mechanisms:
        _do([mechanism.system for mechanism in mechanisms], progress)
        return Warmed(compilations() - before, time.perf_counter() - began)
    count = min(threads() if processes is None else processes, len(_jobs()))
    found = _in_processes(count, progress) if count > 1 else None
    if found is None:
        _do(_jobs(), progress)
        found = compilations() - before
    return Warmed(found, time.perf_counter() - began)


def _behind(mechanisms: Sequence[Mechanism]) -> Warming:
    """Start the process that compiles what mechanisms need; this one does it if there can be no other."""
    if not mechanisms:
        raise ModelError("warm: nothing is given to be compiled in the background: give mechanisms")
    try:
        message = base64.b64encode(pickle.dumps(list(mechanisms)))
    except Exception:
        # Kinds of joints that were typed at a prompt, and functions, are not known to another process.
        return Warming(None, mechanisms)
    child = start_python("from catena.simulation.warming import work_on; work_on()")
    if child is None:
        return Warming(None, mechanisms)
    # A pipe takes in little before the other process reads, which first has to begin.
    teller = threading.Thread(target=_tell, args=(child, message), daemon=True)
    teller.start()
    return Warming(child, mechanisms, teller)


def _tell(child: subprocess.Popen[bytes], message: bytes) -> None:
    assert child.stdin is not None
    with contextlib.suppress(OSError):
        child.stdin.write(message + b"\n")
        child.stdin.flush()


def work_on() -> None:
    """Compile what the mechanisms need that stand in the first line of the input, and print how much was compiled."""
    import sys

    mechanisms = pickle.loads(base64.b64decode(sys.stdin.readline()))
    _do([mechanism.system for mechanism in mechanisms], None)
    os.write(1, str(compilations()).encode())


def _in_processes(count: int, progress: Callable[[int, int], None] | None) -> int | None:
    """Share the jobs out and return how much was compiled; None if there can be no other process."""
    # Neighbours in the list need the same code: those who begin at different places meet it compiled by others.
    shares = [list(range(k, len(_jobs()), count)) for k in range(count)]
    children = []
    for _ in shares:
        child = start_python("from catena.simulation.warming import work; work()")
        if child is None:
            break
        children.append(child)
    if len(children) < count:
        for child in children:
            child.kill()
            finish(child)
        return None
    for child, share in zip(children, shares, strict=True):
        assert child.stdin is not None
        child.stdin.write(json.dumps(share).encode() + b"\n")
        child.stdin.flush()
    compiled = 0
    for done, child in enumerate(children, 1):
        answer = finish(child)
        if not answer:
            # Whatever stopped it shows itself where it can be told.
            before = compilations()
            _do([_jobs()[k] for k in shares[done - 1]], None)
            answer = str(compilations() - before).encode()
        compiled += int(answer)
        if progress is not None:
            progress(done, count)
    return compiled


def work() -> None:
    """Do the jobs whose numbers stand in the first line of the input, and print how much was compiled."""
    import sys

    share = json.loads(sys.stdin.readline())
    jobs = _jobs()
    _do([jobs[k] for k in share], None)
    os.write(1, str(compilations()).encode())


def _do(jobs: Sequence[Callable[[], System]], progress: Callable[[int, int], None] | None) -> None:
    for done, job in enumerate(jobs, 1):
        _used(job())
        if progress is not None:
            progress(done, len(jobs))


def _jobs() -> list[Callable[[], System]]:
    """Return functions that make a system each; those with loops, which take longest, first."""
    return [*(partial(_planned, made) for made in MACHINES), *_of_kinds()]


def _planned(made: Callable[[], Mechanism]) -> System:
    return made().system()


def _of_kinds() -> Iterator[Callable[[], System]]:
    seen: set[Any] = set()
    for kind in KINDS:
        alike = kind.canonical()[1].signature
        if alike not in seen:
            seen.add(alike)
            yield partial(_ring, kind)
            if 0 < kind.nv < 6:
                yield partial(_pendulum, kind)


def _pendulum(kind: JointKind) -> System:
    """A body on a joint, described from both of its ends."""
    m = Mechanism("tree")
    for k, ends in enumerate((("ground", "b1"), ("b2", "b1")), 1):
        m.add_body(f"b{k}", mass=1.0, com=(0.1, 0.2, 0.3), inertia=0.1)
        m.add_joint(f"j{k}", *ends, kind, damping=0.1, friction=0.1 * k)
    return m.system()


def _ring(kind: JointKind) -> System:
    """Two floating bodies and a joint between them that closes the loop."""
    m = Mechanism("ring")
    for name in ("b1", "b2"):
        m.add_body(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=0.1)
        m.add_joint(f"free {name}", "ground", name, Free())
    m.add_joint("closing", "b1", "b2", kind)
    return m.system() if kind.nv == 0 else m.system(cut=["closing"])


def _used(system: System) -> None:
    """Ask a system what an on-line change and a run ask: places, motions, a transfer to a neighbouring structure."""
    if not system.nv:
        return
    q = system.assemble()
    v = np.zeros(system.nv)
    state = q, v
    batch = np.stack([q] * 9), np.stack([v] * 9)
    tries: list[Callable[[], Any]] = [
        lambda: system.forward_dynamics(*state), lambda: system.forward_dynamics(*batch),
        lambda: system.inverse_dynamics(*state, v), lambda: system.reactions(*state), lambda: system.project(*state),
        lambda: system.diagnose(q), lambda: system.mass_matrix(q), lambda: system.momentum(*state),
        lambda: transfer(system, q, v, system.mechanism.lock(system.joints[0]).system()),
        lambda: simulate(system, q, v, 1e-3, check=False, progress=False),
        lambda: simulate(system, *batch, 1e-3, check=False, progress=False),
        lambda: simulate(system, q, v, 1e-3, control=lambda t, q, v: 0.0 * v, check=False, progress=False),
        lambda: simulate(system, q, v, 1e-3, integrator="rk4", step=1e-3, check=False, progress=False),
    ]  # fmt: skip
    for attempt in tries:
        try:
            attempt()
        except CatenaError:
            continue  # not every machine can do everything, and what it was refused for needs no code
