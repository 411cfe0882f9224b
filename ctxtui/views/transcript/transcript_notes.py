"""What the transcript's rule says beside its title: what could not be read, how far work is, which filters are on."""

from __future__ import annotations

from collections.abc import Sequence

from ctxtui.views.text import bars
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.context_rows import FULL, HIDDEN

_BAR = 8


def note(done: int, total: int, skipped: int, shown: Sequence[str]) -> list[Span]:
    """`done` of `total` blocks are counted, `skipped` lines could not be read, each category is `shown` in its way."""
    spans = [Span(f"▲ {skipped:,} skipped ", "warn")] if skipped else []
    if done < total:
        spans += [Span(f"counting {done:,} of {total:,} ", "dim"), *bars.progress(done, total, _BAR)]
    for word in (HIDDEN, FULL):
        found = [sign for sign, one in zip(CATEGORY, shown, strict=False) if one == word]
        if found:
            spans += [Span(f" {word} ", "dim"), *(sign.span for sign in found)]
    return spans


def reading(done: int, total: int) -> list[Span]:
    """How much of a long recording is read, in bytes."""
    words = f"reading {done / 1e6:,.0f} of {total / 1e6:,.0f} MB "
    return [Span(words, "dim"), *bars.progress(done, total, _BAR)]
