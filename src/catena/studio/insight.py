"""What there is to understand of a mechanism as it stands: its graph, what holds it, its vibrations, its branches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import StateError
from catena.mechanism import GROUND
from catena.studio.motions import ways_to_move
from catena.studio.reading import TextReading
from catena.system import System, branches
from catena.system.modes import Modes
from catena.validation import shown
from catena.view.live.moving import kind_of
from catena.view.structure_diagram import graph_edges, tree_layout

Floats = NDArray[np.float64]

MANY_MODES = 12
"""The slowest modes are listed, so many at most."""
SLOWEST = 1e-6
"""Below this part of the quickest frequency a mode is a motion without a force against it, which swings nowhere."""
STILL = 1e-6
"""A body stands still where it moves by this part of what moves most, in every way in which the mechanism can move."""
STEP = 1e-4
"""How far [rad, m] the mechanism is moved to see what moves."""
MIXTURES = 3
"""Ways to move are tried together, in so many mixtures: what moves in one of them moves in nearly every mixture."""

TRIES = 12
"""Moves towards a direction that is typed, each as far as one move goes."""
EXACT = 1e-9
"""Radians to which a direction that is typed is met."""


def structure(reading: TextReading) -> dict[str, Any]:
    """Return the graph with the places of its bodies, (column, row), and what is to be said of it: sentences, each with
    the part that it speaks of or none."""
    system = _system(reading)
    edges = graph_edges(system)
    places = tree_layout([edge for edge in edges if not edge.is_loop], list(system.mechanism.bodies))
    return {
        "places": {name: list(place) for name, place in places.items()},
        "edges": [
            {
                "joint": edge.joint, "near": edge.near, "far": edge.far, "letters": edge.letters, "word": edge.word,
                "is_loop": edge.is_loop, "constraints": edge.constraints,
            }
            for edge in edges
        ],
        "sentences": sentences(reading),
    }  # fmt: skip


def sentences(reading: TextReading) -> list[dict[str, Any]]:
    """Return what is to be said of the mobility: {"words", "kind", "name"}, with an empty kind where no part is
    meant."""
    system, q = _system(reading), reading.q
    found = [_said(reading.words())]
    if system.mechanics.constrained:
        diagnosis = system.diagnose(q)
        if diagnosis.redundancy:
            found.append(_said(_redundant(diagnosis.redundancy, diagnosis.constraints, reading)))
        if diagnosis.singular:
            found.append(
                _said("This is a singular configuration: beside it, it moves in other ways than here.")
            )
        elif diagnosis.near_singular:
            found.append(_said("A singular configuration is near."))
    for key, mark in reading.questions.first()["marks"].items():
        if mark in ("dead", "limit"):
            joint = key.rsplit(" ", 1)[0]
            words = (
                "is at a dead point and cannot drive the rest from here"
                if mark == "dead"
                else "is at its limit"
            )
            found.append(_said(f"{joint} {words}.", "joint", joint))
    return found + [
        _said(f"{name} cannot move: its joints and the loops hold it.", "body", name) for name in held(system, q)
    ]  # fmt: skip


def _redundant(count: int, of: int, reading: TextReading) -> str:
    if reading.shape.camera.is_planar and count == 3 * len(_system(reading).loops):
        return f"{count} of the {of} conditions of its loops only keep it in its plane, where it stays by itself."
    is_or_are = "is" if count == 1 else "are"
    return (
        f"{count} of the {of} conditions of its loops {is_or_are} redundant: it moves the same without, but what its "
        "joints carry is not known one by one."
    )


def held(system: System, q: Floats) -> list[str]:
    """Return the bodies that do not move in any of the ways in which the mechanism can move, where others do."""
    ways = ways_to_move(system, q)
    if not len(ways):
        return []
    way = STEP * np.random.default_rng(0).normal(size=(MIXTURES, len(ways))) @ ways
    start = np.broadcast_to(q, (MIXTURES, len(q)))
    # All bodies are asked at once: the Jacobian of each of hundreds would take a compiled program of its own.
    there, back = (system.body_poses(system.integrate(start, side * way)) for side in (1.0, -1.0))
    sizes = {
        name: float(np.max(np.abs(there[name] - back[name])))
        for name in system.mechanism.bodies
        if name != GROUND
    }
    most = max(sizes.values(), default=0.0)
    return [name for name, size in sizes.items() if size <= STILL * most]


def modes_of(reading: TextReading) -> dict[str, Any]:
    """Return the slowest vibrations about the state of rest next to where it is drawn: {"modes", "is_elsewhere"}."""
    modes, is_elsewhere = _modes(reading)
    listed = [
        {"mode": k, "hertz": float(modes.hertz[k]), "damping": float(modes.damping_ratios[k])}
        for k in _swinging(modes)
    ]
    return {"modes": listed, "is_elsewhere": is_elsewhere}


def mode_course(reading: TextReading, mode: Any) -> Any:
    """One swing of a mode, to be played."""
    modes, _ = _modes(reading)
    if isinstance(mode, bool) or not isinstance(mode, int) or mode not in _swinging(modes):
        raise StateError(f"mode is {shown(mode)}; it swings in the modes {_swinging(modes)}.")
    return modes.course(mode)


def _swinging(modes: Modes) -> list[int]:
    least = SLOWEST * float(np.max(modes.frequencies, initial=0.0))
    return [k for k, f in enumerate(modes.frequencies) if f > least][:MANY_MODES]


def _modes(reading: TextReading) -> tuple[Modes, bool]:
    """Return the modes where it stands, or where it comes to rest, and whether that is elsewhere."""
    system = _system(reading)
    try:
        return system.modes(reading.q), False
    except StateError:
        found = system.equilibrium(reading.q)
        return system.modes(np.asarray(found.q)), True


def branches_of(reading: TextReading) -> dict[str, Any]:
    """Return all ways in which the loops close while the joints that drive stay where they are: {"held", "branches"}
    with q (nq,) each, the nearest first, which is the one that is drawn."""
    system = _system(reading)
    if not system.mechanics.constrained:
        raise StateError("it has no loop, so that it has one branch only.")
    names = drivers(reading)
    held = {name: reading.q[system.slice_q(name)] for name in names}
    found = branches(system, {name: x[0] if len(x) == 1 else x for name, x in held.items()}, reading.q)
    return {"held": names, "branches": [[float(x) for x in q] for q in found]}


def drivers(reading: TextReading) -> list[str]:
    """Joints of the tree that hold the mechanism still where they are held: those with a motor first, then those on the
    ground, and of the others those that move most."""
    system = _system(reading)
    ways = ways_to_move(system, reading.q)
    columns = {
        name: ways[:, system.slice_v(name)]
        for name in system.joints
        if kind_of(system, name).nv == 1 and kind_of(system, name).nq == 1
    }
    assert reading.scenario is not None
    motors = [name for name in reading.scenario.drives if name in columns]
    joints = reading.scenario.mechanism.joints
    grounded = {name for name in columns if name in joints and joints[name].parent == GROUND}
    others = columns.keys() - {*motors}
    order = motors + sorted(others, key=lambda n: (n not in grounded, -float(np.linalg.norm(columns[n]))))
    chosen: list[str] = []
    basis = np.zeros((len(ways), 0))
    for name in order:
        more = np.column_stack([basis, columns[name]])
        if np.linalg.matrix_rank(more, tol=1e-6) > basis.shape[1]:
            chosen.append(name)
            basis = more
        if basis.shape[1] == len(ways):
            break
    return chosen


def turned(reading: TextReading, bar: Any, angle: float) -> Floats:
    """Return the configuration (nq,) in which a bar of a drawing that is pinned to the ground has a direction [rad]
    from the x axis, loops closed."""
    drawing = reading.drawing()
    ends = drawing["bars"].get(bar, {}).get("ends")
    if ends is None:
        raise StateError(f"no bar is called {shown(bar)}.")
    system = _system(reading)
    joint = next((end for end in ends if drawing["points"][end]["sort"] == "fixed"), "")
    if joint not in system.joints:
        raise StateError(f"{bar} is not pinned to the ground; turn one that is, and {bar} follows.")
    far = next(end for end in ends if end != joint)
    q, at = reading.q, system.slice_q(joint).start
    nudged = q.copy()
    nudged[at] += 1e-3
    # Which way a joint counts depends on its axis, and is read off the drawing itself.
    sense = np.sign(_direction(reading, nudged, joint, far) - _direction(reading, q, joint, far))
    note = ""
    for _ in range(TRIES):
        left = np.remainder(angle - _direction(reading, q, joint, far) + np.pi, 2.0 * np.pi) - np.pi
        if abs(left) < EXACT:
            return q
        value = float(q[at] + sense * left)
        moved = reading.questions.answer({"q": q.tolist(), "joint": joint, "component": 0, "value": value})
        q, note = np.asarray(moved["q"]), moved["note"]
        if note:
            break
    raise StateError(f"{bar} cannot point there: {note or 'the loops hold it'}.")


def _direction(reading: TextReading, q: Floats, start: str, end: str) -> float:
    at = reading.drawing()["points"]
    moved = reading.points_at(q)
    a, b = (np.asarray(moved.get(name, at[name]["at"])) for name in (start, end))
    return float(np.arctan2(*(b - a)[::-1]))


def _system(reading: TextReading) -> System:
    if reading.scenario is None:
        raise StateError("there is no mechanism yet; draw one.")
    return reading.scenario.system


def _said(words: str, kind: str = "", name: str = "") -> dict[str, str]:
    return {"words": words, "kind": kind, "name": name}
