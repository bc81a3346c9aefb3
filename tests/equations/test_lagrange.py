"""Equations against SymPy's own derivations by Lagrange and Kane, which know nothing of Catena."""

import numpy as np
import pytest

import catena as ct

sympy = pytest.importorskip("sympy")
mechanics = pytest.importorskip("sympy.physics.mechanics")


def double_pendulum():
    """Two rods that turn about z under gravity along -y."""
    m = ct.Mechanism("double pendulum", gravity=(0.0, -9.81, 0.0))
    m.add_body("upper", mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.0, 0.1, 0.1))
    m.add_body("lower", mass=0.7, com=(0.4, 0.0, 0.0), inertia=(0.0, 0.08, 0.08))
    m.add_joint("shoulder", "ground", "upper", ct.Revolute("z"))
    m.add_joint("elbow", "upper", "lower", ct.Revolute("z"), in_parent=ct.Pose(p=(1.0, 0.0, 0.0)))
    return m.system()


PENDULUM = [
    "upper.mass", "lower.mass", "upper.com.length", "lower.com.length", "elbow.in_parent.p.length", "upper.inertia.zz",
    "lower.inertia.zz", "gravity.length",
]  # fmt: skip
m1, m2, c1, c2, l1, I1, I2, g = sympy.symbols(
    "upper_mass lower_mass upper_com_length lower_com_length elbow_in_parent_p_length upper_inertia_zz "
    "lower_inertia_zz gravity_length",
    real=True,
)
q1, q2, v1, v2 = sympy.symbols("q_shoulder q_elbow v_shoulder v_elbow", real=True)


def lagrange_pendulum():
    """Mass matrix and bias by Lagrange's method, in the symbols above."""
    t1, t2 = mechanics.dynamicsymbols("theta1 theta2")
    t = mechanics.dynamicsymbols._t
    p1 = sympy.Matrix([c1 * sympy.cos(t1), c1 * sympy.sin(t1)])
    elbow = sympy.Matrix([l1 * sympy.cos(t1), l1 * sympy.sin(t1)])
    p2 = elbow + sympy.Matrix([c2 * sympy.cos(t1 + t2), c2 * sympy.sin(t1 + t2)])
    T = (m1 * p1.diff(t).dot(p1.diff(t)) + m2 * p2.diff(t).dot(p2.diff(t))) / 2
    T += (I1 * t1.diff(t) ** 2 + I2 * (t1.diff(t) + t2.diff(t)) ** 2) / 2
    V = g * (m1 * p1[1] + m2 * p2[1])
    method = mechanics.LagrangesMethod(T - V, [t1, t2])
    method.form_lagranges_equations()
    back = {t1.diff(t): v1, t2.diff(t): v2}
    H = method.mass_matrix.subs(back).subs({t1: q1, t2: q2})
    bias = (-method.forcing).subs(back).subs({t1: q1, t2: q2})
    return H, bias, T.subs(back).subs({t1: q1, t2: q2})


def is_zero(difference):
    """Whether every entry vanishes by all identities among sines and cosines, which exponentials make plain."""
    return all(sympy.expand(x.rewrite(sympy.exp).expand()) == 0 for x in sympy.Matrix([difference]))


def test_a_double_pendulum_is_lagranges():
    system = double_pendulum()
    H, bias, T = lagrange_pendulum()
    assert is_zero(system.equations("mass_matrix", symbols=PENDULUM).sympy() - H)
    assert is_zero(system.equations("bias_force", symbols=PENDULUM).sympy() - bias)
    assert is_zero(system.equations("kinetic_energy", symbols=PENDULUM).sympy() - T)
    assert not is_zero(system.equations("kinetic_energy", symbols=PENDULUM).sympy() - 2 * T)


def test_a_double_pendulum_reads_as_in_a_textbook():
    """No squares of sines and cosines, no products of them; the coupling is one cosine of the second angle."""
    H = double_pendulum().equations("mass_matrix", symbols=PENDULUM).sympy()
    assert sympy.expand(
        H[0, 0]
    ) == I1 + I2 + c1**2 * m1 + c2**2 * m2 + l1**2 * m2 + 2 * c2 * l1 * m2 * sympy.cos(q2)
    assert sympy.expand(H[0, 1]) == I2 + c2**2 * m2 + c2 * l1 * m2 * sympy.cos(q2)
    assert sympy.expand(H[1, 1]) == I2 + c2**2 * m2
    text = double_pendulum().equations("mass_matrix", symbols=PENDULUM).latex(numbered=True)
    assert text.count(r"\cos") == 3 and r"\sin" not in text and "q_{1}" not in text
    # Inertias before masses, masses before lengths, the first body before the second.
    upper, lower = r"\mathrm{upper}", r"\mathrm{lower}"
    begin = f"I_{{{upper},zz}} + I_{{{lower},zz}} + m_{{{upper}}} c_{{{upper}}}^{{2}} + m_{{{lower}}} "
    assert text.startswith(r"H(q) = \left[\begin{matrix}" + begin)
    assert rf"I_{{{lower},zz}} + m_{{{lower}}} c_{{{lower}}}^{{2}}\end{{matrix}}" in text
    bias = double_pendulum().equations("bias_force", symbols=PENDULUM).latex()
    assert r"\cos {\left(q_{\mathrm{shoulder}} + q_{\mathrm{elbow}} \right)}" in bias.replace(
        r"\cos{", r"\cos {"
    )
    assert r"\dot q_{\mathrm{elbow}}" in bias


def test_forward_dynamics_of_a_double_pendulum_are_lagranges():
    """The quotient of determinants, by evaluation at random values."""
    H, bias, _ = lagrange_pendulum()
    t1, t2 = sympy.symbols("tau_shoulder tau_elbow", real=True)
    vdot = double_pendulum().equations("forward_dynamics", symbols=PENDULUM).sympy()
    symbols = [q1, q2, v1, v2, t1, t2, m1, m2, c1, c2, l1, I1, I2, g]
    ours = sympy.lambdify(symbols, vdot)
    theirs = sympy.lambdify(symbols, H.LUsolve(sympy.Matrix([t1, t2]) - bias))
    for values in np.random.default_rng(0).uniform(0.2, 2.0, (20, len(symbols))):
        np.testing.assert_allclose(ours(*values), theirs(*values), rtol=1e-9)


def test_a_cart_pole_is_kanes():
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", mass=1.0, inertia=0.1)
    m.add_body("pole", mass=0.3, com=(0.0, 0.0, 0.5), inertia=(0.02, 0.02, 0.0))
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"), damping=0.1)
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"))
    names = ["cart.mass", "pole.mass", "pole.com.length", "pole.inertia.yy", "gravity.length", "rail.damping"]
    system = m.system()
    M, mp, c, J, g0, d = sympy.symbols(
        "cart_mass pole_mass pole_com_length pole_inertia_yy gravity_length rail_damping", real=True
    )
    x, th, u, w = mechanics.dynamicsymbols("x theta u omega")
    N = mechanics.ReferenceFrame("N")
    B = N.orientnew("B", "Axis", [th, N.y])
    O = mechanics.Point("O")  # noqa: E741
    P = O.locatenew("P", x * N.x)
    C = P.locatenew("C", c * B.z)
    O.set_vel(N, 0)
    P.set_vel(N, u * N.x)
    B.set_ang_vel(N, w * N.y)
    C.v2pt_theory(P, N, B)
    cart = mechanics.Particle("cart", P, M)
    pole = mechanics.RigidBody("pole", C, B, mp, (mechanics.inertia(B, J, J, 0), C))
    kane = mechanics.KanesMethod(N, [x, th], [u, w], kd_eqs=[x.diff() - u, th.diff() - w])
    kane.kanes_equations([cart, pole], [(P, -M * g0 * N.z - d * u * N.x), (C, -mp * g0 * N.z)])
    names_of = dict(
        zip([x, th, u, w], sympy.symbols("q_rail q_hinge v_rail v_hinge", real=True), strict=True)
    )
    H, bias = kane.mass_matrix.subs(names_of), (-kane.forcing).subs(names_of)
    assert is_zero(system.equations("mass_matrix", symbols=names).sympy() - H)
    assert is_zero(system.equations("bias_force", symbols=names).sympy() - bias)


def test_a_four_bar_is_lagranges_with_multipliers(agree):
    """Three angles in the plane, and the two coordinates by which the loop is open as constraints; in numbers."""
    lengths, masses, inertias = (0.4, 1.2, 0.9), (1.0, 2.0, 1.5), (0.02, 0.3, 0.12)
    ground = 1.1
    m = ct.Mechanism("planar four-bar", gravity=(0.0, -9.81, 0.0))
    for name, length, mass, inertia in zip(
        ("crank", "coupler", "rocker"), lengths, masses, inertias, strict=True
    ):
        m.add_body(name, mass=mass, com=(length / 2, 0.0, 0.0), inertia=(inertia, inertia, inertia))
    m.add_joint("A", "ground", "crank", ct.Revolute("z"))
    m.add_joint("B", "crank", "coupler", ct.Revolute("z"), in_parent=ct.Pose(p=(lengths[0], 0.0, 0.0)))
    m.add_joint("D", "ground", "rocker", ct.Revolute("z"), in_parent=ct.Pose(p=(ground, 0.0, 0.0)))
    m.add_joint(
        "C", "coupler", "rocker", ct.Revolute("z"),
        in_parent=ct.Pose(p=(lengths[1], 0.0, 0.0)), in_child=ct.Pose(p=(lengths[2], 0.0, 0.0)),
    )  # fmt: skip
    system = m.system(cut=["C"])
    a, b, d = mechanics.dynamicsymbols("a b d")
    t = mechanics.dynamicsymbols._t

    def along(angle, length):
        return sympy.Matrix([length * sympy.cos(angle), length * sympy.sin(angle)])

    B, angle2 = along(a, lengths[0]), a + b
    tip, D = B + along(angle2, lengths[1]), sympy.Matrix([ground, 0])
    centres = [along(a, lengths[0] / 2), B + along(angle2, lengths[1] / 2), D + along(d, lengths[2] / 2)]
    T = sum(k * p.diff(t).dot(p.diff(t)) / 2 for k, p in zip(masses, centres, strict=True))
    T += sum(k * x.diff(t) ** 2 / 2 for k, x in zip(inertias, (a, angle2, d), strict=True))
    V = 9.81 * sum(k * p[1] for k, p in zip(masses, centres, strict=True))
    method = mechanics.LagrangesMethod(T - V, [a, b, d], hol_coneqs=list(tip - D - along(d, lengths[2])))
    method.form_lagranges_equations()
    state = sympy.symbols("x0:6")
    back = dict(zip([a.diff(t), b.diff(t), d.diff(t), a, b, d], [*state[3:], *state[:3]], strict=True))
    full = sympy.lambdify(state, method.mass_matrix_full.subs(back))
    forcing = sympy.lambdify(state, method.forcing_full.subs(back))
    q = system.assemble({"A": 0.7}, guess=[0.7, -0.3, 1.2])
    v = system.velocity(q, {"A": 2.0})
    order = [int(system.slice_q(j).start) for j in ("A", "B", "D")]
    values = [*q[order], *v[order]]
    expected = np.linalg.solve(full(*values), forcing(*values)).ravel()[3:6]
    for method_name in ("auto", "joint_multipliers", "minimal"):
        e = system.equations("forward_dynamics", method=method_name, at=q)
        found = e(q, v, np.zeros(3))
        vdot = found[0] if isinstance(found, tuple) else found
        agree(vdot[order], expected, 1e-11)
