"""Find companion files of a recording (subagents, request bodies), and check for new ones."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.services.recordings.body_folder import BodyFolder, folders_for
from ctxtui.services.recordings.file_tail import Tail, beginning, is_settled, time_of
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.registry import Format

RECENT: Final = 60.0
"""Seconds after growth during which a companion file is checked as often as the main file."""

_TELLING: Final = 16_384
"""Bytes at the start of a file that show its session."""


class CompanionPart(Struct):
    """A companion file and its reader."""

    tail: Tail
    reader: Reader
    heard: float = 0.0
    """When it last grew, by the monotonic clock."""


class Folders(Struct):
    """The folders where companion files appear, with their state when last listed.

    `kin` tells whether a matching file is a companion, for formats in which other files have such names too.
    """

    patterns: tuple[str, ...]
    watched: tuple[str, ...]
    bodies: tuple[BodyFolder, ...] = ()
    """Folders that may hold bodies of the session's requests."""
    times: tuple[int, ...] = ()
    sure: bool = False
    kin: Callable[[Path], bool] | None = None

    def changed(self) -> bool:
        """True if a companion may have been added since the last `files`."""
        return not self.sure or self._times() != self.times or any(one.changed() for one in self.bodies)

    def files(self, sessions: Collection[str] = ()) -> list[Path]:
        """List the current companions; bodies of `sessions` come last, in the order of writing."""
        bodies = [path for folder in self.bodies for path in folder.files(sessions)] if sessions else []
        return [*self._matching(), *bodies]

    def _matching(self) -> list[Path]:
        self.times = self._times()
        # A file created right after the listing would not change the folder's time.
        self.sure = is_settled(max(self.times, default=0))
        found = sorted({Path(name) for pattern in self.patterns for name in glob.glob(pattern)})
        return found if self.kin is None else [path for path in found if self.kin(path)]

    def _times(self) -> tuple[int, ...]:
        return tuple(map(time_of, self.watched))


def folders_of(path: Path, form: Format, bodies: Path | None = None) -> Folders:
    """The folders of companions of `path`; `bodies` is an additional folder of request bodies."""
    stem = glob.escape(path.stem)
    patterns = [form_pattern.replace("{stem}", stem) for form_pattern in form.companions]
    inner = {str(path.parent)} if patterns else set()
    for pattern in form.companions:
        folder = Path(pattern.replace("{stem}", path.stem)).parent
        inner |= {str(path.parent / step) for step in (folder, *folder.parents)}
    base = glob.escape(str(path.parent))
    places = folders_for(path) if form.bodies else ()
    places = (*((bodies.absolute(),) if bodies is not None else ()), *places)
    found = Folders(
        tuple(f"{base}/{pattern}" for pattern in patterns),
        tuple(sorted(inner)),
        tuple(BodyFolder(place) for place in dict.fromkeys(places)),
    )
    if form.kin is not None:
        found.kin = _Kinship(path, form.kin).holds
    return found


class _Kinship:
    """Tells which files belong to the session of `main`, from their first bytes; answers are cached."""

    def __init__(self, main: Path, kin: Callable[[bytes, bytes], bool]) -> None:
        self._main, self._kin = main, kin
        self._head = b""
        self._judged: dict[Path, bool] = {}

    def holds(self, path: Path) -> bool:
        """True if the file `path` belongs to the session; False if it cannot be read."""
        known = self._judged.get(path)
        if known is not None:
            return known
        if len(self._head) < _TELLING:
            self._head = beginning(self._main, _TELLING)
        head = beginning(path, _TELLING)
        found = path != self._main and bool(head) and self._kin(self._head, head)
        if len(head) == _TELLING or b"\n" in head:
            self._judged[path] = found
        return found
