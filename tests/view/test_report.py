"""The page of a run: complete, self-contained, well-formed, and true to the run."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar
from catena.simulation.results.event_hit import EventHit
from catena.view.report import page, report

VOID = {"meta", "img", "br", "link"}


class Reader(HTMLParser):
    """Collects text, attributes and unbalanced tags."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.images, self.text, self.problems = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        if tag == "img" or given.get("role") == "img":
            self.images.append(given.get("alt") or given.get("aria-label"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.ids += [value for key, value in attributes if key == "id"]

    def handle_data(self, data):
        self.text.append(data)


def read(text):
    reader = Reader()
    reader.feed(text)
    return reader


@pytest.fixture(scope="module")
def run():
    m = four_bar()
    m.add_frame("<b>&tool", "coupler", ct.Pose())
    m.add_wrench("wind & rain", "<b>&tool", force=(0.1, 0.0, 0.0))
    system = m.system()
    q = system.neutral()
    run = ct.simulate(system, q, system.velocity(q, {"A": 2.0}), 0.4, integrator="rk4", step=2e-3, samples=11)
    event = EventHit("top <dead> centre", 0.123456, run.q[0], run.v[0])
    return run.with_(
        events=(event,), settings={"integrator": "rk4", "wall time": "0.02 s"}, ended="the user said so"
    )


@pytest.fixture(scope="module")
def text(run):
    return page(run)


def test_the_page_is_well_formed_and_names_are_escaped(text):
    reader = read(text)
    assert reader.problems == []
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    assert "<dead>" not in text
    assert "<b>" not in text


def test_nothing_is_fetched_from_anywhere(text):
    assert not re.search(r'(?:src|href)="(?!data:|#)', text)
    assert not re.search(r"url\((?!#)", text)
    assert not re.search(r"<script[^>]*\ssrc|\bfetch\(|XMLHttpRequest|WebSocket|\bimport\(", text)
    assert "default-src 'none'" in text
    assert "@import" not in text


def test_every_picture_has_a_description(text):
    images = read(text).images
    assert len(images) >= 8
    assert all(images)
    assert any(re.match(r"Angles in rad from 0 s to 0.4 s: A between", words) for words in images)


def test_links_inside_figures_lead_to_their_own_parts(text):
    ids = set(read(text).ids)
    links = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    assert links
    assert links <= ids


def test_the_page_says_what_was_simulated_and_how(run, text):
    words = " ".join(read(text).text)
    for part in (*run.system.mechanism.bodies, *run.system.mechanism.joints):
        assert part == "ground" or part in words
    for part in (
        "closes a loop",
        "rk4",
        "0.02 s",
        "top <dead> centre",
        "0.123456 s",
        "the user said so",
        "wind & rain",
    ):
        assert part in words
    for line in run.audit():
        assert line.text in words
    assert "3 moving bodies" in words


def test_ink_follows_the_theme(text):
    assert "prefers-color-scheme: dark" in text
    drawings = text[text.index("<main>") :]
    assert "var(--ink)" in drawings
    assert "#1f2933" not in drawings


def test_warnings_are_at_the_top():
    system = four_bar().system()
    q = system.neutral()
    run = ct.simulate(
        system, q, system.velocity(q, {"A": 2.0}), 0.3, integrator="euler", step=1e-2, samples=4
    )
    assert "The audit has 1 warning." in page(run, "A <title>")
    assert "<title>A &lt;title&gt;</title>" in page(run, "A <title>")


def test_batches_have_a_page_and_it_is_written_in_one_piece(tmp_path):
    system = arm7().system()
    run = ct.simulate(system, np.zeros((20, 7)), np.ones((20, 7)), 0.1, samples=5)
    report(run, tmp_path / "run.html")
    assert "20 motions" in (tmp_path / "run.html").read_text(encoding="utf-8")
    with pytest.raises(ct.FormatError, match="there is no folder"):
        report(run, tmp_path / "nowhere" / "run.html")


def test_a_run_whose_structure_changes_has_a_page_that_tells_the_changes(tmp_path):
    m = ct.Mechanism("coupling", gravity=(0, 0, 0))
    for name in ("a", "b"):
        m.add_body(name, mass=1.0, inertia=0.1)
        m.add_joint(f"{name} slides", "ground", name, ct.Prismatic("x"))
    meet = ct.Event(
        lambda here: here.position("b")[0] - here.position("a")[0], "they meet", direction=-1,
        then=lambda here: here.system.mechanism.attach("hook", "a", "b", ct.Fixed(), at=here.configuration),
    )  # fmt: skip
    run = ct.simulate(m.system(), [0.0, 1.0], [1.0, 0.0], 2.0, events=[meet])
    run.report(tmp_path / "run.html")
    words = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "1 change of structure" in words and "they meet" in words and "0.25" in words
    assert words.count('id="player-data"') == 1
    with pytest.raises(ct.FormatError, match="a page ends in .html"):
        run.report(tmp_path / "run.txt")
