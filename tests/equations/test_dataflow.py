"""Critical paths and schedules: small graphs by hand, execution, and Nikravesh, Gim, Arabyan and Rein's comparisons."""

import numpy as np
import pytest

import catena as ct
from catena.equations import graph_of
from catena.equations.dataflow import Costs, dataflow
from catena.equations.papers.chains import STANFORD, closed_chains, general_chain, general_star
from catena.equations.papers.counts import lilly_orin_flow, lilly_orin_mechanism
from catena.equations.papers.non_recursive import non_recursive
from catena.equations.papers.parallelism import PRINTED_SPEED_UPS, break_even, forms, stanford_readings
from catena.equations.papers.recursive import recursive
from catena.equations.unrolling import new_symbols
from catena.errors import EquationsError
from catena.mechanism.generators import arm7, four_bar, humanoid
from catena.spatial.scalars import array, sin


def sum_of_products(n):
    """x0 y0 + x1 y1 + ... as it is usually written."""
    x, y = new_symbols("x", n), new_symbols("y", n)
    total = x[0] * y[0]
    for a, b in zip(x[1:], y[1:]):
        total = total + a * b
    return graph_of("dot", {"x": x, "y": y}, {"s": array([total])})


def test_a_sum_of_eight_products():
    graph = sum_of_products(8)
    in_turn, trees = dataflow(graph, sums="in turn"), dataflow(graph, sums="trees")
    assert in_turn.serial_time == trees.serial_time == 15
    assert (in_turn.critical_time, trees.critical_time) == (1 + 7, 1 + 3)
    assert trees.width == 8
    assert [trees.schedule(p).time for p in (1, 2, 8, 100)] == [15, 8, 4, 4]
    slow = dataflow(graph, costs=Costs(multiplication=3.0), sums="trees")
    assert (slow.serial_time, slow.critical_time) == (8 * 3 + 7, 3 + 3)


def test_signs_are_free_and_do_not_break_sums():
    x = new_symbols("x", 5)
    a, b, c, d, e = x
    graph = graph_of("signed", {"x": x}, {"s": array([-(a - (b - (c - (d - e))))])})
    for order in ("written", "in turn", "trees"):
        flow = dataflow(graph, sums=order)
        assert flow.serial_time == 4
        values = {"x": np.array([1.0, 20.0, 300.0, 4000.0, 50000.0])}
        results, _ = flow.schedule(2).execute(values)
        assert results["s"][0] == -(1.0 - (20.0 - (300.0 - (4000.0 - 50000.0))))
    assert dataflow(graph, sums="trees").critical_time == 3


def test_earliest_and_latest_times():
    x = new_symbols("x", 2)
    a, b = x
    graph = graph_of("late", {"x": x}, {"y": array([sin(sin(a)) * b + a * b])})
    flow = dataflow(graph)
    labels = [label.split()[0] for label in flow.labels]
    assert flow.critical_time == 4 and [labels[k] for k in flow.critical_path] == ["sin", "sin", "mul", "add"]
    (spare,) = [k for k in range(len(flow)) if flow.latest[k] > flow.earliest[k]]
    assert labels[spare] == "mul" and (flow.earliest[spare], flow.latest[spare]) == (0, 2)


@pytest.mark.parametrize("grain", ["operations", "steps", "chains"])
@pytest.mark.parametrize("make", [arm7, four_bar], ids=["arm7", "four_bar"])
def test_schedules_can_be_kept(make, grain, agree):
    """Executed, every task finds what it needs, no processor has two, and the results are those of the equations."""
    e = make().system().equations("forward_dynamics")
    values = e.example()
    expected = e(*values.values())
    for sums in ("written", "in turn", "trees"):
        flow = e.dataflow(grain, sums=sums)
        for processors in (1, 3, 16):
            schedule = flow.schedule(processors)
            results, time = schedule.execute(values)
            agree(results["vdot"], expected, 1e-13)
            assert time == schedule.time >= max(flow.critical_time, flow.serial_time / processors) - 1e-9
        assert flow.schedule(1).time == flow.serial_time
        assert flow.schedule(len(flow)).time == flow.critical_time


def test_a_schedule_that_cannot_be_kept_is_noticed():
    e = four_bar().system().equations("mass_matrix")
    schedule = e.dataflow().schedule(2)
    last = int(np.argmax(schedule.start))
    hasty, elsewhere = schedule.start.copy(), schedule.processor.copy()
    hasty[last], elsewhere[last] = 0.0, 2
    with pytest.raises(ct.EquationsError, match="before what it needs"):
        type(schedule)(schedule.flow, 3, hasty, elsewhere).execute(e.example())
    crowded = np.where(schedule.processor >= 0, 0, -1)
    with pytest.raises(ct.EquationsError, match="two tasks"):
        type(schedule)(schedule.flow, 2, schedule.start, crowded).execute(e.example())


def test_branches_run_side_by_side():
    """At the grain of steps a chain is one task after the other, and the limbs of a humanoid are not."""
    chain = arm7().system().equations("inverse_dynamics").dataflow("steps")
    limbs = humanoid().system().equations("inverse_dynamics").dataflow("steps")
    assert chain.largest_speed_up < 1.6 and chain.width <= 2
    assert limbs.largest_speed_up > 2.0 and limbs.width >= 4
    assert {"motions", "forces"} <= set(limbs.steps)


# What another program made of the same definition, by degrees of freedom: operations and critical paths with zeros
# skipped (sums in turn, as trees), and with every zero multiplied out.
SKIPPED = {
    1: (258, 24, 21), 2: (717, 34, 31), 3: (1209, 44, 40), 4: (1860, 54, 47), 5: (2670, 64, 55), 6: (3653, 74, 63),
}  # fmt: skip
EVERY_ZERO = {1: (386, 32), 2: (1147, 44), 3: (2163, 56), 4: (3593, 68), 5: (5434, 80), 6: (7724, 92)}
# It also counts the velocity of the prismatic joint's origin, which nothing needs.
IDLE = 15


@pytest.mark.parametrize("freedom", [1, 2, 3, *(pytest.param(n, marks=pytest.mark.slow) for n in (4, 5, 6))])
def test_the_stanford_arms_speed_ups(freedom):
    """Operations and critical paths of the definition, to the last one with zeros skipped and sums in turn. Trees that
    take first what is there first save one unit; zeros that are multiplied out differ in half a per cent."""
    skipped, skipped_trees, every_zero, _ = stanford_readings(freedom)
    serial, in_turn, trees = SKIPPED[freedom]
    assert skipped.serial_time == serial - (IDLE if freedom >= 3 else 0)
    assert skipped.critical_time == in_turn
    assert skipped_trees.critical_time == trees - 1
    idle = IDLE if freedom >= 3 else 0
    assert every_zero.serial_time + idle == pytest.approx(EVERY_ZERO[freedom][0], rel=0.006)
    assert every_zero.critical_time == EVERY_ZERO[freedom][1] - 1
    if freedom in PRINTED_SPEED_UPS:
        # The printed figure lies between the reading that skips zeros and the one that multiplies them out.
        low, high = skipped.largest_speed_up, every_zero.largest_speed_up
        assert low - 1.0 < PRINTED_SPEED_UPS[freedom] < high


@pytest.mark.slow
def test_the_stanford_arm_on_some_processors(agree):
    """How long list schedules take, against another program's; each is executed."""
    arm = general_chain(STANFORD, gravity=(0.0, -9.81, 0.0)).system()
    graph, data = non_recursive(arm.plan, driven=False)
    flow = dataflow(graph)
    q, v = np.random.default_rng(0).normal(size=(2, 6))
    expected = arm.forward_dynamics(q, v, np.zeros(6))
    for processors, theirs in {2: 1827, 4: 914, 8: 463, 16: 240, 32: 130, 48: 95, 64: 79}.items():
        schedule = flow.schedule(processors)
        results, time = schedule.execute({"q": q, "v": v, "tau": np.zeros(6), **data})
        agree(results["vdot"], expected, 1e-12)
        assert time == schedule.time >= max(flow.critical_time, flow.serial_time / processors)
        assert time == pytest.approx(theirs, rel=0.02)
    assert flow.schedule(96).time == flow.critical_time


@pytest.mark.slow
def test_critical_paths_grow_linearly_with_the_chain():
    """Ten to thirteen operations a joint for the non-recursive form, which is one set of equations; about three times
    as much for the recursive one. The speed-up of the recursive form has a limit, that of the other has none."""
    lengths = (4, 6, 8)
    flat = {
        n: dataflow(non_recursive(general_chain("R" * n).system().plan)[0], sums="trees") for n in lengths
    }
    deep = {n: dataflow(recursive(general_chain("R" * n).system().plan)[0], sums="trees") for n in lengths}
    growth = (flat[8].critical_time - flat[4].critical_time) / 4
    deeper = (deep[8].critical_time - deep[4].critical_time) / 4
    assert 7 <= growth <= 13 and 25 <= deeper <= 40
    assert flat[8].largest_speed_up > 1.7 * flat[4].largest_speed_up
    assert deep[8].largest_speed_up < 1.1 * deep[4].largest_speed_up


def test_both_forms_are_the_forward_dynamics(agree):
    for mechanism in (
        general_chain("RPR"),
        general_chain(STANFORD[:4]),
        general_star("RRR"),
        general_chain("PPR"),
    ):
        system = mechanism.system()
        q, v, tau = np.random.default_rng(0).normal(size=(3, system.nv))
        runs = system.forward_dynamics(q, v, tau)
        for graph, data in (
            non_recursive(system.plan), non_recursive(system.plan, every_zero=True),
            non_recursive(system.plan, along_the_chain=True), recursive(system.plan),
        ):  # fmt: skip
            agree(graph.evaluate({"q": q, "v": v, "tau": tau, **data})["vdot"][0], runs, 1e-12)


def test_both_forms_of_a_chain_of_ball_joints_are_the_forward_dynamics(agree):
    """Velocities and forces of ball joints are in ground axes there, and in the child's axes here."""
    system = general_chain("SS").system()
    random = np.random.default_rng(1)
    q = system.integrate(system.neutral(), random.normal(size=6))
    v, tau = random.normal(size=(2, 6))
    vdot = system.forward_dynamics(q, v, tau)
    turn = np.zeros((6, 6))
    for k in (0, 1):
        turn[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = system.pose(q, f"body{k + 1}").R
    relative = turn @ v
    angular = np.concatenate([relative[:3], relative[:3] + relative[3:]])
    moving = np.concatenate(
        [np.cross(angular[3 * k : 3 * k + 3], relative[3 * k : 3 * k + 3]) for k in (0, 1)]
    )
    expected = turn @ vdot + moving
    for graph, data in (non_recursive(system.plan), recursive(system.plan)):
        found = graph.evaluate({"q": q, "v": relative, "tau": turn @ tau, **data})["vdot"][0]
        agree(found, expected, 1e-12)


def test_break_even_of_recursive_and_non_recursive_forms():
    """Nikravesh et al. print 6 revolute and 5 spherical joints, by CPU time."""
    assert break_even("S", 6) in (4, 5, 6)
    before, after = forms("R", 4), forms("R", 8)
    assert before.non_recursive < before.recursive and after.recursive < after.non_recursive
    assert after.non_recursive == pytest.approx(5563, rel=0.01)
    star = forms("R", 12, "star")
    assert star.non_recursive < star.recursive
    assert star.non_recursive == pytest.approx(5639, rel=0.01)
    for letter in ("P", "X", ""):
        with pytest.raises(EquationsError, match="chains whose links turn"):
            break_even(letter, 14)


def test_a_closed_loop_breaks_even_at_twice_the_length_of_a_chain():
    """Nikravesh et al. print about 12 bodies for a loop of revolute joints and 6 for a chain: cut in its middle, a loop
    is two chains of half the length. By operations it is 13 and 7."""
    assert break_even("R", 8, least=6) == 7
    assert break_even("R", 14, "loop", least=12) == 13
    for letter, joints in (("R", 8), ("S", 6)):
        loop, chain = forms(letter, joints, "loop"), forms(letter, joints // 2)
        assert loop.recursive == 2 * chain.recursive
        assert loop.non_recursive == 2 * chain.non_recursive


def test_chains_on_a_reference_member_take_as_long_as_one_chain_and_a_sum_of_logarithmic_depth():
    printed = {2: 1.97, 3: 2.94, 4: 3.89, 6: 5.83, 8: 7.73}
    for m, speed_up in printed.items():
        flow = lilly_orin_flow(m, 6, 3)
        assert flow.serial_time == sum(lilly_orin_mechanism(m, 6, 3))
        assert flow.critical_time == 6174 + 157 + 27 * int(np.ceil(np.log2(m + 1)))
        assert flow.largest_speed_up == pytest.approx(speed_up, abs=0.005)
        # As many processors as there are chains reach it.
        assert flow.schedule(m).time == flow.critical_time
    # Doubling the chains adds one round of sums.
    times = [lilly_orin_flow(2**k - 1, 6, 3).critical_time for k in range(1, 9)]
    assert np.allclose(np.diff(times), 27.0)
    lengths = [lilly_orin_flow(5, N, 3).critical_time for N in (6, 12, 24)]
    assert (lengths[2] - lengths[1]) == 2 * (lengths[1] - lengths[0])


def hand(fingers):
    """A palm that floats, with fingers of three joints, all alike."""
    m = ct.Mechanism("hand", gravity=(1.0, 2.0, -9.0))
    m.add_body("palm", 1.0, inertia=1.0)
    m.add_joint("floats", "ground", "palm", ct.Free())
    at = ct.Pose(p=(0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3))
    for finger in range(fingers):
        above = "palm"
        for name in (f"{finger}.{k}" for k in range(3)):
            m.add_body(name, 1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25))
            m.add_joint(f"{name} bends", above, name, ct.Revolute("y"), in_parent=at)
            above = name
    return m


def test_chains_of_a_mechanism_as_tasks_take_as_long_as_one_of_them_and_a_sum_of_logarithmic_depth():
    """One more round of sums for twice the fingers, three additions by three processors each; one by one, as many more
    as there are fingers."""
    fingers = np.array([2, 4, 8])
    flows = [hand(m).system().equations("inverse_dynamics").dataflow("chains", sums="trees") for m in fingers]
    assert np.allclose(np.diff([f.critical_time for f in flows]), 3.0)
    # The palm is waited for by the fingers, and has something to do by itself meanwhile.
    assert all(f.schedule(m).time < 1.06 * f.critical_time for f, m in zip(flows, fingers, strict=True))
    one_by_one = [
        hand(m).system().equations("inverse_dynamics").dataflow("chains", sums="in turn").critical_time
        for m in fingers
    ]
    assert np.allclose(np.diff(one_by_one), 18.0 * np.diff(fingers))
    largest = [f.largest_speed_up for f in flows]
    assert np.allclose(largest, fingers, rtol=0.02)
    assert {"knot palm", "chain 0.0"} <= set(flows[0].labels)


@pytest.mark.parametrize("chains", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_equations_of_closed_chains_take_little_longer_for_more_chains(chains, agree):
    """The member floats in the tree, so that all chains are alike; executed with a chain as a task, schedules give what
    the equations give."""

    def flow_of(m):
        mechanism = closed_chains(m, 3)
        mechanism.add_joint("floats", "ground", "member", ct.Free(), actuated=False)
        grips = [joint for joint in mechanism.joints if joint.startswith("grip")]
        equations = mechanism.system(cut=grips).equations("forward_dynamics")
        return equations, equations.dataflow("chains", sums="trees")

    e, flow = flow_of(chains)
    _, two = flow_of(2)
    assert flow.serial_time > 0.45 * chains * two.serial_time
    assert flow.critical_time < (1.0 + 0.05 * np.log2(chains)) * two.critical_time
    values = e.example()
    results, _ = flow.schedule(chains).execute(values)
    agree(results["vdot"], e(*values.values()), 1e-12)
