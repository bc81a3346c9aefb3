"""Prescribed motions as inputs of FMUs: accelerations and driving forces against hybrid dynamics, and a motion against
`simulate` with the same motion."""

import numpy as np
import pytest

import catena as ct

from .test_slopes import Exchange

pytest.importorskip("fmpy")

PULL = 20.0
"""What is off a motion fades at this rate, the inverse of `stabilisation`."""


def driven_four_bar():
    s = ct.generators.four_bar().system()
    return s, {"A": 0.4}, {"A": 2.0}, ["A"]


def driven_arm():
    s = ct.generators.arm6().system()
    return s, np.linspace(0.1, 0.6, 6), np.linspace(-0.5, 0.5, 6), ["joint2", "joint4"]


@pytest.mark.parametrize("made", [driven_four_bar, driven_arm])
def test_driven_joints_follow_and_the_others_move_as_hybrid_dynamics_says(made, export):
    s, initial, velocity, driven = made()
    free = next(name for name in s.joints if name not in driven)
    path = export(
        s, initial=initial, velocity=velocity, stabilisation=1.0 / PULL,
        inputs=[*(f"{name}.motion" for name in driven), f"{free}.tau"], outputs=[f"{name}.tau" for name in driven],
    )  # fmt: skip
    fmu = Exchange(path)
    x = fmu.get(fmu.states)
    q, v = x[: s.nq], x[s.nq :]
    wanted, tau = {}, np.zeros(s.nv)
    for k, name in enumerate(driven):
        given = 0.3 + 0.1 * k, -0.2, 1.5 - k
        for word, value in zip(("position", "velocity", "acceleration"), given, strict=True):
            fmu.put(fmu.reference[f"{name}.motion.{word}"], value)
        at = s.slice_v(name).start
        wanted[name] = given[2] + 2.0 * PULL * (given[1] - v[at]) + PULL**2 * (given[0] - q[at])
    fmu.put(fmu.reference[f"{free}.tau"], 0.7)
    tau[s.slice_v(free)] = 0.7
    vdot, forces = s.hybrid_dynamics(q, v, tau, wanted)
    size = np.abs(vdot).max()
    np.testing.assert_allclose(fmu.get(fmu.rates)[s.nq :], vdot, rtol=0, atol=1e-9 * size)
    for name in driven:
        found = fmu.get([fmu.reference[f"{name}.tau"]])
        np.testing.assert_allclose(
            found, forces[s.slice_v(name)], rtol=1e-9, atol=1e-9 * np.abs(forces).max()
        )


def test_a_driven_motion_is_that_of_a_run_with_the_same_motion(export):
    s = ct.generators.arm6().system()
    q0, v0 = np.linspace(0.1, 0.6, 6), np.zeros(6)

    def motion(t):
        return q0[1] + 0.5 * np.sin(t) ** 2, 0.5 * np.sin(2 * t), np.cos(2 * t)

    fmu = Exchange(export(s, initial=q0, velocity=v0, inputs=["joint2.motion"], outputs=["joint2.tau"]))
    places = [fmu.reference[f"joint2.motion.{word}"] for word in ("position", "velocity", "acceleration")]

    def rate(t, x):
        fmu.fmu.setTime(t)
        fmu.put_states(x)
        for place, value in zip(places, motion(t), strict=True):
            fmu.put(place, value)
        return fmu.get(fmu.rates)

    x, h = np.concatenate([q0, v0]), 2e-3
    for n in range(100):
        t = n * h
        a = rate(t, x)
        b = rate(t + h / 2, x + h / 2 * a)
        c = rate(t + h / 2, x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + rate(t + h, x + h * c))
    run = ct.simulate(s, q0, v0, 100 * h, motion={"joint2": motion})
    np.testing.assert_allclose(x[:6], run.q[-1], rtol=0, atol=1e-8)


def test_what_cannot_be_driven_is_refused(tmp_path):
    s = ct.generators.four_bar().system()
    with pytest.raises(ct.EquationsError, match="closes a loop, and an FMU drives joints of the tree"):
        ct.export_fmu(s, tmp_path / "m.fmu", inputs=["C.motion"], compiler=False)
    with pytest.raises(ct.EquationsError, match="is given a motion and a force"):
        ct.export_fmu(s, tmp_path / "m.fmu", inputs=["A.motion", "A.tau"], compiler=False)
    ball = ct.Mechanism("ball")
    ball.add_body("b", 1.0, (0, 0, -1), 0.1)
    ball.add_joint("J", "ground", "b", ct.Spherical())
    with pytest.raises(ct.EquationsError, match="has a quaternion"):
        ct.export_fmu(ball.system(), tmp_path / "m.fmu", inputs=["J.motion"], compiler=False)
