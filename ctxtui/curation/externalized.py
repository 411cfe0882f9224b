"""The content that stands outside a context: what ``externalize`` edits took out of it, by name."""

from __future__ import annotations

from collections.abc import Iterable

from ctxtui.core.edit import EXTERNALIZE, Edit
from ctxtui.curation.context import Context
from ctxtui.curation.references import artifacts


def externalized(context: Context, edits: Iterable[Edit]) -> dict[str, str]:
    """Everything that `edits` take out of `context`, by the name that stands in its place. Originals are never changed,
    so it can always be had from them."""
    found: dict[str, str] = {}
    for edit in edits:
        if edit.kind == EXTERNALIZE:
            places = (context.find(target) for target in edit.targets)
            for position in places:
                if position is not None:
                    found |= artifacts(context.reading(position).text, edit.given)
    return found
