"""What couplings carry where constraints are redundant: the same whichever way a mechanism is planned, and what the
reactions of their joints contain."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import random_mechanism
from tests.bodies.slider_crank import moving, slider_crank

P = ct.Pose


def parallelogram(*more):
    """A parallelogram with a belt between its cranks, which turn alike anyway, and more couplings."""
    m = ct.Mechanism("parallelogram")
    for name, length in (("a", 0.4), ("b", 1.0), ("c", 0.4)):
        m.add_body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))
    y = ct.Revolute("y")
    m.add_joint("A", "ground", "a", y, armature=0.1, damping=0.05)
    m.add_joint("B", "a", "b", y, in_parent=P(p=(0.4, 0, 0)))
    m.add_joint("C", "b", "c", y, in_parent=P(p=(1.0, 0, 0)), in_child=P(p=(0.4, 0, 0)), armature=0.2)
    m.add_joint("D", "ground", "c", y, in_parent=P(p=(1.0, 0, 0)), damping=0.03)
    m.add_coupling("belt", {"A": 1.0, "D": -1.0})
    for k, terms in enumerate(more):
        m.add_coupling(f"more {k}", terms)
    return m


def about_axis(mechanism, joint, wrench):
    """The part of a wrench in the child-side frame that is along the motion of a joint of one degree of freedom."""
    kind = mechanism.joints[joint].kind
    return float(wrench @ np.asarray(kind.motion_space(kind.neutral()).array, dtype=float)[:, 0])


PLANS = ({"cut": ["A"]}, {"cut": ["B"]}, {"cut": ["C"]}, {"cut": ["D"]}, {"root": "b"}, {"root": "c"})


@pytest.mark.parametrize(
    "more",
    [(), ({"A": 3.0, "D": -3.0},), ({"B": 1.0, "A": 1.0},), ({"B": 1.0, "A": 1.0}, {"C": 1.0, "D": -1.0})],
)
def test_no_plan_changes_what_redundant_couplings_carry(more):
    """Belts beside a loop that says the same, and beside each other, with rotors and friction: every cut and root gives
    the same forces, which are what is left of the reactions about the axes."""
    m = parallelogram(*more)
    s = m.system()
    q = s.assemble({"A": -0.8})
    v = s.velocity(q, {"A": 1.5})
    rates = {name: s.joint_velocity(q, v, name)[0] for name in "ABCD"}
    forces = {"A": 2.0, "B": -0.5}
    known = None
    for plan in PLANS:
        other = m.system(**plan)
        there = ct.transfer(s, q, v, other)
        x, w = there.q, there.v
        carried, wrenches = other.coupling_forces(x, w, forces), other.reactions(x, w, forces)
        known = known or (carried, wrenches)
        for name, force in carried.items():
            assert force == pytest.approx(known[0][name], abs=1e-9), (plan, name)
        for name, wrench in wrenches.items():
            np.testing.assert_allclose(wrench, known[1][name], atol=1e-9, err_msg=f"{plan} {name}")
        # A joint passes on what motors, couplings, friction and rotors do about its axis.
        vdot = other.forward_dynamics(x, w, forces)
        h = 1e-6
        ahead, behind = ((other.integrate(x, k * w + 0.5 * k * k * vdot), w + k * vdot) for k in (h, -h))
        for name in "ABCD":
            joint = m.joints[name]
            rate = (other.joint_velocity(*ahead, name) - other.joint_velocity(*behind, name))[0] / (2 * h)
            rotor = 0.0 if joint.armature is None else joint.armature[0] * rate
            tied = sum(
                float(force) * m.couplings[c].terms[name][1].slope(0.0) * m.couplings[c].terms[name][0]
                for c, force in carried.items()
                if name in m.couplings[c].terms
            )
            own = forces.get(name, 0.0) + tied - joint.damping[0] * rates[name] - rotor
            assert about_axis(m, name, wrenches[name]) == pytest.approx(own, abs=2e-5), (plan, name)


def test_couplings_alike_in_a_tree_share_by_what_they_do_at_their_joints():
    """Two gears between the same wheels, one written in other units: each does the same at the wheels, which is half of
    what one alone does."""

    def wheels(*gears):
        m = ct.Mechanism("wheels", gravity=(0, 0, 0))
        for name in "ab":
            m.add_body(name, 1.0, (0, 0, 0), 0.1)
            m.add_joint(name.upper(), "ground", name, ct.Revolute("z"))
        for k, factor in enumerate(gears):
            m.add_coupling(f"gear {k}", {"A": factor, "B": 2.0 * factor})
        return m.system()

    alone = wheels(1.0).coupling_forces(np.zeros(2), np.zeros(2), {"A": 3.0})["gear 0"]
    both = wheels(1.0, -10.0).coupling_forces(np.zeros((4, 2)), np.zeros((4, 2)), {"A": 3.0})
    np.testing.assert_allclose(both["gear 0"], 0.5 * alone, rtol=1e-12)
    np.testing.assert_allclose(both["gear 1"], -0.05 * alone, rtol=1e-12)


@pytest.mark.parametrize("seed", [2, 3, 4, 5, 6])
def test_random_loops_with_couplings_that_say_what_they_say(seed):
    """A coupling that the loops imply where the mechanism stands: no cut changes what it carries there."""
    random = np.random.default_rng(seed)
    m = random_mechanism(
        seed, 6, ["Revolute", "Prismatic", "Universal", "Spherical"], loops=1, floating=False
    )
    s = m.system(accuracy=0.0)
    q = s.assemble()
    names = [n for n in m.joints if m.joints[n].dof == 1]
    J = s.closure_jacobian(q)
    null = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=1e-9) :]
    rates = np.array([[s.joint_velocity(q, w, n)[0] for n in names] for w in null])
    # Terms that no motion which the loops allow changes.
    implied = np.linalg.svd(rates)[2][np.linalg.matrix_rank(rates, tol=1e-9) :]
    at = {n: s.joint_position(q, n) for n in m.joints if m.joints[n].dof}
    found = random.normal(size=len(implied)) @ implied
    terms = {name: float(c) for name, c in zip(names, found, strict=True) if abs(c) > 1e-9}
    m.add_coupling("implied", terms, float(sum(c * at[n][0] for n, c in terms.items())))
    forces = {n: float(random.normal()) for n in names[:2]}
    known = None
    for cut in [[], *([n] for n in (*s.loops, *names))]:
        try:
            other = m.system(cut=cut, accuracy=0.0)
        except ct.PlanError:
            continue
        x = other.assemble({n: at[n] for n in other.joints})
        carried = float(other.coupling_forces(x, np.zeros(other.nv), forces)["implied"])
        known = carried if known is None else known
        assert carried == pytest.approx(known, abs=1e-7 * max(1.0, abs(known))), cut


@pytest.mark.slow
def test_couplings_beside_flexible_bodies_carry_what_the_equations_of_motion_lack():
    """A wheel geared to the crank of a slider-crank with a flexible rod: the gear's force is the wheel's alone."""
    m = slider_crank()
    m.add_body("wheel", mass=0.3, inertia=(1e-3, 1e-3, 2e-3))
    m.add_joint("W", "ground", "wheel", ct.Revolute("z"))
    m.add_coupling("gear", {"W": 1.0, "A": 2.0})
    for cut in ([], ["A"], ["B"]):
        s = m.system(cut=cut)
        q, v = moving(s)
        vdot = s.forward_dynamics(q, v)
        force = s.coupling_forces(q, v)["gear"]
        assert force == pytest.approx(2e-3 * vdot[s.slice_v("W")][0], rel=1e-8)


def test_a_run_tells_the_same_forces_on_every_plan():
    m = parallelogram()
    found = []
    for cut in ("B", "D"):
        s = m.system(cut=[cut])
        q = s.assemble({"A": -0.8})
        run = ct.simulate(s, q, s.velocity(q, {"A": 1.5}), 0.3, samples=7, rtol=1e-10, atol=1e-12)
        found.append(run.coupling_forces()["belt"])
        read = run.read(ct.Gauge("belt"))
        np.testing.assert_allclose(next(iter(read.values()))[:, 0], found[-1], atol=1e-9)
    np.testing.assert_allclose(found[0], found[1], atol=1e-7)
