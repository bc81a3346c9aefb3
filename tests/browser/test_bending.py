"""Flexible bodies and contacts in a real browser: what is drawn is where Python says that it is."""

import numpy as np
import pytest

import catena as ct
from catena.view.live.view import view
from catena.view.scene import scene
from tests.mechanisms import ROD, slider_crank

pytestmark = pytest.mark.slow
# The place of a corner of a skin, or of an arrow, as the page has it: rows of 3 x 4 matrices of all carriers.
ROWS = "() => Array.from(catena.catena.rows)"
WAIT = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def with_middle():
    """The slider-crank with a frame in the middle of its rod."""
    m = slider_crank()
    m.add_frame("middle", "rod", ct.Pose(p=(ROD / 2, 0, 0)))
    return m


def stations(page, shape):
    """The poses (stations, 3, 4) of all carriers as they are drawn."""
    page.evaluate(WAIT)
    return dict(zip(shape.carriers, np.array(page.evaluate(ROWS)).reshape(-1, 3, 4)))


@pytest.fixture(scope="module")
def run():
    s = with_middle().system()
    q = s.assemble({"A": 0.0})
    return ct.simulate(s, q, s.velocity(q, {"A": 150.0}), 0.02, samples=121, rtol=1e-8, atol=1e-10)


def test_a_rod_bends_as_the_run_says_and_the_slider_exaggerates(run, open_page, tmp_path):
    run.save_html(tmp_path / "run.html", traces=["middle"])
    assert (tmp_path / "run.html").stat().st_size < 400_000
    page = open_page((tmp_path / "run.html").as_uri())
    shape = scene(run.system, run.q[0])
    most = page.evaluate("catena.catena.data.most")
    assert most > 1.0
    for frame in (20, 50):
        t = page.evaluate(
            f"() => {{ const p = catena.catena; p.set_time(p.data.segments[0].t[{frame}]); return p.time; }}"
        )
        q = run.at(t)[0]
        for factor in (1.0, most):
            page.evaluate(f"() => {{ catena.catena.exaggerate = {factor}; catena.catena.redraw(); }}")
            drawn, there = stations(page, shape), shape.poses(q, factor)
            for name in shape.carriers:
                np.testing.assert_allclose(drawn[name], there[name][:3], atol=2e-6)
    box = page.locator("input[name=exaggerate]")
    page.get_by_text("Show", exact=True).click()
    box.evaluate("(x) => { x.value = 0; x.dispatchEvent(new Event('input')); }")
    assert page.evaluate("catena.catena.exaggerate") == 1.0
    page.get_by_label("play (space)").click()
    page.wait_for_function("() => catena.catena.frames_drawn > 12")
    page.get_by_label("pause (space)").click()


def test_a_mode_is_moved_by_its_slider_and_a_flexible_body_is_dragged(open_page):
    s = with_middle().system()
    q = s.assemble({"A": 0.7})
    with view(s, q, show=False) as made:
        page = open_page(made.url)
        box = page.locator("input[name='rod mode1']").bounding_box()
        page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.5 * box["height"])
        page.wait_for_function("() => !catena.catena.live.busy && catena.catena.live.updates > 0")
        now = np.array(page.evaluate("catena.catena.live.q"))
        assert abs(now[s.slice_q("rod.modes")][0]) > 0.01 and np.abs(s.closure(now)[0]).max() < 1e-9
        shape = scene(s, q)
        drawn, there = stations(page, shape), shape.poses(now)
        for name in shape.carriers:
            np.testing.assert_allclose(drawn[name], there[name][:3], atol=2e-6)
        middle = drawn[shape.carriage("rod", (ROD / 2, 0, 0))[0]][:, 3]
        x, y = page.evaluate(
            """(p) => { const c = catena.catena, s = c.eye.project(c.look.camera, p);
            const b = c.canvas.getBoundingClientRect();
            return [b.x + (s[0] + 1) / 2 * b.width, b.y + (1 - s[1]) / 2 * b.height]; }""",
            [float(v) for v in middle],
        )
        before = page.evaluate("catena.catena.live.updates")
        page.mouse.move(x, y)
        page.mouse.down()
        for k in range(10):
            page.mouse.move(x - 4 * k, y)
        page.wait_for_function(f"() => catena.catena.live.updates > {before}")
        page.mouse.up()
        page.wait_for_function("() => !catena.catena.live.busy")
        moved = np.array(page.evaluate("catena.catena.live.q"))
        assert np.abs(moved - now).max() > 1e-3
        np.testing.assert_allclose(moved[s.slice_q("rod.modes")], now[s.slice_q("rod.modes")], atol=1e-9)


def test_forces_of_contacts_are_drawn_where_they_act_and_to_one_scale(open_page, tmp_path):
    m = ct.Mechanism("sled")
    m.add_body("carriage", mass=0.0)
    m.add_body("sled", mass=2.0, inertia=0.1, visuals=ct.shapes.Box((0.4, 0.2, 0.1)))
    m.add_joint("along", "ground", "carriage", ct.Prismatic("x"), actuated=False)
    m.add_joint("up", "carriage", "sled", ct.Prismatic("z"), actuated=False)
    m.add_frame("foot", "sled", ct.Pose(p=(0, 0, -0.1)))
    s = m.system()
    run = ct.simulate(s, [0.0, 0.1], [1.0, 0.0], 0.8, contacts=[ct.Contact("foot", friction=0.3)])
    run.save_html(tmp_path / "sled.html")
    page = open_page((tmp_path / "sled.html").as_uri())
    page.get_by_text("Show", exact=True).click()
    page.locator("input[name=contacts]").check()
    longest = page.evaluate("catena.catena.data.scenes[0].longest")
    strongest = 2.0 * 9.81 * np.hypot(1.0, 0.3)
    for t, force in ((0.2, (-0.3 * 19.62, 0, 19.62)), (0.7, (0, 0, 19.62))):
        page.evaluate(f"() => catena.catena.set_time({t})")
        page.evaluate(WAIT)
        rows = page.evaluate(
            """() => { const p = catena.catena, k = p.segment_at(p.data.segments, p.time);
            return p.arrow_rows(k, p.rows_at(k, p.time, p.rows, 0), p.data.scenes[k.scene]); }"""
        )
        # Rows are maps of a shaft and of a head, each from its start along its third column.
        shaft, head = (np.array(row[:12]).reshape(3, 4) for row in (rows[:18], rows[18:36]))
        start, tip = shaft[:, 3], head[:, 3] + head[:, 2]
        at = s.pose(run.at(t)[0], "foot").p
        np.testing.assert_allclose(start, at, atol=2e-3)
        np.testing.assert_allclose(tip - start, np.array(force) * longest / strongest, atol=1e-4 * longest)
    words = page.locator(".key").inner_text()
    assert "longest arrow 20.5 N" in words
    # The bar beside the words is as long as an arrow of that force across the picture.
    newtons = float(words.split(" N")[0])
    pixels = page.locator(".key i").bounding_box()["width"]
    metre = page.evaluate(
        "catena.catena.stage.clientHeight / (2 * catena.catena.eye.distance * Math.tan(0.25))"
    )
    assert pixels == pytest.approx(newtons * longest / strongest * metre, abs=1.0)
