"""Variants that were opened as sessions: files in a folder of their own, the newest few of them."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.paths import data_dir
from ctxtui.services.editing.exporting import write_private

KEPT: Final = 20
"""Variants that are kept; an older one goes when another is opened."""
_ODD: Final = re.compile(r"[^\w.+-]+")


class VariantFile(NamedTuple):
    """A variant that was written at `path`; `elsewhere` says why it does not stand where variants are kept ("": it
    does)."""

    path: Path
    elsewhere: str = ""


def variants_dir(setting: str = "") -> Path:
    """The folder of the variants, beside the database; `setting` is the setting `data_dir`."""
    return data_dir(setting) / "lab"


def keep_variant(folder: Path, session: str, variant: str, written: bytes) -> VariantFile:
    """Write a variant of a session; the same one replaces what was written of it before, so that a process that opens
    it again and again leaves one file. Where `folder` cannot be written, it is a temporary file. Raises `CtxtuiError`
    where that cannot be written either."""
    name = f"{_name(session)[:40]}-{_name(variant)[:80]}.jsonl"
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(path, written, replace=True)
    except OSError as error:
        return _temporary(name, written, folder, error.strerror or str(error))
    except CtxtuiError as error:
        return _temporary(name, written, folder, error.message)
    _prune(folder, path)
    return VariantFile(path)


def _temporary(name: str, written: bytes, folder: Path, why: str) -> VariantFile:
    try:
        path = Path(tempfile.mkdtemp(prefix="ctxtui-lab-")) / name
    except OSError as error:
        why = f"the variant can be written neither in {folder} ({why}) nor as a temporary file ({error.strerror})"
        raise CtxtuiError(why, way_out="set data_dir to a folder that can be written") from error
    write_private(path, written)
    return VariantFile(path, f"this variant is a temporary file: {folder} cannot be written ({why})")


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
