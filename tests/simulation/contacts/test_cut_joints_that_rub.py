"""Dry friction of joints that a plan cuts, beside contacts: what runs do and tell does not depend on the cut."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, random_mechanism

CONTACTS = [ct.Contact("foot", on="floor", friction=0.4)]


def linkage(friction, joints="ABCD", below=0.02, **more):
    """A four-bar with a foot on its coupler, so high above a floor where its crank is at 0.6 rad."""
    m = four_bar()
    for joint in joints:
        m = m.with_joint(joint, friction=friction, **more)
    m.add_frame("foot", "coupler", ct.Pose(p=(0.6, 0.0, 0.0)))
    s = m.system()
    low = s.pose(s.assemble({"A": 0.6}), "foot").p[2] - below
    m.add_frame("floor", "ground", ct.Pose(p=(0.0, 0.0, low)))
    return m


def run_of(m, cut, speed, duration, contacts=CONTACTS, **options):
    s = m.system(cut=[cut])
    q = s.assemble({"A": 0.6})
    given = {"contacts": contacts, "samples": 11, "rtol": 1e-9, **options}
    return ct.simulate(s, q, s.velocity(q, {"A": speed}), duration, **given)


def on_a_rail(friction):
    """A trunk on a rail over a four-bar with a foot on its coupler: two freedoms."""
    m, y = ct.Mechanism(), ct.Revolute("y")
    m.add_body("trunk", mass=2.0, inertia=(0.02, 0.02, 0.02))
    m.add_joint("rail", "ground", "trunk", ct.Prismatic("z"))
    for name, length in (("crank", 0.2), ("coupler", 0.35), ("rocker", 0.3)):
        m.add_body(name, mass=0.3, com=(length / 2.0, 0.0, 0.0), inertia=(1e-3, 2e-3, 2e-3))
    crank, coupler, rocker = (ct.Pose(p=(x, 0.0, 0.0)) for x in (0.2, 0.35, 0.3))
    m.add_joint("A", "trunk", "crank", y, friction=friction)
    m.add_joint("B", "crank", "coupler", y, in_parent=crank, friction=friction)
    m.add_joint("D", "trunk", "rocker", y, in_parent=rocker, friction=friction)
    m.add_joint("C", "coupler", "rocker", y, in_parent=coupler, in_child=rocker, friction=friction)
    m.add_frame("foot", "coupler", ct.Pose(p=(0.175, 0.0, -0.3)))
    return m


def angles(run):
    """The directions of the joints: those that close loops know no whole turns."""
    return np.exp(1j * np.concatenate([run[joint] for joint in "ABCD"], axis=-1))


def told(run):
    found = {f"reaction of {name}": x for name, x in run.reactions().items()}
    found |= {f"force in {name}": run.stop_forces[name] for name in run.stop_forces}
    found |= {f"push of {name}": x for name, x in run.contact_forces.items()}
    found |= {f"{name} rests": 1.0 * (np.abs(run.velocity(name)) < 1e-9) for name in "ABCD"}
    # Where Python gives the forces of contacts, what they do is work of wrenches.
    found["work"] = run.work["friction"] + run.work["wrenches"]
    return found | {"energy": run.energy}


def happened(run):
    return [(change.name, change.told) for change in run.transitions]


def assert_alike(runs, bound, bound_of_forces):
    for run in runs[1:]:
        assert happened(run) == happened(runs[0])
        np.testing.assert_allclose(angles(run), angles(runs[0]), atol=bound, rtol=0.0)
        one, other = told(runs[0]), told(run)
        assert one.keys() == other.keys()
        for name, x in one.items():
            size = 1.0 + np.abs(x).max()
            np.testing.assert_allclose(
                other[name] / size, x / size, atol=bound_of_forces, rtol=0.0, err_msg=name
            )
        assert run.audit().ok


SLOW = [pytest.param("ABCD", friction, marks=pytest.mark.slow) for friction in (0.5, 1.5)]


@pytest.mark.parametrize(("cuts", "friction"), [("AC", 0.5), *SLOW])
def test_a_four_bar_with_a_foot_is_the_same_for_all_cuts(cuts, friction):
    """Friction of its joints holds it while it falls; its foot lands and slips, they slip, and all comes to rest."""
    runs = []
    for cut in cuts:
        s = on_a_rail(friction).system(cut=[cut])
        q = s.assemble({"A": -1.0}, guess={"A": -1.0, "B": 0.7, "D": -1.2})
        q[s.slice_q("rail")] += 0.02 - s.pose(q, "foot").p[2]
        contacts = [ct.Contact("foot", friction=0.3)]
        runs.append(ct.simulate(s, q, 0.0 * q, 0.3, contacts=contacts, samples=11, rtol=1e-9, atol=1e-11))
    assert [name for name, _ in happened(runs[0])] == ["foot touches", "foot stops sliding"]
    rests = told(runs[0])["D rests"]
    assert rests[0] and not rests.all() and rests[-1]
    assert_alike(runs, 1e-10, 1e-6)


@pytest.mark.slow
def test_a_four_bar_that_strikes_a_floor_is_the_same_for_all_cuts():
    """One freedom, which the impact stops, and four joints and a foot that share what holds it."""
    runs = [run_of(linkage(0.2), cut, 1.0, 0.6) for cut in "ABCD"]
    assert [name for name, _ in happened(runs[0])] == ["foot touches"]
    assert_alike(runs, 1e-9, 1e-8)


@pytest.mark.parametrize("below", [0.02, 0.0])
def test_nothing_creeps_where_a_cut_joint_holds(below):
    """Only the joint that closes the loop rubs, and it holds the linkage for 10 s over a floor, or on it."""
    for joint in "AD":
        run = run_of(linkage(20.0, joint, below), joint, 0.0, 10.0, rtol=1e-6)
        assert np.abs(angles(run) - angles(run)[0]).max() < 1e-9
        assert np.abs(run.v).max() < 1e-9 and np.abs(run.acceleration).max() < 1e-9


@pytest.mark.slow
def test_it_holds_with_more_than_it_slips_with():
    """A motor at A that grows tears D off at the same moment, cut or not, and the motion is that without contacts."""
    m = linkage(4.0, "D", 5.0, static_friction=9.0, stribeck_velocity=0.4)
    push = {"control": {"A": "30 * t"}}
    runs = [run_of(m, cut, 0.0, 0.6, **push) for cut in "AD"]
    assert_alike(runs, 1e-8, 1e-5)
    alone = run_of(m, "A", 0.0, 0.6, (), **push).resample(11)
    np.testing.assert_allclose(angles(runs[1].resample(11)), angles(alone), atol=1e-8)
    assert np.ptp(runs[0]["D"]) > 0.1


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        pytest.param({"integrator": "abm4", "step": 1e-3, "check": False}, 1e-7, marks=pytest.mark.slow),
        ({"integrator": "radau", "rtol": 1e-7}, 1e-6),
    ],
)
def test_by_methods_whose_steps_cannot_change_senses(options, bound):
    """Friction at a joint that closes the loop stops it, and holds it."""
    m = linkage(15.0, "D")
    exact = run_of(m, "A", 3.0, 1.2, ())
    run = run_of(m, "D", 3.0, 1.2, (), **options)
    assert np.abs(exact.velocity("D")[-1]).max() == 0.0
    np.testing.assert_allclose(angles(run.resample(11)), angles(exact), atol=bound)
    assert np.abs(run.velocity("D")[-1]).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_loops_move_as_without_contacts(seed):
    """A contact that never touches: friction is found by the law of contacts beside it, and by senses without."""
    m = random_mechanism(seed, 6, ["Revolute", "Cylindrical", "Spherical", "Prismatic"], loops=1 + seed % 2)
    rng = np.random.default_rng(seed)
    for joint in [j.name for j in m.joints.values() if 0 < j.dof < 6]:
        m = m.with_joint(joint, friction=float(10.0 ** rng.uniform(-2.0, 0.5)))
    m.add_frame("far floor", "ground", ct.Pose(p=(0.0, 0.0, -50.0)))
    s = m.system()
    q, v = s.project(s.neutral(), 0.5 * rng.standard_normal(s.nv))
    far = [ct.Contact(list(m.bodies)[-1], on="far floor")]
    runs = [ct.simulate(s, q, v, 0.4, rtol=1e-9, samples=5, contacts=x) for x in ((), far)]
    np.testing.assert_allclose(runs[1].resample(5).q, runs[0].q, atol=1e-8)
    assert runs[1].audit().ok


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "joint"), [(0, "joint3"), (5, "joint5")])
def test_cut_joints_whose_motions_turn_move_as_without_contacts(seed, joint):
    """Universal joints where a plan cuts them."""
    m = random_mechanism(seed, 6, ["Universal", "Cylindrical", "Spherical"], loops=1)
    rng = np.random.default_rng(seed)
    for name in [j.name for j in m.joints.values() if 0 < j.dof < 6]:
        m = m.with_joint(name, friction=float(10.0 ** rng.uniform(-1.0, 0.5)))
    m.add_frame("far floor", "ground", ct.Pose(p=(0.0, 0.0, -50.0)))
    base, s = m.system(), m.system(cut=[joint])
    assert isinstance(m.joints[joint].kind, ct.Universal) and s.loops == (joint,)
    at = ct.transfer(base, *base.project(base.neutral(), 0.5 * rng.standard_normal(base.nv)), s)
    far = [ct.Contact(list(m.bodies)[-1], on="far floor")]
    alone, beside = (ct.simulate(s, at.q, at.v, 0.2, rtol=1e-9, samples=5, contacts=x) for x in ((), far))
    np.testing.assert_allclose(beside.resample(5).q, alone.q, atol=1e-9)
    assert np.ptp(alone[joint]) > 1e-3 and beside.audit().ok
