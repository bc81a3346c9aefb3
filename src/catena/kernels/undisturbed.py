"""Work that no signal interrupts, and locks that no fork finds taken.

Python runs signal handlers in the main thread, between any two of its instructions, so Ctrl-C can raise anywhere there.
The binding of LLVM does not survive that everywhere: its lock stays taken for good, or a library is linked that nobody
knows of. So such work is done in a thread of its own, which no signal reaches, while the main thread waits.
"""

import _thread
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
# LLVM goes deep into large steps; some systems give threads a tenth of the usual stack.
_STACK = 1 << 25
# A signal that comes just before the wait begins does not end it, so the wait is taken up anew every so many seconds.
_LOOK = 0.05


def undisturbed(work: Callable[[], T]) -> T:
    """Do some work that no signal interrupts, and return its result. An exception that a signal raises while the
    caller waits is passed on at once; the work is finished all the same, and its result dropped."""
    if threading.get_ident() != threading.main_thread().ident:
        return work()
    answer: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def do() -> None:
        try:
            answer.put((work(), None))
        except BaseException as error:
            answer.put((None, error))

    before = _thread.stack_size(_STACK)
    try:
        # The thread of `threading` waits in Python until it has begun, where a signal would leave it waiting for ever.
        _thread.start_new_thread(do, ())
    except RuntimeError:  # there are too many threads, or the interpreter is about to end
        return work()
    finally:
        _thread.stack_size(before)
    while True:
        try:
            result, error = answer.get(timeout=_LOOK)
            break
        except Empty:
            continue
    if error is not None:
        raise error
    return result


def hold_in_forks(lock: Any) -> None:
    """Make every fork wait until nobody holds this lock: a child has one thread only, and would wait for ever for a
    lock that another one held. Locks that are taken together are to be registered inner ones first."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
