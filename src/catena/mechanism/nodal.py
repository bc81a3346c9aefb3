"""Beams and frames in nodal coordinates: finite-element nodes with six freedoms each, for deflections of any size.

A node is a body on a `Free` joint to its neighbour, and an element is a bushing whose two frames lie in its middle,
where its stiffness is diagonal. So stiffness is that of the exact element (`bodies.beam_element`) for small
deflections, and turns with the element for large ones. Nikravesh et al., section 6: the connections of nodes are the
tree of the plan, and eq. 27 to 30 project node by node. Nothing is compiled for the number of nodes, and cost is linear
in it.

Mass is lumped by the trapezoidal rule with the end correction of Euler and Maclaurin: half an element at the end of a
member lies h / 6 inwards. Then frequencies converge with the third power of h at free ends; with half an element at the
node itself they converge with the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from catena.bodies.beam import Beam
from catena.bodies.beam_element import BeamElement, Section
from catena.bodies.beam_frame import STEEL, BeamFrame
from catena.bodies.contract import Floats
from catena.errors import ModelError
from catena.joints import Fixed, Free
from catena.mechanism.mechanism import Mechanism
from catena.mechanism.parts import GROUND
from catena.mechanism.segmented import check_place, placed
from catena.spatial import Pose
from catena.validation import is_count, real_number, shown

MOST = 5000
"""More elements than this are refused as a slip of the pen."""


@dataclass(frozen=True, eq=False)
class _Span:
    """An element between two nodes, by their numbers, with its axes (3, 3) in columns."""

    a: int
    b: int
    element: BeamElement
    axes: Floats


def nodal(
    body: Beam | BeamFrame, elements: int | None = None, *, into: Mechanism | None = None, on: str = GROUND,
    at: Pose | None = None, name: str = "beam", damping: float = 0.0,
) -> Mechanism:  # fmt: skip
    """Return a mechanism of the nodes of a beam or of a frame of beams, whose first node is clamped to the body `on` at
    the pose `at`: a new one in which that is the ground, or `into`, the one that they are added to.

    A beam is divided into `elements` (8 by default), a frame into those of its members. Bodies are the nodes: of a beam
    "<name>.0" at the clamp to "<name>.<elements>" at the far end, of a frame "<name>.<node>" and "<name>.<a>-<b>.1" and
    so on inside members; any joint attaches to them. A node moves by the joint "<body>.moves", and elements are the
    bushings "<name>.element1" and so on, which also damp by `damping` [s] times their stiffness. The clamp of a frame
    is its first interface; a beam that is pinned or flies is clamped to a body without mass that a joint holds.
    """
    check_place("nodal", into, at, name)
    try:
        slowness = real_number(damping)
    except ValueError:
        slowness = -1.0
    if not (np.isfinite(slowness) and slowness >= 0.0):
        raise ModelError(f"nodal: damping = {shown(damping)}; give a time [s] of zero or more.")
    if isinstance(body, Beam):
        names, places, spans, carried = _of_beam(body, 8 if elements is None else elements)
    elif isinstance(body, BeamFrame):
        if elements is not None:
            raise ModelError(
                "nodal: the members of a BeamFrame say how many elements they have; leave out elements."
            )
        names, places, spans, carried = _of_frame(body)
    else:
        raise ModelError(f"nodal: {shown(body)} is neither a Beam nor a BeamFrame.")
    made, bodies = Mechanism(name), [f"{name}.{word}" for word in names]
    for k, node in enumerate(bodies):
        _add_node(made, node, k, spans, carried.get(k, 0.0))
    for old, new in _tree(names, spans):
        if old is None:
            made.add_joint(f"{bodies[new]}.clamp", GROUND, bodies[new], Fixed(), Pose(p=places[new]))
        else:
            start = Pose(p=places[new] - places[old])
            made.add_joint(f"{bodies[new]}.moves", bodies[old], bodies[new], Free(), start, actuated=False)
    for number, span in enumerate(spans, start=1):
        element, middle = f"{name}.element{number}", 0.5 * span.element.length * span.axes[:, 0]
        for end, side, word in ((span.a, 1.0, "a"), (span.b, -1.0, "b")):
            made.add_frame(f"{element}.{word}", bodies[end], Pose(R=span.axes, p=side * middle))
        stiffness = span.element.middle_stiffness()
        made.add_bushing(element, f"{element}.a", f"{element}.b", stiffness, slowness * stiffness)
    return placed(made, into, on, at)


def _of_beam(beam: Beam, elements: int) -> tuple[list[str], Floats, list[_Span], dict[int, float]]:
    """Return the names and places (n, 3) of the nodes of a beam, its elements, and what nodes carry."""
    if not is_count(elements) or not 1 <= elements <= MOST:
        raise ModelError(f"nodal: elements = {shown(elements)}; give a whole number from 1 to {MOST}.")
    h = beam.length / elements
    spans = []
    for k in range(elements):
        part = beam.section((k + 0.5) * h)
        part.setdefault("torsion", part["young"] / (2.0 + 2.0 * STEEL) * (part["I_y"] + part["I_z"]))
        spans.append(_Span(k, k + 1, BeamElement(h, Section(**part)), np.eye(3)))
    places = np.zeros((elements + 1, 3))
    places[:, 0] = h * np.arange(elements + 1)
    return [str(k) for k in range(elements + 1)], places, spans, {}


def _of_frame(frame: BeamFrame) -> tuple[list[str], Floats, list[_Span], dict[int, float]]:
    """Return the same of a frame of beams, its first interface first."""
    names = list(frame.nodes)
    for member in frame.members:
        names += [f"{member.name}.{k}" for k in range(1, member.elements)]
    places, spans = np.zeros((len(names), 3)), []
    for part in frame.elements:
        a, b = int(part.index[0]) // 6, int(part.index[6]) // 6
        places[a], places[b] = part.origin, part.origin + part.element.length * part.axes[:, 0]
        spans.append(_Span(a, b, part.element, part.axes))
    first = names.index(frame.interfaces[0])
    # The clamp comes first, since the tree begins there.
    order = [first, *(k for k in range(len(names)) if k != first)]
    number = {old: new for new, old in enumerate(order)}
    carried = {number[names.index(node)]: mass for node, mass in frame.masses.items()}
    moved = [_Span(number[s.a], number[s.b], s.element, s.axes) for s in spans]
    return [names[k] for k in order], places[order], moved, carried


def _tree(names: Sequence[str], spans: Sequence[_Span]) -> list[tuple[int | None, int]]:
    """Return pairs of a node and the neighbour beyond it, from the clamp outwards."""
    beside: dict[int, list[int]] = {}
    for span in spans:
        beside.setdefault(span.a, []).append(span.b)
        beside.setdefault(span.b, []).append(span.a)
    found: list[tuple[int | None, int]] = [(None, 0)]
    reached = {0}
    for _, node in found:
        for other in beside.get(node, ()):
            if other not in reached:
                reached.add(other)
                found.append((node, other))
    missing = [name for k, name in enumerate(names) if k not in reached]
    if missing:
        raise ModelError(
            f"nodal: no members lead from {names[0]!r} to {missing[0]!r}: join all nodes by members."
        )
    return found


def _add_node(made: Mechanism, node: str, k: int, spans: Sequence[_Span], carried: float) -> None:
    """Add a node with the halves of its elements."""
    mass, first, turning = carried, np.zeros(3), np.zeros((3, 3))
    for span in spans:
        if k not in (span.a, span.b):
            continue
        s, half, axis = span.element.section, 0.5 * span.element.length, span.axes[:, 0]
        own = s.density * s.area * half
        mass += own
        first += own * half / 3.0 * (axis if k == span.a else -axis)
        turning += s.density * half * span.axes @ np.diag([s.I_y + s.I_z, s.I_y, s.I_z]) @ span.axes.T
    made.add_body(node, mass=mass, com=first / mass, inertia=turning, physical=False)
