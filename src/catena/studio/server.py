"""The server of the studio: that of views, with more kinds of questions, answers in pieces, and its own files.

The address that is opened has a secret in it, which the browser keeps in a cookie that it sends from no other site. A
question is JSON, says so, and has a header that pages of other sites cannot send unasked; browsers tell where a request
comes from, and from elsewhere none is answered. Of files only those of the page are handed out, by a list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from itertools import chain
from typing import Any

from catena.errors import CatenaError
from catena.studio.answers import Answers
from catena.studio.session import Stale
from catena.view.live.server import Handler, Server
from catena.view.player.page import LIVE, PLOTS, SCRIPTS

LONGEST = 8 << 20
"""Bytes of the longest question."""
HEADER = "X-Catena"
LINK = re.compile(r"\?link=([A-Za-z0-9_-]{1,40})$")
"""What an address has behind it that leads to one state of the text."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SORTS = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".webp": "image/webp",
}


class StudioServer(Server):
    """Serves the page of the studio and answers what it asks."""

    def __init__(self, answers: Answers, host: str = "127.0.0.1", port: int = 0) -> None:
        self.answers = answers
        super().__init__(lambda: "", None, host, port)

    @property
    def cookie(self) -> str:
        """The name of the cookie, of which a computer has one for each port."""
        return f"catena{self.port}"


class StudioHandler(Handler):
    """Answers one connection."""

    desk: StudioServer

    def do_GET(self) -> None:
        """Hand out a file of the page, or let somebody in who knows the secret."""
        if not self.is_allowed():
            return
        path = self.path.partition("?")[0]
        if self.desk.takes_ticket(self.path) or path == f"/{self.desk.secret}/":
            cookie = f"{self.desk.cookie}={self.desk.secret}; HttpOnly; SameSite=Strict; Path=/"
            link = LINK.search(self.path)
            home = f"/?link={link[1]}" if link else "/"
            self.send(302, b"", "text/plain", {"Location": home, "Set-Cookie": cookie})
            return
        if not self._is_known():
            self.reply(403, {"error": "open the address that the studio has printed"})
            return
        found = resources().get("/index.html" if path == "/" else path)
        if found is None:
            self.reply(404, {"error": "there is nothing here"})
            return
        self.send(200, found[0], found[1], {"Content-Security-Policy": POLICY} if path == "/" else {})
        self.desk.was_fetched.set()

    def do_POST(self) -> None:
        """Answer a question."""
        if not self.is_allowed():
            return
        if not self._is_known() or not self._is_ours():
            self.reply(403, {"error": "this server answers only its own page"})
            return
        name = self.path.removeprefix("/ask/")
        answers = self.desk.answers
        if not self.path.startswith("/ask/") or (name not in answers.table and name not in answers.streams):
            self.reply(404, {"error": "there is nothing here"})
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 20) or int(length) > LONGEST:
            self.reply(413, {"error": f"a question has at most {LONGEST} bytes and says how many"})
            return
        try:
            question = json.loads(self.rfile.read(int(length)))
            if not isinstance(question, dict):
                raise ValueError("a question is an object")
            if name in answers.streams:
                self._stream(answers.streams[name](question))
            else:
                self.reply(200, answers.table[name](question))
        except Stale as error:
            self.reply(409, {"error": str(error), "state": answers.session.state()})
        except (CatenaError, ValueError, OverflowError, RecursionError, OSError) as error:
            self.reply(400, {"error": str(error)})

    def _is_known(self) -> bool:
        try:
            cookies = SimpleCookie(self.headers.get("Cookie", ""))
        except CookieError:
            return False
        found = cookies.get(self.desk.cookie)
        return found is not None and found.value == self.desk.secret

    def _is_ours(self) -> bool:
        """Return whether a question comes from the page itself."""
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        site = self.headers.get("Sec-Fetch-Site", "same-origin")
        return kind == "application/json" and self.headers.get(HEADER) == "1" and site == "same-origin"

    def _stream(self, answers: Any) -> None:
        """Answer in pieces, each a line of JSON that goes out at once. What is wrong with the question is known before
        the first of them."""
        first: dict[str, Any] = next(answers, {})
        self.send_response(200)
        for key, value in (
            ("Content-Type", "application/x-ndjson"), ("Transfer-Encoding", "chunked"), ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ):  # fmt: skip
            self.send_header(key, value)
        self.end_headers()
        for answer in chain([first], answers):
            line = json.dumps(answer, allow_nan=False, separators=(",", ":")).encode("utf-8") + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()


StudioServer.handler = StudioHandler


@cache
def resources() -> Mapping[str, tuple[bytes, str]]:
    """Return the files of the page by their paths, with what they are."""
    own, player = files("catena.studio").joinpath("page"), files("catena.view.player")
    found: dict[str, tuple[bytes, str]] = {}
    for where in ("/", "/vendor/", "/gallery/"):
        folder = own.joinpath(where.strip("/")) if where != "/" else own
        for file in folder.iterdir():
            ending = file.name[file.name.rfind(".") :]
            if file.is_file() and ending in SORTS:
                found[f"{where}{file.name}"] = file.read_bytes(), SORTS[ending]
    scripts = "\n".join(player.joinpath(name).read_text(encoding="utf-8") for name in (PLOTS, *SCRIPTS, LIVE))
    # The player of saved pages is one script; here it is a module that shares its classes.
    scripts += "\nexport { Player, Plot, Live, Orbit, Renderer, shown_number, rgb };\n"
    found["/player.js"] = scripts.encode("utf-8"), SORTS[".js"]
    styles = (player.joinpath(name).read_bytes() for name in ("vendor/uplot.css", "style.css"))
    found["/player.css"] = b"\n".join(styles), SORTS[".css"]
    return found
