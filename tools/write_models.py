"""Writes the model files in examples/models: mechanisms of the generators with what acts on them.

Usage: python tools/write_models.py [folder]
"""

import sys
from collections.abc import Callable
from pathlib import Path

import catena as ct
from catena.mechanism.generators import driven_andrews, four_bar, hslm, stewart


def double_pendulum() -> ct.Mechanism:
    """Two rods of 1 kg and 1 m that hang from a damped shoulder, let go with the upper one level."""
    m = ct.Mechanism("double pendulum")
    for name in ("upper", "lower"):
        m.add_body(name, mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 0))
    m.add_joint("shoulder", "ground", "upper", ct.Revolute("y"), damping=0.1)
    m.add_joint("elbow", "upper", "lower", ct.Revolute("y"), in_parent=ct.Pose(p=(0, 0, -1)))
    m.add_frame("tip", "lower", ct.Pose(p=(0, 0, -1)))
    m.set_initial(q={"shoulder": 1.5707963267948966, "elbow": 0.0})
    return m


def driven_four_bar() -> ct.Mechanism:
    """The four-bar linkage with a motor at its crank, which starts at 1 rad/s, and a spring at its rocker."""
    m = four_bar()
    m.add_actuator("motor", "A", limits=20.0)
    m.add_spring("return", "D", stiffness=5.0, damping=0.1)
    m.set_initial(q={"A": 0.0}, v={"A": 1.0})
    return m


def driven_stewart() -> ct.Mechanism:
    """The Stewart platform with a motor on each leg, carrying a load."""
    m = stewart()
    for k in range(1, 7):
        m.add_actuator(f"motor{k}", f"leg{k}", limits=500.0)
    m.add_wrench("load", "platform", force=(0, 0, -200))
    return m


def driven_hslm() -> ct.Mechanism:
    """The high stiffness low mass mechanism with a motor on each slide."""
    m = hslm()
    for k in range(1, 4):
        m.add_actuator(f"motor{k}", f"slide{k}", limits=400.0)
    return m


MODELS: dict[str, Callable[[], ct.Mechanism]] = {
    "andrews": driven_andrews,
    "double_pendulum": double_pendulum,
    "four_bar": driven_four_bar,
    "hslm": driven_hslm,
    "stewart": driven_stewart,
}


def main(arguments: list[str]) -> int:
    """Writes all models and returns the exit code."""
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[1] / "examples" / "models"
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in MODELS.items():
        make().save(folder / f"{name}.toml")
        print(folder / f"{name}.toml")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
