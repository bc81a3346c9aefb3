"""Writes docs/gallery: a small moving picture of every generator, what every example draws of itself, and the page.

Usage: python tools/write_gallery.py [name ...]     only these generators or examples, and the page
       python tools/write_gallery.py studio         the small pictures of the studio's start page
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import catena as ct
from catena.cli.commands.demo import DEMOS
from catena.cli.models import gallery_about, gallery_names, gallery_signature, resolve
from catena.studio.gallery import gallery, gallery_mechanism
from catena.view.raster import Painter
from catena.view.scene import scene
from catena.view.video import window_around

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "gallery"
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))
from pictures import Pictures  # noqa: E402

STUDIO, SMALL = ROOT / "src" / "catena" / "studio" / "page" / "gallery", (240, 160)
"""Where the pictures of the studio's start page are, and how large [px]."""
STILL = (800, 600)
"""Pixels of what does not move."""
LARGEST, IN_ALL = 350_000, 9_000_000
"""Bytes of the largest picture, and of all of them."""
# Seconds of a run, and the velocities that set it in motion; whatever is not named falls for a second.
STARTS: dict[str, tuple[float, dict[str, float]]] = {
    "andrews": (0.03, {}),
    "arm6": (1.0, {"joint1": 1.0, "joint2": 0.5}),
    "driven_andrews": (0.03, {}),
    "arm7": (1.5, {"joint1": 1.0, "joint2": 0.5}),
    "arms_on_object": (0.5, {}),
    "bricard": (2.0, {}),
    "delta": (0.25, {"motor1": 3.0, "motor2": -3.0}),
    "four_bar": (2.0, {"A": 8.0}),
    "free_flyer": (4.0, {"arm1/joint1": 0.5, "arm1/joint2": 0.3}),
    "hand": (0.3, {"finger1/spread": 2.0}),
    "hslm": (0.4, {}),
    "humanoid": (0.35, {}),
    "n_four_bars": (4.0, {"pin0": 1.0}),
    "nested_loops": (2.0, {"a/lower": 2.0}),
    "random_mechanism": (0.3, {}),
    "stanford_arm": (0.5, {"waist": 1.0}),
    "scissor_lift": (0.4, {}),
    "stewart": (0.45, {"leg1": 0.2, "leg2": -0.2}),
    "walker": (0.35, {}),
}


def generator(name: str) -> None:
    """Simulate a generator and write its picture."""
    demo = DEMOS.get(name)
    mechanism = resolve(demo.model if demo and demo.change is None else name)
    if demo and demo.change:
        demo.change(mechanism)
    duration, moving = STARTS.get(name, (1.0, {}))
    system = mechanism.system()
    q = system.assemble(mechanism.initial.q)
    v = system.velocity(q, moving) if moving else np.zeros(system.nv)
    if name == "andrews":
        tau = np.zeros(system.nv)
        tau[system.slice_v("beta")] = 0.033
        run = ct.simulate(system, q, v, duration, control=lambda t, q, v: tau)
    else:
        run = ct.simulate(system, q, v, duration, integrator="rk4", step=duration / 2000.0, samples=200)
    with tempfile.TemporaryDirectory() as folder:
        Pictures(__file__, [folder]).film(run)
        take(Path(folder) / "motion.webp", name)


def example(file: Path) -> None:
    """Run an example and take over its moving picture, or a small copy of its first one where nothing moves."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, str(file), folder], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{file.name} failed:\n{done.stderr}")
        film = Path(folder) / "motion.webp"
        take(film if film.exists() else still(Path(folder)), file.stem)


def still(folder: Path) -> Path:
    """The first picture of a folder, small enough for the page and large enough to be read."""
    from PIL import Image

    image = Image.open(min(folder.glob("*.png"), key=lambda path: path.stat().st_mtime)).convert("RGB")
    image.thumbnail(STILL, Image.Resampling.LANCZOS)
    small = folder / "still.webp"
    image.save(small, quality=85, method=6)
    return small


def take(made: Path, name: str) -> None:
    """Move a picture into the gallery."""
    size = made.stat().st_size
    if size > LARGEST:
        raise RuntimeError(f"the picture of {name} has {size} bytes; let it be shorter or smaller.")
    (FOLDER / f"{name}.webp").write_bytes(made.read_bytes())
    print(f"docs/gallery/{name}.webp  {size / 1e3:.0f} kB", flush=True)


def studio() -> None:
    """Write a small picture of each mechanism of the studio's start page."""
    STUDIO.mkdir(exist_ok=True)
    for each in gallery():
        system = gallery_mechanism(each["name"]).system()
        q, _ = system.start()
        shape = scene(system, q)
        painter = Painter(shape)
        named = shape.poses(q)
        poses = np.stack([named[name] for name in shape.carriers])
        window = window_around([(painter, [poses])], SMALL)
        image = painter.paint(poses, window, painter.level([poses]))
        image.save(STUDIO / f"{each['name']}.webp", quality=80, method=6)
    print(
        f"{STUDIO.relative_to(ROOT)}  {sum(f.stat().st_size for f in STUDIO.iterdir()) / 1e3:.0f} kB",
        flush=True,
    )


def entries() -> list[str]:
    """The names of all pictures: those of generators, then those of examples."""
    return [*gallery_names(), *(file.stem for file in examples())]


def examples() -> list[Path]:
    """The numbered examples."""
    return sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))


def page() -> str:
    """The gallery as text: a table with pictures and what they are."""
    lines = [
        "# Gallery",
        "",
        "Every generator of mechanisms that comes with Catena, let go or pushed, and every example, which draws its",
        "own picture. All of it is written by `python tools/write_gallery.py`. `catena view NAME` opens a mechanism in",
        "the browser, where its joints can be moved; `ct.generators.NAME()` makes it in Python.",
        "",
        "## Generators",
        "",
    ]
    lines += _table(
        [(name, f"`{gallery_signature(name)}`<br>{gallery_about(name)}") for name in gallery_names()]
    )
    lines += ["", "## Examples", ""]
    lines += _table([(f.stem, f"[{f.name}](../../examples/{f.name})<br>{about(f)}") for f in examples()])
    return "\n".join(lines) + "\n"


def about(file: Path) -> str:
    """The first sentence of an example's docstring, on one line."""
    text = " ".join(file.read_text(encoding="utf-8").split('"""')[1].split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".")


def _table(cells: list[tuple[str, str]]) -> list[str]:
    rows = ["| | | |", "|---|---|---|"]
    for k in range(0, len(cells), 3):
        some = cells[k : k + 3]
        rows.append(
            "| "
            + " | ".join(f"![{name}]({name}.webp)<br>{text}" for name, text in some)
            + " |" * (4 - len(some))
        )
    return rows


def main(arguments: list[str]) -> None:
    if arguments == ["studio"]:
        studio()
        return
    unknown = sorted(set(arguments) - set(entries()))
    if unknown:
        raise SystemExit(f"{', '.join(unknown)}: there is no such generator or example")
    FOLDER.mkdir(exist_ok=True)
    for name in gallery_names():
        if not arguments or name in arguments:
            generator(name)
    for file in examples():
        if not arguments or file.stem in arguments:
            example(file)
    for file in FOLDER.glob("*.webp"):
        if file.stem not in entries():
            file.unlink()
    (FOLDER / "README.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
