"""A text read as far as it goes: the scenario, its scene and what there is to tell of it, or what is wrong with it."""

from __future__ import annotations

import re
import tomllib
import warnings
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from catena.errors import CatenaError, CatenaWarning
from catena.formats.kinds import Kinds
from catena.formats.toml import read
from catena.mechanism import GROUND, Mechanism
from catena.mechanism.parts import Origin
from catena.simulation.scenario import Scenario
from catena.simulation.scenario.file.loading import read_scenario, source_of
from catena.studio.edits.chains import cells
from catena.studio.edits.studies import study_of
from catena.studio.parts import SORTS, field_text
from catena.studio.quantities import value_of
from catena.view.live.questions import Questions
from catena.view.movie import still
from catena.view.player.payload import payload
from catena.view.scene import scene


def scenario_of(text: str, name: str, folder: Path | None) -> Scenario:
    """Return the scenario that a text says; `name` is what messages call it."""
    origin = Origin(text, name, {}, {}, folder, (), Kinds())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatenaWarning)
        return read_scenario(read(text, source_of(origin)), origin)


@cache
def empty_scene() -> dict[str, Any]:
    """Return a plane without anything in it, seen from the front."""
    nothing = Mechanism("nothing", gravity=(0, 0, 0)).system()
    shown = payload(still(scene(nothing, nothing.neutral()), nothing.neutral(), ""))
    shown["scenes"][0]["camera"] = {"towards": [0.0, -1.0, 0.0], "up": [0.0, 0.0, 1.0], "planar": True}
    shown["scenes"][0]["has_grid"] = False
    return shown | {"bounds": [[-0.4, 0.0, -0.3], [1.4, 0.0, 1.1]]}


class TextReading:
    """What a text says. `fault` are the words of what is wrong and the line it stands in; a drawing that is not a
    mechanism yet has none, and `unfinished` says what is missing."""

    def __init__(self, text: str, name: str, folder: Path | None) -> None:
        self.text, self.name, self.folder = text, name, folder
        self.document: Any = None
        self.scenario: Scenario | None = None
        self.fault: tuple[str, int] | None = None
        self.unfinished = ""
        try:
            # Edits keep comments and take tomlkit for it, which is ten times slower.
            self.document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            self.fault = str(error), _line(str(error))
        if self.document is not None:
            self.unfinished = _unfinished(self.document)
        if not self.unfinished:
            try:
                self.scenario = scenario_of(text, name, folder)
                self.q = np.asarray(self.scenario.state[0])
                self.shape = scene(self.scenario.system, self.q)
            except CatenaError as error:
                self.scenario = None
                words = str(error).removeprefix(name).lstrip(":")
                line = re.match(r"(\d+)(:\d+)?: ", words)
                self.fault = words[line.end() :] if line else words.strip(), int(line[1]) if line else 1

    @property
    def is_good(self) -> bool:
        """Whether there is a mechanism to show."""
        return self.scenario is not None

    @cached_property
    def questions(self) -> Questions:
        """Answers what pages ask while somebody drags."""
        return Questions(self.shape, self.q)

    def scene(self) -> dict[str, Any]:
        """Return what the player shows of it; nothing but an empty plane where there is no mechanism yet."""
        if self.scenario is None:
            return empty_scene()
        shown = payload(still(self.shape, self.q, self.scenario.mechanism.name))
        return shown | {"live": self.questions.first()}

    def words(self) -> str:
        """In how many ways it can move, or what is missing."""
        if self.unfinished:
            return self.unfinished
        if self.scenario is None:
            return ""
        system = self.scenario.system
        mark = self.questions.first()["marks"].get("state", "")
        if not mark:
            ways = system.nv
            mark = (
                "It cannot move."
                if not ways
                else f"It can move in {'one way' if ways == 1 else f'{ways} ways'}."
            )
        return mark

    def ways(self) -> int:
        """In how many independent ways it can move where it is."""
        if self.scenario is None:
            return 0
        system = self.scenario.system
        if not system.mechanics.constrained:
            return int(system.nv)
        K = np.asarray(system.closure_jacobian(self.q))
        return int(
            system.nv - np.linalg.matrix_rank(K, tol=1e-9 * max(1.0, float(np.abs(K).max(initial=0.0))))
        )

    def why_not_run(self) -> str:
        """Why a run would show nothing; empty where something moves it."""
        if self.unfinished:
            return self.unfinished
        if self.scenario is None:
            return "the text has a fault; mend it first"
        s, m = self.scenario, self.scenario.mechanism
        acts = s.drives or s.control is not None or s.wrenches or np.any(m.gravity) or m.force_elements
        if acts or np.any(s.state[1]):
            return ""
        return "nothing moves it: give a joint a motor, stretch a spring, or let weight act"

    def drawing(self) -> dict[str, Any]:
        """Return the points and bars of the linkage that is drawn, in the x-z plane of ground."""
        linkage = (self.document or {}).get("linkage", {}) if self.document is not None else {}
        names = self.parameters()
        points = {}
        places = self._places()
        for key in ("fixed", "sketch"):
            for name, place in linkage.get(key, {}).items():
                at = places.get(str(name)) or [value_of(x, names) for x in place]
                sort = (
                    "fixed" if key == "fixed" else "slides" if name in linkage.get("slides", {}) else "free"
                )
                points[str(name)] = {"at": at, "sort": sort}
        bars = {}
        for name, length in linkage.get("bars", {}).items():
            a, _, b = str(name).partition("-")
            bars[str(name)] = {
                "ends": [a.strip(), b.strip()], "text": str(length), "length": value_of(length, names),
            }  # fmt: skip
        return {"points": points, "bars": bars}

    def _places(self) -> dict[str, list[float]]:
        if self.scenario is None:
            return {}
        poses = self.shape.poses(self.q)
        found = {}
        for name in self.scenario.mechanism.frames:
            p = poses[name][:3, 3]
            found[name.removeprefix("point ")] = [float(p[0]), float(p[2])]
        return found

    def points_at(self, q: Any) -> dict[str, list[float]]:
        """Return where the points of the linkage are at a configuration, to be drawn there."""
        poses = self.shape.poses(np.asarray(q, dtype=np.float64))
        linkage = self.document.get("linkage", {})
        moving = {*linkage.get("sketch", {})}
        return {
            name.removeprefix("point "): [float(poses[name][0, 3]), float(poses[name][2, 3])]
            for name in self.scenario.mechanism.frames  # type: ignore[union-attr]
            if name.removeprefix("point ") in moving
        }

    def parameters(self) -> dict[str, float]:
        """Return the named numbers."""
        if self.scenario is not None:
            return {
                n: float(np.asarray(x, dtype=np.float64))
                for n, x in self.scenario.parameters.items()
                if np.ndim(x) == 0 and "." not in n
            }
        found: dict[str, float] = {}
        for name, value in (self.document or {}).get("parameters", {}).items():
            try:
                found[str(name)] = value_of(value, found)
            except CatenaError:
                continue
        return found

    def parts(self) -> dict[str, Any]:
        """Joints, bodies, motors, springs, parameters and changes, for the inspector."""
        document: Any = self.document or {}
        values = self.parameters()
        found: dict[str, Any] = {
            "parameters": [
                {"name": str(name), "text": str(text), "value": values.get(str(name))}
                for name, text in document.get("parameters", {}).items()
            ],
            "springs": list(document.get("spring", [])),
            "changes": list(document.get("change", [])),
            "motors": _motors(document),
            "controllers": _controllers(document),
            "tables": {
                word: [{str(key): field_text(x) for key, x in table.items()} for table in document[word]]
                for word in SORTS
                if word in document
            },
            "start_speeds": {
                str(name): str(x) for name, x in document.get("initial", {}).get("v", {}).items()
            },
            "study": study_of(document),
            "chains": [cells(chain) for chain in document.get("chain", [])],
            "duration": str(document.get("run", {}).get("duration", 1.0)),
        }
        if self.scenario is not None:
            m, s = self.scenario.mechanism, self.scenario.system
            found["gravity"] = _weight(m.gravity.tolist())
            found["frames"] = list(m.frames)
            found["joints"] = [
                {
                    "name": name, "kind": type(joint.kind).__name__, "parent": joint.parent, "child": joint.child,
                    "loop": name in s.loops, "freedom": joint.kind.nv, "locked": joint.locked,
                }
                for name, joint in m.joints.items()
            ]  # fmt: skip
            found["bodies"] = [
                {"name": name, "mass": float(body.mass)} for name, body in m.bodies.items() if name != GROUND
            ]
        else:
            gravity = document.get("mechanism", {}).get("gravity", [0.0, 0.0, -9.81])
            weight = _weight([value_of(part, values) for part in gravity])
            found |= {"gravity": weight, "joints": [], "bodies": [], "frames": []}
        return found


def _weight(gravity: list[float]) -> float | str:
    """Return how much weight acts, downwards; where it acts another way, its three parts as they are typed."""
    return ", ".join(f"{x:.6g}" for x in gravity) if any(gravity[:2]) else -gravity[2] or 0.0


def _unfinished(document: Any) -> str:
    """Return what a drawing needs before it is a mechanism; empty where it has all of it, or where nothing is drawn."""
    linkage = document.get("linkage")
    if linkage is None:
        others = any(document.get(word) for word in ("include", "chain", "repeat"))
        if others or document.get("body"):
            return _unjoined(document)
        return "Draw a bar: press at its one end, let go at the other."
    bars = [tuple(part.strip() for part in str(name).split("-")) for name in linkage.get("bars", {})]
    if not bars:
        return "Draw a bar: press at its one end, let go at the other."
    fixed = {str(name) for name in linkage.get("fixed", {})} | {
        str(name) for name in linkage.get("slides", {})
    }
    if not linkage.get("fixed"):
        return "Put a point on the ground: choose Ground and click it."
    reached, row = set(fixed), list(fixed)
    while row:
        point = row.pop()
        for ends in bars:
            if point in ends:
                row += [end for end in ends if end not in reached]
                reached |= set(ends)
    loose = ["-".join(ends) for ends in bars if not set(ends) & reached]
    if loose:
        return f"Join {', '.join(loose)} to the rest, or put one of its points on the ground."
    unused = [name for name in fixed if not any(name in ends for ends in bars)]
    return f"Draw a bar from {', '.join(unused)}, or take the point away." if unused else ""


def _unjoined(document: Any) -> str:
    """Return the bodies that no joint leads to from the ground."""
    loose = {str(table.get("name")) for table in document.get("body", [])}
    edges = [(str(table.get("parent")), str(table.get("child"))) for table in document.get("joint", [])]
    others = {name for edge in edges for name in edge if name not in loose}
    if others - {GROUND} and not document.get("chain"):
        return ""  # a joint of a body that is not there is a fault, which is told as such
    row = [*others, GROUND]
    while row:
        name = row.pop()
        for a, b in edges:
            for near, far in ((a, b), (b, a)):
                if near == name and far in loose:
                    loose.discard(far)
                    row.append(far)
    if not loose or document.get("include") or document.get("repeat"):
        return ""
    return f"Join {', '.join(sorted(loose))} to the rest: add a joint."


def _motors(document: Any) -> list[dict[str, Any]]:
    found = []
    for table in document.get("drive", []):
        text = str(table.get("position", ""))
        found.append(
            {"joint": str(table.get("joint")), "speed": text.removesuffix("* t").strip().strip("()")}
        )
    for table in document.get("controller", []):
        if table.get("kind") == "formula":
            found += [{"joint": str(j), "moment": str(x)} for j, x in table.get("forces", {}).items()]
    return found


def _controllers(document: Any) -> list[dict[str, str]]:
    """Return the controllers that lead one joint each, with their targets and gains as they are typed."""
    found = []
    for table in document.get("controller", []):
        if table.get("kind") == "pid" and len(table.get("reference", {})) == 1:
            joint = next(iter(table["reference"]))
            gains = {key: str(_gain(table.get(key, 0.0), str(joint))) for key in ("kp", "ki", "kd")}
            found.append({"joint": str(joint), "target": str(table["reference"][joint]), **gains})
    return found


def _gain(gain: Any, joint: str) -> Any:
    return gain.get(joint, 0.0) if isinstance(gain, dict) else gain


def _line(words: str) -> int:
    found = re.search(r"line (\d+)", words)
    return int(found[1]) if found else 1
