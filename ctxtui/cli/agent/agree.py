"""`ctxtui agree`: whether a model takes the same next step under other policies, or another model does. The price is
told first, and nothing is sent above the budget.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any, Final

import click
from msgspec import Struct, field

from ctxtui.analysis.call_choice import ChosenCall, choose_call
from ctxtui.analysis.content.agreement import Agreement, compare_variants, rank_by_importance, spread_evenly
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, THREAD_OPTION, SessionName, config_of, opened
from ctxtui.cli.output import note, write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.cli.progress import Working
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import price
from ctxtui.services.chat import resending
from ctxtui.services.chat.chat_model import ChatModel, ModelChoice
from ctxtui.services.chat.model_choice import choose_model as choose_model
from ctxtui.services.chat.model_summary import parse_choice
from ctxtui.services.chat.resending import ResendQuote, VariantSpec
from ctxtui.services.config.config import Config
from ctxtui.services.config.policy_registry import load_policies
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.lab.variants import parse_policy
from ctxtui.services.members import members
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.lists.resend import agreement_lines
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span


@click.command(
    "agree",
    help="Does it still work? Recorded calls are sent again, unchanged (the noise floor) and under each policy or to "
    "each model named, and the next tool calls compared with what was recorded; with --leave-out also without each of "
    "the heaviest blocks, what the model misses most first. The price is told first; above --budget-usd nothing is "
    "sent. Intervals hold nine cases of ten (Wilson).\n\n"
    f"NAME is {NAME_HELP}. The recording must hold whole requests: system prompt and tools.\n\n\b\n"
    "Example: ctxtui agree session.har -n 12 --policy truncate_results --budget-usd 2\n"
    "Example: ctxtui agree session.har --json",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option("-n", "--calls", type=click.IntRange(min=1), default=8, show_default=True, metavar="N", help="Calls.")
@click.option(
    "--budget-usd", type=click.FloatRange(min=0), required=True, metavar="X", help="What it may cost at most."
)
@click.option("--policy", "policies", metavar="NAME|FILE", multiple=True, help="A policy or profile (repeatable).")
@click.option("--model", "models", metavar="M", multiple=True, help="Another model of the same provider (repeatable).")
@click.option("--leave-out", type=click.IntRange(min=0), default=0, metavar="K", help="Without each of K blocks.")
@click.option("--base-url", default="", metavar="URL", help="A server that speaks the recorded API.")
@THREAD_OPTION
@JSON_OPTION
@click.pass_context
def agree(
    context: click.Context,
    name: str,
    calls: int,
    budget_usd: float,
    policies: tuple[str, ...],
    models: tuple[str, ...],
    leave_out: int,
    base_url: str,
    thread: str,
    as_json: bool,
) -> None:
    """Does it still work?"""
    config = config_of(context)
    known = load_policies()
    # As the lab reads them: with settings behind the name.
    wanted = [VariantSpec(name=name, steps=parse_policy(name, known)[1]) for name in policies]
    wanted += [VariantSpec(name=name, model=name) for name in models]
    found = agreed(opened(name, config.settings), config, wanted, calls, budget_usd, leave_out, base_url, thread)
    write_json(agreed_json(found)) if as_json else _print(found, config.settings.glyphs)


class Agreed(Struct, frozen=True, kw_only=True, dict=True):
    """What came of it: the `quote`, each variant's agreement, and the blocks that were left out, what the model misses
    most first, with their tokens (`weights`)."""

    session: str
    title: str
    model: str
    calls: tuple[int, ...]
    quote: ResendQuote
    variants: tuple[Agreement, ...]
    blocks: tuple[Agreement, ...] = ()
    weights: dict[str, int] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    """Variants that change nothing of these calls, and were not sent."""


def agreed(
    loaded: Loaded, config: Config, variants: Sequence[VariantSpec], calls: int, budget_usd: float, leave_out: int,
    base_url: str, thread: str,
) -> Agreed:  # fmt: skip
    """Send so many `calls` of a session's `thread` again, also under `variants` and without each of so many of the
    heaviest blocks, to the provider at `base_url` ("": its own). Raises `CtxtuiError`: nothing can be sent again, it
    could cost more than the budget."""
    settings = config.settings
    chosen = choose_call(loaded.session, thread)
    numbers = spread_evenly(resending.resendable_calls(loaded.session, chosen.thread), calls)
    call = loaded.session.thread_calls(chosen.thread)[numbers[-1] - 1]
    partner = asyncio.run(_partner(call.model or loaded.session.model, base_url, config))
    with Working("putting requests together") as work, cached_counter(settings) as counter:
        known = make_account(loaded.session, counter, settings)
        heavy = resending.heaviest_blocks(known, ChosenCall(chosen.thread, numbers[-1], call), leave_out)
        left_out = [resending.VariantSpec(name=one.name, without=one.digest) for one in heavy]
        wanted = [*variants, *left_out]
        plan = list(resending.plan_resends(known, counter, settings, partner, chosen.thread, numbers, wanted))
        quote = resending.quote_plan(plan)
        told = "at an unknown price" if quote.usd is None else f"${quote.usd:,.3f} at most"
        models = " and ".join(dict.fromkeys([partner.model, *(one.model for one in variants if one.model)]))
        note(f"{quote.requests:,} requests to {models} ({partner.endpoint}): {told}")
        resending.check_budget(quote, budget_usd)

        def charge(usage: Usage, model: str) -> float | None:
            cost = price(usage, model, partner.endpoint.name, None, known.table)
            return None if cost is None else cost.usd

        def tell(done: int, of: int) -> None:
            work.say(f"answer {done:,} of {of:,}")

        trials = asyncio.run(resending.send_plan(plan, partner, charge, tell))
    found = compare_variants(trials)
    weights = {one.name: one.tokens for one in heavy}
    about = loaded.session.about
    return Agreed(
        session=about.id or loaded.name,
        title=about.title or loaded.name,
        model=partner.model,
        calls=tuple(numbers),
        quote=quote,
        variants=tuple(one for one in found if one.variant not in weights),
        blocks=tuple(rank_by_importance(found, weights)),
        weights=weights,
        idle=tuple(one.name for one in variants if one.name not in {each.variant for each in plan}),
    )


async def _partner(model: str, base_url: str, config: Config) -> ChatModel:
    wish = parse_choice(model)
    if base_url:
        wish = ModelChoice(provider=wish.provider, model=model, base_url=base_url)
    return await choose_model(wish, config, os.environ)


def agreed_json(one: Agreed) -> dict[str, Any]:
    """The members of ``agree --json``."""
    return {
        "session": one.session,
        "model": one.model,
        "calls": list(one.calls),
        **members(one, "requests=quote.requests refused=quote.refused quote_usd=quote.usd"),
        "variants": [_agreement_json(each) for each in one.variants],
        "unchanged_by": list(one.idle),
        "left_out": [{**_agreement_json(each), "tokens": one.weights[each.variant]} for each in one.blocks],
    }


def _agreement_json(one: Agreement) -> dict[str, Any]:
    return {
        "variant": one.variant,
        "same_tools": members(one.tools, _SHARE),
        "same_calls": members(one.calls, _SHARE),
        "lost_calls": list(one.lost),
        "won_calls": list(one.won),
        **members(one, "failed usd verdict"),
    }


_SHARE: Final = "hits of share low high"


def _print(one: Agreed, glyphs: str) -> None:
    painter, room = Painter(glyphs), width()
    calls = f"{len(one.calls):,} call{'' if len(one.calls) == 1 else 's'}"
    painter.lines(rule(safe_text.one_line(one.title)[: room - 50], f"{calls}, {one.model}"))
    painter.lines(agreement_lines(one.variants, room))
    for name in one.idle:
        painter.line([Span(f" {safe_text.one_line(name)} changes nothing of these calls: not sent", "dim")])
    if one.blocks:
        painter.line([Span(" left out one by one, what the model misses most first:", "bold")])
        painter.lines(agreement_lines(one.blocks, room))
