"""A folder that nobody but its owner can write: what is read from it was put there by this user.

Machine code that is read from a folder is run, so whoever can write there can run anything as this user. A folder or a
file that belongs to somebody else, or that others can write, is therefore refused. What belongs to the superuser, as
the cache that an image of a machine brings along, is not: whoever is that can run anything anyway. The folder is looked
at through a descriptor and files are opened relative to it, so that what was looked at is what is used, whoever renames
what meanwhile. Nothing here raises because of the state of a disk: a folder that cannot be used only costs time.
"""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from catena.errors import warn

# No file of ours is larger; a foreign one should not fill the memory.
_LARGEST = 1 << 28
BY_DESCRIPTOR = {os.open, os.rename, os.unlink} <= os.supports_dir_fd and os.scandir in os.supports_fd
_READ = os.O_RDONLY | sum(getattr(os, n, 0) for n in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | (_READ & ~getattr(os, "O_NONBLOCK", 0))
# Seconds after which a file that is used gets the present as its time.
_RENEWED = 86400.0
# Seconds between looks at a lock that somebody else holds.
_LOOK = 0.01
warned: set[str] = set()
"""What was warned of in this process."""


class PrivateFolder:
    """An open folder; use it in a `with` statement."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path, self._descriptor = path, descriptor

    @staticmethod
    def open(path: Path, make: bool = False) -> "PrivateFolder | None":
        """Return the folder at a path, which is made if wanted; None if it cannot be opened or is not private."""
        try:
            if make:
                _make(path)
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if BY_DESCRIPTOR else None
        except OSError:
            return None
        folder = PrivateFolder(path, descriptor)
        with contextlib.suppress(OSError):
            status = os.stat(folder._where)
            flaw = _flaw(status)
            if stat.S_ISDIR(status.st_mode) and flaw is None:
                return folder
            if flaw is not None:
                _warn_once(
                    "folder",
                    f"The folder {path} {flaw}, so compiled code is neither read from it nor kept there, and every "
                    f"process compiles anew. Remove it, and one for you alone is made; or set CATENA_CACHE to another.",
                )
        folder.close()
        return None

    def __enter__(self) -> "PrivateFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def read(self, name: str) -> bytes | None:
        """Return the contents of a file; None if there is none, or if what is there is not a plain file of this user
        alone."""
        try:
            handle = os.open(self._place(name), _READ, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno == errno.ELOOP:
                self._refuse(name, "is a symbolic link")
            return None
        try:
            status = os.fstat(handle)
            flaw = _flaw(status) if stat.S_ISREG(status.st_mode) else "is no plain file"
            if flaw is None and status.st_size > _LARGEST:
                flaw = "is too large to be one of ours"
            if flaw is not None:
                self._refuse(name, flaw)
                return None
            with os.fdopen(handle, "rb", closefd=False) as file:
                contents = file.read()
            if abs(time.time() - status.st_mtime) > _RENEWED:
                self.touch(name)
            return contents
        except OSError:
            return None
        finally:
            os.close(handle)

    def write(self, name: str, unfinished: str, contents: bytes) -> None:
        """Write a file for this user alone. It appears whole or not at all, by way of the name `unfinished`."""
        with contextlib.suppress(OSError):
            try:
                handle = os.open(self._place(unfinished), _WRITE, 0o600, dir_fd=self._descriptor)
            except OSError as error:
                if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                    _warn_once(
                        "write",
                        f"The folder {self.path} cannot be written, so what is compiled now is compiled again by the "
                        f"next process. Set CATENA_CACHE to another, or fill it by `catena warm`.",
                    )
                return
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(contents)
                os.replace(
                    self._place(unfinished), self._place(name),
                    src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor,
                )  # fmt: skip
            except BaseException:
                self.remove(unfinished)
                raise

    @contextlib.contextmanager
    def locked(self, name: str, patience: float) -> Iterator[None]:
        """Hold a lock that all processes know by a name, so that one does what others wait for: at most so many
        seconds, and not at all where nothing can be locked."""
        handle = None
        with contextlib.suppress(OSError, ImportError):
            import fcntl

            handle = os.open(
                self._place(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=self._descriptor
            )
            until = time.monotonic() + patience
            while time.monotonic() < until:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(_LOOK)
        try:
            yield
        finally:
            if handle is not None:
                # It is unlocked with that, as by the end of a process.
                os.close(handle)

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Return the names and states of all plain files."""
        with contextlib.suppress(OSError), os.scandir(self._where) as found:
            for each in found:
                with contextlib.suppress(OSError):
                    if each.is_file(follow_symlinks=False):
                        yield each.name, each.stat(follow_symlinks=False)

    def touch(self, name: str) -> None:
        """Note that a file was used now."""
        with contextlib.suppress(OSError):
            os.utime(self._place(name), dir_fd=self._descriptor)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(OSError):
            os.unlink(self._place(name), dir_fd=self._descriptor)

    @property
    def _where(self) -> int | Path:
        return self.path if self._descriptor is None else self._descriptor

    def _place(self, name: str) -> str:
        return name if self._descriptor is not None else str(self.path / name)

    def _refuse(self, name: str, flaw: str) -> None:
        _warn_once(
            "file", f"{self.path / name} {flaw}, so it is not used and will be replaced, as others like it."
        )


def _make(path: Path) -> None:
    """Make a folder, and those it lies in, for this user alone, whatever the umask allows."""
    for each in (*reversed(path.parents), path):
        if not each.exists():
            with contextlib.suppress(FileExistsError):
                os.mkdir(each, 0o700)


def _flaw(status: os.stat_result) -> str | None:
    """Return what is wrong with the owner or the mode of a file, as the end of a sentence; None where nothing is."""
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid not in (os.geteuid(), 0):
        return f"belongs to user {status.st_uid}, and this process to user {os.geteuid()}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by others (mode {stat.S_IMODE(status.st_mode):03o})"
    return None


def _warn_once(about: str, text: str) -> None:
    if about not in warned:
        warned.add(about)
        warn(text)
