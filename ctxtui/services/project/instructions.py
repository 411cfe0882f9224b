"""What a project tells every agent: ``CLAUDE.md`` and ``AGENTS.md``, with the files that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ctxtui.project.file_kinds import is_private
from ctxtui.project.named import mentions

NAMES: Final = ("CLAUDE.md", "AGENTS.md", "CLAUDE.local.md")
_LARGEST: Final = 200_000
_DEEP: Final = 5
"""Files that name further files, one through the other."""


def instructions(cwd: Path) -> dict[str, str]:
    """The instructions for who works in `cwd`, by path: those of the repository first, the nearest last. Files that
    they name with ``@`` follow them, where they lie inside the repository; of equal texts the first stands."""
    here = cwd.resolve()
    top = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    folders = [folder for folder in (here, *here.parents) if folder == top or top in folder.parents]
    found: dict[str, str] = {}
    for folder in reversed(folders):
        for name in NAMES:
            _take(folder / name, top, found, 0)
    return found


def _take(place: Path, top: Path, found: dict[str, str], depth: int) -> None:
    try:
        real = place.resolve(strict=True)
        if real != place or top not in real.parents or not real.is_file() or real.stat().st_size > _LARGEST:
            return  # a link may lead anywhere
        text = real.read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, RuntimeError):
        return
    path = real.relative_to(top).as_posix()
    if not text or path in found or text in found.values() or (depth and is_private(path)):
        return
    found[path] = text
    for names in mentions(text) if depth < _DEEP else ():
        for name in names:
            if not name.startswith(("/", "~")):
                _take((place.parent / name).resolve(), top, found, depth + 1)
