"""Every numbered example runs by itself and writes pictures; what it prints is what it claims."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
PNG = b"\x89PNG\r\n\x1a\n"
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"


def run(example: Path, folder: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(example), str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_examples_and_the_list_names_them_all():
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert EXAMPLES
    assert [example.name for example in EXAMPLES if f"({example.name})" not in listed] == []


# Prescribed motions and contacts that Python is asked for at every stage, of stiff bodies: half a minute each. A trot
# takes half of its time for its film.
SLOW = {"02_stanford_arm_valve", "13_walker_walks", "18_trot", "29_learning", "36_spin_up", "38_flexible_arm"}
CASES = [
    pytest.param(e, id=e.stem, marks=pytest.mark.slow) if e.stem in SLOW else pytest.param(e, id=e.stem)
    for e in EXAMPLES
]


@pytest.mark.parametrize("example", CASES)
def test_an_example_runs_and_writes_the_pictures_it_names(example, tmp_path):
    report = run(example, tmp_path / "pictures")
    written = sorted(tmp_path.glob("pictures/*.png"))
    assert written
    for picture in written:
        assert picture.read_bytes().startswith(PNG) and picture.stat().st_size > 10_000
        assert str(picture) in report
    if example.stem in CHECKS:
        CHECKS[example.stem](report, {picture.stem for picture in written})


def numbers(report: str, start: str) -> list[float]:
    """The numbers in the rest of the line of a report that begins so."""
    (line,) = [line for line in report.splitlines() if line.startswith(start)]
    return [float(x) for x in re.findall(NUMBER, line[len(start) :])]


def check_first_look(report: str, pictures: set[str]) -> None:
    """The printed forces agree with the published ones, and the changed structures compiled nothing."""
    assert "gallery" in pictures
    rows = re.findall(r"joint\d \w+ +[\d.]+ +(-?[\d.]+) +(-?[\d.]+) +N", report)
    assert len(rows) == 5 and all(computed == printed for computed, printed in rows)
    assert "compiled for these structures: 0." in report


def check_double_pendulum(report: str, pictures: set[str]) -> None:
    """The energy balances; twins stay together when let go level, and part when let go high."""
    assert pictures == {"motion", "energy", "chaos", "paths"}
    assert numbers(report, "Energy balance:")[0] < 1e-6
    level, parted = numbers(report, "Let go 1e-06 rad apart,")
    assert 1e-6 < level < 1e-2
    assert 3.0 < parted < 10.0


def check_valve(report: str, pictures: set[str]) -> None:
    """The five figures; statics, the work on the tap, and an arm that follows its path."""
    assert {name for name in pictures if name.startswith("figure")} == {
        "figure_4_2_positions",
        "figure_4_3_velocities",
        "figure_4_4_accelerations",
        "figure_4_5_gripper",
        "figure_4_6_forces",
    }
    posture = numbers(report, "over the tap:")
    np.testing.assert_allclose(posture, [-1.8755, -0.4828, 0.5385, -1.0880, 1.5708], atol=1e-4)
    # 5 N m, and 0.001 kg m^2 at 6 pi / 0.5^2 rad/s^2.
    assert f"-> {5.0 + 0.001 * 24.0 * np.pi:.3f} N m" in report
    work, lifted = numbers(report, "work of the joints")[:2]
    np.testing.assert_allclose(work, lifted + 5.0 * np.pi, atol=2e-3)
    exact, astray = numbers(report, "forces alone: the gripper ends")[:2]
    assert exact < 1e-5 and astray > 0.1
    assert max(numbers(report, "computed torque: the gripper ends")[:2]) < 1e-6


def check_four_links(report: str, pictures: set[str]) -> None:
    """Figures 5.4 to 5.11, and the numbers of the thesis next to ours."""
    assert {name[:11] for name in pictures if name.startswith("figure")} == {
        f"figure_5_{k:02}" for k in range(4, 12)
    }
    first = numbers(report, "first accelerations, joints 2 to 4")
    np.testing.assert_allclose(first[:3], [10.5263158, -10.5263158, -10.5263158], atol=1e-7)
    assert numbers(report, "first force on the pin, z") == [-4.4736842, -4.4736842]
    ours, euler, printed = numbers(report, "peak force on the pin")
    np.testing.assert_allclose([ours, euler], printed, rtol=0.05)
    assert numbers(report, "largest corrective force")[0] < 0.01 * ours
    assert 1.0 < numbers(report, "tip off its pin, by Euler")[0] < 20.0
    assert numbers(report, "tip off its pin, by projection")[0] < 1e-10
    start, end, rest = numbers(report, "energy at 0 s, at 10 s, at rest")
    assert start == 95.0 and rest == 45.0 < end < 46.0


def check_two_links(report: str, pictures: set[str]) -> None:
    """The printed accelerations wherever the mass centre is, the exact pendulum, and a closed loop."""
    assert pictures == {"stills", "motion", "forces"}
    for where in ("midway", "0.2 m aside"):
        assert numbers(report, f"both links let go, mass centre {where}")[:2] == [4.9428824, 4.9428824]
    assert numbers(report, "acceleration of the load, x and z")[:2] == [-5.2427184, -5.2427184]
    assert numbers(report, "force of a link on it, across the link") == [-0.8581393, -0.8581393]
    assert numbers(report, "-31.819805 N m at both bases leave")[0] < 1e-7
    assert numbers(report, "5 s of motion, off the exact pendulum")[0] < 1e-8
    assert max(numbers(report, "energy drift, loop open by")) < 1e-8
    assert numbers(report, "moving the mass centre changes angles by")[0] < 1e-9


def check_equations(report: str, pictures: set[str]) -> None:
    """The mass matrix is read and exact, folding saves, and the break points are those of the paper's range."""
    assert pictures == {"gantt", "figure_6_operations", "figure_7_speed_ups"}
    assert "H(q) = " in report and r"\cos {q_{2}}" in report
    assert numbers(report, "off the running code by")[0] < 1e-14
    general, folded = numbers(report, "forward dynamics of arm7:")
    assert folded < 0.4 * general
    revolute, spherical = (int(n) for n in re.findall(r"fewer operations from (\d+)", report))
    assert 5 <= revolute <= 8 and 4 <= spherical <= 6


def check_swing_up(report: str, pictures: set[str]) -> None:
    """The simulation ends where the collocation says, within the error of its intervals, and nothing exceeds the
    bound."""
    assert pictures == {"swing_up"}
    assert numbers(report, "forces up to")[0] <= 20.0
    assert numbers(report, "simulated with these forces, the pole ends")[0] < 5e-3


def check_car_modes(report: str, pictures: set[str]) -> None:
    """Three modes of the body near 1.5 Hz, four of the wheels near 11 Hz, all of them damped."""
    assert pictures == {"modes"}
    assert "is stable" in report
    rows = [line.split() for line in report.splitlines() if re.match(r" +\d  ", line)]
    hertz, damping = (np.array([float(row[k]) for row in rows]) for k in (1, 2))
    assert np.all((hertz[:3] > 1.0) & (hertz[:3] < 2.0)) and np.all((hertz[3:] > 10.0) & (hertz[3:] < 13.0))
    assert len(hertz) == 7 and np.all(damping > 0.2)


def check_parameter_fit(report: str, pictures: set[str]) -> None:
    """The fit finds the true numbers within the noise, and the regressor those combinations that forces show."""
    assert pictures == {"fit"}
    for name, size in (("load.mass", 0.02), ("elbow.damping", 0.02)):
        found, _, true = numbers(report, f"{name}:")
        assert abs(found - true) < size
    assert numbers(report, "with them the forces of other motions are off by")[0] < 1e-9


def check_couplings(report: str, pictures: set[str]) -> None:
    """The gear has the ratio of its radii, and the differential adds up."""
    assert pictures == {"drive_train"}
    found, known = numbers(report, "ratio of the planetary gear:")
    assert found == known == 0.3 and "mobility 2 = 7" in report
    assert numbers(report, "wheels at the end:")[-1] < 1e-12
    assert numbers(report, "couplings hold within")[0] < 1e-12


def check_engine(report: str, pictures: set[str]) -> None:
    """Speed and bearing force are those of the integration of one coordinate."""
    assert pictures == {"engine"}
    assert numbers(report, "speed off the integration of one coordinate by")[0] < 1e-8
    assert numbers(report, "force of the main bearing,")[-1] < 1e-8


def check_grapple(report: str, pictures: set[str]) -> None:
    """Example 1 of Lampariello et al.: two coordinates, no constraint, and the alternative moves alike."""
    assert numbers(report, "    coordinates before, after") == [7, 2]
    assert numbers(report, "    constraints after") == [0]
    assert "7 coordinates, 5 constraints" in report
    assert float(re.findall(rf"its bus is ({NUMBER}) m away", report)[0]) < 1e-9


def check_two_loops(report: str, pictures: set[str]) -> None:
    """Example 2: six constraints leave three of nine coordinates, and both plans move alike with their loops closed."""
    assert numbers(report, "    coordinates before, after") == [15, 9]
    assert numbers(report, "    constraints, mobility") == [6, 3]
    assert numbers(report, "    after 2 s the two plans differ by")[0] < 1e-9
    assert numbers(report, "    loops are open by at most")[0] < 1e-9


def check_reduction(report: str, pictures: set[str]) -> None:
    """Example 3: 37 to 9, nothing compiled, and the inertia of the base learnt."""
    assert numbers(report, "A robot of")[:2] == [37, 9]
    assert numbers(report, "    locking, planning, taking over the state")[1] == 0
    assert numbers(report, "    largest error of all numbers")[0] < 1e-3


def check_tumbling(report: str, pictures: set[str]) -> None:
    """Both plans were found, the hand is at the handle, and momentum stays."""
    assert report.count("planned,") == 2 and {"phases", "catch"} <= pictures
    assert numbers(report, "    distance of hand and handle at the grasp")[0] < 1.0
    impulse, lost = numbers(report, "    impulse of the grasp, energy lost")
    assert impulse < 1e-2 and 0.0 <= lost < 1e-5
    assert numbers(report, "    momentum kept to")[0] < 1e-12


def check_walker(report: str, pictures: set[str]) -> None:
    """Two feet step, the others stay about where they are, and no foot pulls or leaves its cone of friction."""
    assert {"feet", "poses"} <= pictures
    moved = {leg: numbers(report, f"    {leg:<12} moves by")[0] for leg in ("hind right", "front right")}
    assert all(0.05 < x < 0.08 for x in moved.values())
    assert numbers(report, "    front left   moves by")[0] < 0.015
    assert numbers(report, "    vertical force of a foot")[0] > -1e-2
    asked, there = numbers(report, "    most of the friction that is asked for")
    assert asked <= there + 0.005


def check_pick_and_place(report: str, pictures: set[str]) -> None:
    """The box is gripped, lifted and put down where it should be."""
    assert [word in report for word in ("fingers touch", "lift off", "box lands")] == [True] * 3
    assert numbers(report, "    the box is moved by")[0] == pytest.approx(0.5, abs=0.02)


def check_motors(report: str, pictures: set[str]) -> None:
    """Two motors are enough and one is not; their work is the change of energy."""
    assert pictures == {"motors"}
    assert report.count("is enough") == 2 and "joint3: the motor is too small" in report
    work, change = numbers(report, "work of all motors:")
    assert abs(work - change) < 2e-3 * abs(change)
    assert "arm.mat" in report and "arm.csv" in report


def check_fmu(report: str, pictures: set[str]) -> None:
    """The FMU moves as the run does, where there is a compiler to make it run."""
    assert pictures == {"speed"} and "slider_crank.fmu" in report
    if "was written and not run" not in report:
        assert numbers(report, "the FMU differs by")[0] < 1e-8
        assert numbers(report, "its loop is open by")[0] < 1e-11


def check_hopper(report: str, pictures: set[str]) -> None:
    """It runs on, upright, at the speed that it was told."""
    assert pictures == {"hops"}
    assert re.search(r"makes 1[01] hops", report)
    assert abs(numbers(report, "    its speed settles at")[0] - 0.8) < 0.05
    assert numbers(report, "    the body stays within")[0] < 5.0


def check_trot(report: str, pictures: set[str]) -> None:
    """Ten steps of two feet each, five of each leg, in turns, upright, at about the speed that was asked for."""
    assert pictures == {"trot"} and "trots 10 steps of two feet each" in report
    legs = ("front left", "hind right", "front right", "hind left")
    times = np.array([numbers(report, f"    {leg:<12} lands at") for leg in legs])
    assert times.shape == (4, 5) and np.abs(times[:2].mean(axis=0) - times[:2]).max() < 0.02
    assert (np.diff([times[:2].mean(axis=0), times[2:].mean(axis=0)], axis=0) > 0.15).all()
    assert numbers(report, "    it gets ahead by")[0] > 0.7
    speed, asked = numbers(report, "    it trots at")
    assert abs(speed - asked) < 0.05
    assert numbers(report, "    and leans by at most")[0] < 8.0
    friction, there = numbers(report, "    most of the friction asked for")
    assert friction <= there + 1e-9
    assert numbers(report, "    energy is balanced to")[0] < 1e-4


def check_catch(report: str, pictures: set[str]) -> None:
    """Three tips hold the ball where it should be, at rest; impacts took no more than it brought."""
    assert pictures == {"catch"} and report.count("where it sticks") == 3
    lost, had = numbers(report, "    impacts take")
    assert 0.0 < lost < had
    assert numbers(report, "    and rests, off where it should, by")[0] < 2.0
    assert numbers(report, "    where it still moves at")[0] < 1e-4
    assert numbers(report, "    energy is balanced to")[0] < 1e-6


def check_sticking(report: str, pictures: set[str]) -> None:
    """Times, speeds and forces are those of formulas, and nothing creeps."""
    assert pictures == {"sticking"}
    pairs = [numbers(line, "") for line in report.splitlines() if "by formula" in line]
    assert len(pairs) == 7
    for found, expected in pairs:
        assert abs(found - expected) < 2e-4 * max(1.0, abs(expected))
    assert numbers(report, "    afterwards the load creeps by")[0] < 1e-9
    lost, had = numbers(report, "    and loses")
    assert lost == had


def check_looking_ahead(report: str, pictures: set[str]) -> None:
    """Every hurdle is cleared, and what was foreseen by time stepping is what the exact way of contacts finds."""
    assert pictures == {"futures"}
    clear = numbers(report, "    clear of the hurdles by [m]")
    assert len(clear) == 3 and min(clear) > 0.0
    assert numbers(report, "    foreseen for the next decision to [m]")[0] < 1e-8
    # Processor time, whatever else the machine does: 64 futures are ahead of the world by far.
    assert numbers(report, "    seconds of motion in one of the processor")[0] > 200.0


def check_learning(report, pictures):
    first, last = numbers(report, "mean reward of the first round")
    assert last > 1.0 > first
    # Three other seeds learn it for all 256.
    assert numbers(report, "upright for the last second:")[0] > 200


CHECKS = {
    "29_learning": check_learning,
    "15_hopper": check_hopper,
    "16_clutch_and_belt": check_sticking,
    "17_looking_ahead": check_looking_ahead,
    "18_trot": check_trot,
    "19_catch": check_catch,
    "33_motor_sizing": check_motors,
    "34_fmu": check_fmu,
    "09_grapple_a_handle": check_grapple,
    "10_three_arms_two_loops": check_two_loops,
    "11_reduced_robot": check_reduction,
    "12_tumbling_target": check_tumbling,
    "13_walker_walks": check_walker,
    "14_pick_and_place": check_pick_and_place,
    "24_couplings": check_couplings,
    "25_engine": check_engine,
    "20_equations": check_equations,
    "21_swing_up": check_swing_up,
    "22_car_modes": check_car_modes,
    "23_parameter_fit": check_parameter_fit,
    "00_first_look": check_first_look,
    "01_double_pendulum": check_double_pendulum,
    "02_stanford_arm_valve": check_valve,
    "03_four_link_closed_chain": check_four_links,
    "04_two_links_and_a_load": check_two_links,
}
