"""A page that a local server holds ready: its address, how it is opened, kept and ended."""

from __future__ import annotations

import webbrowser
from typing import Self

from catena.errors import StateError
from catena.view.live.server import Server


class Served:
    """A page at `url`; `open` shows it in the browser, `wait` keeps it, `close` ends it. It may be used in a `with`
    block."""

    noun = "page"
    """What messages call it."""

    def __init__(self, server: Server) -> None:
        self.server: Server | None = server

    @property
    def url(self) -> str:
        """The address of the page, with the secret in it; it works on this computer only, unless another host was asked
        for."""
        return self._open_server().url

    def open(self) -> bool:
        """Open the page in the browser of this computer, and return whether there is one; otherwise the address is
        printed."""
        server = self._open_server()
        is_opened = webbrowser.open(server.ticket_url())
        if not is_opened:
            print(f"There is no browser to open here; the {self.noun} is at {server.url}")
        return is_opened

    def wait(self) -> None:
        """Keep the page alive until Ctrl-C or `close`."""
        try:
            while self.server is not None:
                self.server.join(0.2)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Stop serving the page."""
        if self.server is not None:
            server, self.server = self.server, None
            server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _open_server(self) -> Server:
        if self.server is None:
            raise StateError(f"the {self.noun} is closed; make another one.")
        return self.server
