"""Mass centres that move with a joint coordinate (van der Merwe, eq. 4.63 and section 8.1.1), against Lagrange."""

import numpy as np

import catena as ct

G, LENGTH, CG = 9.81, 0.8, np.array([0.1, 0.0, 0.05])


def test_a_link_that_slides_through_its_joint():
    """Eq. 4.63: from the frame that turns but does not slide, the mass centre is at ((0 1) q - l) x + cg. The link is
    described by the side that it belongs to, and its mass centre is constant there."""
    m = ct.Mechanism("slide", gravity=(0, 0, -G))
    m.add_body("link", 2.0, CG - [LENGTH, 0, 0], (0.01, 0.02, 0.03))
    m.add_joint("joint", "ground", "link", ct.Sdof("ry", "dx"))
    s = m.system()
    q, v, vdot = np.random.default_rng(0).normal(size=(3, 2))
    x, z = q[1] - LENGTH + CG[0], CG[2]
    # T = m/2 ((x' + z a')^2 + (x a')^2) + I/2 a'^2 with the angle a about y, V = m g (z cos a - x sin a).
    turning = 2.0 * (z * (vdot[1] + z * vdot[0]) + x**2 * vdot[0] + 2 * x * v[1] * v[0]) + 0.02 * vdot[0]
    turning += 2.0 * G * (-z * np.sin(q[0]) - x * np.cos(q[0]))
    sliding = 2.0 * (vdot[1] + z * vdot[0] - x * v[0] ** 2) - 2.0 * G * np.sin(q[0])
    np.testing.assert_allclose(s.inverse_dynamics(q, v, vdot), [turning, sliding], rtol=1e-12)


def test_a_mass_centre_that_is_any_function_of_a_joint_coordinate():
    """What moves inside a link is a body of its own, on a slide that a cam leads; its inertia counts, which a link that
    is weighed anew at every step leaves out."""
    m = ct.Mechanism("hydraulic leg", gravity=(0, 0, -G))
    m.add_body("link", 0.0)
    m.add_body("oil", 2.0, inertia=(0.01, 0.02, 0.03))
    m.add_joint("turns", "ground", "link", ct.Revolute("y"))
    m.add_joint("flows", "link", "oil", ct.Prismatic("x"))
    m.add_cam("centre", "flows", "turns", "0.5 + 0.1 * sin(2 * x)")
    s = m.system()
    q = s.assemble({"turns": 0.4})
    v = s.velocity(q, {"turns": 1.3})
    a, rate = 0.4, 1.3
    r, slope, curvature = 0.5 + 0.1 * np.sin(2 * a), 0.2 * np.cos(2 * a), -0.4 * np.sin(2 * a)
    # T = (I + m r^2 + m r'^2) a'^2 / 2, V = -m g r sin a.
    inertia = 0.02 + 2.0 * (r**2 + slope**2)
    force = 2.0 * G * (slope * np.sin(a) + r * np.cos(a)) - 2.0 * slope * (r + curvature) * rate**2
    vdot = s.forward_dynamics(q, v)
    np.testing.assert_allclose(vdot[s.slice_v("turns")], [force / inertia], rtol=1e-9)
    run = ct.simulate(s, q, v, 0.5)
    at = run["turns"][-1]
    np.testing.assert_allclose(run["flows"][-1], 0.5 + 0.1 * np.sin(2 * at), atol=1e-10)
    energy = run.kinetic_energy + run.potential_energy
    np.testing.assert_allclose(energy, energy[0], rtol=0, atol=1e-8)
