"""Variants that were opened as sessions: files in a folder of their own, the newest few of them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.paths import data_dir
from ctxtui.services.editing.exporting import write_private

KEPT: Final = 20
"""Variants that are kept; an older one goes when another is opened."""
_ODD: Final = re.compile(r"[^\w.+-]+")


def variants_dir(setting: str = "") -> Path:
    """The folder of the variants, beside the database; `setting` is the setting `data_dir`."""
    return data_dir(setting) / "lab"


def keep_variant(folder: Path, session: str, variant: str, written: bytes) -> Path:
    """Write a variant of a session; the same one replaces what was written of it before, so that a process that opens
    it again and again leaves one file. Gives its path. Raises `CtxtuiError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        why = error.strerror or str(error)
        raise CtxtuiError(f"the variant cannot be written: {why}", place=str(folder), way_out="set data_dir") from error
    path = folder / f"{_name(session)[:40]}-{_name(variant)[:80]}.jsonl"
    write_private(path, written, replace=True)
    _prune(folder, path)
    return path


def _name(words: str) -> str:
    return _ODD.sub("_", words).strip("_.") or "session"


def _prune(folder: Path, but: Path) -> None:
    """Take away what was written first, down to `KEPT`; another process may have been quicker."""
    found: list[tuple[int, Path]] = []
    for path in folder.glob("*.jsonl"):
        try:
            found.append((os.stat(path).st_mtime_ns, path))
        except FileNotFoundError:
            continue
    for _, path in sorted(found)[: max(0, len(found) - KEPT)]:
        if path != but:
            path.unlink(missing_ok=True)
