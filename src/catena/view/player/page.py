"""Pages with a player: one file with everything in it, which asks no network for anything."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from catena.view.movie import Movie
from catena.view.player.payload import payload

SCRIPTS = ("renderer.js", "orbit.js", "plots.js", "player.js")
PLOTS = "vendor/uplot.js"
"""What draws curves; pages without any do without it."""
LIVE = "live.js"
"""What asks questions of Python; pages that are only played do without it."""
# The page may run what is in it and talk to the place it came from, and nothing else.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src {talk}; "
    "base-uri 'none'; form-action 'none'"
)


def page(movie: Movie, live: dict[str, Any] | None = None) -> str:
    """Return a whole page that shows a movie; with `live` data its joints can be moved through the server it came
    from."""
    policy = POLICY.format(talk="'self'" if live else "'none'")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(movie.title)}</title>\n"
        "<style>html, body { margin: 0; height: 100%; }\n#catena { height: 100vh; height: 100dvh; }</style>\n"
        f"{styles()}\n</head>\n<body>\n{fragment(movie, 'catena', live)}\n</body>\n</html>\n"
    )


def fragment(movie: Movie, name: str, live: dict[str, Any] | None = None) -> str:
    """Return the element `name` with a player in it, for a page that has `styles` in its head; its size is that of the
    element."""
    data = payload(movie) | ({"live": live} if live else {})
    # A script element ends at the first "</", wherever that stands.
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    start = (
        f'const at = (id) => document.getElementById(id), data = JSON.parse(at("{name}-data").textContent);'
    )
    start += (
        f'window.catena = window.catena || {{}}; window.catena["{name}"] = new Player(at("{name}"), data);'
    )
    return (
        f'<div id="{name}"></div>\n<script type="application/json" id="{name}-data">{text}</script>\n'
        f"<script>(() => {{\n{_scripts(bool(data['panels']), bool(live))}\n{start}\n}})();</script>"
    )


def styles() -> str:
    """Return the style element that players need."""
    return f"<style>{_text('vendor/uplot.css')}\n{_text('style.css')}</style>"


@cache
def _scripts(plots: bool, live: bool) -> str:
    return "\n".join(
        _text(name) for name in (*([PLOTS] if plots else []), *SCRIPTS, *([LIVE] if live else []))
    )


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
