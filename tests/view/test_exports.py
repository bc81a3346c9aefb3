"""Films and line drawings: what is in them, and what is said about bad arguments and missing packages."""

import io
import re
import subprocess
import sys

import numpy as np
import pytest

import catena as ct
from catena.mechanism import generators
from catena.view.raster import Painter
from catena.view.scene import scene
from catena.view.video import require_ffmpeg, window_around


@pytest.fixture(scope="module")
def run():
    s = generators.four_bar().system()
    q = s.assemble({"A": 0.5})
    return ct.simulate(s, q, s.velocity(q, {"A": 3.0}), 0.5, integrator="rk4", step=5e-3)


@pytest.mark.parametrize("ending", [".gif", ".webp"])
def test_a_film_has_the_pictures_of_its_length_and_they_differ(run, tmp_path, ending):
    from PIL import Image

    run.save_video(tmp_path / f"run{ending}", size=(160, 120), rate=10, speed=0.5, traces=["coupler"])
    with Image.open(tmp_path / f"run{ending}") as film:
        assert film.size == (160, 120) and film.n_frames == 11
        first = np.asarray(film.convert("RGB"), dtype=int)
        film.seek(6)
        assert np.abs(np.asarray(film.convert("RGB"), dtype=int) - first).max() > 60


def test_a_film_is_written_by_the_encoder(run, tmp_path):
    """What ffmpeg reads back are the pictures of the .gif, at the same times."""
    from PIL import Image

    try:
        ffmpeg = require_ffmpeg()
    except ct.CatenaError:
        pytest.skip("no ffmpeg")
    run.save_video(tmp_path / "run.mp4", size=(161, 120), rate=10, speed=0.5)
    assert (tmp_path / "run.mp4").read_bytes()[4:8] == b"ftyp"
    assert [file.name for file in tmp_path.iterdir()] == ["run.mp4"]
    command = [
        ffmpeg,
        "-v",
        "error",
        "-i",
        str(tmp_path / "run.mp4"),
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-",
    ]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    film = np.frombuffer(raw, dtype=np.uint8).reshape(-1, 120, 162, 3).astype(int)
    run.save_video(tmp_path / "run.gif", size=(161, 120), rate=10, speed=0.5, colours=256)
    with Image.open(tmp_path / "run.gif") as pictures:
        assert len(film) == pictures.n_frames == 11
        for k in (0, 6, 10):
            pictures.seek(k)
            assert np.abs(film[k] - np.asarray(pictures.convert("RGB"), dtype=int)).mean() < 4.0
    assert np.abs(film[6] - film[0]).mean() > 4.0


def test_an_encoder_that_fails_is_told_in_its_words(run, tmp_path, monkeypatch):
    broken = tmp_path / "ffmpeg"
    broken.write_text("#!/bin/sh\necho 'Unknown encoder libx264' >&2\nexit 1\n")
    broken.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ct.CatenaError, match="ffmpeg could not write the film: Unknown encoder libx264"):
        run.save_video(tmp_path / "run.mp4", size=(64, 48), rate=10)
    assert [file.name for file in tmp_path.iterdir()] == ["ffmpeg"]


def test_the_painter_draws_bodies_where_the_camera_sees_them():
    s = generators.four_bar().system()
    q = s.assemble({"A": 0.5})
    painter = Painter(scene(s, q))
    poses = np.stack([s.body_poses(q)[name] for name in painter.scene.bodies])
    window = window_around([(painter, poses[None])], (200, 200))
    image = np.asarray(painter.paint(poses, window), dtype=int)
    middle = painter.scene.body_anchors["rocker"]
    x, y = window.pixels(((s.pose(q, "rocker") * middle.point) @ painter.axes.T)[:2]) / 2
    assert np.abs(image[round(y), round(x)] - 255).max() > 40
    assert np.all(image[2, 2] == 255)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 3}, "size is 3"), ({"size": (1, 1)}, "between 16 and 4096"), ({"rate": 0}, "rate is 0"),
        ({"speed": -1}, "speed is -1"), ({"speed": 1e-5}, "pictures; raise speed"), ({"motion": 3}, "motion is 3"),
    ],
)  # fmt: skip
def test_bad_arguments_of_a_film_are_named(run, tmp_path, options, words):
    with pytest.raises(ct.StateError, match=words):
        run.save_video(tmp_path / "run.gif", **options)
    assert list(tmp_path.iterdir()) == []


def test_endings_and_names_are_checked(run, tmp_path):
    with pytest.raises(ct.FormatError, match=r"'\.avi' is no format for films"):
        run.save_video(tmp_path / "run.avi")
    with pytest.raises(ct.UnknownNameError, match="nobody"):
        run.save_video(tmp_path / "run.gif", traces=["nobody"])
    with pytest.raises(ct.FormatError, match=r"'\.doc' is no format for drawings"):
        ct.save_drawing(run.system, tmp_path / "a.doc")
    with pytest.raises(ct.StateError, match="labels is 'some'"):
        ct.save_drawing(run.system, tmp_path / "a.svg", labels="some")


def test_missing_packages_are_named_with_the_command_that_installs_them(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ct.CatenaError, match=r'pip install "catena-dynamics\[view\]", or name a \.gif'):
        run.save_video(tmp_path / "run.mp4")
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ct.CatenaError, match=r'Films need Pillow.*pip install "catena-dynamics\[view\]"'):
        run.save_video(tmp_path / "run.gif")


def test_a_long_film_tells_its_progress(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("catena.simulation.following.progress.SILENT_FOR", 0.0)
    monkeypatch.setattr("catena.simulation.following.progress.EVERY", 0.0)
    run.save_video(tmp_path / "run.gif", size=(64, 48), rate=10, progress=True)
    assert re.search(r"100 %.*t = 0\.\d+ s", capsys.readouterr().err)


def test_a_line_drawing_names_every_joint_and_draws_every_body(tmp_path):
    s = generators.four_bar().system()
    ct.save_drawing(s, tmp_path / "bars.svg", labels="all")
    text = (tmp_path / "bars.svg").read_text()
    for name in ("A", "B", "C", "D", "crank", "coupler", "rocker"):
        assert re.search(rf"<text[^>]*>{name}</text>", text)
    for gid in ("body:crank", "joint:A", "ground:A", "ground:D"):
        assert f'id="{gid}"' in text
    drawn = ct.Linkage("bars", fixed={"O": (0, 0), "P": (1, 0)}).bars({"O-A": 0.3, "A-B": 0.8, "P-B": 0.7})
    linkage = drawn.sketch({"A": (0.3, 0.1), "B": (0.8, 0.6)}).mechanism()
    linkage.add_frame("tip", "A-B", ct.Pose(p=(0.2, 0, 0.3)))
    ct.save_drawing(linkage.system(), tmp_path / "frames.svg", labels="frames")
    assert 'id="frame:tip"' in (tmp_path / "frames.svg").read_text()
    ct.save_drawing(s, tmp_path / "bars.pdf")
    assert (tmp_path / "bars.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("name", ["stewart", "andrews", "humanoid", "hslm", "free_flyer"])
def test_any_mechanism_has_a_line_drawing(name):
    from catena.view.line_drawing import line_drawing

    s = getattr(generators, name)().system()
    figure = line_drawing(s, labels="all")
    figure.savefig(io.BytesIO(), format="svg")
    gids = {artist.get_gid() for artist in figure.axes[0].get_children()}
    assert {f"body:{body}" for body in s.mechanism.bodies if body != "ground"} <= gids


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"forces": 3}, "forces is 3"), ({"traces": 3}, "traces is 3"), ({"camera": 3}, "camera is 3"),
        ({"camera": ("a", 1)}, "camera is"), ({"colours": 0}, "colours is 0"), ({"exaggerate": -1}, "exaggerate is -1"),
    ],
)  # fmt: skip
def test_options_of_a_film_that_are_none_are_named(run, tmp_path, options, words):
    with pytest.raises(ct.CatenaError, match=words):
        run.save_video(tmp_path / "x.gif", **options)


def test_options_of_a_page_that_are_none_are_named(run, tmp_path):
    with pytest.raises(ct.CatenaError, match="no option is named 'exagerate': did you mean 'exaggerate'"):
        run.save_html(tmp_path / "x.html", exagerate=3)
    with pytest.raises(ct.CatenaError, match="title is 3"):
        run.save_html(tmp_path / "x.html", title=3)
    run.save_html(tmp_path / "x.html", traces="coupler")


def test_a_page_says_with_which_parameters_it_was_made(tmp_path):
    (tmp_path / "swing.toml").write_text(
        '[mechanism]\nname = "swing"\n[parameters]\nlength = 0.4\n[[body]]\nname = "rod"\nmass = 1.0\n'
        'com = [0, 0, "-length"]\ninertia = 0.01\n[[joint]]\nname = "pin"\nparent = "ground"\nchild = "rod"\n'
        'kind = "revolute"\naxis = "y"\n'
    )
    s = ct.load(tmp_path / "swing.toml", parameters={"length": 0.35}).system()
    run = ct.simulate(s, [0.3], [0.0], 0.1)
    run.save_html(tmp_path / "swing.html")
    assert '"parameters":{"length":0.35}' in (tmp_path / "swing.html").read_text(encoding="utf-8")
