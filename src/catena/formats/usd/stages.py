"""A USD text as a stage that reaches nothing else: no other layer, no clip, no nesting that a parser could drown in."""

from __future__ import annotations

import re
from typing import Any

from catena.errors import FormatError
from catena.formats.source import Source

DEEPEST = 100
"""How deep brackets may be nested; the parser of USD is recursive."""
_QUIET = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|@@@.*?@@@|@[^@\n]*@|#[^\n]*',
    re.DOTALL,
)
"""Strings, paths of assets and comments, in which a bracket means nothing."""


def open_stage(text: str, source: Source) -> Any:
    """Return the stage of a text, which must say everything itself: a file that is composed of others is refused,
    because USD would open them wherever they lie."""
    try:
        from pxr import Sdf, Usd
    except ImportError:
        raise FormatError(
            f"{source.name}: USD files need the package usd-core, which is not installed: "
            'pip install "catena-dynamics[usd]"'
        ) from None
    if not text.startswith("#usda"):
        raise FormatError(
            f"{source.name}: this is no USD text, which begins with #usda: convert it, usdcat -o x.usda"
        )
    _require_shallow(text, source)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    try:
        is_read = layer.ImportFromString(text)
    except Exception as error:
        place = re.search(r":(\d+):\d+: (.*?)'?$", _short(error))
        where, what = ("", _short(error)) if place is None else (f":{place.group(1)}", place.group(2).strip())
        raise FormatError(f"{source.name}{where}: this is not USD: {what}") from None
    if not is_read:
        raise FormatError(f"{source.name}: this is not USD")
    others = [*layer.GetCompositionAssetDependencies(), *layer.externalReferences]
    clips: list[str] = []
    layer.Traverse("/", lambda path: clips.append(str(path)) if _has_clips(layer, path) else None)
    if any(others) or clips:
        named = next((str(one) for one in others if one), f"clips of {clips[0] if clips else '/'}")
        raise FormatError(
            f"{source.name}: it is composed of other files, such as {named!r}, which are not opened: "
            "write it into one file, usdcat --flatten -o x.usda"
        )
    try:
        return Usd.Stage.Open(layer)
    except Exception as error:
        raise FormatError(f"{source.name}: this is not USD: {_short(error)}") from None


def _require_shallow(text: str, source: Source) -> None:
    depth = 0
    for sign in re.findall(r"[][(){}]", _QUIET.sub("", text)):
        depth += 1 if sign in "[({" else -1
        if depth > DEEPEST:
            raise FormatError(f"{source.name}: brackets are nested deeper than {DEEPEST}: this is no model")


def _has_clips(layer: Any, path: Any) -> bool:
    spec = layer.GetPrimAtPath(path) if path.IsPrimPath() else None
    return bool(spec is not None and any(spec.HasInfo(key) for key in ("clips", "clipSets")))


def _short(error: Exception) -> str:
    """What an error of USD says, on one line."""
    return " ".join(str(error).split())[:300]
