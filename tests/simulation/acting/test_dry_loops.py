"""Dry friction that sticks in joints which close loops: whatever a plan cuts, runs do and tell the same."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, random_mechanism, stewart


def rubbing(friction, joints="ABCD", **more):
    m = four_bar()
    for joint in joints:
        m = m.with_joint(joint, friction=friction, **more)
    return m


def run_of(m, cut, speed, duration, **options):
    s = m.system(cut=[cut])
    q = s.assemble({"A": 0.6})
    return ct.simulate(s, q, s.velocity(q, {"A": speed}), duration, samples=5, **options)


def angles(run):
    return np.concatenate([run[joint] for joint in "ABC"], axis=-1)


def told(run):
    found = {f"reaction of {name}": x for name, x in run.reactions().items()}
    found |= {f"power of {name}": x for name, x in run.power.items()}
    found |= {f"work of {name}": x for name, x in run.work.items()}
    return found | {f"force of {name}": run.force(name) for name in "ABCD"} | {"energy": run.energy}


def assert_alike(one, other, bound):
    for name, x in told(one).items():
        size = 1.0 + np.abs(x).max()
        np.testing.assert_allclose(told(other)[name] / size, x / size, atol=bound, err_msg=name)


@pytest.mark.parametrize("friction", [0.3, 2.0])
def test_a_four_bar_with_friction_in_all_joints_is_the_same_for_all_cuts(friction):
    """It turns round, or is stopped for good, and four joints share what holds one freedom."""
    runs = [run_of(rubbing(friction), cut, 1.0, 1.5) for cut in "ABCD"]
    for run in runs[1:]:
        np.testing.assert_allclose(angles(run), angles(runs[0]), atol=1e-9)
        assert run.audit().ok
        assert_alike(runs[0], run, 1e-8)


def test_nothing_creeps_where_a_cut_joint_holds():
    """Only the joint that closes the loop rubs, and it holds the whole linkage for 10 s."""
    for joint in "AD":
        run = run_of(rubbing(20.0, joint), joint, 0.0, 10.0)
        assert run.steps < 100 and np.abs(angles(run) - angles(run)[0]).max() < 1e-12
        assert np.abs(run.v).max() < 1e-12 and np.abs(run.acceleration).max() < 1e-9


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        ({"integrator": "dop853"}, 1e-10), ({"integrator": "rk4", "step": 1e-3}, 1e-10),
        ({"integrator": "leapfrog", "step": 5e-4, "check": False}, 2e-4),
        ({"integrator": "semi_implicit", "step": 5e-4, "check": False}, 3e-3),
        ({"integrator": "implicit_leapfrog", "step": 5e-4, "check": False}, 1e-5),
        ({"drift": "baumgarte"}, 1e-9), ({"drift": "corrective"}, 1e-9),
    ],
)  # fmt: skip
def test_other_integrators_stick_at_cut_joints_too(options, bound):
    """Against a plan that has the joint in the tree and chooses its steps: friction at D stops the linkage and holds
    it."""
    exact = run_of(rubbing(15.0, "D"), "A", 3.0, 1.2)
    run = run_of(rubbing(15.0, "D"), "D", 3.0, 1.2, **options)
    assert np.abs(exact.velocity("D")[-1]).max() == 0.0
    np.testing.assert_allclose(angles(run), angles(exact), atol=bound)
    assert np.abs(run.velocity("D")[-1]).max() < 1e-12


def test_a_joint_at_a_cut_holds_with_more_than_it_slips_with():
    """A motor at A that grows tears D off at the moment at which it does with D in the tree."""
    m = rubbing(4.0, "D", static_friction=9.0, stribeck_velocity=0.4)
    push = {"control": {"A": "30 * t"}}
    runs = [run_of(m, cut, 0.0, 1.0, **push) for cut in "AD"]
    np.testing.assert_allclose(angles(runs[1]), angles(runs[0]), atol=1e-8)
    assert np.abs(runs[0]["D"][-1] - runs[0]["D"][0]).max() > 0.1
    assert_alike(*runs, 1e-7)


def test_a_batch_and_a_stepper_do_what_single_runs_do():
    s = rubbing(1.0).system(cut=["B"])
    q = np.array([s.assemble({"A": x}) for x in (0.3, 0.6, 1.1)])
    v = np.array([s.velocity(x, {"A": 1.0}) for x in q])
    together = ct.simulate(s, q, v, 0.8, samples=3)
    for k in range(3):
        alone = ct.simulate(s, q[k], v[k], 0.8, samples=3)
        np.testing.assert_allclose(together.q[k], alone.q, atol=1e-10)
    steps = ct.simulate(s, q[0], v[0], 0.8, integrator="rk4", step=2e-3, samples=2, check=False)
    stepper = ct.Stepper(s, q[0], v[0], step=2e-3, integrator="rk4")
    for _ in range(400):
        stepper.step()
    np.testing.assert_allclose(stepper.q, steps.q[-1], atol=1e-9)


def test_one_instant_is_the_same_for_all_cuts():
    """Accelerations, forces of friction and senses at rest and in motion, on a linkage of one freedom and on parts that
    loops hold still, where friction has nothing to do."""
    for speed in (0.0, 0.7):
        found = []
        for cut in "ABCD":
            s = rubbing(1.5).system(cut=[cut])
            q = s.assemble({"A": 0.9})
            at = s.sticking(q, s.velocity(q, {"A": speed}))
            force = {j: at.at_loops[j] if j in s.loops else at.force[s.slice_v(j)] for j in "ABCD"}
            sense = {j: at.loop_senses[j] if j in s.loops else at.sense[s.slice_v(j)] for j in "ABCD"}
            found.append([*np.concatenate([force[j] for j in "ABCD"]), *(sense[j][0] for j in "ABCD")])
        np.testing.assert_allclose(found[1:], [found[0]] * 3, atol=1e-9)
    none = s.sticking(np.zeros((0, s.nq)), np.zeros((0, s.nv)))
    assert none.vdot.shape == (0, s.nv) and none.at_loops["D"].shape == (0, 1)
    m = random_mechanism(0, 7, ["Revolute", "Prismatic"], loops=1)
    s = m.with_joint("joint3", friction=20.0).system(cut=["joint3"])
    assert s.diagnose(s.assemble()).mobility == 5
    np.testing.assert_allclose(s.sticking(s.assemble(), np.zeros(s.nv)).at_loops["joint3"], 0.0, atol=1e-12)


def test_a_rocker_that_turns_round_while_the_crank_goes_on():
    """At its dead points a joint is at rest for an instant, friction cannot hold it there, and no step is careful."""
    m = rubbing(0.1)
    runs = [run_of(m, cut, 12.0, 1.0) for cut in "AD"]
    turns = [ct.Event(lambda t, q, v, s=run.system: s.joint_velocity(q, v, "D")[..., 0]) for run in runs[:1]]
    found = run_of(m, "A", 12.0, 1.0, events=turns)
    assert len(found.events) >= 2 and np.abs(found.events[0].v).max() > 1.0
    np.testing.assert_allclose(angles(runs[1]), angles(runs[0]), atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_loops_with_friction_everywhere(seed):
    kinds = ["Revolute", "Universal", "Cylindrical", "Spherical", "Prismatic"]
    m = random_mechanism(seed, 6, kinds, loops=1 + seed % 2)
    base = m.system()
    rng = np.random.default_rng(seed)
    for joint in [j.name for j in m.joints.values() if 0 < j.dof < 6]:
        m = m.with_joint(joint, friction=float(10.0 ** rng.uniform(-2.0, 1.0)))
    q, v = base.project(base.neutral(), 0.5 * rng.standard_normal(base.nv))
    runs = []
    for joint in m.joints:
        try:
            s = m.system(cut=[joint])
        except ct.CatenaError:
            continue
        moved = ct.transfer(base, q, v, s)
        runs.append(ct.simulate(s, moved.q, moved.v, 0.3, samples=3, check=False))
    assert len(runs) > 1
    for run in runs[1:]:
        for body in m.bodies:
            np.testing.assert_allclose(
                run.pose(body), runs[0].pose(body), atol=1e-7, err_msg=str(run.system.loops)
            )


@pytest.mark.slow
def test_a_platform_whose_joints_all_rub_stands_still():
    m = stewart()
    for joint in [j.name for j in m.joints.values() if 0 < j.dof < 6]:
        m = m.with_joint(joint, friction=60.0)
    s = m.system()
    q = s.assemble()
    run = ct.simulate(s, q, np.zeros(s.nv), 10.0, samples=3)
    assert np.abs(s.difference(run.q[0], run.q[-1])).max() < 1e-9 and run.steps < 200
