"""A first look at Catena: four short results and two pictures.

Usage: python examples/00_first_look.py [folder for the pictures; default: out/00_first_look]
"""

import sys
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import catena as ct
from catena.mechanism import from_sdof, generators, sdof_coordinates
from catena.view import draw, structure_diagram
from pictures import Pictures

WIDTH = 92


def stanford_arm() -> None:
    """Compare the joint forces of a published worked example with the printed ones."""
    heading("1. What a robot arm needs to move: a published example")
    say(
        "A Stanford arm (van der Merwe, section 4.5) turns, slides and twists at constant speeds. Inverse "
        "dynamics answers: which torque or force must each joint apply, against gravity and inertia?"
    )
    still = (0, 0, 0)
    gammas = [(*still, 0, 0.5, -0.15), (*still, 0.8, 0, 0), (*still, 0.2, 0, 0), (*still, 0.05, 0, 0)]
    motions = [("ry",), ("rz", "dx"), ("rz",), ("rx",)]
    arm = from_sdof(
        gammas,
        motions,
        masses=[2.0, 2.0, 0.8, 0.5],
        coms=[(0, 0.3, -0.07), (0.3, 0, 0), (0.12, 0, 0), (0.05, 0, 0)],
        inertias=[(0.1, 0.02, 0.1), (0.002, 0.25, 0.25), (0.002, 0.008, 0.008), (0.001, 0.004, 0.004)],
        name="Stanford arm",
        gravity=(0, -9.81, 0),
    )
    s = arm.system()
    q = np.concatenate(list(sdof_coordinates(gammas, motions).values()))
    v = np.array([1.5, 0.0, 0.4, 1.0, 3.0])
    tau = s.inverse_dynamics(q, v, np.zeros(s.nv))
    printed = [2.26935, 18.25191, -4.40825, 2.16351, 0.0015]
    moves = ["joint1 turns", "joint2 turns", "joint2 slides", "joint3 turns", "joint4 turns"]
    units = ["N m", "N m", "N", "N m", "N m"]
    rows = [
        (move, f"{speed:.1f}", f"{ours:.5f}", f"{theirs:.5f}", unit)
        for move, speed, ours, theirs, unit in zip(moves, v, tau, printed, units)
    ]
    table(("motion", "speed", "computed", "printed", "unit"), rows, "<>>><")
    say(f"Largest difference from the printed figures: {np.max(np.abs(tau - printed)):.0e}.")


def humanoids() -> None:
    """Time the accelerations of many humanoids at once, and check them by going back."""
    heading("2. Many states at once: 4096 humanoids")
    s = generators.humanoid().system()
    rng = np.random.default_rng(1)
    n = 4096
    q = s.integrate(np.tile(s.neutral(), (n, 1)), rng.normal(size=(n, s.nv)) * 0.5)
    v, tau = rng.normal(size=(2, n, s.nv))

    start = time.perf_counter()
    acceleration = s.forward_dynamics(q, v, tau)
    first = time.perf_counter() - start
    times = []
    for _ in range(5):
        start = time.perf_counter()
        s.forward_dynamics(q, v, tau)
        times.append(time.perf_counter() - start)
    back = s.inverse_dynamics(q, v, acceleration)
    error = np.max(np.abs(back - tau)) / np.max(np.abs(tau))

    say(
        f"{s.mechanism.name}: {len(s.mechanism.bodies) - 1} bodies, {s.nv} degrees of freedom, floating in "
        "space. Forward dynamics answers: given the joint torques, how does everything accelerate?"
    )
    table(
        ("measured here", "value", ""),
        [
            ("first call", f"{first * 1e3:.0f} ms", "compiles, or loads what an earlier run compiled"),
            ("later calls", f"{min(times) * 1e3:.1f} ms", f"for all {n} states, {ct.threads()} thread(s)"),
            ("per state", f"{min(times) / n * 1e6:.2f} us", f"{n / min(times):,.0f} states per second"),
            ("there and back", f"{error:.0e}", "torques recovered by inverse dynamics, relative error"),
        ],
        "<><",
    )


def changing_structure() -> None:
    """Lock joints of a free-flyer, add a body, and count what had to be compiled."""
    heading("3. A machine that changes while you use it: a free-flying space robot")
    m = generators.free_flyer()
    start = time.perf_counter()
    s = m.system()
    planned = time.perf_counter() - start
    say(
        f"The {m.name} has a floating bus, 4 arms and 3 reaction wheels: {s.nv} degrees of freedom. Planning "
        f"(finding the tree of bodies to compute along) took {planned * 1e3:.1f} ms."
    )
    s.forward_dynamics(s.neutral(), np.zeros(s.nv), np.zeros(s.nv))
    before = ct.compilations()

    locked = m
    for k in range(1, 8):
        locked = locked.lock(f"arm2/joint{k}")
    grown = locked.copy()
    grown.add_body("payload", mass=12.0, com=(0.0, 0.0, 0.2), inertia=(0.3, 0.3, 0.2))
    grown.add_joint("grasp", "arm1/link7", "payload", ct.Revolute("x"), in_parent=ct.Pose(p=(0, 0, 0.045)))
    held = grown.attach("dock", "ground", "bus", ct.Revolute("z")).detach("base")

    rows = []
    for change, changed in [
        ("as built", m),
        ("arm 2 locked", locked),
        ("+ arm 1 holds a payload", grown),
        ("+ bus docked on a hinge", held),
    ]:
        start = time.perf_counter()
        t = changed.system()
        tau = np.zeros(t.nv)
        tau[t.slice_v("arm1/joint1")] = 1.0
        vdot = t.forward_dynamics(t.neutral(), np.zeros(t.nv), tau)
        elapsed = time.perf_counter() - start
        turn = vdot[t.slice_v("arm1/joint1")][0]
        rows.append((change, str(t.nv), f"{turn:.4f} rad/s^2", f"{elapsed * 1e3:.1f} ms"))
    table(("structure", "freedoms", "1 N m at arm1/joint1 gives", "plan and compute"), rows, "<>>>")
    say(
        f"Pieces of code compiled for these structures: {ct.compilations() - before}. A structure is data to "
        "the compiled code, so a changed machine costs a new plan and nothing else."
    )


def pictures(out: Pictures) -> None:
    """Draw the gallery and the structure diagram."""
    heading("4. Pictures")
    arm = generators.arm7(posture=(0.3, 0.5, 0.0, -1.5, 0.0, 1.1, 0.0))
    gallery = [
        ("Seven-axis arm", arm, {}),
        ("Humanoid", generators.humanoid(), STRIDE),
        ("Stewart platform", generators.stewart(), {}),
        ("Four-bar linkage", generators.four_bar(), {}),
        ("Free-flying robot", generators.free_flyer(), {}),
        ("Three arms, one object", generators.arms_on_object(3), {}),
    ]
    figure = plt.figure(figsize=(11.0, 7.8), layout="constrained")
    for i, (title, mechanism, posture) in enumerate(gallery, 1):
        s = mechanism.system()
        q = s.neutral()
        for joint, position in posture.items():
            q[s.slice_q(joint)] = position
        # From this side the object is not hidden behind an arm.
        view = (30.0, 22.0) if "object" in mechanism.bodies else None
        ax = draw(s, q, figure.add_subplot(2, 3, i, projection="3d"), view=view)
        loops = f", {len(s.loops)} loop{'s' if len(s.loops) > 1 else ''}" if s.loops else ""
        ax.set_title(title, fontsize=12, fontweight="bold", color="#1f2933", pad=16)
        caption = f"{len(mechanism.bodies) - 1} bodies, {len(mechanism.joints)} joints{loops}"
        ax.text2D(0.5, 1.01, caption, transform=ax.transAxes, ha="center", fontsize=9, color="#6b7683")
    out.figure(figure, "gallery.png")
    out.figure(structure_diagram(generators.free_flyer().system()).figure, "free_flyer_structure.png")
    out.figure(structure_diagram(generators.stewart().system()).figure, "stewart_structure.png")
    say("Orange joints close loops, grey pads are ground, quartered discs are mass centres.")


STRIDE = {
    "base": (0.0, 0.0, 0.98, 1.0, 0.0, 0.0, 0.0),
    "left_hip_pitch": -0.55,
    "left_knee": 0.75,
    "left_ankle_pitch": -0.2,
    "right_hip_pitch": 0.35,
    "right_knee": 0.45,
    "right_ankle_pitch": -0.2,
    "left_shoulder_pitch": 0.5,
    "left_shoulder_roll": 0.15,
    "left_elbow": -0.6,
    "right_shoulder_pitch": -0.6,
    "right_shoulder_roll": 0.15,
    "right_elbow": -0.9,
}


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def say(text: str) -> None:
    """Print a paragraph in lines of readable length."""
    line = ""
    for word in text.split():
        if len(line) + len(word) >= WIDTH:
            print(line.rstrip())
            line = ""
        line += f"{word} "
    print(line.rstrip())


def table(head: tuple[str, ...], rows: list[tuple[str, ...]], sides: str) -> None:
    """Print columns aligned to the left (<) or right (>)."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    print()
    for row in [head, tuple("-" * width for width in widths), *rows]:
        cells = (f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths))
        print(f"    {'   '.join(cells)}".rstrip())
    print()


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    print(f"Catena {ct.__version__}: the dynamics of mechanisms that branch, close and change.")
    stanford_arm()
    humanoids()
    changing_structure()
    pictures(out)


if __name__ == "__main__":
    main(sys.argv[1:])
