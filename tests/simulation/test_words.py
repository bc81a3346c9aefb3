"""What is said about users' functions, and about the time that compiling takes."""

import pytest

import catena as ct


def pendulum():
    m = ct.Mechanism("pendulum")
    m.add_body("rod", mass=1.0, com=(0, 0, -0.5), inertia=0.1)
    m.add_joint("pin", "ground", "rod", ct.Revolute("y"))
    return m.system()


def forgetful(t, q, v):
    """Forget to return forces."""


def short(t, q):
    return [0.0]


def still():
    return 0.0, 0.0, 0.0


@pytest.mark.parametrize("options, words", [
    ({"control": forgetful}, "controller 'forgetful' gave None"),
    ({"control": short}, r"cannot be called with \(t, q, v\)"),
    ({"motion": {"pin": still}}, r"motion of joint 'pin'.*cannot be called with \(t\)"),
])  # fmt: skip
def test_a_function_that_does_not_fit_is_named_with_what_was_expected(options, words):
    with pytest.raises(ct.CatenaError, match=words):
        ct.simulate(pendulum(), [0.1], [0.0], 0.1, **options)


def test_compiling_is_told_apart_from_running():
    s = pendulum()

    law = ct.SymbolicControl(lambda t, q, v: [-2.0 * q[0] - 0.123456 * v[0]])
    first = ct.simulate(s, [0.1], [0.0], 0.1, control=law).settings
    again = ct.simulate(s, [0.1], [0.0], 0.1, control=law).settings
    assert "compiling besides" in first and "compiling besides" not in again


def test_coordinates_that_run_away_are_told_from_motions_that_do():
    """A puck that drifts straight on while it turns: along x, about z, along the new y has no coordinates for it when
    it has turned by a right angle."""
    m = ct.Mechanism("puck", gravity=(0.0, 0.0, 0.0))
    m.add_body("puck", mass=1.0, inertia=0.1)
    m.add_joint("table", "ground", "puck", ct.Sdof("dx", "rz", "dy"))
    s = m.system()
    with pytest.raises(
        ct.SimulationError, match="joint 'table'.*as in gimbal lock.*such as Spherical or Planar"
    ):
        ct.simulate(s, [0.0, 1.4, 1.0], [0.0, 1.0, 0.0], 0.5, check=False, progress=False)
