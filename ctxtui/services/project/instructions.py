"""Reads a project's instructions for agents: `NAMES` and files that they name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ctxtui.project.file_kinds import is_private
from ctxtui.project.named import find_mentions

NAMES: Final = ("CLAUDE.md", "AGENTS.md", "CLAUDE.local.md")
_MAX_FILE_BYTES: Final = 200_000
_MAX_DEPTH: Final = 5
"""Levels of files that other files name; those of the last name no further ones."""


def find_top(cwd: Path) -> Path:
    """The root of the repository that `cwd` is in, resolved; without one `cwd` itself."""
    here = cwd.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def read_instructions(cwd: Path) -> dict[str, str]:
    """Read the instructions that apply in `cwd`, by their paths from `find_top`.

    The root's come first, those of `cwd` last; without a repository only those of `cwd`. Each is followed by the files
    that it names with ``@`` and a path relative to its folder, unless these are private (`is_private`). Links, empty
    files, files above `_MAX_FILE_BYTES` and files outside of the repository are not read, nor is an equal text twice.
    """
    here, top = cwd.resolve(), find_top(cwd)
    folders = [folder for folder in (here, *here.parents) if folder == top or top in folder.parents]
    texts: dict[str, str] = {}
    for folder in reversed(folders):
        for name in NAMES:
            _add_file(folder / name, top, texts, 0)
    return texts


def _add_file(place: Path, top: Path, texts: dict[str, str], depth: int) -> None:
    try:
        real = place.resolve(strict=True)
        # A link may point outside of the repository.
        if real != place or top not in real.parents or not real.is_file() or real.stat().st_size > _MAX_FILE_BYTES:
            return
        text = real.read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, RuntimeError, ValueError):
        return
    path = real.relative_to(top).as_posix()
    if not text or path in texts or text in texts.values() or (depth and is_private(path)):
        return
    texts[path] = text
    for spellings in find_mentions(text) if depth < _MAX_DEPTH else ():
        for spelling in spellings:
            if not spelling.startswith(("/", "~")):
                _add_file(Path(os.path.normpath(place.parent / spelling)), top, texts, depth + 1)
