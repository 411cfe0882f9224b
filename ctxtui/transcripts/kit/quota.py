"""Read quota reports from recordings: Codex's ``rate_limits``, and headers of answers.

A quota report says how much of a subscription's limit has been used in a window of time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json, Number
from ctxtui.core.json_values import as_count, as_dict, as_number, as_str
from ctxtui.core.usage import QuotaReport
from ctxtui.transcripts.kit.fields import MAX_TIMESTAMP

CODEX: Final = "codex"
CLAUDE: Final = "claude"
_WINDOWS: Final = ("primary", "secondary")
_MINUTES: Final = {"m": 1, "h": 60, "d": 1440}
_CLAUDE: Final = re.compile(r"anthropic-ratelimit-unified-(\d{1,4})([mhd])(?:_([a-z0-9_]+))?-(utilization|reset)")
"""Values are a share of 1 and Unix seconds; a window of one model has the model's name after its length."""
_CODEX: Final = re.compile(
    r"x-codex-(?:([a-z0-9-]+)-)?(primary|secondary)-(used-percent|window-minutes|reset-at|reset-after-seconds)"
)
_MEMBERS: Final = {"used-percent": "used_percent", "window-minutes": "window_minutes", "reset-at": "resets_at"}
_MAX_SHARE: Final = 100.0
"""Largest accepted share of a limit (1 is all of it); larger values are not shares."""


def read_rate_limits(limits: Json, recorded_at: float | None) -> Iterator[QuotaReport]:
    """Yield the reports in a ``rate_limits`` object.

    `recorded_at` is in Unix seconds; None: unknown.
    """
    if not isinstance(limits, dict) or not any(limits.get(name) for name in _WINDOWS):
        return
    raw = canonical.dump_text(limits)
    for name in _WINDOWS:
        yield from _read_window(as_str(limits.get("limit_id")) or CODEX, as_dict(limits.get(name)), raw, recorded_at)


def _read_window(limit: str, window: dict[str, Json], raw: str, at: float | None) -> Iterator[QuotaReport]:
    used, minutes = as_number(window.get("used_percent")), as_count(window.get("window_minutes"))
    if used is None or not 0 <= used <= 100 * _MAX_SHARE or not minutes:
        return
    resets = _moment(window.get("resets_at"))
    if not resets and at is not None:
        # Versions of 2025 gave seconds from the time of the report.
        after = as_count(window.get("resets_in_seconds"))
        resets = _moment(int(at) + after) if after else 0
    yield QuotaReport(limit, minutes, used / 100, resets, int(at or 0), raw)


def _moment(value: Json) -> int:
    """Unix seconds; 0 if `value` is no time in the calendar."""
    seconds = as_count(value)
    return seconds if seconds < MAX_TIMESTAMP else 0


def read_quota_headers(fields: Iterable[tuple[str, str]], recorded_at: float | None) -> list[QuotaReport]:
    """List the quota reports in the headers of an answer that began at `recorded_at`."""
    claude: dict[tuple[str, int], dict[str, str]] = {}
    codex: dict[str, dict[str, dict[str, Json]]] = {}
    headers: dict[str, dict[str, Json]] = {CLAUDE: {}, CODEX: {}}
    for field, value in fields:
        name = field.lower()
        if match := _CLAUDE.fullmatch(name):
            limit = " ".join(filter(None, (CLAUDE, (match[3] or "").replace("_", " "))))
            claude.setdefault((limit, int(match[1]) * _MINUTES[match[2]]), {})[match[4]] = value
            headers[CLAUDE][name] = value
        elif match := _CODEX.fullmatch(name):
            limit = "_".join(filter(None, (CODEX, (match[1] or "").replace("-", "_"))))
            member = _MEMBERS.get(match[3], "resets_in_seconds")
            codex.setdefault(limit, {}).setdefault(match[2], {})[member] = _parse_number(value)
            headers[CODEX][name] = value
    reports = []
    for (limit, minutes), figures in claude.items():
        used = as_number(_parse_number(figures.get("utilization", "")))
        if used is not None and 0 <= used <= _MAX_SHARE and minutes:
            raw = canonical.dump_text(headers[CLAUDE])
            reports.append(
                QuotaReport(
                    limit, minutes, used, _moment(_parse_number(figures.get("reset", ""))), int(recorded_at or 0), raw
                )
            )
    for limit, windows in codex.items():
        for window in windows.values():
            reports += _read_window(limit, window, canonical.dump_text(headers[CODEX]), recorded_at)
    return reports


def _parse_number(text: str) -> Json:
    try:
        number = float(text)
    except ValueError:
        return None
    return Number(text) if number == number else None
