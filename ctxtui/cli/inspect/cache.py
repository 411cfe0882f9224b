"""`ctxtui cache`: a session's cache use, causes of misses, and the next call's read."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from pathlib import Path
from typing import Any

import click

from ctxtui.analysis.cache.marker_trials import MarkerTrials
from ctxtui.analysis.call_choice import choose_call
from ctxtui.cache.marker_placement import RECOMMENDED
from ctxtui.cache.marker_value import MarkerValue
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, SessionName, applied_edits_of, config_of, open_recording
from ctxtui.cli.edit.pins import HOOK_INPUT_OPTION, YES_OPTION, hook_transcript, install_hook
from ctxtui.cli.output import write, write_json
from ctxtui.cli.paint import Painter, table_lines, width
from ctxtui.cli.progress import counting
from ctxtui.services.attach.status_line import find_cold_send
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.editing.next_request import next_call_of
from ctxtui.services.editing.pins import COLD_HOOK, cold_command
from ctxtui.services.library.preflight import try_all_markers
from ctxtui.services.members import members
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.inspector.next_call import plain_lines
from ctxtui.views.lists import misses
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.text.status_line import describe_cold_send


@click.command(
    "cache",
    help="Show why the prompt cache missed: every miss of a session, most expensive first, with its cause and the "
    "first block that differed; and what the next call would read.\n\n"
    f"NAME is {NAME_HELP} (default: last). `lost` is the extra cost of the misses compared with reads, at list "
    "price.\n\n"
    "--hook lets Claude Code say what a message costs after the cache has expired, before it is sent. It shows the "
    "change to .claude/settings.local.json in the session's directory, and asks before writing it.\n\n\b\n"
    "Example: ctxtui cache session.jsonl --json | jq '.misses[0]'\n"
    "Example: ctxtui cache last --hook",
)
@click.argument("name", metavar="[NAME]", type=SessionName(), default="last")
@click.option(
    "--markers", is_flag=True, help="Show what other cache markers would have cost, and what each recorded one gained."
)
@click.option(
    "--hook", is_flag=True, help="Let Claude Code announce messages after the cache expired (UserPromptSubmit)."
)
@YES_OPTION
@HOOK_INPUT_OPTION
@JSON_OPTION
@click.pass_context
def cache(context: click.Context, /, name: str, markers: bool, as_json: bool, **hooks: bool) -> None:
    settings = config_of(context).settings
    if hooks["hook_input"]:
        _print_cold_send(settings)
        return
    loaded = open_recording(name, settings)
    if hooks["hook"]:
        install_hook(Path(loaded.session.about.cwd or "."), cold_command(), COLD_HOOK, hooks["yes"])
        return
    if markers:
        _print_markers(loaded, settings, as_json)
        return
    forecast = None
    with counting(settings) as counter:
        report = make_account(loaded.session, counter, settings).misses()
        if loaded.session.calls:
            chosen = choose_call(loaded.session)
            edits = applied_edits_of(loaded, settings, chosen)
            next_request = next_call_of(loaded.session, counter, settings, chosen.thread, edits)
            forecast = next_request.forecast if next_request is not None else None
    if as_json:
        write_json(_cache_json(report, forecast, loaded.session.about.id or loaded.name))
        return
    painter, room = Painter(settings.glyphs), width()
    painter.line([*misses.heading(report), *([Span("   "), *misses.forecast_note(report)] if report.calls else [])])
    if report.misses:
        painter.lines(table_lines(misses.table(report.misses), report.misses, room))
    painter.lines(plain_lines(forecast, time.time()) if forecast is not None else ())


def _print_cold_send(settings: Settings) -> None:
    """Print what Claude Code shows before a message after the cache has expired."""
    cold = find_cold_send(hook_transcript(), settings)
    if cold is not None:
        text = describe_cold_send(cold.tokens, cold.seconds, cold.usd, cold.warm_usd)
        write(json.dumps({"systemMessage": text}))  # the client's own format, without a schema_version


def _print_markers(loaded: Loaded, settings: Settings, as_json: bool) -> None:
    with counting(settings, "trying other cache markers") as counter:
        placings = try_all_markers(loaded.session, counter, settings)
    if as_json:
        write_json({"session": loaded.session.about.id or loaded.name, "markers": markers_json(placings)})
        return
    labels = {id_: thread.label for id_, thread in loaded.session.threads.items()}
    for line in markers_text(placings, labels):
        write(line)


def _cache_json(report: Any, forecast: Any, session: str) -> dict[str, Any]:
    return {
        "session": session,
        **members(
            report,
            "calls cost_usd=usd lost_usd=lost unpriced_calls=unpriced partial_calls=partial "
            "written_again_tokens=tokens reported=tested tested foreseen false_alarms",
        ),
        "misses": [_miss_to_json(miss) for miss in report.misses],
        "next_call": None if forecast is None else _forecast_json(forecast),
    }


def _miss_to_json(miss: Any) -> dict[str, Any]:
    return {
        **members(miss, "thread call=number started=at cause what"),
        "late_seconds": miss.by if miss.cause == "TTL" else None,
        **members(
            miss,
            "written_again_tokens=tokens lost_usd=usd paid_usd=paid partial tested read_tokens=read "
            "shared_tokens=shared",
        ),
        "input_tokens": miss.sizes[1],
        "foreseen": miss.foreseen,
        "evidence": miss.evidence,
        "block": _side_to_json(miss.new or miss.old, miss.block, miss.blocks),
        "changed_by": miss.writer,
    }


def _side_to_json(side: Any, position: int, total: int) -> dict[str, Any] | None:
    return None if side is None else {"at": position, "of": total, "category": side.category, "label": side.label}


def _forecast_json(forecast: Any) -> dict[str, Any]:
    return {
        **members(forecast, "model input_tokens=input read_tokens=read"),
        "read_band": [forecast.floor, forecast.ceiling],
        **members(forecast, "cause write_tokens=write fresh_tokens=fresh expires cost_usd=total"),
        "parts_usd": dict(zip(("read", "write", "fresh", "answer"), forecast.usd, strict=True)),
        **members(forecast, "uncached_usd=uncached answer_tokens=answer inferred"),
        "interval": [forecast.lo, forecast.hi],
    }


NAME_CELLS = 18
THREAD_CELLS = 40
MAX_LISTED_MARKERS = 5


def markers_json(placings: Sequence[MarkerTrials]) -> list[dict[str, Any]]:
    """The tables of markers, one for each thread."""
    return [
        {
            "thread": placing.thread,
            "calls": len(placing.calls),
            "unit": "fresh tokens" if placing.relative else "USD",
            **members(placing, "paid own inferred"),
            "least": members(placing, "cost=plan.cost exact=plan.exact bound=plan.bound"),
            "strategies": [members(t, "name cost read_share") for t in placing.strategy_trials],
            "markers": [
                {
                    "call": mark.call + 1,
                    **members(mark, "lifetime_seconds=life written_tokens=written reads gain paid=has_paid"),
                }
                for mark in placing.markers
            ],
        }
        for placing in placings
    ]


def markers_text(placings: Sequence[MarkerTrials], labels: Mapping[str, str]) -> Iterator[str]:
    """The first thread's table of markers, and a line per other thread.

    Of the markers that did not pay, the table has only the worst.
    """
    if not placings:
        yield (
            "Other markers cannot be simulated: no thread has several timed and reported calls to a provider with "
            "cache markers. `ctxtui lab NAME --cache 5m --cache none` simulates lifetimes on counted contexts."
        )
    first, rest = placings[:1], placings[1:]
    for placing in first:
        yield from _marker_table_lines(placing, with_thread=bool(rest))
    if rest:
        yield from _thread_lines(rest, labels)


def _thread_lines(placings: Sequence[MarkerTrials], labels: Mapping[str, str]) -> Iterator[str]:
    """Their sums, and a line for each thread; --json has their tables."""
    own, least = sum(trials.own for trials in placings), sum(trials.plan.cost for trials in placings)
    unit = placings[0]
    heading = numbers.many(len(placings), "further thread")
    sums = (
        f": {_format_cost(unit, own)} as recorded, {_format_cost(unit, least)} at least"
        if len({trials.relative for trials in placings}) == 1
        else ""
    )
    yield f"{heading}{sums}"
    yield f"  {'thread':{THREAD_CELLS}} {'calls':>6} {'recorded':>10} {'least':>10}  cheapest strategy"
    for trials in sorted(placings, key=lambda trials: trials.plan.cost - trials.own):
        name = cells.left(safe_text.one_line(labels.get(trials.thread) or trials.thread), THREAD_CELLS)
        best = "".join(f"{tried.name} {_format_cost(trials, tried.cost)}" for tried in trials.strategy_trials[:1])
        costs = f"{_format_cost(trials, trials.own):>10} {_format_cost(trials, trials.plan.cost):>10}"
        yield f"  {name} {len(trials.calls):>6} {costs}  {best}".rstrip()
    if any(trials.own < trials.plan.cost for trials in placings):
        yield "  a thread that cost less than the least read cache entries that other threads wrote"


def _marker_table_lines(trials: MarkerTrials, with_thread: bool) -> Iterator[str]:
    where = f"thread {trials.thread}, " if with_thread else ""
    yield f"input of {where}{len(trials.calls)} calls under other markers"
    least = trials.plan.cost
    kind = "optimum" if trials.plan.exact else "best found"
    bound = "" if trials.plan.exact else f"lower bound {_format_cost(trials, trials.plan.bound)}"
    yield _strategy_line(kind, trials, least, least, bound)
    for tried in trials.strategy_trials:
        name = f"{tried.name} *" if tried.name == RECOMMENDED.name else tried.name
        yield _strategy_line(
            name, trials, tried.cost, least, f"{100 * tried.read_share:.0f} % read; {tried.description}"
        )
    note = "as paid; the other lines are simulated changes"
    if not isclose(trials.own, trials.paid):
        note = f"simulated; {_format_cost(trials, trials.paid)} was paid"
    yield _strategy_line("as recorded", trials, trials.own, least, note)
    yield f"  * {RECOMMENDED.name}: {RECOMMENDED.description}"
    if not trials.static:
        yield "  system prompt and tools are not recorded: markers after them cannot be simulated"
    yield from _marker_value_lines(trials)


def _strategy_line(name: str, trials: MarkerTrials, cost: float, least: float, note: str) -> str:
    ratio = cost / least if least else 1.0
    return f"  {name:{NAME_CELLS + 2}} {_format_cost(trials, cost):>10} {ratio:7.3f}x  {note}".rstrip()


def _format_cost(trials: MarkerTrials, cost: float) -> str:
    return f"{numbers.tokens(round(cost))} tok" if trials.relative else numbers.money(cost)


def _marker_value_lines(trials: MarkerTrials) -> Iterator[str]:
    markers = trials.markers
    unpaid = sorted((mark for mark in markers if not mark.has_paid), key=lambda mark: mark.gain)
    how = " (inferred)" if trials.inferred else ""
    paid_off = f"{len(markers) - len(unpaid)} paid off, {len(unpaid)} did not"
    yield f"  {len(markers)} entries written by its own markers{how}: {paid_off}"
    yield from (_describe_unpaid_marker(trials, mark) for mark in unpaid[:MAX_LISTED_MARKERS])


def _describe_unpaid_marker(trials: MarkerTrials, mark: MarkerValue) -> str:
    read = f"read {numbers.many(mark.reads, 'time')}" if mark.reads else "never read"
    lost = _format_cost(trials, -mark.gain)
    return f"    call {mark.call + 1}: {numbers.tokens(mark.written)} written, {read}, {lost} lost"
