"""Texts about an attached program's held requests and summaries, and the rules of holding.

An attached program runs with ctxtui between it and its provider. A held request is not sent until the user decides; a
held summary is the answer to the program's compaction, which it has not received yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span, Spans

ANSWER_KEYS: Final = ("enter", "a", "w", "x")
MORE_KEY: Final = "m"
"""Key that keeps the program waiting, if it can be."""
RED_SECONDS: Final = 20
WRITING: Final[Spans] = (Span(" ‖ ", "warn bold"), Span("your answer instead of the model's › ", "dim"))
DECIDES: Final[Spans] = (Span("^o", "accent bold"), Span(" decides", "dim"))
LATER: Final[Spans] = (
    Span("‖ ", "warn"),
    Span("held: d drop, t truncate, s summarize, a apply; then ", "dim"),
    *DECIDES,
)
NO_EDITS: Final[Spans] = (
    Span("‖ ", "warn"),
    Span("held: no edit to send it with: d drop, t truncate, s summarize; then ", "dim"),
    *DECIDES,
)
OUTCOMES: Final[Mapping[str, Spans]] = {
    "release": (Span("● ", "ok"), Span("sent unchanged", "dim")),
    "apply": (Span("● ", "ok"), Span("sent with the applied edits", "dim")),
    "answer": (Span("● ", "ok"), Span("the program got your answer; nothing was sent", "dim")),
    "more": (Span("‖ ", "warn"), Span("ten more minutes: pings keep the program waiting", "dim")),
    "refuse": (Span("✗ ", "crit"), Span("the program got an error; nothing was sent", "dim")),
}


COMPACTION_KEYS: Final = ("enter", "l", "R", "x")
COMPACTION_LATER: Final[Spans] = (
    Span("‖ ", "warn"),
    Span("summary held: d drop, t truncate, s summarize, a apply; then ", "dim"),
    *DECIDES,
)
COMPACTION_OUTCOMES: Final[Mapping[str, Spans]] = {
    "release": (Span("● ", "ok"), Span("the program got its summary", "dim")),
    "answer": (Span("● ", "ok"), Span("the program got your summary", "dim")),
    "more": OUTCOMES["more"],
    "refuse": (Span("✗ ", "crit"), Span("refused: the program keeps its history, under your applied edits", "dim")),
}


RULES: Final[Spans] = (Span(" ‖ hold ", "warn bold"), Span("› ", "dim"))


def rules_text(rules: Sequence[str]) -> str:
    return ", ".join(rules)


def confirm_rules(rules: Sequence[str]) -> Spans:
    if not rules:
        return (Span("● ", "ok"), Span("requests are sent at once; no rule holds them", "dim"))
    return (Span("‖ ", "warn"), Span(f"held from now on: {rules_text(rules)}"))


def question(seconds_left: int, staged: int, can_wait: bool = False, applied: int = 0) -> Spans:
    """The question about a held request, which is sent in `seconds_left`.

    `staged`, `applied`: numbers of edits on its thread. `can_wait`: the program can be kept waiting.
    """
    keys = [("⏎", "release"), ("w", "answer"), ("x", "refuse")]
    if staged or applied:
        # The user's edits come first; releasing is labelled "without".
        edits = numbers.many(staged or applied, "edit")
        keys[:1] = [("a", f"{'apply' if staged else 'with'} {edits}"), ("⏎", "without")]
    # The header shows "held" too, so the word makes room for one more key.
    name, style = " ‖ " if can_wait else " ‖ held ", "crit bold" if seconds_left < RED_SECONDS else "warn bold"
    lead = [Span(name, "warn bold"), Span(numbers.countdown(seconds_left), style), Span("  ")]
    for key, words in [*keys, (MORE_KEY, "more")] if can_wait else keys:
        lead += [Span(key, "accent bold"), Span(f" {words}  ", "dim")]
    return lead


def compaction_question(
    seconds_left: int, staged: int, can_wait: bool = False, pins: int = 0, is_edited: bool = False
) -> Spans:
    """The question about a held summary, which is released in `seconds_left`.

    `pins`: number of pinned blocks that are added to it. `is_edited`: the user changed it.
    """
    release = "give yours" if is_edited else "release"
    release += f" +{pins:,} pinned" if pins else ""
    keys = [("⏎", release), ("l", "what it loses"), ("R", "edit"), ("x", "refuse")]
    keys += [("a", f"{numbers.many(staged, 'edit')} instead")] if staged else []
    keys += [(MORE_KEY, "more")] if can_wait else []
    style = "crit bold" if seconds_left < RED_SECONDS else "warn bold"
    lead = [Span(" ‖ summary ", "warn bold"), Span(numbers.countdown(seconds_left), style), Span("  ")]
    for key, words in keys:
        lead += [Span(key, "accent bold"), Span(f" {words}  ", "dim")]
    return lead
