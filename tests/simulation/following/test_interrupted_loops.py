"""Ctrl-C in a loop of runs ends the loop, and elsewhere the run is returned and nothing else is stopped."""

import subprocess
import sys

SCRIPT = """
import os, signal
import catena as ct

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs tests in the background ignores it

m = ct.Mechanism("pendulum")
m.add_body("bob", 1.0, com=(0.5, 0, 0), inertia=0.1)
m.add_joint("A", "ground", "bob", ct.Revolute("y"))
s = m.system()


def control(t, q, v):
    if t > 0.05 and not sent:
        sent.append(True)
        os.kill(os.getpid(), signal.SIGINT)
    return 0.0 * v


def one():
    return ct.simulate(s, [0.1], [0.0], 0.2, control=control)


sent = []
run = one()
assert run.ended.startswith("interrupted"), run.ended
other = ct.simulate(s, [0.1], [0.0], 0.2)
assert not other.ended
sent, done = [], 0
try:
    for _ in range(5):
        run = one()
        done += 1
except KeyboardInterrupt:
    print("raised after", done, run.ended.split()[0])
"""


def test_a_loop_of_runs_raises_after_the_first_that_is_interrupted():
    found = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert found.stdout.strip() == "raised after 1 interrupted", found.stderr
