"""Faults that were seen in saved pages and views, as facts of pages in a real browser. They share few pages,
because a page costs more than they do."""

import io

import numpy as np
import pytest
from PIL import Image

import catena as ct
from catena.mechanism import generators
from catena.view.live.view import view

SMALL = """() => [...document.querySelectorAll("button, select, input, summary, a")].filter((x) => x.offsetParent)
  .map((x) => [x, (x.closest("label") && x.type === "checkbox" ? x.closest("label") : x).getBoundingClientRect()])
  .filter(([x, b]) => b.width && (b.width < 24 || b.height < 24) && !x.classList.contains("event"))
  .map(([x, b]) => [x.outerHTML.slice(0, 80), b.width, b.height])"""
NAMELESS = """() => [...document.querySelectorAll("select, input, button")].filter((x) => x.offsetParent)
  .filter((x) => !(x.getAttribute("aria-label") || x.title || x.textContent.trim() || (x.labels && x.labels.length)))
  .map((x) => x.outerHTML.slice(0, 80))"""
WAIT = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="module")
def bouncing(tmp_path_factory):
    """A ball that bounces a dozen times beside a joint that stands under the floor, as one page."""
    m = ct.Mechanism("bouncing")
    m.add_body("ball", mass=1.0, inertia=0.01, visuals=ct.shapes.Sphere(0.1, colour=(0.9, 0.1, 0.1, 0.5)))
    m.add_body("post", mass=1.0, inertia=0.01, visuals=ct.shapes.Box((0.2, 0.2, 0.2)))
    m.add_joint("up", "ground", "ball", ct.Prismatic("z"), actuated=False)
    m.add_joint("below", "ground", "post", ct.Fixed(), in_parent=ct.Pose(p=(0.6, 0.6, -0.4)))
    m.add_frame("foot", "ball", ct.Pose(p=(0, 0, -0.1)))
    run = ct.simulate(
        m.system(), [0.4], [0.0], 2.16, contacts=[ct.Contact("foot", restitution=0.8)], rtol=1e-6, atol=1e-8
    )
    path = tmp_path_factory.mktemp("page") / "run.html"
    run.save_html(path, traces=["ball mass centre"])
    return run, path.as_uri()


def test_a_page_is_played_by_keys_from_the_start(bouncing, open_page):
    _, file = bouncing
    page = open_page(file, (1280, 720))
    page.keyboard.press("Space")
    page.wait_for_function("() => catena.catena.playing && catena.catena.time > 0")
    page.get_by_label("pause (space)").click()
    before = page.evaluate("catena.catena.time")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    after = page.evaluate("catena.catena.time")
    assert after > before and not page.evaluate("catena.catena.playing")
    # Events: each has its place, those that would cover each other are one mark, and a list names all of them.
    marks = page.evaluate(
        "() => [...document.querySelectorAll('.event')].map((x) => x.getBoundingClientRect().x).sort((a, b) => a - b)"
    )
    events = page.evaluate("catena.catena.data.events.map((e) => e[0])")
    assert len(events) > 8 and 1 < len(marks) < len(events) and min(np.diff(marks)) >= 11.5
    page.get_by_text(f"{len(events)} events").click()
    page.locator(".events button").nth(2).click()
    assert page.evaluate("catena.catena.time") == pytest.approx(events[2])
    page.keyboard.press("Escape")
    page.keyboard.press(".")
    assert page.evaluate("catena.catena.time") == pytest.approx(events[3])
    page.get_by_text("Show", exact=True).click()
    assert page.evaluate(SMALL) == [] and page.evaluate(NAMELESS) == []
    # What stands below the floor is hidden by it, seen from above: no pixel of it is drawn.
    assert page.evaluate("catena.catena.data.points.map((p) => p[0])")[-1] == "post mass centre"
    page.evaluate("() => { catena.catena.set_time(0); }")
    page.get_by_text("Show", exact=True).click()
    page.evaluate(WAIT)
    assert not np.any(coloured(page, "post"))
    # Through the ball one sees what is behind: its red is mixed.
    assert page.evaluate("catena.catena.kept_scene(0).batches.map((b) => b.alpha)").count(1) == 2


def coloured(page, body):
    """Whether pixels around the middle of a body differ with and without the body."""
    import io

    from PIL import Image

    at = page.evaluate(
        """(name) => { const p = catena.catena, k = p.data.scenes[0].bodies.indexOf(name), x = p.now.subarray(7 * k);
        const s = p.eye.project(p.look.camera, [x[0], x[1], x[2]]), b = p.canvas.getBoundingClientRect();
        return [b.x + (s[0] + 1) / 2 * b.width, b.y + (1 - s[1]) / 2 * b.height]; }""",
        body,
    )

    def seen():
        page.evaluate(WAIT)
        box = {"x": at[0] - 3, "y": at[1] - 3, "width": 6, "height": 6}
        return np.asarray(Image.open(io.BytesIO(page.screenshot(clip=box))).convert("RGB")).astype(int)

    before = seen()
    page.evaluate(
        "() => { catena.catena.chosen = catena.catena.data.scenes[0].bodies.indexOf('post'); catena.catena.redraw(); }"
    )
    return np.abs(seen() - before) > 2


def test_on_a_phone_time_has_its_room_and_all_of_the_bar_is_seen(bouncing, open_page):
    _, file = bouncing
    page = open_page(file, (360, 740), True)
    track = page.get_by_label("time", exact=True).bounding_box()
    assert track["width"] > 280
    for name in ("play (space)", "speed"):
        box = page.get_by_label(name).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 360 and box["y"] + box["height"] <= 740
    assert page.evaluate(SMALL) == []


def test_joints_of_a_view_take_typed_values_degrees_and_undo(open_page):
    s = generators.four_bar().system()
    with view(s, s.assemble({"A": 0.5}), show=False) as made:
        page = open_page(made.url)
        box = page.get_by_label("value of A")
        idle = "() => !catena.catena.live.busy"
        for text, value in (("0.7", 0.7), ("30 deg", np.pi / 6), ("-1e-5", -1e-5)):
            before = page.evaluate("catena.catena.live.updates")
            box.fill(text)
            box.press("Enter")
            page.wait_for_function(f"() => catena.catena.live.updates > {before} && !catena.catena.live.busy")
            assert page.evaluate("catena.catena.live.values['A 0']") == pytest.approx(value, abs=1e-9)
        box.blur()
        page.wait_for_function("() => document.querySelector('[name=\"value of A\"]').value === '0.0000'")
        box.fill("a lot")
        box.press("Enter")
        assert "is no angle" in page.locator(".note").inner_text()
        assert box.get_attribute("aria-invalid") == "true"
        page.get_by_role("button", name="Undo").click()
        page.wait_for_function(idle)
        assert page.evaluate("catena.catena.live.values['A 0']") == pytest.approx(np.pi / 6, abs=1e-9)
        page.get_by_label("unit of angles").select_option("deg")
        page.get_by_label("value of A").blur()
        page.wait_for_function("() => document.querySelector('[name=\"value of A\"]').value === '30.00'")
        assert page.evaluate(SMALL) == [] and page.evaluate(NAMELESS) == []
        # Names in the scene have their own style, not that of the rows of joints.
        page.evaluate("() => { catena.catena.options.joints = true; catena.catena.redraw(); }")
        page.evaluate(WAIT)
        assert page.evaluate("getComputedStyle(document.querySelector('.names .joint')).display") != "grid"


def test_reports_have_light_labels_in_the_dark(open_page, tmp_path):
    s = generators.four_bar().system()
    run = ct.simulate(s, s.assemble({"A": 0.5}), None, 0.2, integrator="rk4", step=5e-3)
    run.report(tmp_path / "report.html")
    page = open_page((tmp_path / "report.html").as_uri(), (1280, 720), True)
    dark = page.evaluate(
        """() => [...document.querySelectorAll("main svg text")].map((x) => getComputedStyle(x).fill)
        .filter((c) => Math.max(...c.match(/[0-9.]+/g).slice(0, 3).map(Number)) < 120)"""
    )
    assert dark == []


def test_parts_cast_shadows_on_each_other_and_on_the_floor(open_page, tmp_path):
    """A block above a plate above the floor, in the light of a sun whose direction is known: what lies in the shadow is
    darker than the same face across, until shadows are turned off."""
    m = ct.Mechanism("block above a plate")
    for name, size, height in (("plate", 1.0, 0.3), ("block", 0.2, 0.7)):
        m.add_body(name, mass=1.0, inertia=0.1, visuals=ct.shapes.Box((size, size, 0.04)))
        m.add_joint(f"{name} rises", "ground", name, ct.Prismatic("z"), in_parent=ct.Pose(p=(0, 0, height)))
    run = ct.simulate(m.system(), [0.0, 0.0], [0.0, 0.0], 1e-3, samples=2)
    run.save_html(tmp_path / "shadows.html")
    page = open_page((tmp_path / "shadows.html").as_uri())
    first, second = page.evaluate("[catena.catena.eye.first, catena.catena.eye.second]")
    # Where light that passes the block falls on the plate, 0.36 m below.
    away = 0.36 * (0.28 * np.array(first) + 0.22 * np.array(second))

    def brightness(point):
        x, y = page.evaluate(
            """(p) => { const s = catena.catena, q = s.eye.project(s.look.camera, p);
            const b = s.canvas.getBoundingClientRect();
            return [b.left + (q[0] + 1) / 2 * b.width, b.top + (1 - q[1]) / 2 * b.height]; }""",
            point.tolist(),
        )
        page.evaluate(WAIT)
        return Image.open(io.BytesIO(page.screenshot())).convert("L").getpixel((round(x), round(y)))

    top = np.array([0.0, 0.0, 0.32])
    lit = brightness(top - away)
    assert brightness(top + away) < 0.85 * lit
    page.get_by_text("Show", exact=True).click()
    page.locator("input[name=floor]").uncheck()
    page.get_by_text("Show", exact=True).click()
    assert abs(brightness(top + away) - lit) < 4
