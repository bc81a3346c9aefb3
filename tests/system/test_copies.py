"""Mechanisms, systems and trajectories go through pickles and copies, and compute the same bits afterwards."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.mechanism.generators import arm7, four_bar, hslm, stewart

WAYS = {
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


def parts(mechanism):
    """Everything in a mechanism: names and numbers."""
    found = {"name": mechanism.name, "gravity": mechanism.gravity, "revision": mechanism.revision}
    groups = ("bodies", "joints", "frames", "actuators", "springs", "wrenches")
    for group in groups:
        for name, part in getattr(mechanism, group).items():
            for key, value in vars(part).items():
                if isinstance(value, ct.Pose):
                    found |= {(group, name, key, "p"): value.p, (group, name, key, "quat"): value.quat}
                found[group, name, key] = value
    for what in ("q", "v"):
        found |= {("initial", what, name): x for name, x in getattr(mechanism.initial, what).items()}
    return found


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.tobytes() == b.tobytes() and a.flags.writeable == b.flags.writeable
    return type(a) is type(b) and a == b


def furnished():
    """A mechanism with something of everything."""
    m = four_bar()
    joint = next(iter(m.joints))
    m.add_frame("tip", list(m.bodies)[1], ct.Pose(p=(0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1)))
    m.add_frame("end", list(m.bodies)[2], ct.Pose(quat=(0.5, 0.5, -0.5, 0.5)))
    m.add_actuator("motor", joint, gear=3.0, limits=10.0)
    m.add_spring("coil", joint, stiffness=2.0, damping=0.1)
    m.add_spring_between("rope", "tip", "end", stiffness=5.0, rest_length=0.1)
    m.add_wrench("push", "tip", force=(1.0, 2.0, 3.0))
    m.set_initial(q={joint: 0.4}, v={joint: 0.2})
    return m


@pytest.mark.parametrize("make", [arm7, hslm, furnished, lambda: arm7().lock("joint3", at=0.3)])
def test_a_mechanism_comes_back_whole_and_unchangeable(way, make):
    mechanism = make()
    twin = way(mechanism)
    before, after = parts(mechanism), parts(twin)
    assert before.keys() == after.keys() and twin is not mechanism
    assert [key for key in before if not same(before[key], after[key])] == []


def test_editing_a_copy_leaves_the_original_alone(way):
    mechanism = arm7()
    twin = way(mechanism)
    twin.add_body("more", mass=1.0)
    twin.gravity = (0.0, 0.0, 0.0)
    assert "more" not in mechanism.bodies and mechanism.gravity[2] != 0.0
    assert twin.revision == mechanism.revision + 2


def numbers(system, seed):
    q, v, tau, vdot = random_states(system, 5, seed)
    if system.loops:
        q, v = np.stack([system.assemble()] * 5), np.zeros_like(v)
    single = system.forward_dynamics(q[0], v[0], tau[0])
    return [single, system.forward_dynamics(q, v, tau), system.mass_matrix(q), system.bias_force(q, v)]


@pytest.mark.parametrize("make", [arm7, four_bar, stewart])
def test_a_system_computes_the_same_bits(way, make):
    system = make().system()
    expected = numbers(system, 3)
    twin = way(system)
    assert (twin.joints, twin.loops, twin.nq, twin.nv) == (system.joints, system.loops, system.nq, system.nv)
    assert all(np.array_equal(a, b) for a, b in zip(numbers(twin, 3), expected))
    assert all(np.array_equal(a, b) for a, b in zip(numbers(system, 3), expected))


def test_random_trees_of_all_kinds_compute_the_same_bits(way, mixed):
    for seed in range(4):
        system = mixed(seed).system()
        q, v, tau, _ = random_states(system, 3, seed)
        twin = way(system)
        assert np.array_equal(twin.forward_dynamics(q, v, tau), system.forward_dynamics(q, v, tau))


def test_root_and_cuts_are_kept(way):
    mechanism = four_bar()
    body, joint = list(mechanism.bodies)[2], next(iter(mechanism.joints))
    system = mechanism.system(root=body, cut=[joint])
    twin = way(system)
    assert (twin.joints, twin.loops) == (system.joints, system.loops) and joint in twin.loops


def test_a_copy_shares_the_mechanism_and_a_deep_copy_has_its_own():
    mechanism = arm7()
    system = mechanism.system()
    shallow, deep = copy.copy(system), copy.deepcopy(system)
    assert shallow.mechanism is mechanism and deep.mechanism is not mechanism
    both = copy.deepcopy([mechanism, system])
    assert both[1].mechanism is both[0]


def test_a_system_that_is_out_of_date_stays_so(way):
    mechanism = arm7()
    system = mechanism.system()
    mechanism.add_body("more", mass=1.0, inertia=0.1)
    mechanism.add_joint("last", "ground", "more", ct.Revolute("z"))
    twin = way(system)
    assert twin.joints == system.joints and twin.nv == 7
    with pytest.raises(ct.StaleSystemError):
        twin.forward_dynamics(np.zeros(7), np.zeros(7), np.zeros(7))


@pytest.mark.parametrize("make", [arm7, four_bar])
def test_a_trajectory_comes_back_with_all_its_numbers(way, make):
    system = make().system()
    run = ct.simulate(system, duration=0.05, integrator="rk4", step=1e-2)
    run.energy  # noqa: B018  found values need not come along
    twin = way(run)
    for name in ("t", "q", "v", "tau"):
        assert np.array_equal(getattr(twin, name), getattr(run, name))
    assert (twin.steps, twin.ended, dict(twin.settings)) == (run.steps, run.ended, dict(run.settings))
    assert np.array_equal(twin.energy, run.energy) and np.array_equal(twin.acceleration, run.acceleration)
    assert all(np.array_equal(twin.work[name], work) for name, work in run.work.items())


KINDS = '''
from dataclasses import dataclass

import catena as ct
from catena.spatial import Transform
from catena.spatial.scalars import array


@dataclass(frozen=True)
class Ramp(ct.JointKind):
    """A slide up a slope."""

    slope: float = 0.3
    nq = 1
    nv = 1

    def transform(self, q):
        return Transform.translation(array([q[0], 0.0, self.slope * q[0]]))

    def params(self):
        return (self.slope,)

    def with_params(self, params):
        return Ramp(params[0])
'''

SPAWNED = """
import multiprocessing
import sys

sys.path.insert(0, {folder!r})

import catena as ct
from ramps import Ramp


def work(given):
    system, x = given
    return system.forward_dynamics([x], [1.0]).tolist(), system


if __name__ == "__main__":
    m = ct.Mechanism("sledge")
    m.add_body("sledge", mass=2.0, inertia=0.1)
    m.add_joint("ramp", "ground", "sledge", Ramp(0.4), damping=0.3)
    s = m.system()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(work, [(s, 0.1), (s, 0.2)])
    for x, (a, back) in zip((0.1, 0.2), found):
        assert a == s.forward_dynamics([x], [1.0]).tolist()
        assert a == back.forward_dynamics([x], [1.0]).tolist()
        assert back.mechanism.joints["ramp"].kind == Ramp(0.4)
    print("fine")
"""


def test_systems_with_users_kinds_go_to_spawned_processes_and_back(tmp_path):
    (tmp_path / "ramps.py").write_text(KINDS)
    (tmp_path / "program.py").write_text(SPAWNED.format(folder=str(tmp_path)))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ,
    )
    assert done.stdout.strip() == "fine", done.stderr
