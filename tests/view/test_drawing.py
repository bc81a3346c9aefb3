"""What `draw` puts on the axes: solids, mass centres, floor, labels, limits."""

import subprocess
import sys

import numpy as np
import pytest
from mpl_toolkits.mplot3d import proj3d

import catena as ct
from catena.mechanism import generators
from catena.view import draw, picture as picture_at


def artists(ax):
    return {artist.get_gid(): artist for artist in ax.get_children() if artist.get_gid()}


def projected(ax, points):
    """Points (n, 3) as fractions (n, 2) of the axes."""
    x, y, _ = proj3d.proj_transform(*points.T, ax.get_proj())
    box = ax.viewLim
    return np.column_stack([(x - box.x0) / box.width, (y - box.y0) / box.height])


def near_faces(s, elevation, azimuth):
    """How many faces look towards an eye in that direction."""
    eye = [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
    faces = [x[[0, 1, 2, -1]] for part in picture_at(s, s.neutral()).parts for x in part.polygons]
    return sum(float(np.cross(x[2] - x[0], x[3] - x[1]) @ eye) > 0.0 for x in faces)


def test_a_picture_has_solids_mass_centres_floor_and_shadow(axes):
    s = generators.arm6().system()
    ax = draw(s, s.neutral(), axes)
    assert ax is axes
    found = artists(ax)
    assert {"solids", "mass centres", "mass quarters", "floor", "shadow"} <= set(found)
    for elevation in (ax.elev, -40.0):
        ax.view_init(elevation, 25.0, 0.0)
        ax.M = ax.get_proj()
        found["solids"].do_3d_projection()
        assert len(found["solids"].get_facecolor()) == near_faces(s, np.radians(elevation), np.radians(25.0))
    assert not [gid for gid in found if gid.startswith("label:")]


def test_plane_pictures_have_hatching_and_no_floor(axes):
    s = generators.four_bar().system()
    found = artists(draw(s, s.neutral(), axes))
    assert "hatching" in found and "floor" not in found
    assert (axes.elev, axes.azim) == (0.0, -90.0)


def test_without_gravity_there_is_no_floor(axes):
    assert "floor" not in artists(draw(generators.free_flyer().system(), ax=axes))


@pytest.mark.parametrize("name", ["arm7", "humanoid", "stewart", "four_bar", "free_flyer"])
def test_the_mechanism_is_centred_and_fills_the_axes(axes, name):
    s = getattr(generators, name)().system()
    q = s.neutral()
    draw(s, q, axes, floor=False)
    where = projected(axes, picture_at(s, q).points())
    low, high = where.min(axis=0), where.max(axis=0)
    assert (low > 0).all() and (high < 1).all()
    assert (high - low).max() == pytest.approx(0.97, abs=0.01)
    np.testing.assert_allclose((low + high) / 2, 0.5, atol=0.01)


def test_a_metre_is_as_long_along_every_axis(axes):
    draw(generators.stewart().system(), ax=axes)
    ranges = [np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())]
    np.testing.assert_allclose(ranges, ranges[0])
    assert len(set(np.round(axes._box_aspect, 12))) == 1


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ("bodies", {"crank", "coupler", "rocker"}),
        ("joints", {"A", "B", "C", "D"}),
        ("all", {"crank", "coupler", "rocker", "A", "B", "C", "D"}),
        (True, {"crank", "coupler", "rocker", "A", "B", "C", "D"}),
        (None, set()),
    ],
)
def test_labels_name_what_was_asked_for(axes, labels, names):
    found = artists(draw(generators.four_bar().system(), ax=axes, labels=labels))
    assert {gid.removeprefix("label:") for gid in found if gid.startswith("label:")} == names


def test_labels_do_not_cover_each_other_and_stand_near_their_points(axes):
    s = generators.four_bar().system()
    ax = draw(s, s.neutral(), axes, labels="all")
    ax.figure.canvas.draw()
    boxes = {
        gid: artist.get_window_extent() for gid, artist in artists(ax).items() if gid.startswith("label:")
    }
    names = sorted(boxes)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            assert not boxes[first].overlaps(boxes[second]), (first, second)
    x, y, _ = proj3d.proj_transform(*picture_at(s, s.neutral()).joint_anchors["C"], ax.get_proj())
    corner = ax.transData.transform((x, y))
    box = boxes["label:C"]
    assert np.hypot((box.x0 + box.x1) / 2 - corner[0], (box.y0 + box.y1) / 2 - corner[1]) < 60


def test_mass_centres_grow_with_mass_and_hidden_ones_are_left_out(axes):
    m = ct.Mechanism("two", gravity=(0, 0, 0))
    for name, mass, y in (("light", 1.0, 0.0), ("heavy", 8.0, 3.0)):
        m.add_body(name, mass, (0, 0, 0.5), (0.08 * mass, 0.08 * mass, 0.0))
        m.add_joint(f"to {name}", "ground", name, ct.Spherical(), in_parent=ct.Pose(p=(0, y, 0)))
    s = m.system()
    discs = artists(draw(s, s.neutral(), axes, scale=3.0))["mass centres"]
    heavy, light = sorted(discs.get_sizes())[::-1]
    assert heavy > 1.5 * light
    axes.clear()
    flyer = generators.free_flyer().system()
    shown = np.array(artists(draw(flyer, ax=axes))["mass centres"]._offsets3d).T
    masses = picture_at(flyer, flyer.neutral()).masses

    def is_shown(body):
        return bool(np.isclose(shown, masses[body][1]).all(axis=1).any())

    assert is_shown("bus") and is_shown("arm1/link2")
    assert not any(is_shown(f"wheel{k}") for k in (1, 2, 3))  # they are inside the bus
    axes.clear()
    assert "mass centres" not in artists(draw(s, s.neutral(), axes, mass_centres=False))


def test_the_view_can_be_chosen(axes):
    draw(generators.four_bar().system(), ax=axes, view=(30.0, 45.0))
    assert (axes.elev, axes.azim) == (30.0, 45.0)


def test_the_direction_of_light_matches_what_matplotlib_shows(axes):
    """The camera's `towards` and `right` are those of the projection, for any vertical axis."""
    for gravity in ((0, 0, -9.81), (0, -9.81, 0), (-9.81, 0, 0), (0, 0, 9.81), (0, 9.81, 0)):
        m = generators.arm6()
        m.gravity = gravity
        s = m.system()
        draw(s, s.neutral(), axes)
        camera = picture_at(s, s.neutral()).camera
        middle = np.array([np.mean(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())])
        points = np.array(
            [middle, middle + 0.1 * camera.right, middle + 0.1 * camera.up, middle + 0.1 * camera.towards]
        )
        x, y, z = proj3d.proj_transform(*points.T, axes.get_proj())
        assert x[1] > x[0] and y[1] == pytest.approx(y[0], abs=1e-9)
        assert y[2] > y[0] and x[2] == pytest.approx(x[0], abs=1e-9)
        np.testing.assert_allclose([x[3], y[3]], [x[0], y[0]], atol=1e-9)


def test_a_new_figure_is_made_when_no_axes_are_given():
    ax = draw(generators.arm6().system(), title="an arm")
    assert ax.name == "3d" and ax.get_title() == "an arm"


def test_flat_axes_and_batches_are_refused():
    from matplotlib import pyplot

    s = generators.arm6().system()
    with pytest.raises(ct.StateError, match="3-D axes"):
        draw(s, s.neutral(), pyplot.figure().add_subplot())
    with pytest.raises(ct.StateError, match=r"q has shape \(5, 6\), give \(6,\)"):
        draw(s, np.zeros((5, 6)))


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, catena, catena.view; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ct.CatenaError, match=r'pip install "catena-dynamics\[plot\]"'):
        draw(generators.arm6().system())
