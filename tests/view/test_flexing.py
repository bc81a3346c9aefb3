"""Flexible bodies as they are drawn, against where the system says that points of them are."""

import json
import re

import numpy as np
import pytest

import catena as ct
from catena.errors import StateError
from catena.mechanism import generators
from catena.view import draw, scene
from catena.view.course import Course
from catena.view.live.moving import Mover
from catena.view.live.questions import Questions
from catena.view.movie import movie
from catena.view.player.payload import payload
from tests.mechanisms import ROD, slider_crank

LENGTH = 8.0


def boom():
    """A beam on a hub with a load at its tip, and a frame at a third of it."""
    beam = ct.Beam(LENGTH, 7.3e-5, 8.2e-9, 2767.0, 6.9e10, modes={"y": 2, "z": 1})
    m = ct.Mechanism("boom", gravity=(0, 0, 0))
    m.add_body("boom", flexible=beam)
    m.add_body("load", mass=1.0, inertia=0.01)
    m.add_joint("hub", "ground", "boom", ct.Revolute("z"))
    m.add_joint("grip", "boom", "load", ct.Revolute("z"), in_parent=ct.Pose(p=(LENGTH, 0, 0)))
    m.add_frame("third", "boom", ct.Pose(p=(LENGTH / 3, 0, 0)))
    return m


@pytest.fixture(scope="module")
def s():
    return boom().system()


Q = np.array([0.4, -0.3, 0.5, -0.2, 0.3])


def test_stations_are_where_frames_and_bodies_at_these_points_are(s):
    """The same points by the poses of the system, which knows them as joints between points of a star."""
    shape = scene(s, Q)
    poses = shape.poses(np.stack([Q, 0.3 * Q, s.neutral()]))
    where = s.body_poses(np.stack([Q, 0.3 * Q, s.neutral()]))
    third, at = shape.carriage("boom", (LENGTH / 3, 0, 0))
    assert np.all(at == 0.0)
    np.testing.assert_allclose(poses[third], where["third"], atol=1e-12)
    tip, _ = shape.carriage("boom", (LENGTH, 0, 0))
    np.testing.assert_allclose(poses[tip][..., :3, 3], where["load"][..., :3, 3], atol=1e-12)


def test_corners_of_the_skin_move_as_the_displacement_field_of_the_body_says(s):
    """Corners on the surface, by the shapes of the beam at their places along the axis."""
    shape, beam = scene(s, Q), s.mechanism.bodies["boom"].flexible
    (skin,), (own,) = shape.skins, shape.flexings
    eta, pose = Q[s.slice_q("boom.modes")], np.asarray(s.body_poses(Q)["boom"])
    drawn = skin.surface(shape.poses(Q)).corners
    assert np.ptp(own.s[skin.on][:, 0]) == pytest.approx(LENGTH)
    for k in range(0, len(drawn), 29):
        found = beam.shapes(tuple(own.s[skin.on[k]]))
        on_axis = own.s[skin.on[k]] + found.displacement(eta, beam.products)
        inside = np.linalg.inv(pose) @ [*drawn[k], 1.0]
        # The section stays as far from the axis as it was, and turns with it.
        away = inside[:3] - on_axis
        assert np.linalg.norm(away) == pytest.approx(np.linalg.norm(skin.corners[k]), rel=1e-12)
        linear = skin.corners[k] + np.cross(found.R @ eta, skin.corners[k])
        size = np.linalg.norm(found.R @ eta)
        np.testing.assert_allclose(away, linear, atol=(size**2 + 1e-12) * np.linalg.norm(skin.corners[k]))


def test_exaggerated_rods_bend_more_and_loops_stay_closed():
    s = slider_crank().system()
    q = s.assemble({"A": 0.7})
    q[s.slice_q("rod.modes")] = [2e-4, 0.0]
    q = s.project(q, held=["rod.modes"])
    shape = scene(s, q)
    middle, _ = shape.carriage("rod", (ROD / 2, 0, 0))

    def bow(factor):
        poses = shape.poses(q, factor)
        ends = [poses[shape.carriage("rod", (x, 0, 0))[0]][:3, 3] for x in (0.0, ROD)]
        gap = np.linalg.norm(ends[1] - poses["slider"][:3, 3])
        return np.linalg.norm(poses[middle][:3, 3] - 0.5 * (ends[0] + ends[1])), gap

    (once, gap), (much, much_gap) = bow(1.0), bow(100.0)
    assert once == pytest.approx(2e-4, rel=2e-2) and much == pytest.approx(2e-2, rel=2e-2)
    assert gap < 1e-12 and much_gap < 1e-9


def test_a_page_has_the_amplitudes_of_the_run_and_poses_for_the_slider(s):
    rng = np.random.default_rng(0)
    q = Q * np.linspace(0.0, 0.2, 30)[:, None] * rng.choice([-1, 1], size=5)
    shown = movie(Course(s, q), exaggerate=2.0)
    (segment,) = shown.segments
    data = payload(shown)
    frames = Course(s, q).at(segment.t)[0]
    np.testing.assert_allclose(segment.amplitudes[0], frames[:, s.slice_q("boom.modes")])
    assert data["exaggerate"] == 2.0 and data["most"] == segment.most >= 2.0
    # The load rides on the tip of the beam, however far that is bent.
    larger = frames.copy()
    larger[:, s.slice_q("boom.modes")] *= segment.most
    np.testing.assert_allclose(
        segment.larger[0, :, segment.scene.bodies.index("load"), :3],
        s.body_poses(larger)["load"][:, :3, 3],
        atol=1e-12,
    )
    assert len(json.dumps(data)) < 200_000


def test_bodies_that_do_not_deform_need_no_slider(s):
    shown = movie(Course(s, np.zeros((5, s.nq))))
    assert shown.segments[0].most == 1.0 and shown.segments[0].larger is None
    rigid = movie(Course(generators.four_bar().system(), [[0.0] * 3] * 2))
    assert rigid.segments[0].amplitudes is None


def test_locked_modes_are_drawn_as_deformed():
    m = boom().lock("boom.modes", at=[0.5, 0.0, 0.0])
    s = m.system()
    shape = scene(s, s.neutral())
    tip, _ = shape.carriage("boom", (LENGTH, 0, 0))
    np.testing.assert_allclose(
        shape.poses(s.neutral())[tip][:3, 3], s.body_poses(s.neutral())["load"][:3, 3], atol=1e-12
    )


def test_given_shapes_bend_too():
    m = boom()
    m.add_visual("boom", ct.shapes.Box((LENGTH, 0.2, 0.1), pose=ct.Pose(p=(LENGTH / 2, 0, 0))))
    s = m.system()
    (skin,) = scene(s, Q).skins
    straight, bent = (skin.surface(scene(s, q).poses(q)).corners for q in (0.0 * Q, Q * [0, 0, 1, 0, 0]))
    assert np.ptp(straight[:, 1]) == pytest.approx(0.2) and np.ptp(bent[:, 1]) > 0.4


def plate():
    """A square plate of three by three cells as springs between nodes."""
    side = np.linspace(0.0, 1.0, 4)
    nodes = np.array([[x, y, 0.0] for x in side for y in side])
    n = len(nodes)
    K, M = np.zeros((3 * n, 3 * n)), np.eye(3 * n) / n
    for i in range(n):
        for j in range(i):
            if np.linalg.norm(nodes[i] - nodes[j]) < 0.5:
                k = 1e4 * np.eye(3)
                for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                    K[3 * a : 3 * a + 3, 3 * b : 3 * b + 3] += sign * k
    # Springs that pull in all directions resist turning; a plate that is free does not.
    turns = [np.cross(axis, nodes - nodes.mean(axis=0)).ravel() for axis in np.eye(3)]
    rigid = np.linalg.qr(np.column_stack([np.tile(np.eye(3), (n, 1)), *turns]))[0]
    free = np.eye(3 * n) - rigid @ rigid.T
    K = free @ K @ free
    K = 0.5 * (K + K.T)
    return ct.FiniteElements(M, K, nodes, {"root": [0, 1, 2, 3, 4]}, modes=2)


def test_a_body_of_finite_elements_is_a_surface_through_its_nodes():
    m = ct.Mechanism("plate")
    body = plate()
    m.add_body("plate", flexible=body)
    centre = body.nodes[[0, 1, 2, 3, 4]].mean(axis=0)
    m.add_joint("weld", "ground", "plate", ct.Revolute("y"), in_child=ct.Pose(p=centre))
    s = m.system()
    q = s.neutral()
    q[s.slice_q("plate.modes")] = [0.1, 0.05]
    shape = scene(s, q)
    (skin,) = shape.skins
    assert len(skin.triangles) == 2 * 2 * 9, "two triangles for each of nine cells, on both sides"
    pose, eta = np.asarray(s.body_poses(q)["plate"]), q[s.slice_q("plate.modes")]
    poses = shape.poses(q)
    for node in (5, 10, 15):
        station, _ = shape.carriage("plate", body.nodes[node])
        x = body.nodes[node] + body.shapes(tuple(body.nodes[node])).S @ eta
        np.testing.assert_allclose(poses[station][:3, 3], pose[:3, :3] @ x + pose[:3, 3], atol=1e-12)


def test_pictures_drawings_and_films_show_what_is_bent(s, axes, tmp_path):
    draw(s, Q, axes, exaggerate=1.5)
    ct.save_drawing(s, tmp_path / "boom.svg", Q * [1, 1, 1, 1, 0], labels="all")
    text = (tmp_path / "boom.svg").read_text()
    path = re.search(r'<g id="body:boom">\s*<path d="([^"]*)"', text).group(1)
    places = np.array(re.findall(r"[-\d.]+", path), dtype=float).reshape(-1, 2)
    way = (places[-1] - places[0]) / np.linalg.norm(places[-1] - places[0])
    aside = (places - places[0]) @ np.array([-way[1], way[0]])
    assert len(places) > 20 and np.abs(aside).max() > 3.0, "the line is bent"
    Course(s, np.stack([Q, 0.5 * Q])).save_video(tmp_path / "boom.gif", size=(80, 60), rate=2, progress=False)
    with pytest.raises(StateError, match="exaggerate is 0; give a positive number"):
        draw(s, Q, exaggerate=0)
    with pytest.raises(StateError, match="exaggerate is 'much'"):
        movie(Course(s, [Q]), exaggerate="much")


def test_flexible_bodies_keep_their_shape_while_they_are_dragged_and_have_sliders():
    s = slider_crank().system()
    q = s.assemble({"A": 0.7})
    mover = Mover(s, 0.5)
    moved = mover.slide(q, "A", 0, 0.9).q
    assert moved[s.slice_q("A")][0] == pytest.approx(0.9, abs=1e-8)
    np.testing.assert_allclose(moved[s.slice_q("rod.modes")], 0.0, atol=1e-12)
    for _ in range(3):
        moved = mover.drag(moved, "crank", np.array([0.15, 0, 0]), np.array([0.0, 0.15, 0])).q
    np.testing.assert_allclose(moved[s.slice_q("rod.modes")], 0.0, atol=1e-12)
    bent = mover.slide(q, "rod.modes", 0, 0.02).q
    assert bent[s.slice_q("rod.modes")][0] == pytest.approx(0.02, abs=1e-9)
    assert np.abs(s.closure(bent)[0]).max() < 1e-9
    shape = scene(s, q)
    first = Questions(shape, q).first()
    assert {"rod mode1", "rod mode2"} <= {row["label"] for row in first["joints"]}
    answer = Questions(shape, q).answer(
        {"q": first["q"], "joint": "rod.modes", "component": 0, "value": 0.02}
    )
    np.testing.assert_allclose(answer["amplitudes"], [0.02, 0.0], atol=1e-9)
