"""What every force does at given states: its load on the two bodies or on the joint, the energy it stores, its power,
and what its kind records. One sweep to place the bodies, and one step for each force."""

from typing import Any

from catena.dynamics.elements.force_sweeps import SHARED, ForceState, found, place
from catena.forces.placed import FRAMES, TREE
from catena.kernels import POSITION, VELOCITY, Algorithm, each_force
from catena.spatial import Force
from catena.spatial.scalars import array


def ground(ground: Any) -> None:
    """Nothing passes between bodies."""


@each_force
def measure(force: Any, a: Any, b: Any, ground: Any) -> None:
    """Everything about one force: `tau` at a joint; but for joints of the tree the wrenches `on_a` and `on_b` on the
    two nodes in their axes at their origins; `energy`, `power`, the `spent` power that no stored energy accounts for,
    `outputs`."""
    state = ForceState(force, a, b, ground)
    if force.site != FRAMES:
        force.tau = state.load
    if force.site != TREE:
        on_a, force.on_b = state.wrenches()
        force.on_a = Force.zero() if on_a is None else on_a
    force.energy = force.kind.energy(state.at)
    force.power, force.spent = state.power(), state.spent_power()
    outputs = list(force.kind.outputs(state.at).values())
    if outputs:
        force.outputs = array(outputs)


force_report = Algorithm(
    "force_report", ground, (found, place, measure), inputs={"q": POSITION, "qd": VELOCITY}, shared=SHARED,
    force_outputs=("tau", "on_a", "on_b", "energy", "power", "spent", "outputs"),
)  # fmt: skip
