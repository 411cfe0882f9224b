"""`ctxtui preflight`: forecast of the next turns, before a long run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.cli.context import (
    JSON_OPTION,
    NAME_HELP,
    THREAD_OPTION,
    SessionName,
    applied_edits_of,
    config_of,
    open_recording,
)
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter
from ctxtui.cli.progress import counting
from ctxtui.curation.price.advice import Advice, Smallest
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import count_all
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.editing.advice import search_remedies
from ctxtui.services.library.preflight import preflight as look_ahead
from ctxtui.services.library.preflight import smallest_edits
from ctxtui.services.members import members
from ctxtui.views.lists.advice import command, place_options
from ctxtui.views.lists.preflight import advice_lines, fix_command, fix_lines, lines

HORIZON_HELP: Final = "Rank advice over this many calls ahead (default: the setting horizon)."


def advice_json(pieces: Sequence[Advice], name: str, place: str = "") -> list[dict[str, Any]]:
    """Advice for ``--json``.

    Its command lines name the session `name` and the options `place` (of `place_options`).
    """
    return [_advice(piece, name, place) for piece in pieces]


def _advice(piece: Advice, name: str, place: str) -> dict[str, Any]:
    moment = piece.moment
    return {
        "policies": list(piece.names),
        "edits": len(piece.edits),
        "before_tokens": piece.tag.before,
        "after_tokens": piece.tag.after,
        "risk": piece.risk.name.lower(),
        "risk_words": piece.risk.description,
        "quoted_later": 0,  # Advice never removes text that later blocks quote.
        "horizon": piece.horizon,
        "saves_usd": piece.saves,
        "when": moment.name if moment is not None else None,
        "once_usd": moment.once if moment is not None else None,
        "per_call_usd": moment.per_call if moment is not None else None,
        "command": command(piece, name, place),
    }


@click.command(
    "preflight",
    help="Forecast a long run: in how many turns the context reaches its limits, what the turns cost, and what a "
    f"compaction would replace.\n\nNAME is {NAME_HELP}. Growth, calls and misses per turn are those of the session so "
    "far; for an agent without user turns, rounds are counted (a call and its results). Ranges cover four of five "
    "cases.\n\n\b\n"
    "Example: ctxtui preflight last --turns 20\n"
    "Example: ctxtui preflight session.jsonl --json",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option(
    "--turns", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N", help="Number of turns ahead."
)
@THREAD_OPTION
@click.option("--horizon", type=click.IntRange(1, 10_000), metavar="N", help=HORIZON_HELP)
@JSON_OPTION
@click.pass_context
def preflight(context: click.Context, name: str, turns: int, thread: str, horizon: int | None, as_json: bool) -> None:
    settings = config_of(context).settings
    loaded = open_recording(name, settings)
    chosen = choose_call(loaded.session, thread, 0)
    with counting(settings, "computing the forecast") as counter:
        book = book_for(loaded.session, counter, settings)
        count_all(book, counter)
        prices = prices_for(settings)
        report = look_ahead(book, chosen, turns, settings.usable_share, prices)
        usable = report.usable.tokens if report.usable else 0
        applied = applied_edits_of(loaded, settings, chosen)
        edits = (
            smallest_edits(book, counter, chosen, report.outlook, usable, prices, applied)
            if usable and chosen.number
            else None
        )
        advice = []
        if chosen.number:
            search = search_remedies(book, counter, chosen, prices, settings.usable_share, applied)
            advice = search.ahead(horizon or settings.horizon)
    place = place_options(chosen.number, chosen.number, chosen.thread)
    if as_json:
        write_json(
            {
                **_preflight_json(report, loaded.session.about.id or loaded.name),
                "edits": _edits_to_json(edits, name, place),
                "advice": advice_json(advice, name, place),
            }
        )
    else:
        painter = Painter(settings.glyphs)
        painter.lines((*lines(report), *fix_lines(edits, report, name, place), *advice_lines(advice, name, place)))


def _preflight_json(report: Any, session: str) -> dict[str, Any]:
    ahead = report.outlook
    return {
        "session": session,
        **members(ahead, "turns=ahead unit observed_turns=turns context_tokens=context"),
        "window_tokens": report.window.limit or None,
        "context_window": report.window.as_fields(),
        "per_turn": {
            "growth_tokens": range_json(ahead.growth),
            "calls": range_json(ahead.calls),
            "output_tokens": range_json(ahead.output),
            "misses": ahead.rewrites,
        },
        "after_tokens": range_json(ahead.after),
        "usable": limit_json(report.usable),
        "compaction": limit_json(report.compaction),
        "cost_usd": range_json(ahead.usd),
        "partial_calls": report.partial,
        "eaten": {
            "tokens": sum(report.replaced.values()),
            "categories": report.replaced,
            "asked": [members(a, "turn tokens words digest") for a in report.instructions],
        },
    }


def range_json(value: Any) -> dict[str, float] | None:
    return None if value is None else members(value, "low mid high")


def limit_json(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    soon, mid, late = value.turns
    return {"tokens": value.tokens, "how": value.how, "turns": {"soonest": soon, "typical": mid, "latest": late}}


def _edits_to_json(smallest_edits: Smallest | None, name: str, place: str) -> dict[str, Any] | None:
    if smallest_edits is None:
        return None
    return {
        "kinds": smallest_edits.kinds,
        "risk": smallest_edits.risk.name.lower(),
        "command": fix_command(smallest_edits, name, place),
        **members(
            smallest_edits,
            "before_tokens=before after_tokens=after target_tokens=target reached=is_reached when=moment once_usd=once "
            "per_call_usd=per_call quoted_later=quoted",
        ),
    }
