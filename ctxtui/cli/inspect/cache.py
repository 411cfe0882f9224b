"""`ctxtui cache`: what the prompt cache did in a session, why it missed, what the next call would read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from typing import Any

import click

from ctxtui.analysis.cache.marker_trials import MarkerTrials
from ctxtui.analysis.call_choice import choose_call
from ctxtui.cache.marker_placement import DEFAULT
from ctxtui.cache.marker_value import MarkerValue
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, SessionName, config_of, edits_of, opened
from ctxtui.cli.output import write, write_json
from ctxtui.cli.paint import Painter, table_lines, width
from ctxtui.cli.progress import counting
from ctxtui.services.editing.next_request import coming_of
from ctxtui.services.library.preflight import try_all_markers
from ctxtui.services.members import members
from ctxtui.services.workers.session_report import find_misses
from ctxtui.views.inspector.next_call import sentence
from ctxtui.views.lists import misses
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span


@click.command(
    "cache",
    help="Why the prompt cache missed: every miss of a session, dearest first, with its cause and the block that "
    "parted the two requests; and what the next call would read.\n\n"
    f"NAME is {NAME_HELP}. `lost` is what the misses cost more than reads would have, by list price.\n\n\b\n"
    "Example: ctxtui cache session.jsonl --json | jq '.misses[0]'\n"
    "Example: ctxtui cache last --markers",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option("--markers", is_flag=True, help="What other cache markers would have cost, and what each was worth.")
@JSON_OPTION
@click.pass_context
def cache(context: click.Context, name: str, markers: bool, as_json: bool) -> None:
    """Why the cache missed."""
    settings = config_of(context).settings
    loaded = opened(name, settings)
    if markers:
        _markers(loaded, settings, as_json)
        return
    coming = None
    with counting(settings) as counter:
        found = find_misses(loaded.session, counter, settings)
        if loaded.session.calls:
            chosen = choose_call(loaded.session)
            edits = edits_of(loaded, settings, chosen)
            coming = coming_of(loaded.session, counter, settings, chosen.thread, edits)
    if as_json:
        write_json(_cache_json(found, coming, loaded.session.about.id or loaded.name))
        return
    painter, room = Painter(settings.glyphs), width()
    painter.line([*misses.head(found), *([Span("   "), *misses.foreseen(found)] if found.calls else [])])
    if found.misses:
        painter.lines(table_lines(misses.table(found.misses), found.misses, room))
    painter.lines(sentence(coming, time.time()) if coming is not None else ())


def _markers(loaded: Any, settings: Any, as_json: bool) -> None:
    with counting(settings, "trying other cache markers") as counter:
        found = try_all_markers(loaded.session, counter, settings)
    if as_json:
        write_json({"session": loaded.session.about.id or loaded.name, "markers": markers_json(found)})
        return
    labels = {id_: thread.label for id_, thread in loaded.session.threads.items()}
    for line in markers_text(found, labels):
        write(line)


def _cache_json(found: Any, coming: Any, session: str) -> dict[str, Any]:
    return {
        "session": session,
        **members(
            found,
            "calls cost_usd=usd lost_usd=lost unpriced_calls=unpriced partial_calls=partial "
            "written_again_tokens=tokens reported=tested tested foreseen false_alarms",
        ),
        "misses": [_miss(one) for one in found.misses],
        "next_call": None if coming is None else _coming(coming),
    }


def _miss(one: Any) -> dict[str, Any]:
    return {
        **members(one, "thread call=number started=at cause what"),
        "late_seconds": one.by if one.cause == "TTL" else None,
        **members(
            one,
            "written_again_tokens=tokens lost_usd=usd paid_usd=paid partial tested read_tokens=read "
            "shared_tokens=shared",
        ),
        "input_tokens": one.sizes[1],
        "foreseen": one.foreseen,
        "evidence": one.evidence,
        "block": _side(one.new or one.old, one.block, one.blocks),
        "changed_by": one.writer,
    }


def _side(side: Any, at: int, of: int) -> dict[str, Any] | None:
    return None if side is None else {"at": at, "of": of, "category": side.category, "label": side.label}


def _coming(one: Any) -> dict[str, Any]:
    return {
        **members(one, "model input_tokens=input read_tokens=read"),
        "read_band": [one.floor, one.ceiling],
        **members(one, "cause write_tokens=write fresh_tokens=fresh expires cost_usd=total"),
        "parts_usd": dict(zip(("read", "write", "fresh", "answer"), one.usd, strict=True)),
        **members(one, "uncached_usd=uncached answer_tokens=answer inferred"),
        "interval": [one.lo, one.hi],
    }


_NAME = 18
_THREAD = 40
"""Cells of a thread's name."""
_MOST = 5
"""Markers listed one by one."""


def markers_json(found: Sequence[MarkerTrials]) -> list[dict[str, Any]]:
    """``markers`` of ``cache --json``: one object per thread."""
    return [
        {
            "thread": one.thread,
            "calls": len(one.calls),
            "unit": "fresh tokens" if one.relative else "USD",
            **members(one, "paid own inferred"),
            "least": members(one, "cost=plan.cost exact=plan.exact bound=plan.bound"),
            "strategies": [members(t, "name cost read_share=read") for t in one.tried],
            "markers": [
                {
                    "call": mark.call + 1,
                    **members(mark, "lifetime_seconds=life written_tokens=written reads gain paid"),
                }
                for mark in one.markers
            ],
        }
        for one in found
    ]


def markers_text(found: Sequence[MarkerTrials], labels: Mapping[str, str]) -> Iterator[str]:
    """The first thread's table and the markers that did not pay; the other threads with a line each."""
    if not found:
        yield (
            "Other markers cannot be tried: no thread with several timed and reported calls to a provider that takes "
            "markers. `ctxtui lab NAME --cache 5m --cache none` tries lifetimes on contexts that are counted."
        )
    first, rest = found[:1], found[1:]
    for one in first:
        yield from _marker_table(one, several=bool(rest))
    if rest:
        yield from _folded(rest, labels)


def _folded(found: Sequence[MarkerTrials], labels: Mapping[str, str]) -> Iterator[str]:
    """A line for each thread: their tables are nearly equal, and --json has them whole."""
    own, least = sum(one.own for one in found), sum(one.plan.cost for one in found)
    unit = found[0]
    many = f"{len(found):,} further thread{'' if len(found) == 1 else 's'}"
    sums = (
        f": {_cost(unit, own)} as recorded, {_cost(unit, least)} at the least"
        if len({one.relative for one in found}) == 1
        else ""
    )
    yield f"{many}{sums}"
    yield f"  {'thread':{_THREAD}} {'calls':>6} {'recorded':>10} {'least':>10}  cheapest strategy"
    for one in sorted(found, key=lambda one: one.plan.cost - one.own):
        name = cells.left(safe_text.one_line(labels.get(one.thread) or one.thread), _THREAD)
        best = f"{one.tried[0].name} {_cost(one, one.tried[0].cost)}" if one.tried else ""
        costs = f"{_cost(one, one.own):>10} {_cost(one, one.plan.cost):>10}"
        yield f"  {name} {len(one.calls):>6} {costs}  {best}".rstrip()
    if any(one.own < one.plan.cost for one in found):
        yield "  less recorded than at the least: what other threads had written was read"


def _marker_table(one: MarkerTrials, several: bool) -> Iterator[str]:
    where = f"thread {one.thread}, " if several else ""
    yield f"input of {where}{len(one.calls)} calls under other markers"
    least = one.plan.cost
    kind = "least, pauses known" if one.plan.exact else "least found"
    yield _line(kind, one, least, least, "" if one.plan.exact else f"not below {_cost(one, one.plan.bound)}")
    for tried in one.tried:
        name = f"{tried.name} *" if tried.name == DEFAULT.name else tried.name
        yield _line(name, one, tried.cost, least, f"{100 * tried.read:.0f} % read; {tried.description}")
    paid = isclose(one.own, one.paid)
    how = "what was paid; the others with what they change" if paid else f"simulated; {_cost(one, one.paid)} was paid"
    yield _line("as recorded", one, one.own, least, how)
    yield f"  * {DEFAULT.name}: {DEFAULT.description}"
    if not one.static:
        yield "  system prompt and tools are not recorded: markers behind them cannot be tried"
    yield from _worth(one)


def _line(name: str, one: MarkerTrials, cost: float, least: float, note: str) -> str:
    return f"  {name:{_NAME + 2}} {_cost(one, cost):>10} {cost / least if least else 1.0:7.3f}x  {note}".rstrip()


def _cost(one: MarkerTrials, cost: float) -> str:
    return f"{numbers.tokens(round(cost))} tok" if one.relative else numbers.money(cost)


def _worth(one: MarkerTrials) -> Iterator[str]:
    marks = one.markers
    idle = sorted((mark for mark in marks if not mark.has_paid), key=lambda mark: mark.gain)
    how = " (inferred)" if one.inferred else ""
    yield f"  {len(marks)} entries written by its own markers{how}: {len(marks) - len(idle)} paid, {len(idle)} did not"
    yield from (_idle(one, mark) for mark in idle[:_MOST])


def _idle(one: MarkerTrials, mark: MarkerValue) -> str:
    read = f"read {mark.reads} times" if mark.reads else "never read"
    return f"    call {mark.call + 1}: {numbers.tokens(mark.written)} written, {read}, {_cost(one, -mark.gain)} lost"
