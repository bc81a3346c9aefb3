"""Work that no signal interrupts is done in another thread, and everything else about it stays the same."""

import _thread
import signal
import threading

import pytest

from catena.kernels.undisturbed import undisturbed


def test_results_and_exceptions_come_back():
    assert undisturbed(lambda: 42) == 42

    def fail():
        raise ValueError("of the work")

    with pytest.raises(ValueError, match="of the work"):
        undisturbed(fail)


def test_the_main_thread_has_another_one_do_it_and_others_do_it_themselves():
    assert undisturbed(threading.get_ident) != threading.get_ident()
    found = []
    thread = threading.Thread(
        target=lambda: found.append(undisturbed(threading.get_ident) == threading.get_ident())
    )
    thread.start()
    thread.join()
    assert found == [True]


def test_work_within_work_is_done():
    assert undisturbed(lambda: undisturbed(lambda: 7)) == 7


def test_without_another_thread_it_is_done_all_the_same(monkeypatch):
    def refuse(*arguments):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    assert undisturbed(threading.get_ident) == threading.get_ident()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this platform sends no signals to threads")
def test_an_interrupted_wait_ends_at_once_and_the_work_is_finished():
    main = threading.get_ident()
    go, done = threading.Event(), threading.Event()

    def work():
        signal.pthread_kill(main, signal.SIGINT)
        go.wait(300.0)
        done.set()

    # Whoever runs the tests in the background may have been told to ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            undisturbed(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not done.is_set()
    go.set()
    assert done.wait(300.0)
