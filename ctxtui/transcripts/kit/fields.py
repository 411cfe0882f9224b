"""Read fields of foreign JSON: nested members, times, titles, sizes as text."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from ctxtui.core.call import Epoch
from ctxtui.core.canonical import Json, Number
from ctxtui.core.json_values import as_list

COPIED: Final = "copiedBy"
"""Member of a record that was copied into a session to be resumed: the program that copied it."""
COPIED_LINES: Final = "copied_lines"
"""Member of a session's first record: the number of lines that ctxtui copied from another session."""
ESTIMATED_BY: Final = "estimated_by"
"""Member of a usage: the program that estimated it."""
MAX_TIMESTAMP: Final = 253_370_764_800.0
"""Unix seconds of the start of the year 9999."""


def parse_timestamp(timestamp: str | float | None) -> float | None:
    """Parse ISO text, or a number of seconds or milliseconds, to Unix seconds.

    None if it is neither, or if not every time zone can show it: before 1970, or after 9998.
    """
    if isinstance(timestamp, str):
        return _of_text(timestamp)
    if timestamp is None or timestamp != timestamp:
        return None
    return _in_calendar(timestamp / 1000 if timestamp > 1e11 else float(timestamp))


# The records of a message share one timestamp, which is parsed several times.
@lru_cache(maxsize=64)
def _of_text(timestamp: str) -> float | None:
    try:
        moment = datetime.fromisoformat(timestamp)
        # Without a zone it would be read as local time.
        return _in_calendar((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def _in_calendar(seconds: float) -> float | None:
    return seconds if 0 <= seconds < MAX_TIMESTAMP else None


def compaction_detail(before: int, after: int, by: str) -> str:
    """Format the detail of a compaction: ``154.8k → 22.3k · by claude code``; 0 is ``?``."""
    sizes = " → ".join(format_thousands(n) if n else "?" for n in (before, after))
    return f"{sizes} · by {by}"


def complete_epoch(epoch: Epoch, after: int) -> Epoch:
    """Fill in an epoch's size after a compaction, once its first call's input is known."""
    if "→ ?" not in epoch.detail or not after:
        return epoch
    return replace(epoch, detail=epoch.detail.replace("→ ?", f"→ {format_thousands(after)}"))


def format_thousands(n: int) -> str:
    """Format a number of tokens: ``950``, ``22.3k``."""
    return str(n) if n < 1000 else f"{n / 1000:.1f}k"


def get_path(value: Json, *path: str | int) -> Json:
    """Return the value at `path` inside `value`; None if there is none."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
    return value


def as_dicts(value: Json) -> list[dict[str, Json]]:
    return [item for item in as_list(value) if isinstance(item, dict)]


def as_time(value: Json) -> float | None:
    """Parse a time as `parse_timestamp` does; None for any other type."""
    value = float(value) if isinstance(value, Number) else value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return parse_timestamp(value)
    except OverflowError:
        return None


_TITLE_LENGTH: Final = 200


def one_line(text: str) -> str:
    """Return the beginning of `text` on one line."""
    line = replace_surrogates(" ".join(text[: 4 * _TITLE_LENGTH].split()))
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1] + "…"


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which neither a database nor a terminal accepts."""
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)
