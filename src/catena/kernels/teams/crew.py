"""Threads that help with a batch, and the compiled code that hands work to them.

Waking a sleeping thread takes as long as the dynamics of hundreds of states. So a helper that has finished a
job keeps looking for the next one for a millisecond or two, in compiled code and without Python's
lock, and only then goes to sleep. One that nobody has called for some seconds ends.

A helper's mailbox, in int64 words: 0 state of the job (0 none, 1 offered, 2 taken, 3 done), 1 arguments of
the job, 2 its status, 3 whether the helper is awake and looking, 4 the loop that does the job. `offer_and_run` offers
jobs, does its own share, does what nobody has taken and waits for the rest; since most of the work is shared as it
goes, a helper that comes late or never costs little but its help.
"""

import atexit
import contextlib
import ctypes
import os
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from catena.kernels.cache_lines import aligned
from catena.kernels.machine_code.engine import Code
from catena.kernels.machine_code.llvm_text import OFFER, wait, withdraw, word
from catena.kernels.machine_code.platforms import Platform

if TYPE_CHECKING:
    from catena.kernels.teams.team import Team

MAILBOX = 8  # words: one mailbox fills a cache line
_LOOKS = 100_000  # between one and two milliseconds; a pause takes tens of cycles
_IDLE = (
    2.0  # seconds without a call after which a helper ends; a new one takes a tenth of a millisecond to come
)


def text(platform: Platform) -> str:
    """Return LLVM text of `serve(mailbox, looks)` and of `offer_and_run(arguments, addresses of mailboxes, their
    count) -> status`, for systems of one sort."""
    return f"""
{platform.declare_pause}
define void @serve(ptr %mailbox, i64 %looks) {{
entry:
  %status_p = getelementptr i64, ptr %mailbox, i64 2
  %awake_p = getelementptr i64, ptr %mailbox, i64 3
  store atomic i64 1, ptr %awake_p release, align 8
  br label %look
look:
  %k = phi i64 [0, %entry], [%k1, %rest], [0, %work]
  %state = load atomic i64, ptr %mailbox acquire, align 8
  %offered = icmp eq i64 %state, 1
  br i1 %offered, label %take, label %rest
rest:
  {platform.pause}
  %k1 = add i64 %k, 1
  %again = icmp slt i64 %k1, %looks
  br i1 %again, label %look, label %sleep
take:
  %swap = cmpxchg ptr %mailbox, i64 1, i64 2 acq_rel acquire, align 8
  %got = extractvalue {{i64, i1}} %swap, 1
  br i1 %got, label %work, label %rest
work:
{word("job", "%mailbox", 1, "ptr")}
{word("loop", "%mailbox", 4, "ptr")}
  %status = call i64 %loop(ptr %job)
  store i64 %status, ptr %status_p, align 8
  store atomic i64 3, ptr %mailbox release, align 8
  br label %look
sleep:
  store atomic i64 0, ptr %awake_p release, align 8
  ret void
}}

define i64 @offer_and_run(ptr %arguments, ptr %mailboxes, i64 %count) {{
entry:
  br label %offer
{OFFER}
  %mine = call i64 @run(ptr %arguments)
  br label %collect
collect:
  %j = phi i64 [0, %own], [%j1, %next]
  %status = phi i64 [%mine, %own], [%status1, %next]
  %left = icmp slt i64 %j, %count
  br i1 %left, label %withdraw, label %end
{withdraw("stand_in")}
stand_in:
{word("job", "%box_j", 1, "ptr")}
  %instead = call i64 @run(ptr %job)
  br label %next
{wait(platform)}
{word("theirs", "%box_j", 2)}
  store atomic i64 0, ptr %box_j release, align 8
  br label %next
next:
  %found = phi i64 [%instead, %stand_in], [%theirs, %finished]
  %status1 = or i64 %status, %found
  %j1 = add i64 %j, 1
  br label %collect
end:
  ret i64 %status
}}
"""


_Serve = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
_LetGo = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
_Offer = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class _Helper:
    """A thread that is there while it is called now and then, and its mailbox."""

    def __init__(self, serve: int) -> None:
        box = aligned(MAILBOX, np.int64)
        self.address = box.ctypes.data
        # Single words are read and written more quickly through a view.
        self.mailbox: memoryview[int] = box.data
        self._serve = _Serve(serve)
        self._calls: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_there = False

    def wake_if_possible(self) -> None:
        """Make the thread look into its mailbox. A system that has no more threads to give leaves the work to those
        that are there."""
        with contextlib.suppress(RuntimeError):
            self._wake()

    def _wake(self) -> None:
        with self._lock:
            self._calls.put(None)
            if not self._is_there:
                threading.Thread(target=self._work, name="catena-helper", daemon=True).start()
                self._is_there = True

    def _work(self) -> None:
        while True:
            try:
                self._calls.get(timeout=_IDLE)
            except queue.Empty:
                with self._lock:
                    if self._calls.empty():
                        self._is_there = False
                        return
            else:
                self._serve(self.address, _LOOKS)


class Crew:
    """Helpers, as many as were ever asked for at once. One batch at a time has their help; a second one that comes
    meanwhile goes without."""

    def __init__(self) -> None:
        self.busy = threading.Lock()
        self._helpers: list[_Helper] = []
        self._mailboxes, self._boxes = np.zeros(0, dtype=np.int64), 0
        # The team that helpers have stayed with since its last call, and the code that lets them go.
        self.team: Team | None = None
        self._let_go: Callable[[int], int] | None = None

    def run(self, code: Code, arguments: int, jobs: list[int]) -> int:
        """Run a batch with one job (the address of its arguments) for each of the first helpers. The caller
        holds `busy`."""
        offer = _Offer(code["offer_and_run"])
        return int(offer(arguments, self._prepared(code, "run", jobs), len(jobs)))

    def attach(self, code: Code, team: "Team", jobs: list[int]) -> int:
        """Make ready jobs for `assist`, which `run_helped` offers to helpers that are not with the team yet, and return
        where the addresses of the mailboxes lie. The caller holds `busy`."""
        if team is not self.team:
            self._prepared(code, "assist", jobs)
            team.expect_nobody()
            self.team, self._let_go = team, _LetGo(code["let_go"])
            return self._boxes
        for k in range(len(jobs)):
            helper = self._helpers[k]
            if not helper.mailbox[3]:
                helper.wake_if_possible()
        return self._boxes

    def let_go(self) -> None:
        """Let helpers go that have stayed with a team, and wait until they have. The caller holds `busy`."""
        if self.team is not None and self._let_go is not None:
            self._let_go(self.team.address)
            self.team = self._let_go = None

    def _prepared(self, code: Code, loop: str, jobs: list[int]) -> int:
        """Put jobs into mailboxes and wake who sleeps; return where the addresses of the mailboxes lie."""
        self.let_go()
        while len(self._helpers) < len(jobs):
            self._helpers.append(_Helper(code["serve"]))
            self._mailboxes = np.array([h.address for h in self._helpers], dtype=np.int64)
            self._boxes = self._mailboxes.ctypes.data
        for helper, job in zip(self._helpers, jobs):
            helper.mailbox[1], helper.mailbox[4] = job, code[loop]
            if not helper.mailbox[3]:
                helper.wake_if_possible()
        return self._boxes


_crew = Crew()


@atexit.register
def _end() -> None:
    """Let helpers go before what they look at is gone."""
    if _crew.busy.acquire(blocking=False):
        _crew.let_go()
        _crew.busy.release()


def crew() -> Crew:
    """Return the crew of this process."""
    return _crew


def _start_again() -> None:
    """Forget the helpers in a forked process, which has one thread only."""
    global _crew
    _crew = Crew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)
