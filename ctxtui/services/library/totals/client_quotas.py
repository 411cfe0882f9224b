"""Stores quota reports that Claude Code sends to its status line; its recordings have none.

The newest report of each window is kept. This runs after every message of the client, so it imports only what the
status line imports anyway.
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
"""The same name as in headers of provider answers (`transcripts.kit.quota`)."""
_WINDOW: Final = re.compile(r"(five_hour|seven_day)(?:_([a-z0-9_]+))?")
"""A window's name in the status line's input: its length, and optionally a model."""
_MINUTES: Final = {"five_hour": 300, "seven_day": 10_080}
MAX_PERCENT: Final = 10_000
REPEAT_SECONDS: Final = 60
"""Seconds after which an unchanged report is stored again."""


def read_reports(settings: Settings) -> list[QuotaReport]:
    """The newest reports; empty if there are none or they cannot be read."""
    try:
        return msgspec.json.decode(_reports_file(settings).read_bytes(), type=list[QuotaReport])
    except (OSError, msgspec.MsgspecError, RecursionError):
        return []


def store_reports(client_input: dict[str, Any], settings: Settings, at: float) -> None:
    """Store the quota reports in a client's status line input at the time `at` (Unix seconds).

    Nothing is written if they repeat those stored within `REPEAT_SECONDS`.
    """
    new = list(_parse_rate_limits(client_input.get("rate_limits"), at))
    if not new:
        return
    before = read_reports(settings)
    by_window = {report.window: report for report in before}
    if all(_is_unchanged(by_window.get(report.window), report) for report in new):
        return
    file = _reports_file(settings)
    part = file.with_suffix(f".{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part.touch(mode=0o600)
        part.write_text(json.dumps(newest_quotas([*before, *new])), encoding="utf-8")
        part.replace(file)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)  # in a read-only folder, the line is printed all the same


def _parse_rate_limits(rate_limits: object, at: float) -> Iterator[QuotaReport]:
    if not isinstance(rate_limits, dict):
        return
    raw = json.dumps(rate_limits, separators=(",", ":"))
    for name, window in rate_limits.items():
        match = _WINDOW.fullmatch(name)
        if match is None or not isinstance(window, dict):
            continue
        percentage, resets = _as_number(window.get("used_percentage")), _as_number(window.get("resets_at"))
        if percentage is not None and 0 <= percentage <= MAX_PERCENT:
            limit = " ".join(filter(None, (_LIMIT, (match[2] or "").replace("_", " "))))
            yield QuotaReport(limit, _MINUTES[match[1]], percentage / 100, max(0, int(resets or 0)), int(at), raw)


def _as_number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e11 else None


def _is_unchanged(old: QuotaReport | None, new: QuotaReport) -> bool:
    return old is not None and (old.used, old.resets) == (new.used, new.resets) and new.at - old.at < REPEAT_SECONDS


def _reports_file(settings: Settings) -> Path:
    return data_dir(settings.data_dir) / "status-quota.json"
