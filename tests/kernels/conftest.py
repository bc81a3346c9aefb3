"""Lowered expressions that can be called on NumPy arrays, and Python programs in fresh processes."""

import ctypes
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from catena.kernels import target
from catena.kernels.machine_code.engine import compile_object, load_object
from catena.kernels.machine_code.lowering import RECORDS, Slot, lower, prelude
from catena.kernels.program import aligned


def compiled(expressions, symbols):
    """Scalar expressions of scalar symbols as a function of arrays (n,), computed in lanes."""
    lanes = target().lanes
    loads = [(Slot(0, k), s) for k, s in enumerate(symbols)]
    stores = [(Slot(1, k), e) for k, e in enumerate(expressions)]
    code = compile_object(prelude(lanes) + lower("f", loads, stores, lanes))
    loaded = load_object("test", code, ["f"])
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (RECORDS + 1))(loaded["f"])
    call.loaded = loaded  # it goes with its last holder

    def run(*arguments):
        n = len(arguments[0])
        blocks = -(-n // lanes)
        ins = aligned(blocks * len(symbols) * lanes).reshape(blocks, len(symbols), lanes)
        outs = aligned(blocks * len(expressions) * lanes).reshape(blocks, len(expressions), lanes)
        for k, x in enumerate(arguments):
            padded = np.concatenate([x, np.repeat(x[-1:], blocks * lanes - n)])
            ins[:, k] = padded.reshape(blocks, lanes)
        for i in range(blocks):
            call(ins[i].ctypes.data, *[outs[i].ctypes.data] * RECORDS)
        return np.swapaxes(outs, 0, 1).reshape(len(expressions), -1)[:, :n].copy()

    return run


def in_fresh_process(program, **environment):
    """Run a Python program that prints one JSON value last; return that value."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=600,  # a busy machine is slow; only what hangs is cut off
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def compile_expressions():
    """`compiled`."""
    return compiled


@pytest.fixture(scope="session")
def fresh_process():
    """`in_fresh_process`."""
    return in_fresh_process
