"""A machine tool on three sliding legs: the high stiffness low mass mechanism of van der Merwe's thesis (chapter 8)
falls, is caught by PID controllers at 1 kHz, and moves up on command. Three simulations, as in section 8.2.2.

Usage: python examples/05_hslm_pid.py [folder for the pictures; default: out/05_hslm_pid]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.simulation.control import PID
from catena.view import draw
from pictures import Pictures

SLIDES, TIPS = ("slide1", "slide2", "slide3"), ("tip1", "tip2", "tip3")
KP, KI, KD = 800.0, 1000.0, 50.0  # (8.4) to (8.6), for slides [m] and tips [rad] alike
RATE, DURATION, UP = 1000.0, 5.0, 0.25


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    # The tips are driven too, so every joint must be in the tree: cut at the welds to the member.
    whole = ct.generators.hslm(driven_tips=True).system(cut=("hold2", "hold3"))
    check(whole)

    here = dict.fromkeys(SLIDES, 0.0) | dict.fromkeys(TIPS, (0.0, 0.0))
    fall = simulate(whole, here)
    there = joints_at(UP)
    rounded = {joint: np.round(x, 2) for joint, x in there.items()}
    move = simulate(whole, rounded, after=fall)
    exact = simulate(whole, there, after=fall)
    # With motors on the slides alone the smallest tree does, which has all slides in it.
    least = ct.generators.hslm().system()
    slides = simulate(least, {joint: there[joint] for joint in SLIDES})

    y, t = 1e3 * height(fall), fall.t
    print(
        f"\nA support is pulled away while PID controllers at {RATE:g} Hz hold slides and tips where they are:"
    )
    print(
        f"    the member falls {-y.min():.1f} mm in {t[y.argmin()]:.2f} s, then the integrators bring it back:"
    )
    print(f"    {', '.join(f'{-np.interp(k, t, y):.2f} mm low after {k} s' for k in (1, 2, 5))}.")
    print(f"Then it is told to move up by {1e3 * UP:g} mm:")
    for words, run in (("slides and tips", move), ("slides alone", slides)):
        y = 1e3 * height(run)
        top, when = y.max(), t[y.argmax()]
        print(f"    {words:15} reach {top:.0f} mm after {when:.2f} s, and are at {y[-1]:.1f} mm after 5 s.")
    drift = [np.diff(np.interp([3.0, 5.0], t, force(run, "slide1")))[0] / 2 for run in (move, exact)]
    print(
        "Targets in whole centimetres and hundredths of a radian make slides and tips contradict each other:"
    )
    print(f"    a slide's force drifts by {drift[0]:.2f} N/s; with exact targets by {abs(drift[1]):.2f} N/s.")
    print(f"Loops stay closed to {max(run.closure_error for run in (fall, move, exact, slides)):.0e} m.")

    out.figure(poses(fall, slides), "mechanism.png")
    out.figure(response({"": fall}, 0.0, "Kept in the default position (figure 8.3)"), "fall.png")
    told = f"Told to move up by {1e3 * UP:g} mm"
    targets = {", rounded targets": move, ", exact targets": exact}
    out.figure(response(targets, UP, f"{told}, slides and tips (figure 8.4)"), "move_slides_and_tips.png")
    out.figure(response({"": slides}, UP, f"{told}, slides alone (figure 8.5)"), "move_slides.png")
    out.film(slides)
    # One page with everything about a run, to open in a browser.
    slides.report(out.folder / "move_slides.html", title=f"{told}, slides alone")
    out.tell("move_slides.html")


def check(s: ct.System) -> None:
    """The preliminary checks of section 8.2.1: the free fall, and forces that hold."""
    q, rest, hold = s.neutral(), np.zeros(s.nv), np.zeros(s.nv)
    fall = s.jacobian(q, "member") @ s.forward_dynamics(q, rest)
    for k in (1, 2, 3):
        hold[s.slice_v(f"base{k}")] = 0.0, 6.3164555
        hold[s.slice_v(f"slide{k}")] = -41.113563
        hold[s.slice_v(f"tip{k}")] = 0.0, 0.25
    print(f"Let go, the member falls at {-fall[4]:.7f} m/s^2; printed is 10.0286429.")
    print(f"The printed joint forces hold it to {np.abs(s.forward_dynamics(q, rest, hold)).max():.0e} m/s^2.")


def joints_at(up: float) -> dict[str, np.ndarray]:
    """Slides and tips with the member `up` above its default position: a joint without constraints to the ground says
    where it should be, and assembling finds the rest."""
    m = ct.generators.hslm().attach("place", "ground", "member", ct.Free())
    s = m.system(cut=("hold2", "hold3"))
    q = s.assemble({"place": (0.0, up, 0.0, 1.0, 0.0, 0.0, 0.0)})
    return {joint: s.joint_position(q, joint) for joint in SLIDES + TIPS}


def simulate(s: ct.System, targets: dict, after: ct.Trajectory | None = None) -> ct.Trajectory:
    """Hold joints at their targets, from the default position or going on after another run. Of a tip only the second
    rotation is controlled."""
    kp, ki, kd = ({joint: (0.0, k) if joint in TIPS else k for joint in targets} for k in (KP, KI, KD))
    if after is not None:
        q, v, force = after.q[-1], after.v[-1], after.tau[-1]
    else:
        q, v = s.neutral(), np.zeros(s.nv)
        # A support holds the mechanism with its tips driven; the other one hangs in its slides already.
        force = np.zeros(s.nv) if "tip1" in targets else s.inverse_dynamics(q, v, v)
    pid = PID(s, targets, kp, ki, kd, bias=force, rate=RATE)
    return ct.simulate(s, q, v, DURATION, control=pid, integrator="rk4", step=1.0 / RATE)


def height(run: ct.Trajectory) -> np.ndarray:
    return run.position("member")[:, 1]


def force(run: ct.Trajectory, joint: str) -> np.ndarray:
    return run.force(joint)[:, -1]


def response(runs: dict[str, ct.Trajectory], wanted: float, title: str) -> Figure:
    """The height of the member and the forces of the first chain; the other chains do the same. Two runs are compared
    by how their forces go on after the first second."""
    figure = Figure(figsize=(8.0, 5.4 if len(runs) == 1 else 7.2), layout="constrained")
    place, forces, *rest = figure.subplots(1 + len(runs), sharex=True)
    for (words, run), style in zip(runs.items(), ("-", "--")):
        place.plot(run.t, 1e3 * height(run), f"C0{style}", label=f"member{words}")
        for joint, colour, unit in (("slide1", "C1", "N"), ("tip1", "C2", "N m")):
            if unit == "N m" and "tip3" not in run.system.joints:
                continue
            label, late, tau = f"{joint[:-1]} [{unit}]{words}", run.t >= 1.0, force(run, joint)
            forces.plot(run.t, tau, f"{colour}{style}", label=label)
            for ax in rest:
                ax.plot(run.t[late], (tau - tau[late][0])[late], f"{colour}{style}", label=label)
                ax.set(ylabel="change since 1 s")
    place.axhline(1e3 * wanted, color="grey", linewidth=0.8, linestyle=":")
    place.set(title=title, ylabel="height [mm]")
    forces.set(ylabel="joint force")
    figure.axes[-1].set(xlabel="t [s]", xlim=(0.0, DURATION))
    for ax in (place, forces):
        ax.legend(loc="lower right")
    return figure


def poses(fall: ct.Trajectory, move: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    lowest = height(fall).argmin()
    moments = {"default position": (fall, 0), "lowest": (fall, lowest), "moved up": (move, -1)}
    for i, (words, (run, k)) in enumerate(moments.items(), 1):
        ax = figure.add_subplot(1, 3, i, projection="3d")
        draw(run.system, run.q[k], ax, floor=False, title=f"{words}: {1e3 * height(run)[k]:+.0f} mm")
    longest = figure.axes[1]
    for ax in figure.axes:
        ax.set(xlim=longest.get_xlim(), ylim=longest.get_ylim(), zlim=longest.get_zlim())
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
