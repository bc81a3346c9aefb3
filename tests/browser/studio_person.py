"""Somebody who sits before the page of the studio, for the tests that look at it in a browser.

Pictures are kept where `CATENA_SHOTS` names a folder.
"""

import os
import time
from pathlib import Path

import numpy as np

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
PLACE = """([x, z]) => { const s = catena.stage, p = s.pixel([x, z]), b = s.player.stage.getBoundingClientRect();
  return [p[0] + b.left, p[1] + b.top]; }"""
ASK = """([name, question]) => fetch(`/ask/${name}`, { method: "POST", body: JSON.stringify(question),
  headers: { "Content-Type": "application/json", "X-Catena": "1" } })
  .then((r) => r.json().then((j) => [r.status, j]))"""
MIDDLE = """(name) => { const p = catena.stage.player, g = p.segment_at(p.data.segments, p.time);
  let k = 0; while (k + 1 < g.t.length && g.t[k + 1] <= p.time + 1e-12) k++;
  const a = p.shown_arrows(g).find((x) => x.name === name), scene = p.data.scenes[g.scene];
  const e = p.arrow_ends(a, k, p.rows, a.body, scene, p.arrow_scale()), b = p.canvas.getBoundingClientRect();
  const q = p.eye.project(p.look.camera, e[0].map((x, i) => 0.5 * (x + e[1][i])));
  return [b.left + (q[0] + 1) / 2 * b.width, b.top + (1 - q[1]) / 2 * b.height, g.t[k]]; }"""
AT = """(name) => { const p = catena.stage.player, k = 12 * p.data.scenes[0].bodies.indexOf(name);
  const l = p.data.scenes[0].labels.find((x) => x[0] === "body" && x[1] === name)[3], r = p.rows;
  const at = [0, 4, 8].map((i) => r[k + i] * l[0] + r[k + i + 1] * l[1] + r[k + i + 2] * l[2] + r[k + i + 3]);
  const q = p.eye.project(p.look.camera, at), b = p.canvas.getBoundingClientRect();
  return [b.left + (q[0] + 1) / 2 * b.width, b.top + (1 - q[1]) / 2 * b.height]; }"""
SLIDE = """(x, value) => { x.value = value; for (const name of ["input", "change"])
  x.dispatchEvent(new Event(name, { bubbles: true })); }"""
COLOURS = """() => catena.studio.data.scenes.map((s) =>
  Object.fromEntries(s.parts.filter((p) => p[1] === "body").map((p) => [p[0], p[2]])))"""
TYPED = """([old, now]) => { const e = catena.editor, k = e.state.doc.toString().indexOf(old);
  e.dispatch({ changes: { from: k, to: k + old.length, insert: now } }); }"""
DROPPED = """([name, content]) => { const data = new DataTransfer(); data.items.add(new File([content], name));
  document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })); }"""
SCREEN = """(p) => { const s = catena.stage.player, q = s.eye.project(s.look.camera, p);
  const b = s.canvas.getBoundingClientRect();
  return [b.left + (q[0] + 1) / 2 * b.width, b.top + (1 - q[1]) / 2 * b.height]; }"""
PATIENCE = 240_000  # milliseconds: only what hangs is cut off


class Person:
    """Somebody who sits before the page."""

    def __init__(self, page, made):
        self.page, self.made, self.session = page, made, made.session
        self.shots = os.environ.get("CATENA_SHOTS")

    def at(self, x, z):
        return self.page.evaluate(PLACE, [x, z])

    def draw(self, start, end, shot=""):
        """Draw from a place to another and return what is told of the length on the way, with a picture of that."""
        before = self.session.revision
        self.page.mouse.move(*self.at(*start))
        self.page.mouse.down()
        self.page.mouse.move(*self.at(0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1])))
        self.page.mouse.move(*self.at(*end))
        self.page.locator("svg.drawing line.preview").wait_for(state="attached")
        told = self.page.locator("svg.drawing text.length").all_text_contents()
        if shot:
            self.shot(shot)
        self.page.mouse.up()
        self.settled(before)
        return told

    def click(self, x, z):
        before = self.session.revision
        self.page.mouse.click(*self.at(x, z))
        self.settled(before)

    def press(self, key):
        self.page.keyboard.press(key)

    def settled(self, before=None):
        """Wait until the page shows what the session has."""
        end = time.monotonic() + PATIENCE / 1000.0
        while before is not None and self.session.revision == before and time.monotonic() < end:
            self.page.wait_for_timeout(20)
        self.page.wait_for_function(f"() => catena.stage.revision === {self.session.revision}")
        self.drawn()

    def pause(self):
        """Let what plays rest: pictures that nobody looks at cost a processor that draws them by itself the most."""
        self.page.evaluate("() => catena.studio.pause()")

    def drawn(self):
        """Wait until what the page knows is drawn."""
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def says(self, words):
        """Wait until the text of the session has these words: edits that are still under way come before them."""
        end = time.monotonic() + PATIENCE / 1000.0
        while words not in self.session.text and time.monotonic() < end:
            self.page.wait_for_timeout(20)
        return words in self.session.text

    def field(self, name, text):
        box = self.page.locator(f"input[name='{name}']")
        before = self.session.revision
        box.fill(text)
        box.press("Enter")
        return box, before

    def shot(self, name):
        if self.shots:
            self.page.wait_for_function("() => !catena.studio.busy || catena.stage.grip")
            self.drawn()
            self.page.screenshot(path=str(Path(self.shots) / f"studio-{name}.png"))

    def words(self):
        return self.page.locator(".status").inner_text()


def opened(browser, made, size=(1280, 720), dark=False):
    # Where no pictures are kept the processor draws a sixteenth of their pixels.
    page = browser.new_page(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        device_scale_factor=1.0 if os.environ.get("CATENA_SHOTS") else 0.25,
    )
    page.set_default_timeout(PATIENCE)
    page.problems, page.asked = [], []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(made.url)
    page.wait_for_function("() => window.catena && catena.stage && catena.studio.frames_drawn > 0")
    return page


def serious_findings(page):
    """What axe-core finds on a page that keeps people out: identifiers of rules with the parts that break them."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "() => axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations)"
    )
    return [
        (one["id"], [node["target"] for node in one["nodes"]][:4])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def drawn_four_bar(person, guided=True):
    """Steps 1 to 5 of the script: from the start page to a four-bar."""
    page = person.page
    page.get_by_role("button", name="Blank plane").wait_for()
    assert page.locator(".start .card").count() > 15
    person.shot("01-start")
    page.get_by_role("button", name="First build A four-bar" if guided else "Blank plane").click()
    page.wait_for_function("() => !document.querySelector('.start')")
    person.settled()
    if guided:
        page.locator(".guide").wait_for()
        person.shot("02-first-build")
    told = person.draw((0, 0), (0, 0.4), "03-preview" if guided else "")
    assert any("0.400 m" in words and "90.0" in words for words in told)
    person.draw((0, 0.4), (0.9, 0.8))
    # The pointer ends beside the grid and beside no point: it snaps.
    person.draw((0.9, 0.8), (1.003, 0.002), "04-next-bar" if guided else "")
    assert np.allclose(person.session.reading.drawing()["points"]["D"]["at"], [1.0, 0.0], atol=1e-12)
    assert set(person.session.reading.drawing()["bars"]) == {"A-B", "B-C", "C-D"}
    person.press("g")
    person.click(0, 0)
    person.click(1.0, 0)
