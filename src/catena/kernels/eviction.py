"""How many entries the cache keeps, and for how long.

Entries whose sources have changed are never asked for again, and control laws leave one for every text they had. So
those that nobody used for two months go, and of too many the ones not used for longest. Using an entry renews its
time. Several processes may do this at once; what one of them has removed already is not there for the other.
"""

import re
import time

from catena.kernels.private_folder import PrivateFolder

MOST, OLDEST = 16384, 60 * 86400.0
"""Entries that are kept, and seconds since an entry was used after which it goes."""
# Removed at once so many beyond the limit that there is nothing to do for a while.
_LEFT = 0.75
# A file that is being written is finished in seconds; one that is older was left by a process that came to an end.
_ABANDONED = 3600.0
_ENTRY = re.compile(r"[0-9a-f]{40}\.bin")
_UNFINISHED = re.compile(r"[0-9a-f]{40}\.[0-9a-f]{16}\.part")


def evict(folder: PrivateFolder) -> None:
    """Remove entries that are too old or too many, and what was never finished. Other files are left alone."""
    now = time.time()
    kept: list[tuple[float, str]] = []
    for name, status in folder.files():
        used = status.st_mtime
        if _UNFINISHED.fullmatch(name):
            if abs(now - used) > _ABANDONED:
                folder.remove(name)
        elif _ENTRY.fullmatch(name):
            if used > now + _ABANDONED:
                # A clock was wrong. From now on the entry ages like the others.
                folder.touch(name)
                used = now
            if now - used > OLDEST:
                folder.remove(name)
            else:
                kept.append((used, name))
    if len(kept) > MOST:
        kept.sort()
        for _, name in kept[: len(kept) - int(_LEFT * MOST)]:
            folder.remove(name)
