"""The words for motions that cannot go on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from catena.dynamics.flexible.flexible_body import is_flexible
from catena.errors import SimulationError
from catena.system import System


def joint_of(system: System, component: int) -> str:
    """Return the joint that a velocity component belongs to."""
    return next(j for j in system.joints if component in range(system.nv)[system.slice_v(j)])


# Joints that move faster than this [rad/s or m/s] run away.
RUNAWAY = 1e7
# Motions of a joint whose directions are dependent up to this part are hardly different from each other.
DEPENDENT = 1e-2
GIMBAL = (
    "its motions are hardly different from each other there, as in gimbal lock, so that its coordinates run away "
    "though bodies need not: describe the joint by another kind, such as Spherical or Planar, or by another order of "
    "motions"
)


def lost_states(
    system: System,
    states: np.ndarray,
    t: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    suspect: str = "",
) -> Iterator[tuple[int, str]]:
    """Give the states that have run away, each with its words, of those numbered `states` (n,) at times t (n,), q (n,
    nq) and v (n, nv). `suspect` says what may be at fault other than a controller."""
    if np.abs(v).max(initial=0.0) <= RUNAWAY and np.isfinite(q).all():
        return
    speed = np.abs(v).max(axis=-1)
    finite = np.isfinite(speed) & np.isfinite(q).all(axis=-1)
    for k in np.flatnonzero(~finite):
        yield (
            int(states[k]),
            f"The motion is not finite any more near t = {t[k]:.9g} s in state {int(states[k])}; take smaller "
            f"steps. The trajectory so far is in the attribute `trajectory` of this error.",
        )
    fast = np.flatnonzero(finite & (speed > RUNAWAY))
    for k in fast[np.argsort(-speed[fast], kind="stable")]:
        yield int(states[k]), _runaway_message(system, int(states[k]), float(t[k]), q[k], v[k], suspect)


def require_bounds(system: System, states: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """Raise for states that have run away, of those numbered `states` (n,) at times t (n,), q (n, nq) and v (n, nv)."""
    for _, words in lost_states(system, states, t, q, v):
        raise SimulationError(words)


def _runaway_message(
    system: System, state: int, t: float, q: np.ndarray, v: np.ndarray, suspect: str = ""
) -> str:
    """Say which joint runs away, and why: because of its coordinates where its motions become the same, else because of
    what acts."""
    component = int(np.argmax(np.abs(v)))
    joint = joint_of(system, component)
    reason = "A controller that is too stiff for its rate, or for the step, does that"
    if system.plan.owner is not None:
        reason = "Fixed steps that are too long for the fastest mode of a flexible body, or a controller that is too "
        reason += "stiff for its rate, do that"
    reason = suspect or reason
    if has_dependent_motions(system, joint, q):
        reason = f"{GIMBAL[0].upper()}{GIMBAL[1:]}"
    return (
        f"The motion runs away: joint {joint!r} moves at {v[component]:.3g} at t = {t:.9g} s in state "
        f"{state}. {reason}; the trajectory so far is in the attribute `trajectory` of this error."
    )


def has_dependent_motions(system: System, joint: str, q: np.ndarray) -> bool:
    """Return whether some velocity of a joint of the tree, beside the others, hardly moves it at q (nq,)."""
    kind = system.plan.kind[system.plan.joint.index(joint)]
    own = q[system.slice_q(joint)]
    # Modes move all points of a body; what they do at one place says nothing.
    if kind is None or is_flexible(kind) or kind.nv < 2 or not np.isfinite(own).all():
        return False
    S = np.asarray(kind.motion_space(own).array, dtype=np.float64)
    sigma = np.linalg.svd(S / np.linalg.norm(S, axis=0), compute_uv=False)
    return bool(sigma[-1] < DEPENDENT * sigma[0])


def collapse_message(system: System, state: int, t: float, q: np.ndarray, v: np.ndarray) -> str:
    """Say where and why steps do not get through."""
    vdot = system.forward_dynamics(q, v, np.zeros(system.nv))
    fastest = joint_of(system, int(np.argmax(np.abs(vdot))))
    reason = "Something jumps there (a stop, a controller, a wrench)"
    if system.mechanics.constrained and system.diagnose(q).singular:
        reason = "It is a singular configuration, where the loops leave more motions open (s.diagnose tells)"
    return (
        f"The step size collapsed at t = {t:.9g} s in state {state}: the error does not shrink with the step. "
        f"{reason}, most of all at joint {fastest!r}; the trajectory so far is in the attribute `trajectory` of "
        f"this error."
    )


def crawling_message(
    system: System, state: int, t: float, q: np.ndarray, pace: float, left: float, implicit: bool = False
) -> str:
    """Say that a run would take for ever, with a method that may be `implicit`."""
    other = "an explicit integrator such as dopri5" if implicit else "a stiff integrator such as radau"
    reason = (
        "Something oscillates or jumps that fast (a stiff spring, a controller, a stop), or the tolerance cannot be "
        f"met; {other}, a larger rtol, or a fixed step may help"
    )
    locked = next((joint for joint in system.joints if has_dependent_motions(system, joint, q)), None)
    if locked is not None:
        reason = f"Look at joint {locked!r}: {GIMBAL}"
    return (
        f"The motion hardly gets on: near t = {t:.9g} s in state {state} steps are {pace:.3g} s long on average, so "
        f"that the {left:.3g} s left would take {left / max(pace, 1e-300):.1e} of them. {reason}. The trajectory so "
        f"far is in the attribute `trajectory` of this error."
    )


def too_long_message(method: str, t: float, state: int, h: float) -> str:
    """Say that a fixed step cannot be taken."""
    return (
        f"The step from t = {t:.9g} s in state {state} leads to a state that is not finite or whose "
        f"loops do not close: {h:g} s is too long for {method}. Take smaller steps, or an adaptive "
        f"method. The trajectory so far is in the attribute `trajectory` of this error."
    )


def undecided_message(system: System, state: int, t: float) -> str:
    """Say that it was not found which joints stick."""
    joints = [j for j in system.joints if np.any(system.plan.friction[system.slice_v(j)] > 0.0)]
    return (
        f"It was not found which of the joints {joints} of {system.mechanism.name!r} stick and which slip at t = "
        f"{t:.9g} s in state {state}: they change without end. Friction at rest that is much larger than that of a "
        f"slip does that, and bodies that have next to no inertia; the trajectory so far is in the attribute "
        f"`trajectory` of this error."
    )
