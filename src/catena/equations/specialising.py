"""Kernels specialised to one mechanism, made in the background and kept on disk.

A specialised kernel is the unrolled algorithm compiled into lanes. Making one takes from half a second to half a
minute, so another process does it, and whoever asks for one that is not there yet is told so at once and uses the
general code. What was made once is found again by everything it depends on: the plan with its numbers, the algorithm,
the joint kinds, and the sources of Catena.
"""

import hashlib
import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena import dynamics, sources
from catena.dynamics.loops.elimination import loop_elimination
from catena.dynamics.loops.elimination.blocks import SHAPES
from catena.dynamics.loops.formulations.certified_elimination import elimination_of
from catena.equations.building import unrolled_graph
from catena.equations.lanes import lane_code, load
from catena.equations.parameters import plan_in_numbers
from catena.equations.unrolling import unroll
from catena.kernels import Algorithm, Program, cache, target
from catena.kernels.code import sources_of
from catena.kernels.machine_code import engine
from catena.kernels.other_process import finish, start_python
from catena.mechanism.profiles import Formula
from catena.structure import Plan

ALGORITHMS: dict[str, Algorithm] = {
    a.name: a
    for a in (
        dynamics.articulated_body,
        dynamics.newton_euler,
        dynamics.composite_body,
        *(loop_elimination(shape) for shape in SHAPES),
    )
}
"""The algorithms that can be specialised, by name; besides them there are those of flexible bodies, which are made for
the modes of a plan."""


def algorithm_named(name: str, plan: Plan) -> Algorithm:
    """Return the algorithm of this name for a plan."""
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    own = dynamics.tree_dynamics(plan)
    return own if own.name == name else elimination_of(plan)


@dataclass(frozen=True, eq=False)
class Order:
    """What is to be made: an algorithm on a plan, without the inputs that are absent, for so many lanes."""

    algorithm: str
    plan: Plan
    absent: frozenset[str]
    lanes: int

    def make(self) -> tuple[bytes, dict[str, Any]]:
        """Unroll and compile: machine code and the description that `lanes.load` takes."""
        algorithm = algorithm_named(self.algorithm, self.plan)
        begun = time.perf_counter()
        present = [n for n in (*algorithm.inputs, *algorithm.ground_inputs) if n not in self.absent]
        graph = unrolled_graph(unroll(algorithm, plan_in_numbers(self.plan), present))
        code = lane_code(graph, self.lanes)
        machine_code = engine.compile_object(code.text)
        return machine_code, {**code.description(), "seconds": time.perf_counter() - begun}

    def entry(self) -> str | None:
        """Return the name under which the result is kept, None if it depends on code that is in no file, or not in the
        files that were loaded."""
        algorithm = algorithm_named(self.algorithm, self.plan)
        plan = self.plan
        kinds = [k for k in (*plan.kind, *(loop.kind for loop in plan.loop_joints)) if k is not None]
        digests: set[str] = set()
        for kind in {type(k): k for k in kinds}.values():
            files = sources_of(algorithm, kind)
            if files is None:
                return None
            digests.update(cache.digest_file(f) for f in files)
        numbers = hashlib.sha256()
        terms = [(coupling, term) for coupling in plan.couplings for term in coupling.terms]
        if any(isinstance(term.profile, Formula) for _, term in terms):
            return None
        for coupling, term in terms:
            what = (coupling.offset, coupling.constraints, coupling.inertia, term.node, term.loop, term.sign)
            numbers.update(f"{what} {term.profile.signature} {term.profile.params()}".encode())
        for loop in plan.loop_joints:
            ends = np.array([loop.parent_node, loop.child_node, loop.constraints], dtype=np.int64)
            for x in (
                ends,
                loop.parent_R,
                loop.parent_p,
                loop.child_R,
                loop.child_p,
                loop.damping,
                loop.friction,
            ):
                numbers.update(np.ascontiguousarray(x).tobytes())
        for x in (
            plan.parent, plan.q_start, plan.v_start, plan.placement_R, plan.placement_p, plan.inertia, plan.damping,
            plan.friction, plan.gravity,
        ):  # fmt: skip
            numbers.update(np.ascontiguousarray(x).tobytes())
        kind_names = [f"{k.signature} {k.params()}" for k in kinds]
        return cache.key(
            "specialised", self.algorithm, *sorted(self.absent), str(self.lanes), numbers.hexdigest(), *kind_names,
            *sorted(digests), rooms=(*sources.ROOMS, *sources.BESIDE),
        )  # fmt: skip


class Specialiser:
    """The specialised programs of one plan, each made when it is first asked for."""

    def __init__(self, plan: Plan, on_ready: Callable[[], None]) -> None:
        self._plan, self._on_ready = plan, on_ready
        self._lock = threading.Lock()
        self._programs: dict[tuple[str, frozenset[str]], Program] = {}
        self._begun: dict[tuple[str, frozenset[str]], threading.Thread] = {}
        self.seconds: dict[str, float] = {}
        """How long each program took to make, unrolling and compiling, when it was made."""
        self.fault: Exception | None = None
        """Why a program could not be made; the general one serves on."""

    def program(self, algorithm: Algorithm, absent: frozenset[str]) -> Program | None:
        """Return the specialised program, or None while it is being made."""
        key = (algorithm.name, absent)
        found = self._programs.get(key)
        if found is None:
            with self._lock:
                if key not in self._begun:
                    order = Order(algorithm.name, self._plan, absent, target().lanes)
                    self._begun[key] = threading.Thread(target=self._make, args=(key, order), daemon=True)
                    self._begun[key].start()
        return found

    @property
    def is_ready(self) -> bool:
        """Whether everything that was asked for is specialised."""
        return self.wait(0.0)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until everything that was asked for is there; False if it is not after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        for thread in list(self._begun.values()):
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
        if self.fault is not None:
            raise self.fault
        return all(key in self._programs for key in self._begun)

    def _make(self, key: tuple[str, frozenset[str]], order: Order) -> None:
        try:
            entry = order.entry()
            found = cache.read(entry) if entry else None
            if found is None:
                found = _in_another_process(order) or order.make()
                # Another process makes it from the files as they are now.
                if entry and sources.are_as_loaded(*sources.ROOMS, *sources.BESIDE):
                    cache.write(entry, *found)
            self.seconds[order.algorithm] = float(found[1]["seconds"])
            self._programs[key] = load(*found)
        except Exception as error:
            self.fault = error
            return
        self._on_ready()


_CHILD = (
    "import os, pickle, sys; "
    "out = os.fdopen(os.dup(1), 'wb'); os.dup2(2, 1); "
    "order = pickle.load(sys.stdin.buffer); "
    "pickle.dump(order.make(), out); out.close()"
)


def _in_another_process(order: Order) -> tuple[bytes, dict[str, Any]] | None:
    """Return the order made by a process of its own, so that neither Python's lock nor LLVM's is held here; None if
    there can be no such process, as for a joint kind that was typed at a prompt."""
    try:
        message = pickle.dumps(order)
    except Exception:
        return None
    child = start_python(_CHILD)
    if child is None:
        return None
    # A child that could not make it leaves the reason to whoever makes it here.
    answer = finish(child, message)
    return pickle.loads(answer) if answer else None
