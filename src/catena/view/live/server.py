"""A small web server for one view: it hands out one page and answers one kind of question, and nothing else.

It listens on this computer only unless told otherwise. The page's address has a secret in it, so other pages and other
users of the computer cannot find it; requests that name another host or come from another site are refused, and other
pages cannot frame it. A browser is started with an address that leads there once, because all users of a computer see
how programs were started; one who is quicker than the browser gets the page in its place. No file is ever read.
Requests carry the whole state, so none is kept and browsers do not disturb each other. `Served` is what its owner
holds: the address, how it is opened, kept and ended.
"""

from __future__ import annotations

import json
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, Self

from catena.errors import CatenaError, StateError
from catena.validation import shown

LONGEST = 1 << 20
"""Bytes of the longest question."""
PATIENCE = 30.0
"""Seconds that a silent connection is kept."""
MOST_CONNECTIONS = 64
"""How many connections are kept at once; of more the one that has been open longest is hung up on."""
LOCAL = ("127.0.0.1", "localhost", "::1")

NOTHING: Mapping[str, str] = MappingProxyType({})

Answer = Callable[[Any], dict[str, Any]]


class Server:
    """Serves a page, made when it is asked for, and answers questions as JSON; it starts at once."""

    handler: type[Handler]
    """What answers connections."""

    def __init__(
        self, page: Callable[[], str], answer: Answer | None, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        if not isinstance(host, str) or not host:
            raise StateError(f"host is {shown(host)}; give a name or an address such as '127.0.0.1'.")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536:
            raise StateError(
                f"port is {shown(port)}; give a whole number below 65536, or 0 for any that is free."
            )
        self.secret = secrets.token_urlsafe(16)
        self.may_be_framed = False
        """Whether other pages may show the page inside of them, as a notebook does."""
        self._tickets: set[str] = set()
        self.was_fetched = threading.Event()
        self.host = host
        self.page, self.answer = page, answer
        try:
            self._server = _Listener((host, port), type("Handler", (self.handler,), {"desk": self}))
        except OSError as error:
            raise StateError(
                f"{host}:{port} cannot be listened on: {error.strerror or error}; choose another port."
            ) from None
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="catena view", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/{self.secret}/"

    def ticket_url(self) -> str:
        """Return an address that leads to the page once, for the command line of the browser, which every user of the
        computer can read."""
        ticket = secrets.token_urlsafe(16)
        self._tickets.add(ticket)
        return f"{self.url.removesuffix(f'{self.secret}/')}{ticket}"

    def takes_ticket(self, path: str) -> bool:
        """Return whether a path is that of a ticket, which is void from then on."""
        try:
            self._tickets.remove(path.removeprefix("/"))
        except KeyError:
            return False
        return True

    def is_known(self, host: str | None, origin: str | None) -> bool:
        """Return whether a request was meant for this server, by the host it names and the site that it comes from."""
        if not host:
            return False
        name = host.rsplit(":", 1)[0].strip("[]") if host.endswith(f":{self.port}") else host.strip("[]")
        if self.host in LOCAL and name not in LOCAL:
            return False
        return origin is None or origin == f"http://{host}"

    @property
    def address(self) -> tuple[str, int]:
        """Return the host and the port that the server listens at."""
        host, port = self._server.socket.getsockname()[:2]
        return host, port

    def join(self, timeout: float) -> None:
        """Wait until the server ends, for `timeout` seconds at most."""
        self._thread.join(timeout)

    def close(self) -> None:
        """Stop listening, and end the connections that browsers keep open."""
        self._server.shutdown()
        self._server.server_close()
        self._server.end_connections()
        self._thread.join(timeout=5.0)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    # Five that wait to be let in, as is usual, are fewer than the connections of two browsers; others are hung up on.
    request_queue_size = 128
    # A port that another server listens on is not to be shared with it.
    allow_reuse_address = False

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        # In the order in which they were opened.
        self._open: dict[socket.socket, None] = {}
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        connections = list(self._open)
        for oldest in connections[: len(connections) + 1 - MOST_CONNECTIONS]:
            self._hang_up(oldest)
        self._open[request] = None
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.pop(request, None)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        """Hang up on everybody."""
        for connection in list(self._open):
            self._hang_up(connection)

    def _hang_up(self, connection: socket.socket) -> None:
        self._open.pop(connection, None)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is not worth a word on the terminal."""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection for the server that is its `desk`."""

    desk: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "catena", ""
    timeout = PATIENCE
    # Head and content of an answer go out together and at once; otherwise each waits for the other's receipt.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if not self.is_allowed():
            return
        if self.desk.takes_ticket(self.path):
            self.send(302, b"", "text/plain", {"Location": f"/{self.desk.secret}/"})
            return
        if self.path.partition("?")[0] != f"/{self.desk.secret}/":
            self.reply(404, {"error": "there is nothing here"})
            return
        self.send(200, self.desk.page().encode("utf-8"), "text/html; charset=utf-8")
        self.desk.was_fetched.set()

    def do_POST(self) -> None:
        if not self.is_allowed():
            return
        if self.desk.answer is None or self.path != f"/{self.desk.secret}/pose":
            self.reply(404, {"error": "there is nothing here"})
            return
        length = self.headers.get("Content-Length", "")
        is_number = length.isascii() and length.isdigit() and len(length) < 20
        if not is_number or int(length) > LONGEST:
            self.reply(413, {"error": f"a question has at most {LONGEST} bytes and says how many"})
            return
        try:
            question = json.loads(self.rfile.read(int(length)))
            self.reply(200, self.desk.answer(question))
        except (CatenaError, ValueError, OverflowError, RecursionError) as error:
            self.reply(400, {"error": str(error)})

    def is_allowed(self) -> bool:
        """Return whether a request was meant for this server; one that was not is answered so."""
        if self.desk.is_known(self.headers.get("Host"), self.headers.get("Origin")):
            return True
        self.reply(403, {"error": "this server answers only requests that were meant for it"})
        return False

    def reply(self, code: int, content: dict[str, Any]) -> None:
        """Answer with JSON."""
        if code >= 400:
            # What was not read of a request would be taken for the next one.
            self.close_connection = True
        self.send(code, json.dumps(content, allow_nan=False).encode("utf-8"), "application/json")

    def send(self, code: int, content: bytes, kind: str, more: Mapping[str, str] = NOTHING) -> None:
        """Answer with some content, and what keeps browsers from doing more with it."""
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        if not self.desk.may_be_framed:
            # A page around it could lead the user's hand; in the page itself a browser does not heed this.
            self.send_header("X-Frame-Options", "DENY")
            self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        for name, value in more.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not worth a line on the terminal."""


Server.handler = Handler


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
