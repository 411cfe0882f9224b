"""`ctxtui preflight`: before a long run, what the next turns bring."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, Final

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, THREAD_OPTION, SessionName, config_of, edits_of, opened
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter
from ctxtui.cli.progress import counting
from ctxtui.curation.price.advice import Advice
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import count_all
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.editing.advice import search_remedies
from ctxtui.services.library.preflight import preflight as look_ahead
from ctxtui.services.library.preflight import smallest_edits
from ctxtui.services.members import members
from ctxtui.views.lists.advice import command
from ctxtui.views.lists.preflight import cure, lines
from ctxtui.views.lists.preflight import helps as help_lines

HORIZON_HELP: Final = "Calls ahead over which what would help is ranked (default: the setting horizon)."


def advice_json(every: Sequence[Advice], name: str) -> list[dict[str, Any]]:
    """Each piece of advice for the session called `name`."""
    return [_advice(one, name) for one in every]


def _advice(one: Advice, name: str) -> dict[str, Any]:
    moment = one.moment
    return {
        "policies": list(one.names),
        "edits": len(one.edits),
        "before_tokens": one.tag.before,
        "after_tokens": one.tag.after,
        "risk": one.risk.name.lower(),
        "risk_words": one.risk.description,
        "quoted_later": 0,
        "horizon": one.horizon,
        "saves_usd": one.saves,
        "when": moment.name if moment is not None else None,
        "once_usd": moment.once if moment is not None else None,
        "per_call_usd": moment.per_call if moment is not None else None,
        "command": command(one, name),
    }


@click.command(
    "preflight",
    help="Before a long run: in how many turns the context meets its limits, what the turns cost, what a compaction "
    f"would eat.\n\nNAME is {NAME_HELP}. Growth, calls and misses per turn are those of the session so far; "
    "an agent that plays by itself has no turns, there rounds are counted (a call and its results). A range holds what "
    "comes in four of five cases.\n\n\b\n"
    "Example: ctxtui preflight last --turns 20\n"
    "Example: ctxtui preflight session.jsonl --json",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option(
    "--turns", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N", help="How far ahead."
)
@THREAD_OPTION
@click.option("--horizon", type=click.IntRange(1, 10_000), metavar="N", help=HORIZON_HELP)
@JSON_OPTION
@click.pass_context
def preflight(context: click.Context, name: str, turns: int, thread: str, horizon: int | None, as_json: bool) -> None:
    """What the next turns bring."""
    settings = config_of(context).settings
    loaded = opened(name, settings)
    chosen = choose_call(loaded.session, thread, 0)
    with counting(settings, "looking ahead") as counter:
        book = book_for(loaded.session, counter, settings)
        count_all(book, counter)
        prices = prices_for(settings)
        found = look_ahead(book, chosen, turns, settings.usable_share, prices)
        usable = found.usable.tokens if found.usable else 0
        stand = edits_of(loaded, settings, chosen)
        edits = (
            smallest_edits(book, counter, chosen, found.outlook, usable, prices, stand)
            if usable and chosen.number
            else None
        )
        helps = []
        if chosen.number:
            all_found = search_remedies(book, counter, chosen, prices, settings.usable_share, stand)
            helps = all_found.ahead(horizon or settings.horizon)
    if as_json:
        write_json(
            {
                **_preflight_json(found, loaded.session.about.id or loaded.name),
                "edits": _edits(edits, name),
                "advice": advice_json(helps, name),
            }
        )
    else:
        painter = Painter(settings.glyphs)
        painter.lines((*lines(found), *cure(edits, name), *help_lines(helps, name)))


def _preflight_json(found: Any, session: str) -> dict[str, Any]:
    ahead = found.outlook
    return {
        "session": session,
        **members(ahead, "turns=ahead unit observed_turns=turns context_tokens=context"),
        "window_tokens": found.window.limit or None,
        "context_window": found.window.as_fields(),
        "per_turn": {
            "growth_tokens": range_json(ahead.growth),
            "calls": range_json(ahead.calls),
            "output_tokens": range_json(ahead.output),
            "misses": ahead.rewrites,
        },
        "after_tokens": range_json(ahead.after),
        "usable": limit_json(found.usable),
        "compaction": limit_json(found.compaction),
        "cost_usd": range_json(ahead.usd),
        "partial_calls": found.partial,
        "eaten": {
            "tokens": sum(found.eaten.values()),
            "categories": found.eaten,
            "asked": [members(a, "turn tokens words digest") for a in found.asked],
        },
    }


def range_json(value: Any) -> dict[str, float] | None:
    """A range, as JSON has it."""
    return None if value is None else members(value, "low mid high")


def limit_json(value: Any) -> dict[str, Any] | None:
    """A limit and when it is met, as JSON has it."""
    if value is None:
        return None
    soon, mid, late = value.turns
    return {"tokens": value.tokens, "how": value.how, "turns": {"soonest": soon, "typical": mid, "latest": late}}


def _edits(found: Any, name: str) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "kinds": found.kinds,
        "risk": found.risk.name.lower(),
        "command": f"ctxtui curate {shlex.quote(name)} --after --policy budget --set target={found.target}",
        **members(
            found,
            "before_tokens=before after_tokens=after target_tokens=target reached=is_reached when=moment once_usd=once "
            "per_call_usd=per_call quoted_later=quoted",
        ),
    }
