"""Steps in independent coordinates. Nikravesh, Gim, Arabyan and Rein, eq. 16 to 26.

At every stage loops are closed by corrections in which the independent components are held (`held`), so that the others
are functions of them and nothing drifts; what a method foretells of dependent ones is where corrections begin. Whether
the independent components still determine the others well is seen at the end of a step, by how far these move where
the independent ones move as a `probe` says.
"""

from typing import Any

from catena.dynamics.flexible.particles import but_particles
from catena.kernels import VELOCITY, Schedule, Sweep, at_ground, with_ground
from catena.simulation.stepping.methods.conditions import larger
from catena.simulation.stepping.methods.projection import rest
from catena.spatial.scalars import absolute, where

HELD = {"held": VELOCITY, "counts": VELOCITY, "probe": VELOCITY, "weight": VELOCITY}
"""What joints are told: 1 for components that are held where loops are closed, 1 for those among them that are
integrated, the velocities of the probe, and what those of other components count."""
WRITTEN = frozenset({"v_kept"})


@at_ground
def forget_growth(ground: Any) -> None:
    """Set how far dependent components move to zero."""
    ground.growth = 0.0


@with_ground
@but_particles
def send_probe(body: Any, ground: Any) -> None:
    """Let independent components move as the probe says."""
    body.v_kept, body.qd = body.qd, body.probe


@with_ground
@but_particles
def see_growth(body: Any, ground: Any) -> None:
    """Keep the farthest that a dependent component moves, and go on with the velocity of the joint."""
    for x, weight in zip(body.qdd, body.weight, strict=True):
        ground.growth = larger(ground.growth, weight * absolute(x))
    body.qd = body.v_kept


@at_ground
def halt_where_spent(ground: Any) -> None:
    """Halt behind a step where dependent components move farther than they may: others shall be independent."""
    ground.spent = where(ground.growth > ground.most, 1.0, 0.0)
    ground.halt = where(ground.spent > 0.5, 1.0, ground.halt)


def watching(close_velocities: Schedule) -> list[Sweep]:
    """Return the sweeps that see whether independent components determine the others well."""
    return [forget_growth, send_probe, rest, close_velocities, see_growth, halt_where_spent]
