"""A slider-crank for another program: written as an FMU, whose crank a controller outside keeps at a speed.

The controller is asked 500 times a second. Where FMPy and a C compiler are found, it drives the FMU step by step, as an
importer does, and the motion is compared with the one that Catena simulates by itself.

Usage: python examples/34_fmu.py [folder for the pictures; default: out/34_fmu]
"""

import importlib.util
import shutil
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from pictures import Pictures

BLUE, ORANGE = "#4477aa", "#e07b2e"
SPEED, GAIN, RATE, SECONDS = 12.0, 0.8, 500.0, 1.2


def slider_crank() -> ct.Mechanism:
    """A crank with a flywheel, a rod, and a piston that a spring pushes back."""
    m = ct.Mechanism("slider-crank", gravity=(0, 0, -9.81))
    m.add_body("crank", mass=1.2, com=(0.02, 0, 0), inertia=(0.01, 0.02, 0.01))
    m.add_body("rod", mass=0.4, com=(0.12, 0, 0), inertia=(0.0002, 0.003, 0.003))
    m.add_body("piston", mass=0.5, inertia=(0.0004, 0.0004, 0.0004))
    m.add_joint("shaft", "ground", "crank", ct.Revolute("-y"), damping=0.005)
    m.add_joint("pin", "crank", "rod", ct.Revolute("-y"), in_parent=ct.Pose(p=(0.08, 0, 0)))
    m.add_joint("guide", "ground", "piston", ct.Prismatic("x"), damping=2.0)
    m.add_joint("gudgeon", "rod", "piston", ct.Revolute("-y"), in_parent=ct.Pose(p=(0.3, 0, 0)))
    m.add_frame("head", "ground", ct.Pose(p=(0.55, 0, 0)))
    m.add_spring_between("return", "head", "piston", stiffness=60.0, rest_length=0.3)
    return m


def torque(speed: float) -> float:
    """The control law: torque for the error of the speed."""
    return GAIN * (SPEED - speed)


class SpeedControl:
    """The law as a controller of a run here, asked as often as the FMU is."""

    rate = RATE

    def __init__(self, system: ct.System) -> None:
        self.shaft, self.nv = system.slice_v("shaft"), system.nv

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = np.zeros(self.nv)
        tau[self.shaft] = torque(float(v[self.shaft][0]))
        return tau


def driven(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Times and the outputs shaft.q, shaft.v and closure_error of the FMU, whose importer asks the law."""
    import fmpy

    description = fmpy.read_model_description(str(path))
    place = {variable.name: variable.valueReference for variable in description.modelVariables}
    told = [place[name] for name in ("shaft.q", "shaft.v", "closure_error")]
    folder = fmpy.extract(str(path))
    fmu = fmpy.instantiate_fmu(folder, description, fmi_type="CoSimulation")
    fmu.setupExperiment(startTime=0.0, tolerance=1e-10)
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    steps = round(SECONDS * RATE)
    rows = [fmu.getReal(told)]
    for k in range(steps):
        fmu.setReal([place["shaft.tau"]], [torque(rows[-1][1])])
        fmu.doStep(currentCommunicationPoint=k / RATE, communicationStepSize=1.0 / RATE)
        rows.append(fmu.getReal(told))
    fmu.terminate()
    fmu.freeInstance()
    shutil.rmtree(folder, ignore_errors=True)
    return np.arange(steps + 1) / RATE, np.array(rows)


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m = slider_crank()
    s = m.system()
    has_compiler = any(shutil.which(name) for name in ("cc", "gcc", "clang"))
    path = ct.export_fmu(
        s, out.folder / "slider_crank.fmu", inputs=["shaft.tau"], initial={"shaft": 0.3}, duration=SECONDS,
        outputs=["shaft.q", "shaft.v", "guide.q", "return.length", "energy", "closure_error"],
        parameters=["rod.mass", "return.stiffness"], compiler=None if has_compiler else False,
    )  # fmt: skip
    out.tell(path.name)
    run = ct.simulate(s, {"shaft": 0.3}, None, SECONDS, control=SpeedControl(s), samples=601)
    print(f"the crank ends at {run['shaft'][-1, 0]:.6f} rad")

    figure = Figure(figsize=(8, 4.5))
    ax = figure.subplots()
    ax.plot(run.t, run.v[:, s.slice_v("shaft")], color=BLUE, label="ct.simulate")
    ax.axhline(SPEED, color="0.6", linewidth=1)
    if has_compiler and importlib.util.find_spec("fmpy"):
        t, rows = driven(path)
        ax.plot(t[::15], rows[::15, 1], "o", color=ORANGE, markersize=3, label="FMU, driven by FMPy")
        print(f"the FMU differs by {np.abs(rows[:, 0] - run['shaft'][:, 0]).max():.1e} rad at most")
        print(f"its loop is open by {rows[:, 2].max():.1e} at most")
    else:
        print("There is no C compiler or no FMPy here: the FMU was written and not run.")
    ax.set(
        xlabel="time [s]",
        ylabel="speed of the crank [rad/s]",
        title="A crank held at 12 rad/s by a sampled law",
    )
    ax.legend()
    figure.tight_layout()
    out.figure(figure, "speed.png")
    out.film(run)


if __name__ == "__main__":
    main(sys.argv[1:])
