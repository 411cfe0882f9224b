"""Members of JSON that others wrote: whatever stands there, a value of the asked type comes out; titles of texts."""

from __future__ import annotations

import re
from typing import Final

from ctxtui.core.canonical import Json, Number
from ctxtui.transcripts.kit.timestamps import seconds


def at(value: Json, *path: str | int) -> Json:
    """What stands at `path` inside `value`; None where the path leads nowhere."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
    return value


def word(value: Json) -> str:
    """A string; "" for anything else."""
    return value if isinstance(value, str) else ""


def obj(value: Json) -> dict[str, Json]:
    """An object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def listed(value: Json) -> list[Json]:
    """A list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def objects(value: Json) -> list[dict[str, Json]]:
    """The objects in a list."""
    return [item for item in listed(value) if isinstance(item, dict)]


def count(value: Json) -> int:
    """A number of tokens; 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | Number):
        return 0
    number = _float(value)
    return max(0, int(number)) if abs(number) < 1e18 else 0


_MOST_USD: Final = 1e12


def money(value: Json) -> float | None:
    """A figure in USD; None for what is no number, or more than anybody ever paid: sums have to stay numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float | Number):
        return None
    found = _float(value)
    return found if found is not None and abs(found) <= _MOST_USD else None


def moment(value: Json) -> float | None:
    """A time in Unix seconds from ISO text or a number of seconds or milliseconds; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return seconds(value)
    except OverflowError:
        return None


def _float(value: int | float | Number) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


TITLE_LENGTH: Final = 200
"""Characters that a title has at most."""

_SURROGATE: Final = "[\ud800-\udfff]"


def one_line(text: str) -> str:
    """The first words of `text` on one line, cut at `TITLE_LENGTH` characters."""
    line = plain(" ".join(text[: 4 * TITLE_LENGTH].split()))
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"


def plain(text: str) -> str:
    """`text` without lone surrogates, which neither a database nor a terminal takes."""
    return text if text.isascii() else re.sub(_SURROGATE, "\ufffd", text)
