"""Time stepping where joints are driven, and so move what others stand on: closed forms and the exact way."""

import numpy as np
import pytest

import catena as ct

G, SIZE, RATE = 9.81, 0.05, 12.0
SHAKEN = f"{SIZE} * sin({RATE} * t)"


def plate(axis):
    """A body of 2 kg over a plate of 3 kg that is driven along an axis."""
    m = ct.Mechanism("shaken")
    m.add_body("plate", mass=3.0, inertia=0.1)
    m.add_body("b", mass=2.0, inertia=(0.01, 0.02, 0.03))
    m.add_joint("shake", "ground", "plate", ct.Prismatic(axis))
    m.add_joint("moves", "ground", "b", ct.Free(), actuated=False)
    return m.system()


def by_python(t):
    return SIZE * np.sin(RATE * t), SIZE * RATE * np.cos(RATE * t), -SIZE * RATE**2 * np.sin(RATE * t)


def stepped(s, q, v, duration, step, motion=SHAKEN, **options):
    return ct.simulate(
        s, q, v, duration, integrator="time_stepping", step=step, motion={"shake": motion}, check=False, **options
    )  # fmt: skip


@pytest.mark.parametrize("motion", [SHAKEN, by_python])
def test_what_sticks_rides_along(motion):
    """A crate goes as its plate does; contacts and the drive give both what they need for that."""
    s, h = plate("x"), 2e-3
    v = s.velocity(s.neutral(), {"moves": [0.0, 0.0, 0.0, SIZE * RATE, 0.0, 0.0]})
    run = stepped(
        s, s.neutral(), np.tile(v, (2, 1)), 0.4, h, motion, contacts=[ct.Contact("b", on="plate")],
        parameters={"b.friction": [0.8, 2.0]}, samples=201,
    )  # fmt: skip
    x, rate, accelerates = by_python(run.t)
    assert np.abs(run.q[..., s.slice_q("moves")][..., 0] - x).max() < 2e-5
    assert np.abs(run.v[..., s.slice_v("moves")][..., 3] - rate).max() < 1e-6
    assert np.abs(run.q[..., 0] - x).max() < 1e-12
    pushes, mean = run.contact_forces["b"][:, 1:], 2.0 * np.diff(rate) / h
    assert np.abs(pushes[..., 0] - mean).max() < 1e-4 and np.abs(pushes[..., 2] - 2.0 * G).max() < 1e-6
    drive = 3.0 * accelerates[1:] + mean
    assert np.abs(run.tau[:, 1:, 0] - drive).max() < 1e-4
    work = run.work["motion"] + run.work["wrenches"] - (run.energy - run.energy[:, :1])
    assert np.abs(work).max() < 1e-4 * np.ptp(run.energy)


def test_what_is_dropped_on_a_shaken_plate_bounces_as_on_the_exact_way():
    s, e = plate("z"), [0.0, 0.5]
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("moves")][2], v[s.slice_v("moves")][3] = 0.1, 0.3
    contact = ct.Contact("b", on="plate", friction=0.1)
    errors = []
    for h in (2e-3, 1e-3):
        varied = {"b.restitution": e}
        run = stepped(s, q, np.tile(v, (2, 1)), 0.5, h, contacts=[contact], parameters=varied, samples=2)
        errors.append([])
        for k in range(2):
            own = ct.Contact("b", on="plate", friction=0.1, restitution=e[k])
            exact = ct.simulate(
                s, q, v, 0.5, contacts=[own], motion={"shake": SHAKEN}, rtol=1e-8, atol=1e-10, samples=2, check=False
            )  # fmt: skip
            errors[-1].append(np.abs(run.q[k, -1] - exact.q[-1]).max())
            assert np.abs(run.v[k, -1] - exact.v[-1]).max() < 1e-3
            assert run.energy[k, -1] == pytest.approx(exact.energy[-1], abs=1e-3)
        # Impacts are among the works.
        gained = run.energy[:, -1] - run.energy[:, 0]
        assert (run.work["wrenches"] + run.work["motion"])[:, -1] == pytest.approx(gained, abs=2e-3)
    assert np.max(errors[1]) < 1e-5 and np.max(errors[1]) < 0.4 * np.max(errors[0])
