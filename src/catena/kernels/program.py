"""An algorithm ready to run on one mechanism: a tape, its tables, and workspaces for the threads that play
it."""

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from catena.kernels import shortcut
from catena.kernels.cache_lines import aligned
from catena.kernels.code import loops
from catena.kernels.constants import WORD
from catena.kernels.driver import TABLE, with_runs
from catena.kernels.tape import Tape
from catena.kernels.teams.crew import Crew, crew
from catena.kernels.teams.team import CALLS_WORTH_SHARING, Team, team_for
from catena.kernels.teams.threads import useful_threads

# The word of the loop's arguments that holds the team.
_TEAM = 21
# The tasks of a team are made for a tape that has been played so often for one state: making them takes about as long.
_PLAYS_WORTH_A_TEAM = 500
# A thread is worth waking for about this many step calls.
_CALLS_WORTH_A_THREAD = 2000
# The part of a batch that threads begin with, and the number of portions for each that the rest is shared in, so that
# one that begins late costs little.
_OWN, _PORTIONS = 0.75, 8
# Occasional sweeps are made in the first step of a call and in no other, or in all of them.
ONLY_FIRST, EVERY_TIME = (1 << 62, -1), (1, 0)
# Results of so many numbers are worth an array of their own making.
_LARGE = 1 << 14


_entry: dict[tuple[int, str], Any] = {}


def entry(lanes: int, loop: str = "run") -> Any:
    """Return a compiled loop as Python calls it; other threads run meanwhile."""
    if (lanes, loop) not in _entry:
        _entry[lanes, loop] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(loops(lanes)[loop])
    return _entry[lanes, loop]


def run_words(words: np.ndarray, lanes: int, team: Team | None) -> int:
    """Run the compiled loop on its arguments and return the status, with the help of a team where there is one and it
    is free."""
    if team is None or not (helpers := crew()).busy.acquire(blocking=False):
        words[_TEAM] = 0
        return int(entry(lanes)(address(words)))
    try:
        words[_TEAM] = team.address
        team.ask_for_help(helpers, "run")
        return int(entry(lanes, "run_helped")(address(words)))
    finally:
        helpers.busy.release()


def address(x: np.ndarray) -> int:
    """Return where the data of an array begins; the short way where the layout of arrays is known."""
    if shortcut.is_trustworthy():
        return _word(id(x) + shortcut.DATA).value
    return x.ctypes.data


_word = ctypes.c_int64.from_address


def _addresses(rows: list[np.ndarray]) -> list[int]:
    """Return where the data of arrays begin."""
    if shortcut.is_trustworthy():
        return [_word(id(x) + shortcut.DATA).value for x in rows]
    return [x.ctypes.data for x in rows]


def _strides(x: np.ndarray) -> tuple[int, int]:
    """Return how many doubles lie between one state and the next, and between one step and the next."""
    if x.ndim == 3:
        return (0 if len(x) == 1 else x.shape[1] * x.shape[2]), x.shape[2]
    return (x.shape[1] if x.ndim == 2 else 0), 0


def _table(rows: Iterable[tuple[int, ...]]) -> np.ndarray:
    return np.array(list(rows), dtype=np.int64).reshape(-1, TABLE)


def _is_filled(shape: tuple[int, ...], offsets: np.ndarray) -> bool:
    """Return whether columns at byte offsets fill an array for one state."""
    written = np.zeros(prod(shape), dtype=bool)
    written[offsets // WORD] = True
    return bool(written.all())


class Program:
    """A tape with its tables. `run` takes arrays of shape (states, columns); `single` makes a function for
    one state."""

    def __init__(self, tape: Tape) -> None:
        self.tape, self.work = tape, tape.work
        self.input_names = tuple(tape.inputs)
        self.output_names = tuple(tape.outputs)
        self._tables = {n: np.ascontiguousarray(t) for n, (_, t) in tape.inputs.items()}
        self._tables |= {n: with_runs(np.ascontiguousarray(t)) for n, (_, t) in tape.outputs.items()}
        self._columns = {n: (len(t), t.ctypes.data) for n, t in self._tables.items()}
        self._widths = {n: prod(shape) for n, (shape, _) in tape.outputs.items()}
        self._is_filled = {n: _is_filled(shape, t[:, 0]) for n, (shape, t) in tape.outputs.items()}
        self._addresses = (len(tape.calls), tape.calls.ctypes.data), tape.constants.ctypes.data
        self._in_table = _table((0, 0, *self._columns[n], 0) for n in self.input_names)
        self._out_tables: dict[tuple[str, ...] | None, tuple[list[str], np.ndarray]] = {}
        self._workspaces: list[tuple[np.ndarray, int]] = []
        self._teams: dict[tuple[int, int, int | None], Team | None] = {}
        self._plays = 0

    def with_constants(self, first: np.ndarray) -> "Program":
        """Return the same program with other constants in the place of the first ones of its tape."""
        constants = self.tape.constants.copy()
        constants[: len(first)] = first
        other = copy(self)
        other.tape = replace(self.tape, constants=constants)
        other._addresses = self._addresses[0], constants.ctypes.data
        other._workspaces = []
        return other

    def team(self, plays: int = 1, first: int = 0, last: int | None = None) -> Team | None:
        """Return the threads that share the calls (from `first` to before `last`) for one state, which is to be played
        so many times now; None where it is quicker alone, or the plays so far are too few to make the tasks for."""
        self._plays += plays
        if self.tape.division is None or self._plays < _PLAYS_WORTH_A_TEAM or (count := useful_threads()) < 2:
            return None
        key = (count, first, last)
        try:
            team = self._teams[key]
        except KeyError:
            team = self._teams[key] = team_for(self.tape, *key)
        return team if team is not None and team.is_wanted(plays) else None

    def columns(self, name: str) -> tuple[int, int]:
        """Return how many columns an input or output has, and where the table of their slots begins."""
        return self._columns[name]

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        states: int,
        count: int | None = None,
        steps: int = 1,
        every: int | None = None,
        rare: tuple[int, int] = (1, 0),
        wanted: Sequence[str] | None = None,
        into: Mapping[str, np.ndarray] | None = None,
    ) -> tuple[int, dict[str, np.ndarray]]:
        """Play the tape for `states` states. Each input is C-contiguous float64 of shape (states, columns),
        or (columns,) for one row that all states share. Returns the status word of the driver and the
        outputs, each of shape (states, *shape).

        With `every`, the tape is played `steps` times for each state, and outputs are recorded after every so
        many: they have shape (states, steps // every, *shape). An input may then have shape (states, steps,
        columns), or (1, steps, columns) for all states. Without `every` only the last of the steps is recorded. `rare`
        says in every how many-th step the occasional sweeps of the algorithm are made, and how many steps ago they were
        made last. Only the outputs `wanted` are returned, all of them if None. `into` has arrays that outputs are
        written to, C-contiguous float64 of their shape; new ones are made of others.
        """
        samples = () if every is None else (steps // every,)
        names, table = self._wanted(wanted)
        outs, shapes = table.copy(), self.tape.outputs
        outputs = dict[str, np.ndarray]()
        for n in names:
            outputs[n] = self._place(n, (states, *samples, *shapes[n][0]), into or {})
        if states == 0:
            return 0, outputs
        rows, ins = [inputs[n] for n in self.input_names], self._in_table.copy()
        ins[:, 0] = _addresses(rows)
        if states > 1 or steps > 1:
            ins[:, (1, 4)] = [_strides(x) for x in rows]
        outs[:, 0] = _addresses(list(outputs.values()))
        outs[:, 1] *= max(1, *samples, 1)
        time = (steps, every or steps, *self.tape.rare, *rare)
        lanes = self.tape.lanes
        blocks = -(-states // lanes)
        asked, count = count, 1
        if blocks > 1:
            worth = min(blocks, blocks * self.work * steps // _CALLS_WORTH_A_THREAD)
            count = min(asked or useful_threads(), worth) if worth > 1 else 1
        if count > 1:
            helpers = crew()
            if helpers.busy.acquire(blocking=False):
                try:
                    return self._together(helpers, ins, outs, states, blocks, count, time), outputs
                finally:
                    helpers.busy.release()
        workspace = self._borrow()
        # Named, so that it lives as long as the compiled code counts in it.
        counter = np.array([states], dtype=np.int64)
        words = self._words(workspace[1], ins, outs, states, counter, lanes, (0, states), time)
        team = self.team(steps) if blocks == 1 and asked != 1 else None
        try:
            return run_words(words, lanes, team), outputs
        finally:
            self._workspaces.append(workspace)

    def _wanted(self, names: Sequence[str] | None) -> tuple[list[str], np.ndarray]:
        """Return the outputs that are wanted, in order, and the table of these, whose addresses are to be filled in."""
        key = None if names is None else tuple(names)
        found = self._out_tables.get(key)
        if found is None:
            wanted = [n for n in self.output_names if key is None or n in key]
            table = _table((0, self._widths[n], *self._columns[n], self._widths[n]) for n in wanted)
            found = self._out_tables[key] = wanted, table
        return found

    def _place(self, name: str, shape: tuple[int, ...], into: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return an array for an output: the one that is given, or a new one; zero where nothing will be written. A
        large one begins on a cache line, so that no store goes to two of them."""
        filled, size = self._is_filled[name], prod(shape)
        if name in into:
            if not filled:
                into[name][...] = 0.0
            return into[name]
        if size < _LARGE:
            return np.empty(shape) if filled else np.zeros(shape)
        return aligned(size, filled=filled).reshape(shape)

    def _together(
        self,
        helpers: Crew,
        ins: np.ndarray,
        outs: np.ndarray,
        states: int,
        blocks: int,
        count: int,
        time: tuple[int, ...],
    ) -> int:
        """Run a batch on `count` threads: each begins with a large part of its own, and they share the rest in small
        portions."""
        lanes = self.tape.lanes
        own = int(_OWN * blocks) // count
        portion = max(1, (blocks - own * count) // (_PORTIONS * count)) * lanes
        counter = np.full(1, own * count * lanes, dtype=np.int64)
        workspaces = [self._borrow() for _ in range(count)]
        words = [
            self._words(
                w[1], ins, outs, states, counter, portion, (k * own * lanes, (k + 1) * own * lanes), time
            )
            for k, w in enumerate(workspaces)
        ]
        try:
            return helpers.run(loops(lanes), address(words[0]), [address(w) for w in words[1:]])
        finally:
            self._workspaces.extend(workspaces)

    def _borrow(self) -> tuple[np.ndarray, int]:
        """Return a workspace that no other thread uses, and its address."""
        # No lock: a fork could find it taken, and taking from a list is one step.
        try:
            return self._workspaces.pop()
        except IndexError:
            pass
        workspace = aligned(self.tape.workspace_bytes // WORD)
        return workspace, workspace.ctypes.data

    def _words(
        self,
        workspace: int,
        ins: np.ndarray,
        outs: np.ndarray,
        states: int,
        counter: np.ndarray,
        portion: int,
        own: tuple[int, int],
        time: tuple[int, ...] = (1, 1, -1, -1, 1, 0),
        stride: int = 0,
    ) -> np.ndarray:
        tape, constants = self._addresses
        return np.array(
            (
                *tape,
                workspace,
                constants,
                len(ins),
                address(ins),
                len(outs),
                address(outs),
                states,
                address(counter),
                portion,
                *own,
                *time,
                stride,
                self.tape.rest,
                0,
            ),
            dtype=np.int64,
        )

    def single(self, quaternions: Sequence[int] = ()) -> Any:
        """Return a function of one array for each input, in the order of `input_names`, that computes one state the
        shortest way. Threads may share it.

        It returns the first output, or where there are several a pair: the first, and the entries of all others one
        after the other, in the order of `output_names`. None says that something is out of the ordinary: an argument
        that is no plain float64 array of the right length, a quaternion (they begin at these columns of the first
        input) not of unit length, a number that is not finite.
        """
        tape = self.tape
        if not shortcut.is_trustworthy() or not all(self._is_filled.values()):
            return lambda *rows: None
        ins = self._in_table.copy()
        outs = _table((0, 0, *self._columns[n], 0) for n in self.output_names)
        workspace = self._borrow()
        counter = np.zeros(1, dtype=np.int64)
        words = self._words(workspace[1], ins, outs, 1, counter, 1, (0, 1))

        def made(loop: str) -> Any:
            return shortcut.make(
                loops(tape.lanes), words, ins, outs, [shape for shape, _ in tape.outputs.values()],
                [width for width, _ in tape.inputs.values()], quaternions, loop, keep=(self, workspace, counter),
            )  # fmt: skip

        alone = made("run_one")
        if tape.division is None or len(tape.calls) < CALLS_WORTH_SHARING:
            return alone
        helped, word = made("run_helped"), words.data

        def shared(*rows: Any) -> Any:
            """Compute one state, with the help of other threads where they are free."""
            team = self.team()
            if team is None or not (helpers := crew()).busy.acquire(blocking=False):
                word[_TEAM] = 0
                return alone(*rows)
            try:
                word[_TEAM] = team.address
                team.ask_for_help(helpers, "run_one")
                return helped(*rows)
            finally:
                helpers.busy.release()

        return shared
