"""What all tests share: one cache of compiled code, random mechanisms of bounded variety, and a comparison."""

import os
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.joints import Sdof
from catena.mechanism.generators import random_mechanism

# Every ordered subset of motions is a joint kind of its own to the compiler; three of them stand for all.
SDOF = [Sdof("ry", "rz", "dx"), Sdof("dz", "rx"), Sdof("rz", "ry", "rx", "dx", "dy", "dz")]
KINDS = [
    "Fixed", "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", "Free", *SDOF,
]  # fmt: skip


ROOT = Path(__file__).parents[1]
# What tools make in the project's folder meanwhile, and git does not see.
MADE = {"out", "build", "dist", "htmlcov", "MUJOCO_LOG.TXT"}


def pytest_configure(config):
    """Keep compiled code with pytest's own cache rather than in the user's home."""
    if "CATENA_CACHE" not in os.environ and hasattr(config, "cache") and config.cache is not None:
        folder = config.cache.mkdir("catena")
        folder.chmod(0o700)  # a umask of 002 would leave it to others, and it would be refused
        os.environ["CATENA_CACHE"] = str(folder)


# Of families of like cases `make test` runs the first so many of each function, in files whose path begins so; the
# others belong to the slow set.
FEWER = {
    "tests/agreement/test_what_a_run_tells.py::test_a_source_at_a_joint": 8,
    "tests/agreement/test_what_a_run_tells.py::test_a_linkage_with_a_rod": 1,
    "tests/agreement": 2, "tests/benchmarks": 2, "tests/bodies": 3, "tests/changing": 3, "tests/cli/test_demo.py": 2,
    "tests/cli": 3, "tests/dynamics": 3, "tests/equations": 3, "tests/examples/test_examples.py": 3, "tests/flying": 3,
    "tests/formats/test_same_motion.py": 10, "tests/joints": 12, "tests/kernels": 3, "tests/kinematics": 4,
    "tests/simulation": 3, "tests/system": 3, "tests/view": 6,
}  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave to the slow set what only repeats other cases."""
    seen = Counter()
    for item in items:
        function = item.nodeid.split("[")[0]
        most = next((n for start, n in FEWER.items() if function.startswith(start)), None)
        seen[function] += 1
        if most is not None and seen[function] > most:
            item.add_marker(pytest.mark.slow)


def mixed_mechanism(seed, bodies=9, kinds=KINDS, **options):
    """A random tree over all joint kinds in both directions, under a random gravity; odd seeds float."""
    mechanism = random_mechanism(seed, bodies, kinds, **({"floating": bool(seed % 2)} | options))
    mechanism.gravity = np.random.default_rng(seed).normal(size=3) * 6.0
    return mechanism


def assert_agree(ours, theirs, tolerance, scale=0.0):
    """The largest difference is at most `tolerance` times the largest entry of `theirs`, or times `scale` if more."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    error = np.max(np.abs(ours - theirs), initial=0.0)
    size = max(np.max(np.abs(theirs), initial=0.0), scale)
    assert error <= tolerance * size, (
        f"difference {error:.3g} on {size:.3g}: {error / (size or 1.0):.3g} > {tolerance:.3g}"
    )


def derivative_at_zero(f, h=4e-3):
    """The derivative of a smooth function of one number at zero by differences of sixth order."""
    difference = [f(k * h) - f(-k * h) for k in (1, 2, 3)]
    return (45.0 * difference[0] - 9.0 * difference[1] + difference[2]) / (60.0 * h)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_in_the_project():
    """Files that tests write into the project's folder end up in commits; a test writes into a folder of its own."""
    before = set(os.listdir(ROOT))
    yield
    left = [name for name in set(os.listdir(ROOT)) - before if name[0] not in "._" and name not in MADE]
    assert not left, f"a test wrote {sorted(left)} into the project's folder: let it write to tmp_path"


@pytest.fixture(autouse=True)
def no_figure_is_left_to_others():
    """Close the figures of a test: which test comes next on a worker hangs on how quick the machine is."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


@pytest.fixture(scope="session")
def mixed():
    """`mixed_mechanism`, as a function of the seed."""
    return mixed_mechanism


@pytest.fixture(scope="session")
def agree():
    """`assert_agree`."""
    return assert_agree


@pytest.fixture(scope="session")
def derivative():
    """`derivative_at_zero`."""
    return derivative_at_zero


@pytest.fixture(scope="session")
def geared_loop():
    """A spatial slider-crank without redundant constraints, whose slider carries a rotor and turns an arm by a gear."""

    def make(armature=0.3):
        m = ct.Mechanism("geared slider crank", gravity=(1.0, 2.0, -9.0))
        m.add_body("crank", mass=1.0, com=(0.1, 0, 0.05), inertia=(0.02, 0.03, 0.04))
        m.add_body("coupler", mass=0.8, com=(0.4, 0.1, 0), inertia=(0.01, 0.05, 0.05))
        m.add_body("slider", mass=0.5, com=(0, 0, 0.1), inertia=0.02)
        m.add_body("arm", mass=0.3, com=(0.1, 0, 0.02), inertia=0.01)
        m.add_joint("A", "ground", "crank", ct.Revolute("z"))
        m.add_joint("U", "crank", "coupler", ct.Universal("y", "z"), in_parent=ct.Pose(p=(0.3, 0, 0.1)))
        m.add_joint("P", "ground", "slider", ct.Prismatic("x"), ct.Pose(p=(1.0, 0.1, 0)), armature=armature)
        m.add_joint("B", "coupler", "slider", ct.Spherical(), in_parent=ct.Pose(p=(0.8, 0, 0)))
        m.add_joint("E", "slider", "arm", ct.Revolute("y"), in_parent=ct.Pose(p=(0, 0, 0.1)))
        m.add_coupling("gear", {"P": 2.0, "E": 1.0, "A": 0.5})
        return m

    return make
