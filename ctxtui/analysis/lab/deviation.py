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
"""A larger share of a call's reported input cannot be missing by an error of counting."""


class _Gap(NamedTuple):
    """One call, in tokens.

    - `reported`: its reported input; `input`: that minus the counted one.
    - `read`: reported minus simulated reads; None: not simulated.
    """

    call: Call
    number: int
    reported: int
    input: int
    read: int | None


def explain_deviations(book: Book, calls: Sequence[Call], counted: Sequence[VariantCall]) -> Iterator[str]:
    """Yield a sentence for input and for reads that deviate by more than `MAX_DEVIATION`.

    `counted` are the simulated `calls`, all with a report.
    """
    gaps = [
        _Gap(
            call,
            simulated.number,
            call.usage.input,
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
    first_calls = 0
    epoch_by_thread: dict[str, int] = {}
    starts = epochs = cut = 0
    for gap in gaps:
        call = gap.call
        if call.thread not in epoch_by_thread and call.fidelity == Fidelity.TRANSCRIPT:
            starts += gap.input
            first_calls += 1
        elif epoch_by_thread.get(call.thread) not in (None, call.epoch.number):
            epochs += gap.input
        elif gap.input > _MIN_CUT_SHARE * gap.reported:
            cut += gap.input
        epoch_by_thread[call.thread] = call.epoch.number
    total = sum(gap.input for gap in gaps)
    threads = "the first call" if first_calls == 1 else f"the first calls of {first_calls} threads"
    if starts / total > 0.5:
        if deviation > 0:
            return f"{threads} had {-starts:,} tokens less than their recorded blocks count"
        return (
            f"{starts:,} tokens of system prompt and tools in {threads} are not recorded, and no earlier report "
            "shows their size"
        )
    if epochs / total > 0.5:
        what = "fewer were reported than counted" if deviation > 0 else "are not recorded"
        return f"{abs(epochs):,} tokens {what}, after a restart, compaction or change of model"
    if cut / total > 0.5:
        return f"{cut:,} reported tokens are in no recorded block: the recording is incomplete"
    weights = book.weights(gaps[-1].call.model)
    counts = "calibrated" if weights.calibrated else "exact" if weights.exact else "guessed"
    return f"blocks are counted ({counts} tokens), without the call's own report"


def _explain_read(gaps: Sequence[_Gap], deviation: float) -> str:
    sign = 1 if deviation > 0 else -1
    gap_calls = [
        (-sign * (gap.read or 0), gap.number) for gap in gaps if -sign * (gap.read or 0) > MAX_DEVIATION * gap.reported
    ]
    most, number = max(gap_calls)
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
