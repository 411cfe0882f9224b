"""What a headless run tells of itself as it goes on, and what its policies did: plain lines, for standard error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from ctxtui.core.edit import APPLY, USER, Edit
from ctxtui.core.session import Session
from ctxtui.core.usage import Usage
from ctxtui.curation.policies.policy import Step
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.overlay import SessionEdits, ThreadEdits
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.writer import Writer

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


class RunEdits:
    """The edits of every thread of `session`."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self._edits = SessionEdits(Loaded(session, session.about.id), settings)
        self._threads: dict[str, ThreadEdits] = {}
        self._told: Counter[str] = Counter()
        """Entries of each thread that were told of."""

    def of(self, thread: str) -> ThreadEdits:
        """Those of `thread`. Raises `CtxtuiError` where the database cannot be read."""
        found = self._threads.get(thread)
        if found is None:
            found = self._threads[thread] = self._edits.of(thread)
        return found

    def news(self, thread: str) -> list[str]:
        """What policies did in `thread` since this was asked last, a line each."""
        log = self.of(thread).log
        new, self._told[thread] = log[self._told[thread] :], len(log)
        return trims(new)

    def by_policy(self) -> dict[str, int]:
        """How many edits each policy made in all threads."""
        return edits_by_policy(edit for thread in self._threads.values() for edit in thread.log)

    def save(self, writer: Writer | None) -> None:
        """Put the edits on record, behind what they are about; for a worker thread. Raises `CtxtuiError`."""
        if not self._edits.unsaved:
            return
        if writer is not None:
            writer.wait(2.0, writer.last_ticket)
        self._edits.save()
