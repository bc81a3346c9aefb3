"""Ctrl-C: what there is gets saved."""

import csv
import os
import signal
import subprocess
import sys

import pytest

SLOW = """
import sys
import time

import catena as ct
import numpy as np


def make():
    return ct.generators.chain(1, axes="y")


def wait(t, q, v):
    time.sleep(0.002)
    print("asked", file=sys.stderr, flush=True)
    return np.zeros_like(v)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
def test_ctrl_c_keeps_what_there_is(tmp_path):
    model = tmp_path / "slow.py"
    model.write_text(SLOW)
    words = ("run", f"{model}:make", "--control", f"{model}:wait", "--rate", "1000", "--time", "1000")
    process = subprocess.Popen(
        [sys.executable, "-m", "catena", *words, "--out", str(tmp_path / "run.csv")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # Whoever runs the tests in the background may have been told to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    for _ in range(50):
        assert process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    said = [line for line in err.splitlines() if line != "asked"]
    assert process.returncode == 3, err
    assert "Ctrl-C" in said[-1]
    assert "Traceback" not in err
    with open(tmp_path / "run.csv", newline="") as stream:
        last = list(csv.reader(stream))[-1]
    assert 0.0 < float(last[0]) < 1000.0
