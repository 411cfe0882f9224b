"""What Claude Code says of its quota to its status line: the newest report on each window, kept in a file, for its
recordings hold none.

It is kept after every message of the client, so nothing is imported that the line does not take anyway.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from ctxtui.core.usage import QuotaReport, newest_quotas
from ctxtui.services.config.paths import data_dir
from ctxtui.services.config.settings import Settings

SOURCE: Final = "claude code"
_LIMIT: Final = "claude"
"""As in headers of its provider's answers (`transcripts.kit.quota`)."""
_WINDOW: Final = re.compile(r"(five_hour|seven_day)(?:_([a-z0-9_]+))?")
_MINUTES: Final = {"five_hour": 300, "seven_day": 10_080}
_MOST: Final = 10_000
"""Percent of a window: more is no share."""
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
    new = list(_reports(told.get("rate_limits"), at))
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
        half.write_text(json.dumps(newest_quotas([*before, *new])), encoding="utf-8")
        half.replace(file)
    except OSError:
        with suppress(OSError):
            half.unlink(missing_ok=True)  # a folder that is read-only: the line is printed all the same


def _reports(told: object, at: float) -> Iterator[QuotaReport]:
    if not isinstance(told, dict):
        return
    raw = json.dumps(told, separators=(",", ":"))
    for name, window in told.items():
        found = _WINDOW.fullmatch(name)
        if found is None or not isinstance(window, dict):
            continue
        share, resets = _number(window.get("used_percentage")), _number(window.get("resets_at"))
        if share is not None and 0 <= share <= _MOST:
            limit = " ".join(filter(None, (_LIMIT, (found[2] or "").replace("_", " "))))
            yield QuotaReport(limit, _MINUTES[found[1]], share / 100, max(0, int(resets or 0)), int(at), raw)


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 else None


def _same(old: QuotaReport | None, new: QuotaReport) -> bool:
    return old is not None and (old.used, old.resets) == (new.used, new.resets) and new.at - old.at < _OFTEN


def _file(settings: Settings) -> Path:
    return data_dir(settings.data_dir) / "status-quota.json"
