"""The folder that tools may touch, and the only way into it.

A path is resolved, held against the folder, and then walked from the folder's own descriptor, one component at a time,
following no symlink: whatever is swapped in meanwhile, nothing outside is opened.
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

LARGEST: Final = 10_000_000
"""Bytes of a file that is read."""


class OutsideWorkspace(CtxtuiError):
    """A tool was pointed at something that is not in the workspace."""


class Workspace:
    """The folder `root` (which must exist). Paths are given relative to it, or absolute inside it."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve(strict=True)

    def inside(self, path: str) -> Path:
        """The real place of `path`, relative to the root. Raises `OutsideWorkspace` for what is elsewhere; symlinks are
        followed."""
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
    def _folder(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
        """A descriptor of the folder `parts` below the root; folders are made where `make`."""
        here = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=here)
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
                os.close(here)
                here = below
            yield here
        finally:
            os.close(here)

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises `OutsideWorkspace`, `OSError`, `CtxtuiError` for what is no regular file or too
        large."""
        place = self.inside(path)
        if in_use(self.root / place):
            raise CtxtuiError(WHY, place=path)
        with self._folder(place.parent.parts) as folder, self._opened(place, folder, path) as file:
            state = os.fstat(file)
            if not stat.S_ISREG(state.st_mode):
                raise CtxtuiError("not a file" if not stat.S_ISDIR(state.st_mode) else "a folder", place=path)
            if state.st_size > LARGEST:
                raise CtxtuiError(f"{state.st_size:,} bytes are too many", place=path)
            with os.fdopen(os.dup(file), "rb") as stream:
                return stream.read(LARGEST)

    @contextmanager
    def _opened(self, place: Path, folder: int, path: str) -> Iterator[int]:
        # Not blocking: a pipe that nobody writes to must not hold the tool.
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

    def writable(self, path: str) -> None:
        """Raises `OutsideWorkspace`, and `CtxtuiError` for what is there and no regular file."""
        place = self.inside(path)
        real = self.root / place
        if not place.name or real.is_dir():
            raise CtxtuiError("a folder", place=path)
        if real.exists() and not real.is_file():
            raise CtxtuiError("not a file", place=path)

    def write(self, path: str, data: bytes, before: bytes | None) -> bool:
        """Write a file whole, through a new file beside it; folders are made. `before` is what is known to stand there
        (None: no such file); where it is something else, nothing is written. Whether it was."""
        place = self.inside(path)
        if not place.name:
            raise CtxtuiError("a folder", place=path)
        if (self.read(path) if os.path.lexists(self.root / place) else None) != before:
            return False
        with self._folder(place.parent.parts, make=True) as folder:
            try:
                there: os.stat_result | None = os.stat(place.name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                there = None
            if there is not None and not stat.S_ISREG(there.st_mode):
                raise CtxtuiError("not a file", place=path)
            beside = f".{place.name}.ctxtui-{os.getpid()}"
            mode = stat.S_IMODE(there.st_mode) if there is not None else 0o644
            file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
            try:
                with os.fdopen(file, "wb") as stream:
                    stream.write(data)
                os.replace(beside, place.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(beside, dir_fd=folder)
                raise
        return True

    def delete(self, path: str) -> None:
        """Take a file away. Raises `OutsideWorkspace`, `CtxtuiError` for what is no regular file, `OSError`."""
        place = self.inside(path)
        with self._folder(place.parent.parts) as folder:
            if not place.name or not stat.S_ISREG(os.stat(place.name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise CtxtuiError("not a file", place=path)
            os.unlink(place.name, dir_fd=folder)

    def entries(self, path: str) -> list[str]:
        """The names in a folder, folders first and with a slash at their end; symlinks count as files."""
        place = self.inside(path)
        with self._folder(place.parts) as folder, os.scandir(folder) as found:
            named = [(not one.is_dir(follow_symlinks=False), one.name) for one in found]
        return [name if plain else f"{name}/" for plain, name in sorted(named)]

    def files(self, path: str = "", skip: frozenset[str] = frozenset()) -> Iterator[str]:
        """Every regular file below `path`, relative to the root, folders named in `skip` left out."""
        place = self.inside(path)
        with self._folder(place.parent.parts) as folder:
            if place.name and not stat.S_ISDIR(os.stat(place.name, dir_fd=folder, follow_symlinks=False).st_mode):
                if _is_file(place.name, folder):
                    yield str(place)
                return
        # By descriptors: a folder that is swapped for a link meanwhile is not walked.
        with self._folder(place.parts) as base:
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
