"""What the pages cost: dragging in the studio, playing many bodies with floor and shadow, many windows.

Needs Chromium and Playwright (`pip install .[browser]`). Frames and updates a second are those of this moment and fall
with whatever else the machine does; processor times of Python and of the browser hardly do.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import catena as ct
from benchmarks.table import Figure, figure_table
from catena.studio import studio
from catena.view.live.view import view

NOT_SHOWN = "machines with a graphics card, where the scene costs next to nothing."
SECONDS = 4.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FRAMES = "() => Object.values(window.catena).find((one) => one.frames_drawn !== undefined).frames_drawn"
AT = """(at) => { const p = catena.stage.player, q = p.eye.project(p.look.camera, at);
  const b = p.canvas.getBoundingClientRect();
  return [b.left + (q[0] + 1) / 2 * b.width, b.top + (1 - q[1]) / 2 * b.height]; }"""

# A mouse tells where it is 125 times a second; Playwright's waits for a frame each time.
LEAD = """([x, y]) => { const to = catena.stage.player.canvas; let k = 0; setInterval(() => {
  k = (k + 1) % 80; const d = k < 40 ? k : 80 - k; to.dispatchEvent(new PointerEvent("pointermove", { pointerId: 1,
  pointerType: "mouse", buttons: 1, clientX: x + d, clientY: y - 0.5 * d, bubbles: true })); }, 8); }"""


def report() -> str:
    """The table of this benchmark as Markdown."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("CATENA_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        rows = [
            *(row for name in ("four_bar", "stewart") for row in dragging(browser, Path(folder), name)),
            *(row for count in (60, 200) for row in playing(browser, count)),
            *many_bodies(browser, Path(folder)),
            *windows(browser, Path(folder)),
            *cancelling(Path(folder)),
        ]
        browser.close()
    return figure_table("Pages, 1280 x 720, drawn by the processor", rows, NOT_SHOWN)


def dragging(browser: Any, folder: Path, name: str) -> list[Figure]:
    """A mechanism of the gallery whose body is led around by the pointer in the studio."""
    file = folder / f"{name}.toml"
    mechanism = getattr(ct.generators, name)()
    ct.Scenario(mechanism, duration=1.0).save(file)
    with studio(file, show=False) as made:
        page = opened(
            browser, made.url, "() => window.catena && catena.studio && catena.studio.frames_drawn > 0"
        )
        reading = made.session.reading
        poses = reading.scenario.system.body_poses(reading.q)
        body = list(mechanism.bodies)[-1] if name == "stewart" else "coupler"
        at = poses[body][:3, 3] + poses[body][:3, :3] @ mechanism.bodies[body].com
        x, y = page.evaluate(AT, at.tolist())
        page.mouse.move(x, y)
        page.mouse.down()
        page.evaluate(LEAD, [x, y])
        page.wait_for_function("() => catena.stage.updates > 5")
        rate, python, browsing = measured(
            page, "() => catena.stage.updates", lambda: page.wait_for_timeout(100)
        )
        page.close()
    return [
        Figure(f"dragging {name}: updates a second", rate, "", ">= 20"),
        Figure("processor time of an update, Python", 1e3 * python, "ms"),
        Figure("processor time of an update, browser", 1e3 * browsing, "ms"),
    ]


def playing(browser: Any, count: int) -> list[Figure]:
    """A tree of many bodies that falls, with floor and shadow, in the page that a view serves."""
    run = ct.simulate(ct.generators.tree(count).system(), duration=2.0, samples=101)
    with view(run, show=False) as made:
        page = opened(browser, made.url, "() => Object.values(window.catena || {})[0]?.frames_drawn > 0")
        page.keyboard.press("Space")
        page.wait_for_timeout(1500)
        rate, _, browsing = measured(page, FRAMES, lambda: page.wait_for_timeout(100))
        page.close()
    aim = ">= 30" if count == 60 else ""
    return [
        Figure(f"playing {count} bodies: frames a second", rate, "", aim),
        Figure("processor time of a frame, browser", 1e3 * browsing, "ms", "<= 66" if aim else ""),
    ]


def many_bodies(browser: Any, folder: Path) -> list[Figure]:
    """A file of 200 bodies in the studio: opened, edited, dragged."""
    file = folder / "many.toml"
    ct.Scenario(ct.generators.tree(200), duration=0.2, samples=11).save(file)
    start, cpu = time.perf_counter(), time.process_time()
    with studio(file, show=False) as made:
        page = opened(
            browser, made.url, "() => window.catena && catena.studio && catena.studio.frames_drawn > 0"
        )
        opening, opening_cpu = time.perf_counter() - start, time.process_time() - cpu
        made.session.act("set run", {"duration": "0.1 s"}, made.session.revision)
        page.wait_for_function(f"() => catena.stage.revision >= {made.session.revision}")
        start, cpu = time.perf_counter(), time.process_time()
        for key in ("Control+z", "Control+Shift+z", "Control+z"):
            before = made.session.revision
            page.keyboard.press(key)
            page.wait_for_function(f"() => catena.stage.revision > {before}")
        editing, editing_cpu = (time.perf_counter() - start) / 3, (time.process_time() - cpu) / 3
        page.close()
    return [
        Figure("200 bodies: from the call to the first picture", opening, "s"),
        Figure("of it Python", opening_cpu, "s of processor"),
        Figure("200 bodies: from an undo to the new picture", editing, "s"),
        Figure("of it Python", editing_cpu, "s of processor"),
    ]


def windows(browser: Any, folder: Path) -> list[Figure]:
    """Twenty windows of one studio, all of them seen, at rest and while one edits."""
    with studio(folder=folder, show=False) as made:
        pages = [browser.new_context(viewport={"width": 640, "height": 400}).new_page() for _ in range(20)]
        for page in pages:
            page.goto(made.url)
            page.wait_for_function("() => window.catena && catena.stage")
        cpu, start = time.process_time(), time.perf_counter()
        pages[0].wait_for_timeout(1000 * SECONDS)
        resting = (time.process_time() - cpu) / (time.perf_counter() - start)
        start = time.perf_counter()
        made.session.act("add bar", {"start": [0, 0], "end": [0, 0.4]}, made.session.revision)
        for page in pages:
            page.wait_for_function(f"() => catena.stage.revision >= {made.session.revision}")
        following = time.perf_counter() - start
        for page in pages:
            page.context.close()
    return [
        Figure("20 windows at rest, Python", 100.0 * resting, "% of a core"),
        Figure("20 windows: from an edit until all of them show it", following, "s"),
    ]


def cancelling(folder: Path) -> list[Figure]:
    """A run of days that is ended."""
    file = folder / "long.toml"
    ct.Scenario(ct.generators.chain(7), duration=20_000.0, samples=2_000_000, rtol=1e-12, atol=1e-14).save(
        file
    )
    with studio(file, show=False) as made:
        answers = made.runner.run(made.session.text, "long.toml", folder, [])
        next(answers)
        start = time.perf_counter()
        made.runner.cancel()
        for _ in answers:
            pass
        return [Figure("a long run, from cancelling to its end", time.perf_counter() - start, "s", "<= 1")]


def opened(browser: Any, url: str, ready: str) -> Any:
    """A page of 1280 x 720 that shows its first picture."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(120_000)
    page.goto(url)
    page.wait_for_function(ready)
    return page


def measured(page: Any, counter: str, busy: Callable[[], None]) -> tuple[float, float, float]:
    """How often a counter of a page goes up in a second, and what each time takes of Python and of the browser."""
    first, start, cpu, others = (
        page.evaluate(counter),
        time.perf_counter(),
        time.process_time(),
        descendants(),
    )
    while time.perf_counter() - start < SECONDS:
        busy()
    gone, count = time.perf_counter() - start, max(1, page.evaluate(counter) - first)
    return count / gone, (time.process_time() - cpu) / count, (descendants() - others) / count


def descendants() -> float:
    """Seconds of processor time that the processes have taken which come from this one: those of the browser."""
    parents, times = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        fields, number = rest.split(), int(folder.name)
        # Of what comes from this process only the browser counts, not the process that computes runs.
        parents[number], times[number] = int(fields[1]), int("chrom" in name) * sum(map(int, fields[11:13]))
    own = {os.getpid()}
    for _ in range(8):
        own |= {process for process, parent in parents.items() if parent in own}
    return sum(times[process] for process in own - {os.getpid()}) / os.sysconf("SC_CLK_TCK")
