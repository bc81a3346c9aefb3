"""Controllers with a rate in runs with contacts and changes of structure: they are asked at k / rate, whatever breaks
the motion into parts."""

import numpy as np
import pytest

import catena as ct
from benchmarks.walkers import LEGS, askew, standing_walker
from catena.simulation.guards.clock import Clock
from tests.simulation.contacts.other_plans import beside_a_loop, placed


class Recorder:
    """A controller that notes when it is asked, and where the mechanism is then."""

    def __init__(self, rate, law):
        self.rate, self.law, self.asked = rate, law, []

    def __call__(self, t, q, v):
        self.asked.append((t, q.copy(), v.copy()))
        return self.law(t, q, v)

    @property
    def times(self):
        return np.array([t for t, _, _ in self.asked])


def test_clock():
    """Parts of runs that begin at a sample, between two, and before the clock is at zero."""
    clock = Clock(20.0)
    for start in (0.0, 0.123, 0.1, -0.04):
        end = start + 0.3
        true = np.array([k / 20.0 for k in range(-10, 100) if start + 1e-9 < k / 20.0 < end - 1e-9])
        assert clock.within(start, end) == pytest.approx(true)
        assert clock.first(start) / 20.0 == pytest.approx(start if clock.is_due(start) else true[0])
        assert all(clock.is_due(t) and not clock.is_due(t + 1e-3) for t in true)
        for a, b in zip(true[:-1], true[1:], strict=True):
            assert clock.after(a) == pytest.approx(b) and clock.after(0.5 * (a + b)) == pytest.approx(b)
            assert clock.after(np.nextafter(b, 0.0)) == pytest.approx(b + 0.05)
    assert len(Clock(10.0).within(0.0, 0.1)) == 0


def sledge(kind):
    """A sledge over the floor, thrown up a little, with a second body on it in the way of a kind."""
    m = ct.Mechanism("sledge")
    m.add_body("frame", 1.0, inertia=0.01)
    m.add_joint("up", "ground", "frame", ct.Prismatic("z"))
    m.add_body("sledge", 1.0, inertia=0.01)
    m.add_joint("along", "frame", "sledge", ct.Prismatic("x"))
    m.add_frame("runner", "sledge", ct.Pose(p=(0.0, 0.0, 0.0)))
    if kind == "loop":
        for name in ("a", "b"):
            m.add_body(name, 0.1, inertia=1e-3)
        m.add_joint("pin a", "frame", "a", ct.Revolute("y"))
        m.add_joint("pin b", "a", "b", ct.Revolute("y"), in_parent=ct.Pose(p=(0.5, 0.0, 0.5)))
        ends = {"in_parent": ct.Pose(p=(0.5, 0.0, -0.5)), "in_child": ct.Pose(p=(1.0, 0.0, 0.0))}
        m.add_joint("pin c", "b", "sledge", ct.Revolute("y"), **ends)
    return m


@pytest.mark.parametrize("kind", ["tree", "wrench", "event", "loop", "rk4", "careful"])
def test_a_controller_is_asked_once_for_each_sample(kind):
    """Bounces, a slide that ends, and a push that begins: the sampler hears of nothing but the motion itself, in order,
    however steps are taken."""
    s = sledge(kind).system(cut=["pin c"] if kind == "loop" else [])

    def law(t, q, v):
        tau = np.zeros(s.nv)
        tau[s.slice_v("along")] = 20.0 * (t > 0.3)
        return tau

    control = Recorder(40.0, law)
    options = {"rtol": 1e-8, "atol": 1e-10}
    if kind == "rk4":
        options = {"integrator": "rk4", "step": 1e-3}
    if kind == "wrench":
        options["forces"] = {"sledge": lambda t: np.zeros(6)}
    if kind == "event":
        options["events"] = [ct.Event(lambda t, q, v: t - 0.2, "later", terminal=False)]
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("up")], v[s.slice_v("along")] = 0.02, 0.3
    if kind == "loop":
        v = s.velocity(q, {"along": 0.3, "up": 0.0})
    friction = 0.0 if kind == "careful" else 0.4
    contact = ct.Contact("runner", friction=friction, restitution=0.9 if kind == "careful" else 0.5)
    run = ct.simulate(s, q, v, 0.6, control=control, contacts=[contact], **options)
    assert len(run.transitions) > 4 and run.t[-1] == pytest.approx(0.6)
    assert control.times == pytest.approx(np.arange(24) / 40.0, abs=1e-9)
    for t, at_q, at_v in control.asked:
        there = run.at(t)
        assert np.abs(there[0] - at_q).max() < 1e-7
        # An impact may happen just then; otherwise velocities are those of the run as well.
        if min(abs(t - change.t) for change in run.transitions) > 1e-6:
            assert np.abs(there[1] - at_v).max() < 1e-5


def test_a_sampled_push():
    """A block is pushed by forces that grow from sample to sample: it sticks until they are more than friction holds,
    and then moves by parabolas."""
    m = ct.Mechanism("block")
    m.add_body("block", 2.0, inertia=0.1)
    m.add_joint("moves", "ground", "block", ct.Free())
    for k, (x, y) in enumerate([(0.1, 0.0), (-0.1, 0.1), (-0.1, -0.1)]):
        m.add_frame(f"foot{k}", "block", ct.Pose(p=(x, y, 0.0)))
    s = m.system()
    mu, g, rate = 0.3, 9.81, 50.0
    contacts = [ct.Contact(f"foot{k}", friction=mu) for k in range(3)]
    along = s.slice_v("moves")

    def law(t, q, v):
        tau = np.zeros(s.nv)
        tau[along][3] = 2.0 * mu * g * (0.55 + 5.0 * t)
        return tau

    run = ct.simulate(
        s,
        s.neutral(),
        np.zeros(s.nv),
        0.4,
        control=ct.sampled(law, rate),
        contacts=contacts,
        rtol=1e-9,
        atol=1e-11,
    )
    x = v = 0.0
    for k in range(20):
        a = mu * g * (0.55 + 5.0 * k / rate - 1.0)
        if a > 0.0:
            x, v = x + v / rate + 0.5 * a / rate**2, v + a / rate
        there = run.at((k + 1) / rate)
        assert there[0][0] == pytest.approx(x, abs=1e-8) and there[1][3] == pytest.approx(v, abs=1e-8)
    slips = [change.t for change in run.transitions if "slip" in change.name]
    assert slips[0] == pytest.approx(0.1, abs=1e-9)
    gained, lost = (sum(part.work[name][-1] for part in run.segments) for name in ("actuators", "wrenches"))
    assert run.kinetic_energy[-1] == pytest.approx(gained + lost, rel=1e-6)


def test_a_walker_under_a_controller_with_a_memory():
    """A PID controller that sums up errors holds a walker that lands askew: contacts inside the compiled step, and
    those beside a loop that has nothing to do with it, agree."""
    alone, runs = standing_walker().system(), []
    legs = {joint: 0.0 for joint in alone.joints if joint != "base"}
    for s in (alone, beside_a_loop(standing_walker()).system()):
        q = placed(s, alone, askew(alone, 0.005))
        control = ct.PID(s, legs, kp=300.0, ki=500.0, kd=8.0, rate=500.0)
        runs.append(
            ct.simulate(
                s, q, None, 0.08, control=control, rtol=1e-8, atol=1e-10, check=False,
                contacts=[ct.Contact(f"{leg}/foot", friction=0.6) for leg in LEGS],
            )
        )  # fmt: skip
    quick, slow = runs
    for t in np.linspace(0.0, 0.08, 9):
        for leg in LEGS:
            at = [run.system.pose(run.at(t)[0], f"{leg}/foot").p for run in runs]
            assert np.abs(at[0] - at[1]).max() < 1e-5
    assert [x.told for x in quick.transitions][:4] == [x.told for x in slow.transitions][:4]


def test_structure_that_changes_between_samples():
    """A change of structure asks the controller, whose forces are for other joints from then on; its clock goes on."""
    m = ct.Mechanism("arm")
    for k, parent in enumerate(("ground", "a")):
        m.add_body("ab"[k], 1.0, (0.3, 0.0, 0.0), 0.1)
        m.add_joint("AB"[k], parent, "ab"[k], ct.Revolute("y"))
    s = m.system()
    control = Recorder(20.0, lambda t, q, v: -0.1 * v)
    event = ct.Event(
        lambda t, q, v: t - 0.123, "locks", then=lambda here: here.system.mechanism.lock("B", here.q[1])
    )
    run = ct.simulate(s, [0.1, 0.2], [0.0, 1.0], 0.3, control=control, events=[event])
    assert len(run.segments) == 2
    assert control.times == pytest.approx([0.0, 0.05, 0.1, 0.123, 0.15, 0.2, 0.25], abs=1e-9)


@pytest.mark.parametrize("local", [False, True])
def test_a_controller_for_each_structure(local):
    """Each is started once, and keeps the time of the run, whether or not it is told when its structure begins."""

    class Started(Recorder):
        def start(self, system, batch):
            self.begun = [*getattr(self, "begun", []), system.nv]

    made = []

    def make(system, *start):
        made.append(Started(20.0, lambda t, q, v: 0.0 * v))
        return made[-1]

    s, begun = sledge("tree").system(), []
    control = ct.PerStructure(
        (lambda system, start: make(system, begun.append(start))) if local else (lambda system: make(system))
    )
    event = ct.Event(
        lambda t, q, v: t - 0.13, "locks", then=lambda here: here.system.mechanism.lock("along", here.q[1])
    )
    contact = ct.Contact("runner", friction=0.3, restitution=0.5)
    run = ct.simulate(s, [0.01, 0.0], [0.0, 1.0], 0.25, control=control, events=[event], contacts=[contact])
    assert run.t[-1] == pytest.approx(0.25)
    assert [each.begun for each in made] == [[2], [1]]
    assert made[0].times == pytest.approx([0.0, 0.05, 0.1])
    assert made[1].times == pytest.approx([0.13, 0.15, 0.2])
    assert begun == pytest.approx([0.0, 0.13] if local else [])


def pushed(rate, seed, **more):
    """A block that is pushed to and fro and up by forces that jump at the samples of a controller."""
    m = ct.Mechanism("block")
    m.add_body("block", 2.0, inertia=0.1)
    m.add_joint("moves", "ground", "block", ct.Sdof("dx", "dz"))
    random = np.random.default_rng(seed)
    table = np.stack([random.uniform(-15.0, 15.0, size=200), random.uniform(-20.0, 30.0, size=200)], axis=1)
    hold = ct.sampled(lambda t, q, v: table[round(t * rate)], rate)
    return ct.simulate(
        m.system(),
        [0.0, 0.0],
        [0.3, 0.0],
        0.5,
        control=hold,
        contacts=[ct.Contact("block", friction=0.5)],
        **more,
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "more", [{}, {"samples": 101}, {"forces": {"block": lambda t: np.zeros(6)}}], ids=["all", "101", "asked"]
)
def test_contacts_never_pull_nor_leave_their_cones_where_control_forces_jump(seed, more):
    """Compiled and asked from Python, at steps and at other samples; and forces balance what the block does."""
    run = pushed(100.0, seed, **more)
    f = run.contact_forces["block"]
    assert f[:, 2].min() >= -1e-9
    assert np.all(np.hypot(f[:, 0], f[:, 1]) <= 0.5 * f[:, 2] + 1e-6)
    assert any("lifts" in change.name for change in run.transitions)
    # The weight and what the controller gives leave so much for the contact wherever the block stays on the plane.
    at = 0
    for part in run.segments:
        own = f[at : at + len(part.t), 2]
        at += len(part.t)
        if np.all(own > 0.0) and np.abs(part.q[:, 1]).max() < 1e-9 and np.abs(part.v[:, 1]).max() < 1e-9:
            np.testing.assert_allclose(own, 2.0 * 9.81 - part.tau[:, 1], atol=1e-7)
            # Between steps it stays on the plane too, whatever jumps at them.
            between = (
                (part.q, part.v) if "samples" in more else part.at(np.linspace(part.t[0], part.t[-1], 57))
            )
            assert max(np.abs(x[:, 1]).max() for x in between) < 1e-9


def test_the_last_force_of_a_contact_that_is_lifted_is_what_it_bore():
    """A block of 19.62 N that a sampled controller lifts with 50 N at 0.1 s: it stands on its weight up to there, and
    the forces of the controller are those of before there too."""
    m = ct.Mechanism("block")
    m.add_body("block", 2.0, inertia=0.1)
    m.add_joint("up", "ground", "block", ct.Prismatic("z"))
    lift = ct.sampled(lambda t, q, v: np.array([0.0 if t < 0.0995 else 50.0]), 100.0)
    run = ct.simulate(
        m.system(), [0.0], [0.0], 0.15, control=lift, contacts=[ct.Contact("block", friction=0.5)]
    )
    first = run.segments[0]
    assert first.t[-1] == pytest.approx(0.1) and first.tau[-1, 0] == 0.0
    f = run.contact_forces["block"][: len(first.t), 2]
    np.testing.assert_allclose(f, 2.0 * 9.80665, rtol=1e-3)
    assert run.segments[1].tau[0, 0] == 50.0


@pytest.mark.parametrize("samples", [2, 4])
def test_few_samples_are_those_of_all_steps(samples):
    """Stretches that no sample lies in are kept at their ends only: states, works, control forces and forces of feet
    are there what they are where all steps are kept."""
    s = standing_walker().system()
    contacts = [ct.Contact(f"{leg}/foot", friction=0.4) for leg in LEGS]

    def run(**settings):
        law = ct.sampled(lambda t, q, v: np.r_[np.zeros(6), np.full(s.nv - 6, 3.0 * np.cos(40.0 * t))], 200.0)
        q = askew(s, 0.02)
        return ct.simulate(
            s, q, np.zeros(s.nv), 0.15, contacts=contacts, control=law, check=False, **settings
        )

    few, every = run(samples=samples), run()
    assert len(few.segments) == len(every.segments) > 5
    assert any(len(part.t) == 2 for part in few.segments)
    for a, b in zip(few.segments, every.segments, strict=True):
        assert len(a.t) <= len(b.t) and a.steps == b.steps
        for end in (0, -1):
            for name in ("t", "q", "v", "tau"):
                np.testing.assert_array_equal(getattr(a, name)[end], getattr(b, name)[end])
            for of in ("work", "contact_forces", "wrenches"):
                x, y = getattr(a, of), getattr(b, of)
                assert x.keys() == y.keys()
                for label in x:
                    np.testing.assert_allclose(
                        x[label][..., end, :] if x[label].ndim > 1 else x[label][end],
                        y[label][..., end, :] if y[label].ndim > 1 else y[label][end],
                        rtol=1e-9,
                        atol=1e-9,
                    )
