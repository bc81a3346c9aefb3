"""Gears, a differential and a cam: a motor drives two wheels through a planetary stage, and a cam works a valve.

Usage: python examples/24_couplings.py [folder for the pictures; default: out/24_couplings]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
# Radii of the sun and of the planet [m], lift of the cam [m].
SUN, PLANET, LIFT = 0.03, 0.02, 0.01


PLACES = {
    "left": ct.Pose(p=(-0.16, 0, 0)), "right": ct.Pose(p=(0.16, 0, 0)), "camshaft": ct.Pose(p=(0, 0, 0.14)),
    "valve": ct.Pose(p=(0.04, 0, 0.18)),
}  # fmt: skip


def disc(radius: float, thickness: float) -> ct.shapes.Cylinder:
    """A disc or shaft about the axle."""
    return ct.shapes.Cylinder(radius, thickness, pose=ct.Pose(rpy=(0, np.pi / 2, 0)))


def carrier() -> ct.shapes.Box:
    """The arm of the carrier, from the axle to the planet."""
    return ct.shapes.Box((0.01, 0.015, SUN + PLANET), pose=ct.Pose(p=(0.015, 0, (SUN + PLANET) / 2)))


def drive_train() -> ct.Mechanism:
    """A motor on the sun of a planetary gear whose ring is held; its carrier turns a differential and a camshaft."""
    m = ct.Mechanism("drive train", gravity=(0, 0, 0))
    axle = ct.Revolute("x")
    for name, mass, inertia, looks in (
        ("sun", 0.2, 5e-5, disc(0.5 * SUN, 0.08)), ("carrier", 0.5, 1e-3, carrier()),
        ("left", 4.0, 0.1, disc(0.1, 0.03)), ("right", 4.0, 0.1, disc(0.1, 0.03)),
        ("camshaft", 0.3, 2e-4, disc(0.01, 0.12)),
    ):  # fmt: skip
        m.add_body(name, mass, (0, 0, 0), inertia, visuals=looks)
    m.add_joint("sun", "ground", "sun", axle, armature=2e-4)
    m.add_joint("carrier", "ground", "carrier", axle)
    m.add_body("planet", 0.1, (0, 0, 0), 2e-5)
    m.add_joint("planet", "carrier", "planet", axle, in_parent=ct.Pose(p=(0, 0, SUN + PLANET)))
    for side in ("left", "right"):
        m.add_joint(side, "ground", side, axle, in_parent=PLACES[side], damping=0.02)
    m.add_joint("camshaft", "ground", "camshaft", axle, in_parent=PLACES["camshaft"])
    m.add_body("valve", 0.05, (0, 0, 0), 1e-6)
    m.add_joint("valve", "ground", "valve", ct.Prismatic("z"), in_parent=PLACES["valve"])
    m.add_spring("valve spring", "valve", stiffness=2e3, rest=-5e-3)
    m.add_actuator("motor", "sun", limits=0.4, no_load_speed=400.0)

    # Teeth do not slip: pitch points of sun and planet move alike, and that of the planet at the ring stands still.
    m.add_coupling("sun teeth", {"sun": SUN, "carrier": -SUN, "planet": PLANET})
    m.add_coupling("ring teeth", {"planet": PLANET, "carrier": SUN + 2 * PLANET})
    m.add_coupling("differential", {"left": 1.0, "right": 1.0, "carrier": -2.0})
    m.add_coupling("timing belt", {"camshaft": 2.0, "carrier": -1.0})
    angle = np.linspace(0.0, 2 * np.pi, 73)
    m.add_cam(
        "cam",
        "valve",
        "camshaft",
        ct.profiles.Spline(angle, LIFT * ((1 - np.cos(angle)) / 2) ** 2, "periodic"),
    )
    return m


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m = drive_train()
    s = m.system()
    print(s.diagnose(s.assemble({"sun": 0.1})))

    # The left wheel stands on ice, the right one on asphalt: the differential gives both the same torque.
    drag = {"left": 0.0, "right": -0.3}
    run = ct.simulate(s, duration=2.0, control=lambda t, q, v: {"sun": 0.4} | drag, samples=401)
    ratio = SUN / (2 * (SUN + PLANET))
    print(
        f"ratio of the planetary gear: {run['carrier'][-1, 0] / run['sun'][-1, 0]:.12f}, by its radii {ratio:.12f}"
    )
    left, right, carrier = (float(run.velocity(name)[-1, 0]) for name in ("left", "right", "carrier"))
    print(f"wheels at the end: left {left:.3f}, right {right:.3f} rad/s, off twice the carrier by "
          f"{abs(left + right - 2 * carrier):.1e}")  # fmt: skip
    print(f"couplings hold within {run.closure_error:.1e}")
    forces = run.coupling_forces()
    print(f"torque of the differential on each wheel at the end: {forces['differential'][-1]:.4f} N m")

    figure = Figure(figsize=(10, 3.4), layout="constrained")
    speeds, valve, teeth = figure.subplots(1, 3)
    for name, colour in (("left", ORANGE), ("right", BLUE), ("carrier", INK)):
        speeds.plot(run.t, run.velocity(name)[:, 0], color=colour, label=name)
    speeds.set(title="speeds [rad/s]", xlabel="t [s]")
    speeds.legend(frameon=False)
    valve.plot(run.t, 1000 * run["valve"][:, 0], color=BLUE)
    valve.set(title="lift of the valve [mm]", xlabel="t [s]")
    teeth.plot(run.t, forces["cam"], color=ORANGE)
    teeth.set(title="force between cam and valve [N]", xlabel="t [s]")
    out.figure(figure, "drive_train.png")
    out.film(run.resample(np.linspace(0.0, 0.6, 181)), camera=(22.0, -55.0))


if __name__ == "__main__":
    main(sys.argv[1:])
