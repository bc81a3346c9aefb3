"""Several contacts at once: a walker on its feet, a block that falls flat, fingers, and what ends in words."""

import numpy as np
import pytest

import catena as ct
from benchmarks.walkers import LEGS, askew, standing_walker, walker_on_springs
from catena.simulation.contacts.coulomb import independent, pressed
from tests.simulation.contacts.test_drops import dropped


def hold(s, q, kp=400.0, kd=20.0):
    """PD control of all legs at where they are."""
    moved = [k for name in s.joints if name != "base" for k in range(s.nv)[s.slice_v(name)]]
    rest = np.array([q[s.slice_q(name)][0] for name in s.joints if name != "base"])

    def control(t, q, v):
        tau = np.zeros(s.nv)
        now = np.array([q[s.slice_q(name)][0] for name in s.joints if name != "base"])
        tau[moved] = kp * (rest - now) - kd * v[moved]
        return tau

    return control


def test_few_steps_are_rejected_where_slips_end():
    """Feet of 20 g that slip, ever more slowly, until they stick: steps that shrink are foreseen."""
    s = walker_on_springs().system()
    q = askew(s, 0.05)
    contacts = [ct.Contact(f"{leg}/foot", friction=1.0) for leg in LEGS]
    run = ct.simulate(s, q, np.zeros(s.nv), 0.42, contacts=contacts, rtol=1e-5, atol=1e-7)
    ends = [k for k, change in enumerate(run.transitions) if "slide -> stick" in " ".join(change.told)]
    slips = [
        x
        for x in run.segments
        if len(x.t) > 30 and x.t[0] > 0.18 and "inside" in x.settings["steps taken by"]
    ]
    assert ends and slips
    assert sum(x.steps for x in slips) < 1.3 * sum(len(x.t) for x in slips)


def test_a_walker_dropped_on_four_feet_lands_and_stands():
    m = standing_walker()
    s = m.system()
    q = s.neutral()
    q[s.slice_q("base")][2] = 0.02
    contacts = [ct.Contact(f"{leg}/foot", friction=0.8) for leg in LEGS]
    run = ct.simulate(s, q, np.zeros(s.nv), 0.4, contacts=contacts, control=hold(s, q), rtol=1e-6, atol=1e-8)
    # The neutral walker is so exact that all four feet come down together.
    touch = next(change for change in run.transitions if "touches" in change.name)
    assert touch.t == pytest.approx(np.sqrt(2 * 0.02 / 9.81), rel=1e-5)
    assert set(touch.impulse) == {f"{leg}/foot" for leg in LEGS} and touch.energy_loss > 0.0
    assert sum("stick" in line for line in touch.told) == 4
    gap = np.array([run.position(f"{leg}/foot")[:, 2] for leg in LEGS])
    assert gap.min() > -1e-7
    up = sum(run.segments[-1].contact_forces[f"{leg}/foot"][-1, 2] for leg in LEGS)
    assert up == pytest.approx(9.81 * sum(body.mass for body in m.bodies.values()), rel=0.5)


def test_coulomb_of_any_contacts_obeys_the_law():
    """Whatever is tried first, forces push, stay in their cones, and rub against what slips by all that there is."""
    random, seen = np.random.default_rng(0), set()
    for _ in range(300):
        k = int(random.integers(1, 5))
        A = random.normal(size=(3 * k, 3 * k + 2))
        W, c, mu = A @ A.T, random.normal(size=(k, 3)), random.uniform(0.1, 1.0, k)
        c[:, 2] -= 1.0
        found = pressed(W.reshape(k, 3, k, 3), c, mu, [None] * k, list("abcd")[:k])
        f, r = found.f, c + (W @ found.f.reshape(-1)).reshape(k, 3)
        np.testing.assert_allclose(found.r, r, atol=1e-9)
        t, away = np.hypot(f[:, 0], f[:, 1]), np.hypot(r[:, 0], r[:, 1])
        assert f[:, 2].min() >= -1e-8 and r[:, 2].min() >= -1e-7 and np.all(t <= mu * f[:, 2] + 1e-8)
        np.testing.assert_allclose(f[:, 2] * r[:, 2], 0.0, atol=1e-7)
        np.testing.assert_allclose((f[:, :2] * r[:, :2]).sum(axis=1), -mu * f[:, 2] * away, atol=1e-7)
        for mode, still, slips in zip(found.modes, f[:, 2] < 1e-8, away > 1e-7, strict=True):
            assert still == (mode == "open") and (mode == "open" or slips == (mode == "slide"))
        seen |= set(found.modes)
    assert seen == {"open", "stick", "slide"}


def test_coulomb_of_redundant_contacts_holds_what_it_can():
    """Four legs of a stiff table: normal forces are not unique, but none pulls and they carry the weight."""
    places = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=float)
    A = np.zeros((4, 3, 6))
    for k, (x, y) in enumerate(places):
        r = np.array([x, y, -0.5])
        A[k, :, 3:] = np.eye(3)
        A[k, :, :3] = -np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    W = np.einsum("ian,jbn->iajb", A, A)
    load = np.array([0, 0, 0, 1.0, 0, -9.81])
    c = np.einsum("ian,n->ia", A, load)
    found = pressed(W, c, np.full(4, 0.5), [None] * 4, list("abcd"))
    assert set(found.modes) == {"stick"} and (found.f[:, 2] > 0).all()
    np.testing.assert_allclose(found.f.sum(axis=0), [-1.0, 0, 9.81], atol=1e-9)
    slippery = pressed(W, c, np.full(4, 0.05), [None] * 4, list("abcd"))
    assert "slide" in slippery.modes
    np.testing.assert_allclose(
        np.hypot(slippery.f[:, 0], slippery.f[:, 1]), 0.05 * slippery.f[:, 2], atol=1e-6 * 9.81
    )


def test_a_jam_ends_in_words():
    """Painleve's rod: friction presses the tip on faster than any force holds it off."""
    theta, mu, m, I = np.radians(60.0), 3.0, 1.0, 1.0 / 12.0  # noqa: E741
    x, y = -0.5 * np.cos(theta), -0.5 * np.sin(theta)
    n, t = np.array([x, 0, 1.0]), np.array([-y, 1.0, 0])
    H = np.diag([1 / I, 1 / m, 1 / m])
    rows = np.array([t, 0 * t, n])
    W = (rows @ H @ rows.T).reshape(1, 3, 1, 3)
    assert W[0, 2, 0, 2] - mu * W[0, 2, 0, 0] < 0.0 or W[0, 2, 0, 2] + mu * W[0, 2, 0, 0] < 0.0
    d = np.array([1.0, 0.0]) if W[0, 2, 0, 2] - mu * W[0, 2, 0, 0] < 0.0 else np.array([-1.0, 0.0])
    with pytest.raises(ct.SimulationError, match=r"'rod' jams.*Painleve"):
        pressed(W, np.array([[0.0, 0.0, -9.81]]), np.array([mu]), [d], ["rod"])


@pytest.mark.parametrize("seed", [52, 264, 319])
def test_forces_that_grow_without_end_end_in_words(seed):
    """Contacts that press each other on by their friction, more and more from sweep to sweep."""
    random = np.random.default_rng(seed)
    k, mu = int(random.integers(2, 4)), float(random.choice([3, 10, 100]))
    A, c = random.normal(size=(3 * k, 3 * k)), random.normal(size=(k, 3))
    c[:, 2] = -abs(c[:, 2])
    sliding = []
    for _ in range(k):
        angle = None if random.random() < 0.5 else random.uniform(0.0, 6.28)
        sliding.append(None if angle is None else np.array([np.cos(angle), np.sin(angle)]))
    with pytest.raises(ct.SimulationError, match="Painleve"):
        pressed((A @ A.T).reshape(k, 3, k, 3), c, np.full(k, mu), sliding, list("abc")[:k])


def plate(turned):
    """A plate on three feet over the floor, turned, and its velocity."""
    m = ct.Mechanism("plate")
    m.add_body("plate", mass=1.5, com=(0.02, 0.01, 0.05), inertia=(0.02, 0.03, 0.04))
    m.add_joint("moves", "ground", "plate", ct.Free(), actuated=False)
    for foot, place in zip("abc", ((0.2, 0.0), (-0.15, 0.15), (-0.1, -0.2)), strict=True):
        m.add_frame(foot, "plate", ct.Pose(p=(*place, -0.05)))
    s = m.system()
    q = s.integrate(s.neutral(), np.r_[turned, 0.0, 0.0, 0.0])
    q[2] += 0.03 - min(s.pose(q, foot).p[2] for foot in "abc")
    return s, q, np.array([0.3, 0.2, 1.0, 0.5, 0.1, 0.0])


@pytest.mark.parametrize("forces", [{}, {"plate": lambda t: [0] * 6}], ids=["compiled", "from Python"])
def test_a_foot_that_slides_takes_part_in_an_impact_however_large_steps_are(forces):
    """Steps lead a foot that slides a little off the floor; it is one that touches when the next foot hits."""
    contacts = [ct.Contact(foot, friction=0.3) for foot in "abc"]
    exact, rough = (
        ct.simulate(
            *plate((0.2, -0.1, 0.3)), 0.22, contacts=contacts, forces=forces, rtol=rtol, atol=0.01 * rtol
        )
        for rtol in (1e-9, 1e-5)
    )
    assert [change.told for change in rough.transitions] == [change.told for change in exact.transitions]
    assert len([1 for change in exact.transitions if len(change.impulse) > 1]) == 3
    np.testing.assert_allclose(rough.segments[-1].q[-1], exact.segments[-1].q[-1], atol=1e-6)


@pytest.mark.parametrize("mu", [2.0, 5.0, 100.0])
@pytest.mark.parametrize("turned", [(0.0, 0.0, 0.3), (0.3, 0.1, 0.0)])
def test_a_plate_that_hardly_slips_lands_on_three_feet(mu, turned):
    """It rattles from foot to foot until it stands: feet that stick turn with the plate, and a slip that friction jams
    is over at once."""
    run = ct.simulate(*plate(turned), 0.5, contacts=[ct.Contact(foot, friction=mu) for foot in "abc"])
    assert run.ended == "" and run.kinetic_energy[-1] < 1e-12
    assert np.max(np.diff(run.energy)) < 1e-6 * (run.energy[0] - run.energy[-1])
    forces = sum(f[-1] for f in run.contact_forces.values())
    np.testing.assert_allclose(forces, [0.0, 0.0, 1.5 * 9.81], atol=1e-6)
    assert all(f[-1, 2] > 0.0 for f in run.contact_forces.values())


def test_what_cannot_be_a_contact_is_refused():
    m = standing_walker()
    s = m.system()
    rest = np.zeros(s.nv)
    with pytest.raises(ct.UnknownNameError, match="no body or frame is named 'paw'"):
        ct.simulate(s, s.neutral(), rest, 0.1, contacts=[ct.Contact("paw")])
    with pytest.raises(ct.StateError, match="friction is -1"):
        ct.Contact("trunk", friction=-1)
    with pytest.raises(ct.StateError, match="move together"):
        ct.simulate(
            s, s.neutral(), rest, 0.1, contacts=[ct.Contact("front_left/foot", on="front_left/shank")]
        )
    q = s.neutral()
    q[s.slice_q("base")][2] = -0.01
    with pytest.raises(ct.StateError, match="begins 0.01 m beyond"):
        ct.simulate(s, q, rest, 0.1, contacts=[ct.Contact("front_left/foot")])
    with pytest.raises(ct.StateError, match="called 'trunk'"):
        ct.simulate(s, s.neutral(), rest, 0.1, contacts=[ct.Contact("trunk"), ct.Contact("trunk")])


def test_contacts_that_chatter_are_said_to():
    """Boxes that fall on their corners: where careful steps were taken, the change behind them says why, and energy
    falls."""
    careful, told = 0, list[str]()
    for seed in (1, 2):
        s, q, v, contacts = dropped("three boxes", seed, 1.0)
        run = ct.simulate(s, q, v, 0.4, contacts=contacts, rtol=1e-6, atol=1e-8, check=False)
        careful += sum("careful steps" in part.settings["integrator"] for part in run.segments)
        told += [change.name for change in run.transitions if "careful" in change.name]
        assert np.max(np.diff(run.energy)) < 1e-3
    assert careful and told
    reasons = ("contacts chattered", "friction was stiff", "no forces were found")
    assert all(any(reason in name for reason in reasons) for name in told)


def test_contacts_apart_are_solved_by_themselves():
    """Two bodies that do not feel each other: their forces are those of each alone, in whichever order they come."""
    rng = np.random.default_rng(3)
    alone = []
    for _ in range(2):
        root = rng.normal(size=(6, 6))
        W = (root @ root.T + 6.0 * np.eye(6)).reshape(2, 3, 2, 3)
        alone.append((W, np.where([False, False, True], -5.0, 1.0) + 0.3 * rng.normal(size=(2, 3))))
    together, c, order = np.zeros((4, 3, 4, 3)), np.zeros((4, 3)), [[0, 2], [1, 3]]
    for (W, own), group in zip(alone, order, strict=True):
        together[np.ix_(group, range(3), group, range(3))], c[group] = W, own
    mu = np.full(4, 0.4)
    assert independent(together) == order and independent(np.ones((3, 3, 3, 3))) == [[0, 1, 2]]
    found = pressed(together, c, mu, [None] * 4, list("abcd"))
    for (W, own), group in zip(alone, order, strict=True):
        one = pressed(W, own, mu[:2], [None] * 2, list("ab"))
        np.testing.assert_allclose(found.f[group], one.f, atol=1e-12)
        assert [found.modes[k] for k in group] == list(one.modes)
