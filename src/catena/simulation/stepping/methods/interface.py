"""What a step is given, and what it leaves: the fields of joints, and the numbers of the ground."""

from typing import Any

from catena.dynamics.contacts import contact_forces, impulse_law
from catena.dynamics.elements.force_sweeps import GIVEN
from catena.kernels import POSITION, VELOCITY, Scalars
from catena.simulation.stepping.methods import loads, work
from catena.simulation.stepping.methods.evaluation import Stages
from catena.simulation.stepping.methods.minimal import HELD
from catena.simulation.stepping.methods.steering import DEGREE
from catena.simulation.stepping.methods.sticking import STICKING_INPUTS, STICKING_NUMBERS
from catena.simulation.stepping.methods.time_stepping import CONTACT_NUMBERS
from catena.simulation.stepping.methods.variant import GroundField, LawShape


def inputs(stages: Stages) -> dict[str, Any]:
    """Return what joints are given."""
    found: dict[str, Any] = {**stages.dynamics.inputs, **stages.method.past}
    if stages.variant.forces:
        found |= GIVEN
        del found["tau"], found["f_ext"]
    if stages.variant.sticks:
        found |= {
            "given": VELOCITY,
            **STICKING_INPUTS,
            **(_of_loads(stages) if stages.variant.bears else {}),
        }
        found.pop("tau", None)
        # Which joints do not yield is found by the step; it is told those that are prescribed.
        del found["driven"]
        if stages.variant.driven:
            found["prescribed"] = VELOCITY
        else:
            del found["qdd_given"]
    if stages.variant.rubs:
        found |= dict.fromkeys(("excess", "fading", "fall"), VELOCITY)
    if stages.variant.is_minimal:
        found |= HELD
    if stages.variant.paths:
        found |= {f"path_{j}": VELOCITY for j in range(DEGREE + 1)}
    return found


def outputs(stages: Stages) -> dict[str, Any]:
    """Return what is told of joints."""
    found: dict[str, Any] = {"q": POSITION, "qd": VELOCITY, "qdd": VELOCITY, **stages.method.past}
    found[stages.method.first] = VELOCITY
    if stages.variant.driven:
        found["drive"] = VELOCITY
    found["tau"] = VELOCITY
    if stages.variant.sticks:
        found["sense"] = VELOCITY
    if stages.variant.bears:
        found |= _of_loads(stages)
    if stages.formulas.law is not None:
        found |= {stages.target: VELOCITY, "tau_start": VELOCITY}
    return found


def _of_loads(stages: Stages) -> dict[str, Any]:
    """Return what joints keep of their loads from step to step."""
    return dict.fromkeys(("by_load", *loads.miss_names(stages.method.times, "")), VELOCITY)


def ground_inputs(stages: Stages) -> dict[str, Any]:
    """Return the numbers that the ground is given."""
    variant, shape = stages.variant, stages.variant.law
    found: dict[str, Any] = {
        **stages.dynamics.ground_inputs,
        **{n: GroundField(1) for n in ("t", "h", "end", "halt", "rtol", "atol", "row", "wish")},
    }
    if variant.wrench_paths:
        wide = GroundField(6 * variant.wrench_paths)
        found |= {f"wrench_{j}": wide for j in range(DEGREE + 1)}
    if variant.paths or variant.wrench_paths or (shape is not None and shape.changing):
        found["path_origin"] = GroundField(1)
    if variant.counts:
        found |= dict.fromkeys(_counted(stages), GroundField(len(work.SOURCES)))
    if stages.judged:
        found |= {name: GroundField(1) for name in ("longest", "energy", "turnover")}
    if variant.sticks:
        found |= {name: GroundField(1) for name in STICKING_NUMBERS}
    if variant.is_minimal:
        found["most"] = GroundField(1)
    if variant.observed:
        found["observed"] = GroundField(variant.observed)
    if variant.touches:
        found |= contact_forces.contact_inputs(variant.touches)
    if stages.method.lands:
        touching, stops, _ = variant.counted_rows
        found |= {name: GroundField(1) for name in CONTACT_NUMBERS}
        sizes = {
            "held": impulse_law.held_size(variant.rows), "contacts": contact_forces.SIZE * touching,
            "bounces": touching, "spans": 3 * stops, "fields": contact_forces.FIELD_SIZE * variant.bent_rows,
            "cut_joints": impulse_law.CUT_SIZE * variant.cut_rows,
        }  # fmt: skip
        found |= {name: Scalars(size) for name, size in sizes.items() if size}
    return found if shape is None else found | _of_law(shape)


def _of_law(shape: LawShape) -> dict[str, Any]:
    """Return the numbers that a law inside the step is given."""
    found: dict[str, Any] = {}
    if shape.memory:
        found["memory"] = GroundField(shape.memory)
    if shape.inputs:
        found["inputs"] = GroundField(shape.inputs)
    if shape.asked == "due":
        found["due"] = GroundField(1)
    if shape.asked == "timed":
        found |= {"sample": GroundField(1), "rate": GroundField(1)}
    if shape.changing:
        found |= {f"input_{j}": GroundField(len(shape.changing)) for j in range(1, DEGREE + 1)}
    return found


def _counted(stages: Stages) -> tuple[str, ...]:
    """Return the names of the works, and of the powers that a method with a past keeps."""
    past = ("power_past_1", "power_past_2") if stages.method.name == "abm4" else ()
    return ("work", *past)


def ground_outputs(stages: Stages) -> tuple[str, ...]:
    """Return the numbers that are told of the ground."""
    variant, shape = stages.variant, stages.variant.law
    found: tuple[str, ...] = (
        "t", "h", "accepted", "halt", "doubt", "row", "wish", "dt", "error_0", "error_1", "shift", "first_doubt",
    )  # fmt: skip
    if variant.counts:
        found = (*found, *_counted(stages), "power_start")
    if stages.judged:
        found = (*found, "turnover")
    if variant.sticks:
        found = (*found, *STICKING_NUMBERS)
    if variant.is_minimal:
        found = (*found, "spent")
    if variant.observed:
        found = (*found, "observed")
    if variant.touches:
        found = (*found, "told", "told_now", *(["met"] if stages.reuses else []))
    if stages.method.lands:
        found = (*found, *CONTACT_NUMBERS, *(["held"] if variant.rows else []))
    if shape is not None and shape.memory:
        found = (*found, "memory")
    if shape is not None and shape.asked == "timed":
        found = (*found, "sample")
    return found
