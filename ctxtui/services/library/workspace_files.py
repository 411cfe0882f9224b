"""Finds text in a session that its files still hold.

It reads only files inside the session's directory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ctxtui.analysis.content.duplicates import (
    MIN_CHARACTERS,
    WORKSPACE,
    Duplicate,
    DuplicateFinder,
    containment,
    duplicates_in,
)
from ctxtui.analysis.short_names import Names
from ctxtui.core.block_content import read
from ctxtui.core.file_accesses import Touch
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Tree

MAX_FILE_BYTES: Final = 2_000_000
MIN_CONTAINED_SHARE: Final = 0.98
"""Minimum share of the text that the file must still contain."""


def find_duplicates(session: Session, names: Names, head: int) -> list[Duplicate]:
    """Find duplicates of parts of the context `head`, in it or in the session's files.

    Those in the context come first, in prompt order. Time grows with the context, so it is for a worker.
    """
    finder = DuplicateFinder(session.tree, names, session.about.cwd)
    finder.search_path(head)
    files = in_workspace(session.tree, finder.files(), session.about.cwd)
    return [*duplicates_in(finder.duplicates, session.tree, head), *files]


def in_workspace(tree: Tree, files: Iterable[tuple[int, Touch]], cwd: str) -> Iterator[Duplicate]:
    """The `files` (result nodes, with what they read) whose text the file still contains.

    `cwd` is the session's directory. If it is not on this machine nothing is read, and never a file outside of it.
    """
    root = Path(cwd)
    if not cwd or not root.is_absolute() or not root.is_dir():
        return
    texts: dict[str, str] = {}
    for node, touch in files:
        text = read(tree[node].block).text
        if len(text) < MIN_CHARACTERS:
            continue
        if touch.path not in texts:
            texts[touch.path] = _read_text(root, touch.path)
        share, _ = containment(text, texts[touch.path])
        if share >= MIN_CONTAINED_SHARE:
            yield Duplicate(node, WORKSPACE, ROOT, share, touch.path)


def _read_text(root: Path, name: str) -> str:
    """The text of a file in `root`; "" if it does not exist, is too large, or is outside."""
    try:
        path = (root / name).resolve()
        if not path.is_relative_to(root.resolve()) or not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""
