"""Title rules: the line above a pane with its title, further text and notes at the right."""

from __future__ import annotations

from functools import lru_cache

from ctxtui.views.text.span import Span, Spans, cropped, merged, width

EDGE = Span("│", "hair")
"""Separator of two columns of panes."""


def rule(
    room: int, title: str, *, after: Spans = (), notes: Spans = (), focused: bool = False, join: str = ""
) -> Spans:
    """Return a rule of exactly `room` cells: ``─ title  after ──────── notes ─``.

    `join` is the character at the left of a column (``├``, ``┬``), "" for none. If `focused`, the line is heavy and
    the title has the accent colour. If space is short, `after` is dropped first, then `notes`, then the end of the
    title.
    """
    after_spans, note_spans = (tuple(span for span in spans if span.text) for spans in (after, notes))
    return _rule(room, title, after_spans, note_spans, focused, join)


@lru_cache(maxsize=500)
def _rule(
    room: int, title: str, after: tuple[Span, ...], notes: tuple[Span, ...], focused: bool, join: str
) -> tuple[Span, ...]:
    # Every frame needs the rules of all panes, and most keys do not change them.
    line = Span("━", "accent") if focused else Span("─", "hair")
    lead = [Span(join, "hair"), line] if join else [line]
    name = [Span(" "), Span(title, "accent bold" if focused else "ink bold")] if title else []
    right = [Span(" "), *notes, Span(" "), line] if notes else []
    left = [*lead, *name, *([Span("  "), *after] if after else []), *([Span(" ")] if title or after else [])]
    if width(left) + width(right) > room and after:
        left = [*lead, *name, Span(" ")]
    if width(left) + width(right) > room:
        right = []
    left = cropped(left, room)
    missing = room - width(left) - width(right)
    return tuple(merged([*left, Span(line.text * missing, line.style), *right]))
