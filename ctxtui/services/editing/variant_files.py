"""Files of lab variants that were opened as sessions; the newest few are kept.

A variant is a recorded session under another policy, cache or model.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.paths import data_dir
from ctxtui.services.editing.exporting import write_private

MAX_VARIANT_FILES: Final = 20
_UNSAFE: Final = re.compile(r"[^\w.+-]+", re.ASCII)


class VariantFile(NamedTuple):
    """A variant's file, and the reason why it is not in the folder of variants ("": it is)."""

    path: Path
    elsewhere: str = ""


def variants_dir(setting: str = "") -> Path:
    """The folder of the variants, next to the database; `setting` is the setting `data_dir`."""
    return data_dir(setting) / "lab"


def write_variant(folder: Path, session: str, variant: str, data: bytes) -> VariantFile:
    """Write a variant of a session, replacing an earlier file of the same one.

    If `folder` cannot be written, a temporary file is. Raises `CtxtuiError` if that fails too.
    """
    digest = hashlib.sha256(f"{session}\n{variant}".encode(errors="replace")).hexdigest()[:8]
    name = f"{_safe_name(session)[:40]}-{_safe_name(variant)[:80]}-{digest}.jsonl"
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(path, data, replace=True)
    except OSError as error:
        return _write_temporary(name, data, folder, error.strerror or str(error))
    except CtxtuiError as error:
        return _write_temporary(name, data, folder, error.message)
    _delete_oldest(folder, path)
    return VariantFile(path)


def _write_temporary(name: str, data: bytes, folder: Path, why: str) -> VariantFile:
    try:
        path = Path(tempfile.mkdtemp(prefix="ctxtui-lab-")) / name
    except OSError as error:
        why = f"the variant can be written neither in {folder} ({why}) nor as a temporary file ({error.strerror})"
        raise CtxtuiError(why, way_out="set data_dir to a folder that can be written") from error
    write_private(path, data)
    return VariantFile(path, f"this variant is a temporary file: {folder} cannot be written ({why})")


def _safe_name(text: str) -> str:
    return _UNSAFE.sub("_", text).strip("_.") or "session"


def _delete_oldest(folder: Path, exclude: Path) -> None:
    # Another process may do so at the same time.
    by_age: list[tuple[int, Path]] = []
    for path in folder.glob("*.jsonl"):
        try:
            by_age.append((os.stat(path).st_mtime_ns, path))
        except FileNotFoundError:
            continue
    for _, path in sorted(by_age)[: max(0, len(by_age) - MAX_VARIANT_FILES)]:
        if path != exclude:
            path.unlink(missing_ok=True)
