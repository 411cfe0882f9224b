"""Lab results of one session: a row of figures and a curve for each variant, and notes.

A *variant* is the session under other policies, another cache strategy or another model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from ctxtui.analysis.lab.deviation import explain_deviations
from ctxtui.analysis.lab.on_record import apply_to_record
from ctxtui.analysis.lab.recorded_steps import reason_for_none, simulated_calls
from ctxtui.analysis.lab.variant import Summaries, VariantRun
from ctxtui.analysis.lab.variant_pass import LabInputs
from ctxtui.core.call import COMPACTIONS, Call, EpochStart, count_calls
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.session import Session
from ctxtui.pricing.price import lacks_price


class LabRow(Struct, frozen=True, kw_only=True):
    """A session under one variant, in tokens; None if unknown.

    The variant ``as_recorded`` has the reported and paid figures; to these the others add the simulated differences.
    - `settings`: the policy's settings; `given_settings`: those that were set, for a single policy.
    - `peak`, `final`, `total`: the largest context, the last one of the first thread, and all together; `reported`: the
      recorded sum of all.
    - `rewrites`: the misses of the recording, plus the requests of the variant that do not continue the previous one,
      less those of the recording.
    - `usd`: includes calls that cannot be simulated; `at_least`: it is a lower bound, because the record is incomplete.
    - `over`: number of calls above the usable window; `first_overflow`: the number of the first.
    - `dependence`: changed or removed blocks that later blocks quote.
    - `curve`: the context of each call.
    - `edits`: the policy's edits by thread.
    - `refused`: why some edits were left out.
    """

    policy: str
    settings: dict[str, Json]
    given_settings: dict[str, Json]
    cache: str
    model: str
    calls: int
    peak: int
    final: int
    total: int
    reported: int | None
    read: int | None
    write: int | None
    fresh: int | None
    output: int | None
    usd: float | None
    rewrites: int
    over: int
    first_overflow: int | None
    dependence: int
    summaries: Summaries
    curve: tuple[int, ...]
    edits: Mapping[str, tuple[Edit, ...]] = field(default_factory=dict)
    refused: str = ""
    is_recorded: bool = False
    at_least: bool = False


class SessionLab(Struct, frozen=True, kw_only=True):
    """One session in the lab.

    - `rows`: one per variant, ``as_recorded`` first.
    - `numbers`: the simulated calls, of `calls` in all; `drawn`: indexes of those of the longest thread.
    - `usable`: the usable window in tokens; 0: unknown.
    - `off`: the relative error of the simulated recording; None if a simulated call was not reported.
    - `marks`: (index of a call, Σ for a compaction before it or ◊ for another model).
    - `notes`: remarks; `outcomes`: the recorded results.
    """

    session: str
    title: str
    calls: int
    numbers: tuple[int, ...]
    usable: int
    rows: tuple[LabRow, ...]
    off: float | None
    drawn: tuple[int, ...] = ()
    marks: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = ()
    outcomes: tuple[tuple[str, str], ...] = ()


def session_lab(inputs: LabInputs, runs: Sequence[VariantRun], name: str) -> SessionLab:
    """Summarize `runs` of the session of `inputs`; `name` is used if it has no id."""
    session = inputs.book.session
    calls = simulated_calls(session)
    reported = [call.usage.input for call in calls if call.usage is not None]
    reported_total = sum(reported) if reported and len(reported) == len(calls) else None
    first = runs[0] if runs else None
    adjusted = [apply_to_record(inputs, runs[0], run) for run in runs if run.calls]
    rows = tuple(_make_row(inputs, adjusted[0], run, reported_total) for run in adjusted)
    relative_error = (first.total - reported_total) / reported_total if first is not None and reported_total else None
    return SessionLab(
        session=session.about.id or name,
        title=session.about.title or name,
        calls=count_calls(session.calls.values()),
        numbers=tuple(call.number for call in first.calls) if first is not None else (),
        usable=max((inputs.usable(call) for call in calls), default=0),
        rows=rows,
        off=relative_error,
        drawn=_longest_thread_calls(calls),
        marks=tuple(_iter_marks(calls)),
        notes=tuple(_iter_notes(inputs, session, calls, runs, relative_error)),
        outcomes=tuple((outcome.name, outcome.value) for outcome in session.outcomes),
    )


def _make_row(inputs: LabInputs, own: VariantRun, run: VariantRun, reported: int | None) -> LabRow:
    variant = run.variant
    usd, at_least = _session_cost(inputs, own, run)
    settings: dict[str, Json] = dict(variant.steps[0].settings) if len(variant.steps) == 1 else {}
    return LabRow(
        policy=variant.policy,
        settings=variant.settings,
        given_settings=settings,
        cache=variant.cache,
        model=variant.model or ", ".join(run.models),
        calls=len(run.calls),
        peak=run.peak,
        final=run.final,
        total=run.total,
        reported=reported,
        read=run.sum_of("read"),
        write=run.sum_of("write"),
        fresh=run.sum_of("fresh"),
        output=run.sum_of("output"),
        usd=usd,
        rewrites=max(0, inputs.misses + run.rewrites - own.rewrites),
        over=run.over,
        first_overflow=run.first_overflow,
        dependence=run.dependence,
        summaries=run.summaries,
        curve=tuple(call.context for call in run.calls),
        edits=run.edits,
        refused=run.refused,
        is_recorded=variant.is_recorded,
        at_least=at_least,
    )


def _session_cost(inputs: LabInputs, own: VariantRun, run: VariantRun) -> tuple[float | None, bool]:
    """Cost of the whole session under `run` (None: unknown), and whether it is a lower bound.

    Calls without a recorded price, and calls that are not simulated, are as in the bill.
    """
    tried = {call.id: call.usd for call in run.calls}
    unknown = {call.id for call in own.calls if call.usd is None and run.variant.model == ""}
    if any(usd is None and id_ not in unknown for id_, usd in tried.items()):
        return None, False
    every = list(inputs.book.session.calls.values())
    amounts = [usd for call in every if (usd := tried.get(call.id, inputs.paid_usd(call))) is not None]
    lacks = any(call.is_partial or lacks_price(call, inputs.costs.get(call.id)) for call in every)
    return (sum(amounts) if amounts else None), lacks


def _longest_thread_calls(calls: Sequence[Call]) -> tuple[int, ...]:
    by: dict[str, list[int]] = {}
    for index, call in enumerate(calls):
        by.setdefault(call.thread, []).append(index)
    longest = max(by, key=lambda thread: len(by[thread]), default="")
    return tuple(by.get(longest, ()))


def _iter_marks(calls: Sequence[Call]) -> Iterator[tuple[int, str]]:
    epoch_by_thread: dict[str, int] = {}
    for index, call in enumerate(calls):
        before = epoch_by_thread.get(call.thread)
        if before is not None and before != call.epoch.number:
            if call.epoch.start in COMPACTIONS:
                yield index, "Σ"
            elif call.epoch.start == EpochStart.MODEL:
                yield index, "◊"
        epoch_by_thread[call.thread] = call.epoch.number


def _iter_notes(
    inputs: LabInputs, session: Session, calls: Sequence[Call], runs: Sequence[VariantRun], off: float | None
) -> Iterator[str]:
    if not calls:
        yield reason_for_none(session)
        return
    first = runs[0]
    left_out = len(session.calls) - len(calls)
    if left_out:
        yield f"{_count_text(left_out, 'call')} as recorded in every row: no report or no recorded context"
    if off is None:
        yield "no usage is reported: contexts are counted and cannot be compared"
        if any(call.output for call in first.calls):
            yield "answers are counted by their recorded text: unrecorded thinking cost more"
    else:
        yield from explain_deviations(inputs.book, calls, first.calls)
    if len(calls) == 1:
        yield "one call: no cache reads, and no later effects of policies"
    if any(call.read is None for call in first.calls):
        ruled = all(inputs.rules(inputs.as_model(call, runs[0].variant.model)).is_known for call in calls)
        why = "the times of the calls are not recorded" if ruled else "the cache rules of the provider are not known"
        yield f"read, write and fresh are not known: {why}"
    yield from _iter_money_notes(runs)
    if any(run.summaries.count for run in runs):
        sums = [
            f"{run.variant.policy} {_count_text(run.summaries.count, 'summary')}" for run in runs if run.summaries.count
        ]
        sizes = [run.summaries.tokens / run.summaries.count for run in runs if run.summaries.count]
        least, most = f"{min(sizes):,.0f}", f"{max(sizes):,.0f}"
        each = f"{least if least == most else f'{least} to {most}'} tokens each"
        if any(run.summaries.count > 1 for run in runs):
            each += " on average"
        yield (
            f"summaries are simulated with facts from the recording, {each} "
            f"({'; '.join(sums)}): a model's would have another length"
        )
    if len(runs) > 1:
        yield "answers and tool results are as recorded in every variant: no model was called"
    for run in runs:
        if run.refused:
            yield f"{run.variant.policy}: edits were skipped, {run.refused}"


def _iter_money_notes(runs: Sequence[VariantRun]) -> Iterator[str]:
    unpriced = dict.fromkeys(name for run in runs if run.usd is None for name in run.models)
    if not unpriced:
        return
    first = next(run for run in runs if run.usd is None)
    if any(call.output is None for call in first.calls):
        yield "cost is not known: no answer is recorded or reported"
    elif any(call.read is None for call in first.calls):
        yield "cost is not known: it depends on cache reads and writes"
    else:
        yield f"cost is not known: there is no list price for {', '.join(unpriced) or 'the model'}"


def _count_text(count: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"
