"""Equations from the code that runs: a double pendulum to read, what an arm costs, what waits for what, and Nikravesh,
Gim, Arabyan and Rein's comparisons of speed-ups and of recursive with non-recursive forms.

Usage: python examples/20_equations.py [folder for the pictures; default: out/20_equations]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.equations.papers.parallelism import (
    PRINTED_SPEED_UPS,
    Forms,
    PaperReading,
    forms,
    stanford_readings,
)
from catena.mechanism.generators import arm7, humanoid
from catena.view import gantt
from pictures import Pictures

HERE = Path(__file__).resolve()
BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
CHAINS = {"R": ("revolute joints", (2, 4, 5, 6, 7, 8)), "S": ("spherical joints", (2, 3, 4, 5, 6))}


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)

    # To read: the masses and lengths that are asked for stay symbols.
    pendulum = ct.load(HERE.parent / "models" / "double_pendulum.toml").system()
    upper, lower = (name for name in pendulum.mechanism.bodies if name != "ground")
    symbols = [f"{upper}.mass", f"{lower}.mass", f"{upper}.com.length", f"{lower}.com.length"]
    H = pendulum.equations("mass_matrix", symbols=symbols)
    print(f"mass matrix of the double pendulum, in {len(H.graph.operations)} operations:")
    print(H.latex(numbered=True))
    q = np.array([0.3, -0.4])
    print(f"off the running code by {np.abs(H(q) - pendulum.mass_matrix(q)).max():.0e} kg m^2")
    for file in H.save(out.folder / "mass_matrix.c"):
        print(f"wrote {file}")

    # What it costs: as the general code does it, and what is left for this mechanism.
    print()
    for name, make in (("arm7", arm7), ("humanoid", humanoid)):
        counts = make().system().equations("forward_dynamics").count()
        general, folded = counts.general.total, counts.folded.total
        print(f"forward dynamics of {name}: {general} operations in the general code, {folded} after folding")

    # What waits for what: the limbs of a humanoid work side by side, each of them is a chain.
    flow = humanoid().system().equations("forward_dynamics").dataflow("steps")
    schedule = flow.schedule(4)
    print(f"humanoid, a body in a sweep as one task: {flow.largest_speed_up:.2f} times as quick at the most,")
    print(f"  {schedule.speed_up:.2f} times on 4 processors")
    out.figure(gantt(schedule).figure, "gantt.png")

    # The paper's figure 7, in four readings.
    readings = [list(stanford_readings(n)) for n in range(1, 7)]
    print("\nStanford arm, largest speed-up with zeros skipped, sums in turn:")
    print("  " + ", ".join(f"{r[0].freedom} dof {r[0].largest_speed_up:.1f}" for r in readings))
    out.figure(speed_ups(readings), "figure_7_speed_ups.png")

    # The paper's figure 6: which form takes fewer operations.
    both = {letter: [forms(letter, n) for n in lengths] for letter, (_, lengths) in CHAINS.items()}
    star = [forms("R", n, "star") for n in (2, 4, 8, 12)]
    for letter, (words, _) in CHAINS.items():
        first = next(f.joints for f in both[letter] if f.joints > 1 and f.recursive < f.non_recursive)
        print(f"the recursive form takes fewer operations from {first} {words} on")
    out.figure(operations(both, star), "figure_6_operations.png")


def speed_ups(readings: list[list[PaperReading]]) -> Figure:
    figure = Figure(figsize=(8.0, 4.4), layout="constrained")
    speed, path = figure.subplots(1, 2)
    freedom = [r[0].freedom for r in readings]
    for k, (words, colour, line) in enumerate(
        (
            ("zeros skipped, sums in turn", BLUE, "-"), ("zeros skipped, sums as trees", BLUE, "--"),
            ("every zero, sums in turn", ORANGE, "-"), ("every zero, sums as trees", ORANGE, "--"),
        )
    ):  # fmt: skip
        style = {"color": colour, "linestyle": line, "marker": "o", "markersize": 3.5, "label": words}
        speed.plot(freedom, [r[k].largest_speed_up for r in readings], **style)
        path.plot(freedom, [r[k].critical_time for r in readings], **style)
    speed.plot(*zip(*PRINTED_SPEED_UPS.items()), "x", color=INK, markersize=9, label="printed, figure 7")
    speed.set(xlabel="degrees of freedom", ylabel="largest speed-up", ylim=(0, 125))
    path.set(xlabel="degrees of freedom", ylabel="critical path [operations]", ylim=(0, 105))
    speed.legend(frameon=False, fontsize=8)
    figure.suptitle(
        "Stanford arm, non-recursive equations: what any number of processors can gain", x=0.02, ha="left"
    )
    return finished(figure)


def operations(both: dict[str, list[Forms]], star: list[Forms]) -> Figure:
    figure = Figure(figsize=(9.5, 3.6), layout="constrained")
    panels = figure.subplots(1, 3)
    titles = {
        **{letter: f"chain of {words}" for letter, (words, _) in CHAINS.items()},
        "*": "star of revolute joints",
    }
    for panel, (letter, counted) in zip(panels, {**both, "*": star}.items(), strict=True):
        n = [f.joints for f in counted]
        panel.plot(
            n,
            [f.non_recursive for f in counted],
            color=ORANGE,
            marker="o",
            markersize=3.5,
            label="non-recursive",
        )
        panel.plot(
            n, [f.recursive for f in counted], color=BLUE, marker="o", markersize=3.5, label="recursive"
        )
        panel.set(xlabel="joints", title=titles[letter], xlim=(0, None), ylim=(0, None))
    panels[0].set(ylabel="operations")
    panels[0].legend(frameon=False)
    return finished(figure)


def finished(figure: Figure) -> Figure:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.title.set_fontsize(10)
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
