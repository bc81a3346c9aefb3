"""Configurations without a run: they play as they are given, and drives and modes make them."""

import numpy as np
import pytest

import catena as ct
from catena.errors import StateError
from catena.mechanism import generators
from catena.view import Course
from catena.view.movie import body_frames, movie


@pytest.fixture(scope="module")
def bars():
    return generators.four_bar().system()


def test_a_drive_plays_the_configurations_it_found(bars, tmp_path):
    cycle = bars.drive("A", samples=61)
    course = cycle.course()
    np.testing.assert_array_equal(course.q, cycle.q)
    np.testing.assert_allclose(course.at(course.t)[0], cycle.q, atol=1e-12)
    (segment,) = movie(course).segments
    np.testing.assert_allclose(
        segment.poses[0], body_frames(segment.scene, course.at(segment.t)[0]), atol=1e-12
    )
    assert not segment.arrows and [p.title for p in movie(course).panels] == ["Angles"]
    course.save_html(tmp_path / "cycle.html", traces="coupler")
    course.save_video(tmp_path / "cycle.gif", size=(60, 40), rate=4, traces="coupler", progress=False)


def test_a_mode_swings_about_its_equilibrium_and_comes_back(bars):
    s = generators.two_links_and_load().system()
    modes = s.modes(s.equilibrium(seek="stable").q)
    course = modes.course(0, amplitude=0.1, samples=9)
    np.testing.assert_allclose(course.q[0], modes.positions(0, 0.1))
    np.testing.assert_allclose(course.q[-1], course.q[0], atol=1e-12)
    assert np.abs(s.closure(course.q)[0]).max() < 1e-10


def test_one_configuration_is_a_still_and_bad_ones_are_named(bars, tmp_path):
    q = bars.assemble({"A": 0.5})
    Course(bars, [q]).save_html(tmp_path / "still.html")
    for given, words in (
        ((bars, np.zeros((0, 3))), "one or more"), ((bars, "x"), "give numbers"), ((None, [q]), "is no system"),
        ((bars, [q, q], [0.0, 0.0]), "increasing"), ((bars, [q], [[1.0]]), "seconds"),
    ):  # fmt: skip
        with pytest.raises(StateError, match=words):
            Course(*given)
    with pytest.raises(ct.CatenaError, match="nan"):
        Course(bars, [q * np.nan])
