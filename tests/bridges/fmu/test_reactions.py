"""Reactions of joints as outputs of FMUs, against those of the system at the same state."""

import numpy as np
import pytest

import catena as ct

from .test_slopes import Exchange

pytest.importorskip("fmpy")


def arm_with_spring():
    m = ct.generators.arm6()
    m.add_spring("spring", "joint3", 5.0, damping=0.3)
    m = m.with_joint("joint2", damping=0.4)
    return m.system(), np.linspace(0.1, 0.6, 6), np.linspace(-0.5, 0.5, 6), ["joint3"]


def platform():
    """Its loops are not redundant, so that reactions are determined."""
    s = ct.generators.stewart().system()
    return s, None, None, ["base1"]


@pytest.mark.parametrize("made", [arm_with_spring, pytest.param(platform, marks=pytest.mark.slow)])
def test_reactions_are_those_of_the_system(made, export):
    s, initial, velocity, joints = made()
    pushed, frame = (
        next(name for name in s.joints if s.slice_v(name).stop - s.slice_v(name).start == 1),
        "tool",
    )
    frame = frame if frame in s.plan.body_pose else list(s.mechanism.bodies)[-1]
    path = export(
        s, initial=initial, velocity=velocity, inputs=[f"{pushed}.tau", f"{frame}.force"], version="3.0",
        outputs=[f"{name}.reaction" for name in joints], parameters=["gravity"],
    )  # fmt: skip
    fmu = Exchange(path)
    x, tau = fmu.get(fmu.states), np.zeros(s.nv)
    tau[s.slice_v(pushed)] = 0.7
    fmu.put(fmu.reference[f"{pushed}.tau"], 0.7)
    for axis, value in zip("xyz", (3.0, -2.0, 5.0), strict=True):
        fmu.put(fmu.reference[f"{frame}.force.{axis}"], value)
    outside = {frame: np.array([0.0, 0.0, 0.0, 3.0, -2.0, 5.0])}
    expected = s.reactions(x[: s.nq], x[s.nq :], tau, f_ext=outside)
    for name in joints:
        parts = [f"{name}.reaction.{kind}.{axis}" for kind in ("moment", "force") for axis in "xyz"]
        found = fmu.get([fmu.reference[part] for part in parts])
        np.testing.assert_allclose(found, expected[name], rtol=0, atol=1e-10 * np.abs(expected[name]).max())


def test_reactions_that_redundant_loops_leave_open_are_refused(tmp_path):
    s = ct.generators.four_bar().system()
    with pytest.raises(ct.EquationsError, match="so its reaction is not determined"):
        ct.export_fmu(s, tmp_path / "m.fmu", outputs=["A.reaction"], initial={"A": 0.4}, compiler=False)
