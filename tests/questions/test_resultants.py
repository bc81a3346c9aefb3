"""Stress resultants along beams by equilibrium: closed forms, reactions of joints, and the curvature of the modes."""

import numpy as np
import pytest

import catena as ct
from tests.bodies.slider_crank import slider_crank

SLENDER = {"area": 1e-4, "inertia": 2e-9, "density": 2700.0, "young": 7e10}
PER_LENGTH = 0.27


def cantilever(gravity=(0.0, 0.0, 0.0), **options):
    m = ct.Mechanism("cantilever", gravity=gravity)
    m.add_body("beam", flexible=ct.Beam(2.0, **{"modes": {"y": 3}, **SLENDER, **options}))
    m.add_joint("clamp", "ground", "beam", ct.Fixed())
    m.add_frame("tip", "beam", ct.Pose(p=(2.0, 0.0, 0.0)))
    return m


def test_a_beam_that_spins_has_the_tension_of_its_centrifugal_load():
    m = ct.Mechanism("rotor", gravity=(0.0, 0.0, 0.0))
    m.add_body("blade", flexible=ct.Beam(2.0, modes={"y": 2}, **SLENDER))
    m.add_joint("hub", "ground", "blade", ct.Revolute("z"))
    s = m.system()
    v = np.zeros(s.nv)
    v[s.slice_v("hub")] = 5.0
    x = np.array([0.0, 0.7, 2.0])
    found = s.resultants("blade", x, s.neutral(), v)
    np.testing.assert_allclose(found["N"], PER_LENGTH * 25.0 * (4.0 - x**2) / 2.0, rtol=1e-12, atol=1e-12)
    for name in ("T", "My", "Mz", "Qy", "Qz"):
        np.testing.assert_allclose(found[name], 0.0, atol=1e-10)


def test_weight_and_a_force_at_the_tip_bend_as_statics_has_it():
    m = cantilever((0.0, -9.81, 0.0), young=7e14)
    m.add_wrench("load", "tip", force=(3.0, 0.5, 0.0), axes="ground")
    s = m.system()
    q = s.equilibrium(s.neutral()).q
    run = ct.simulate(s, q, np.zeros(s.nv), duration=1e-4, samples=2)
    x = np.array([0.0, 0.5, 1.5, 2.0])
    found = run.resultants("beam", x)
    weight, rest = PER_LENGTH * 9.81, 2.0 - x
    # The beam is so stiff that its deflection changes nothing.
    np.testing.assert_allclose(found["Mz"][0], 0.5 * rest - weight * rest**2 / 2.0, atol=1e-4)
    np.testing.assert_allclose(found["Qy"][0], 0.5 - weight * rest, atol=1e-4)
    np.testing.assert_allclose(found["N"][0], 3.0, atol=1e-4)


def arm(**options):
    m = ct.Mechanism("arm", gravity=(0.5, -1.0, -9.81))
    beam = ct.Beam(2.0, modes={"y": 2, "z": 1, "rx": 1}, torsion=40.0, damping=0.01, **SLENDER, **options)
    m.add_body("boom", flexible=beam)
    m.add_body("load", mass=0.3, com=(0.1, 0.02, 0.0), inertia=(1e-3, 2e-3, 2e-3))
    m.add_joint("A", "ground", "boom", ct.Universal("z", "x"), damping=0.1)
    m.add_joint(
        "B", "boom", "load", ct.Prismatic("y"), in_parent=ct.Pose(p=(1.5, 0.0, 0.01), rpy=(0.1, 0.2, 0.3))
    )
    m.add_frame("tip", "boom", ct.Pose(p=(2.0, 0.0, 0.0), rpy=(0.3, 0.0, 0.0)))
    return m


@pytest.mark.parametrize(
    "options", [{}, {"rotary": True}, {"shear": 1e5}], ids=["slender", "rotary", "shear"]
)
def test_a_section_at_the_root_holds_what_the_joint_there_passes(options):
    s = arm(**options).system()
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(-0.05, 0.05, (2, s.nq)), rng.normal(size=(2, s.nv)), rng.normal(size=(2, s.nv))
    tau[:, s.slice_v("boom.modes")] = 0.0
    f_ext = {"tip": np.array([0.1, -0.2, 0.3, 0.4, 0.5, -0.6])}
    found = s.resultants("boom", [0.0, 2.0], q, v, tau, f_ext)
    wrench = s.reactions(q, v, tau, f_ext=f_ext)["A"]
    held = np.stack([found[n][:, 0] for n in ("T", "My", "Mz", "N", "Qy", "Qz")], axis=1)
    # The products of shortenings, of fourth order, are not in the inertia of the dynamics.
    np.testing.assert_allclose(held, -wrench, atol=2e-4 * np.abs(wrench).max())
    R = ct.Pose(rpy=(0.3, 0.0, 0.0)).R
    at_tip = np.stack([found[n][:, 1] for n in ("N", "Qy", "Qz")], axis=1)
    np.testing.assert_allclose(at_tip, np.tile(R @ f_ext["tip"][3:], (2, 1)), atol=1e-9)


@pytest.mark.slow
def test_many_modes_bend_as_equilibrium_asks():
    """Swinging from rest with a tip force: curvature against equilibrium, with more and more modes."""
    errors = []
    for modes in (3, 6, 12):
        m = cantilever((0.0, 0.0, 0.0), modes={"y": modes}, damping=0.0)
        s, beam = m.system(), m.bodies["beam"].flexible
        q, v = s.neutral(), np.zeros(s.nv)
        q[0], v[1] = 0.01, 0.1
        x = np.array([0.0, 0.6, 1.2])
        by_balance = s.resultants("beam", x, q, v)["Mz"]
        errors.append(np.abs(by_balance - beam.resultants(q, x)["Mz"]).max())
    # One mode alone is exact: its inertia is what bends it, so both ways agree but for terms of third order.
    assert max(errors) < 2e-3 * np.abs(by_balance).max()


def test_a_rod_in_a_loop_and_batches_along_a_run():
    m = slider_crank()
    m.add_frame("end", "rod", ct.Pose(p=(0.3, 0.0, 0.0)))
    s = m.system()
    q = s.assemble({"A": 0.4})
    v = s.velocity(q, {"A": 20.0})
    run = ct.simulate(s, np.stack([q, q]), np.stack([v, 0.5 * v]), duration=0.004, samples=3)
    x = np.linspace(0.0, 0.3, 7)
    found = run.resultants("rod", x)
    assert found["Mz"].shape == (2, 3, 7)
    size = np.abs(found["Mz"]).max()
    # Pins pass no moment.
    np.testing.assert_allclose(found["Mz"][..., [0, -1]], 0.0, atol=1e-9 * size)
    one = s.resultants("rod", x, run.q[1, 2], run.v[1, 2])
    np.testing.assert_allclose(found["N"][1, 2], one["N"], atol=1e-9)
    # The far end is pulled by the slider alone.
    axis = s.pose(run.q[0, 1], "end").R[:, 0]
    slider = s.pose(run.q[0, 1], "slider").R
    pull = -(slider @ run.reaction("C")[0, 1][3:]) @ axis
    np.testing.assert_allclose(found["N"][0, 1, -1], pull, rtol=1e-9)


def test_what_is_no_beam_and_places_beside_it_are_refused_in_words():
    s = arm().system()
    q, v = s.neutral(), np.zeros(s.nv)
    with pytest.raises(ct.StateError, match="'load' is no Beam"):
        s.resultants("load", [0.0], q, v)
    with pytest.raises(ct.StateError, match="from 0 to the length 2 m of 'boom'"):
        s.resultants("boom", [3.0], q, v)
    with pytest.raises(ct.UnknownNameError, match="bom"):
        s.resultants("bom", [0.0], q, v)
