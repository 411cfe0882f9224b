"""The sentence about a former name that still works (docs/versions.md)."""

from __future__ import annotations


def describe_rename(old: str, new: str) -> str:
    """Say what `old` is called now, and that the former name goes with the next major version."""
    return f"`{old}` is now `{new}`; the former name goes with 2.0"
