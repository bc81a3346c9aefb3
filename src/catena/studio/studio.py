"""The studio as one object: a session, the process of its runs, and the server of its page."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path

from catena.errors import FormatError, StateError
from catena.formats.files import load, read_text
from catena.formats.source import Source
from catena.formats.toml import write
from catena.studio.answers import Answers
from catena.studio.runs import Runner
from catena.studio.server import StudioServer
from catena.studio.session import BLANK, EditingSession


class Studio:
    """A page at `url` in which a scenario is edited and run; `show` opens it, `wait` keeps it, `close` ends it.

    It may be used in a `with` block.
    """

    def __init__(self, session: EditingSession, host: str = "127.0.0.1", port: int = 0) -> None:
        self.session = session
        self.runner = Runner()
        self.server: StudioServer | None = StudioServer(Answers(session, self.runner), host, port)
        self.runner.start()

    @property
    def url(self) -> str:
        """The address of the page, with the secret in it."""
        if self.server is None:
            raise StateError("the studio is closed; make another one.")
        return self.server.url

    def show(self) -> None:
        """Open the page in the browser of this computer; where there is none, the address is printed."""
        url = self.url
        assert self.server is not None
        if not webbrowser.open(self.server.ticket_url()):
            print(f"There is no browser to open here; the studio is at {url}")

    def wait(self) -> None:
        """Keep the studio alive until Ctrl-C or `close`."""
        try:
            while self.server is not None:
                self.server.join(0.2)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """End the studio; what was not saved is lost to all but pages that are still open."""
        if self.server is not None:
            server, self.server = self.server, None
            server.close()
            self.runner.close()

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


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
