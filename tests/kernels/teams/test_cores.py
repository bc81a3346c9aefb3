"""The number of threads: what the user says, else what the process may use; never more than that are put to work."""

import importlib.util
import os

import pytest

from catena.kernels.teams import cores
from catena.kernels.teams.cores import quota

UNIFIED = "0::{group}\n"
DIVIDED = "5:memory:/other\n4:cpu,cpuacct:{group}\n0::/elsewhere\n"


def machine(root, cgroup, mounts, files):
    """A folder that looks like the /proc and /sys of a machine."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    lines = [f"{30 + k} 23 0:{k} {mount} - {kind}\n" for k, (mount, kind) in enumerate(mounts)]
    (root / "proc/self/mountinfo").write_text("".join(lines))
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


ALL = ("/ /sys/fs/cgroup rw,nosuid", "cgroup2 cgroup2 rw")
CPU = ("/ /sys/fs/cgroup/cpu,cpuacct rw", "cgroup cgroup rw,cpu,cpuacct")
MEMORY = ("/ /sys/fs/cgroup/memory rw", "cgroup cgroup rw,memory")


@pytest.mark.parametrize(
    ("cgroup", "mounts", "files", "expected"),
    [
        (UNIFIED.format(group="/a/b"), [ALL], {"sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"}, 1.5),
        (UNIFIED.format(group="/a/b"), [ALL], {"sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, None),
        (
            # The folder around is stricter.
            UNIFIED.format(group="/a/b"), [ALL],
            {"sys/fs/cgroup/a/b/cpu.max": "800000 100000", "sys/fs/cgroup/a/cpu.max": "200000 100000"}, 2.0,
        ),
        # A container that sees its own group as the top.
        (UNIFIED.format(group="/"), [ALL], {"sys/fs/cgroup/cpu.max": "50000 100000"}, 0.5),
        # One that sees a part of the tree, and itself by its name outside.
        (
            UNIFIED.format(group="/docker/x/inner"), [("/docker/x /sys/fs/cgroup rw", "cgroup2 none rw")],
            {"sys/fs/cgroup/cpu.max": "300000 100000", "sys/fs/cgroup/inner/cpu.max": "max 100000"}, 3.0,
        ),
        (
            UNIFIED.format(group="/../other"), [ALL], {"sys/fs/cgroup/cpu.max": "400000 100000"}, 4.0,
        ),
        (
            DIVIDED.format(group="/box"), [MEMORY, CPU],
            {
                "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "250000\n",
                "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            }, 2.5,
        ),
        (DIVIDED.format(group="/box"), [MEMORY], {}, None),
        (UNIFIED.format(group="/"), [ALL], {"sys/fs/cgroup/cpu.max": "many few"}, None),
        ("nonsense", [("x", "y")], {}, None),
    ],
)  # fmt: skip
def test_the_quota_of_control_groups(tmp_path, cgroup, mounts, files, expected):
    assert quota(machine(tmp_path, cgroup, mounts, files)) == expected


def test_without_control_groups_there_is_no_quota(tmp_path):
    assert quota(tmp_path) is None


CASES = [
    # cores, quota, what the environment says, expected: the number asked for, the number put to work
    (6, None, {}, [6, 6]),
    (6, 2.5, {}, [3, 3]),
    (6, 0.3, {}, [1, 1]),
    (6, 16.0, {}, [6, 6]),
    (6, None, {"OMP_NUM_THREADS": "4"}, [4, 4]),
    (6, None, {"OMP_NUM_THREADS": "4,2"}, [4, 4]),
    (6, 2.0, {"OMP_NUM_THREADS": "4"}, [2, 2]),
    (6, None, {"OMP_NUM_THREADS": "plenty"}, [6, 6]),
    (6, None, {"OMP_NUM_THREADS": "0"}, [6, 6]),
    # What is said to Catena holds, but never more threads work than there are cores.
    (6, None, {"OMP_NUM_THREADS": "1", "CATENA_THREADS": "5"}, [5, 5]),
    (2, None, {"CATENA_THREADS": "8"}, [8, 2]),
]


def test_the_number_of_threads(monkeypatch):
    """On machines that are made up, each of which is met anew."""
    found = []
    for count, allowed, environment, _ in CASES:
        with monkeypatch.context() as made_up:
            for name in ("OMP_NUM_THREADS", "CATENA_THREADS"):
                made_up.delenv(name, raising=False)
            for name, value in environment.items():
                made_up.setenv(name, value)
            made_up.setattr(os, "sched_getaffinity", lambda pid, n=count: set(range(n)), raising=False)
            made_up.setattr(cores, "quota", lambda a=allowed: a)
            cores.available_cores.cache_clear()
            fresh = module_anew("catena.kernels.teams.threads")
            found.append([fresh.threads(), fresh.useful_threads()])
    cores.available_cores.cache_clear()
    assert found == [expected for *_, expected in CASES]


def module_anew(name):
    """A second copy of a module, as a new process would have it."""
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes are not pinned here")
def test_on_one_core_no_helper_is_woken(fresh_process):
    program = """
import json, os, threading
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
import catena as ct
from catena.mechanism.generators import arm7
ct.set_threads(8)
x = np.random.default_rng(0).normal(size=(20000, 7))
arm7().system().forward_dynamics(x, x, x)
print(json.dumps([ct.threads(), threading.active_count()]))
"""
    assert fresh_process(program, CATENA_THREADS="") == [8, 1]
