"""Acts of the studio are edits of a text: what is drawn is what the text says, and what is refused changes nothing."""

import tomllib

import numpy as np
import pytest

import catena as ct
from catena.errors import StateError
from catena.studio import EDITS, EditingSession
from catena.studio.edits import apply
from catena.studio.edits.studies import study_of
from catena.studio.parts import field_text
from catena.studio.session import BLANK, Stale


@pytest.fixture
def session(tmp_path):
    return EditingSession(BLANK.format(name="mine"), "mine.toml", tmp_path)


def act(session, what, **arguments):
    session.act(what, arguments, session.revision)
    return session.state()


def four_bar(session):
    act(session, "add bar", start=[0, 0], end=[0, 0.4])
    act(session, "add bar", start="B", end=[0.9, 0.8])
    act(session, "add bar", start="C", end=[1.0, 0])
    act(session, "ground point", point="A")
    return act(session, "ground point", point="D")


def test_a_drawing_becomes_the_mechanism_that_the_library_makes_of_it(session, tmp_path):
    said = [session.state()["words"]]
    state = four_bar(session)
    said += [state["words"]]
    assert "Draw a bar" in said[0] and "can move in one way" in said[1]
    assert "nothing moves it" in state["why_not_run"]
    drawn = ct.Linkage("mine", {"A": (0, 0), "D": (1, 0)}, gravity=0.0)
    lengths = {"A-B": 0.4, "B-C": np.hypot(0.9, 0.4), "C-D": np.hypot(0.1, 0.8)}
    drawn.bars({name: round(float(x), 6) for name, x in lengths.items()}).sketch(
        {"B": (0, 0.4), "C": (0.9, 0.8)}
    )
    (tmp_path / "mine.toml").write_text(session.text)
    assert ct.Scenario(ct.load(tmp_path / "mine.toml")) == ct.Scenario(drawn.mechanism())
    # Where points are drawn is where the mechanism has them.
    for name, point in state["drawing"]["points"].items():
        np.testing.assert_allclose(point["at"], drawn.points()[name], atol=1e-9)


def test_texts_are_a_history_and_stale_acts_are_told(session):
    four_bar(session)
    texts = [session.text]
    act(session, "set length", bar="A-B", length="350 mm")
    texts.append(session.text)
    session.undo(session.revision)
    assert session.text == texts[0]
    session.redo(session.revision)
    assert session.text == texts[1]
    for k in range(5):
        session.act("set length", {"bar": "A-B", "length": 0.3 + 0.01 * k}, session.revision, "slide")
    session.undo(session.revision)
    assert session.text == texts[1]
    with pytest.raises(Stale):
        session.act("set length", {"bar": "A-B", "length": 0.4}, session.revision - 1)


@pytest.mark.parametrize(
    ("length", "words"),
    [
        ("-3", "greater than 0"), ("30 deg", "is an angle"), ("2 kg", "a mass"), ("much", "a length such as"),
        ("9", "bar B-C"), (None, "a length such as"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_the_reason_and_changes_nothing(session, length, words):
    four_bar(session)
    before = session.text, session.revision
    with pytest.raises(StateError, match=words):
        act(session, "set length", bar="A-B", length=length)
    assert (session.text, session.revision) == before


def test_comments_survive_and_a_broken_text_keeps_the_last_scene(session):
    four_bar(session)
    session.set_text(session.text.replace("A-B = 0.4", "A-B = 0.4  # the crank"), session.revision)
    act(session, "set length", bar="B-C", length="1 m")
    assert "A-B = 0.4  # the crank" in session.text
    good = session.state()["drawing"]
    session.set_text(session.text.replace("C-D = ", "C-D = !"), session.revision)
    state = session.state()
    line = next(k for k, text in enumerate(session.text.splitlines(), 1) if text.startswith("C-D"))
    assert state["fault"]["line"] == line and state["drawing"] == good and state["scene"]["live"]
    with pytest.raises(StateError, match="mend it"):
        act(session, "set length", bar="B-C", length="1 m")
    session.undo(session.revision)
    assert session.state()["fault"] is None


def test_motors_springs_parameters_and_changes_say_what_the_library_says(session, tmp_path):
    four_bar(session)
    act(session, "set motor", joint="A", speed="60 rpm")
    act(session, "make parameter", path=["linkage", "bars", "A-B"], name="crank")
    act(session, "set parameter", name="crank", value="30 cm")
    act(session, "add spring", start="C", end=[0.5, 1.2], stiffness="500 N/m")
    state = act(session, "change structure", at="1 s", action="detach", joint="C")
    (tmp_path / "mine.toml").write_text(session.text)
    scenario = ct.Scenario.load(tmp_path / "mine.toml")
    assert str(scenario.drives["A"]) == "60 rpm * t" and scenario.parameters["crank"] == 0.3
    (spring,) = scenario.mechanism.springs.values()
    assert spring.stiffness == 500.0 and spring.rest_length == pytest.approx(np.hypot(0.4, 0.4))
    (change,) = scenario.changes
    assert change.at == 1.0 and change.detach == ("C",)
    assert state["parts"]["motors"] == [{"joint": "A", "speed": "60 rpm"}]
    act(session, "set motor", joint="A", moment="2 N*m")
    (tmp_path / "mine.toml").write_text(session.text)
    assert not ct.Scenario.load(tmp_path / "mine.toml").drives
    act(session, "remove motor", joint="A")
    assert "drive" not in session.text and "controller" not in session.text


def test_every_edit_refuses_nonsense_without_harm(session):
    four_bar(session)
    before = session.text
    for name in EDITS:
        for arguments in (
            {},
            {"point": 3},
            {"bar": "A-Z"},
            {"start": 1, "end": {}},
            {"path": [], "value": 1},
        ):
            with pytest.raises(ct.CatenaError):
                session.act(name, arguments, session.revision)
            assert session.text == before


def test_files_are_written_in_one_folder_only_and_conflicts_are_told(session, tmp_path):
    four_bar(session)
    for name in ("../out.toml", "/tmp/out.toml", "a/../../out", "", "x\0.toml"):
        with pytest.raises(ct.CatenaError):
            session.save(name, session.revision)
    session.save("mine", session.revision)
    assert (tmp_path / "mine.toml").read_text() == session.text
    (tmp_path / "mine.toml").write_text("# mine\n")
    act(session, "set length", bar="A-B", length=0.3)
    with pytest.raises(Stale, match="somebody else"):
        session.save(None, session.revision)
    assert (tmp_path / "mine.toml").read_text() == "# mine\n"
    session.save(None, session.revision, over=True)
    assert (tmp_path / "mine.toml").read_text() == session.text


def test_a_study_is_said_by_a_form_and_read_back():
    given = {
        "vary": [
            {"name": "crank", "way": "grid", "low": "0.3", "high": "0.4", "count": "5"},
            {"name": "A-B.mass", "way": "sobol", "low": "1.0", "high": "2.0", "count": "11"},
        ],
        "outcomes": [{"name": "swing", "formula": "max(D)"}],
        "samples": "16",
    }
    text = apply("# mine\n[parameters]\ncrank = 0.35\n", "set study", given)
    assert text.startswith("# mine") and study_of(tomllib.loads(text)) == given
    assert tomllib.loads(text)["study"]["samples"] == 16
    assert "study" not in tomllib.loads(apply(text, "remove study", {}))
    for wrong, words in (
        ({"vary": []}, "choose a number"),
        ({"outcomes": [{"name": "x", "formula": " "}]}, "has no formula"),
        ({"samples": "many"}, "whole number"),
        ({"vary": [{"name": "crank", "way": "guess"}]}, "grid, sobol"),
        ({"vary": [{"name": "crank", "way": "uniform", "low": "left", "high": "1"}]}, "give a number"),
    ):
        with pytest.raises(ct.CatenaError, match=words):
            apply(text, "set study", given | wrong)


def test_a_field_shows_what_the_text_would_say():
    for value in (
        1,
        0.35,
        1e-12,
        True,
        [1.0, [2, 3]],
        {"p": [0.0, 0.5], "a key": 'x "y"'},
        {"shape": "box", "deep": {}},
    ):
        assert tomllib.loads(f"x = {field_text(value)}")["x"] == value
    assert field_text("60 rpm") == "60 rpm"


def test_weight_acts_as_it_is_typed(session):
    """One number is downwards, three are any way, and the page tells them as they were typed."""
    for typed, gravity, told in (
        ("9.81", [0, 0, -9.81], 9.81), ("0, -10, 0", [0, -10, 0], "0, -10, 0"), ("0", [0, 0, 0], 0.0),
    ):  # fmt: skip
        state = act(session, "set gravity", gravity=typed)
        assert tomllib.loads(session.text)["mechanism"]["gravity"] == gravity
        assert state["parts"]["gravity"] == told
    with pytest.raises(StateError, match="gravity"):
        act(session, "set gravity", gravity="1, 2")
