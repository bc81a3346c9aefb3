"""Plots of saved pages in a real browser: what the pointer is told is what the run has, and all zoom together."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism import generators

READ = """(k) => { const p = catena.catena.plots[k];
  return [p.pointed.textContent, p.values.map((v) => v.textContent), p.chart.cursor.idx === null ? null
  : p.panel.t[p.chart.cursor.idx]]; }"""
PLACE = """([k, t]) => { const { chart } = catena.catena.plots[k], b = chart.over.getBoundingClientRect();
  return [b.left + chart.valToPos(t, "x"), b.top + 0.5 * b.height]; }"""
SEEN = "() => catena.catena.plots.map((p) => [p.chart.scales.x.min, p.chart.scales.x.max])"
PINCH = """([id, sort, x]) => { const { over } = catena.catena.plots[0].chart, b = over.getBoundingClientRect();
  over.setPointerCapture = () => {}; over.dispatchEvent(new PointerEvent(sort,
  { pointerId: id, clientX: b.left + x * b.width, clientY: b.top + 9, bubbles: true })); }"""


@pytest.fixture(scope="module")
def turning(tmp_path_factory):
    """A four-bar whose crank turns round, as a page."""
    s = generators.four_bar().system()
    q = s.assemble({"A": 0.5})
    run = ct.simulate(s, q, s.velocity(q, {"A": 3.0}), 1.0, integrator="rk4", step=5e-3)
    path = tmp_path_factory.mktemp("page") / "run.html"
    run.save_html(path)
    return run, path.as_uri()


def test_the_pointer_tells_values_and_the_time_of_all_plots_is_zoomed(turning, open_page):
    run, file = turning
    page = open_page(file)
    page.locator("summary").click()
    page.wait_for_function("() => catena.catena.plots.every((p) => p.chart && p.chart.status)")
    shown = page.evaluate(
        "() => catena.catena.plots.map((p) => [p.panel.title, p.panel.curves.map((c) => c.name)])"
    )
    angles = next(k for k, (title, _) in enumerate(shown) if title == "Angles")
    # Where the pointer is, every plot tells the values of one sample; the scene stays.
    page.locator("figure canvas").nth(angles).scroll_into_view_if_needed()
    page.mouse.move(*page.evaluate(PLACE, [angles, 0.62]))
    page.wait_for_function(f"() => catena.catena.plots[{angles}].pointed.textContent")
    words, values, t = page.evaluate(READ, angles)
    assert t == pytest.approx(0.62, abs=6e-3) and float(words.split()[1]) == pytest.approx(t, abs=1e-3)
    curves = {name: run[name].reshape(len(run.t)) for name in shown[angles][1]}
    expected = [np.interp(t, run.t, curve) for curve in curves.values()]
    np.testing.assert_allclose([float(x) for x in values], expected, rtol=6e-3)
    assert {page.evaluate(READ, k)[2] for k in range(len(shown))} == {t}
    assert page.evaluate("catena.catena.time") == 0.0
    # Shift and drag: the part of the time that was drawn over, in all plots.
    page.keyboard.down("Shift")
    page.mouse.move(*page.evaluate(PLACE, [angles, 0.2]))
    page.mouse.down()
    page.mouse.move(*page.evaluate(PLACE, [angles, 0.4]))
    page.mouse.move(*page.evaluate(PLACE, [angles, 0.6]))
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_function("() => catena.catena.is_zoomed")
    np.testing.assert_allclose(page.evaluate(SEEN), len(shown) * [[0.2, 0.6]], atol=6e-3)
    low, high = page.evaluate(
        f"(() => {{ const y = catena.catena.plots[{angles}].chart.scales.y; return [y.min, y.max]; }})()"
    )
    inside = np.array(list(curves.values()))[:, (run.t >= 0.2) & (run.t <= 0.6)]
    assert low < inside.min() and high > inside.max() and high - low < 1.25 * np.ptp(inside)
    # A click scrubs there, and the cursor of the scene's time stands under the pointer.
    at = page.evaluate(PLACE, [angles, 0.5])
    page.mouse.click(*at)
    assert page.evaluate("catena.catena.time") == pytest.approx(0.5, abs=3e-3)
    page.wait_for_function(
        f"() => Math.abs(document.querySelectorAll('.cursor')[{angles}].getBoundingClientRect().x - {at[0]}) < 2"
    )
    # Keys zoom about that time, the wheel with Ctrl about the pointer, fingers by what they hold.
    before = np.ptp(page.evaluate(SEEN)[0])
    page.keyboard.press("+")
    assert np.ptp(page.evaluate(SEEN)[0]) == pytest.approx(0.5 * before)
    page.keyboard.press("-")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -40)
    page.keyboard.up("Control")
    page.wait_for_function(f"() => catena.catena.window[1] - catena.catena.window[0] < {0.95 * before}")
    a, b = page.evaluate(SEEN)[0]
    assert a < 0.5 < b and (0.5 - a) / (b - a) == pytest.approx((0.5 - 0.2) / 0.4, abs=0.03)
    page.keyboard.press("0")
    assert page.evaluate(SEEN)[0] == [run.t[0], run.t[-1]]
    for held in (
        [1, "pointerdown", 0.4],
        [2, "pointerdown", 0.6],
        [1, "pointermove", 0.25],
        [2, "pointermove", 0.75],
    ):
        page.evaluate(PINCH, held)
    np.testing.assert_allclose(page.evaluate(SEEN)[0], [0.3, 0.7], atol=1e-6)
    for finger in (1, 2):
        page.evaluate(PINCH, [finger, "pointerup", 0.5])
    # It plays on: the plots turn the page when the scene leaves it.
    page.evaluate("() => { catena.catena.set_time(0.69); catena.catena.speed = 1; catena.catena.play(); }")
    page.wait_for_function("() => catena.catena.window[0] > 0.55")
    page.evaluate("() => catena.catena.pause()")
    page.mouse.dblclick(*page.evaluate(PLACE, [angles, np.mean(page.evaluate("catena.catena.window"))]))
    page.wait_for_function("() => !catena.catena.is_zoomed")
    # A curve that is hidden gives its room to the others.
    tall = f"() => catena.catena.plots[{angles}].chart.scales.y.max"
    most = page.evaluate(tall)
    page.get_by_role("button", name="A", exact=True).first.click()
    page.wait_for_function(f"() => catena.catena.plots[{angles}].chart.scales.y.max < {0.9 * most}")
