"""What Claude Code says of its quota to its status line: the newest report on each window, kept in a file, for its
recordings hold none."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ctxtui.core.quota import QuotaReport, newest
from ctxtui.services.config.paths import data_dir
from ctxtui.transcripts.kit.quota import in_status

if TYPE_CHECKING:
    from ctxtui.services.config.settings import Settings

SOURCE: Final = "claude code"
_OFTEN: Final = 60
"""Seconds after which a report that says the same as the one before is kept, too."""


def kept(settings: Settings) -> list[QuotaReport]:
    """The newest reports; none where nothing was kept, or it cannot be read."""
    try:
        return msgspec.json.decode(_file(settings).read_bytes(), type=list[QuotaReport])
    except (OSError, msgspec.MsgspecError, RecursionError):
        return []


def keep(told: dict[str, Any], settings: Settings, at: float) -> None:
    """Keep what a client `told` its status line `at` that moment (Unix seconds), if it says more than what is kept."""
    new = list(in_status(told.get("rate_limits"), at))
    if not new:
        return
    before = kept(settings)
    known = {one.window: one for one in before}
    if all(_same(known.get(one.window), one) for one in new):
        return
    file = _file(settings)
    half = file.with_suffix(f".{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        half.touch(mode=0o600)
        half.write_text(json.dumps(newest([*before, *new])), encoding="utf-8")
        half.replace(file)
    except OSError:
        with suppress(OSError):
            half.unlink(missing_ok=True)  # a folder that is read-only: the line is printed all the same


def _same(old: QuotaReport | None, new: QuotaReport) -> bool:
    return old is not None and (old.used, old.resets) == (new.used, new.resets) and new.at - old.at < _OFTEN


def _file(settings: Settings) -> Path:
    return data_dir(settings.data_dir) / "status-quota.json"
