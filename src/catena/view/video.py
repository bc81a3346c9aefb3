"""A run as a film: .gif and .webp with Pillow, .mp4 with the ffmpeg of the computer or the one that imageio-ffmpeg
brings."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import CatenaError, FormatError, StateError
from catena.formats.complete import file_path, write_complete
from catena.kernels.arrays import as_list
from catena.mechanism.validation import known
from catena.simulation import Segment as RunSegment
from catena.simulation.following.progress import RunProgress
from catena.simulation.results.contact_force_history import ContactForceHistory
from catena.validation import shown
from catena.view import theme
from catena.view.arrows import GROUPS, Arrows, arrows_of, longest_arrow, usual_sizes
from catena.view.camera import camera as camera_from
from catena.view.flexing import checked_factor
from catena.view.movie import SPEEDS, Motion, Stretch, floor_of, movie, pressing_of, traced, with_motion
from catena.view.points import traceable
from catena.view.raster import Painter, Viewport, require_pillow
from catena.view.scene import Scene, body_colours, scene
from catena.view.sites import joint_sites

Floats = NDArray[np.float64]

ENDINGS = (".mp4", ".gif", ".webp")
MOST = 20_000
"""The greatest number of pictures of a film."""


def save_video(
    run: Motion,
    path: str | os.PathLike[str],
    *,
    size: tuple[int, int] = (640, 480),
    rate: float | None = None,
    speed: float | None = None,
    camera: tuple[float, float] | None = None,
    traces: str | Iterable[str] = (),
    clock: bool = True,
    floor: bool | None = None,
    motion: int = 0,
    forces: bool | Iterable[str] = False,
    exaggerate: float = 1.0,
    colours: int = 64,
    progress: bool | None = None,
) -> None:
    """Write a run as a film of `size` pixels with `rate` pictures a second (30; 20 in a .gif or .webp).

    `speed` is how many seconds of the run pass in one of the film, chosen from the length of the run unless given.
    `camera` = (elevation, azimuth) in degrees looks from elsewhere, `traces` are frames or bodies whose ways are drawn,
    `clock` writes the time into the corner, `floor` leaves the floor out or puts one in, `motion` is which of a batch.
    `forces` draws arrows: some of "reactions", "actuators", "contacts" and "applied", or True for all of them.
    Flexible bodies deform `exaggerate` times as far as they do.
    A .gif has so many `colours`. Long films tell their progress. The file appears complete or not at all.
    """
    file = file_path(path)
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        raise FormatError(f"{file}: {ending!r} is no format for films: name a .mp4, .gif or .webp file")
    width, height = _size(size)
    rate = _positive("rate", (30.0 if ending == ".mp4" else 20.0) if rate is None else rate)
    writer = require_ffmpeg() if ending == ".mp4" else require_pillow()
    factor = checked_factor(exaggerate)
    if isinstance(colours, bool) or not isinstance(colours, int | np.integer) or not 2 <= colours <= 256:
        raise StateError(f"colours is {shown(colours)}; give a whole number from 2 to 256.")
    short = movie(run, motion=motion, forces=False, plots=False)
    speed = short.speed if speed is None else _positive("speed", speed)
    duration = short.end - short.start
    count = int(np.floor(duration / speed * rate)) + 1
    if count > MOST:
        raise StateError(
            f"the film would have {count} pictures; raise speed or lower rate to stay below {MOST}."
        )
    times = np.minimum(short.start + speed / rate * np.arange(count), short.end)
    run, _, motion = with_motion(run, int(motion))
    groups, eye, names = _groups(forces), _eye(camera), traced(run, traces)
    pictures = _pictures(run, motion, times, (width, height), eye, names, clock, floor, groups, factor)
    counted = _counted(pictures, times - short.start, duration, progress)
    if ending == ".mp4":
        content = _mp4(counted, (width, height), rate, writer)
    else:
        content = _gif(counted, rate, colours, writer) if ending == ".gif" else _webp(counted, rate)
    write_complete(file, content)


def require_ffmpeg() -> str:
    """Return the command of an ffmpeg, or raise an error that says how to install one."""
    require_pillow()
    command = shutil.which("ffmpeg")
    if command:
        return command
    try:
        import imageio_ffmpeg  # type: ignore[import-untyped,unused-ignore]

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        raise CatenaError(
            'A .mp4 needs ffmpeg, which is not installed: pip install "catena-dynamics[view]", or name a .gif file.'
        ) from error


def _pictures(
    run: Motion, motion: int, times: Floats, size: tuple[int, int], camera: Any, traces: list[str], clock: bool,
    floor: bool | None, groups: Sequence[str], factor: float,
) -> Iterator[Any]:  # fmt: skip
    """The pictures at some times; a structure that changes has a painter for each."""
    parts: Sequence[Stretch] = run.segments
    owners = np.searchsorted([part.t[0] for part in parts[1:]], times, side="right")
    reels: list[_Reel] = []
    colours: dict[str, theme.Colour] = {}
    for k, part in enumerate(parts):
        if np.any(owners == k):
            pressing = pressing_of(run, k)
            reels.append(
                _Reel(
                    part, motion, times[owners == k], camera, traces, floor, groups, pressing, factor, colours
                )
            )
            colours = body_colours(reels[-1].painter.scene) | colours
    sizes = usual_sizes([(reel.times, reel.arrows) for reel in reels])
    strongest = max(force for force, _ in sizes.values())
    drawn = [reel.arrow_lines(strongest) for reel in reels]
    ends = np.concatenate([lines.reshape(-1, 3) for lines, _ in drawn])
    window = window_around([(reel.painter, reel.some) for reel in reels], size, ends)
    lowest = min((reel.painter.level(reel.some) for reel in reels if reel.painter.has_floor), default=0.0)
    plane = floor_of(run)
    level = lowest if plane is None else plane
    behind = dict.fromkeys(traces, np.empty((0, 3)))
    for reel, (lines, inks) in zip(reels, drawn, strict=True):
        for k, t in enumerate(reel.times):
            arrows = list(zip(lines[:, k], inks, strict=True))
            ways = list(reel.ways_until(t, behind).values())
            image = reel.painter.paint(reel.poses[k], window, level, ways, arrows)
            if clock:
                _write(image, f"{t:.{2 if times[-1] >= 1.0 else 4}f} s")
            yield image
        behind = reel.ways_until(np.inf, behind)


class _Reel:
    """The part of a film that has one structure: a painter, and poses (times, bodies, 4, 4)."""

    def __init__(
        self, run: Stretch, motion: int, times: Floats, camera: Any, traces: list[str], floor: bool | None,
        groups: Sequence[str], pressing: Sequence[ContactForceHistory], factor: float,
        colours: Mapping[str, theme.Colour],
    ) -> None:  # fmt: skip
        system = run.system
        q = _states(run, times).reshape(-1, len(times), system.nq)[motion]
        shape = scene(system, q[0], motion=q, colours=colours)
        looking = shape.camera
        if camera is not None:
            sites = joint_sites(system.mechanism, shape.poses(q[0]), system.loops, shape.carriage)
            looking = camera_from(system.mechanism.gravity, sites.values(), camera)
        found = shape.poses(q, factor)
        self.times = times
        self.painter = Painter(shape, looking, floor)
        self.poses = np.stack(
            [np.broadcast_to(found[name], (len(q), 4, 4)) for name in shape.carriers], axis=1
        )
        self.some = list(self.poses[np.unique(np.linspace(0, len(q) - 1, 40).round().astype(int))])
        # Between two pictures a point may go far; its way is drawn at the samples of the run as well.
        self._fine = np.union1d(times, run.t) if traces else times
        fine = _states(run, self._fine).reshape(-1, len(self._fine), system.nq)[motion] if traces else q
        places = shape.poses(fine, factor) if traces else found
        points = {each.name: each for each in traceable(system.mechanism)}
        carried = {
            name: shape.carriage(points[name].body, points[name].point) for name in traces if name in points
        }
        self._ways = {
            name: places[on][:, :3, :3] @ p + places[on][:, :3, 3] for name, (on, p) in carried.items()
        }

        self.arrows = _arrows(run, shape, motion, times, groups, pressing)

    def arrow_lines(self, strongest: float) -> tuple[Floats, list[theme.Colour]]:
        """Return where arrows of forces start and end (arrows, times, 2, 3) in ground, and their colours; those that
        are zero start and end at one place."""
        found: list[Floats] = []
        for arrow in self.arrows:
            pose = self.poses[:, self.painter.scene.carriers.index(arrow.body)]
            start = np.einsum("tij,j->ti", pose[:, :3, :3], arrow.point) + pose[:, :3, 3]
            start = start if arrow.offset is None else start + arrow.offset
            found.append(
                np.stack(
                    [start, start + arrow.vectors * longest_arrow(self.painter.scene) / strongest], axis=1
                )
            )
        lines = np.array(found).reshape(-1, len(self.times), 2, 3)
        return lines, [theme.ARROWS[arrow.group] for arrow in self.arrows]

    def ways_until(self, t: float, behind: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the ways (n, 3) of traced points up to a time, on from those that are behind them."""
        count = int(np.searchsorted(self._fine, t, side="right"))
        own = {name: way[:count] for name, way in self._ways.items()}
        return {name: np.concatenate([way, own.get(name, way[:0])]) for name, way in behind.items()}


def _states(run: Stretch, times: Floats) -> Floats:
    """q (..., times, nq): between samples, or at the nearest ones where these are too far apart."""
    try:
        return run.at(times)[0]
    except CatenaError:
        nearest = np.searchsorted(0.5 * (run.t[1:] + run.t[:-1]), times)
        return run.q[..., nearest, :]


def _arrows(
    run: Stretch,
    shape: Scene,
    motion: int,
    times: Floats,
    groups: Sequence[str],
    pressing: Sequence[ContactForceHistory],
) -> list[Arrows]:
    """Return the forces of a run at some times, of the groups that are asked for."""
    if not groups or not isinstance(run, RunSegment):
        return []
    main = run.state(*(int(k) for k in np.unravel_index(motion, run.batch))) if run.batch else run
    try:
        asked = main.resample(times) if len(times) > 1 else main.resample(np.array([times[0], main.t[-1]]))
    except CatenaError:
        # Samples too far apart to tell what is between them.
        return []
    found = [
        arrow for arrow in arrows_of(asked, shape, pressing) if arrow.group in groups and not arrow.is_moment
    ]
    count = len(times)
    return [
        replace(
            each, vectors=each.vectors[:count], offset=None if each.offset is None else each.offset[:count]
        )
        for each in found
    ]


def _eye(camera: Any) -> tuple[float, float] | None:
    if camera is None:
        return None
    try:
        elevation, azimuth = (float(x) for x in camera)
    except (TypeError, ValueError):
        elevation = azimuth = np.nan
    if not np.isfinite([elevation, azimuth]).all():
        raise StateError(f"camera is {shown(camera)}; give elevation and azimuth in degrees.")
    return elevation, azimuth


def _groups(forces: Any) -> tuple[str, ...]:
    if isinstance(forces, bool):
        return GROUPS if forces else ()
    groups = as_list("forces", [forces] if isinstance(forces, str) else forces, str, "groups, or True")
    return tuple(known("group of forces", name, GROUPS, "save_video") for name in groups)


def window_around(
    seen_by: Sequence[tuple[Painter, Sequence[Floats]]], size: tuple[int, int], also: Floats | None = None
) -> Viewport:
    """Return the window that holds everything painters see at some poses (bodies, 4, 4), and the points `also` (n, 3),
    with a little room."""
    boxes = np.array([painter.seen(poses) for painter, poses in seen_by])
    if also is not None and len(also):
        points = also @ seen_by[0][0].axes[:2].T
        boxes = np.concatenate([boxes, [[points.min(axis=0), points.max(axis=0)]]])
    low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
    span = np.maximum(high - low, 1e-9)
    return Viewport(size, 0.5 * (low + high), float(np.min(0.9 * np.array(size) / span)))


def _write(image: Any, text: str) -> None:
    from PIL import ImageDraw

    ImageDraw.Draw(image).text((8, image.height - 18), text, fill=theme.FAINT_INK)


def _counted(pictures: Iterator[Any], times: Floats, duration: float, wanted: bool | None) -> Iterator[Any]:
    """The pictures, with a line on the terminal that says how far they are."""
    line = RunProgress(max(duration, 1e-9), wanted)
    try:
        for t, image in zip(times, pictures, strict=True):
            line.tick(float(t))
            yield image
    finally:
        line.done()


def _gif(pictures: Iterator[Any], rate: float, colours: int, PIL: Any) -> bytes:
    """Return all pictures with one palette, that of the first and the middle one side by side."""
    images = list(pictures)
    both = PIL.Image.new("RGB", (2 * images[0].width, images[0].height))
    both.paste(images[0], (0, 0))
    both.paste(images[len(images) // 2], (images[0].width, 0))
    # Rare colours, such as the orange of loops, are to keep their place.
    palette = both.quantize(colours, method=PIL.Image.Quantize.FASTOCTREE, dither=PIL.Image.Dither.NONE)
    flat = [image.quantize(palette=palette, dither=PIL.Image.Dither.NONE) for image in images]
    return _moving(flat, format="GIF", optimize=False, duration=max(20, round(1000.0 / rate / 10.0) * 10))


def _webp(pictures: Iterator[Any], rate: float) -> bytes:
    """Return all pictures in all colours, in a third of the bytes of a .gif."""
    return _moving(list(pictures), format="WEBP", quality=60, method=4, duration=round(1000.0 / rate))


def _moving(images: Sequence[Any], **options: Any) -> bytes:
    """Pictures of Pillow that follow each other without end, as a file."""
    stream = io.BytesIO()
    images[0].save(stream, save_all=True, append_images=images[1:], loop=0, **options)
    return stream.getvalue()


def _mp4(pictures: Iterator[Any], size: tuple[int, int], rate: float, ffmpeg: str) -> bytes:
    """Return all pictures, encoded as they are painted, so that a long film needs no more memory than a short one."""
    with tempfile.TemporaryDirectory(prefix="catena_") as folder:
        file = Path(folder) / "film.mp4"
        # Colours in half the places of the picture are what all players understand.
        command = [
            ffmpeg, "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}",
            "-r", f"{rate:.6g}", "-i", "-", "-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20",
            "-movflags", "+faststart", str(file),
        ]  # fmt: skip
        with open(Path(folder) / "words.txt", "w+", encoding="utf-8", errors="replace") as words:
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=words
            ) as encoder:
                try:
                    for image in pictures:
                        encoder.stdin.write(image.tobytes())  # type: ignore[union-attr]
                except BrokenPipeError:
                    pass  # it says below why it went away
                except BaseException:
                    encoder.kill()
                    raise
            if encoder.returncode or not file.exists():
                words.seek(0)
                said = " ".join(words.read().split())[-300:] or f"it ended with {encoder.returncode}"
                raise CatenaError(f"ffmpeg could not write the film: {said}. Name a .gif file instead.")
        return file.read_bytes()


def _size(size: Any) -> tuple[int, int]:
    try:
        width, height = (int(x) for x in size)
    except (TypeError, ValueError):
        raise StateError(f"size is {shown(size)}; give two whole numbers of pixels.") from None
    if not (16 <= width <= 4096 and 16 <= height <= 4096):
        raise StateError(f"size is {shown(size)}; give numbers of pixels between 16 and 4096.")
    # Encoders of films want even numbers.
    return width + width % 2, height + height % 2


def _positive(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, bool) or not 0.0 < number < 1e6:
        raise StateError(f"{name} is {shown(value)}; give a positive number, such as {SPEEDS[9]:g}.")
    return number
