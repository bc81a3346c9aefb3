"""What a page of the studio asks, and the answers: every question is JSON, and so is what comes back."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from catena.errors import CatenaError, CatenaWarning, StateError
from catena.formats.files import load, read_text
from catena.formats.source import Source
from catena.formats.toml import write
from catena.studio.edits.document import ALL_DIGITS
from catena.studio.gallery import RUN, gallery, gallery_text
from catena.studio.insight import branches_of, mode_course, modes_of, structure, turned
from catena.studio.motions import pull_point, swing
from catena.studio.parts import sorts
from catena.studio.quantities import quantity, value_of
from catena.studio.reading import TextReading
from catena.studio.runs import Runner
from catena.studio.session import BLANK, EditingSession
from catena.studio.worker import ENDINGS, STUDY_ENDINGS
from catena.validation import shown
from catena.view.movie import movie
from catena.view.player.payload import payload

Question = Mapping[str, Any]


class Answers:
    """Answers the questions of all pages of one session."""

    def __init__(self, session: EditingSession, runner: Runner) -> None:
        self.session, self.runner = session, runner
        self.address: Callable[[], str] = str
        """Tells the address of the page, once there is one."""
        self.table: dict[str, Callable[[Question], dict[str, Any]]] = {
            "state": self.state, "act": self.act, "text": self.text, "undo": self.undo, "redo": self.redo,
            "pose": self.pose, "drop": self.drop, "wait": self.wait, "save": self.save, "open": self.open,
            "resume": self.resume, "bring": self.bring,
            "pull": self.pull, "wiggle": self.wiggle, "turn": self.turn, "place": self.place, "mesh": self.mesh,
            "sorts": lambda question: {"sorts": sorts()},
            "structure": lambda question: structure(self._shown()), "modes": lambda question: modes_of(self._shown()),
            "branches": lambda question: branches_of(self._shown()), "mode": self.mode,
            "link": self.link, "follow": self.follow,
            "gallery": lambda question: {"gallery": gallery(), "files": self._files()},
            "cancel": self.cancel, "python": lambda question: {"python": session.python()},
        }  # fmt: skip
        self.streams: dict[str, Callable[[Question], Iterator[dict[str, Any]]]] = {
            "run": self.run,
            "export": self.export,
            "study": self.study,
        }

    def state(self, question: Question) -> dict[str, Any]:
        """Return the text as it is and all that is shown of it."""
        return self.session.state()

    def act(self, question: Question) -> dict[str, Any]:
        """Make a named edit: {"name", "arguments", "base", "merge"}."""
        arguments = question.get("arguments")
        if not isinstance(arguments, dict):
            raise StateError(f"arguments are {shown(arguments)}; send an object.")
        self.session.act(
            str(question.get("name")), arguments, _base(question), str(question.get("merge") or "")
        )
        return self.session.state()

    def text(self, question: Question) -> dict[str, Any]:
        """Take a text that was typed: {"text", "base"}."""
        self.session.set_text(question.get("text"), _base(question))
        return self.session.state()

    def undo(self, question: Question) -> dict[str, Any]:
        """Go back by one step."""
        self.session.undo(_base(question))
        return self.session.state()

    def resume(self, question: Question) -> dict[str, Any]:
        """Go on with what a studio that ended has left behind."""
        self.session.resume(_base(question))
        return self.session.state()

    def redo(self, question: Question) -> dict[str, Any]:
        """Go forward by one step."""
        self.session.redo(_base(question))
        return self.session.state()

    def pose(self, question: Question) -> dict[str, Any]:
        """Move the mechanism that is shown: the questions of a view. Nothing is kept."""
        reading = self._shown()
        answer = reading.questions.answer(dict(question))
        return answer | {"points": reading.points_at(answer["q"])}

    def drop(self, question: Question) -> dict[str, Any]:
        """Keep where the mechanism was moved to, as one step of the history: {"q", "base"}."""
        reading, base = self._shown(), _base(question)
        assert reading.scenario is not None
        q = np.asarray(reading.questions.answer({"q": question.get("q")})["q"])
        return self._drop(reading, q, base)

    def _drop(self, reading: TextReading, q: np.ndarray, base: int) -> dict[str, Any]:
        assert reading.scenario is not None
        system = reading.scenario.system
        if reading.document.get("linkage") and not any(
            reading.document.get(word) for word in ("body", "chain")
        ):
            self.session.act("move points", {"places": reading.points_at(q)}, base)
        else:
            values = {
                joint: [float(x) for x in q[system.slice_q(joint)]]
                for joint in system.joints
                if joint in reading.scenario.mechanism.joints
            }
            self.session.act(
                "start at", {"q": {n: x[0] if len(x) == 1 else x for n, x in values.items()}}, base
            )
        return self.session.state()

    def wait(self, question: Question) -> dict[str, Any]:
        """Return the state if it is another than that of a revision, so that windows follow each other."""
        revision = question.get("revision")
        return self.session.state() if self.session.revision != revision else {"revision": revision}

    def save(self, question: Question) -> dict[str, Any]:
        """Write the text to a file of the folder: {"name", "base", "over"}."""
        self.session.save(question.get("name"), _base(question), question.get("over") is True)
        return self.session.state()

    def open(self, question: Question) -> dict[str, Any]:
        """Begin with another text: {"blank": true}, in space with {"space": true}, {"generator": name} or {"file":
        name}."""
        base = _base(question)
        if "generator" in question:
            name, text = gallery_text(question["generator"])
            self.session.open(text, f"{name}.toml", None, base)
        elif "file" in question:
            file = self.session.path(question["file"])
            if not file.is_file():
                raise StateError(f"{file.name} is not in {self.session.folder}.")
            self.session.open(read_text(file, Source(file.name)), file.name, file, base)
        else:
            # What is drawn lies flat until somebody lets weight act; what is built in space stands on a floor.
            weight = "-9.81" if question.get("space") is True else "0.0"
            text = BLANK.format(name="mechanism").replace("[0.0, 0.0, 0.0]", f"[0.0, 0.0, {weight}]")
            self.session.open(text, "mechanism.toml", None, base)
        return self.session.state()

    def cancel(self, question: Question) -> dict[str, Any]:
        """End the run that is under way."""
        self.runner.cancel()
        return {}

    def run(self, question: Question) -> Iterator[dict[str, Any]]:
        """Run the scenario as it is, and tell how it goes."""
        yield from self._ordered(question, "movie")

    def _ordered(self, question: Question, what: str) -> Iterator[dict[str, Any]]:
        session = self.session
        why = session.reading.why_not_run()
        if why:
            yield {"kind": "failed", "error": why}
            return
        traces = question.get("traces")
        traces = [str(name) for name in traces] if isinstance(traces, list) else []
        revision = session.revision
        forces = question.get("forces")
        forces = [str(name) for name in forces] if isinstance(forces, list) else []
        for answer in self.runner.run(session.text, session.name, session.folder, traces, what, forces):
            yield answer | {"revision": revision}

    def wiggle(self, question: Question) -> dict[str, Any]:
        """One of the ways in which the mechanism can move, to be played: {"way"}, counted from 0."""
        reading = self._shown()
        assert reading.scenario is not None
        course = swing(reading.scenario.system, reading.q, question.get("way"))
        return {"movie": payload(movie(course, progress=False))}

    def pull(self, question: Question) -> dict[str, Any]:
        """Go on with a motion while a point of a body is pulled: {"q", "v", "t", "seconds", "body", "point", "to"}."""
        return pull_point(self._shown(), question)

    def _shown(self) -> TextReading:
        reading = self.session.good
        if reading is None or reading.scenario is None:
            raise StateError("there is no mechanism yet to move.")
        return reading

    def export(self, question: Question) -> Iterator[dict[str, Any]]:
        """Run the scenario as it is, and give it as a file: {"ending", "traces", "forces"}."""
        ending = question.get("ending")
        if ending not in ENDINGS:
            raise StateError(f"ending is {shown(ending)}; give one of {', '.join(ENDINGS)}.")
        yield from self._ordered(question, str(ending))

    def study(self, question: Question) -> Iterator[dict[str, Any]]:
        """Run the scenario with other numbers many times, as its text says, and tell what was found, or give it as a
        file: {"ending"}."""
        ending = question.get("ending", "")
        if ending not in ("", *STUDY_ENDINGS):
            raise StateError(f"ending is {shown(ending)}; give one of {', '.join(STUDY_ENDINGS)}.")
        yield from self._ordered(question, f"study{ending}")

    def mode(self, question: Question) -> dict[str, Any]:
        """One of the modes, to be played: {"mode"}."""
        return {"movie": payload(movie(mode_course(self._shown(), question.get("mode")), progress=False))}

    def turn(self, question: Question) -> dict[str, Any]:
        """Turn a bar that is pinned to the ground to a direction, as one step of the history: {"bar", "angle",
        "base"}."""
        reading, base, bar = self._shown(), _base(question), question.get("bar")
        angle = value_of(
            quantity(question.get("angle"), "angle", f"the direction of {bar}", names=reading.parameters())
        )
        places = reading.points_at(turned(reading, bar, angle))
        self.session.act("move points", {"places": places, "digits": ALL_DIGITS}, base)
        return self.session.state()

    def place(self, question: Question) -> dict[str, Any]:
        """Move a coordinate of a joint to a place that is typed, as one step of the history: {"joint", "component",
        "value", "base"}."""
        reading, base, joint = self._shown(), _base(question), question.get("joint")
        names = reading.parameters()
        value = value_of(
            quantity(question.get("value"), "angle or length", f"the place of {joint}", names=names), names
        )
        asked = {
            "q": reading.q.tolist(),
            "joint": joint,
            "component": question.get("component", 0),
            "value": value,
        }
        moved = reading.questions.answer(asked)
        if moved["note"]:
            raise StateError(f"{moved['note']}.")
        return self._drop(reading, np.asarray(moved["q"]), base)

    def mesh(self, question: Question) -> dict[str, Any]:
        """Keep a mesh file that was dropped onto the page in the folder: {"name", "content"}, base64. A file that is
        there with another content stays."""
        return {"path": self.session.keep_mesh(question.get("name"), question.get("content"))}

    def link(self, question: Question) -> dict[str, Any]:
        """Return a name under which the text as it is can be asked for again as long as the studio is served."""
        return {"link": f"{self.address()}?link={self.session.link()}"}

    def follow(self, question: Question) -> dict[str, Any]:
        """Show the text that a link was made of: {"link", "base"}."""
        self.session.follow(question.get("link"), _base(question))
        return self.session.state()

    def bring(self, question: Question) -> dict[str, Any]:
        """Begin with a model file that was dropped onto the page: {"name", "content", "base"}. It reaches no others,
        because it comes without its folder."""
        base, name, content = _base(question), question.get("name"), question.get("content")
        if not isinstance(name, str) or not isinstance(content, str):
            raise StateError("a file has a name and a text.")
        plain = Path(name).name
        if Path(plain).suffix.lower() == ".toml":
            self.session.open(content, plain, None, base)
            return self.session.state()
        with tempfile.TemporaryDirectory(prefix="catena_") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", CatenaWarning)
            file = Path(folder) / (plain or "model")
            file.write_text(content, encoding="utf-8")
            try:
                text = write(load(file), f"{file.stem}.toml", None)
            except CatenaError as error:
                # Where the copy lies is nobody's business.
                raise StateError(str(error).replace(f"{folder}/", "")) from error
        self.session.open(text + RUN, f"{Path(plain).stem}.toml", None, base)
        return self.session.state()

    def _files(self) -> list[str]:
        return sorted(file.name for file in self.session.folder.glob("*.toml") if file.is_file())[:200]


def _base(question: Question) -> int:
    base = question.get("base")
    if isinstance(base, bool) or not isinstance(base, int):
        raise StateError(f"base is {shown(base)}; send the revision that was seen.")
    return base
