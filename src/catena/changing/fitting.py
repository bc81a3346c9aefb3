"""Whether the joints of a changed mechanism fit to where its bodies are, and the nearest state in which they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.errors import CatenaError, LoopError
from catena.kinematics.loops.scales import scales_of
from catena.system import System

if TYPE_CHECKING:
    from catena.changing.carrying import Carried

# Joints that are off by less than this [rad or sizes of the mechanism] fit: poses are products of many rotations.
FITS = 1e-8
# Errors of loops on one plan may add up on another one.
FACTOR = 10.0
# A state that was assembled is near if no joint was further apart, and no coordinate moved by more [rad or sizes of the
# mechanism].
NEAR, MOVED = 0.1, 1.0


def sizes(gap: np.ndarray, length: float) -> np.ndarray:
    """Return how large twists (..., 6) are, as angles or parts of a length, shape (...)."""
    turned, moved = np.linalg.norm(gap[..., :3], axis=-1), np.linalg.norm(gap[..., 3:], axis=-1)
    return np.maximum(turned, moved / length)


def misfits(carried: Carried, length: float) -> dict[str, float]:
    """Return the joints that do not fit, with the largest gap of each [rad or parts of the length], the worst first."""
    # Loops that drifted, or whose dimensions are off, are as open on every plan.
    allowed = np.maximum(FITS, FACTOR * sizes(carried.open_before, length))
    gaps = sizes(carried.gap, length)
    worst = np.max(gaps, axis=0, where=gaps > allowed[:, None], initial=0.0)
    return {carried.joints[k]: float(worst[k]) for k in np.argsort(-worst) if worst[k] > 0.0}


def require_fit(carried: Carried, new: System, who: str, length: float) -> None:
    """Raise a LoopError unless all joints of a system fit, measured by angles and parts of a length; where a closed
    state is near, the error offers it in its attribute `assembled`, q (states, nq) of the new system."""
    open_by = misfits(carried, length)
    if not open_by:
        return
    some = ", ".join(f"{name!r} by {_in_words(_gap(carried, name))}" for name in list(open_by)[:4])
    error = LoopError(f"{who}: bodies are apart at the joints {some}")
    near = assembled(carried, new, length)
    if near is not None:
        q, moved = near
        error.args = (
            f"{error.args[0]}. They can be put together by moving coordinates by up to {moved:.2g} (rad or sizes of "
            "the mechanism): that state is in the attribute `assembled` of this error; transfer with assemble=True "
            "goes there, or move the bodies closer first.",
        )
        error.assembled = q  # type: ignore[attr-defined]
    else:
        error.args = (
            f"{error.args[0]}, and no closed state is near: move the bodies to where the joints fit, or attach with "
            "at=s.configuration(q) and one pose left out, so that the joint fits to where they are. (Joints that are "
            "closed together may contradict each other: close fewer, or such with more freedom.)",
        )
    raise error


def assembled(carried: Carried, new: System, length: float) -> tuple[np.ndarray, float] | None:
    """Return the closed states (states, nq) near carried ones and how far coordinates moved; None if some are not
    near."""
    worst = float(sizes(carried.gap, length).max(initial=0.0))
    if worst > NEAR:
        return None
    try:
        rows = [new.assemble(guess=row) for row in carried.q]
    except CatenaError:
        return None
    q = np.array(rows).reshape(carried.q.shape)
    moved = np.abs(new.difference(carried.q, q)) / scales_of(new.plan).units
    furthest = float(moved.max(initial=0.0))
    return (q, furthest) if furthest <= MOVED else None


def _gap(carried: Carried, joint: str) -> np.ndarray:
    return np.asarray(carried.gap[:, carried.joints.index(joint)])


def _in_words(gap: np.ndarray) -> str:
    k = int(np.argmax(np.abs(gap).max(axis=-1)))
    turned, moved = np.linalg.norm(gap[k, :3]), np.linalg.norm(gap[k, 3:])
    return f"{moved:.3g} m and {turned:.3g} rad"
