"""The studio in a real browser: a person draws a four-bar, runs it, changes it, understands it and saves it.

One page serves many facts, because pages cost more than they do.
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.studio import studio
from tests.browser.studio_person import ASK, AT, COLOURS, MIDDLE, SLIDE, TYPED, Person, drawn_four_bar, opened


@pytest.mark.slow
def test_a_four_bar_is_drawn_undone_dragged_and_measured(person):
    page, session = person.page, person.session
    drawn_four_bar(person)
    assert "can move in one way" in person.words() and "1 loop" in person.words()
    hatched = page.evaluate("catena.studio.data.scenes[0].lines.map((l) => l[1])")
    assert hatched.count("hatching") > 8
    assert page.locator(".guide li.done").count() == 3
    person.shot("05-grounded")
    # It wiggles in its one way, and nothing of the text changes.
    page.get_by_role("button", name="Wiggle").click()
    page.wait_for_function("() => catena.studio.playing && catena.studio.time > 0")
    person.shot("06-wiggle")
    person.press("g")
    page.wait_for_function("() => !catena.studio.playing")
    # Undo and redo: drawing, text and card follow.
    texts = [session.text]
    for _ in range(2):
        before = session.revision
        person.press("Control+z")
        person.settled(before)
    assert page.locator(".guide li.done").count() == 2 and page.locator("svg .point.fixed").count() == 0
    for _ in range(2):
        before = session.revision
        person.press("Control+Shift+z")
        person.settled(before)
    assert session.text == texts[0] and page.locator(".guide li.done").count() == 3
    # Run is grey and says why.
    run = page.get_by_role("button", name="Run", exact=True)
    assert run.get_attribute("aria-disabled") == "true" and "motor" in page.locator(".reason").inner_text()
    # The coupler is dragged: the loop stays closed, and the drag is one step of the history.
    person.press("v")
    before = session.revision, session.text
    x, y = person.at(0.45, 0.6)
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(20):
        page.mouse.move(x + 3 * k, y - 1.5 * k)
    page.wait_for_function("() => catena.stage.updates > 3")
    page.mouse.up()
    person.settled(before[0])
    assert session.revision == before[0] + 1 and session.text != before[1]
    system = session.reading.scenario.system
    assert np.abs(system.closure(session.reading.q)[0]).max() < 1e-10
    points = {name: p["at"] for name, p in session.reading.drawing()["points"].items()}
    assert np.hypot(*np.subtract(points["C"], points["B"])) == pytest.approx(0.984886, abs=1e-9)
    person.shot("07-dragged")
    # To a dead point: told, with what to drive instead.
    page.mouse.move(*person.at(*np.mean([points["C"], points["D"]], axis=0)))
    page.mouse.down()
    for k in range(40):
        page.mouse.move(*person.at(0.95 + 0.06 * k, 0.4 - 0.02 * k))
        page.wait_for_function("() => !catena.stage.busy")
    page.wait_for_function("() => !catena.stage.busy")
    before = session.revision
    page.mouse.up()
    person.settled(before)
    # Typed values: with a unit taken, else refused beside the field and nothing changes.
    for bar in ("A-B",):
        a, b = (session.reading.drawing()["points"][name]["at"] for name in bar.split("-"))
        page.mouse.click(*person.at(*np.mean([a, b], axis=0)))
        box, before = person.field(f"length of {bar}", "350 mm")
        person.settled(before)
        assert person.says('A-B = "350 mm"')
        for wrong, words in (("-3", "greater than 0"), ("30 deg", "an angle"), ("9 m", "bar B-C")):
            revision = session.revision
            box.fill(wrong)
            box.press("Enter")
            page.locator(".field .fault").wait_for()
            page.wait_for_function(
                f"() => document.querySelector('.field .fault').textContent.includes('{words}')"
            )
            assert box.get_attribute("aria-invalid") == "true" and session.revision == revision
        person.shot("10-refused")
        box.press("Escape")


@pytest.mark.slow
def test_a_motor_runs_it_and_the_run_is_looked_at(person, tmp_path):
    page, session = person.page, person.session
    drawn_four_bar(person, guided=False)
    person.press("m")
    person.click(0, 0)
    assert 'position = "60 rpm * t"' in session.text
    person.press("t")
    page.mouse.click(*person.at(0.9, 0.8))
    person.press("Space")
    page.wait_for_function("() => catena.studio.playing && catena.studio.time > 0.3")
    grown = page.evaluate("catena.studio.plots[0].until")
    assert 0.0 < grown < 5.0
    person.shot("12-plays")
    person.press("Space")
    page.wait_for_function("() => !catena.studio.playing")
    before = page.evaluate("catena.studio.time")
    person.press("ArrowRight")
    assert page.evaluate("catena.studio.time") > before
    # Scrubbing in a plot: scene, cursor and values agree with the run.
    plot = page.locator(".plots figure canvas").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])
    page.wait_for_timeout(200)
    t = page.evaluate("catena.studio.time")
    scenario = session.reading.scenario
    run = scenario.run()
    expected = scenario.system.body_poses(run.at(t)[0])
    poses = page.evaluate("catena.studio.poses()")
    for name in ("A-B", "B-C", "C-D"):
        np.testing.assert_allclose(poses[name][:3], expected[name][:3, 3], atol=2e-3)
    assert (
        page.evaluate("[...catena.studio.traced]") == ["C"]
        and page.evaluate("catena.studio.trails.lines.length") == 1
    )
    person.shot("14-trace")
    # Reactions as arrows; the pointer tells what they are.
    page.get_by_role("button", name="Show").click()
    page.locator("input[name=reactions]").check()
    page.get_by_role("button", name="Show").click()
    tip = page.evaluate(MIDDLE, "D")
    page.mouse.move(tip[0], tip[1])
    page.locator(".tip").wait_for()
    told = page.locator(".tip").inner_text()
    wrench = run.reactions()["D"]
    force = np.linalg.norm(wrench[np.argmin(np.abs(run.t - tip[2])), 3:])
    assert " N on C-D at D" in told and float(told.split(" N")[0]) == pytest.approx(force, rel=0.05)
    person.shot("15-reaction")
    # The model is pulled on while it runs: its loop stays closed, and the run is what it was.
    x, y = page.evaluate(AT, "B-C")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y - 30)
    page.wait_for_function("() => catena.stage.pulls > 2")
    pulled = page.evaluate("catena.stage.pulled")
    person.shot("20-pulled")
    page.mouse.up()
    page.wait_for_function("() => !catena.stage.pulling")
    assert np.abs(scenario.system.closure(np.array(pulled["q"]))[0]).max() < 1e-6
    assert pulled["t"] > t - 0.1 and page.evaluate("catena.studio.data.segments[0].t.length") > 10
    # A spring by two clicks, and energy shows it.
    person.press("k")
    person.settled()
    before = session.revision
    person.draw((0.9, 0.8), (0.5, 1.2))
    person.settled(before)
    assert "spring1" in session.text
    person.press("Escape")
    # A length becomes a parameter, whose slider computes the run again, with the old curve behind.
    page.mouse.click(*person.at(0.0, 0.2))
    page.get_by_role("button", name="Make a slider of it").click()
    page.locator("input[name='parameter ab']").wait_for()
    person.press("Escape")
    page.keyboard.press("Space")
    page.wait_for_function("() => catena.studio.playing")
    first = page.evaluate("catena.stage.shows.digest")
    page.get_by_label("slide ab").evaluate(SLIDE, 0.32)
    page.wait_for_function(
        "(first) => catena.stage.shows && String(catena.stage.shows.digest) !== String(first)", arg=first
    )
    page.wait_for_function("() => catena.studio.plots[0].ghost")
    assert session.reading.parameters()["ab"] == pytest.approx(0.32)
    person.shot("17-slider")
    # Two runs kept, named, deleted.
    page.get_by_label("keep run A").click()
    page.get_by_label("name of run A").fill("short crank")
    page.get_by_label("name of run A").press("Enter")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("() => document.querySelectorAll('.chip').length === 2")
    page.get_by_label("keep run B").click()
    person.shot("18-runs")
    page.get_by_label("delete run short crank").click()
    page.wait_for_function("() => document.querySelectorAll('.chip').length === 1")
    # The program that is shown computes the same run.
    page.get_by_role("button", name="Python").click()
    page.wait_for_function("() => document.querySelector('.code')?.textContent.includes('ct.Scenario')")
    code = page.locator(".code").inner_text()
    person.shot("22-python")
    (tmp_path / "shown.py").write_text(code + "print(*run.q[-1].tolist())\n")
    said = subprocess.run(
        [sys.executable, str(tmp_path / "shown.py")], capture_output=True, text=True, timeout=120
    )
    q = np.array([float(x) for x in said.stdout.splitlines()[-1].split()])
    np.testing.assert_allclose(q, page.evaluate("catena.stage.shows.digest"), atol=1e-12)


@pytest.mark.slow
def test_structure_changes_text_saving_and_other_windows(person, browser, tmp_path):
    page, session = person.page, person.session
    drawn_four_bar(person, guided=False)
    person.press("v")
    page.mouse.click(*person.at(0, 0))
    page.get_by_role("button", name="Motor", exact=True).last.click()
    page.get_by_role("button", name="Give it a moment instead").click()
    page.locator("input[name='moment at A']").wait_for()
    page.mouse.click(*person.at(1.0, 0))
    page.locator("h3", has_text="Joint D").wait_for()
    before = session.revision
    page.get_by_role("button", name="lock", exact=True).click()
    person.settled(before)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("() => catena.stage.shows && catena.studio.data.events.length > 0")
    assert "lock" in page.locator(".changes li").inner_text()
    assert page.evaluate("catena.studio.data.events[0][0]") == pytest.approx(1.0)
    colours = page.evaluate(COLOURS)
    assert len(colours) == 2 and colours[0] == colours[1]
    told = page.locator(".change").inner_text()
    assert told.startswith("1.000 s") and "D is struck with" in told and "J are lost" in told
    page.evaluate("() => { catena.studio.pause(); catena.studio.set_time(1.2); }")
    person.shot("19-locked")
    # The text is opened, edited and broken: the scene follows, the error is on its line, comments survive.
    page.get_by_role("button", name="Text", exact=True).click()
    page.locator(".cm-content").wait_for()
    before = session.revision
    page.evaluate(TYPED, ["A-B = 0.4", "A-B = 0.3 # short"])
    person.settled(before)
    assert "A-B = 0.3 # short" in session.text
    before = session.revision
    page.evaluate(TYPED, ["B-C =", "B-C = oops"])
    page.locator(".cm-lintRange-error, .cm-lint-marker-error").first.wait_for()
    line = next(k for k, text in enumerate(session.text.splitlines(), 1) if text.startswith("B-C"))
    assert page.locator(".sheet .fault").inner_text().startswith(f"Line {line}:")
    assert page.locator("svg .bar").count() == 3
    person.shot("21-fault")
    page.get_by_label("close the text").click()
    before = session.revision
    page.get_by_role("button", name="Undo").click()
    person.settled(before)
    # Saved, loaded again, seen in a second window, and a conflict is told.
    page.once("dialog", lambda dialog: dialog.accept("mine.toml"))
    before = session.revision
    page.get_by_role("button", name="Save").click()
    person.settled(before)
    assert (tmp_path / "mine.toml").read_text() == session.text
    second = Person(opened(browser, person.made), person.made)
    assert second.page.locator(".title").inner_text() == "mine"
    before = session.revision
    longer = {"name": "set length", "arguments": {"bar": "A-B", "length": "0.33"}, "base": before}
    second.page.evaluate(ASK, ["act", longer])
    page.wait_for_function(f"() => catena.stage.revision > {before}")
    assert session.state()["drawing"]["bars"]["A-B"]["length"] == 0.33
    code, told = second.page.evaluate(ASK, ["act", longer])
    assert code == 409 and "meanwhile" in told["error"]
    second.page.close()


@pytest.mark.slow
def test_a_long_run_is_cancelled_within_a_second_and_a_lost_server_is_told(browser, tmp_path):
    text = Path(tmp_path / "long.toml")
    m = ct.generators.chain(7)
    ct.Scenario(m, duration=20_000.0, samples=2_000_000, rtol=1e-12, atol=1e-14).save(text)
    made = studio(text, show=False)
    page = opened(browser, made)
    try:
        person = Person(page, made)
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_role("button", name="Cancel").wait_for()
        # What is computed so far is shown on the way.
        page.wait_for_function(
            "() => catena.stage.shows && catena.stage.shows.is_part && catena.studio.end > 0"
        )
        person.shot("29-growing")
        start = time.monotonic()
        page.get_by_role("button", name="Cancel").click()
        while made.runner.is_busy and time.monotonic() - start < 60.0:
            page.wait_for_timeout(5)
        # A run of days ends at once; how soon is measured in benchmarks/pages.py.
        assert not made.runner.is_busy
        page.get_by_role("button", name="Run", exact=True).wait_for()
        page.wait_for_function(
            "() => /cancelled|was ended at/.test(document.querySelector('.message').textContent)"
        )
        person.shot("29-cancelled")
    finally:
        made.close()
    page.locator(".banner").wait_for()
    assert "still here" in page.locator(".banner").inner_text()
    person.shot("28-lost")
    page.close()


def test_work_that_was_not_saved_is_resumed(tmp_path):
    """A studio that ends leaves its text beside the file; the next one offers it."""
    with studio(folder=tmp_path, show=False) as made:
        made.session.act("add bar", {"start": [0, 0], "end": [1, 0]}, 0)
        text = made.session.text
    with studio(folder=tmp_path, show=False) as again:
        assert again.session.state()["left"] and again.session.text != text
        again.session.resume(again.session.revision)
        assert again.session.text == text and not again.session.state()["left"]
        again.session.save("mine.toml", again.session.revision)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine.toml"]
