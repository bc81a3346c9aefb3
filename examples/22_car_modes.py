"""A car on its springs and tyres: where it comes to rest, its modes with their damping, and what they look like.

Usage: python examples/22_car_modes.py [folder for the pictures; default: out/22_car_modes]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
# Wheelbase and track [m], the mass centre is nearer to the front axle.
FRONT, REAR, HALF_TRACK = 1.2, -1.5, 0.75
CORNERS = {
    "front left": (FRONT, HALF_TRACK), "front right": (FRONT, -HALF_TRACK), "rear left": (REAR, HALF_TRACK),
    "rear right": (REAR, -HALF_TRACK),
}  # fmt: skip


def car() -> ct.Mechanism:
    """A body that heaves, rolls and pitches on four wheels, each on a spring with a damper and on a tyre."""
    m = ct.Mechanism("car", gravity=(0, 0, -9.81))
    m.add_body("body", mass=1200.0, inertia=(450.0, 1800.0, 2000.0))
    m.add_joint("ride", "ground", "body", ct.Sdof("dz", "ry", "rx"), in_parent=ct.Pose(p=(0, 0, 0.6)))
    for name, (x, y) in CORNERS.items():
        m.add_body(name, mass=40.0, inertia=0.8)
        m.add_joint(f"strut {name}", "body", name, ct.Prismatic("z"), in_parent=ct.Pose(p=(x, y, -0.3)))
        m.add_spring(f"spring {name}", f"strut {name}", stiffness=22e3, damping=1500.0)
        m.add_frame(f"road {name}", "ground", ct.Pose(p=(x, y, 0.3)))
        m.add_bushing(f"tyre {name}", f"road {name}", name, stiffness=(0, 0, 0, 0, 0, 190e3))
    return m


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    system = car().system()
    rest = system.equilibrium()
    print(f"the car sinks by {-1000.0 * rest.q[0]:.1f} mm and is {rest.stability}")
    modes = system.modes(rest.q)
    print(modes)

    figure = Figure(figsize=(10, 3.8), layout="constrained")
    for k, axes in enumerate(figure.subplots(2, 4).ravel()):
        if k >= len(modes.frequencies):
            axes.set_axis_off()
            continue
        draw(axes, system, rest.q, "#b8c0c8")
        draw(axes, system, modes.positions(k, 0.25), ORANGE)
        axes.set_title(
            f"{modes.hertz[k]:.2f} Hz, damping {100 * modes.damping_ratios[k]:.0f} %", color=INK, fontsize=9
        )
        axes.set(aspect="equal", xlim=(-2.6, 2.8), ylim=(-0.6, 1.2))
        axes.set_axis_off()
    out.figure(figure, "modes.png")
    out.film(modes.course(0, 0.15))


def draw(axes: object, system: ct.System, q: np.ndarray, colour: str) -> None:
    """The body as a plate and the wheels below its corners, seen from aside and above."""
    poses = system.body_poses(q)

    def seen(p: np.ndarray) -> np.ndarray:
        return np.stack([p[..., 0] + 0.45 * p[..., 1], p[..., 2] + 0.3 * p[..., 1]], axis=-1)

    order = ["front left", "front right", "rear right", "rear left", "front left"]
    plate = np.array([(*CORNERS[n], 0.15, 1.0) for n in order]) @ poses["body"].T
    axes.plot(*seen(plate[:, :3]).T, color=colour)
    for name, (x, y) in CORNERS.items():
        centre = poses[name][:3, 3]
        around = np.linspace(0.0, 2 * np.pi, 25)
        rim = centre + 0.28 * np.stack([np.cos(around), 0 * around, np.sin(around)], axis=-1)
        axes.plot(*seen(rim).T, color=colour, linewidth=1)
        top = poses["body"] @ np.array([x, y, 0.15, 1.0])
        axes.plot(*seen(np.stack([centre, top[:3]])).T, color=colour, linewidth=1, linestyle=":")


if __name__ == "__main__":
    main(sys.argv[1:])
