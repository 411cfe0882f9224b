"""The sentence about a former name that still works (docs/versions.md)."""

from __future__ import annotations

from typing import Final

REMOVED_IN: Final = "2.0"
"""The version without the former names of today: the next major one."""


def describe_rename(old: str, new: str) -> str:
    """Say what `old` is called now, and when the former name goes."""
    return f"`{old}` is now `{new}`; the former name goes with {REMOVED_IN}"
