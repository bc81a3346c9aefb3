"""Writes what pages take from others, minified: modules for the studio, to src/catena/studio/page/vendor, and uPlot for
every page with plots, to src/catena/view/player/vendor.

Usage: python tools/write_vendor.py     needs npm, which fetches the packages that tools/vendor/package.json names

Each file has its digest in DIGESTS.txt, which a test compares, and the licence of every package that is in one stands
in LICENCES.txt. That of uPlot stands in the file too, because saved pages are copies of it. Users of Catena, and those
who work on it, need neither npm nor the network.
"""

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "tools" / "vendor"
STUDIO = ROOT / "src" / "catena" / "studio" / "page" / "vendor"
PLAYER = ROOT / "src" / "catena" / "view" / "player" / "vendor"


def main() -> None:
    """Fetch, bundle, and write what is kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in SOURCE.iterdir():
            shutil.copy(file, folder)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
        used: set[str] = set()
        STUDIO.mkdir(exist_ok=True)
        PLAYER.mkdir(exist_ok=True)
        for entry in sorted(SOURCE.glob("*.js")):
            told = folder / f"{entry.stem}.json"
            subprocess.run(
                [
                    "npx", "esbuild", entry.name, "--bundle", "--minify", "--format=esm", "--legal-comments=none",
                    f"--outfile={STUDIO / entry.name}", f"--metafile={told}",
                ],
                cwd=folder,
                check=True,
            )  # fmt: skip
            used |= {
                package(path) for path in json.loads(told.read_text())["inputs"] if "node_modules" in path
            }
        packages = folder / "node_modules"
        plots = licence(packages / "uplot")
        script, style = (
            packages / "uplot" / "dist" / name for name in ("uPlot.iife.min.js", "uPlot.min.css")
        )
        content = script.read_text(encoding="utf-8").strip()
        (PLAYER / "uplot.js").write_text(f"/*! {plots}\n*/\n{content}\n", encoding="utf-8")
        shutil.copy(style, PLAYER / "uplot.css")
        write_about(PLAYER, [plots])
        write_about(STUDIO, [licence(packages / one) for one in sorted(used)])


def write_about(target: Path, licences: list[str]) -> None:
    """Write down whose work the files of a folder are, and their digests."""
    (target / "LICENCES.txt").write_text("\n\n".join(licences) + "\n", encoding="utf-8")
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}"
        for file in sorted(target.iterdir())
        if file.suffix in (".js", ".css")
    ]
    (target / "DIGESTS.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def package(path: str) -> str:
    """The name of the package that a file is of."""
    parts = path.split("node_modules/")[-1].split("/")
    return "/".join(parts[:2]) if parts[0].startswith("@") else parts[0]


def licence(folder: Path) -> str:
    """Name, version, licence and its words of a package."""
    about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    words = next((file for file in sorted(folder.iterdir()) if file.name.upper().startswith("LICEN")), None)
    text = words.read_text(encoding="utf-8").strip() if words else "(the package has no file of its licence)"
    return f"{'=' * 80}\n{about['name']} {about['version']}: {about.get('license')}\n{'=' * 80}\n{text}"


if __name__ == "__main__":
    main()
