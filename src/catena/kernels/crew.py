"""Threads that help with a batch, and the compiled code that hands work to them.

Waking a sleeping thread takes as long as the dynamics of hundreds of states. So a helper that has finished a
job keeps looking for the next one for a millisecond or two, in compiled code and without Python's
lock, and only then goes to sleep.

A helper's mailbox, in int64 words: 0 state of the job (0 none, 1 offered, 2 taken, 3 done), 1 arguments of
the job, 2 its status, 3 whether the helper is awake and looking. `offer_and_run` offers jobs, does its own
share, does what nobody has taken and waits for the rest; since most of the work is shared as it goes, a helper
that comes late or never costs little but its help.
"""

import ctypes
import queue
import threading
from typing import Any

import numpy as np

MAILBOX = 8  # words: one mailbox fills a cache line
_LOOKS = 100_000  # between one and two milliseconds; a pause takes tens of cycles


def text() -> str:
    """LLVM text of `serve(mailbox, looks) -> whether to sleep` and `offer_and_run(arguments, mailboxes,
    count) -> status`."""
    return f"""
{"declare void @llvm.x86.sse2.pause()" if _pause() else ""}
define void @serve(ptr %mailbox, i64 %looks) {{
entry:
  %job_p = getelementptr i64, ptr %mailbox, i64 1
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
  {_pause()}
  %k1 = add i64 %k, 1
  %again = icmp slt i64 %k1, %looks
  br i1 %again, label %look, label %sleep
take:
  %swap = cmpxchg ptr %mailbox, i64 1, i64 2 acq_rel acquire, align 8
  %got = extractvalue {{i64, i1}} %swap, 1
  br i1 %got, label %work, label %rest
work:
  %job = load ptr, ptr %job_p, align 8
  %status = call i64 @run(ptr %job)
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
offer:
  %i = phi i64 [0, %entry], [%i1, %post]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %post, label %own
post:
  %box = getelementptr [{MAILBOX} x i64], ptr %mailboxes, i64 %i
  store atomic i64 1, ptr %box release, align 8
  %i1 = add i64 %i, 1
  br label %offer
own:
  %mine = call i64 @run(ptr %arguments)
  br label %collect
collect:
  %j = phi i64 [0, %own], [%j1, %next]
  %status = phi i64 [%mine, %own], [%status1, %next]
  %left = icmp slt i64 %j, %count
  br i1 %left, label %withdraw, label %end
withdraw:
  %box_j = getelementptr [{MAILBOX} x i64], ptr %mailboxes, i64 %j
  %swap = cmpxchg ptr %box_j, i64 1, i64 0 acq_rel acquire, align 8
  %untaken = extractvalue {{i64, i1}} %swap, 1
  br i1 %untaken, label %stand_in, label %wait
stand_in:
  %job_p = getelementptr i64, ptr %box_j, i64 1
  %job = load ptr, ptr %job_p, align 8
  %instead = call i64 @run(ptr %job)
  br label %next
wait:
  %state = load atomic i64, ptr %box_j acquire, align 8
  %done = icmp eq i64 %state, 3
  br i1 %done, label %finished, label %pause
pause:
  {_pause()}
  br label %wait
finished:
  %status_p = getelementptr i64, ptr %box_j, i64 2
  %theirs = load i64, ptr %status_p, align 8
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


def _pause() -> str:
    """The instruction that tells the processor that somebody is waiting, where it is known."""
    import platform

    return "call void @llvm.x86.sse2.pause()" if platform.machine() in ("x86_64", "AMD64") else ""


class Crew:
    """`count` helpers. One batch at a time has their help; a second one that comes meanwhile goes without."""

    def __init__(self, count: int, addresses: dict[str, int]) -> None:
        self.count = count
        self.busy = threading.Lock()
        raw = np.zeros((count + 1) * MAILBOX, dtype=np.int64)
        skip = (-raw.ctypes.data % 64) // 8
        self.mailboxes = raw[skip : skip + count * MAILBOX].reshape(count, MAILBOX)
        self._address = self.mailboxes.ctypes.data
        self._serve = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(addresses["serve"])
        self._offer = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
            addresses["offer_and_run"]
        )
        self._calls: list[queue.SimpleQueue[None]] = []
        for k in range(count):
            call: queue.SimpleQueue[None] = queue.SimpleQueue()
            self._calls.append(call)
            threading.Thread(target=self._help, args=(k, call), name=f"catena-{k + 1}", daemon=True).start()

    def _help(self, k: int, call: "queue.SimpleQueue[None]") -> None:
        address = self._address + k * MAILBOX * 8
        while True:
            call.get()
            self._serve(address, _LOOKS)

    def run(self, arguments: int, jobs: list[int]) -> int:
        """Run a batch with one job (the address of its arguments) for each of the first helpers. The caller
        holds `busy`."""
        for k, job in enumerate(jobs):
            self.mailboxes[k, 1] = job
            if not self.mailboxes[k, 3]:
                self._calls[k].put(None)
        return int(self._offer(arguments, self._address, len(jobs)))


_crews: dict[tuple[int, int], Crew] = {}
_lock = threading.Lock()


def crew(count: int, addresses: dict[str, int]) -> Any:
    """The crew of `count` helpers of this process."""
    with _lock:
        key = (count, addresses["run"])
        if key not in _crews:
            _crews[key] = Crew(count, addresses)
        return _crews[key]
