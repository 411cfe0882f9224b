"""Companion files of a recording (of its subagents, of its requests): where they appear, and when to look again."""

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
"""Seconds for which a companion file that grew is looked at as often as the main file."""

_TELLING: Final = 16_384
"""Bytes at the beginning of a file that tell whose it is."""


class CompanionPart(Struct):
    """A companion file (a subagent's) and the reader that takes it."""

    tail: Tail
    reader: Reader
    heard: float = 0.0
    """When it last grew, by the monotonic clock."""


class Folders(Struct):
    """Where companion files would appear, and what they looked like when last listed. `kin` says of a file whether it
    is a companion, where others have such names too."""

    patterns: tuple[str, ...]
    watched: tuple[str, ...]
    bodies: tuple[BodyFolder, ...] = ()
    """Folders in which bodies of the session's requests may be."""
    times: tuple[int, ...] = ()
    sure: bool = False
    kin: Callable[[Path], bool] | None = None

    def changed(self) -> bool:
        """Whether a companion may have come since the last `files`: nothing was made in the folders otherwise."""
        return not self.sure or self._times() != self.times or any(one.changed() for one in self.bodies)

    def files(self, sessions: Collection[str] = ()) -> list[Path]:
        """The companions that are there now; bodies are those of `sessions`, last and in the order of writing."""
        bodies = [path for folder in self.bodies for path in folder.files(sessions)] if sessions else []
        return [*self._matching(), *bodies]

    def _matching(self) -> list[Path]:
        self.times = self._times()
        # A file made within the clock's step after the listing would leave the folder's time as it is.
        self.sure = is_settled(max(self.times, default=0))
        found = sorted({Path(name) for pattern in self.patterns for name in glob.glob(pattern)})
        return found if self.kin is None else [path for path in found if self.kin(path)]

    def _times(self) -> tuple[int, ...]:
        return tuple(map(time_of, self.watched))


def folders_of(path: Path, form: Format, bodies: Path | None = None) -> Folders:
    """Where the companions of `path` would be; `bodies` is one more folder that bodies of its requests may be in."""
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
    """Which files belong to the session of `main`; each is asked once it has a beginning that tells."""

    def __init__(self, main: Path, kin: Callable[[bytes, bytes], bool]) -> None:
        self._main, self._kin = main, kin
        self._head = b""
        self._judged: dict[Path, bool] = {}

    def holds(self, path: Path) -> bool:
        """Whether the file `path` does; no for one that cannot be read."""
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
