"""The studio in a real browser, what the other file leaves: understanding, building in space, files to take away, two
people, a process that is killed, and whether everybody can use it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators.hslm import ACROSS, DROP, HAND, HOLDS, TURNS
from catena.studio import studio
from tests.browser.studio_person import (
    ASK,
    DROPPED,
    SCREEN,
    Person,
    drawn_four_bar,
    opened,
    serious_findings,
)


def chosen_start(person, name):
    person.page.get_by_role("button", name=name).click()
    person.page.wait_for_function("() => !document.querySelector('.start')")
    person.settled()


@pytest.mark.slow  # none of the numbered steps
def test_understand_the_structure_modes_branches_and_help(person):
    page, session = person.page, person.session
    drawn_four_bar(person, guided=False)
    person.press("k")
    person.draw((0.9, 0.8), (0.5, 1.2))
    person.press("Escape")
    page.get_by_role("button", name="Structure").click()
    page.locator("svg.graph").wait_for()
    assert page.locator("svg.graph .node").count() == 4 and page.locator("svg.graph .edge.loop").count() == 1
    assert "can move in one way" in page.locator(".sentences").inner_text()
    page.get_by_role("button", name="Find its modes").click()
    mode = page.get_by_role("button", name="mode 1")
    mode.wait_for()
    expected = session.reading.scenario.system.modes(session.reading.q).hertz[0]
    assert float(mode.inner_text().split(":")[1].split()[0]) == pytest.approx(expected, rel=5e-3)
    mode.click()
    page.wait_for_function("() => catena.studio.playing && catena.studio.time > 0")
    person.shot("understand-mode")
    page.get_by_role("button", name="Find other ways").click()
    way = page.get_by_role("button", name="way 2")
    way.wait_for()
    before, side = session.revision, np.sign(_turn(session))
    way.click()
    person.settled(before)
    # The other branch: the lengths are the same and the loop turns the other way round.
    assert np.sign(_turn(session)) == -side
    points = session.reading.drawing()["points"]
    assert np.hypot(*np.subtract(points["C"]["at"], points["D"]["at"])) == pytest.approx(
        np.hypot(0.1, 0.8), abs=1e-6
    )
    person.shot("understand-branch")
    page.get_by_label("close the structure").click()
    person.press("?")
    page.get_by_role("heading", name="Build in space").wait_for()
    person.shot("help")


def _turn(session):
    """Which way the coupler and the rocker turn at C."""
    B, C, D = (np.array(session.reading.drawing()["points"][name]["at"]) for name in "BCD")
    return float(np.linalg.det([C - B, D - C]))


@pytest.mark.slow  # none of the numbered steps
def test_a_study_is_started_and_what_it_finds_is_taken_over(person, tmp_path):
    """What the page shows is what `ct.study` finds for the same text; a click on a point takes its numbers over."""
    page, session = person.page, person.session
    drawn_four_bar(person, guided=False)
    person.press("m")
    person.click(0, 0)
    person.press("v")
    page.mouse.click(*person.at(0.0, 0.2))
    before = session.revision
    page.get_by_role("button", name="Make a slider of it").click()
    person.settled(before)
    page.get_by_role("button", name="Study", exact=True).click()
    page.get_by_label("number 1", exact=True).fill("ab")
    page.get_by_label("from, of number 1").fill("30 cm")
    page.get_by_label("to, of number 1").fill("0.4")
    page.get_by_label("steps of number 1").fill("5")
    page.get_by_label("formula 1", exact=True).fill("max(max(D))")
    page.get_by_role("button", name="Start the study").click()
    page.locator(".study .fault").wait_for()
    assert "max" in page.locator(".study .fault").inner_text()
    page.get_by_label("formula 1", exact=True).fill("max(D)")
    page.get_by_label("name of formula 1").fill("swing")
    page.get_by_role("button", name="Start the study").click()
    page.locator("svg.chart circle").nth(4).wait_for()
    person.shot("study")
    (tmp_path / "shown.toml").write_text(session.text)
    scenario = ct.Scenario.load(tmp_path / "shown.toml")
    expected = ct.study(scenario, vary={"ab": ct.grid(0.3, 0.4, 5)}, outcomes={"swing": "max(D)"})["swing"]
    assert "grid = [0.3, 0.4, 5]" in session.text
    page.locator(".study .hint button", has_text="show").first.click()
    shown = page.locator(".study b", has_text="Variant").locator("xpath=..").inner_text()
    assert f"swing {expected.min():.3g}" in shown and f"Variant {expected.argmin()}" in shown
    before = session.revision
    page.get_by_role("button", name="Take these numbers").click()
    person.settled(before)
    assert session.reading.parameters()["ab"] == [0.3, 0.325, 0.35, 0.375, 0.4][expected.argmin()]
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Page with pictures").click()
    assert "swing" in Path(waiting.value.path()).read_text()


def test_25_files_to_take_away_and_nobody_is_kept_out(person, browser, tmp_path):
    page, session = person.page, person.session
    chosen_start(person, "Four-bar The simplest")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("() => catena.stage.shows && catena.stage.shows.movie && catena.studio.playing")
    person.pause()
    assert serious_findings(page) == []
    files = {}
    for name in ("Page motion", "Moving picture", "Picture the", "Table", "Whole run", "Text the"):
        page.locator(".menu summary").click()
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name).click()
        file = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(file)
        files[file.suffix] = file
        page.wait_for_function("() => !document.querySelector('progress')")
    run = session.reading.scenario.run()
    assert np.array_equal(ct.load_run(files[".nc"]).q, run.q)
    table = np.genfromtxt(files[".csv"], delimiter=",", names=True, deletechars="")
    assert len(table) == len(run.t) and np.allclose(table[table.dtype.names[0]], run.t)
    assert ct.load(files[".toml"]).name == session.reading.scenario.mechanism.name
    assert files[".png"].read_bytes()[:4] == b"\x89PNG" and files[".webp"].read_bytes()[8:12] == b"WEBP"
    # The page on a phone, in the dark and by keyboard, and with the eyes of axe.
    phone = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme="dark")
    asked = []
    phone.on("request", lambda request: asked.append(request.url))
    phone.goto(files[".html"].as_uri())
    phone.wait_for_function("() => catena.catena.frames_drawn > 0")
    phone.keyboard.press("Space")
    phone.wait_for_function("() => catena.catena.time > 0")
    assert serious_findings(phone) == [] and asked == [files[".html"].as_uri()]
    assert phone.get_by_label("time", exact=True).bounding_box()["width"] > 280
    if person.shots:
        phone.screenshot(path=str(Path(person.shots) / "studio-25-phone.png"))
    phone.close()
    # A link leads to the mechanism as it was.
    code, told = page.evaluate(ASK, ["link", {}])
    was, before = session.text, session.revision
    assert code == 200
    page.evaluate(ASK, ["act", {"name": "set run", "arguments": {"duration": "2 s"}, "base": before}])
    other = browser.new_page()
    other.goto(told["link"])
    other.wait_for_function("() => window.catena && catena.stage && catena.studio.frames_drawn > 0")
    assert session.text == was and session.revision == before + 2
    other.close()


@pytest.mark.slow  # six times the same, 10 s each
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (390, 844)], ids=["1280", "1920", "phone"])
def test_pages_of_every_size_keep_nobody_out(browser, runs, tmp_path, size, dark):
    with studio(folder=tmp_path, show=False) as made:
        person = Person(opened(browser, made, size, dark), made)
        page, mark = person.page, f"{size[0]}-{'dark' if dark else 'light'}"
        page.locator(".card.pictured img").first.wait_for()
        assert serious_findings(page) == []
        person.shot(f"look-{mark}-start")
        chosen_start(person, "Industrial arm")
        assert serious_findings(page) == []
        for sheet in ("Structure", "Study", "Text", "Python", "help"):
            page.get_by_role("button", name=sheet, exact=True).click()
            page.locator(".sheet header").wait_for()
            person.drawn()
            assert serious_findings(page) == [], sheet
            person.shot(f"look-{mark}-{sheet.lower()}")
        page.get_by_role("button", name="help", exact=True).click()
        for tool in ("Body", "Joint", "Chain", "Gears", "Control"):
            page.locator(".toolbox").get_by_role("button", name=tool, exact=True).click()
            assert serious_findings(page) == [], tool
        page.get_by_role("button", name="Run", exact=True).click()
        page.wait_for_function("() => catena.studio.playing")
        page.evaluate("() => catena.studio.pause()")
        person.shot(f"look-{mark}-run")
        # Nothing is wider than the window, and what is to be touched is large enough for a finger.
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        small = """() => [...document.querySelectorAll("button, select, input:not([type=checkbox]), summary")]
          .filter((e) => e.offsetParent && !e.classList.contains("event"))
          .map((e) => [e.outerHTML.slice(0, 80), e.getBoundingClientRect().height])
          .filter(([, high]) => high < 23.5).map(([text]) => text)"""
        assert page.evaluate(small) == []
        assert page.problems == []
        page.close()


def test_26_a_linkage_in_space_from_clicks(person):
    """An RSSR: two cranks on the floor and on a post, a coupler with balls at both ends."""
    page, session = person.page, person.session
    chosen_start(person, "Blank space")

    def add(where, **fields):
        page.mouse.click(*where)
        page.locator(".places li.done").first.wait_for()
        for key, value in fields.items():
            box = page.locator(f"[name='build {key}']")
            box.select_option(value) if key in ("kind", "shape", "along") else box.fill(value)
        before = session.revision
        page.get_by_role("button", name="Add the body").click()
        person.settled(before)

    def on(body, p):
        pose = session.reading.scenario.system.body_poses(session.reading.q)[body]
        return page.evaluate(SCREEN, (pose @ [*p, 1.0])[:3].tolist())

    add(page.evaluate(SCREEN, [0, 0, 0]), shape="cylinder", name="crank", length="0.3 m", width="4 cm")
    add(
        page.evaluate(SCREEN, [0.4, 0.4, 0]),
        kind="fixed",
        shape="box",
        along="z",
        name="post",
        length="0.2 m",
        width="6 cm",
        height="6 cm",
    )
    add(
        on("post", [0, -0.03, 0.1]),
        kind="revolute",
        shape="cylinder",
        along="x",
        name="rocker",
        length="0.25 m",
        width="4 cm",
    )
    add(
        on("crank", [0.29, -0.012, 0.014]),
        kind="spherical",
        name="coupler",
        shape="cylinder",
        length="0.45 m",
        width="3 cm",
    )
    joint = session.reading.scenario.mechanism.joints["joint3"]
    # The face that was clicked is the axis of the rocker, and the end of the crank carries the ball.
    np.testing.assert_allclose(joint.in_parent.R[:, 2], [0, -1, 0], atol=1e-6)
    np.testing.assert_allclose(
        session.reading.scenario.mechanism.joints["joint4"].in_parent.p, [0.3, 0, 0], atol=1e-5
    )
    page.locator(".toolbox").get_by_role("button", name="Joint").click()
    page.get_by_role("button", name="Fit", exact=True).click()
    person.drawn()
    page.mouse.click(*on("rocker", [0.24, 0.0, 0.02]))
    page.mouse.click(*on("coupler", [0.44, -0.008, 0.012]))
    person.shot("26-pointing")
    page.wait_for_function("() => document.querySelectorAll('.places li.done').length === 2")
    page.locator("[name='build kind']").select_option("spherical")
    person.shot("26-picked")
    before = session.revision
    page.get_by_role("button", name="Join them").click()
    person.settled(before)
    system, q = session.reading.scenario.system, session.reading.q
    assert "2 independent ways" in person.words() and np.abs(system.closure(q)[0]).max() < 1e-9
    # A motor by a click on the joint, and it runs.
    page.locator(".toolbox").get_by_role("button", name="Motor").click()
    before = session.revision
    # The crank cannot go all the way round: two seconds of it are shown.
    page.evaluate(ASK, ["act", {"name": "set run", "arguments": {"duration": "2 s"}, "base": before}])
    before = session.revision
    motor = {"name": "set motor", "arguments": {"joint": "joint1", "speed": "10 rpm"}, "base": before}
    page.evaluate(ASK, ["act", motor])
    person.settled(before)
    page.get_by_role("button", name="Fit", exact=True).click()
    person.shot("26-rssr")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("() => catena.studio.playing && catena.studio.time > 0.2")
    person.pause()
    person.shot("26-runs")


def test_27_the_hslm_from_its_tables_falls_as_printed(person):
    """Seed 003, chapter 8: three chains typed into tables, held to the member; it falls with 10.0286429 m/s^2."""
    page, session = person.page, person.session
    chosen_start(person, "Blank space")
    person.press("Escape")
    _, before = person.field("gravity", "0, -10, 0")
    person.settled(before)
    assert page.locator("input[name=gravity]").input_value() == "0, -10, 0"
    length, tilt = np.hypot(ACROSS, DROP), np.arctan2(DROP, ACROSS)
    for k, (hold, turn) in enumerate(zip(HOLDS, TURNS, strict=True), 1):
        across = -HAND - ACROSS
        base = [hold[0] + np.cos(turn) * across, hold[1] + DROP, hold[2] - np.sin(turn) * across]
        page.locator(".toolbox").get_by_role("button", name="Chain").click()
        page.locator("[name='chain notation']").select_option("sdof")
        page.get_by_role("button", name="Another link").click()
        rows = (
            {"rx": 0, "ry": turn, "rz": -tilt, "dx": length, "motions": "ry rz dx", "mass": 2, "com x": 0.5,
             "Ixx": 0.05, "Iyy": 0.5, "Izz": 0.5},
            {"rx": 0, "ry": 0, "rz": tilt, "dx": HAND, "motions": "ry rz", "mass": 0.5, "com x": 0.05,
             "Ixx": 0.00006, "Iyy": 0.0006, "Izz": 0.0006},
        )  # fmt: skip
        for link, row in enumerate(rows, 1):
            for key, value in row.items():
                page.get_by_label(f"{key} of link {link}", exact=True).fill(
                    str(value) if isinstance(value, str) else repr(float(value))
                )
        page.locator("[name='chain prefix']").fill(f"chain{k} ")
        page.locator("[name='chain base']").fill(f"{{ p = {[float(x) for x in base]} }}")
        before = session.revision
        if k == 1:
            person.shot("27-table")
        page.get_by_role("button", name="Add the chain").click()
        person.settled(before)
    assert session.state()["words"] == "It can move in 15 ways."
    person.press("Escape")
    fields = [("body", {"name": "member", "mass": "5.0", "inertia": "0.01"})]
    fields += [
        ("joint", {"name": f"hold{k}", "kind": "fixed", "parent": f"chain{k} link2", "child": "member",
                   "in_parent": f"{{ p = [{HAND}, 0.0, 0.0] }}",
                   "in_child": f"{{ p = {list(hold)}, rpy = [0.0, {float(turn)!r}, 0.0] }}"})
        for k, (hold, turn) in enumerate(zip(HOLDS, TURNS, strict=True), 1)
    ]  # fmt: skip
    for sort, values in fields:
        page.get_by_label("sort of part to add").select_option(sort)
        for key, value in values.items():
            page.locator(f"input[name='new {key}']").fill(value)
        before = session.revision
        page.get_by_role("button", name=f"Add {sort}").click()
        person.settled(before)
        person.press("Escape")
    page.get_by_role("button", name="Fit", exact=True).click()
    person.shot("27-hslm")
    scenario = session.reading.scenario
    system, (q, v) = scenario.system, scenario.state
    vdot = system.forward_dynamics(q, v, np.zeros(system.nv))
    np.testing.assert_allclose(system.jacobian(q, "member") @ vdot, [0, 0, 0, 0, -10.0286429, 0], atol=6e-8)


def test_23_and_24_files_dropped_and_a_conflict_told(person, tmp_path):
    page, session = person.page, person.session
    # The start page opens files too, and tells there what is wrong with one.
    (tmp_path / "empty.urdf").write_text("<robot")
    page.get_by_label("file to open").set_input_files(tmp_path / "empty.urdf")
    page.locator(".start .fault", has_text="empty.urdf").wait_for()
    person.shot("23-refused-at-the-start")
    for ending in (".xml", ".sdf", ".urdf"):
        path = tmp_path / f"chain{ending}"
        ct.generators.chain(3).save(path)
        before = session.revision
        if ending == ".xml":
            page.get_by_label("file to open").set_input_files(path)
        else:
            page.evaluate(DROPPED, [path.name, path.read_text()])
        person.settled(before)
        assert len(session.reading.scenario.mechanism.bodies) >= 4, ending
        page.wait_for_function("() => !document.querySelector('.start')")
    person.shot("23-dropped")
    # A broken one is told, and nothing changes.
    text = session.text
    page.evaluate(DROPPED, ["broken.urdf", (tmp_path / "chain.urdf").read_text()[:300]])
    page.locator(".message.fault").wait_for()
    assert "broken.urdf" in page.locator(".message").inner_text() and session.text == text
    person.shot("23-broken")
    # A mesh that is dropped becomes the shape of the next body.
    corners = "v 0 0 0\nv 0.2 0 0\nv 0 0.2 0\nv 0 0 0.2\n"
    page.evaluate(DROPPED, ["wedge.obj", corners + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"])
    page.locator("h3", has_text="New body").wait_for()
    page.wait_for_function("() => document.querySelector('.message').textContent.includes('wedge.obj')")
    assert (tmp_path / "wedge.obj").exists()
    page.mouse.click(300, 560)
    before = session.revision
    page.get_by_role("button", name="Add the body").click()
    person.settled(before)
    body = session.reading.scenario.mechanism.bodies["mesh1"]
    assert body.mass == pytest.approx(7850.0 * 0.2**3 / 6.0, rel=1e-6)
    person.shot("23-mesh")
    person.press("Escape")
    # The file is saved; somebody else writes it; saving again asks before it writes over that.
    page.once("dialog", lambda dialog: dialog.accept("shared.toml"))
    before = session.revision
    page.get_by_role("button", name="Save").click()
    person.settled(before)
    (tmp_path / "shared.toml").write_text("# somebody else\n")
    before = session.revision
    page.evaluate(ASK, ["act", {"name": "set run", "arguments": {"duration": "2 s"}, "base": before}])
    page.wait_for_function(f"() => catena.stage.revision > {before}")
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.get_by_role("button", name="Save").click()
    page.locator(".message.fault").wait_for()
    assert (
        "changed by somebody else" in asked[0]
        and (tmp_path / "shared.toml").read_text() == "# somebody else\n"
    )


def test_28_python_is_killed_and_the_work_goes_on(browser, runs, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "catena", "studio", "--no-browser", "--folder", str(tmp_path)],
        stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    page = browser.new_page()
    try:
        page.goto(process.stdout.readline().strip())
        page.wait_for_function("() => window.catena && catena.stage && catena.studio.frames_drawn > 0")
        bar = {"name": "add bar", "arguments": {"start": [0, 0], "end": [0, 0.4]}, "base": 0}
        assert page.evaluate(ASK, ["act", bar])[0] == 200
        page.wait_for_function("() => catena.stage.revision === 1")
        process.send_signal(signal.SIGKILL)
        process.wait()
        page.locator(".banner").wait_for()
        assert "still here" in page.locator(".banner").inner_text()
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download the text").click()
        assert "A-B = 0.4" in Path(waiting.value.path()).read_text()
    finally:
        process.kill()
        process.wait()
    with studio(folder=tmp_path, show=False) as again:
        page.goto(again.url)
        page.get_by_role("button", name="Resume it").click()
        page.wait_for_function("() => catena.stage.drawing.bars['A-B']")
        assert "A-B" in json.dumps(page.evaluate(ASK, ["state", {}])[1]["drawing"])
        page.close()


@pytest.mark.slow  # a file of 200 bodies
def test_twenty_windows_and_many_bodies_stay_usable(browser, runs, tmp_path):
    """Twenty windows hold one studio; 200 bodies are opened, chosen from and edited."""
    ct.Scenario(ct.generators.tree(200), duration=0.2, samples=11).save(tmp_path / "many.toml")
    with studio(tmp_path / "many.toml", show=False) as made:
        page = opened(browser, made)
        start = time.process_time()
        before = made.session.revision
        page.evaluate(ASK, ["act", {"name": "set run", "arguments": {"duration": "0.1 s"}, "base": before}])
        page.wait_for_function(f"() => catena.stage.revision > {before}")
        # Processor time of this process, which is that of the server: an edit, and what all windows are told.
        assert time.process_time() - start < 5.0
        asked = """(count) => Promise.all([...Array(count)].map(() => fetch("/ask/wait",
          { method: "POST", body: '{"revision": -1}',
          headers: { "Content-Type": "application/json", "X-Catena": "1" } }).then((r) => r.status)))"""
        assert set(page.evaluate(asked, 20)) == {200}
        page.close()
