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


def belt_feeder() -> ct.Scenario:
    """A belt carries two boxes to a gate."""
    told = example("16_clutch_and_belt")
    m, contacts = told.belt()
    start = {"first moves": [0.0, told.BOX, 0.0], "second moves": [-0.6, told.BOX, 0.0]}
    return ct.Scenario(
        m, start, contacts=contacts, drives={"runs": "speed * t"}, parameters={"speed": told.BELT}, duration=3.0,
        samples=301, rtol=1e-8, plots=ct.Plot("contacts"),
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


def stanford_arm_valve() -> ct.Scenario:
    """A gripper swings over a tap and turns it, along the path that the example plans."""
    told, arm = example("02_stanford_arm_valve"), ct.generators.stanford_arm()
    s = arm.system()
    start = s.assemble(arm.initial.q)
    over_tap = told.posture_over_tap(arm, start)
    points = np.stack([start, over_tap, over_tap + [0, 0, 0, 0, np.pi]])
    times = [0.0, told.ENGAGED, told.CLOSED]
    drives = {joint: ct.cubic(times, points[:, s.slice_q(joint)]) for joint in s.joints}
    return ct.Scenario(
        arm, drives=drives, wrenches={"tip": ["if(t >= engaged, -resistance, 0)", 0, 0, 0, 0, 0]},
        parameters={"engaged": told.ENGAGED, "resistance": told.RESISTANCE}, duration=told.CLOSED, samples=301,
        rtol=1e-6, plots=ct.Plot("forces"), view={"traces": ["tip"]},
    )  # fmt: skip


def hslm_pid() -> ct.Scenario:
    """A machine tool on three legs falls, and PID controllers at 1 kHz catch it."""
    told = example("05_hslm_pid")
    s = ct.generators.hslm(driven_tips=True).system(cut=("hold2", "hold3"))
    targets = {**dict.fromkeys(told.SLIDES, 0.0), **dict.fromkeys(told.TIPS, (0.0, 0.0))}
    gains = [
        {joint: (0.0, k) if joint in told.TIPS else k for joint in targets}
        for k in (told.KP, told.KI, told.KD)
    ]
    return ct.Scenario(
        s, s.neutral(), np.zeros(s.nv), control=ct.Described(ct.PID, targets, *gains, rate=told.RATE),
        duration=told.DURATION, integrator="rk4", step=1.0 / told.RATE, plots=ct.Plot(list(told.SLIDES)),
    )  # fmt: skip


def three_arms_two_loops() -> ct.Scenario:
    """A free-flyer holds on with three hands; two loops close, and it moves on as far as they let it."""
    m, rng = example("10_three_arms_two_loops").robot(), np.random.default_rng(2)
    s, pair = m.system(), m.attach("grip", "arm1/hand", "arm2/hand", ct.Spherical())
    met = pair.system()
    together = met.assemble(guess=met.integrate(met.neutral(), 0.3 * rng.normal(size=met.nv)))
    held = {"hold": ("ground", "arm1/hand", ct.Fixed()), "foot": ("ground", "arm3/hand", ct.Spherical())}
    closed = pair.changed(attach=held, at=met.configuration(together))
    inverted = closed.system(cut=["base", "grip", "foot"])
    q, v = ct.transfer(met, together, np.zeros(met.nv), s).q, 0.2 * rng.normal(size=s.nv)
    start = ct.transfer(s, q, v, inverted)
    return ct.Scenario(inverted, start.q, start.v, duration=2.0, view={"traces": ["bus"]})


def reduced_robot() -> ct.Scenario:
    """Three joints of a free-flyer of 37 degrees of freedom swing; all others are locked."""
    told, m = example("11_reduced_robot"), ct.generators.free_flyer()
    m.gravity = (0, 0, 0)
    full = m.system()
    small = m.reduce_to(told.KEPT, at=full.configuration(full.neutral()))
    control = {
        joint: f'30 * sin({1.0 + 0.7 * k:g} * t + {k}) - 6 * v["{joint}"]'
        for k, joint in enumerate(told.KEPT[1:])
    }
    return ct.Scenario(small, control=control, duration=6.0, samples=201, rtol=1e-8, atol=1e-10)


def parameter_study() -> ct.Scenario:
    """Cart-poles of many masses and lengths under one law: which of them it holds upright."""
    mass, length = np.meshgrid(np.linspace(0.05, 1.5, 8), np.linspace(0.1, 1.2, 5), indexing="ij")
    force = "min(60, max(-60, 2 * rail + 45 * sin(hinge) + 4 * v.rail + 9 * v.hinge))"
    return ct.Scenario(
        example("27_parameter_study").cart_pole(), [0.0, 0.3], [0.0, 0.0], control={"rail": force},
        parameters={"pole.mass": mass, "pole.com.z": length}, duration=5.0, integrator="rk4", step=0.01, samples=101,
    )  # fmt: skip


def wishbone() -> ct.Scenario:
    """A quarter of a car drives over a bump."""
    told = example("28_wishbone")
    s, rest, bump = told.settled()
    return ct.Scenario(
        s, rest, np.zeros(s.nv), drives={"ride": bump}, integrator="rk4", step=told.STEP, duration=2.0, samples=201,
        plots=ct.Plot(["ride", "heave"]),
    )  # fmt: skip


def spin_up() -> ct.Scenario:
    """A flexible beam is spun up, and centrifugal forces stiffen it."""
    told = example("36_spin_up")
    rises = "speed / rise * (t^2 / 2 + (cos(2 * pi / rise * t) - 1) / (2 * pi / rise)^2)"
    return ct.Scenario(
        told.beam_on_a_hub(2), drives={"hub": f"if(t < rise, {rises}, speed * (t - rise / 2))"},
        parameters={"speed": told.SPEED, "rise": told.RISE}, duration=told.RISE, samples=151, rtol=1e-7, atol=1e-9,
    )  # fmt: skip


def flexible_slider_crank() -> ct.Scenario:
    """A crank bends its rod."""
    m = example("37_flexible_slider_crank").slider_crank()
    return ct.Scenario(
        m, {"A": 0.0}, {"A": 150.0}, duration=0.042, samples=211, rtol=1e-8, atol=1e-10, plots=ct.Plot("rod")
    )


def flexible_arm() -> ct.Scenario:
    """A quick path leaves a flexible arm swinging."""
    told = example("38_flexible_arm")
    still = np.zeros((3, 1))
    drives = {
        joint: ct.quintic([0.0, told.QUICK, told.END], [[0.0], [way], [way]], still, still)
        for joint, way in told.TURN.items()
    }
    return ct.Scenario(
        told.arm(), drives=drives, duration=told.END, samples=401, rtol=1e-6, atol=1e-8, view={"traces": ["payload"]}
    )  # fmt: skip


def solar_panels() -> ct.Scenario:
    """Jets turn a satellite and stop it; its panels swing on."""
    told = example("39_solar_panels")
    jets = [0, "if(t < burn, thrust, if(t < 2 * burn, -thrust, 0))", 0, 0, 0, 0]
    return ct.Scenario(
        told.satellite(), control={"flight": jets}, parameters={"thrust": told.THRUST, "burn": told.BURN},
        duration=20.0, samples=401, rtol=1e-7, atol=1e-9,
    )  # fmt: skip


SCENARIOS: dict[str, Callable[[], ct.Scenario]] = {
    "01_double_pendulum": double_pendulum,
    "02_stanford_arm_valve": stanford_arm_valve,
    "03_four_link_closed_chain": four_link_chain,
    "04_two_links_and_a_load": two_links_and_a_load,
    "05_hslm_pid": hslm_pid,
    "09_grapple_a_handle": grapple_a_handle,
    "10_three_arms_two_loops": three_arms_two_loops,
    "11_reduced_robot": reduced_robot,
    "16_clutch_and_belt": belt_feeder,
    "24_couplings": couplings,
    "25_engine": engine,
    "27_parameter_study": parameter_study,
    "28_wishbone": wishbone,
    "33_motor_sizing": motor_sizing,
    "36_spin_up": spin_up,
    "37_flexible_slider_crank": flexible_slider_crank,
    "38_flexible_arm": flexible_arm,
    "39_solar_panels": solar_panels,
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in SCENARIOS.items():
        make().save(folder / f"{name}.toml")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES / "scenarios")
