"""What the transcript's rule says beside its title: what could not be read, how far work is, which filters are on."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ctxtui.core.block import HEADER
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import bars, numbers
from ctxtui.views.text.signs import CATEGORY, MARK
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.context_rows import FULL, HIDDEN, ContextRows

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


def marked(scene: Scene, here: Collection[int], away: int) -> list[Span]:
    """How many blocks are marked, and the tokens of those that are `here`, in the context shown; `away` are not."""
    if not here and not away:
        return []
    known = all(scene.running.is_counted(node) for node in here)
    tokens = numbers.tokens(sum(size(scene, node) for node in here)) if known else numbers.NONE
    told = f"{MARK['marked'].glyph} {len(here) + away:,} marked · {tokens}"
    return [Span(f"{told}, {away:,} not in this call  " if away else f"{told}  ", "accent bold")]


def size(scene: Scene, node: int) -> int:
    """Tokens of a block of the context shown, as far as the model reads it; 0 while it is being counted."""
    tree, running = scene.session.tree, scene.running
    if not running.is_counted(node):
        return 0
    behind = tree[node].depth > tree[scene.head].depth
    read = behind or running.is_read(scene.head, node)
    return running.block_tokens(node) if read and tree[node].block.kind != HEADER else 0


def shown_as(rows: ContextRows, room: int) -> list[Span]:
    """How the rows are shown where that is not as a list of all, in a pane of `room` cells, with the key back."""
    if rows.reading is not None:
        return [Span(" reading  "), Span(";", "accent bold"), Span(" back to all panes", "dim")]
    if rows.folds and room >= 50:
        return [Span(" edits only  ", "warn"), Span("z", "accent bold"), Span(" all rows", "dim")]
    return []


def reading(done: int, total: int) -> list[Span]:
    """How much of a long recording is read, in bytes."""
    words = f"reading {done / 1e6:,.0f} of {total / 1e6:,.0f} MB "
    return [Span(words, "dim"), *bars.progress(done, total, _BAR)]
