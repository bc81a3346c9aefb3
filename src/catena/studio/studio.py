"""The studio as one object: a session, the process of its runs, and the server of its page."""

from __future__ import annotations

import os
from pathlib import Path

from catena.errors import FormatError
from catena.formats.files import load, read_text
from catena.formats.source import Source
from catena.formats.toml import write
from catena.studio.answers import Answers
from catena.studio.runs import Runner
from catena.studio.server import StudioServer
from catena.studio.session import BLANK, EditingSession
from catena.view.live.server import Served


class Studio(Served):
    """A page at `url` in which a scenario is edited and run; `show` opens it, `wait` keeps it, `close` ends it.

    It may be used in a `with` block.
    """

    noun = "studio"

    def __init__(self, session: EditingSession, host: str = "127.0.0.1", port: int = 0) -> None:
        self.session = session
        self.runner = Runner()
        answers = Answers(session, self.runner)
        super().__init__(StudioServer(answers, host, port))
        answers.address = lambda: self.url
        self.runner.start()

    def show(self) -> None:
        """Open the page in the browser of this computer; where there is none, the address is printed."""
        self.open()

    def close(self) -> None:
        """End the studio; what was not saved lies beside the file, and the next studio offers to resume it."""
        super().close()
        self.runner.close()


def studio(
    path: str | os.PathLike[str] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    show: bool = True,
) -> Studio:
    """Open the studio with a file, or with an empty drawing.

    A .toml file is edited in place; a model in another format becomes a new text. Files are written to `folder` only,
    which is that of the file, or the present one.
    """
    file = Path(os.fspath(path)).expanduser().resolve() if path is not None else None
    where = Path(folder).expanduser().resolve() if folder is not None else file.parent if file else Path.cwd()
    if not where.is_dir():
        raise FormatError(f"{where} is no folder; name one that exists.")
    if file is None:
        session = EditingSession(BLANK.format(name="mechanism"), "mechanism.toml", where)
    elif file.suffix.lower() == ".toml":
        session = EditingSession(read_text(file, Source(str(file))), file.name, where, file)
    else:
        name = f"{file.stem}.toml"
        session = EditingSession(write(load(file), name, where), name, where)
    made = Studio(session, host, port)
    if show:
        made.show()
    return made
