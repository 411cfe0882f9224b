"""Text in the transcript's title rule: unreadable records, progress, marks, display modes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ctxtui.core.block import HEADER
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import bars, numbers
from ctxtui.views.text.signs import CATEGORY, MARK
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.context_rows import FULL, HIDDEN, ContextRows

_BAR = 8


def progress_note(done: int, total: int, skipped: int, shown: Sequence[str]) -> list[Span]:
    """Progress of counting, number of unreadable lines, and display modes of categories.

    `done` of `total` blocks are counted; `shown` has the mode of each category.
    """
    spans = [Span(f"▲ {skipped:,} skipped ", "warn")] if skipped else []
    if done < total:
        spans += [Span(f"counting {done:,} of {total:,} ", "dim"), *bars.progress(done, total, _BAR)]
    for word in (HIDDEN, FULL):
        signs = [sign for sign, mode in zip(CATEGORY, shown, strict=False) if mode == word]
        if signs:
            spans += [Span(f" {word} ", "dim"), *(sign.span for sign in signs)]
    return spans


def marked_note(scene: Scene, here: Collection[int], away: int) -> list[Span]:
    """Number of marked blocks, and tokens of those `here`.

    `away` is the number of those in other calls.
    """
    if not here and not away:
        return []
    is_counted = all(scene.running.is_counted(node) for node in here)
    tokens = numbers.tokens(sum(read_tokens(scene, node) for node in here)) if is_counted else numbers.NONE
    text = f"{MARK['marked'].glyph} {len(here) + away:,} marked · {tokens}"
    return [Span(f"{text}, {away:,} not in this call  " if away else f"{text}  ", "accent bold")]


def read_tokens(scene: Scene, node: int) -> int:
    """Tokens of a block; 0 until counted, or if the model does not read it in this context."""
    tree, running = scene.session.tree, scene.running
    if not running.is_counted(node):
        return 0
    read = running.is_read(scene.head, node) or not tree.holds(scene.head, node)
    return running.block_tokens(node) if read and tree[node].block.kind != HEADER else 0


def mode_note(rows: ContextRows, room: int) -> list[Span]:
    if rows.reading is not None:
        return [Span(" reading  "), Span(";", "accent bold"), Span(" back to all panes", "dim")]
    if rows.is_folding and room >= 50:
        return [Span(" edits only  ", "warn"), Span("z", "accent bold"), Span(" all rows", "dim")]
    return []


def reading_note(done: int, total: int) -> list[Span]:
    words = f"reading {done / 1e6:,.0f} of {total / 1e6:,.0f} MB "
    return [Span(words, "dim"), *bars.progress(done, total, _BAR)]
