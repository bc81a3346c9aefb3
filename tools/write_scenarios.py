"""Writes the files in examples/scenarios: the runs of examples as data.

Usage: python tools/write_scenarios.py [folder]
"""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import catena as ct

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def example(name: str) -> Any:
    """Return the module of an example."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return import_module(name)


def double_pendulum() -> ct.Scenario:
    """Let go level, it swings for ten seconds."""
    m = ct.load(EXAMPLES / "models" / "double_pendulum.toml")
    return ct.Scenario(
        m, duration=10.0, samples=2001, plots=[ct.Plot(), ct.Plot("energy")], view={"traces": ["tip"]}
    )


def four_link_chain() -> ct.Scenario:
    """A chain of four links between two pins falls and comes to rest."""
    m = ct.generators.four_link_chain(damping=0.25)
    return ct.Scenario(m, np.zeros(4), np.zeros(4), duration=10.0, samples=4001, plan={"cut": ["tip"]})


def two_links_and_a_load() -> ct.Scenario:
    """Two links let go with a load between them."""
    return ct.Scenario(ct.generators.two_links_and_load((0.0, 0.0, 0.0)), duration=5.0, samples=1001)


def grapple_a_handle() -> ct.Scenario:
    """A free-flyer takes hold of a handle where its hand comes by."""
    fixture = {"name": "fixture", "parent": "ground", "child": "hand", "kind": ct.Revolute("z")}
    return ct.Scenario(
        example("09_grapple_a_handle").robot(), velocity={"base": [0, 0, 0.1, 0.25, 0.0, 0], "elbow": -0.4},
        events=[ct.Event("position.hand[0] - handle", "grapple", direction=1)],
        changes=[ct.Change(event="grapple", attach=fixture)], parameters={"handle": 0.95}, duration=4.0,
        view={"traces": ["hand"]},
    )  # fmt: skip


def couplings() -> ct.Scenario:
    """A motor turns a planetary gear, a differential and a cam; one wheel is on ice."""
    control = {"sun": "motor", "left": 0.0, "right": "drag"}
    return ct.Scenario(
        example("24_couplings").drive_train(), control=control, parameters={"motor": 0.4, "drag": -0.3}, duration=2.0,
        samples=401, plots=ct.Plot(["left", "right"]),
    )  # fmt: skip


def engine() -> ct.Scenario:
    """An engine with flywheel and gas force, which is a pulse every second turn."""
    angle = '(mod(q["main bearing"] - 0.35 + 2 * pi, 4 * pi) - 2 * pi)'
    control = {"cylinder": f"-peak * exp(-{angle}^2 / 0.18)", "main bearing": "-load"}
    return ct.Scenario(
        example("25_engine").engine(), {"main bearing": 0.3}, {"main bearing": 150.0}, control=control,
        parameters={"peak": 9e3, "load": 8.0}, duration=0.25, samples=501, plots=ct.Plot("main bearing"),
    )  # fmt: skip


def motor_sizing() -> ct.Scenario:
    """An arm moves along quintics, for the sizes of its motors."""
    told, arm = example("33_motor_sizing"), ct.generators.arm6()
    ends = {name: told.MOVE.get(name, (0.0, 0.0)) for name in arm.system().joints}
    drives = {name: ct.quintic((0.0, told.SECONDS), np.reshape(pair, (2, 1))) for name, pair in ends.items()}
    return ct.Scenario(arm, drives=drives, duration=told.SECONDS, samples=181)


SCENARIOS: dict[str, Callable[[], ct.Scenario]] = {
    "01_double_pendulum": double_pendulum,
    "03_four_link_closed_chain": four_link_chain,
    "04_two_links_and_a_load": two_links_and_a_load,
    "09_grapple_a_handle": grapple_a_handle,
    "24_couplings": couplings,
    "25_engine": engine,
    "33_motor_sizing": motor_sizing,
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in SCENARIOS.items():
        make().save(folder / f"{name}.toml")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES / "scenarios")
