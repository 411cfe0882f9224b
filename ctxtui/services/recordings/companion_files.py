"""Companion files of a recording (of its subagents, of its requests): where they appear, and when to look again."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ctxtui.services.recordings.body_folder import BodyFolder, folders_for
from ctxtui.services.recordings.file_tail import Tail
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.registry import Format

RECENT: Final = 60.0
"""Seconds for which a companion file that grew is looked at as often as the main file."""

_TICK_NS: Final = 50_000_000


@dataclass(slots=True)
class CompanionPart:
    """A companion file (a subagent's) and the reader that takes it."""

    tail: Tail
    reader: Reader
    heard: float = 0.0
    """When it last grew, by the monotonic clock."""


@dataclass(slots=True)
class Folders:
    """Where companion files would appear, and what they looked like when last listed."""

    patterns: tuple[str, ...]
    watched: tuple[str, ...]
    bodies: tuple[BodyFolder, ...] = ()
    """Folders in which bodies of the session's requests may be."""
    times: tuple[int, ...] = ()
    sure: bool = False

    def changed(self) -> bool:
        """Whether a companion may have come since the last `files`: nothing was made in the folders otherwise."""
        return not self.sure or self.times != self._times() or any(one.changed() for one in self.bodies)

    def files(self, sessions: Collection[str] = ()) -> list[Path]:
        """The companions that are there now; bodies are those of `sessions`, last and in the order of writing."""
        bodies = [path for folder in self.bodies for path in folder.files(sessions)] if sessions else []
        return [*self._matching(), *bodies]

    def _matching(self) -> list[Path]:
        self.times = self._times()
        # A file made within the clock's step after the listing would leave the folder's time as it is.
        self.sure = time.time_ns() - max(self.times, default=0) > _TICK_NS
        return sorted({Path(name) for pattern in self.patterns for name in glob.glob(pattern)})

    def _times(self) -> tuple[int, ...]:
        return tuple(map(_time_of, self.watched))


def _time_of(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


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
    return Folders(
        tuple(f"{base}/{pattern}" for pattern in patterns),
        tuple(sorted(inner)),
        tuple(BodyFolder(place) for place in dict.fromkeys(places)),
    )
