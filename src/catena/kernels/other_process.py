"""Python in another process, which finds what this one finds and nothing that happens to lie where it is started."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys

_running: set[subprocess.Popen[bytes]] = set()


def start_python(code: str) -> subprocess.Popen[bytes] | None:
    """Return a process that runs `code`, with pipes to its input and output; None if there can be none.

    The folder that it is started in, where a stranger's models may lie and modules of any name beside them, is not
    among those that it imports from. It ends with this process; `finish` waits for it.
    """
    if not sys.executable:
        return None
    paths = [os.path.abspath(p) for p in sys.path if p]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
    except OSError:
        return None
    _running.add(child)
    return child


def finish(child: subprocess.Popen[bytes], message: bytes = b"") -> bytes:
    """Send a message to a child, wait for its end and return what it printed; nothing if it failed."""
    try:
        answer, _ = child.communicate(message)
    except BaseException:
        child.kill()
        raise
    finally:
        _running.discard(child)
    return answer if child.returncode == 0 else b""


@atexit.register
def _end_children() -> None:
    for child in list(_running):
        child.kill()
