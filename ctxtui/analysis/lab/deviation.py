"""Compares the simulation of a recording with its reports, and explains larger deviations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.book import Book
from ctxtui.analysis.lab.variant import VariantCall
from ctxtui.core.call import Call, Fidelity

MAX_DEVIATION: Final = 0.02
"""Deviations up to this share of the reported input need no explanation."""
_MIN_CUT_SHARE: Final = 0.25
"""Missing input above this share of a call's report is not a counting error."""


class _Gap(NamedTuple):
    """One call: reported minus counted input, and minus simulated reads (None: not simulated)."""

    call: Call
    number: int
    input: int
    read: int | None

    @property
    def reported(self) -> int:
        return self.call.usage.input if self.call.usage is not None else 0


def explain_deviations(book: Book, calls: Sequence[Call], counted: Sequence[VariantCall]) -> Iterator[str]:
    """Yield a sentence with the reason for each simulated figure that deviates too much.

    More than `MAX_DEVIATION` is too much. `counted` are the simulated `calls`, all with a report.
    """
    gaps = [
        _Gap(
            call,
            simulated.number,
            call.usage.input - simulated.context,
            None if simulated.read is None else call.usage.cache_read - simulated.read,
        )
        for call, simulated in zip(calls, counted, strict=True)
        if call.usage is not None
    ]
    reported = sum(gap.reported for gap in gaps)
    off = -sum(gap.input for gap in gaps) / reported if reported else 0.0
    if abs(off) > MAX_DEVIATION:
        yield f"the simulation is off by {100 * off:+.1f} %: {_explain_input(book, gaps, off)}"
    reads = [gap.read for gap in gaps if gap.read is not None]
    read_off = -sum(reads) / reported if reported and len(reads) == len(gaps) else 0.0
    # Missing input is not read either, which the first sentence already explains.
    if abs(read_off) > MAX_DEVIATION and abs(read_off - off) > MAX_DEVIATION:
        yield _explain_read(gaps, read_off)


def _explain_input(book: Book, gaps: Sequence[_Gap], deviation: float) -> str:
    explained: set[str] = set()
    began: dict[str, int] = {}
    starts = epochs = cut = 0
    for gap in gaps:
        call = gap.call
        if call.thread not in explained and call.fidelity == Fidelity.TRANSCRIPT:
            starts += gap.input
        elif began.get(call.thread) not in (None, call.epoch.number):
            epochs += gap.input
        elif gap.input > _MIN_CUT_SHARE * gap.reported:
            cut += gap.input
        explained.add(call.thread)
        began[call.thread] = call.epoch.number
    total = sum(gap.input for gap in gaps)
    threads = "the first call" if len(explained) == 1 else f"the first calls of {len(explained)} threads"
    if starts / total > 0.5:
        if deviation > 0:
            return f"{threads} had {-starts:,} tokens less than their recorded blocks count"
        return (
            f"{starts:,} tokens of system prompt and tools in {threads} are not recorded, and no earlier report "
            "shows their size"
        )
    if epochs / total > 0.5:
        less = " less" if deviation > 0 else ""
        return f"{abs(epochs):,} tokens{less} are not recorded, after a restart, compaction or change of model"
    if cut / total > 0.5:
        return f"{cut:,} reported tokens are in no recorded block: the recording is incomplete"
    model = gaps[-1].call.model
    counts = "calibrated" if book.weights(model).calibrated else "guessed"
    return f"blocks are counted ({counts} tokens), without the call's own report"


def _explain_read(gaps: Sequence[_Gap], deviation: float) -> str:
    sign = 1 if deviation > 0 else -1
    gap_calls = [
        (-sign * (gap.read or 0), gap.number) for gap in gaps if -sign * (gap.read or 0) > MAX_DEVIATION * gap.reported
    ]
    most, number = max(gap_calls, default=(0, 0))
    place = f"in {len(gap_calls):,} of {len(gaps):,} calls, most in call {number:,} ({most:,} tokens)"
    if deviation > 0:
        return (
            f"the simulation reads {100 * deviation:.1f} % of the input more than was reported: {place}, "
            "the provider read less than was written and had not expired"
        )
    return (
        f"the simulation reads {-100 * deviation:.1f} % of the input less than was reported: {place}, the provider "
        "read entries that no recorded call wrote: from other sessions, or kept longer than its rules say"
    )
