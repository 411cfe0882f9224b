"""Finds companion files, which are read together with a recording: subagents, bodies."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.services.recordings.body_folder import BodyFolder, body_folders_for
from ctxtui.services.recordings.file_tail import FileTail, is_settled, modification_time, read_head
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.registry import Format

RECENT_SECONDS: Final = 60.0
"""Seconds after growth during which a companion file is checked as often as the main file."""

_HEAD_BYTES: Final = 16_384
"""Bytes at the start of a file that show its session."""


class CompanionPart(Struct):
    """A companion file and its reader."""

    tail: FileTail
    reader: Reader
    grew_at: float = 0.0
    """By the monotonic clock."""


class CompanionFolders(Struct):
    """The folders where companion files appear, with their state when last listed.

    - `patterns`: match companion files.
    - `watched`: the folders, whose `times` are compared.
    - `is_settled`: a file added since then changes the times.
    - `is_companion`: tells whether a matching file is a companion, for formats in which other files have such names
      too.
    """

    patterns: tuple[str, ...]
    watched: tuple[str, ...]
    bodies: tuple[BodyFolder, ...] = ()
    """Folders that may hold bodies of the session's requests."""
    times: tuple[int, ...] = ()
    is_settled: bool = False
    is_companion: Callable[[Path], bool] | None = None

    def has_changed(self) -> bool:
        """Whether a companion may have been added since the last `list_files`."""
        return (
            not self.is_settled
            or self._folder_times() != self.times
            or any(folder.has_changed() for folder in self.bodies)
        )

    def list_files(self, sessions: Collection[str] = ()) -> list[Path]:
        """List the current companions; bodies of `sessions` come last, in the order of writing."""
        bodies = [path for folder in self.bodies for path in folder.list_files(sessions)] if sessions else []
        return [*self._matching_files(), *bodies]

    def _matching_files(self) -> list[Path]:
        self.times = self._folder_times()
        # A file created right after the listing would not change the folder's time.
        self.is_settled = is_settled(max(self.times, default=0))
        paths = sorted({Path(name) for pattern in self.patterns for name in glob.glob(pattern)})
        return paths if self.is_companion is None else [path for path in paths if self.is_companion(path)]

    def _folder_times(self) -> tuple[int, ...]:
        return tuple(map(modification_time, self.watched))


def companion_folders(path: Path, form: Format, bodies: Path | None = None) -> CompanionFolders:
    """The folders of companions of `path`; `bodies` is an additional folder of request bodies."""
    stem = glob.escape(path.stem)
    patterns = [form_pattern.replace("{stem}", stem) for form_pattern in form.companions]
    inner = {str(path.parent)} if patterns else set()
    for pattern in form.companions:
        folder = Path(pattern.replace("{stem}", path.stem)).parent
        inner |= {str(path.parent / step) for step in (folder, *folder.parents)}
    base = glob.escape(str(path.parent))
    places = body_folders_for(path) if form.bodies else ()
    places = (*((bodies.absolute(),) if bodies is not None else ()), *places)
    folders = CompanionFolders(
        tuple(f"{base}/{pattern}" for pattern in patterns),
        tuple(sorted(inner)),
        tuple(BodyFolder(place) for place in dict.fromkeys(places)),
    )
    if form.is_companion is not None:
        folders.is_companion = _SessionFiles(path, form.is_companion).belongs
    return folders


class _SessionFiles:
    """Tells from their first bytes which files belong to the session of `main`."""

    def __init__(self, main: Path, is_companion: Callable[[bytes, bytes], bool]) -> None:
        self._main, self._is_companion = main, is_companion
        self._head = b""
        self._by_path: dict[Path, bool] = {}

    def belongs(self, path: Path) -> bool:
        """False if the file cannot be read."""
        belongs = self._by_path.get(path)
        if belongs is not None:
            return belongs
        if len(self._head) < _HEAD_BYTES:
            self._head = read_head(self._main, _HEAD_BYTES)
        head = read_head(path, _HEAD_BYTES)
        belongs = path != self._main and bool(head) and self._is_companion(self._head, head)
        if len(head) == _HEAD_BYTES or b"\n" in head:
            self._by_path[path] = belongs
        return belongs
