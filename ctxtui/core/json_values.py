"""Values of unchecked JSON, each as the type that is expected, else empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json, Number


def as_str(value: Json) -> str:
    return value if isinstance(value, str) else ""


def as_dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def iter_strings(value: Json) -> Iterator[str]:
    """Every string in `value`, except the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from iter_strings(item)


def as_count(value: Json) -> int:
    """Return a number of tokens; 0 for anything that is not a positive number below 1e18."""
    if type(value) is int:
        return value if 0 < value < 10**18 else 0
    if isinstance(value, bool) or not isinstance(value, float | Number):
        return 0
    number = float(value)
    return max(0, int(number)) if abs(number) < 1e18 else 0


_MAX_NUMBER: Final = 1e12


def as_number(value: Json) -> float | None:
    """Return a number, such as USD or seconds.

    None for anything else, and for numbers beyond 1e12, so that sums stay finite.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Number):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) <= _MAX_NUMBER else None
