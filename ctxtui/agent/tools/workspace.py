"""The folder that tools may access, and the only way into it.

A path is resolved and checked against the folder. Then it is walked from the folder's own descriptor, one component at
a time, following no symlink. So nothing outside is opened, whatever is swapped meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.live_database import WHY, in_use

MAX_FILE_BYTES: Final = 10_000_000
"""Maximum bytes of a file that is read."""


class OutsideWorkspace(CtxtuiError):
    """A tool was given a path outside of the workspace."""


class Workspace:
    """The folder `root` (which must exist). Paths are relative to it, or absolute inside it."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve(strict=True)

    def resolve(self, path: str) -> Path:
        """Resolve `path`, following symlinks, to one relative to the root.

        Raises `OutsideWorkspace`.
        """
        if "\0" in path:
            raise OutsideWorkspace("a path with a zero byte", place=repr(path))
        try:
            real = Path(os.path.realpath(self.root / Path(path).expanduser() if path else self.root))
        except (OSError, RuntimeError) as error:
            raise OutsideWorkspace(f"not a path: {error}", place=path) from error
        if real != self.root and self.root not in real.parents:
            raise OutsideWorkspace("outside of the workspace", place=path, way_out=f"tools work in {self.root}")
        return real.relative_to(self.root)

    @contextmanager
    def _open_folder(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
        """A descriptor of the folder `parts` below the root; with `make`, missing ones are created."""
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=descriptor)
                next_descriptor = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = next_descriptor
            yield descriptor
        finally:
            os.close(descriptor)

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises `CtxtuiError` if it must not be read, `OSError` if it cannot."""
        place = self.resolve(path)
        if in_use(self.root / place):
            raise CtxtuiError(WHY, place=path)
        with self._open_folder(place.parent.parts) as folder, self._open_file(place, folder, path) as file:
            state = os.fstat(file)
            if not stat.S_ISREG(state.st_mode):
                raise CtxtuiError("not a file" if not stat.S_ISDIR(state.st_mode) else "a folder", place=path)
            if state.st_size > MAX_FILE_BYTES:
                raise CtxtuiError(f"{state.st_size:,} bytes are too many", place=path)
            with os.fdopen(os.dup(file), "rb") as stream:
                return stream.read(MAX_FILE_BYTES)

    @contextmanager
    def _open_file(self, place: Path, folder: int, path: str) -> Iterator[int]:
        # Non-blocking: a pipe without a writer must not block the tool.
        try:
            file = os.open(place.name or ".", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise OutsideWorkspace("the path changed while it was opened", place=path) from error
            raise
        try:
            yield file
        finally:
            os.close(file)

    def check_writable(self, path: str) -> None:
        """Raise `CtxtuiError` if `path` is outside, or exists and is no regular file."""
        place = self.resolve(path)
        real = self.root / place
        if not place.name or real.is_dir():
            raise CtxtuiError("a folder", place=path)
        if real.exists() and not real.is_file():
            raise CtxtuiError("not a file", place=path)

    def write(self, path: str, data: bytes, before: bytes | None) -> bool:
        """Write a whole file through a new file next to it, creating folders.

        Returns whether it was written. `before` is the expected present content (None: no such file); if it differs,
        nothing is written.
        """
        place = self.resolve(path)
        if not place.name:
            raise CtxtuiError("a folder", place=path)
        if (self.read(path) if os.path.lexists(self.root / place) else None) != before:
            return False
        with self._open_folder(place.parent.parts, make=True) as folder:
            try:
                existing: os.stat_result | None = os.stat(place.name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                existing = None
            if existing is not None and not stat.S_ISREG(existing.st_mode):
                raise CtxtuiError("not a file", place=path)
            # Cut: a name of the maximum length could not become longer.
            temporary = f".{place.name[:50]}.ctxtui-{os.getpid()}"
            mode = stat.S_IMODE(existing.st_mode) if existing is not None else 0o644
            file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
            try:
                with os.fdopen(file, "wb") as stream:
                    if existing is not None:
                        # Set again, as the process's umask reduced the new file's mode.
                        os.fchmod(file, mode)
                    stream.write(data)
                os.replace(temporary, place.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(temporary, dir_fd=folder)
                raise
        return True

    def delete(self, path: str) -> None:
        """Delete a file. Raises `CtxtuiError` if it is outside or no regular file, `OSError`."""
        place = self.resolve(path)
        with self._open_folder(place.parent.parts) as folder:
            if not place.name or not stat.S_ISREG(os.stat(place.name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise CtxtuiError("not a file", place=path)
            os.unlink(place.name, dir_fd=folder)

    def entries(self, path: str) -> list[str]:
        """The names in a folder, folders first and with a trailing slash; symlinks count as files."""
        place = self.resolve(path)
        with self._open_folder(place.parts) as folder, os.scandir(folder) as entries:
            named = [(not entry.is_dir(follow_symlinks=False), entry.name) for entry in entries]
        return [name if plain else f"{name}/" for plain, name in sorted(named)]

    def files(self, path: str = "", skip: frozenset[str] = frozenset()) -> Iterator[str]:
        """Regular files below `path` (or itself), relative to the root, not in `skip` folders."""
        place = self.resolve(path)
        with self._open_folder(place.parent.parts) as folder:
            if place.name and not stat.S_ISDIR(os.stat(place.name, dir_fd=folder, follow_symlinks=False).st_mode):
                if _is_file(place.name, folder):
                    yield str(place)
                return
        # By descriptors, so that a folder swapped for a link meanwhile is not walked.
        with self._open_folder(place.parts) as base:
            for top, folders, names, here in os.fwalk(".", dir_fd=base, follow_symlinks=False):
                folders[:] = sorted(name for name in folders if name not in skip)
                for name in sorted(names):
                    if _is_file(name, here):
                        yield os.path.normpath(place / top / name)


def _is_file(name: str, folder: int) -> bool:
    """Whether `name` in the folder is a regular file, and no link to one."""
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
