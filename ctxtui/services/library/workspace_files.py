"""What a session read of files that still hold it: files are opened to read, inside the session's directory only."""

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

MOST: Final = 2_000_000
"""Bytes of a file that is looked into."""
_HOLDS: Final = 0.98
"""The share of what was read that the file must still hold."""


def repeats_of(session: Session, names: Names, head: int) -> list[Duplicate]:
    """What of the context `head` stands elsewhere too: in it, or in the files of the session's directory. Those in the
    context come first, in prompt order. Time grows with the context: for a worker."""
    found = DuplicateFinder(session.tree, names, session.about.cwd)
    found.search_path(head)
    files = in_workspace(session.tree, found.files(), session.about.cwd)
    return [*duplicates_in(found.duplicates, session.tree, head), *files]


def in_workspace(tree: Tree, files: Iterable[tuple[int, Touch]], cwd: str) -> Iterator[Duplicate]:
    """Those of `files` (the nodes of results, with what was read) that the file itself still holds.

    `cwd` is the session's directory; nothing is looked at where it is not on this machine, and no file outside it.
    """
    root = Path(cwd)
    if not cwd or not root.is_absolute() or not root.is_dir():
        return
    texts: dict[str, str] = {}
    for node, touch in files:
        said = read(tree[node].block).text
        if len(said) < MIN_CHARACTERS:
            continue
        if touch.path not in texts:
            texts[touch.path] = _text(root, touch.path)
        share, _ = containment(said, texts[touch.path])
        if share >= _HOLDS:
            yield Duplicate(node, WORKSPACE, ROOT, share, touch.path)


def _text(root: Path, name: str) -> str:
    """The text of a file in `root`; "" where there is none, or it is large, or lies elsewhere."""
    try:
        path = (root / name).resolve()
        if not path.is_relative_to(root.resolve()) or not path.is_file() or path.stat().st_size > MOST:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""
