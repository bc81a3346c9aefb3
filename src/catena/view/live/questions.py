"""What a page asks of Python when somebody moves a mechanism, and the answers."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import StateError
from catena.mechanism import MODES
from catena.mechanism.validation import known
from catena.simulation.results.labels import joint_labels
from catena.system import System
from catena.validation import shown
from catena.view.live.moving import DraggedState, Mover, kind_of, movable_loops
from catena.view.movie import body_frames
from catena.view.scene import Scene

Floats = NDArray[np.float64]

FEW = 12
"""Up to so many joints that close loops all have sliders; asking where they are takes time."""
DEFLECTION = 0.15
"""How far the slider of a mode goes, in lengths of its body: about as far as modes hold."""


class Questions:
    """Answers the questions of any number of pages; each question carries the configuration that it starts from."""

    def __init__(self, scene: Scene, q: Floats) -> None:
        self.scene = scene
        self.system: System = scene.system
        self.start = q
        self._mover = Mover(self.system, scene.extent)
        self._lock = threading.Lock()

    def first(self) -> dict[str, Any]:
        """Return what a page knows before it asks: the joints that can be moved, and the state at the start."""
        return {"joints": self._joints(), **self._state(DraggedState(self.start))}

    def answer(self, question: Any) -> dict[str, Any]:
        """Return the configuration after a move: {"q", "poses", "values", "marks", "note"}.

        A question is {"q": (nq,)} alone, or with "joint", "component" and "value", or with "body", "point" (in the
        body) and "to" (in ground).
        """
        if not isinstance(question, dict):
            raise StateError(f"a question is {shown(question)}; send an object with q.")
        with self._lock:
            q = self._configuration(question.get("q"))
            moved = DraggedState(q)
            if "joint" in question:
                joint = known("joint", question["joint"], self._movable(), repr(self.system.mechanism.name))
                component = question.get("component")
                count = len(self.system.joint_position(q, joint))
                if (
                    isinstance(component, bool)
                    or not isinstance(component, int)
                    or not 0 <= component < count
                ):
                    raise StateError(
                        f"component is {shown(component)}; {joint!r} has {count}, counted from 0."
                    )
                moved = self._mover.slide(q, joint, component, float(_numbers(question.get("value"), ())))
            elif "body" in question:
                bodies = self.scene.bodies[1:]
                body = known("body", question["body"], bodies, repr(self.system.mechanism.name))
                point, to = (_numbers(question.get(name), (3,)) for name in ("point", "to"))
                moved = self._mover.drag(q, body, point, to)
            return self._state(moved)

    def _configuration(self, sent: Any) -> Floats:
        q = _numbers(sent, (self.system.nq,))
        # What a page sends back has passed through text; quaternions are to be of length 1 to the last digit.
        return np.asarray(self.system.integrate(_normalised(self.system, q), np.zeros(self.system.nv)))

    def _state(self, moved: DraggedState) -> dict[str, Any]:
        poses = body_frames(self.scene, moved.q)
        values = {
            f"{joint} {k}": float(x)
            for joint in self._movable()
            for k, x in enumerate(self.system.joint_position(moved.q, joint))
        }
        return {
            "q": [float(x) for x in moved.q],
            "poses": [float(f"{x:.9g}") for x in poses.ravel()],
            "amplitudes": [float(f"{x:.9g}") for x in self.scene.amplitudes(moved.q)],
            "values": values,
            "marks": self._mover.marks(moved.q),
            "note": moved.note,
        }

    def _movable(self) -> list[str]:
        kinds = {name: kind_of(self.system, name) for name in self.system.joints}
        tree = [name for name, kind in kinds.items() if kind.nq == kind.nv]
        loops = movable_loops(self.system)
        # Where there are very many, those that have limits are the ones worth looking at.
        return tree + (loops if len(loops) <= FEW else self._mover.limited_loops)

    def _joints(self) -> list[dict[str, Any]]:
        found = []
        for name in self._movable():
            limits = self._limits(name)
            position = self.system.joint_position(self.start, name)
            for k, label in enumerate(joint_labels(self.system, name, "position")):
                reach = np.pi if label.unit == "rad" else 0.5 * self.scene.extent
                body = self.system.mechanism.bodies.get(name.removesuffix(MODES))
                if body is not None and body.flexible is not None and name.endswith(MODES):
                    reach = DEFLECTION * body.flexible.reach()
                low, high = position[k] - reach, position[k] + reach
                if limits is not None:
                    low, high = (
                        float(limit) if np.isfinite(limit) else usual
                        for limit, usual in zip(limits[k], (low, high), strict=True)
                    )
                found.append(
                    {
                        "name": name, "component": k, "label": label.text, "unit": label.unit,
                        "low": float(low), "high": float(high), "limited": limits is not None,
                        "loop": name in self.system.loops,
                    }
                )  # fmt: skip
        return found

    def _limits(self, name: str) -> Floats | None:
        joint = self.system.mechanism.joints.get(name)
        return None if joint is None else joint.limits


def _normalised(system: System, q: Floats) -> Floats:
    q = q.copy()
    for name in system.joints:
        kind = kind_of(system, name)
        if kind.nq != kind.nv:
            part = q[system.slice_q(name)]
            quaternion = part[-4:]
            size = float(np.linalg.norm(quaternion))
            if not 0.5 < size < 2.0:
                raise StateError(
                    f"the quaternion of joint {name!r} has length {size:.3g}; send one of length 1."
                )
            quaternion /= size
    return q


def _numbers(sent: Any, shape: tuple[int, ...]) -> Floats:
    """Finite numbers of the right shape, from whatever somebody sent."""
    try:
        values = np.asarray(sent, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise StateError(f"{shown(sent)} are no numbers.") from None
    if values.shape != shape or not np.all(np.isfinite(values)) or isinstance(sent, bool):
        raise StateError(f"{shown(sent)} has shape {values.shape}; send {shape} finite numbers.")
    return values
