"""Progress lines of a headless run for standard error, also about its policies."""

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

WARNING_SHARE: Final = 0.9
"""Share of the window, including the answer, from which a warning is printed (systems: Pedroceli)."""
_PAST_TENSE: Final = {"drop": "dropped", "truncate": "cut", "summarize": "summarized", "externalize": "externalized"}


def round_line(number: int, max_rounds: int, messages: int, tokens: int | None) -> str:
    size = "tokens not counted" if tokens is None else f"~{tokens:,} tokens"
    message_count = "1 message" if messages == 1 else f"{messages:,} messages"
    return f"round {number}/{max_rounds or '∞'}: {message_count}, {size}"


def tokens_line(usage: Usage | None, window: int) -> str:
    if usage is None:
        return "Tokens: not reported"
    total = usage.input + usage.output
    share = f" ({100 * total / window:.1f} % of {window:,})" if window else ""
    return f"Tokens: prompt={usage.input:,} response={usage.output:,} total={total:,}{share}"


def full_line(usage: Usage | None, window: int) -> str:
    """The warning about a call that nearly filled its `window` (0: unknown), else ""."""
    total = usage.input + usage.output if usage is not None else 0
    if not window or total < WARNING_SHARE * window:
        return ""
    return f"warning: the context is at {100 * total / window:.0f} % of the window of {window:,} tokens"


def step_line(step: Step) -> str:
    return " ".join([step.policy.name, *(f"{name}={value}" for name, value in step.settings.items())])


def trim_lines(new: Iterable[Edit]) -> list[str]:
    """Lines about the edits of policies among these entries of the log."""
    counts: Counter[tuple[str, str]] = Counter()
    for edit in new:
        if edit.author != USER and edit.kind != APPLY and edit.targets:
            counts[edit.author, edit.kind] += len(edit.targets)
    return [
        f"trimmed: {author} {_PAST_TENSE.get(kind, kind)} {'1 block' if blocks == 1 else f'{blocks:,} blocks'}"
        for (author, kind), blocks in counts.items()
    ]


class RunEdits:
    """The edits of the threads of `session` that a run uses."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self._edits = SessionEdits(Loaded(session, session.about.id), settings)
        self._threads: dict[str, ThreadEdits] = {}
        self._reported: Counter[str] = Counter()
        """Number of entries of each thread already reported."""

    def of_thread(self, thread: str) -> ThreadEdits:
        """The edits of `thread`. Raises `CtxtuiError` if the database cannot be read."""
        edits = self._threads.get(thread)
        if edits is None:
            edits = self._threads[thread] = self._edits.of_thread(thread)
            self._reported[thread] = len(edits.log)
        return edits

    def new_lines(self, thread: str) -> list[str]:
        """Lines about policies' edits in `thread` since the last call, or since the run began."""
        log = self.of_thread(thread).log
        new, self._reported[thread] = log[self._reported[thread] :], len(log)
        return trim_lines(new)

    def by_policy(self) -> dict[str, int]:
        """Count the edits of each policy in these threads, those of earlier runs too."""
        log = [edit for thread in self._threads.values() for edit in thread.log]
        return dict(Counter(edit.author for edit in log if edit.author != USER and edit.kind != APPLY and edit.targets))

    def save(self, writer: Writer | None) -> None:
        """Store the edits; for a worker thread. Raises `CtxtuiError`."""
        if not self._edits.unsaved:
            return
        if writer is not None:
            # It writes the blocks that the edits concern.
            writer.wait(2.0, writer.last_ticket)
        self._edits.save()
