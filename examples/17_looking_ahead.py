"""A controller that looks ahead: a ball bounces along a track and pushes itself forward, and must be high enough over
every hurdle. Ten times a second it simulates 64 futures of half a second side by side, one for each push it might give,
and gives the push of the best.

The floor is a rigid contact that keeps 95 hundredths of the speed, in the world and in the futures: those move by time
stepping, which bounces in lanes. Lilly and Orin ask for this: simulation so much quicker than real time that a
controller can try what it might do.

Usage: python examples/17_looking_ahead.py [folder for the pictures; default: out/17_looking_ahead]
"""

import sys
from time import process_time

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
RADIUS, MASS, RESTITUTION = 0.05, 0.5, 0.95
HURDLES = ((0.8, 0.50), (1.9, 0.40), (3.0, 0.30))  # where they stand and how high they are [m]
STRONGEST, FUTURES, HORIZON, DECIDES, STEP = 4.0, 64, 0.5, 0.1, 1e-2
STEPS = round(HORIZON / STEP)
FLOOR = [ct.Contact("ball", radius=RADIUS, restitution=RESTITUTION)]


def ball() -> ct.Mechanism:
    """A ball that moves in a plane."""
    m = ct.Mechanism("ball")
    m.add_body("slider", mass=1e-3, inertia=1e-6)
    m.add_body("ball", mass=MASS, inertia=1e-3)
    m.add_joint("along", "ground", "slider", ct.Prismatic("x"))
    m.add_joint("height", "slider", "ball", ct.Prismatic("z"), actuated=False)
    return m


class LooksAhead:
    """Decides ten times a second, from futures in which each push is kept."""

    rate = 1.0 / DECIDES

    def __init__(self) -> None:
        self.model = ball().system()
        self.pushes = np.linspace(-STRONGEST, STRONGEST, FUTURES)
        self.seen: list[np.ndarray] = []
        self.took: list[float] = []
        self.foreseen: list[np.ndarray] = []

    def start(self, system: ct.System, batch: tuple[int, ...] = ()) -> None:
        self.seen, self.took, self.foreseen = [], [], []

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        began = process_time()
        futures = self.futures(q, v)
        best = int(np.argmin(cost(futures, self.pushes)))
        self.took.append(process_time() - began)
        self.seen.append(futures)
        self.foreseen.append(futures[round(DECIDES / STEP) - 1, best, :2])
        return np.array([self.pushes[best], 0.0])

    def futures(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Positions and speeds (steps, futures, 4) under all pushes."""
        tau = np.stack([self.pushes, np.zeros(FUTURES)], axis=-1)
        ahead = ct.simulate(
            self.model, np.tile(q, (FUTURES, 1)), np.tile(v, (FUTURES, 1)), HORIZON,
            control=ct.sampled(lambda t, q, v: tau, 1.0 / HORIZON),
            contacts=FLOOR, integrator="time_stepping", step=STEP, samples=STEP * np.arange(STEPS + 1), check=False,
        )  # fmt: skip
        return np.concatenate([ahead.q, ahead.v], axis=-1).swapaxes(0, 1)[1:]


def cost(futures: np.ndarray, pushes: np.ndarray) -> np.ndarray:
    """How bad each future is (futures,): below the top of a hurdle, not at the speed wanted, and what it pushes."""
    x, z, speed = futures[..., 0], futures[..., 1], futures[..., 2]
    bad = 0.5 * np.mean((speed - 1.0) ** 2, axis=0) + 0.005 * pushes**2
    for place, top in HURDLES:
        near = np.abs(x - place) < 0.12
        bad += 1e3 * np.mean(near * np.maximum(top + 2.0 * RADIUS - z, 0.0), axis=0)
    return bad


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    world, control = ball().system(), LooksAhead()
    run = ct.simulate(
        world, [0.0, 1.0], [0.5, 0.0], 4.4, control=control, contacts=FLOOR, samples=np.linspace(0.0, 4.4, 881),
        check=False,
    )  # fmt: skip
    x, z = run["along"].ravel(), run["height"].ravel()
    clear = [float(np.interp(place, x, z)) - top - RADIUS for place, top in HURDLES]
    came = np.stack(
        [np.interp(DECIDES * np.arange(1, len(control.foreseen) + 1), run.t, w) for w in (x, z)], axis=-1
    )
    missed = np.abs(came - np.array(control.foreseen))[:-1].max()
    longest, usual = max(control.took[1:]), float(np.median(control.took))
    print(f"{FUTURES} futures of {HORIZON} s, {len(control.took)} times")
    print(f"    clear of the hurdles by [m]               {', '.join(f'{c:.3f}' for c in clear)}")
    print(f"    foreseen for the next decision to [m]     {missed:.1e}")
    print(
        f"    a decision takes of processor time        {1e3 * usual:.1f} ms, at most {1e3 * longest:.1f} ms"
    )
    print(f"    seconds of motion in one of the processor {FUTURES * HORIZON / usual:.0f}")
    out.figure(picture(run, control), "futures.png")
    out.film(run)


def picture(run: ct.Trajectory, control: LooksAhead) -> Figure:
    """The way of the ball, and what it saw ahead at some of its decisions."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    ax = figure.subplots()
    for futures in control.seen[::6]:
        ax.plot(futures[:, ::4, 0], futures[:, ::4, 1], color=ORANGE, alpha=0.35, linewidth=0.7)
    ax.plot(run["along"], run["height"], color=BLUE, linewidth=2.0)
    for place, top in HURDLES:
        ax.plot([place, place], [0.0, top], color=INK, linewidth=4.0)
    ax.axhline(0.0, color=INK, linewidth=1.0)
    ax.set(
        xlabel="x [m]",
        ylabel="z [m]",
        xlim=(-0.2, 4.2),
        ylim=(-0.05, 1.15),
        title="64 futures, every sixth decision",
    )
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
