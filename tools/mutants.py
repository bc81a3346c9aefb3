"""Faults that tests must notice: each is put into a copy of the sources, and the tests named with it have to fail.

A test that passes whatever the code does proves nothing. The faults here are of rooms in which one survived before, or
in which little else would show it: signs, halves, bounds that do nothing, cases that fall through.

Usage: python tools/mutants.py [part of a file name ...]
Prints what became of each fault; the exit code is 1 if one survived, or if its place in the sources is gone.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Mutant:
    """One fault: `old` becomes `new` in a file below `src/catena`, and `test` must fail."""

    file: str
    old: str
    new: str
    test: str


MUTANTS = (
    Mutant(
        "simulation/contacts/restitution.py",
        "    if a + b + c <= 0.0 or a <= 0.0:\n        return 1.0\n",
        "    if True:\n        return 1.0\n",
        "tests/simulation/contacts/test_closed_forms.py::"
        "test_restitution_makes_no_energy_where_friction_turns_the_slip_round",
    ),
    Mutant(
        "simulation/guards/sign_changes.py",
        "    for _ in range(ROUNDS):\n        closer",
        "    for _ in range(0):\n        closer",
        "tests/simulation/guards/test_events.py::test_two_crossings_within_one_step_are_seen",
    ),
    Mutant(
        "questions/reactions.py",
        "    if plan.flipped[i]:\n        # The child is in the parent node",
        "    if False:\n        # The child is in the parent node",
        "tests/questions/test_reactions.py::test_of_a_slide_in_a_redundant_loop_they_do_not_depend_on_the_plan",
    ),
    Mutant(
        "questions/reactions.py",
        "            return 0.5 * (loop.child_p + other)\n",
        "            return loop.child_p + 0.0 * other\n",
        "tests/questions/test_reactions.py::test_of_a_slide_in_a_redundant_loop_they_do_not_depend_on_the_plan",
    ),
    Mutant(
        "kernels/evaluation.py",
        "        return np.broadcast_to(np.arange(prod(self.batch)).reshape(self.batch), batch).reshape(-1)\n",
        "        return np.broadcast_to(0 * np.arange(prod(self.batch)).reshape(self.batch), batch).reshape(-1)\n",
        "tests/questions/test_varied.py::test_assembly_in_lanes_is_that_of_each_mechanism",
    ),
    Mutant(
        "system/by_state.py",
        "    return rows[index]\n",
        "    return rows[(0,) * len(batch)]\n",
        "tests/questions/test_varied.py::test_what_belongs_to_one_mechanism_is_told_for_each",
    ),
    Mutant(
        "forces/placed.py",
        "kind=self.kind.with_params(numbers[24:at])",
        "kind=self.kind",
        "tests/questions/test_varied.py::test_plain_numbers_agree",
    ),
    Mutant(
        "dynamics/tree/rotors.py",
        "    rotors = rotor_inertias(plan) if by_state is None else by_state()\n",
        "    rotors = rotor_inertias(plan)\n",
        "tests/questions/test_varied.py::test_rotors_of_each_state_are_in_its_mass_matrix",
    ),
    Mutant(
        "questions/statics.py",
        "        if np.any(stiffness < -NEUTRAL * size):\n",
        "        if False:\n",
        "tests/questions/test_linear_motion.py",
    ),
    Mutant(
        "questions/inverse_dynamics.py",
        "    if np.any(missed > CONTRADICTION * whole + NO_MOTION * unit):\n",
        "    if False:\n",
        "tests/system/test_part_powered.py",
    ),
    Mutant(
        "changing/impact.py",
        "turning[:, k] / np.sqrt(inertia)",
        "turning[:, k] * np.sqrt(inertia)",
        "tests/changing/test_transfer.py::test_rotors_keep_turning_with_their_joints",
    ),
    Mutant(
        "structure/planning.py",
        "joint.dof == 0",
        "joint.dof != 0",
        "tests/structure/test_plan.py::test_a_joint_can_be_kept_in_the_tree_if_it_has_coordinates",
    ),
    Mutant(
        "structure/coupled.py",
        "max(steps) or 1.0",
        "max(steps) and 1.0",
        "tests/structure/test_plan.py::test_a_coupling_is_as_large_as_what_it_makes_of_a_radian_or_a_length",
    ),
    Mutant(
        "questions/diagnosis.py",
        "float(s[weak + k])",
        "float(s[weak - k])",
        "tests/questions/test_diagnose.py::test_each_nearly_redundant_constraint_has_its_own_singular_value",
    ),
    Mutant(
        "view/gears.py",
        "round(2.0 * np.pi * radius / tooth)",
        "round(2.0 * np.pi * radius * tooth)",
        "tests/view/test_gears.py::test_wheels_that_turn_against_each_other_touch_and_roll",
    ),
    Mutant(
        "dynamics/loops/closing/joint_limits.py",
        "        left = left[~as_given]\n",
        "        left = left[:0]\n",
        "tests/system/test_assembly_limits.py",
    ),
    Mutant(
        "dynamics/loops/closing/driven_curve.py",
        '        ("dead point", "", lambda x, tx: -sign * tx[curve.column]),\n',
        '        ("dead point", "", lambda x, tx: -1.0),\n',
        "tests/system/test_kinematics_alone.py::test_a_rocker_stops_where_crank_and_coupler_are_in_line",
    ),
)


def survives(mutant: Mutant) -> str:
    """What is wrong with the tests of a fault; an empty string if they notice it."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(
            ROOT / "src", Path(place, "src"), ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
        )
        file = Path(place, "src", "catena", mutant.file)
        text = file.read_text(encoding="utf-8")
        if text.count(mutant.old) != 1:
            return f"is nowhere: {mutant.old.strip()!r} stands {text.count(mutant.old)} times in the file"
        file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        paths = os.pathsep.join([str(Path(place, "src")), str(ROOT)])
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-m",
            "not fuzz",
            mutant.test,
        ]
        found = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
        )
        if found.returncode == 0:
            return f"survived {mutant.test}"
        if found.returncode != 1:
            return f"could not be tried: {found.stdout[-400:]}{found.stderr[-400:]}"
        return ""


def main(arguments: list[str]) -> int:
    """Try all faults, or those in files with these words in their names, and return the exit code."""
    chosen = [m for m in MUTANTS if not arguments or any(word in m.file for word in arguments)]
    faults = 0
    for mutant in chosen:
        wrong = survives(mutant)
        faults += bool(wrong)
        print(f"{mutant.file}: {mutant.new.strip().splitlines()[0]!r} {wrong or 'is noticed'}", flush=True)
    print(f"{len(chosen) - faults} of {len(chosen)} faults are noticed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
