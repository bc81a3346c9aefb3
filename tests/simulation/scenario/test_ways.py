"""Scenarios made by chance: in Python, from their files, from the shell, from a pickle and part by part they are the
same to the last bit."""

import pickle

import numpy as np
import pytest

import catena as ct
from catena.cli import main


def arm():
    return ct.generators.chain(3), ["joint1", "joint2", "joint3"], "tip"


def four_bar():
    return ct.generators.four_bar(), ["A"], "coupler"


def ball():
    m = ct.Mechanism("ball")
    m.add_body("ball", mass=1.0, inertia=(0.02, 0.02, 0.02))
    m.add_body("rod", mass=0.5, com=(0, 0, -0.3), inertia=(0.02, 0.02, 0.002))
    m.add_joint("fly", "ground", "ball", ct.Free(), actuated=False)
    m.add_joint("swing", "ground", "rod", ct.Revolute("y"), in_parent=ct.Pose(p=(3, 0, 1)))
    return m, ["swing"], "rod"


def scenario(seed):
    """A scenario of a few things that are chosen by chance."""
    random = np.random.default_rng([seed, 25])
    make = (arm, four_bar, ball)[int(random.integers(3))]
    mechanism, joints, frame = make()
    joint = str(random.choice(joints))
    chosen = {
        word for word in ("drive", "law", "pid", "push", "stop", "event", "change") if random.random() < 0.4
    }
    options = {"duration": 0.06, "samples": int(random.integers(4, 9)), "parameters": {"k": 1.5, "w": 7.0}}
    start = {name: round(float(random.uniform(-0.3, 0.3)), 3) for name in joints}
    if make is ball:
        start["fly"] = [0, 0, 0.101, 1, 0, 0, 0]
        options["contacts"] = [ct.Contact("ball", friction=0.4, restitution=0.3, radius=0.1)]
    options["initial"] = start
    if "drive" in chosen and make is not ball:
        options["drives"] = {joint: f"{start[joint]!r} + 0.1 * sin(w * t)"}
    others = [name for name in joints if name not in options.get("drives", {})]
    control = []
    if "law" in chosen and others:
        control.append(
            ct.Described(ct.formula_control, {others[0]: f"-k * {others[0]} - 0.1 * v.{others[0]}"})
        )
    if "pid" in chosen and others:
        control.append(ct.Described(ct.PID, {others[-1]: "0.1 * t"}, 5.0, kd=0.3, rate=200.0))
    options["control"] = control or None
    if "push" in chosen:
        options["wrenches"] = {
            frame: ct.ExternalWrench([0, 0, 0, "0.2 * sin(w * t)", 0, f"0.1 * v.{joint}"], "ground")
        }
    if "stop" in chosen and make is arm:
        options["contacts"] = [ct.Stop(joint, lower=-0.9, upper=0.9, restitution=0.2)]
    if "event" in chosen:
        options["events"] = [ct.Event(f"{joint} - {start[joint]!r} - 0.001", "passes")]
    if "change" in chosen and make is arm:
        options["changes"] = [ct.Change(at=0.03, lock=[name for name in joints if name != joint][-1])]
    if random.random() < 0.3 and "contacts" not in options:
        options |= {"integrator": "rk4", "step": 0.002}
    return ct.Scenario(mechanism, **options)


def same(one, other):
    assert np.array_equal(one.t, other.t)
    for a, b in zip(one.segments, other.segments, strict=True):
        assert all(np.array_equal(getattr(a, x), getattr(b, x)) for x in ("q", "v", "tau"))
    assert [(x.name, x.t) for x in one.events] == [(x.name, x.t) for x in other.events]


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 30))])
def test_all_ways_give_the_same_numbers(seed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    one = scenario(seed)
    one.save("run.toml")
    told, sent = ct.Scenario.load("run.toml"), pickle.loads(pickle.dumps(one))
    assert told == one == sent and told.digest == one.digest == sent.digest
    run = one.run(check=False)
    same(told.run(check=False), run)
    same(sent.run(check=False), run)
    assert main(["run", "run.toml", "--out", "run.nc", "--quiet"]) == 0, capsys.readouterr().err
    same(ct.Trajectory.load("run.nc"), run)
    stream = told.stream(every=0.0, check=False)
    parts = list(stream)
    same(stream.run, run)
    assert np.array_equal(np.concatenate([part.t for part in parts]), run.t)
    for name in ("q", "v", "tau"):
        rows = [getattr(x, name).ravel() for part in parts for x in part.segments]
        assert np.array_equal(
            np.concatenate(rows), np.concatenate([getattr(x, name).ravel() for x in run.segments])
        )
