"""Dynamics that tell what the load of each joint makes of friction by load (`forces.load_friction`).

The wrench through a joint of the tree is IA a + pA of its body with all that hangs on it, or what an elimination has
added up for it in the end; that of a loop is what its constraints hold. `bears` is the friction of a slip that the
wrench makes, whatever friction the accelerations were computed with: who wants the two to agree repeats it
(`Rounds`, in a step; `system.sticking`, from Python).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics.flexible.flexible_body import is_flexible
from catena.dynamics.loops.elimination.hybrid import judge_driven
from catena.forces.load_friction import NUMBERS, load_friction
from catena.kernels import (
    VELOCITY,
    Algorithm,
    Entry,
    OnCall,
    Schedule,
    Sweep,
    base_to_tip,
    on_call,
    tip_to_base,
)

LOAD_INPUTS = dict.fromkeys(NUMBERS, VELOCITY)


def is_borne(body: Any) -> bool:
    """Return whether a body's joint is one that a user has described."""
    return not (body.joint.is_particle or body.joint.follows or is_flexible(body.joint))


@lru_cache(maxsize=16)
def loaded_tree(base: Algorithm) -> Algorithm:
    """Return dynamics of a tree, of three sweeps, that tell `bears` besides."""
    move, go, come_back = base.sweeps

    def show(body: Any, parent: Any) -> None:
        """What the parent feels of a body, and what the body itself shows."""
        if is_borne(body):
            body.felt_inertia, body.felt_force = body.IA + body.inertia, body.pA + body.p
        IA = body.IA + body.inertia
        go.step(body, parent)
        body.carried = IA * body.c - body.U * (body.D_inv @ (body.U.T * body.c))

    def bear(body: Any, parent: Any) -> None:
        """Accelerations, and what the joint bears."""
        come_back.step(body, parent)
        if is_borne(body):
            f = body.felt_inertia * body.a + body.felt_force
            body.bears = load_friction(body, "", body.S, body.X_joint, f)
        elif not body.joint.is_particle:
            body.bears = np.zeros(body.joint.nv)

    return replace(
        base, name=f"{base.name}_loaded", sweeps=(move, tip_to_base(show), base_to_tip(bear)),
        inputs={**base.inputs, **LOAD_INPUTS}, outputs={**base.outputs, "bears": VELOCITY},
    )  # fmt: skip


@tip_to_base
def resist_again(body: Any, parent: Any) -> None:
    """What the parent feels of a body under another joint force, where a `loaded_tree` was evaluated before: inertias
    are the same, and so is what they make of accelerations that need no force, and what `resists`. All bodies are
    rigid."""
    pA = body.pA + body.p
    body.felt_force = pA
    body.u = body.tau - body.resists - body.S.T * pA
    X = body.X_joint * body.placement
    parent.pA += X.pull(pA + body.carried + body.U * (body.D_inv @ body.u))


@on_call
def judge_and_bear(body: Any, parent: Any) -> None:
    """The last step of a body in an elimination, which tells what its joint bears."""
    if is_borne(body):
        body.bears = load_friction(body, "", body.S, body.joint.transform(body.q), body.f)
    elif not body.joint.is_particle:
        body.bears = np.zeros(body.joint.nv)
    judge_driven.step(body, parent)


# Friction and the loads that it makes agree to this part of both; after so many rounds they are given up.
AGREED, ROUNDS = 1e-12, 60


def settle(
    bearing: Callable[[np.ndarray], np.ndarray], load: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the load (..., n) with bearing(load) = load in the components that count (..., n), begun at a guess, and
    for which states (...) it was found: repetition with Anderson's step of depth one, a secant for a single one."""
    last: tuple[np.ndarray, np.ndarray] | None = None
    for _ in range(ROUNDS):
        found = bearing(load)
        gap = np.where(counts, found - load, 0.0)
        size = np.linalg.norm(np.where(counts, found, 0.0), axis=-1) + np.linalg.norm(load, axis=-1)
        settled = np.linalg.norm(gap, axis=-1) <= AGREED * size
        if settled.all():
            break
        part = np.zeros(settled.shape)
        if last is not None:
            turn = gap - last[1]
            square = np.einsum("...i,...i->...", turn, turn)
            part = np.einsum("...i,...i->...", gap, turn) / np.where(square > 0.0, square, 1.0)
        before = found if last is None else last[0]
        better = np.where(counts, np.maximum(found - part[..., None] * (found - before), 0.0), load)
        last, load = (found, gap), np.where(settled[..., None], load, better)
    return load, np.asarray(settled)


@lru_cache(maxsize=16)
def loaded_elimination(base: Algorithm) -> Algorithm:
    """Return an elimination with drives that tells `bears` besides."""
    instead: dict[Sweep, OnCall] = {judge_driven: judge_and_bear}

    def telling(order: Callable[..., list[Entry]]) -> Callable[..., list[Entry]]:
        return lambda at, **parts: [
            replace(e, sweep=instead.get(e.sweep, e.sweep)) for e in order(at, **parts)
        ]

    steps = [instead.get(s, s) for s in base.sweeps if not isinstance(s, Schedule)]
    orders = [Schedule(telling(s.order)) for s in base.sweeps if isinstance(s, Schedule)]
    return replace(
        base, name=f"{base.name}_loaded", sweeps=(*steps, *orders), inputs={**base.inputs, **LOAD_INPUTS},
        outputs={**base.outputs, "bears": VELOCITY},
    )  # fmt: skip
