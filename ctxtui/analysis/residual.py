"""The residual of a call: what it is, its likely cause, and which call it began with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ctxtui.analysis.book import Book
from ctxtui.core.call import Call, EpochStart, Fidelity
from ctxtui.core.category import INDEX

_MOST: Final = 0.5
"""Share of the residual from which on one call's step is its cause; else it grew with the context."""
_OVERHEAD: Final = 1_200
"""Tokens up to which what stands beyond a whole request may be what the provider puts around it."""
_MEDIA: Final = (INDEX["image"], INDEX["document"])
MORE: Final = "tokens that the report has beyond the recorded blocks and what is known to be missing"
FEWER: Final = "tokens by which the blocks, as they are counted, come to more than the report"


@dataclass(frozen=True, slots=True)
class Residual:
    """The `tokens` of a report that nothing explains (negative: by which the blocks exceed it): `what` they are, the
    likely `cause` as a sentence's part, and the number of the call `since` whose report brought most of them."""

    tokens: int
    what: str
    cause: str
    since: int

    def says(self, call: int) -> str:
        """It in one sentence, as it is shown at `call`."""
        since = f"since call {self.since}" if self.since != call else "with this call"
        return f"{self.what}; {since}, likely {self.cause}"


def residual(book: Book, call: Call) -> Residual | None:
    """The residual of `call`; None where its report is explained to the token, has none, or is not known yet."""
    read = book.contexts.of(call)
    if read is None or not read.residual or not read.reported or call.usage is None:
        return None
    what = MORE if read.residual > 0 else FEWER
    sudden = read.step * read.residual > 0 and abs(read.step) >= _MOST * abs(read.residual)
    return Residual(read.residual, what, _cause(book, call, read.residual, read.since, sudden), read.since)


def _cause(book: Book, call: Call, tokens: int, since: int, sudden: bool) -> str:
    calls = book.session.thread_calls(call.thread)
    began = calls[since - 1] if since <= len(calls) else call
    sums = book.sums(call.model, call.sent_head)
    if not sudden:
        return "the model's tokenizer counts these texts otherwise than the one that stands in for it"
    if any(sums[category] for category in _MEDIA) and call.fidelity == Fidelity.WIRE:
        return "how the model counts images or documents is not known"
    if tokens < 0:
        return "a block that came with that call was not sent as it is recorded, or counts for less than we take it for"
    if call.fidelity == Fidelity.WIRE:
        tools = sums[INDEX["tools"]]
        if tools and tokens <= _OVERHEAD:
            return "the provider's own instructions for tools, which no request holds"
        return "text that the provider puts around a request, or a tokenizer that counts it otherwise"
    if began.epoch.start in (EpochStart.COMPACTION, EpochStart.MICROCOMPACTION) and began.epoch == call.epoch:
        return "text that the client added after it shrank the context and did not record"
    return "text that the client added and did not record: reminders, changed files, lists"
