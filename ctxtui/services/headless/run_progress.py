"""What a headless run tells of itself as it goes on: plain lines, for standard error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from ctxtui.core.edit import APPLY, USER, Edit
from ctxtui.core.usage import Usage
from ctxtui.curation.policies.policy import Step

FULL: Final = 0.9
"""The share of the window, answer included, from which a call is warned of (systems: Pedroceli)."""
_DONE: Final = {"drop": "dropped", "truncate": "cut", "summarize": "summarized", "externalize": "externalized"}


def round_line(number: int, most: int, messages: int, tokens: int | None) -> str:
    """What is about to be sent: its round of at most `most` (0: no limit), its messages and tokens (None: unknown)."""
    size = "tokens not counted" if tokens is None else f"~{tokens:,} tokens"
    told = "1 message" if messages == 1 else f"{messages:,} messages"
    return f"round {number}/{most or '∞'}: {told}, {size}"


def tokens_line(usage: Usage | None, window: int) -> str:
    """What a call took, as its provider reports it, and its share of the `window` (0: not known)."""
    if usage is None:
        return "Tokens: not reported"
    total = usage.input + usage.output
    share = f" ({100 * total / window:.1f} % of {window:,})" if window else ""
    return f"Tokens: prompt={usage.input:,} response={usage.output:,} total={total:,}{share}"


def full_line(usage: Usage | None, window: int) -> str:
    """The warning of a call that filled its window; "" where it did not."""
    total = usage.input + usage.output if usage is not None else 0
    if not window or total < FULL * window:
        return ""
    return f"warning: the context is at {100 * total / window:.0f} % of the window of {window:,} tokens"


def step_line(step: Step) -> str:
    """A policy with its settings."""
    return " ".join([step.policy.name, *(f"{name}={value}" for name, value in step.settings.items())])


def trims(new: Iterable[Edit]) -> list[str]:
    """What policies did with these entries of the log, a line each."""
    found: Counter[tuple[str, str]] = Counter()
    for edit in new:
        if edit.author != USER and edit.kind != APPLY and edit.targets:
            found[edit.author, edit.kind] += len(edit.targets)
    return [
        f"trimmed: {author} {_DONE.get(kind, kind)} {'1 block' if blocks == 1 else f'{blocks:,} blocks'}"
        for (author, kind), blocks in found.items()
    ]


def edits_by_policy(log: Iterable[Edit]) -> dict[str, int]:
    """How many edits each policy made."""
    return dict(Counter(edit.author for edit in log if edit.author != USER and edit.kind != APPLY and edit.targets))
