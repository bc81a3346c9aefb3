"""Writes docs/gallery: a small moving picture of every generator and of the examples that make one, and the page.

Usage: python tools/write_gallery.py [name ...]     only these generators or examples, and the page
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import catena as ct
from catena.cli.commands.demo import DEMOS
from catena.cli.models import gallery_about, gallery_names, gallery_signature, resolve

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "gallery"
SIZE, RATE, LENGTH, COLOURS = (240, 180), 12.0, 3.0, 24
LARGEST = 300_000
"""Bytes of the largest picture."""
# Seconds of a run, and the velocities that set it in motion; whatever is not named falls for a second.
STARTS: dict[str, tuple[float, dict[str, float]]] = {
    "andrews": (0.03, {}),
    "arm6": (1.0, {"joint1": 1.0, "joint2": 0.5}),
    "driven_andrews": (0.03, {}),
    "arm7": (1.5, {"joint1": 1.0, "joint2": 0.5}),
    "arms_on_object": (0.5, {}),
    "bricard": (2.0, {}),
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


def film(name: str) -> None:
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
    write(run, FOLDER / f"{name}.gif", duration)


def write(run: ct.Trajectory, file: Path, duration: float) -> None:
    """A film of the same length whatever the run."""
    run.save_video(
        file,
        size=SIZE,
        rate=RATE,
        speed=duration / LENGTH,
        clock=False,
        floor=False,
        colours=COLOURS,
        progress=False,
    )
    assert file.stat().st_size < LARGEST, f"{file} has {file.stat().st_size} bytes"
    print(f"{file.relative_to(ROOT)}  {file.stat().st_size / 1e3:.0f} kB")


def example(file: Path) -> None:
    """Run an example and take its moving picture over, if it makes one."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(file), folder], check=True, capture_output=True)
        for made in Path(folder).glob("motion.gif"):
            made.replace(FOLDER / f"{file.stem}.gif")
            print(
                f"docs/gallery/{file.stem}.gif  {(FOLDER / f'{file.stem}.gif').stat().st_size / 1e3:.0f} kB"
            )


def page() -> str:
    """The gallery as text: a table with pictures and what they are."""
    lines = [
        "# Gallery",
        "",
        "Every generator of mechanisms that comes with Catena, let go or pushed, and the examples. The pictures are",
        "written by `python tools/write_gallery.py`. `catena view NAME` opens a mechanism in the browser, where its",
        "joints can be moved; `ct.generators.NAME()` makes it in Python.",
        "",
        "## Generators",
        "",
    ]
    lines += _table(
        [(name, f"`{gallery_signature(name)}`<br>{gallery_about(name)}") for name in gallery_names()]
    )
    lines += ["", "## Examples", ""]
    made = [file for file in examples() if (FOLDER / f"{file.stem}.gif").exists()]
    lines += _table([(file.stem, f"[{file.name}](../../examples/{file.name})") for file in made])
    return "\n".join(lines) + "\n"


def _table(cells: list[tuple[str, str]]) -> list[str]:
    rows = ["| | | |", "|---|---|---|"]
    for k in range(0, len(cells), 3):
        some = cells[k : k + 3]
        rows.append(
            "| "
            + " | ".join(f"![{name}]({name}.gif)<br>{text}" for name, text in some)
            + " |" * (4 - len(some))
        )
    return rows


def examples() -> list[Path]:
    """The numbered examples."""
    return sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))


def main(arguments: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in gallery_names():
        if not arguments or name in arguments:
            film(name)
    for file in examples():
        if not arguments or file.stem in arguments:
            example(file)
    (FOLDER / "README.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
