"""Each documented parameter by itself, in every call that takes parameters or symbols, against a mechanism that was
built with that number."""

import numpy as np
import pytest

import catena as ct

POLE = {"mass": 0.2, "com": (0.1, 0.0, 0.5), "inertia": np.array([0.012, 0.001, 0.0, 0.01, 0.0005, 0.004])}


def full(six):
    a, b, c, d, e, f = six
    return np.array([[a, b, c], [b, d, e], [c, e, f]])


def machine(closed, **numbers):
    """A cart with a pole and a screw on it, springs between; closed by a rod from the pole to a slider on the ground.
    `numbers` replace those of the same name, with '__' for a dot."""

    def number(name, described):
        return numbers.pop(name.replace(".", "__"), described)

    m = ct.Mechanism("machine", gravity=number("gravity", (0.3, 0.0, -9.0)))
    m.add_body("cart", mass=1.0, inertia=0.1)
    m.add_body("pole", number("pole.mass", POLE["mass"]), number("pole.com", POLE["com"]),
               full(number("pole.inertia", POLE["inertia"])))  # fmt: skip
    m.add_body("nut", mass=0.3, com=(0.02, 0.0, 0.1), inertia=0.004)
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"), damping=number("rail.damping", 0.4),
                friction=number("rail.friction", 0.3), armature=number("rail.armature", 0.2))  # fmt: skip
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"),
                in_parent=ct.Pose(p=number("hinge.in_parent.p", (0.2, 0.0, 0.1)), rpy=(0.0, 0.2, 0.0)),
                in_child=ct.Pose(p=number("hinge.in_child.p", (0.0, 0.0, 0.05))))  # fmt: skip
    m.add_joint("screw", "cart", "nut", ct.Helical("x", pitch=number("screw.pitch", 0.02)),
                in_parent=ct.Pose(p=(0.1, 0.2, 0.0)))  # fmt: skip
    m.add_frame("tip", "pole", ct.Pose(p=number("tip.p", (0.1, 0.0, 1.0)), rpy=(0.1, 0.0, 0.0)))
    m.add_spring("coil", "hinge", stiffness=number("coil.stiffness", 2.0), damping=number("coil.damping", 0.1),
                 rest=number("coil.rest", 0.2))  # fmt: skip
    m.add_spring_between("strut", "ground", "tip", stiffness=number("strut.stiffness", 4.0),
                         damping=number("strut.damping", 0.2),
                         rest_length=number("strut.rest_length", 0.3))  # fmt: skip
    if closed:
        m.add_body("rod", mass=0.1, com=(0.0, 0.0, 0.2), inertia=0.002)
        m.add_body("slide", mass=0.2, inertia=0.01)
        m.add_joint("pin", "pole", "rod", ct.Revolute("y"),
                    in_parent=ct.Pose(p=number("pin.in_parent.p", (0.0, 0.0, 0.6))))  # fmt: skip
        m.add_joint("knee", "rod", "slide", ct.Revolute("y"),
                    in_parent=ct.Pose(p=number("knee.in_parent.p", (0.0, 0.0, 0.8))),
                    in_child=ct.Pose(p=number("knee.in_child.p", (0.02, 0.0, 0.0))))  # fmt: skip
        m.add_joint("way", "ground", "slide", ct.Prismatic("x"), in_parent=ct.Pose(p=(0.9, 0.0, 0.0)),
                    damping=number("way.damping", 0.2))  # fmt: skip
    assert not numbers, numbers
    return m


def longer(vector):
    return np.linalg.norm(vector), lambda x: np.asarray(vector) * (x / np.linalg.norm(vector))


def entry(vector, k):
    def put(x):
        new = np.array(vector, dtype=float)
        new[k] = x
        return new

    return vector[k], put


def whole(value):
    return np.asarray(value, dtype=float), lambda x: x


PLACE, CHILD, TIP, GRAVITY = (0.2, 0.0, 0.1), (0.0, 0.0, 0.05), (0.1, 0.0, 1.0), (0.3, 0.0, -9.0)
# The parameter, the argument of the machine that it is, its value there, and the argument for another value.
NAMES = {
    "pole.mass": ("pole.mass", *whole(0.2)), "pole.com": ("pole.com", *whole(POLE["com"])),
    "pole.com.z": ("pole.com", *entry(POLE["com"], 2)), "pole.com.y": ("pole.com", *entry(POLE["com"], 1)),
    "pole.com.length": ("pole.com", *longer(POLE["com"])), "pole.inertia": ("pole.inertia", *whole(POLE["inertia"])),
    "pole.inertia.yy": ("pole.inertia", *entry(POLE["inertia"], 3)),
    "pole.inertia.xy": ("pole.inertia", *entry(POLE["inertia"], 1)),
    "hinge.in_parent.p": ("hinge.in_parent.p", *whole(PLACE)),
    "hinge.in_parent.p.x": ("hinge.in_parent.p", *entry(PLACE, 0)),
    "hinge.in_parent.p.length": ("hinge.in_parent.p", *longer(PLACE)),
    "hinge.in_child.p": ("hinge.in_child.p", *whole(CHILD)),
    "hinge.in_child.p.z": ("hinge.in_child.p", *entry(CHILD, 2)),
    "hinge.in_child.p.length": ("hinge.in_child.p", *longer(CHILD)),
    "rail.damping": ("rail.damping", *whole(0.4)), "rail.friction": ("rail.friction", *whole(0.3)),
    "rail.armature": ("rail.armature", *whole(0.2)), "screw.pitch": ("screw.pitch", *whole(0.02)),
    "tip.p": ("tip.p", *whole(TIP)), "tip.p.x": ("tip.p", *entry(TIP, 0)), "tip.p.length": ("tip.p", *longer(TIP)),
    "gravity": ("gravity", *whole(GRAVITY)), "gravity.x": ("gravity", *entry(GRAVITY, 0)),
    "gravity.length": ("gravity", *longer(GRAVITY)),
    "coil.stiffness": ("coil.stiffness", *whole(2.0)), "coil.damping": ("coil.damping", *whole(0.1)),
    "coil.rest": ("coil.rest", *whole(0.2)), "strut.stiffness": ("strut.stiffness", *whole(4.0)),
    "strut.damping": ("strut.damping", *whole(0.2)), "strut.rest_length": ("strut.rest_length", *whole(0.3)),
}  # fmt: skip
IN_LOOPS = {
    "pin.in_parent.p": ("pin.in_parent.p", *whole((0.0, 0.0, 0.6))),
    "pin.in_parent.p.length": ("pin.in_parent.p", *longer((0.0, 0.0, 0.6))),
    "knee.in_parent.p.z": ("knee.in_parent.p", *entry((0.0, 0.0, 0.8), 2)),
    "knee.in_child.p": ("knee.in_child.p", *whole((0.02, 0.0, 0.0))),
    "knee.in_child.p.length": ("knee.in_child.p", *longer((0.02, 0.0, 0.0))),
    "way.damping": ("way.damping", *whole(0.2)),
}
FORCES = ("coil", "strut")
LOOPED = (
    "pole.mass",
    "hinge.in_parent.p.length",
    "hinge.in_child.p",
    "rail.armature",
    "coil.stiffness",
    *IN_LOOPS,
)
# The parameters of one owner are one case, so that all of them belong to the quick tests.
OWNERS = list(dict.fromkeys(name.partition(".")[0] for name in NAMES))
CASES = [
    [(False, name) for name in NAMES if name.startswith(f"{owner}.") or name == owner] for owner in OWNERS
]
CASES += [[(True, name)] for name in LOOPED[:4]]
CASES += [[(True, name) for name in LOOPED[4:]], [(True, name) for name in NAMES if name not in LOOPED]]


def built(closed, name, value):
    argument, _, put = {**NAMES, **IN_LOOPS}[name]
    return machine(closed, **{argument.replace(".", "__"): put(value)}).system()


def described(name):
    return np.asarray({**NAMES, **IN_LOOPS}[name][1], dtype=float)


def state(s, closed):
    if closed:
        q = s.assemble({"rail": 0.1, "hinge": 0.4, "screw": 0.3})
        return q, s.velocity(q, {"rail": 0.5, "hinge": 0.3, "screw": 0.4})
    return np.array([0.1, 0.4, 0.3]), np.array([0.5, 0.3, 0.4])


def label(names):
    return f"{names[0][1].partition('.')[0]}{' in a loop' * names[0][0]}"


each = pytest.mark.parametrize(
    "names", [*CASES[:-1], pytest.param(CASES[-1], marks=pytest.mark.slow)], ids=label
)


def cases(names):
    """The system, a parameter, two values of it, and what was built with them."""
    for closed, name in names:
        values = np.stack([1.0 * described(name), 1.07 * described(name)])
        yield closed, machine(closed).system(), name, values, [built(closed, name, x) for x in values]


@each
def test_calls_in_lanes_and_one_state_are_those_of_what_was_built(names):
    for case in cases(names):
        compare_calls(*case)


def compare_calls(closed, s, name, values, alone):
    rng = np.random.default_rng(7)
    tau = rng.normal(size=s.nv)
    states = [state(a, closed) for a in alone]
    q, v = (np.stack(x) for x in zip(*states))
    varied = s.vary({name: values})
    if closed:
        found = varied.assemble({"rail": 0.1, "hinge": 0.4, "screw": 0.3})
        np.testing.assert_allclose(found, q, atol=1e-10)
        assert np.abs(varied.closure(q)[0]).max() < 1e-9
    close = {"rtol": 1e-9, "atol": 1e-10}
    expected = np.stack([a.forward_dynamics(*x, tau) for a, x in zip(alone, states)])
    np.testing.assert_allclose(s.forward_dynamics(q, v, tau, parameters={name: values}), expected, **close)
    np.testing.assert_allclose(varied.forward_dynamics(q, v, tau), expected, **close)
    for a, x, value, vdot in zip(alone, states, values, expected):
        np.testing.assert_allclose(s.forward_dynamics(*x, tau, parameters={name: value}), vdot, **close)
        np.testing.assert_allclose(s.vary({name: value}).forward_dynamics(*x, tau), vdot, **close)
        np.testing.assert_allclose(
            s.inverse_dynamics(*x, vdot, parameters={name: value}), a.inverse_dynamics(*x, vdot), **close
        )
    H = np.stack([a.mass_matrix(x[0]) for a, x in zip(alone, states)])
    np.testing.assert_allclose(s.mass_matrix(q, parameters={name: values}), H, **close)
    for ask in (
        lambda s, q, v: s.pose(q, "tip").matrix(),
        lambda s, q, v: s.jacobian(q, "tip"), lambda s, q, v: s.twist(q, v, "tip"),
        lambda s, q, v: s.potential_energy(q), lambda s, q, v: s.forces.energy(q),
        lambda s, q, v: s.reactions(q, v)["hinge"], lambda s, q, v: s.kinetic_energy(q, v),
        lambda s, q, v: s.momentum(q, v), lambda s, q, v: s.bias_force(q, v),
    ):  # fmt: skip
        np.testing.assert_allclose(ask(varied, q, v), [ask(a, *x) for a, x in zip(alone, states)], **close)


@each
def test_runs_are_those_of_what_was_built(names):
    for case in cases(names):
        compare_runs(*case)


def compare_runs(closed, s, name, values, alone):
    states = [state(a, closed) for a in alone]
    q, v = (np.stack(x) for x in zip(*states))
    options = {"samples": 3, "rtol": 1e-10, "atol": 1e-11, "check": False}
    run = ct.simulate(s, q, v, 0.05, parameters={name: values}, **options)
    for k, (a, x) in enumerate(zip(alone, states)):
        own = ct.simulate(a, *x, 0.05, **options)
        np.testing.assert_allclose(run.q[k], own.q, atol=1e-8)
        np.testing.assert_allclose(run.v[k], own.v, atol=1e-7)


@each
def test_a_symbol_by_itself_is_the_number(names):
    for case in cases(names):
        if case[2].partition(".")[0] not in FORCES:  # Equations have no numbers of forces.
            compare_equations(*case)


def compare_equations(closed, s, name, values, alone):
    equations = s.equations("forward_dynamics", symbols=[name])
    for value, a in zip(values, alone):
        q, v = state(a, closed)
        found = equations(q, v, np.zeros(s.nv), parameters={name: value})
        np.testing.assert_allclose(found, a.forward_dynamics(q, v), rtol=1e-8, atol=1e-9)


@each
def test_derivatives_by_a_parameter_are_differences_of_what_was_built(names):
    for case in cases(names):
        compare_derivatives(*case[:3])


def compare_derivatives(closed, s, name):
    q, v = state(s, closed)
    tau = np.zeros(s.nv)
    value = described(name)
    # A length inside a loop opens it, and what an open loop does is another question.
    if name in IN_LOOPS and ".p" in name or closed and name.startswith("hinge"):
        assert np.isfinite(s.parameter_derivatives(q, v, tau, [name], elements=True)[name]).all()
        return
    found = s.parameter_derivatives(q, v, tau, [name], elements=True)[name]
    flat = np.atleast_1d(value)
    for k in range(flat.size):
        step = 1e-6 * max(1.0, abs(flat[k]))
        ends = []
        for sign in (1.0, -1.0):
            moved = flat.copy()
            moved[k] += sign * step
            ends.append(
                built(closed, name, moved.reshape(value.shape)).forward_dynamics(q, v, tau, elements=True)
            )
        np.testing.assert_allclose(found[:, k], (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-6)


def test_sensitivities_by_a_parameter_are_differences_of_runs():
    s = machine(False).system()
    q, v = state(s, False)
    names = list(NAMES)
    options = {"rtol": 1e-11, "atol": 1e-12, "check": False}
    for name in names:
        found = ct.sensitivities(s, q, v, 0.05, parameters=[name], intervals=10)
        value = described(name)
        flat = np.atleast_1d(value)
        k = int(np.argmax(np.abs(flat)))
        step = 1e-4 * max(abs(flat[k]), 0.1)
        ends = []
        for sign in (1.0, -1.0):
            moved = flat.copy()
            moved[k] += sign * step
            run = ct.simulate(
                built(False, name, moved.reshape(value.shape)), q, v, 0.05, samples=2, **options
            )
            ends.append(np.concatenate([run.q[-1], run.v[-1]]))
        expected = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(
            found.by_parameter[name][-1][:, k], expected, rtol=1e-4, atol=1e-6, err_msg=name
        )
