"""A view: a page in the browser or in a notebook, of a run that is played or of a mechanism that can be moved."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.mechanism import Mechanism
from catena.system import System
from catena.validation import shown
from catena.view.live.questions import Questions
from catena.view.live.server import Served, Server
from catena.view.movie import Motion, Movie, checked_options, movie, still
from catena.view.player import page
from catena.view.scene import scene

HEIGHT = 560
"""Pixels that a view takes in a notebook."""


class View(Served):
    """A page that a local server holds ready at `url`; `show` opens it, `wait` keeps it, `close` ends it.

    In a notebook it shows itself. It may be used in a `with` block.
    """

    noun = "view"

    def __init__(self, shown_movie: Movie, questions: Questions | None, host: str, port: int) -> None:
        self.movie = shown_movie
        self.questions = questions
        self._text = ""
        answer = questions.answer if questions else None
        super().__init__(Server(self.html, answer, host, port))
        self._is_opened = False
        atexit.register(self._leave)

    def html(self) -> str:
        """Return the page itself."""
        if not self._text:
            self._text = page(self.movie, self.questions.first() if self.questions else None)
        return self._text

    def show(self, height: int = HEIGHT) -> Any:
        """Show the page: inside a notebook, or in the browser of this computer. Where none can be opened, the address
        is printed."""
        if _in_notebook():
            from IPython.display import HTML, display

            return display(HTML(self._frame(height)))
        self._is_opened = self.open()
        return None

    def close(self) -> None:
        """End the view; a page that is open keeps playing, but its joints no longer move."""
        super().close()
        atexit.unregister(self._leave)

    def __repr__(self) -> str:
        where = "closed" if self.server is None else f"at {self.url}"
        return f"View of {self.movie.title!r}, {where}"

    def _repr_html_(self) -> str:
        return self._frame(HEIGHT)

    def _frame(self, height: int) -> str:
        """Return a run is part of the notebook; what asks questions has to come from the server."""
        if self.questions and self.server is not None:
            self.server.may_be_framed = True
        source = f'src="{self.url}"' if self.questions else f'srcdoc="{escape(self.html(), quote=True)}"'
        style = f"width: 100%; height: {int(height)}px; border: 1px solid #8884"
        return f'<iframe {source} style="{style}" title="{escape(self.movie.title, quote=True)}"></iframe>'

    def _leave(self) -> None:
        """A script that ends right after opening a view leaves the browser time to fetch it."""
        if self.server is not None:
            if self._is_opened:
                self.server.was_fetched.wait(timeout=10.0)
            self.close()


def view(
    subject: Mechanism | System | Motion,
    q: Any = None,
    *,
    show: bool | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    **options: Any,
) -> View:
    """Return a view of a mechanism or system at q (nq,), which can be moved, or of a run, which is played.

    Without q a mechanism starts at its initial state with its loops closed. `show` opens it at once: by default at a
    prompt, but not in a notebook, where it shows itself, nor in a script. Options are those of `movie`.
    """
    if isinstance(subject, Motion):
        if q is not None:
            raise StateError("a run is shown as it was; give q with a system instead.")
        made = View(movie(subject, **checked_options(options)), None, host, port)
    else:
        if not isinstance(subject, Mechanism | System):
            raise StateError(f"{shown(subject)} cannot be viewed; give a mechanism, a system or a run.")
        if options:
            raise StateError(f"{', '.join(options)}: these options are for runs only.")
        system: System = subject.system() if isinstance(subject, Mechanism) else subject
        start = _start(system, q)
        shape = scene(system, start)
        made = View(still(shape, start, system.mechanism.name), Questions(shape, start), host, port)
    if show or (show is None and _at_prompt()):
        made.show()
    return made


def _start(system: System, q: Any) -> np.ndarray:
    if q is None:
        return system.assemble()
    try:
        start = np.asarray(q, dtype=np.float64)
    except (TypeError, ValueError):
        raise StateError(f"q is {shown(q)}; give numbers ({system.nq},).") from None
    if start.shape != (system.nq,):
        raise StateError(f"view shows one configuration: q has shape {start.shape}, give ({system.nq},).")
    system.body_poses(start)  # complains about what is not finite or no quaternion
    return start.copy()


def _in_notebook() -> bool:
    shell: Callable[[], Any] | None = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return shell is not None and type(shell()).__name__ == "ZMQInteractiveShell"


def _at_prompt() -> bool:
    return hasattr(sys, "ps1") and not _in_notebook()
