"""Repeat cases of a fuzzer: python -m tests.fuzz mechanisms 17, or 17 40 for all from 17 up to 39."""

import os
import sys
import tempfile
from importlib import import_module

from tests.fuzz.watching import limited

name, first, *last = sys.argv[1:]
check = import_module(f"tests.fuzz.test_{name}").check
with tempfile.TemporaryDirectory(prefix="catena_fuzz_") as folder:
    # Some calls write files under names that are bad, or that nobody gave.
    os.chdir(folder)
    for seed in range(int(first), int(last[0]) if last else int(first) + 1):
        wrong = limited(check, seed)
        for sentence in wrong or ["nothing is wrong"] * (not last):
            print(f"{name} {seed}: {sentence}", flush=True)
