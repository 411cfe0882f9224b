"""`ctxtui cache`: what the prompt cache did in a session, why it missed, what the next call would read."""

from __future__ import annotations

import time
from typing import Any

import click

from ctxtui.analysis.call_choice import choose
from ctxtui.cli.context import NAME_HELP, SessionName, config_of, edits_of, opened
from ctxtui.cli.inspect.cache_markers import markers_fields, markers_text
from ctxtui.cli.output import members, write, write_json
from ctxtui.cli.paint import Painter, width
from ctxtui.cli.progress import counting
from ctxtui.services.editing.next_request import coming_of
from ctxtui.services.library.preflight import placings
from ctxtui.services.workers.session_report import missed
from ctxtui.views.inspector.next_call import sentence
from ctxtui.views.lists import misses
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1).")
@click.pass_context
def cache(context: click.Context, name: str, markers: bool, as_json: bool) -> None:
    """Why the cache missed."""
    settings = config_of(context).settings
    loaded = opened(name, settings)
    if markers:
        _markers(loaded, settings, as_json)
        return
    with counting(settings) as counter:
        found = missed(loaded.session, counter, settings)
        coming = _next(loaded, counter, settings)
    if as_json:
        write_json(_fields(found, coming, loaded.session.about.id or loaded.name))
        return
    painter, room = Painter(settings.glyphs), width()
    painter.line([*misses.head(found), *([] if not found.calls else [_gap(), *misses.foreseen(found)])])
    table = misses.table(found.found)
    if found.found:
        painter.line(table.heads(room))
    for one in found.found:
        painter.line(table.draw(one, room))
    for line in sentence(coming, time.time()) if coming is not None else ():
        painter.line(line)


def _markers(loaded: Any, settings: Any, as_json: bool) -> None:
    with counting(settings, "trying other cache markers") as counter:
        found = placings(loaded.session, counter, settings)
    if as_json:
        write_json({"session": loaded.session.about.id or loaded.name, "markers": markers_fields(found)})
        return
    labels = {id_: thread.label for id_, thread in loaded.session.threads.items()}
    for line in markers_text(found, labels):
        write(line)


def _gap() -> Any:
    return Span("   ")


def _next(loaded: Any, counter: Any, settings: Any) -> Any:
    if not loaded.session.calls:
        return None
    chosen = choose(loaded.session)
    edits = edits_of(loaded, settings, chosen)
    return coming_of(loaded.session, counter, settings, chosen.thread, edits)


def _fields(found: Any, coming: Any, session: str) -> dict[str, Any]:
    return {
        "session": session,
        **members(
            found,
            "calls cost_usd=usd lost_usd=lost unpriced_calls=unpriced partial_calls=partial "
            "written_again_tokens=tokens reported=tested tested foreseen false_alarms",
        ),
        "misses": [_miss(one) for one in found.found],
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
