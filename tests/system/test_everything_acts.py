"""Whatever belongs to a mechanism acts in every call: forward, inverse and hybrid dynamics against each other, against
runs, against differences, energies and powers, equations and exported C, and against the mechanism without it."""

import shutil
import subprocess
from functools import lru_cache

import numpy as np
import pytest

import catena as ct
from benchmarks.states import closed_states, random_states
from catena.forces import KINDS, FrameForce, JointFriction, JointStop, PointSpring, TabledJointSpring
from catena.kernels import plain_numbers
from catena.mechanism.generators import four_bar, random_mechanism, stewart

CHOSEN = ["Revolute", "Prismatic", "Universal", "Spherical"]
BETWEEN = [kind for kind in KINDS if isinstance(kind, FrameForce) and not kind.inputs]
TABLE = next(kind for kind in KINDS if isinstance(kind, TabledJointSpring))


def pressed(m, seed, conservative=False):
    """The mechanism with every kind of force: between frames, and at every joint springs, friction, elastic limits."""
    random = np.random.default_rng(seed)
    m, names = m.copy(), list(m.bodies)
    for k, kind in enumerate(BETWEEN):
        ends = names[k % len(names)], names[(2 * k + 1) % len(names)]
        ends = ("ground", ends[1]) if ends[0] == ends[1] else ends
        ends = (ends[0], names[1]) if ends[1] == "ground" else ends
        for end, body in zip("ab", ends, strict=True):
            m.add_frame(f"{end}{k}", body, ct.Pose(p=random.normal(size=3), rpy=random.normal(size=3)))
        start = "ground" if kind.weighs else f"a{k}"
        m.add_force(f"{type(kind).__name__} {k}", kind, between=(start, f"b{k}"))
    m.add_force("path", PointSpring(3.0, 0.5, 0.0 if conservative else 0.2), between=("a0", "b0", "a1", "b1"))
    if not conservative:
        m.add_wrench("load", names[-1], moment=random.normal(size=3), force=random.normal(size=3))
    for name, joint in list(m.joints.items()):
        nv = joint.kind.nv
        if not nv:
            continue
        rub = (
            {}
            if conservative
            else {"damping": random.uniform(0, 1, nv), "friction": random.uniform(0, 1, nv)}
        )
        stiff = random.uniform(5, 9, nv)
        m = m.with_joint(name, limits=[(-0.1, 0.2)] * nv, limit_stiffness=stiff, limit_damping=0.3, **rub)
        rest = joint.kind.integrate(joint.kind.neutral(), 0.4 * random.normal(size=nv))
        m.add_spring(f"{name} spring", name, random.uniform(1, 5, nv), rest, random.uniform(0, 1, nv))
        m.add_force(
            f"{name} stop", JointStop((-0.1,) * nv, (0.3,) * nv, (2.0,) * nv, (0.5,) * nv), joint=name
        )
        m.add_force(f"{name} rub", JointFriction((0.2,) * nv, (0.4,) * nv), joint=name)
        if nv == 1:
            m.add_force(f"{name} table", TABLE, joint=name)
    if conservative:
        spared = [n for n, f in m.forces.items() if not f.kind.stores]
        m = without(m, spared)
    return m


def without(m, names):
    """The mechanism without some of its forces, made anew."""
    made = m.without_forces()
    for name, joint in m.joints.items():
        options = {
            "limits": joint.limits,
            "limit_stiffness": joint.limit_stiffness,
            "limit_damping": joint.limit_damping,
        }
        if joint.limits is not None:
            made = made.with_joint(name, **options)
    for spring in m.springs.values():
        made.add_spring(spring.name, spring.joint, spring.stiffness, spring.rest, spring.damping)
    for force in m.forces.values():
        if force.name not in names:
            place = {"joint": force.at_joint} if force.frames is None else {"between": force.frames}
            made.add_force(force.name, force.kind, **place)
    return made


@lru_cache
def case(number, conservative=False):
    """A random tree, a random mechanism with loops, a four-bar, a Stewart platform, with all that can act."""
    if number in (0, 2):
        m = random_mechanism(number, 3, CHOSEN, floating=number == 2)
    elif number in (1, 3):
        m = random_mechanism({1: 7, 3: 3}[number], 4, CHOSEN, loops=1)
    else:
        m = four_bar() if number == 4 else stewart()
    return pressed(m, number, conservative).system()


def states(s, count, seed=0):
    return (
        closed_states(s, count, seed, spread=0.15)
        if s.mechanics.constrained
        else random_states(s, count, seed)
    )


LONG = [pytest.param(number, marks=pytest.mark.slow) for number in (2, 3, 5)]
ALL = pytest.mark.parametrize("number", [0, 1, 4, *LONG])


@ALL
def test_inverse_dynamics_undoes_forward_dynamics(number, agree):
    s = case(number)
    q, v, tau, _ = states(s, 5, number)
    vdot = s.forward_dynamics(q, v, tau)
    found = s.inverse_dynamics(q, v, vdot)
    if not s.mechanics.constrained:
        agree(found, tau, 1e-9, np.abs(s.bias_force(q, v)).max())
    agree(s.forward_dynamics(q, v, found), vdot, 1e-8)
    agree(s.forward_dynamics(q[0], v[0], tau[0]), vdot[0], 1e-9, np.abs(vdot).max())
    agree(s.inverse_dynamics(q[0], v[0], vdot[0]), found[0], 1e-8, np.abs(found).max())
    some = [j for j in s.joints if s.mechanism.joints[j].kind.nv]
    accelerated, drive = s.hybrid_dynamics(q, v, tau, {j: vdot[:, s.slice_v(j)] for j in some[:1]})
    agree(accelerated, vdot, 1e-8)
    agree(s.forward_dynamics(q, v, drive), vdot, 1e-8)
    if not s.mechanics.constrained:
        agree(drive, tau, 1e-9, np.abs(s.bias_force(q, v)).max())


@ALL
def test_forces_told_from_outside_do_the_same(number, agree):
    """The forces as the mechanism tells them, given to the mechanism without them."""
    s = case(number)
    q, v, tau, _ = states(s, 4, number)
    e = s.forces.loads(q, v)
    rubbing = s.mechanism.without_forces()
    for name, joint in s.mechanism.joints.items():
        rubbing = rubbing.with_joint(name, damping=joint.damping, friction=joint.friction)
    other = rubbing.system()
    assert other.joints == s.joints and other.loops == s.loops
    agree(s.forward_dynamics(q, v, tau), other.forward_dynamics(q, v, tau + e.tau, f_ext=e.f_ext), 1e-8)
    agree(s.bias_force(q, v), other.bias_force(q, v, f_ext=e.f_ext) - e.tau, 1e-11)
    if s.mechanics.constrained:
        agree(s.forward_dynamics(q, v, tau, method="kkt"), s.forward_dynamics(q, v, tau), 1e-8)


@ALL
def test_a_run_starts_with_the_same_acceleration(number, agree):
    s = case(number)
    q, v, tau, _ = (x[0] for x in states(s, 1, number))
    tau = tau * s.plan.actuated
    run = ct.simulate(s, q, v, 1e-5, control=lambda t, q, v: tau, samples=5, check=False)
    vdot = s.forward_dynamics(q, v, tau)
    agree(run.acceleration[0], vdot, 1e-10)
    agree((run.v[1] - v) / run.t[1], vdot, 2e-3)


@ALL
def test_derivatives_are_those_of_the_call(number, agree, derivative):
    s = case(number)
    q, v, tau, vdot = states(s, 2, number)
    by_q, by_v, by_tau = s.forward_dynamics_derivatives(q, v, tau)
    if s.mechanics.constrained:
        # Along motions that keep the loops closed, at their accelerations.
        way, h = v[0], 1e-5
        ends = [s.project(s.integrate(q[0], way, k * h), v[0]) for k in (-1, 1)]
        found = [s.forward_dynamics(*end, tau[0]) for end in ends]
        steps = [s.difference(q[0], end[0]) for end in ends]
        rates = [end[1] - v[0] for end in ends]
        predicted = by_q[0] @ (steps[1] - steps[0]) + by_v[0] @ (rates[1] - rates[0])
        agree(predicted / (2 * h), (found[1] - found[0]) / (2 * h), 1e-3, np.abs(by_q[0] @ way).max())
    else:
        agree(by_q[0], along_steps(s, q[0], lambda x: s.forward_dynamics(x, v[0], tau[0]), derivative), 2e-5)
        agree(by_v[0], along(v[0], lambda x: s.forward_dynamics(q[0], x, tau[0]), derivative), 2e-5)
    agree(by_tau[0], along(tau[0], lambda x: s.forward_dynamics(q[0], v[0], x), derivative), 1e-6)
    # Loops take no part here, so that any velocity will do; those that loops hold at zero are where dampers bend.
    free = np.random.default_rng(number).normal(size=v.shape)
    taken_q, taken_v, H = s.inverse_dynamics_derivatives(q, free, vdot)
    agree(taken_v[0], along(free[0], lambda x: s.bias_force(q[0], x), derivative), 2e-5)
    agree(H, s.mass_matrix(q), 1e-10)
    if not s.mechanics.constrained:
        found = along_steps(s, q[0], lambda x: s.inverse_dynamics(x, free[0], vdot[0]), derivative)
        agree(taken_q[0], found, 2e-5)
    one = s.forward_dynamics_derivatives(q[1], v[1], tau[1])
    for a, b in zip(one, (by_q, by_v, by_tau), strict=True):
        agree(a, b[1], 1e-9)


def along(x, f, derivative):
    columns = [derivative(lambda h, e=e: f(x + h * e), 1e-4) for e in np.eye(len(x))]
    return np.stack(columns, axis=-1)


def along_steps(s, q, f, derivative):
    columns = [derivative(lambda h, e=e: f(s.integrate(q, e, h)), 1e-4) for e in np.eye(s.nv)]
    return np.stack(columns, axis=-1)


@ALL
def test_equations_are_what_is_called(number, agree):
    s = case(number)
    q, v, tau, vdot = (x[0] for x in states(s, 1, number))
    agree(s.equations("forward_dynamics")(q, v, tau), s.forward_dynamics(q, v, tau), 1e-8)
    agree(s.equations("bias_force")(q, v), s.bias_force(q, v), 1e-11)
    agree(s.equations("potential_energy")(q), s.potential_energy(q), 1e-11)
    if not s.mechanics.constrained:
        agree(s.equations("inverse_dynamics")(q, v, vdot), s.inverse_dynamics(q, v, vdot), 1e-11)
        composite = s.equations("forward_dynamics", method="composite_body")
        agree(composite(q, v, tau), s.forward_dynamics(q, v, tau), 1e-8)
    else:
        moved = s.forward_dynamics(q, v, tau)
        inverse = s.equations("inverse_dynamics", at=q)(q, v, moved)
        agree(inverse, s.inverse_dynamics(q, v, moved), 1e-6, np.abs(s.bias_force(q, v)).max())
        for method in ("joint_multipliers", "minimal"):
            found = s.equations("forward_dynamics", method=method, at=q)(q, v, tau)
            agree(found[0] if isinstance(found, tuple) else found, moved, 1e-6)
    bare = s.equations("forward_dynamics", elements=False)
    agree(bare(q, v, tau), s.mechanism.without_forces().system().forward_dynamics(q, v, tau), 1e-8)


def test_numbers_of_forces_are_symbols(agree):
    s = case(0)
    q, v, tau, _ = (x[0] for x in states(s, 1))
    spring = next(iter(s.mechanism.springs.values()))
    stiff = np.array(spring.stiffness) * 2.0
    e = s.equations("forward_dynamics", symbols=[f"{spring.name}.stiffness"])
    changed = s.mechanism.with_spring(spring.name, stiffness=stiff).system()
    agree(
        e(q, v, tau, parameters={f"{spring.name}.stiffness": stiff}),
        changed.forward_dynamics(q, v, tau),
        1e-9,
    )
    V = s.equations("potential_energy", symbols=[f"{spring.name}.stiffness"])
    agree(V(q, parameters={f"{spring.name}.stiffness": stiff}), changed.potential_energy(q), 1e-11)
    with pytest.raises(ct.EquationsError, match="no springs"):
        s.equations("mass_matrix", symbols=[f"{spring.name}.stiffness"])


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("number", [0, 4])
def test_exported_c_has_all_forces_in_it(number, agree, tmp_path):
    s = case(number)
    e = s.equations("forward_dynamics")
    source = e.c("dynamics")
    source.save(tmp_path)
    files = [str(tmp_path / name) for name in ("dynamics.c", "dynamics_test.c")]
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]
    built = subprocess.run(
        ["gcc", *strict, *files, "-o", str(tmp_path / "p"), "-lm"], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(tmp_path / "p")], capture_output=True, text=True)
    printed = [line.split(" ") for line in done.stdout.splitlines() if line.startswith("vdot ")]
    agree(np.array([float(number) for _, number in printed]), e(*e.example().values()), 1e-11)


@ALL
def test_potential_energy_is_what_holding_still_takes(number, agree, derivative):
    s = case(number, conservative=True)
    q = states(s, 1, number).q[0]
    rest = np.zeros(s.nv)
    slope = np.array(
        [derivative(lambda h, e=e: s.potential_energy(s.integrate(q, e, h)), 1e-4) for e in np.eye(s.nv)]
    )
    agree(s.bias_force(q, rest), slope, 1e-6)
    agree(ct.energy_derivatives(s, q, rest)[2], slope, 1e-6)
    if not s.mechanics.constrained:
        agree(s.inverse_dynamics(q, rest, rest), slope, 1e-6)


@ALL
def test_energy_changes_by_the_power_of_what_spends(number, agree, derivative):
    s = case(number)
    q, v, tau, _ = (x[0] for x in states(s, 1, number))
    vdot = s.forward_dynamics(q, v, tau)

    def energy(h):
        at = s.integrate(q, v * h + 0.5 * h * h * vdot)
        return s.kinetic_energy(at, v + h * vdot) + s.potential_energy(at)

    powers = s.forces.powers(q, v)
    agree(derivative(energy, 1e-5), tau @ v + sum(powers.values()), 1e-5, np.abs(v * tau).sum())
    bare = s.potential_energy(q, elements=False) + s.forces.energy(q)
    agree(s.potential_energy(q), bare, 1e-14)


@ALL
def test_without_elements_it_is_the_stripped_mechanism(number, agree):
    s = case(number)
    m = s.mechanism
    stripped = ct.Mechanism(m.name, m.gravity)
    for body in list(m.bodies.values())[1:]:
        stripped.add_body(body.name, body.mass, body.com, body.inertia)
    for j in m.joints.values():
        stripped.add_joint(j.name, j.parent, j.child, j.kind, j.in_parent, j.in_child, actuated=j.actuated)
    for f in m.frames.values():
        stripped.add_frame(f.name, f.body, f.pose)
    other = stripped.system()
    q, v, tau, vdot = states(s, 3, number)
    vdot = other.forward_dynamics(q, v, tau)
    calls = {
        "forward_dynamics": (q, v, tau), "inverse_dynamics": (q, v, vdot), "bias_force": (q, v),
        "forward_dynamics_derivatives": (q, v, tau), "inverse_dynamics_derivatives": (q, v, vdot),
        "energy_derivatives": (q, v), "potential_energy": (q,), "reactions": (q, v, tau),
    }  # fmt: skip

    def asked(name, system, *given, **leave):
        if hasattr(ct, name):
            return getattr(ct, name)(system, *given, **leave)
        return getattr(system, name)(*given, **leave)

    for name, given in calls.items():
        ours, theirs = (
            asked(name, x, *given, **leave) for x, leave in ((s, {"elements": False}), (other, {}))
        )
        if isinstance(ours, np.ndarray):
            ours, theirs = [ours], [theirs]
        elif isinstance(ours, dict):
            ours, theirs = list(ours.values()), [theirs[joint] for joint in ours]
        size = max(np.abs(x).max(initial=0.0) for x in theirs)
        for a, b in zip(ours, theirs, strict=True):
            agree(a, b, 1e-8, size)
    linear, alone = s.linearise(q[0], elements=False), other.linearise(q[0])
    agree(linear.A, alone.A, 1e-8)


@pytest.mark.parametrize("number", [1, 4, *LONG[1:]])
def test_reactions_balance_every_body_whatever_the_plan_cuts(number, agree):
    """A spring at a joint passes through that joint, be it of the tree or of a loop."""
    m = case(number).mechanism
    s = m.system()
    q, v, tau, _ = states(s, 1, number)
    reference = s.reactions(q, v, np.zeros_like(tau))
    for name in [j for j in s.joints if m.joints[j].kind.nv][:3]:
        try:
            other = m.system(cut=[name])
        except ct.CatenaError:
            continue
        if other.loops == s.loops:
            continue
        where = {j: s.joint_position(q[0], j) for j in other.joints}
        moving = {j: s.joint_velocity(q[0], v[0], j) for j in other.joints}
        at = other.assemble(where, guess=where)
        rate = other.velocity(at, moving)
        found = other.reactions(at, rate, np.zeros(other.nv))
        size = max(np.abs(x).max() for x in reference.values())
        for joint, wrench in reference.items():
            agree(found[joint], wrench[0], 1e-5, size)


@pytest.mark.parametrize("number", [4, pytest.param(0, marks=pytest.mark.slow)])
def test_numbers_that_differ_from_state_to_state(number, agree):
    s = case(number)
    q, v, tau, _ = states(s, 2, number)
    spring = next(n for n, f in s.mechanism.springs.items() if len(f.stiffness) == 1)
    values = {f"{spring}.stiffness": np.array([1.0, 5.0])}
    vdot = s.forward_dynamics(q, v, tau, parameters=values)
    alone = [s.mechanism.with_spring(spring, stiffness=k).system() for k in values[f"{spring}.stiffness"]]
    agree(vdot, [a.forward_dynamics(q[k], v[k], tau[k]) for k, a in enumerate(alone)], 1e-8)
    found = s.inverse_dynamics(q, v, vdot, parameters=values)
    agree(found, [a.inverse_dynamics(q[k], v[k], vdot[k]) for k, a in enumerate(alone)], 1e-7)
    varied = s.vary(values)
    agree(varied.potential_energy(q), [a.potential_energy(q[k]) for k, a in enumerate(alone)], 1e-12)
    agree(
        varied.forward_dynamics(q, v, tau, elements=False),
        s.forward_dynamics(q, v, tau, elements=False),
        1e-9,
    )
    first = varied.inverse_dynamics_derivatives(q, v, vdot)[0]
    agree(first, [a.inverse_dynamics_derivatives(q[k], v[k], vdot[k])[0] for k, a in enumerate(alone)], 1e-9)
    slopes = s.parameter_derivatives(q, v, tau, [f"{spring}.stiffness"])[f"{spring}.stiffness"]
    more, less = (
        s.mechanism.with_spring(spring, stiffness=s.mechanism.springs[spring].stiffness + h).system()
        for h in (1e-3, -1e-3)
    )
    difference = (more.forward_dynamics(q, v, tau) - less.forward_dynamics(q, v, tau)) / 2e-3
    agree(slopes[..., 0], difference, 1e-5, np.abs(difference).max())
    none = s.parameter_derivatives(q, v, tau, [f"{spring}.stiffness"], elements=False)
    assert none[f"{spring}.stiffness"].shape == slopes.shape and not none[f"{spring}.stiffness"].any()


def test_plain_numbers_and_specialised_systems_have_the_forces_too(agree):
    s = case(0)
    q, v, tau, vdot = states(s, 2)
    fast = s.specialise("forward_dynamics", "inverse_dynamics")
    assert fast.variants.specialiser.wait(120.0)
    for call, given in (("forward_dynamics", tau), ("inverse_dynamics", vdot)):
        wanted = getattr(s, call)(q, v, given)
        agree(getattr(fast, call)(q, v, given), wanted, 1e-9)
        agree(getattr(fast, call)(q[0], v[0], given[0]), wanted[0], 1e-9)
        with plain_numbers():
            agree(getattr(s, call)(q[0], v[0], given[0]), wanted[0], 1e-9)


@pytest.mark.parametrize("dry", [False, True])
def test_computed_torque_of_a_mechanism_with_springs_tracks(dry):
    """It knows all that acts. Dry friction it takes as going smoothly through rest, so that a joint that begins to
    move is held back by what is left of it."""
    m = random_mechanism(3, 3, ["Revolute", "Prismatic"])
    for k, name in enumerate(list(m.joints)):
        m = m.with_joint(name, damping=0.4, friction=0.2 * dry)
        m.add_spring(f"s{k}", name, 50.0, 0.3)
        if not dry:
            m.add_force(f"{name} rub", JointFriction(friction=(0.2,)), joint=name)
    m.add_spring_between("rope", "ground", "tool3", 80.0, 0.3, 1.0)
    s = m.system()
    ends = {"joint1": 0.5, "joint2": -0.2, "joint3": 0.3}
    goal = ct.JointPath(s, {name: ct.cubic([0.0, 1.0], [0.0, end]) for name, end in ends.items()})
    run = ct.simulate(s, s.neutral(), np.zeros(s.nv), 1.0, control=ct.ComputedTorque(s, goal, kp=100.0))
    assert np.abs(run.q - np.array([goal.at(t)[0] for t in run.t])).max() < (5e-6 if dry else 1e-6)
    q = np.array([0.4, -0.1, 0.2])
    held = ct.simulate(s, q, np.zeros(3), 1.0, control=ct.GravityCompensation(s))
    assert np.abs(held.q - q).max() < 1e-8


def test_a_force_that_waits_to_be_told_does_nothing_in_calls_and_is_refused_in_runs():
    m, bare = ct.generators.four_bar(), ct.generators.four_bar().system()
    m.add_force("push", ct.forces.AppliedWrench(), between=("ground", "coupler"))
    s = m.system()
    q = s.assemble({"A": 0.3})
    v = s.velocity(q, {"A": 2.0})
    vdot = bare.forward_dynamics(q, v)
    np.testing.assert_allclose(s.forward_dynamics(q, v), vdot, atol=1e-12)
    np.testing.assert_allclose(s.forward_dynamics(np.stack([q, q]), np.stack([v, v]))[1], vdot, atol=1e-12)
    np.testing.assert_allclose(s.bias_force(q, v), bare.bias_force(q, v), atol=1e-12)
    with pytest.raises(ct.StateError, match="'push', a AppliedWrench, is told 6 numbers from outside"):
        ct.simulate(s, q, v, 0.1)
