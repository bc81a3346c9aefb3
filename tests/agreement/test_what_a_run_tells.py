"""What a run tells, for everything that can act and every joint that a plan may cut, against an oracle in absolute
coordinates: wrenches that joints pass on, drive forces, powers, works, energies, sensors, forces of couplings, stops
and contacts. None of it may depend on the plan, nor on the way in which a force is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from tests.agreement.absolute import Instant, balance, freedoms, mismatch
from tests.agreement.rings import Ring, joined, ring
from tests.mechanisms import slider_crank

TIME, SAMPLES = 0.04, 5
STIFFNESS, REST, DAMPING, COULOMB = 40.0, 0.3, 0.7, 0.4
TABLE = ct.forces.Table((-4.0, 0.0, 1.0, 4.0), (-9.0, 0.0, 5.0, 6.0), smooth=True)
HELD_BY = {"stiffness": 300.0, "damping": 2.0}


def pull(t):
    """The force of a motor over time."""
    return 3.0 + 2.0 * np.sin(9.0 * t)


class Source:
    """Something that acts at one joint. `mechanism` adds what belongs to it, `options` are those of `simulate`, and
    `law` says what acts along the freedom of the joint, written here once more."""

    at_tree_only = False
    one_freedom = False

    def mechanism(self, m: ct.Mechanism, joint: str) -> ct.Mechanism:
        return m

    def options(self, system: ct.System, joint: str, q, v) -> dict:
        return {}

    def law(self, run, joint: str) -> np.ndarray:
        return np.zeros_like(run.velocity(joint))

    def stored(self, run, joint: str) -> np.ndarray:
        return np.zeros(len(run.t))

    def spent(self, run, joint: str) -> np.ndarray:
        return np.zeros(len(run.t))


class Nothing(Source):
    pass


class MotorByName(Source):
    def options(self, system, joint, q, v):
        n = system.mechanism.joints[joint].kind.nv
        return {"control": lambda t, q, v: {joint: pull(t) * np.arange(1.0, n + 1.0)}}

    def law(self, run, joint):
        v = run.velocity(joint)
        return np.array([pull(t) * np.arange(1.0, v.shape[-1] + 1.0) for t in run.t])


class MotorByIndex(MotorByName):
    at_tree_only = True

    def options(self, system, joint, q, v):
        at = system.slice_v(joint)

        def control(t, q, v):
            tau = np.zeros(system.nv)
            tau[at] = pull(t) * np.arange(1.0, at.stop - at.start + 1.0)
            return tau

        return {"control": control}


class SampledMotor(MotorByName):
    """A motor whose force is held over 10 ms, the distance of samples here."""

    def options(self, system, joint, q, v):
        n = system.mechanism.joints[joint].kind.nv

        class Held:
            rate = 100.0

            def __call__(self, t, q, v):
                return {joint: pull(t) * np.arange(1.0, n + 1.0)}

        return {"control": Held()}

    def law(self, run, joint):
        # At the end of a run nobody asks the controller any more: what it said last still acts.
        return np.concatenate([super().law(run, joint)[:-1], run.force(joint)[-1:]])


class Spring(Source):
    def mechanism(self, m, joint):
        m.add_spring("k", joint, STIFFNESS, np.full(m.joints[joint].kind.nq, REST), DAMPING)
        return m

    def law(self, run, joint):
        return -STIFFNESS * (run[joint] - REST) - DAMPING * run.velocity(joint)

    def stored(self, run, joint):
        return 0.5 * STIFFNESS * ((run[joint] - REST) ** 2).sum(-1)

    def spent(self, run, joint):
        return -DAMPING * (run.velocity(joint) ** 2).sum(-1)


class TabledSpring(Source):
    one_freedom = True

    def mechanism(self, m, joint):
        m.add_force("k", ct.forces.TabledJointSpring(TABLE), joint)
        return m

    def law(self, run, joint):
        return -np.array([[float(TABLE.value(x)) for x in row] for row in run[joint]])


class FrictionOfTheJoint(Source):
    def mechanism(self, m, joint):
        return m.with_joint(joint, damping=DAMPING, friction=COULOMB)

    def law(self, run, joint):
        v = run.velocity(joint)
        assert np.abs(v).min() > 1e-3, "friction is smooth below that, which is another test"
        return -DAMPING * v - COULOMB * np.sign(v)

    def spent(self, run, joint):
        return (self.law(run, joint) * run.velocity(joint)).sum(-1)


class FrictionLaw(FrictionOfTheJoint):
    def mechanism(self, m, joint):
        n = m.joints[joint].kind.nv
        m.add_force("rub", ct.forces.JointFriction((DAMPING,) * n, (COULOMB,) * n), joint)
        return m


class ElasticLimit(Source):
    """Limits that the joint has gone beyond from the start."""

    def mechanism(self, m, joint):
        n = m.joints[joint].kind.nq
        return m.with_joint(
            joint,
            limits=[(-9.0, -2.0)] * n,
            limit_stiffness=HELD_BY["stiffness"],
            limit_damping=HELD_BY["damping"],
        )

    def law(self, run, joint):
        push = HELD_BY["stiffness"] * (run[joint] + 2.0) + HELD_BY["damping"] * run.velocity(joint)
        return -np.maximum(push, 0.0)

    def stored(self, run, joint):
        return 0.5 * HELD_BY["stiffness"] * ((run[joint] + 2.0) ** 2).sum(-1)


class Prescribed(Source):
    """The joint moves along a parabola, whatever it takes; the drive's force is what the run tells it to be."""

    one_freedom = True

    def options(self, system, joint, q, v):
        x = np.asarray(system.joint_position(q, joint))
        xd = np.asarray(system.joint_velocity(q, v, joint))
        return {"motion": {joint: lambda t: (x + xd * t + 3.0 * t * t, xd + 6.0 * t, np.full_like(xd, 6.0))}}

    def law(self, run, joint):
        return run.force(joint)


SOURCES = {
    "nothing": Nothing(),
    "a motor by name": MotorByName(),
    "a motor by index": MotorByIndex(),
    "a sampled motor": SampledMotor(),
    "a spring": Spring(),
    "a tabled spring": TabledSpring(),
    "friction of the joint": FrictionOfTheJoint(),
    "a friction law": FrictionLaw(),
    "an elastic limit": ElasticLimit(),
    "a prescribed motion": Prescribed(),
}


def instants(run, mechanism: ct.Mechanism, along: dict[str, np.ndarray], wrenches=None) -> list[Instant]:
    """What a run tells of all bodies and joints at each of its samples."""
    poses, twists = ({b: read(b) for b in mechanism.bodies} for read in (run.pose, run.twist))
    q, qd = {j: run[j] for j in mechanism.joints}, {j: run.velocity(j) for j in mechanism.joints}
    along = {j: along.get(j, np.zeros_like(qd[j])) for j in mechanism.joints}

    def at(k, of):
        return {name: x[k] for name, x in of.items()}

    return [
        Instant(mechanism, *(at(k, of) for of in (poses, twists, q, qd, along, wrenches or {})))
        for k in range(len(run.t))
    ]


def check_wrenches(run, mechanism, along, wrenches=None, within=1e-10, equal=1e-8):
    """The told wrenches of joints keep all bodies in balance and have what acts along the freedoms in them; where there
    are no others, they are those of the oracle."""
    told = {name: run.reaction(name) for name in mechanism.joints}
    for k, now in enumerate(instants(run, mechanism, along, wrenches)):
        assert mismatch(now) < 1e-8
        equations = balance(now)
        here = {name: w[k] for name, w in told.items()}
        assert equations.error(here) < within, f"at t = {run.t[k]} s"
        right, unique = equations.solved()
        if unique:
            size = max(np.abs(w).max() for w in (*right.values(), *now.wrenches.values()))
            for name, w in right.items():
                np.testing.assert_allclose(here[name], w, rtol=0.0, atol=equal * size, err_msg=name)


def check_energies(run, mechanism, source: Source, joint: str):
    """Energies, powers and works against sums over bodies and the law written once more."""
    kinetic = np.zeros(len(run.t))
    potential = np.zeros(len(run.t))
    for name, body in mechanism.bodies.items():
        if name == "ground":
            continue
        pose, twist = run.pose(name), run.twist(name)
        centre = pose[:, :3, 3] + np.einsum("kij,j->ki", pose[:, :3, :3], body.com)
        at_centre = twist[:, 3:] + np.cross(twist[:, :3], body.com)
        kinetic += 0.5 * body.mass * (at_centre**2).sum(-1)
        kinetic += 0.5 * np.einsum("ki,ij,kj->k", twist[:, :3], body.inertia, twist[:, :3])
        potential -= body.mass * centre @ mechanism.gravity
    potential += source.stored(run, joint)
    np.testing.assert_allclose(run.kinetic_energy, kinetic, rtol=1e-10)
    if not isinstance(source, TabledSpring):
        np.testing.assert_allclose(
            run.potential_energy - run.potential_energy[0], potential - potential[0], rtol=0.0, atol=1e-9
        )
    total = sum(work for name, work in run.work.items() if name != "total")
    np.testing.assert_allclose(run.energy - run.energy[0], total, rtol=0.0, atol=1e-8)
    v = run.velocity(joint)
    driven = (source.law(run, joint) * v).sum(-1)
    if isinstance(source, MotorByName):
        np.testing.assert_allclose(run.force(joint), source.law(run, joint), rtol=1e-12)
        np.testing.assert_allclose(run.joint_power(joint), driven, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(run.power["actuators"], driven, rtol=1e-9, atol=1e-9)
    if isinstance(source, Prescribed):
        np.testing.assert_allclose(run.power["motion"], driven, rtol=1e-9, atol=1e-9)
    if isinstance(source, Spring | FrictionOfTheJoint):
        np.testing.assert_allclose(run.power["friction"], source.spent(run, joint), rtol=1e-9, atol=1e-9)


def told_by(run, mechanism, joint: str) -> dict[str, np.ndarray]:
    """All numbers of a run that have a meaning without its plan."""
    found = {f"reaction of {j}": run.reaction(j) for j in mechanism.joints}
    found |= {f"position of {j}": run[j] for j in mechanism.joints if j != joint and run[j].shape[-1] < 4}
    found |= {f"pose of {b}": run.pose(b) for b in mechanism.bodies}
    found |= {f"power, {name}": x for name, x in run.power.items()}
    found |= {f"work, {name}": x for name, x in run.work.items()}
    sensed = run.read(ct.ForceSensor(joint))
    found |= {f"sensed {name}": x for name, x in sensed.items()}
    np.testing.assert_array_equal(
        np.concatenate([sensed["moment"], sensed["force"]], -1), run.reaction(joint)
    )
    found |= {
        "kinetic energy": run.kinetic_energy,
        "potential": run.potential_energy - run.potential_energy[0],
    }
    for name in mechanism.force_elements:
        found |= {f"gauge {name}, {what}": x for what, x in run.read(ct.Gauge(name)).items()}
    found |= {f"coupling {name}": x for name, x in run.coupling_forces().items()}
    return found


def check_alike(told: dict[str, dict[str, np.ndarray]]):
    """All plans tell the same."""
    first, *others = told
    for other in others:
        assert told[first].keys() == told[other].keys()
        for name, x in told[first].items():
            size = 1.0 + np.abs(x).max()
            np.testing.assert_allclose(
                told[other][name],
                x,
                rtol=0.0,
                atol=1e-8 * size,
                err_msg=f"{name}, cut at {first} and {other}",
            )


def judged(made: Ring, source: Source, joint: str, cuts: Sequence[tuple[str, ...]] = ()) -> None:
    """Run under all plans, and compare what each tells with the oracle and with the others."""
    m = source.mechanism(made.mechanism.copy(), joint)
    told = {}
    for cut in cuts or [(name,) for name in m.joints]:
        if source.at_tree_only and joint in cut:
            continue
        system = m.system(cut=list(cut))
        q, v = made.state(system)
        run = ct.simulate(system, q, v, TIME, samples=SAMPLES, **source.options(system, joint, q, v))
        check_wrenches(run, m, {joint: source.law(run, joint)})
        check_energies(run, m, source, joint)
        told[str(cut)] = told_by(run, m, joint)
    check_alike(told)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("joint", ["R0", "U1"])
def test_a_source_at_a_joint_whatever_the_plan_cuts(name, joint):
    if SOURCES[name].one_freedom and joint == "U1":
        pytest.skip("it is for joints of one freedom, or the ring has no more")
    judged(ring("RUSR", 3), SOURCES[name], joint)


HOLDS = 300.0


def without_slip(equations, mechanism: ct.Mechanism, joint: str):
    """The equations of the oracle in which a joint does not accelerate, whatever force along it that takes."""
    row = 6 * (len(mechanism.bodies) - 1)
    for name, other in mechanism.joints.items():
        if name == joint:
            break
        row += 6 + other.kind.nv
    A, b, own = equations.A.copy(), equations.b.copy(), equations.joints[joint]
    rows = slice(row + 6, row + 6 + own.stop - own.start)
    A[rows], b[rows] = np.eye(A.shape[1])[own], 0.0
    return replace(equations, A=A, b=b)


def sticking_run(made: Ring, joint: str, cut: tuple[str, ...]):
    m = made.mechanism.with_joint(joint, friction=HOLDS, static_friction=1.5 * HOLDS, stribeck_velocity=0.5)
    system = m.system(cut=list(cut))
    q, v = made.state(system)
    return m, ct.simulate(system, q, v, TIME, samples=SAMPLES)


@pytest.mark.parametrize(("letters", "joint"), [("RUSR", "R0"), ("RUSU", "U1")])
def test_a_joint_that_sticks_whatever_the_plan_cuts(letters, joint):
    """Friction brings a joint to rest within 40 ms and holds it. All plans tell the same; at rest the oracle finds the
    same wrenches from a joint that does not accelerate, and along its freedoms no more than friction can hold."""
    made, told = ring(letters, 3), {}
    for cut in [(name,) for name in made.mechanism.joints]:
        m, run = sticking_run(made, joint, cut)
        v = run.velocity(joint)
        assert np.abs(v[0]).min() > 0.1 and np.abs(v[-1]).max() < 1e-12
        slipping = np.abs(v) > 1e-9
        friction = HOLDS + 0.5 * HOLDS / (1.0 + (v / 0.5) ** 2)
        for k, now in enumerate(instants(run, m, {joint: -friction * np.sign(v)})):
            if slipping[k].any() and not slipping[k].all():
                continue
            equations = balance(now) if slipping[k].all() else without_slip(balance(now), m, joint)
            right, unique = equations.solved()
            assert unique
            size = max(np.abs(w).max() for w in right.values())
            for name, w in right.items():
                np.testing.assert_allclose(run.reaction(name)[k], w, rtol=0.0, atol=1e-8 * size, err_msg=name)
            S, _ = freedoms(m.joints[joint].kind, now.q[joint], now.qd[joint])
            assert np.abs(S.T @ run.reaction(joint)[k]).max() <= 1.5 * HOLDS * (1.0 + 1e-9)
        np.testing.assert_allclose(run.energy - run.energy[0], run.work["friction"], rtol=0.0, atol=1e-8)
        told[str(cut)] = told_by(run, m, joint)
    check_alike(told)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("joint", ["R0", "H6"])
def test_two_loops(name, joint):
    if (name, joint) == ("a prescribed motion", "R0"):
        pytest.skip(
            "the parabola leads to a dead point of the linkage after 12.6 ms, where the others run away"
        )
    made = joined(ring("RUSR", 3), "SPHR", "b0", "b2", "c")
    judged(made, SOURCES[name], joint, [("R0", "H6"), ("S2", "P5"), ("R3", "S4"), ("R0", "S4"), ("U1", "H6")])


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("letters", ["CRSP", "HUUC", "RDSU", "RPFUR", "DDDP"])
def test_other_rings(letters, name):
    made = ring(letters, 3)
    joints = [j for j in made.mechanism.joints if j[0] not in "S"]
    for joint in joints:
        system = made.mechanism.system()
        rubs, rate = (
            isinstance(SOURCES[name], FrictionOfTheJoint),
            system.joint_velocity(*made.state(system), joint),
        )
        if rubs and np.abs(rate).min() < 0.05:
            continue  # friction is smooth around rest, which is another test
        if not SOURCES[name].one_freedom or made.mechanism.joints[joint].kind.nv == 1:
            judged(made, SOURCES[name], joint)


def coupled() -> Ring:
    """A ring of two freedoms, one of which a coupling among three of its joints takes away."""
    made = ring("RRUSP", 5)
    m = made.mechanism
    m.add_coupling("gear", GEAR, sum(c * float(made.q[j][0]) for j, c in GEAR.items()))
    return made


GEAR = {"R0": 1.0, "R1": -0.6, "P4": 0.8}


@pytest.mark.parametrize("name", ["nothing", "a spring", "a motor by name"])
def test_the_force_of_a_coupling_goes_through_its_joints(name):
    made, source, joint, told = coupled(), SOURCES[name], "R1", {}
    m = source.mechanism(made.mechanism.copy(), joint)
    for cut in m.joints:
        system = m.system(cut=[cut])
        q, v = made.state(system)
        run = ct.simulate(system, q, v, TIME, samples=SAMPLES, **source.options(system, joint, q, v))
        force = run.coupling_forces()["gear"][:, None]
        assert np.abs(force).min() > 1e-3
        along = {j: c * force for j, c in GEAR.items()}
        along[joint] = along[joint] + source.law(run, joint)
        check_wrenches(run, m, along)
        check_energies(run, m, source, joint)
        told[cut] = told_by(run, m, joint)
    check_alike(told)


@pytest.mark.parametrize("name", ["a motor by name", "a spring"])
def test_a_rotor_takes_its_part_before_the_joint_passes_anything_on(name):
    """A rotor of inertia J leaves S^T w = tau - J qdd to be passed on, whichever joint is cut."""
    made, source, joint, told = ring("RUSR", 3), SOURCES[name], "R0", {}
    m = source.mechanism(made.mechanism.copy(), joint).with_joint(joint, armature=0.4)
    for cut in m.joints:
        system = m.system(cut=[cut])
        q, v = made.state(system)
        run = ct.simulate(system, q, v, TIME, samples=SAMPLES, **source.options(system, joint, q, v))
        check_wrenches(run, m, {joint: source.law(run, joint)})
        told[cut] = told_by(run, m, joint)
    check_alike(told)


@pytest.mark.parametrize("belongs", [True, False], ids=["of the mechanism", "of the run"])
def test_a_wrench_on_a_body(belongs):
    made, told = ring("RUSR", 3), {}
    moment, force, at = np.array([1.0, -2.0, 3.0]), np.array([20.0, 10.0, -5.0]), np.array([0.1, 0.2, -0.3])
    m = made.mechanism.copy()
    m.add_frame("grip", "b1", ct.Pose(p=at, rpy=(0.3, 0.2, 0.1)))
    if belongs:
        m.add_wrench("push", "grip", moment, force)
    options = {} if belongs else {
        "forces": {"grip": ct.ExternalWrench(lambda t: [*moment, *force], axes="ground")}
    }  # fmt: skip
    for cut in m.joints:
        system = m.system(cut=[cut])
        run = ct.simulate(system, *made.state(system), TIME, samples=SAMPLES, **options)
        down = np.swapaxes(run.pose("b1")[:, :3, :3], -1, -2)
        wrench = np.concatenate([down @ moment + np.cross(at, down @ force), down @ force], -1)
        check_wrenches(run, m, {}, {"b1": wrench})
        told[cut] = told_by(run, m, "R0")
        at_grip = run.twist("grip")
        turned = np.swapaxes(run.pose("grip")[:, :3, :3], -1, -2)
        power = ((turned @ moment) * at_grip[:, :3] + (turned @ force) * at_grip[:, 3:]).sum(-1)
        np.testing.assert_allclose(run.power["wrenches"], power, rtol=1e-9, atol=1e-9)
    check_alike(told)


@pytest.mark.parametrize("joint", ["R0", "R3"])
def test_a_rigid_stop_pushes_along_the_freedom_of_its_joint(joint):
    made, poses = ring("RUSR", 3), {}
    m = made.mechanism
    for cut in m.joints:
        if cut == joint:
            continue
        system = m.system(cut=[cut])
        q, v = made.state(system)
        x, xd = (float(of[0]) for of in (system.joint_position(q, joint), system.joint_velocity(q, v, joint)))
        sign = float(np.sign(xd))
        side = {"upper": x + 5e-3} if sign > 0 else {"lower": x - 5e-3}
        run = ct.simulate(
            system,
            q,
            v,
            TIME,
            samples=SAMPLES,
            contacts=[ct.Stop(joint, **side)],
            control=lambda t, q, v, sign=sign: {joint: 400.0 * sign},
        )
        (label,) = run.contact_forces
        push = -sign * np.asarray(run.contact_forces[label])[:, -1:]
        assert np.abs(push[-1]).max() > 1.0, "it is held at the end"
        check_wrenches(run, m, {joint: push + 400.0 * sign})
        poses[cut] = {f"pose of {b}": run.pose(b)[-1] for b in m.bodies} | {"push": push[-1]}
    check_alike(poses)


@pytest.mark.parametrize("letters", ["UUSC", "RUSR"])
def test_contact_forces_keep_bodies_in_balance(letters):
    """A ring whose middle body is pushed on an inclined plane, with friction. Of three freedoms a point that
    sticks leaves none; of one it holds that in more ways than one, and what is told must be one of them."""
    made, told = ring(letters, 3), {}
    m = made.mechanism.copy()
    m.add_frame("tip", "b1", ct.Pose(p=(0.4, 0.1, -0.2)))
    first = m.system()
    q, v = made.state(first)
    tip, twist = first.pose(q, "tip"), first.twist(q, v, "tip")
    towards = tip.R @ twist[3:] / np.linalg.norm(twist[3:])
    across = np.cross(towards, [1.0, 0.3, -0.2])
    z = -towards + 0.4 * across / np.linalg.norm(across)
    z /= np.linalg.norm(z)
    x = np.cross(z, [0.3, 1.0, 0.5])
    x /= np.linalg.norm(x)
    axes = np.stack([x, np.cross(z, x), z], -1)
    m.add_frame("slope", "ground", ct.Pose(p=tip.p + 2e-3 * towards, R=axes))
    m.add_wrench("push", "tip", force=300.0 * towards)
    for cut in m.joints:
        system = m.system(cut=[cut])
        run = ct.simulate(
            system,
            *made.state(system),
            TIME,
            samples=SAMPLES,
            contacts=[ct.Contact("tip", "slope", friction=0.3)],
        )
        (label,) = run.contact_forces
        push = np.asarray(run.contact_forces[label]) @ axes.T
        assert np.abs(push[-1]).max() > 1.0, "it is pushed back at the end"
        down = np.swapaxes(run.pose("b1")[:, :3, :3], -1, -2)
        force = np.einsum("kij,kj->ki", down, push + 300.0 * towards)
        wrench = np.concatenate([np.cross((0.4, 0.1, -0.2), force), force], -1)
        check_wrenches(run, m, {}, {"b1": wrench}, within=1e-8, equal=1e-7)
        told[cut] = {f"pose of {b}": run.pose(b)[-1] for b in m.bodies} | {"push": push[-1]}
    check_alike(told)


@pytest.mark.parametrize("name", SOURCES)
def test_a_redundant_linkage(name):
    """A planar four-bar, three of whose constraints are redundant: what is told is one of the wrenches that keep it in
    balance, and the same one for all plans."""
    m = ct.generators.four_bar()
    first = m.system(cut=["D"])
    made = Ring(m, ("D",), {j: first.assemble({"A": 0.6})[first.slice_q(j)] for j in first.joints}, {}, 1)
    judged(made, SOURCES[name], "D")


@pytest.mark.parametrize("name", ["a motor by name", "a spring", "a friction law", "a prescribed motion"])
def test_a_linkage_with_a_rod_that_bends(name):
    """All plans of a slider-crank with a flexible rod tell the same."""
    m, source, told = slider_crank(), SOURCES[name], {}
    m = source.mechanism(m, "A")
    first = m.system(cut=["C"])
    q0 = first.assemble({"A": 0.7})
    v0 = first.velocity(q0, {"A": 3.0})
    for cut in "ACD":
        system = m.system(cut=[cut])
        found = ct.transfer(first, q0, v0, system)
        run = ct.simulate(
            system, found.q, found.v, 0.01, samples=SAMPLES, **source.options(system, "A", *found)
        )
        told[cut] = {f"reaction of {j}": run.reaction(j) for j in m.joints}
        told[cut] |= {f"power, {name}": x for name, x in run.power.items()}
        told[cut] |= {f"work, {name}": x for name, x in run.work.items()}
        told[cut] |= {"energy": run.energy - run.energy[0], "force": run.force("A")}
        np.testing.assert_allclose(
            told[cut]["reaction of A"][:, 2], source.law(run, "A")[:, 0], rtol=1e-7, atol=1e-8
        )
    check_alike(told)


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.4, 5.0])
def test_friction_sticks_beside_a_rod_that_bends_whatever_the_plan_cuts(friction):
    """The crank is stopped or goes on, and the slider goes on in the rod's vibrations."""
    m, told = slider_crank(), {}
    for joint in "AD":
        m = m.with_joint(joint, friction=friction)
    first = m.system(cut=["C"])
    q0 = first.assemble({"A": 0.7})
    v0 = first.velocity(q0, {"A": 3.0})
    for cut in "ACD":
        system = m.system(cut=[cut])
        found = ct.transfer(first, q0, v0, system)
        run = ct.simulate(system, found.q, found.v, 0.02, samples=SAMPLES)
        assert (np.abs(run.velocity("A")[-1]).max() < 1e-12) == (friction == 5.0)
        told[cut] = {f"reaction of {j}": run.reaction(j) for j in m.joints}
        told[cut] |= {f"work, {name}": x for name, x in run.work.items()} | {"A": run["A"], "D": run["D"]}
    check_alike(told)


@pytest.mark.slow
@pytest.mark.parametrize("friction", [3.0, 100.0])
def test_friction_sticks_beside_a_coupling_whatever_the_plan_cuts(friction):
    made, told = coupled(), {}
    m = made.mechanism
    for joint in ("R1", "S3"):
        m = m.with_joint(joint, friction=friction)
    for cut in m.joints:
        system = m.system(cut=[cut])
        run = ct.simulate(system, *made.state(system), TIME, samples=SAMPLES)
        told[cut] = told_by(run, m, "R1")
    check_alike(told)


def test_a_batch_tells_what_its_states_tell_alone():
    made = ring("RUSR", 3)
    m = SOURCES["a spring"].mechanism(made.mechanism.copy(), "R0")
    for cut in ("R0", "S2"):
        system = m.system(cut=[cut])
        q, v = made.state(system)
        Q, V = np.stack([q, q, q]), np.stack([v, 0.5 * v, -v])
        control = MotorByName().options(system, "R3", q, v)["control"]
        many = ct.simulate(system, Q, V, TIME, samples=SAMPLES, control=control)
        for k in range(3):
            one = ct.simulate(system, Q[k], V[k], TIME, samples=SAMPLES, control=control)
            alone, among = told_by(one, m, "R3"), told_by(many.state(k), m, "R3")
            check_alike({"alone": alone, "among others": among})


@pytest.mark.parametrize("options", [{}, {"integrator": "rk4", "step": 1e-3}, {"integrator": "radau"}])
def test_a_joint_that_constrains_nothing_rubs_whether_it_is_cut_or_not(options):
    """Two free joints carry one body, and the one that a plan leaves out still damps it."""
    m = ct.Mechanism("damped flight", gravity=(0.0, 0.0, -1.0))
    m.add_body("body", 1.0, (0.1, 0.0, 0.2), (0.1, 0.2, 0.25))
    m.add_joint("bare", "ground", "body", ct.Free())
    m.add_joint("damped", "ground", "body", ct.Free(), damping=0.5)
    told = {}
    for cut in m.joints:
        system = m.system(cut=[cut])
        v = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
        run = ct.simulate(system, system.neutral(), v, 0.2, samples=SAMPLES, **options)
        drag = -0.5 * run.twist("body")
        check_wrenches(run, m, {"damped": drag})
        told[cut] = {f"reaction of {j}": run.reaction(j) for j in m.joints} | {"pose": run.pose("body")}
        told[cut] |= {f"work, {name}": x for name, x in run.work.items()}
        np.testing.assert_allclose(run.work["friction"][-1], run.energy[-1] - run.energy[0], rtol=1e-6)
    check_alike(told)
