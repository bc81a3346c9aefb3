"""Machine code by the text that it is compiled from: equal texts are compiled once, whatever source they come from.

An edit of a source changes few of the texts that are generated, so after it most code is only traced again. An entry
depends on its text, on how texts are compiled, on LLVM's binding and on the processor, and on nothing else.
"""

import hashlib
from contextlib import nullcontext
from functools import lru_cache

from catena import sources
from catena.kernels import cache
from catena.kernels.machine_code import engine
from catena.kernels.machine_code.cpu import target


def object_name(text: str) -> str:
    """Return the name under which the machine code of a text is kept; empty where the source that tells how texts are
    compiled has changed since it was loaded, so that nothing can be kept."""
    loaded = sources.digest("kernels/machine_code/engine.py", "kernels/machine_code/platforms.py")
    if loaded is None:
        return ""
    return hashlib.sha256("\0".join([loaded, _compiler(), text]).encode()).hexdigest()[:40]


def kept_object(name: str) -> bytes | None:
    """Return the machine code of this name, None where it is not kept."""
    found = cache.read(name)
    return found[0] if found else None


def compiled_object(text: str) -> tuple[str, bytes]:
    """Return the name and the machine code of a text, compiled now or read from the disk."""
    name = object_name(text)
    code = kept_object(name) if name else None
    if code is None:
        code = engine.compile_object(text)
        if name:
            cache.write(name, code, {})
    return name, code


def shared_object(text: str) -> bytes:
    """Return the machine code of a text that every process needs: one of those that begin together compiles it."""
    name = object_name(text)
    code = kept_object(name) if name else None
    if code is None:
        with cache.only_once(name) if name else nullcontext():
            _, code = compiled_object(text)
    return code


@lru_cache(maxsize=1)
def _compiler() -> str:
    """Return what machine code depends on besides its text and how that is compiled."""
    from importlib.metadata import version

    machine = target()
    return "\n".join([version("llvmlite"), machine.name, machine.features])
