"""Read quota reports from recordings: Codex's ``rate_limits``, and headers of a provider's answers (facts §13)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json, Number
from ctxtui.core.usage import QuotaReport
from ctxtui.transcripts.kit.fields import as_count, as_dict, as_str, as_usd

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
"""Maximum share of a window, as a multiple of the window; larger values are not shares."""


def read_rate_limits(told: Json, at: float | None) -> Iterator[QuotaReport]:
    """Yield the reports of a ``rate_limits`` object recorded `at` (Unix seconds), for the windows that it names."""
    if not isinstance(told, dict) or not any(told.get(name) for name in _WINDOWS):
        return
    raw = canonical.dump_text(told)
    for name in _WINDOWS:
        yield from _window(as_str(told.get("limit_id")) or CODEX, as_dict(told.get(name)), raw, at)


def _window(limit: str, told: dict[str, Json], raw: str, at: float | None) -> Iterator[QuotaReport]:
    used, minutes = as_usd(told.get("used_percent")), as_count(told.get("window_minutes"))
    if used is None or not 0 <= used <= 100 * _MAX_SHARE or not minutes:
        return
    resets = as_count(told.get("resets_at"))
    if not resets and at is not None:
        # Versions of 2025 gave seconds from the time of the report.
        after = as_count(told.get("resets_in_seconds"))
        resets = int(at) + after if after else 0
    yield QuotaReport(limit, minutes, used / 100, resets, int(at or 0), raw)


def read_quota_headers(fields: Iterable[tuple[str, str]], at: float | None) -> list[QuotaReport]:
    """List the reports in the headers of an answer that began `at` (Unix seconds)."""
    claude: dict[tuple[str, int], dict[str, str]] = {}
    codex: dict[str, dict[str, dict[str, Json]]] = {}
    said: dict[str, dict[str, Json]] = {CLAUDE: {}, CODEX: {}}
    for field, value in fields:
        name = field.lower()
        if found := _CLAUDE.fullmatch(name):
            limit = " ".join(filter(None, (CLAUDE, (found[3] or "").replace("_", " "))))
            claude.setdefault((limit, int(found[1]) * _MINUTES[found[2]]), {})[found[4]] = value
            said[CLAUDE][name] = value
        elif found := _CODEX.fullmatch(name):
            limit = "_".join(filter(None, (CODEX, (found[1] or "").replace("-", "_"))))
            member = _MEMBERS.get(found[3], "resets_in_seconds")
            codex.setdefault(limit, {}).setdefault(found[2], {})[member] = _number(value)
            said[CODEX][name] = value
    reports = []
    for (limit, minutes), told in claude.items():
        used = as_usd(_number(told.get("utilization", "")))
        if used is not None and 0 <= used <= _MAX_SHARE and minutes:
            raw = canonical.dump_text(said[CLAUDE])
            reports.append(
                QuotaReport(limit, minutes, used, as_count(_number(told.get("reset", ""))), int(at or 0), raw)
            )
    for limit, windows in codex.items():
        for window in windows.values():
            reports += _window(limit, window, canonical.dump_text(said[CODEX]), at)
    return reports


def _number(text: str) -> Json:
    """Parse a header's figure; None if it is not a number."""
    try:
        found = float(text)
    except ValueError:
        return None
    return Number(text) if found == found else None
