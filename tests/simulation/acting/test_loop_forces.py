"""What a run tells of forces that sit in joints which close loops, against plans that have those joints in the tree."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import random_mechanism

SOURCES = ("motor", "held motor", "spring", "friction", "limits", "damping", "sticking", "table")


class Motor:
    """A force at one joint, by name; with a rate it is held."""

    def __init__(self, joint, size, rate=None):
        self.joint, self.size = joint, size
        if rate:
            self.rate = rate

    def __call__(self, t, q, v):
        return {
            self.joint: 3.0 * np.cos(np.arange(1.0, self.size + 1.0) + 9.0 * t) + np.zeros((*q.shape[:-1], 1))
        }


def with_source(m, joint, source):
    """Return the mechanism with something that acts in a joint, and options of `simulate`."""
    kind, m = m.joints[joint].kind, m.copy()
    ones = np.arange(1.0, kind.nv + 1.0)
    if source == "spring":
        rest = kind.integrate(kind.neutral(), 0.3 * ones)
        m.add_force("it", ct.forces.JointSpring(tuple(20.0 * ones), tuple(0.7 * ones), tuple(rest)), joint)
    if source == "friction":
        m.add_force("it", ct.forces.JointFriction(tuple(0.7 * ones), tuple(0.3 * ones)), joint)
    if source == "limits":
        far = np.stack([-0.02 * ones, 0.02 * ones], axis=1)
        m = m.with_joint(joint, limits=far, limit_stiffness=100.0 * ones, limit_damping=ones)
    if source == "damping":
        m = m.with_joint(joint, damping=0.5 * ones, friction=0.2 * ones)
    if source == "sticking":
        m = m.with_joint(joint, friction=20.0 * ones, static_friction=30.0 * ones, stribeck_velocity=0.3)
    if source == "table" and kind.nv == 1:
        table = ct.forces.Table((-1.0, 0.0, 0.5, 2.0), (-3.0, 0.0, 1.0, 1.5), smooth=True)
        m.add_force("it", ct.forces.TabledJointSpring(table), joint)
    options = {}
    if "motor" in source:
        options["control"] = Motor(joint, kind.nv, 100.0 if source == "held motor" else None)
    return m, options


def plans(m, most=4):
    """Return the ways to cut the loops of a mechanism, one joint of a loop after the other."""
    found = [m.system()]
    for joint in m.joints:
        try:
            found.append(m.system(cut=[joint]))
        except ct.CatenaError:
            continue
    different = {s.loops: s for s in found}
    return list(different.values())[:most]


def told(run):
    """Return all that a run tells of forces."""
    moving = [j for j in run.system.mechanism.joints if j in (*run.system.joints, *run.system.loops)]
    found = {f"reaction of {j}": x for j, x in run.reactions().items()}
    found |= {f"sensor in {j}": run.read(ct.ForceSensor(j))["force"] for j in run.system.mechanism.joints}
    found |= {f"force of {j}": run.force(j) for j in moving}
    found |= {f"power of {j}": run.joint_power(j) for j in moving}
    found |= {f"power of {name}": x for name, x in run.power.items()}
    found |= {f"work of {name}": x for name, x in run.work.items()}
    if "it" in run.system.mechanism.force_elements:
        found |= {f"gauge, {name}": x for name, x in run.read(ct.Gauge("it")).items()}
    return found | {"energy": run.energy}


def moving(m, seed):
    """Return a plan of a mechanism and a closed state of it that moves."""
    s, rng = m.system(), np.random.default_rng(seed)
    q, v = s.project(s.neutral(), 0.5 * rng.standard_normal(s.nv))
    return s, q, v


def assert_same(runs, tolerance):
    first = told(runs[0])
    for run in runs[1:]:
        for name, x in told(run).items():
            scale = 1.0 + np.abs(first[name]).max()
            np.testing.assert_allclose(
                x / scale, first[name] / scale, atol=tolerance, err_msg=f"{run.system.loops}: {name}"
            )


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("seed", range(4))
def test_all_that_is_told_is_the_same_however_loops_are_cut(seed, source):
    m = random_mechanism(seed, 7, KINDS[seed % len(KINDS)], loops=1 + seed % 2)
    one = plans(m, 9)
    joint = next(iter(dict.fromkeys(j for s in one for j in s.loops if m.joints[j].kind.nv)))
    m, options = with_source(m, joint, source)
    base, q, v = moving(m, seed)
    runs = []
    for s in plans(m):
        moved = ct.transfer(base, q, v, s)
        runs.append(ct.simulate(s, moved.q, moved.v, 0.05, samples=3, check=False, **options))
    assert any(joint in run.system.loops for run in runs) and any(joint in run.system.joints for run in runs)
    assert_same(runs, 1e-8)


KINDS = (
    ["Revolute", "Prismatic"],
    ["Revolute", "Spherical", "Cylindrical"],
    ["Universal", "Cylindrical", "Revolute"],
    ["Planar", "Helical", "Spherical"],
)
