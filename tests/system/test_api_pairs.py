"""Every public call that takes a state, in all ways that it may be said: one state and a batch, a batch and each
mechanism by itself where parameters differ, arrays and names, a parameter of the call and another system, steps by hand
and a run.

The table has a line for each call; a call that is new has none, and fails the first test.
"""

import dataclasses
import inspect
from types import SimpleNamespace

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, random_mechanism, stewart

# name: (arguments of a state, and of a frame or joint by name)
CALLS = {
    "acceleration": lambda s, x: s.acceleration(x.q, x.v, x.vdot, x.frame),
    "articulated_inertias": lambda s, x: dict(s.articulated_inertias(x.q, x.v, x.tau)),
    "bias_acceleration": lambda s, x: s.bias_acceleration(x.q, x.v, x.frame),
    "bias_force": lambda s, x: s.bias_force(x.q, x.v),
    "body_poses": lambda s, x: s.body_poses(x.q),
    "center_of_mass": lambda s, x: s.center_of_mass(x.q),
    "closure": lambda s, x: s.closure(x.q, x.v),
    "closure_jacobian": lambda s, x: s.closure_jacobian(x.q),
    "difference": lambda s, x: s.difference(s.integrate(x.q, x.v, 0.1), x.q),
    "forces.energy": lambda s, x: s.forces.energy(x.q),
    "forces.loads": lambda s, x: s.forces.loads(x.q, x.v),
    "ct.energy_derivatives": lambda s, x: ct.energy_derivatives(s, x.q, x.v),
    "forces.outputs": lambda s, x: s.forces.outputs(x.q, x.v),
    "forces.powers": lambda s, x: s.forces.powers(x.q, x.v),
    "forward_dynamics": lambda s, x: s.forward_dynamics(x.q, x.v, x.tau),
    "forward_dynamics_derivatives": lambda s, x: s.forward_dynamics_derivatives(x.q, x.v, x.tau),
    "hybrid_dynamics": lambda s, x: s.hybrid_dynamics(x.q, x.v, x.tau, {x.joint: 0.3})[0],
    "integrate": lambda s, x: s.integrate(x.q, x.v, 0.1),
    "inverse_dynamics": lambda s, x: s.inverse_dynamics(x.q, x.v, x.vdot),
    "inverse_dynamics_derivatives": lambda s, x: s.inverse_dynamics_derivatives(x.q, x.v, x.vdot),
    "inverse_dynamics_interval": lambda s, x: s.inverse_dynamics_interval(
        x.q, x.v, x.vdot, actuated=["A"] if "A" in s.joints else None
    ),
    "jacobian": lambda s, x: s.jacobian(x.q, x.frame),
    "joint_position": lambda s, x: s.joint_position(x.q, x.joint),
    "joint_velocity": lambda s, x: s.joint_velocity(x.q, x.v, x.joint),
    "kinetic_energy": lambda s, x: s.kinetic_energy(x.q, x.v),
    "mass_matrix": lambda s, x: s.mass_matrix(x.q),
    "momentum": lambda s, x: s.momentum(x.q, x.v),
    "operational_space": lambda s, x: s.operational_space(x.q, x.frame),
    "pose": lambda s, x: s.pose(x.q, x.frame),
    "potential_energy": lambda s, x: s.potential_energy(x.q),
    "project": lambda s, x: s.project(x.q, x.v),
    "rate": lambda s, x: s.rate(x.q, x.v),
    "reactions": lambda s, x: s.reactions(x.q, x.v, x.tau),
    "sticking": lambda s, x: s.sticking(x.q, x.v, x.tau),
    "twist": lambda s, x: s.twist(x.q, x.v, x.frame),
    "velocity": lambda s, x: s.velocity(x.q, {x.joint: 0.4}),
}  # fmt: skip
# Calls that are not for trees, or for nothing but trees; and those that answer for one configuration, look something
# up, or are compared with others where they are tested.
LOOPS_ONLY = {"closure", "closure_jacobian", "project", "velocity"}
TREES_ONLY = {"articulated_inertias", "inverse_dynamics_derivatives"}
ELSEWHERE = {
    "configuration", "coupling_forces", "ct.contact_dynamics", "ct.contact_velocity", "diagnose", "linearise", "modes",
    "parameter_derivatives", "regressor", "resultants", "view",
}  # fmt: skip
BY_NAME = [
    "articulated_inertias", "forward_dynamics", "hybrid_dynamics", "inverse_dynamics", "inverse_dynamics_interval",
    "reactions", "sticking",
]  # fmt: skip
WITH_PARAMETERS = ["bias_force", "forward_dynamics", "inverse_dynamics", "mass_matrix"]
STATES = 5


def tree():
    m = random_mechanism(
        4, 6, ["Revolute", "Spherical", "Universal", "Prismatic"], floating=True, friction=True
    )
    name = next(n for n, j in m.joints.items() if j.kind.nv == 1)
    m.add_spring("spring", name, stiffness=5.0, damping=0.3)
    m.add_spring_between("strut", "tool1", "tool4", stiffness=20.0, rest_length=0.3, damping=1.0)
    return m, name


def crank():
    m = four_bar()
    m.add_spring("spring", "B", stiffness=5.0, damping=0.3)
    return m.with_joint("A", damping=0.2), "A"


def platform():
    return stewart(), "leg1"


MACHINES = {"tree": tree, "four-bar": crank, "platform": platform}


class Machine:
    """A mechanism, its system, and closed states of it in a batch."""

    def __init__(self, name):
        self.mechanism, joint = MACHINES[name]()
        self.system = s = self.mechanism.system()
        if joint not in s.joints:
            joint = next(n for n in s.joints if self.mechanism.joints[n].kind.nv == 1)
        random = np.random.default_rng(7)
        size = 0.2 if s.loops else 0.6
        step, v, tau = size * random.normal(size=(3, STATES, s.nv))
        tau *= s.plan.actuated
        q = s.integrate(np.broadcast_to(s.neutral(), (STATES, s.nq)), step)
        if s.loops:
            q, v = s.project(q, v)
        frame = list(self.mechanism.bodies)[-1]
        self.states = SimpleNamespace(q=q, v=v, tau=tau, vdot=None, frame=frame, joint=joint)
        self.states.vdot = s.forward_dynamics(q, v, tau)
        self.body = next(n for n, b in self.mechanism.bodies.items() if n != "ground" and b.mass > 0.0)

    def calls(self):
        """The names of calls that are for this machine."""
        return [n for n in CALLS if n not in (TREES_ONLY if self.system.loops else LOOPS_ONLY)]

    def one(self, k):
        """The state of number k."""
        x = SimpleNamespace(**vars(self.states))
        x.q, x.v, x.tau, x.vdot = (getattr(self.states, n)[k] for n in ("q", "v", "tau", "vdot"))
        return x

    def by_name(self, x, *which):
        """A state, or a batch of them, with some of its arrays told by joint."""
        s, other = self.system, SimpleNamespace(**vars(x))
        for name in which:
            at = s.slice_q if name == "q" else s.slice_v
            setattr(other, name, {joint: getattr(x, name)[..., at(joint)] for joint in s.joints})
        return other


_machines = {}


@pytest.fixture(params=["tree", "four-bar", pytest.param("platform", marks=pytest.mark.slow)])
def machine(request):
    if request.param not in _machines:
        _machines[request.param] = Machine(request.param)
    return _machines[request.param]


def numbers(result, state=None):
    """All numbers in a result as {where: array}; with a state those of that state."""
    if dataclasses.is_dataclass(result):
        result = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
    if isinstance(result, (dict, tuple, list)):
        parts = result.items() if isinstance(result, dict) else enumerate(result)
        return {f"{k}/{w}": x for k, part in parts for w, x in numbers(part, state).items()}
    if hasattr(result, "items"):
        return numbers(dict(result.items()), state)
    array = np.asarray(result, dtype=float)
    return {"": array if state is None else array[state]}


def assert_same(ours, theirs, part=1e-9, what=""):
    assert ours.keys() == theirs.keys()
    for where, x in ours.items():
        y = theirs[where]
        assert x.shape == y.shape, f"{what} {where}: {x.shape} and {y.shape}"
        size = 1.0 + max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0))
        assert np.abs(x - y).max(initial=0.0) <= part * size, f"{what} {where}"


def functions():
    """All calls of a system by name, and which of them are functions of it or of its forces."""
    owners = {"": ct.System, "forces.": type(four_bar().system().forces)}
    found = {
        prefix + name: function
        for prefix, owner in owners.items()
        for name, function in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_")
    }
    return found | {
        f"ct.{name}": getattr(ct, name)
        for name in ("contact_dynamics", "contact_velocity", "energy_derivatives")
    }


def test_every_call_that_takes_a_state_is_in_the_table():
    taken = {name: inspect.signature(function).parameters for name, function in functions().items()}
    assert {name for name, given in taken.items() if {"q", "q0"} & set(given)} == {*CALLS, *ELSEWHERE}
    states = {n for n in CALLS if taken[n].get("q") is not None}
    assert {n for n in states if taken[n]["q"].annotation == "State"} == set(BY_NAME)
    assert set(WITH_PARAMETERS) == {n for n in CALLS if "parameters" in taken[n]}


def test_a_batch_is_its_states_one_by_one(machine):
    for name in machine.calls():
        together = CALLS[name](machine.system, machine.states)
        for k in (0, STATES - 1):
            alone = numbers(CALLS[name](machine.system, machine.one(k)))
            assert_same(numbers(together, k), alone, what=name)


def test_a_batch_of_two_dimensions_is_one_of_one(machine):
    x, folded = machine.states, SimpleNamespace(**vars(machine.states))
    for name in ("q", "v", "tau", "vdot"):
        setattr(folded, name, getattr(x, name)[:4].reshape(2, 2, -1))
    for name in machine.calls():
        flat, deep = (numbers(CALLS[name](machine.system, each)) for each in (x, folded))
        assert_same({w: y[:4].reshape(2, 2, *y.shape[1:]) for w, y in flat.items()}, deep, what=name)


def test_a_batch_of_no_states_has_results_of_no_states(machine):
    none = SimpleNamespace(**vars(machine.states))
    for name in ("q", "v", "tau", "vdot"):
        setattr(none, name, getattr(none, name)[:0])
    for name in machine.calls():
        full, empty = (numbers(CALLS[name](machine.system, each)) for each in (machine.states, none))
        assert {w: x.shape for w, x in empty.items()} == {w: (0, *x.shape[1:]) for w, x in full.items()}, name


@pytest.mark.parametrize("which", [("q",), ("v",), ("tau",), ("q", "v"), ("q", "v", "tau")], ids="+".join)
def test_arrays_and_names_say_the_same(machine, which):
    for name in set(BY_NAME) & set(machine.calls()):
        said = [n for n in which if not (n == "tau" and name == "inverse_dynamics")]
        for x in (machine.one(1), machine.states):
            by_array, by_name = (CALLS[name](machine.system, y) for y in (x, machine.by_name(x, *said)))
            assert_same(numbers(by_array), numbers(by_name), 1e-8, name)


def variants(machine):
    """Parameters for each state, and the mechanism of each state written down by itself."""
    random = np.random.default_rng(3)
    body = machine.mechanism.bodies[machine.body]
    mass = body.mass * random.uniform(0.5, 2.0, STATES)
    com = body.com + 0.02 * random.normal(size=(STATES, 3))
    given = {
        f"{machine.body}.mass": mass,
        f"{machine.body}.com": com,
        "gravity": random.normal(size=(STATES, 3)),
    }
    each = []
    for k in range(STATES):
        m = machine.mechanism.with_body(machine.body, mass=mass[k], com=com[k])
        m.gravity = given["gravity"][k]
        each.append(m.system())
    return given, each


def test_a_varied_batch_is_each_mechanism_by_itself(machine):
    given, each = variants(machine)
    varied = machine.system.vary(given)
    for name in machine.calls():
        together = CALLS[name](varied, machine.states)
        for k in (0, STATES - 1):
            assert_same(numbers(together, k), numbers(CALLS[name](each[k], machine.one(k))), 1e-8, name)


def test_parameters_of_a_call_are_those_of_a_varied_system(machine):
    given, _ = variants(machine)
    varied, x = machine.system.vary(given), machine.states
    arguments = {
        "forward_dynamics": (x.q, x.v, x.tau),
        "inverse_dynamics": (x.q, x.v, x.vdot),
        "mass_matrix": (x.q,),
    }
    for name in WITH_PARAMETERS:
        said = getattr(machine.system, name)(*arguments.get(name, (x.q, x.v)), parameters=given)
        assert_same(numbers(said), numbers(CALLS[name](varied, x)), 1e-12, name)


@pytest.mark.parametrize("integrator", ["euler", "semi_implicit", "midpoint", "rk4"])
def test_steps_by_hand_are_those_of_a_run(machine, integrator):
    s, step, count = machine.system, 1e-3, 4
    for x in (machine.one(2), machine.states):
        for force in (x.tau, machine.by_name(x, "tau").tau):
            stepper = ct.Stepper(s, x.q, x.v, step=step, integrator=integrator)
            for _ in range(count):
                q, v = stepper.step(force)
            run = ct.simulate(
                s, x.q, x.v, count * step, control=lambda t, q, v, tau=x.tau: tau, integrator=integrator, step=step,
                check=False,
            )  # fmt: skip
            assert_same({"q": q, "v": v}, {"q": run.q[..., -1, :], "v": run.v[..., -1, :]}, 1e-10, integrator)


def test_runs_begin_where_names_and_arrays_say(machine):
    s, x = machine.system, machine.one(0)
    told = machine.by_name(x, "q", "v")
    ours, theirs = (ct.simulate(s, y.q, y.v, 0.02, samples=3, check=False) for y in (x, told))
    assert_same({"q": ours.q, "v": ours.v}, {"q": theirs.q, "v": theirs.v}, 1e-8)


def test_a_batch_of_runs_is_each_run_by_itself(machine):
    given, each = variants(machine)
    x = machine.states
    for system, others in ((machine.system, [machine.system] * STATES), (machine.system.vary(given), each)):
        batch = ct.simulate(system, x.q, x.v, 0.02, samples=3, check=False)
        for k in (0, STATES - 1):
            one = ct.simulate(others[k], x.q[k], x.v[k], 0.02, samples=3, check=False)
            assert_same({"q": batch.q[k], "v": batch.v[k]}, {"q": one.q, "v": one.v}, 1e-8)
    said = ct.simulate(machine.system, x.q, x.v, 0.02, samples=3, check=False, parameters=given)
    assert_same({"q": said.q, "v": said.v}, {"q": batch.q, "v": batch.v}, 1e-12)
