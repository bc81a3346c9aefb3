"""A first call that is interrupted anywhere leaves nothing behind that is in the way of the next one."""

import os

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")

# Every attempt is a first call, in a forked process. Afterwards the call is repeated, and another thread, which would
# wait for ever for a lock that was left taken, does something that has to be loaded too.
BEGIN = """
import json, linecache, os, signal, sys, threading, time
import numpy as np
import catena as ct
m = ct.Mechanism("pendulum")
m.add_body("bob", mass=1.0, com=(0.0, 0.0, -1.0), inertia=0.1)
m.add_joint("pin", "ground", "bob", ct.Revolute("y"))
s = m.system()

def compute():
    return [s.potential_energy([0.3]).item().hex(), s.kinetic_energy([0.3], [2.0]).item().hex()]

def in_child(work):
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        found = None
        try:
            found = work()
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        os.write(here, json.dumps(found).encode())
        os._exit(0)
    os.close(here)
    with os.fdopen(there) as file:
        text = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(text) if status == 0 and text else f"ended with {status}"

def afterwards():
    found, more = compute(), []
    thread = threading.Thread(target=lambda: more.append(s.center_of_mass([0.3])), daemon=True)
    thread.start()
    thread.join(200.0)
    return found if more else "another thread waits for ever"

def after(interrupt):
    def work():
        try:
            interrupt()
            compute()
        except KeyboardInterrupt:
            pass
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        return afterwards()
    return in_child(work)

in_child(afterwards)  # fills the cache
expected = in_child(afterwards)
"""

TRACED = """
class Trace:
    def __init__(self, at=None):
        self.at, self.seen = at, []
    def __call__(self, frame, event, argument):
        file = frame.f_code.co_filename
        if "llvmlite" in file or os.path.basename(file) in {files} and "kernels" in file:
            # Where a block ends a trace is called on the line it began with, in the one place where no signal can come.
            if event == "line" and not linecache.getline(file, frame.f_lineno).strip().startswith("with "):
                self.seen.append(os.path.basename(file) == "engine.py")
                if self.at == len(self.seen) - 1:
                    raise KeyboardInterrupt
            return self

def count():
    trace = Trace()
    sys.settrace(trace)
    compute()
    sys.settrace(None)
    return trace.seen
seen = in_child(count)
# All points in the file that loads, and some of all others.
points = sorted({{k for k, special in enumerate(seen) if special}} | set(range(0, len(seen), len(seen) // 12)))
wrong = []
for k in points:
    found = after(lambda: sys.settrace(Trace(k)))
    if found != expected:
        wrong.append(found)
    if len(wrong) == 3:
        break
print(json.dumps([len(points), wrong]))
"""


def test_an_exception_at_any_line_of_the_loader(fresh_process, tmp_path):
    files = {"engine.py", "undisturbed.py", "code.py", "cache.py", "cpu.py", "private_folder.py"}
    program = BEGIN + TRACED.format(files=sorted(files))
    count, wrong = fresh_process(program, CATENA_CACHE=str(tmp_path / "cache"))
    assert count > 12 and wrong == []


SIGNALLED = """
def handler(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)

def duration():
    start = time.monotonic()
    compute()
    return time.monotonic() - start

def signals(count):
    longest = max(in_child(duration) for _ in range(3))
    delays = [longest * (k + 0.5) / count for k in range(count)]
    return [after(lambda: signal.setitimer(signal.ITIMER_REAL, d)) for d in delays]

found = signals(40)
os.environ["CATENA_CACHE"] = {empty!r}
found += signals(8)
print(json.dumps([f for f in found if f != expected]))
"""


@pytest.mark.slow
def test_a_signal_at_any_time(fresh_process, tmp_path):
    """Where code is loaded, and where it is compiled, because a file stands where its folder should be."""
    (tmp_path / "file").write_text("")
    program = BEGIN + SIGNALLED.format(empty=str(tmp_path / "file" / "cache"))
    assert fresh_process(program, CATENA_CACHE=str(tmp_path / "cache")) == []


def test_an_interrupted_process_ends(fresh_process, tmp_path):
    """A thread may still be at work in LLVM when the interpreter comes to its end."""
    program = (
        BEGIN
        + """
import subprocess
program = '''
import signal, sys
import catena as ct
from catena.kernels.machine_code.engine import compile_object
m = ct.Mechanism("pendulum")
m.add_body("bob", mass=1.0, inertia=0.1)
m.add_joint("pin", "ground", "bob", ct.Revolute("y"))
s = m.system()
def handler(*_):
    sys.exit(3)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.35)
while True:
    compile_object("define double @f(double %x) { ret double %x }")
'''
print(json.dumps([subprocess.run([sys.executable, "-c", program]).returncode for _ in range(2)]))
"""
    )
    assert fresh_process(program, CATENA_CACHE=str(tmp_path / "cache")) == [3, 3]
