"""Arrows of contacts against Coulomb's law and the weight: a sled slides, comes to rest and sticks."""

import numpy as np
import pytest
from PIL import Image

import catena as ct
from catena.errors import UnknownNameError
from catena.view import theme
from catena.view.arrows import arrows_of, longest_arrow
from catena.view.movie import movie
from catena.view.player.payload import payload
from catena.view.scene import scene

MASS, FRICTION, SPEED, G = 2.0, 0.3, 1.0, 9.81
STOPS = SPEED / (FRICTION * G)


@pytest.fixture(scope="module")
def run():
    m = ct.Mechanism("sled")
    m.add_body("carriage", mass=0.0)
    m.add_body("sled", mass=MASS, inertia=0.1, visuals=ct.shapes.Box((0.4, 0.2, 0.1)))
    m.add_joint("along", "ground", "carriage", ct.Prismatic("x"), actuated=False)
    m.add_joint("up", "carriage", "sled", ct.Prismatic("z"), actuated=False)
    m.add_frame("foot", "sled", ct.Pose(p=(0, 0, -0.1)))
    s = m.system()
    return ct.simulate(s, [0.0, 0.1], [SPEED, 0.0], 0.8, contacts=[ct.Contact("foot", friction=FRICTION)])


def test_sliding_and_sticking_contacts_are_arrows_of_one_group(run):
    shown = movie(run)
    slides, sticks = (next(a for a in part.arrows if a.group == "contacts") for part in shown.segments)
    assert shown.segments[1].t[0] == pytest.approx(STOPS, rel=1e-6)
    weight = MASS * G
    np.testing.assert_allclose(
        slides.vectors, np.tile([-FRICTION * weight, 0.0, weight], (len(slides.vectors), 1)), atol=1e-6
    )
    np.testing.assert_allclose(
        sticks.vectors, np.tile([0.0, 0.0, weight], (len(sticks.vectors), 1)), atol=1e-6
    )
    for arrow in (slides, sticks):
        assert (arrow.name, arrow.body) == ("foot", "sled")
        np.testing.assert_allclose(arrow.point, [0, 0, -0.1])
    assert [name for _, name in shown.events] == [change.name for change in run.transitions[-1:]]
    assert shown.floor == 0.0, "the floor is the plane that the contacts are on"
    groups = {a.group for part in shown.segments for a in part.arrows}
    assert "applied" not in groups, "what a contact pushes with is not told twice"


def test_a_ball_is_pushed_where_it_touches():
    m = ct.Mechanism("ball")
    m.add_body("ball", mass=1.0, inertia=0.004, visuals=ct.shapes.Sphere(0.1))
    m.add_joint("free", "ground", "ball", ct.Free(), actuated=False)
    s = m.system()
    q = s.neutral()
    q[2] = 0.1
    rolls = ct.simulate(s, q, np.zeros(6), 0.05, contacts=[ct.Contact("ball", friction=0.3, radius=0.1)])
    (arrow,) = arrows_of(rolls.segments[0], scene(s, q), rolls.pressing(0))
    np.testing.assert_allclose(arrow.offset, np.tile([0, 0, -0.1], (len(arrow.offset), 1)))
    np.testing.assert_allclose(arrow.vectors[:, 2], G, rtol=1e-6)


def test_arrows_of_pages_and_films_have_one_scale(run, tmp_path):
    data = payload(movie(run))
    scene = movie(run).segments[0].scene
    assert data["scenes"][0]["longest"] == longest_arrow(scene)
    assert data["groups"] == theme.ARROWS
    film = {"size": (160, 120), "rate": 5, "speed": 0.4, "progress": False, "clock": False}
    run.save_video(tmp_path / "with.gif", forces="contacts", **film)
    run.save_video(tmp_path / "without.gif", **film)
    green = tuple(int(theme.ARROWS["contacts"][k : k + 2], 16) for k in (1, 3, 5))

    def pixels(name):
        image = np.asarray(Image.open(tmp_path / name).convert("RGB"), dtype=int)
        return int(np.sum(np.abs(image - green).sum(axis=-1) < 40))

    assert pixels("with.gif") > 20 and pixels("without.gif") == 0
    with pytest.raises(UnknownNameError, match="no group of forces is named 'contact'"):
        run.save_video(tmp_path / "x.gif", forces="contact", **film)
