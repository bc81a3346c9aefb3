"""Saved pages in a real browser: they play, scrub and step, and the scene stands where `body_poses` says."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism import generators

pytestmark = pytest.mark.slow


def fall(mechanism, given=None, speed=None, duration=1.0):
    s = mechanism.system()
    q = s.assemble(given or {})
    v = s.velocity(q, speed) if speed else np.zeros(s.nv)
    return ct.simulate(s, q, v, duration, integrator="rk4", step=1e-2)


RUNS = {
    "hslm": lambda: fall(generators.hslm(), duration=0.5),
    "stewart": lambda: fall(generators.stewart(), speed={"leg1": 0.2, "leg2": -0.2}, duration=0.4),
    "sixty bodies": lambda: fall(generators.tree(60), duration=0.6),
}


@pytest.fixture(scope="module", params=RUNS)
def run(request):
    return RUNS[request.param]()


@pytest.fixture(scope="module")
def file(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "run.html"
    run.save_html(path)
    return path.as_uri()


def drawn(page):
    """The poses as they are drawn, {body: (place, quaternion)}, and the time they are for."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found = page.evaluate("() => [catena.catena.time, catena.catena.poses()]")
    return found[0], {name: np.array(pose) for name, pose in found[1].items()}


def require_poses(run, page):
    t, poses = drawn(page)
    expected = run.system.body_poses(run.at(t)[0])
    size = max(np.abs(expected[name][:3, 3]).max() for name in poses) + 1.0
    for name, pose in poses.items():
        np.testing.assert_allclose(pose[:3], expected[name][:3, 3], atol=3e-4 * size)
        w, x, y, z = pose[3:]
        first = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
        np.testing.assert_allclose(first, expected[name][:3, 0], atol=4e-3)
    return t


def require_exact_poses(run, page):
    """At a frame nothing is interpolated; what differs is the rounding to single precision."""
    t, poses = drawn(page)
    expected = run.system.body_poses(run.at(t)[0])
    for name, pose in poses.items():
        size = 1.0 + np.abs(expected[name][:3, 3]).max()
        np.testing.assert_allclose(pose[:3], expected[name][:3, 3], atol=1e-6 * size)


def test_a_page_plays_scrubs_and_steps_true_to_the_run(run, file, open_page):
    page = open_page(file)
    assert page.asked == [file]
    page.keyboard.press("Tab")
    page.get_by_label("play (space)").click()
    page.wait_for_function(f"() => catena.catena.frames_drawn > 4 && catena.catena.time > {run.t[0]}")
    page.get_by_label("pause (space)").click()
    assert not page.evaluate("catena.catena.playing")
    require_poses(run, page)

    slider = page.get_by_label("time", exact=True)
    box = slider.bounding_box()
    page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 0.5 * box["height"])
    t = require_poses(run, page)
    assert t == pytest.approx(run.t[0] + 0.7 * (run.t[-1] - run.t[0]), abs=0.02 * (run.t[-1] - run.t[0]))

    page.get_by_label("one frame on (right arrow)").click()
    assert page.evaluate("catena.catena.time") > t
    require_exact_poses(run, page)
    page.get_by_label("one frame back (left arrow)").click()
    page.get_by_label("one frame back (left arrow)").click()
    require_exact_poses(run, page)
    assert page.evaluate("catena.catena.time") < t
    page.get_by_label("to the start (Home)").click()
    assert page.evaluate("catena.catena.time") == run.t[0]
    require_exact_poses(run, page)
    assert page.asked == [file]


def test_the_cursor_of_plots_is_at_the_time_of_the_scene_and_plots_scrub(run, file, open_page):
    page = open_page(file)
    canvas = page.locator("figure canvas").first
    box = canvas.bounding_box()
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    drawn(page)
    t = page.evaluate("catena.catena.time")
    assert run.t[0] < t < run.t[-1]
    cursors = page.evaluate(
        "() => [...document.querySelectorAll('.cursor')].map((c) => c.getBoundingClientRect().x)"
    )
    assert len(cursors) > 1
    assert abs(cursors[0] - box["x"] - 0.5 * box["width"]) < 2.0
    require_poses(run, page)


def test_the_end_loops_or_stops(run, file, open_page):
    page = open_page(file)
    page.evaluate(
        f"() => {{ catena.catena.set_time({run.t[-1] - 1e-3}); catena.catena.speed = 1; catena.catena.play(); }}"
    )
    page.wait_for_function(f"() => catena.catena.time < {run.t[-1] - 2e-3}")
    page.evaluate("() => catena.catena.pause()")
    page.get_by_label("start again at the end (L)").click()
    page.evaluate(f"() => {{ catena.catena.set_time({run.t[-1] - 1e-3}); catena.catena.play(); }}")
    page.wait_for_function("() => !catena.catena.playing")
    assert page.evaluate("catena.catena.time") == run.t[-1]


SHOWN = """() => { for (const key of ["bodies", "joints", "points", "frames", "masses", "reactions", "moments"])
  { const box = document.querySelector(`input[name=${key}]`); if (box) box.click(); } }"""
BOXES = """(names) => [...document.querySelectorAll(names)].filter((x) => !x.hidden && x.style.visibility !== "hidden")
  .map((x) => { const b = x.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })"""


LOOKS = [
    ("stewart", (1280, 720), False), ("stewart", (1280, 720), True), ("stewart", (1920, 1080), False),
    ("hslm", (1920, 1080), True), ("sixty bodies", (1280, 720), False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "size", "dark"), LOOKS, ids=[f"{n}-{s[1]}-{'dark' if d else 'light'}" for n, s, d in LOOKS]
)
def test_nothing_is_blank_or_overlaps(open_page, tmp_path, name, size, dark):
    RUNS[name]().save_html(tmp_path / "run.html")
    page = open_page((tmp_path / "run.html").as_uri(), size, dark)
    page.evaluate(SHOWN)
    drawn(page)
    rectangles = page.evaluate(BOXES, "header strong, .tools, aside, footer, .key")
    names = page.evaluate(BOXES, ".names span")
    for k, a in enumerate(rectangles):
        assert a[0] >= 0 and a[1] >= 0 and a[2] <= size[0] and a[3] <= size[1]
        assert not any(overlap(a, b) for b in rectangles[k + 1 :])
    assert names and not any(overlap(a, b) for k, a in enumerate(names) for b in names[k + 1 :])
    pixels = seen(page, size)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 200
    paper = pixels[size[1] // 2, 5].astype(int)
    assert (paper.mean() < 60) if dark else (paper.mean() > 220)
    different = np.abs(pixels[:, : int(0.62 * size[0])].astype(int) - paper).max(axis=-1) > 40
    assert 0.005 < different.mean() < 0.7


def overlap(a, b):
    return a[0] < b[2] - 0.5 and b[0] < a[2] - 0.5 and a[1] < b[3] - 0.5 and b[1] < a[3] - 0.5


def seen(page, size):
    import io

    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).reshape(size[1], size[0], 3)


def test_ghosts_clouds_traces_and_following(open_page, tmp_path):
    s = generators.four_bar().system()
    q = s.assemble({"A": np.linspace(0.3, 0.5, 4)[:, None]})
    batch = ct.simulate(s, q, np.zeros((4, s.nv)), 0.5, integrator="rk4", step=1e-2)
    other = ct.simulate(s, q[1], np.zeros(s.nv), 0.5, integrator="rk4", step=1e-2)
    batch.save_html(tmp_path / "batch.html", ghost=other, traces=["coupler"])
    page = open_page((tmp_path / "batch.html").as_uri())
    page.evaluate("catena.catena.set_time(0.4)")
    drawn(page)
    everything = seen(page, (1280, 720))
    page.get_by_text("Show", exact=True).click()
    for name in ("cloud", "ghost"):
        page.locator(f"input[name={name}]").uncheck()
    page.locator("input[name='trace coupler']").uncheck()
    page.get_by_text("Show", exact=True).click()
    drawn(page)
    alone = seen(page, (1280, 720))
    assert np.mean(np.any(everything != alone, axis=-1)) > 0.002
    page.get_by_text("Show", exact=True).click()
    page.locator("select[name=follow]").select_option("coupler")
    drawn(page)
    target = np.array(page.evaluate("catena.catena.eye.target"))
    page.evaluate("catena.catena.set_time(0.1)")
    drawn(page)
    moved = np.array(page.evaluate("catena.catena.eye.target")) - target
    way = batch.system.body_poses(batch.at([0.4, 0.1])[0][0])["coupler"][:, :3, 3]
    np.testing.assert_allclose(moved, way[1] - way[0], atol=1e-3)


PARTS = """() => { const p = catena.catena, { scene } = p.segment_at(p.data.segments, p.time);
  return p.data.scenes[scene].parts.map((part) => part[0]); }"""


def test_a_structure_change_is_shown_as_it_happens(open_page, tmp_path):
    """Each segment has its own scene; the player shows the one that its time belongs to."""
    m = generators.four_bar()
    s = m.system()
    q = s.assemble({"A": 0.5})
    before = ct.simulate(s, q, s.velocity(q, {"A": 2.0}), 0.3, integrator="rk4", step=5e-3)
    cut = m.detach("C").system()
    after = ct.simulate(
        cut, np.concatenate([before[name][-1] for name in cut.joints]), None, 0.3, integrator="rk4", step=5e-3
    )
    run = ct.Trajectory((before, after.shifted(0.3)))
    run.save_html(tmp_path / "cut.html")
    page = open_page((tmp_path / "cut.html").as_uri())
    parts = {}
    for t in (0.15, 0.45, 0.15):
        page.evaluate(f"catena.catena.set_time({t})")
        _, poses = drawn(page)
        state = run.at(t)
        for name, pose in state.system.body_poses(state.q).items():
            np.testing.assert_allclose(poses[name][:3], pose[:3, 3], atol=1e-3)
        parts[t] = page.evaluate(PARTS)
    assert "C" in parts[0.15] and "C" not in parts[0.45]
    page.get_by_label("play (space)").click()
    page.wait_for_function("() => catena.catena.time > 0.32")


def test_a_report_has_a_player_and_asks_nobody(open_page, tmp_path):
    run = fall(generators.four_bar(), {"A": 0.5}, duration=0.3)
    run.report(tmp_path / "report.html")
    file = (tmp_path / "report.html").as_uri()
    page = open_page(file)
    page.get_by_label("play (space)").click()
    page.wait_for_function("() => catena.player.time > 0.0")
    assert page.asked == [file]


def test_the_eye_has_fixed_places_and_time_a_speed(open_page, tmp_path):
    run = fall(generators.stewart(), duration=0.3)
    run.save_html(tmp_path / "run.html")
    page = open_page((tmp_path / "run.html").as_uri())
    for name, towards in (("Front", [0, -1, 0]), ("Side", [1, 0, 0]), ("Top", [0, 0, 1])):
        page.get_by_role("button", name=name, exact=True).click()
        np.testing.assert_allclose(page.evaluate("catena.catena.eye.towards"), towards, atol=1e-6)
    page.get_by_role("button", name="3-D", exact=True).click()
    assert min(np.abs(page.evaluate("catena.catena.eye.towards"))) > 0.2
    page.mouse.move(300, 300)
    near = page.evaluate("catena.catena.eye.distance")
    page.mouse.wheel(0, 200)
    page.wait_for_function(f"() => catena.catena.eye.distance > {near}")
    page.get_by_role("button", name="Fit", exact=True).click()
    assert page.evaluate("catena.catena.eye.distance") == pytest.approx(near)
    page.get_by_label("speed").select_option("0.01")
    assert page.evaluate("catena.catena.speed") == 0.01
    page.evaluate("catena.catena.set_time(0.1)")
    page.get_by_label("play (space)").click()
    page.wait_for_timeout(500)
    page.get_by_label("pause (space)").click()
    assert 0.1 < page.evaluate("catena.catena.time") < 0.13
