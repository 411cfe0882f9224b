"""By how much the simulation of the recording misses what was reported, and why, where that is more than it may be.

It is counted, not copied: the blocks on record, what reports *before* a call tell of what is lacking, and a simulated
cache that keeps to its provider's rules. Where one of the three is not what was reported, that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.book import Book
from ctxtui.analysis.lab.variant import VariantCall
from ctxtui.core.call import Call, Fidelity

WITHIN: Final = 0.02
"""Share of the reported input by which a figure may be off before it is said why."""
_CUT: Final = 0.25
"""The share of a call's report from which on what is lacking is no matter of counting."""


class _Gap(NamedTuple):
    """One call: its report less what was counted, and what was reported to be read less what was simulated (None: not
    simulated)."""

    call: Call
    number: int
    input: int
    read: int | None

    @property
    def reported(self) -> int:
        return self.call.usage.input if self.call.usage is not None else 0


def deviations(book: Book, calls: Sequence[Call], counted: Sequence[VariantCall]) -> Iterator[str]:
    """A sentence with the reason for each simulated figure that is off by more than `WITHIN` of the input that
    was reported. `counted` are the simulated `calls`, all with a report."""
    gaps = [
        _Gap(call, one.number, call.usage.input - one.context, None if one.read is None else _read(call) - one.read)
        for call, one in zip(calls, counted, strict=True)
        if call.usage is not None
    ]
    told = sum(gap.reported for gap in gaps)
    off = -sum(gap.input for gap in gaps) / told if told else 0.0
    if abs(off) > WITHIN:
        yield f"the simulation is off by {100 * off:+.1f} %: {_why_input(book, gaps, off)}"
    reads = [gap.read for gap in gaps if gap.read is not None]
    read_off = -sum(reads) / told if told and len(reads) == len(gaps) else 0.0
    # What is lacking of a context is not read either: that is the sentence before.
    if abs(read_off) > WITHIN and abs(read_off - off) > WITHIN:
        yield _why_read(gaps, read_off)


def _read(call: Call) -> int:
    return call.usage.cache_read if call.usage is not None else 0


def _why_input(book: Book, gaps: Sequence[_Gap], off: float) -> str:
    """Where the counts part from the reports most."""
    seen: set[str] = set()
    began: dict[str, int] = {}
    starts = epochs = cut = 0
    for gap in gaps:
        call = gap.call
        if call.thread not in seen and call.fidelity == Fidelity.TRANSCRIPT:
            starts += gap.input
        elif began.get(call.thread) not in (None, call.epoch.number):
            epochs += gap.input
        elif gap.input > _CUT * gap.reported:
            cut += gap.input
        seen.add(call.thread)
        began[call.thread] = call.epoch.number
    whole = sum(gap.input for gap in gaps)
    threads = "the first call" if len(seen) == 1 else f"the first calls of {len(seen)} threads"
    if starts / whole > 0.5:
        if off > 0:
            return f"{threads} came to {-starts:,} tokens less than the blocks on record are counted"
        return (
            f"{starts:,} tokens of system prompt and tools in {threads} are not recorded, and no report came before to "
            "tell of them"
        )
    if epochs / whole > 0.5:
        less = " less" if off > 0 else ""
        return f"{abs(epochs):,} tokens{less} that are not recorded, where the client began anew"
    if cut / whole > 0.5:
        return f"{cut:,} tokens of what was reported are in no block on record: the recording does not hold all of it"
    model = gaps[-1].call.model
    counts = "calibrated" if book.weights(model).calibrated else "guessed"
    return f"blocks are counted ({counts} tokens), and no report of the call itself is looked at"


def _why_read(gaps: Sequence[_Gap], off: float) -> str:
    """Where the provider's cache did otherwise than its rules say."""
    sign = 1 if off > 0 else -1
    own = [(-sign * (gap.read or 0), gap.number) for gap in gaps if -sign * (gap.read or 0) > WITHIN * gap.reported]
    most, number = max(own, default=(0, 0))
    where = f"in {len(own):,} of {len(gaps):,} calls, most in call {number:,} ({most:,} tokens)"
    if off > 0:
        return (
            f"the simulation reads {100 * off:.1f} % of the input more than was reported: {where}, the provider read "
            "less than was written and had not expired"
        )
    return (
        f"the simulation reads {-100 * off:.1f} % of the input less than was reported: {where}, the provider read what "
        "nothing on record had written: other sessions, or entries that lived longer than its rules say"
    )
