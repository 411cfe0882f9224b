"""A request of an attached program that waits, in words: what is asked about it, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ctxtui.views.text.span import Span, Spans

KEYS: Final = ("enter", "a", "w", "x")
"""What answers the question."""
MORE: Final = "m"
"""What answers it, too, where the program can be kept waiting."""
SOON: Final = 20
"""Seconds from which what is left is told in red."""
WRITING: Final[Spans] = (Span(" ‖ ", "warn bold"), Span("your answer, in the model's place › ", "dim"))
DECIDES: Final[Spans] = (Span("^o", "accent bold"), Span(" decides", "dim"))
LATER: Final[Spans] = (
    Span("‖ ", "warn"),
    Span("held: d drops, t cuts, s summarizes, a applies; then ", "dim"),
    *DECIDES,
)
DONE: Final[Mapping[str, Spans]] = {
    "release": (Span("● ", "ok"), Span("it left as the program sent it", "dim")),
    "apply": (Span("● ", "ok"), Span("it left under the edits that are applied", "dim")),
    "answer": (Span("● ", "ok"), Span("your answer went to the program; the request never left", "dim")),
    "more": (Span("‖ ", "warn"), Span("ten minutes more: its program is kept waiting by pings", "dim")),
    "refuse": (Span("✗ ", "crit"), Span("the program was told 403; the request never left", "dim")),
}
"""What is said behind each way of letting it go."""


RULES: Final[Spans] = (Span(" ‖ hold ", "warn bold"), Span("› ", "dim"))
RULES_SPELLED: Final[Spans] = (Span("each, over $0.5, over 100k, miss, secret, 3 repeats, with REGEX, off ", "dim"),)


def rules_text(on: Sequence[str]) -> str:
    """The rules that are `on`, as they are written."""
    return ", ".join(on)


def rules_told(on: Sequence[str]) -> Spans:
    """What is said when rules were set."""
    if not on:
        return (Span("● ", "ok"), Span("requests leave as they come; no rule holds them", "dim"))
    return (Span("‖ ", "warn"), Span(f"held from now on: {rules_text(on)}"))


def clock(seconds: int) -> str:
    """``1:43``."""
    return f"{seconds // 60}:{seconds % 60:02}"


def question(left: int, staged: int, more: bool = False, standing: int = 0) -> Spans:
    """What becomes of it, with `left` seconds until it leaves by itself; so many edits are `staged`, so many are
    `standing` over its thread, and it can wait `more`."""
    edits = f"apply {_edits(staged)}" if staged else f"under {_edits(standing)}" if standing else "under edits"
    keys = [("⏎", "release"), ("a", edits), ("w", "answer"), ("x", "refuse")]
    if staged or standing:
        # What the user made comes first, and what leaves without it says so.
        keys[:2] = [("a", edits), ("⏎", "without")]
    # The header says "held" as well: room for one key more.
    name, style = " ‖ " if more else " ‖ held ", "crit bold" if left < SOON else "warn bold"
    lead = [Span(name, "warn bold"), Span(clock(left), style), Span("  ")]
    for key, words in [*keys, (MORE, "more")] if more else keys:
        lead += [Span(key, "accent bold"), Span(f" {words}  ", "dim")]
    return lead


def _edits(count: int) -> str:
    return f"{count:,} edit{'' if count == 1 else 's'}"
