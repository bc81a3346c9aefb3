"""Movies have the poses of the run, arrows have the forces of the run, and a page has all of it."""

import base64
import json
import re

import numpy as np
import pytest

import catena as ct
from catena.mechanism import generators
from catena.simulation.results.quaternions import quaternions
from catena.view.movie import MOST, movie
from catena.view.player import page
from catena.view.player.payload import payload
from catena.view.scene import body_colours


def swinging(**options):
    s = generators.four_bar().system()
    q = s.assemble({"A": 0.5})
    return ct.simulate(s, q, s.velocity(q, {"A": 2.0}), 1.0, integrator="rk4", step=1e-2, **options)


@pytest.fixture(scope="module")
def run():
    return swinging()


@pytest.fixture(scope="module")
def stewart():
    m = generators.stewart()
    m.gravity = (0.0, 0.0, 0.0)
    s = m.system()
    q = s.assemble({})
    v = s.velocity(q, {"leg1": 0.02, "leg2": -0.02})
    return ct.simulate(s, q, v, 10.0, integrator="rk4", step=2e-2)


def decoded(text, kind, *shape):
    return np.frombuffer(base64.b64decode(text), dtype=kind).reshape(shape)


def test_quaternions_turn_as_their_rotations_do():
    rng = np.random.default_rng(3)
    angles = [*rng.normal(size=(50, 3)), *(np.pi * np.eye(3)), *(-np.pi * np.eye(3)), np.zeros(3)]
    for rotation in angles:
        R = ct.Pose(rpy=tuple(rotation)).R
        w, *v = quaternions(R)
        np.testing.assert_allclose(
            (w * w - np.dot(v, v)) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * _cross(v), R, atol=1e-14
        )


def _cross(v):
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def test_frames_of_a_movie_are_the_body_poses_of_the_run(run):
    (segment,) = movie(run).segments
    q, _ = run.at(segment.t)
    poses = run.system.body_poses(q)
    for k, name in enumerate(segment.scene.bodies):
        np.testing.assert_allclose(
            segment.poses[0, :, k, :3], np.broadcast_to(poses[name], (len(q), 4, 4))[:, :3, 3], atol=1e-12
        )
    assert segment.t[0] == run.t[0] and segment.t[-1] == run.t[-1]


def test_bodies_that_turn_fast_get_more_frames(run):
    fast = generators.four_bar().system()
    q = fast.assemble({"A": 0.5})
    quick = ct.simulate(fast, q, fast.velocity(q, {"A": 40.0}), 1.0, integrator="rk4", step=2e-3)
    (slow_segment,), (segment,) = movie(run).segments, movie(quick).segments
    assert len(slow_segment.t) < len(segment.t) <= MOST + 1
    R = segment.poses[0, :, :, 3:]
    turns = 2 * np.arccos(np.clip(np.abs(np.sum(R[1:] * R[:-1], axis=-1)), 0, 1))
    assert turns.max() < 0.25


def test_arrows_are_the_reactions_in_ground_axes(run):
    (segment,) = movie(run).segments
    arrow = next(a for a in segment.arrows if a.name == "A" and a.group == "reactions" and not a.is_moment)
    again = run.resample(segment.t)
    R = again.pose("crank")[:, :3, :3]
    np.testing.assert_allclose(
        arrow.vectors, np.einsum("tij,tj->ti", R, again.reaction("A")[:, 3:]), atol=1e-9
    )
    assert arrow.body == "crank"


def test_a_batch_is_a_main_motion_and_a_cloud():
    s = generators.four_bar().system()
    q = s.assemble({"A": np.linspace(0.3, 0.6, 5)[:, None]})
    runs = ct.simulate(s, q, np.zeros((5, s.nv)), 0.3, integrator="rk4", step=1e-2)
    (segment,) = movie(runs, motion=2).segments
    assert segment.poses.shape[0] == 5
    crank = segment.scene.bodies.index("crank")
    expected = s.body_poses(q[[2, 0, 1, 3, 4]])["crank"][:, :3, :3]
    np.testing.assert_allclose(
        np.abs(segment.poses[:, 0, crank, 3:]), np.abs(quaternions(expected)), atol=1e-12
    )
    with pytest.raises(ct.StateError, match="has 5 motions"):
        movie(runs, motion=5)


def test_a_ghost_is_a_track_of_its_own(run):
    both = movie(run, ghost=swinging(control=lambda t, q, v: np.full(3, 0.2)))
    assert len(both.ghost) == 1 and not np.allclose(both.ghost[0].poses[0, -1], both.segments[0].poses[0, -1])
    with pytest.raises(ct.StateError, match="ghost is 3"):
        movie(run, ghost=3)


def test_the_data_of_a_page_are_those_of_the_movie(run):
    shown = movie(run)
    data = json.loads(json.dumps(payload(shown), allow_nan=False))
    (segment,) = data["segments"]
    poses = decoded(segment["poses"], "<f4", *shown.segments[0].poses.shape)
    np.testing.assert_allclose(poses, shown.segments[0].poses, rtol=1e-6, atol=1e-6)
    assert data["scenes"][0]["bodies"] == list(run.system.mechanism.bodies)
    np.testing.assert_array_equal(decoded(data["panels"][0]["t"], "<f8", -1), run.t)
    named = {part[0] for part in data["scenes"][0]["parts"]}
    assert {"crank", "coupler", "rocker", "A", "B", "C", "D"} <= named


def test_instances_of_a_scene_are_its_solids(run):
    """The unit forms under their maps reach as far as the polygons that other painters draw."""
    shown = movie(run)
    scene = payload(shown)["scenes"][0]
    parts = [part[0] for part in scene["parts"]]
    balls = scene["forms"]["ball"]
    maps = decoded(balls["map"], "<f4", -1, 3, 4)
    owners = decoded(balls["part"], "<u2", -1)
    bars = scene["forms"]["cylinder"]
    for k, part in enumerate(shown.segments[0].scene.parts):
        if part.role != "body":
            continue
        corners = np.concatenate(part.polygons)
        own = decoded(bars["map"], "<f4", -1, 3, 4)[decoded(bars["part"], "<u2", -1) == k]
        ends = np.concatenate([own[:, :, 3], own[:, :, 3] + own[:, :, 2]])
        size = np.linalg.norm(own[0, :, 0])
        assert np.all(ends.min(axis=0) > corners.min(axis=0) - 1e-6) and np.all(
            ends.max(axis=0) < corners.max(axis=0) + 1e-6
        )
        assert np.ptp(ends, axis=0).max() > np.ptp(corners, axis=0).max() - 2.5 * size
    assert len(maps) == len(owners) and parts


def test_a_page_asks_nobody_for_anything_and_escapes_names(run):
    m = generators.four_bar().copy("</script><b>&name")
    s = m.system()
    text = page(movie(ct.simulate(s, s.assemble({"A": 0.5}), None, 0.1, integrator="rk4", step=1e-2)))
    assert text.count("</script>") == 2 and "<b>&name" not in text
    # What others wrote says in comments where it comes from.
    code = re.sub(r"/\*!.*?\*/", "", text, flags=re.DOTALL)
    assert not re.search(
        r"<script[^>]*\ssrc|<link|\bfetch\(|XMLHttpRequest|WebSocket|\bimport\(|https?://", code
    )
    assert "connect-src 'none'" in text


def test_ten_seconds_of_a_stewart_platform_stay_within_three_megabytes(stewart, tmp_path):
    stewart.save_html(tmp_path / "stewart.html")
    assert (tmp_path / "stewart.html").stat().st_size < 3e6
    with pytest.raises(ct.FormatError, match=r"a\.txt: a page ends in \.html"):
        stewart.save_html(tmp_path / "a.txt")
    assert [file.name for file in tmp_path.iterdir()] == ["stewart.html"]


def test_a_run_of_one_sample_is_a_still(run):
    alone = run.with_(t=run.t[:1], q=run.q[:1], v=run.v[:1], tau=run.tau[:1], work={}, wrenches={}, driven={})
    assert len(movie(alone, plots=False).segments[0].t) == 1


def test_samples_too_far_apart_for_the_loops_are_shown_as_they_are():
    """Between such samples no closed motion was found, and the page was refused."""
    s = generators.four_bar().system()
    t = np.linspace(0.0, 1.0, 5)
    q = s.assemble({"A": 2.5 * np.arange(5.0)[:, None]})
    v = np.random.default_rng(0).normal(scale=60.0, size=(5, s.nv))
    run = ct.Trajectory.of(s, t, q, v, np.zeros((5, s.nv)), 4)
    with pytest.raises(ct.CatenaError):
        run.at(np.linspace(0.0, 1.0, 61))
    (segment,) = movie(run, forces=False, plots=False).segments
    assert set(segment.t) <= set(t) and segment.t[0] == 0.0 and segment.t[-1] == 1.0


def test_a_structure_that_changes_has_a_segment_for_each(tmp_path):
    """An arm whose elbow is locked on the way: scenes, poses, plots that pause, and a film."""
    from PIL import Image

    m = generators.chain(3, axes="y")
    first = m.system()
    joint = first.joints[1]
    before = ct.simulate(first, first.neutral(), None, 0.3, integrator="rk4", step=5e-3)
    second = m.lock(joint, at=before[joint][-1]).system()
    q = second.assemble({name: before[name][-1] for name in second.joints})
    after = ct.simulate(second, q, None, 0.3, integrator="rk4", step=5e-3).shifted(0.3)
    run = ct.Trajectory((before, after))
    shown = movie(run)
    assert [segment.scene.system for segment in shown.segments] == [first, second]
    assert (0.3, "structure changes") in shown.events and shown.end == pytest.approx(0.6)
    for segment, part in zip(shown.segments, run.segments, strict=True):
        tip = segment.scene.bodies[-1]
        np.testing.assert_allclose(segment.poses[0, -1, -1, :3], part.pose(tip)[-1, :3, 3], atol=1e-9)
    angles = {curve.name: curve.values for curve in shown.panels[0].curves}
    assert np.isnan(angles[joint][-1]) and np.isfinite(angles[joint][0])
    run.save_html(tmp_path / "run.html")
    run.save_video(tmp_path / "run.gif", size=(96, 72), rate=10, speed=0.5)
    with Image.open(tmp_path / "run.gif") as film:
        assert film.n_frames == 13
    with run.view(show=False) as opened:
        assert '"scene":1' in opened.html()


def test_a_structure_that_comes_back_looks_as_before_and_short_structures_have_few_frames(tmp_path):
    """Twenty segments of one system share a scene, and have about as many frames as the whole run in one."""
    s = generators.four_bar().system()
    q = s.assemble({"A": 0.5})
    whole = ct.simulate(s, q, s.velocity(q, {"A": 2.0}), 1.0, integrator="rk4", step=5e-3)
    parts = tuple(whole.resample(np.linspace(a, a + 0.05, 11)) for a in 0.05 * np.arange(20))
    shown = movie(ct.Trajectory(parts), plots=False)
    assert len({id(segment.scene) for segment in shown.segments}) == 1
    alone = len(movie(whole, plots=False).segments[0].t)
    assert sum(len(segment.t) for segment in shown.segments) < alone + 3 * 20
    assert len(payload(shown)["scenes"]) == 1
    for segment, part in zip(shown.segments, parts, strict=True):
        assert (segment.t[0], segment.t[-1]) == (part.t[0], part.t[-1])


def test_a_handle_is_there_before_it_is_taken_hold_of_and_colours_stay():
    """A free body that takes hold of the ground: its pad is in both scenes, its colours are those of the first."""
    m = ct.Mechanism("grapple", gravity=(0, 0, 0))
    m.add_body("base", mass=5.0, inertia=1.0)
    m.add_body("arm", mass=1.0, com=(0.5, 0, 0), inertia=0.1)
    m.add_joint("float", "ground", "base", ct.Free(), actuated=False)
    m.add_joint("shoulder", "base", "arm", ct.Revolute("z"))
    s = m.system()
    before = ct.simulate(s, s.neutral(), None, 0.1, samples=5)
    held = m.attach(
        "grip",
        "ground",
        "arm",
        ct.Revolute("z"),
        in_parent=ct.Pose(p=(1, 0, 0)),
        in_child=ct.Pose(p=(1, 0, 0)),
    )
    t = held.system()
    q, v = ct.transfer(s, before.q[-1], before.v[-1], t)
    after = ct.simulate(t, q, v, 0.1, samples=5)
    first, second = movie(ct.Trajectory((before, after.shifted(0.1)))).segments
    assert t.joints != s.joints
    for segment in (first, second):
        assert [p for p in segment.scene.parts if p.name == "grip" and p.role == "ground"]
    assert body_colours(first.scene) == body_colours(second.scene)
