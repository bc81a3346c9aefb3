"""Arrows of contacts against Coulomb's law and the weight: a sled slides, comes to rest and sticks. Arrows of joints
against the reactions of the run."""

import numpy as np
import pytest
from PIL import Image

import catena as ct
from catena.errors import UnknownNameError
from catena.mechanism import generators
from catena.view import theme
from catena.view.arrows import Arrows, arrows_of, longest_arrow, usual_sizes
from catena.view.movie import movie
from catena.view.player.payload import payload
from catena.view.scene import scene

MASS, FRICTION, SPEED, G = 2.0, 0.3, 1.0, 9.81
STOPS = SPEED / (FRICTION * G)


@pytest.fixture(scope="module")
def run():
    m = ct.Mechanism("sled")
    m.add_body("carriage", mass=0.0)
    m.add_body("sled", mass=MASS, inertia=0.1, visuals=ct.shapes.Box((0.4, 0.2, 0.1)))
    m.add_joint("along", "ground", "carriage", ct.Prismatic("x"), actuated=False)
    m.add_joint("up", "carriage", "sled", ct.Prismatic("z"), actuated=False)
    m.add_frame("foot", "sled", ct.Pose(p=(0, 0, -0.1)))
    s = m.system()
    return ct.simulate(s, [0.0, 0.1], [SPEED, 0.0], 0.8, contacts=[ct.Contact("foot", friction=FRICTION)])


def test_sliding_and_sticking_contacts_are_arrows_of_one_group(run):
    shown = movie(run)
    slides, sticks = (next(a for a in part.arrows if a.group == "contacts") for part in shown.segments)
    assert shown.segments[1].t[0] == pytest.approx(STOPS, rel=1e-6)
    weight = MASS * G
    np.testing.assert_allclose(
        slides.vectors, np.tile([-FRICTION * weight, 0.0, weight], (len(slides.vectors), 1)), atol=1e-6
    )
    np.testing.assert_allclose(
        sticks.vectors, np.tile([0.0, 0.0, weight], (len(sticks.vectors), 1)), atol=1e-6
    )
    for arrow in (slides, sticks):
        assert (arrow.name, arrow.body) == ("foot", "sled")
        np.testing.assert_allclose(arrow.point, [0, 0, -0.1])
    assert [name for _, name in shown.events] == [change.name for change in run.transitions[-1:]]
    assert shown.floor == 0.0, "the floor is the plane that the contacts are on"
    groups = {a.group for part in shown.segments for a in part.arrows}
    assert "applied" not in groups, "what a contact pushes with is not told twice"


def test_a_ball_is_pushed_where_it_touches():
    m = ct.Mechanism("ball")
    m.add_body("ball", mass=1.0, inertia=0.004, visuals=ct.shapes.Sphere(0.1))
    m.add_joint("free", "ground", "ball", ct.Free(), actuated=False)
    s = m.system()
    q = s.neutral()
    q[2] = 0.1
    rolls = ct.simulate(s, q, np.zeros(6), 0.05, contacts=[ct.Contact("ball", friction=0.3, radius=0.1)])
    (arrow,) = arrows_of(rolls.segments[0], scene(s, q), rolls.segments[0].contact_force_histories)
    np.testing.assert_allclose(arrow.offset, np.tile([0, 0, -0.1], (len(arrow.offset), 1)))
    np.testing.assert_allclose(arrow.vectors[:, 2], G, rtol=1e-6)


def test_arrows_of_pages_and_films_have_one_scale(run, tmp_path):
    data = payload(movie(run))
    scene = movie(run).segments[0].scene
    assert data["scenes"][0]["longest"] == longest_arrow(scene)
    assert data["groups"] == theme.ARROWS
    film = {"size": (160, 120), "rate": 5, "speed": 0.4, "progress": False, "clock": False}
    run.save_video(tmp_path / "with.gif", forces="contacts", **film)
    run.save_video(tmp_path / "without.gif", **film)
    green = tuple(int(theme.ARROWS["contacts"][k : k + 2], 16) for k in (1, 3, 5))

    def pixels(name):
        image = np.asarray(Image.open(tmp_path / name).convert("RGB"), dtype=int)
        return int(np.sum(np.abs(image - green).sum(axis=-1) < 40))

    assert pixels("with.gif") > 20 and pixels("without.gif") == 0
    with pytest.raises(UnknownNameError, match="no group of forces is named 'contact'"):
        run.save_video(tmp_path / "x.gif", forces="contact", **film)


def test_reactions_of_slides_start_where_the_slide_is_drawn_and_are_the_same_wrench():
    """About the origin of ground, force and moment of an arrow are those of the reaction at the child's side."""
    s = generators.hslm().system()
    q = s.assemble({"slide1": 0.2})
    fall = ct.simulate(s, q, None, 0.1, integrator="rk4", step=1e-2)
    shape = scene(s, q)
    arrows = {(a.name, a.is_moment): a for a in arrows_of(fall.segments[0], shape) if a.group == "reactions"}
    places = shape.poses(fall.q)
    for name in ("slide1", "base1"):
        force, moment = arrows[name, False], arrows[name, True]
        joint = s.mechanism.joints[name]
        child = places[joint.child]
        R = child[:, :3, :3] @ joint.in_child.R
        at = child[:, :3, :3] @ joint.in_child.p + child[:, :3, 3]
        own = np.einsum("tij,tkj->tki", R, fall.reaction(name).reshape(-1, 2, 3))
        start = places[force.body][..., :3, :3] @ force.point + places[force.body][..., :3, 3]
        np.testing.assert_allclose(force.vectors, own[:, 1], atol=1e-9)
        np.testing.assert_allclose(
            moment.vectors + np.cross(start, force.vectors), own[:, 0] + np.cross(at, own[:, 1]), atol=1e-8
        )
        sign = shape.joint_anchors[name]
        drawn = places[sign.body][..., :3, :3] @ sign.point + places[sign.body][..., :3, 3]
        np.testing.assert_allclose(
            np.broadcast_to(start, (len(fall.t), 3)), np.broadcast_to(drawn, (len(fall.t), 3))
        )
        assert name == "base1" or np.abs(start - at).max() > 0.1, "the child's side is elsewhere"


def test_an_impact_does_not_make_other_forces_too_small_to_see():
    t = np.linspace(0.0, 1.0, 101)

    def arrow(sizes, is_moment=False):
        return Arrows("a", "reactions", is_moment, "b", np.zeros(3), np.outer(sizes, [0.0, 0.6, 0.8]))

    steady, hit = np.full(101, 10.0), np.full(101, 10.0)
    hit[50] = 1000.0
    assert usual_sizes([(t, [arrow(steady)])])["reactions"] == pytest.approx((10.0, 0.0))
    assert usual_sizes([(t, [arrow(hit), arrow(3.0 * steady, True)])])["reactions"] == pytest.approx(
        (25.0, 30.0)
    )
    # A short structure in which the impact is all there is weighs as much as it lasts.
    short = (np.linspace(1.0, 1.001, 60), [arrow(np.full(60, 1000.0))])
    assert usual_sizes([(t, [arrow(steady)]), short])["reactions"] == pytest.approx((25.0, 0.0))
    assert usual_sizes([short])["reactions"] == pytest.approx((1000.0, 0.0))
    assert usual_sizes([])["contacts"] == (0.0, 0.0)


def test_what_contacts_press_with_is_plotted_beside_the_scene(run):
    panel = next(panel for panel in movie(run).panels if panel.title == "Contacts press with")
    (curve,) = panel.curves
    assert (curve.name, panel.unit, len(curve.values)) == ("foot", "N", len(run.t))
    np.testing.assert_allclose(curve.values, MASS * G, rtol=1e-6)


def test_forces_found_in_pieces_are_those_found_at_once_and_progress_is_told(monkeypatch, capsys, tmp_path):
    s = generators.four_bar().system()
    q = s.assemble({"A": 0.5})

    def push(t, q, v):
        return np.array([2.0 if t > 0.9 else 0.0, 0.0, 0.0])

    turns = ct.simulate(s, q, s.velocity(q, {"A": 2.0}), 1.0, integrator="rk4", step=5e-3, control=push)
    shape, reached = scene(s, q), []
    pieces = arrows_of(turns.segments[0], shape, (), reached.append)
    monkeypatch.setattr("catena.view.arrows.PIECE", 10**6)
    at_once = arrows_of(turns.segments[0], shape)
    assert len(reached) > 2 and reached[-1] == turns.t[-1]
    found, expected = (
        {(a.name, a.group, a.is_moment): a.vectors for a in some} for some in (pieces, at_once)
    )
    assert set(found) == set(expected)
    for key, vectors in found.items():
        np.testing.assert_allclose(vectors, expected[key], atol=1e-9)
    assert any(a.group == "actuators" and not np.any(a.vectors[0]) for a in pieces)
    monkeypatch.setattr("catena.view.arrows.PIECE", 20)
    monkeypatch.setattr("catena.simulation.following.progress.SILENT_FOR", 0.0)
    monkeypatch.setattr("catena.simulation.following.progress.EVERY", 0.0)
    turns.save_html(tmp_path / "turns.html", progress=True)
    assert "100 %" in capsys.readouterr().err


def test_films_of_bounces_have_the_whole_way_and_arrows_in_short_stretches(tmp_path):
    """A ball bounces along and comes to rest: stretches between impacts have one picture or none."""
    m = ct.Mechanism("ball")
    m.add_body("ball", mass=1.0, inertia=0.004, visuals=ct.shapes.Sphere(0.1))
    m.add_joint("free", "ground", "ball", ct.Free(), actuated=False)
    s = m.system()
    q = s.neutral()
    q[2] = 0.6
    touch = ct.Contact("ball", friction=0.3, radius=0.1, restitution=0.6)
    run = ct.simulate(s, q, [0, 0, 0, 1.5, 0, 0], 2.0, contacts=[touch])
    last = []
    for traces in ((), ("ball",)):
        run.save_video(
            tmp_path / "ball.gif", size=(160, 90), rate=6, speed=1.0, clock=False, forces=["contacts"], traces=traces,
            progress=False,
        )  # fmt: skip
        with Image.open(tmp_path / "ball.gif") as film:
            assert film.n_frames < len(run.segments) + 4
            film.seek(film.n_frames - 1)
            last.append(np.asarray(film.convert("RGB"), dtype=int))
    drawn = np.flatnonzero((np.abs(last[1] - last[0]).max(axis=-1) > 60).any(axis=0))
    # A line from where it set out to where it is, without a gap of more than a few pixels.
    assert np.ptp(drawn) > 80 and np.diff(drawn).max() < 4
