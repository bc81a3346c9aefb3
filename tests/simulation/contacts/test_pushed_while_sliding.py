"""What acts from outside while something slides, by every way in which steps are taken: a pushed puck has a closed
form, and a driven joint is where its path says."""

import numpy as np
import pytest

import catena as ct

FRICTION, PUSH, SPEED, END = 0.2, -3.0, 1.0, 0.06
FIXED = {"integrator": "rk4", "step": 1e-3}
STIFF = {"integrator": "radau", "rtol": 1e-8, "atol": 1e-10}
CASES = (
    ({"integrator": "dopri5"}, False, False), ({"integrator": "dopri5"}, True, True), (FIXED, False, False),
    (FIXED, True, False), (FIXED, False, True),
    pytest.param(STIFF, True, True, marks=pytest.mark.slow),
)  # fmt: skip


def puck_and_arm(looped):
    """A puck on the floor, and beside it an arm with a slide on it, with a four-bar where it is `looped`."""
    m = ct.generators.four_bar() if looped else ct.Mechanism("puck")
    m.gravity = (0.0, 0.0, -9.81)
    m.add_body("puck", 1.0, inertia=0.01)
    m.add_joint("puck", "ground", "puck", ct.Sdof("dx", "dz"))
    m.add_body("arm", 1.0, com=(0.0, 0.0, -0.3), inertia=0.01)
    m.add_joint("swing", "ground", "arm", ct.Revolute("y"))
    m.add_body("slide", 1.0, inertia=0.1)
    m.add_joint("P", "arm", "slide", ct.Prismatic("x"))
    s = m.system(keep=["P"])
    q = s.assemble({"swing": 0.4, "puck": (0.0, 0.0)})
    return s, q, s.velocity(q, {"puck": (SPEED, 0.0)})


def path(t):
    return 0.1 * np.sin(8.0 * t), 0.8 * np.cos(8.0 * t), -6.4 * np.sin(8.0 * t)


@pytest.mark.parametrize(("method", "looped", "asked"), CASES)
def test_pushes_and_paths_hold_while_a_puck_slides(method, looped, asked):
    s, q, v = puck_and_arm(looped)
    control = ct.sampled(lambda t, q, v: np.zeros(v.shape), 100.0) if asked else None
    run = ct.simulate(
        s, q, v, END, contacts=[ct.Contact("puck", friction=FRICTION)], control=control, motion={"P": path},
        forces={"puck": lambda t: [0.0, 0.0, 0.0, PUSH, 0.0, 0.0]}, check=False, **method,
    )  # fmt: skip
    slowed = PUSH - FRICTION * 9.81
    assert run["puck"][-1] == pytest.approx((SPEED * END + 0.5 * slowed * END**2, 0.0), abs=1e-7)
    assert run["P"][-1] == pytest.approx(path(END)[0], abs=1e-7)
    assert run.velocity("P")[-1] == pytest.approx(path(END)[1], abs=1e-6)


@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_a_stepper_knows_them_too(integrator):
    s, q, v = puck_and_arm(looped=True)
    stepper = ct.Stepper(
        s, q, v, step=END / 6, integrator=integrator, contacts=[ct.Contact("puck", friction=FRICTION)],
        motion={"P": path}, forces={"puck": lambda t: [0.0, 0.0, 0.0, PUSH, 0.0, 0.0]},
    )  # fmt: skip
    for _ in range(6):
        stepper.step()
    slowed = PUSH - FRICTION * 9.81
    assert stepper.position("puck") == pytest.approx((SPEED * END + 0.5 * slowed * END**2, 0.0), abs=1e-7)
    assert stepper.position("P") == pytest.approx(path(END)[0], abs=1e-7)
