"""`ctxtui agree`: compare a model's next steps under other policies, or another model's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any, Final

import click
from msgspec import Struct, field

from ctxtui.analysis.call_choice import ChosenCall, choose_call
from ctxtui.analysis.content.agreement import Agreement, compare_variants, rank_by_importance, spread_evenly
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, THREAD_OPTION, SessionName, config_of, open_recording
from ctxtui.cli.output import note, write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.cli.progress import Working
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import price
from ctxtui.services.chat import resending
from ctxtui.services.chat.chat_model import ChatModel, ModelChoice
from ctxtui.services.chat.model_choice import choose_model
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
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span


@click.command(
    "agree",
    help="Send recorded calls of the last model again, unchanged (the noise floor), under each policy and to each "
    "model given, and compare the next tool calls with the recorded ones. With --leave-out also without each of the "
    "heaviest blocks; the one without which the answers differ most comes first. The price is printed first; nothing "
    "is sent above --budget-usd. Intervals are 90 % (Wilson).\n\n"
    f"NAME is {NAME_HELP}. The recording must have complete requests: system prompt and tools.\n\n\b\n"
    "Example: ctxtui agree session.har -n 12 --policy truncate_results --budget-usd 2\n"
    "Example: ctxtui agree session.har --json",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option(
    "-n", "--calls", type=click.IntRange(min=1), default=8, show_default=True, metavar="N", help="Send at most N calls."
)
@click.option("--budget-usd", type=click.FloatRange(min=0), required=True, metavar="X", help="Maximum cost.")
@click.option("--policy", "policies", metavar="NAME|FILE", multiple=True, help="A policy or profile (repeatable).")
@click.option("--model", "models", metavar="M", multiple=True, help="Another model of the same provider (repeatable).")
@click.option(
    "--leave-out",
    type=click.IntRange(min=0),
    default=0,
    metavar="K",
    help="Also without each of the K heaviest blocks.",
)
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
    config = config_of(context)
    known_policies = load_policies()
    # The lab's syntax: a name, then settings.
    variants = [VariantSpec(name=name, steps=parse_policy(name, known_policies)[1]) for name in policies]
    variants += [VariantSpec(name=name, model=name) for name in models]
    result = run_agreement(
        open_recording(name, config.settings), config, variants, calls, budget_usd, leave_out, base_url, thread
    )
    write_json(result_to_json(result)) if as_json else _print(result, config.settings.glyphs)


class AgreeResult(Struct, frozen=True, kw_only=True):
    """Result of a comparison.

    - `quote`: the price before sending.
    - `variants`: the agreement of each variant that was sent, the unchanged calls among them.
    - `blocks`: the left-out blocks, those without which answers differ most first; `weights` has their tokens.
    - `idle`: variants that change nothing in these calls, and were not sent.
    """

    session: str
    title: str
    model: str
    calls: tuple[int, ...]
    quote: ResendQuote
    variants: tuple[Agreement, ...]
    blocks: tuple[Agreement, ...] = ()
    weights: dict[str, int] = field(default_factory=dict)
    idle: tuple[str, ...] = ()


def run_agreement(
    loaded: Loaded, config: Config, variants: Sequence[VariantSpec], calls: int, budget_usd: float, leave_out: int,
    base_url: str, thread: str,
) -> AgreeResult:  # fmt: skip
    """Send at most `calls` calls of the last model again, as recorded and changed.

    Each is sent under every one of `variants`, and without each of the `leave_out` heaviest blocks of the last one.

    Raises `CtxtuiError` if nothing can be sent again, if it may cost more than the budget, or if no request was
    answered.
    """
    settings = config.settings
    chosen = choose_call(loaded.session, thread)
    thread_calls = loaded.session.thread_calls(chosen.thread)
    resendable = resending.resendable_calls(loaded.session, chosen.thread)
    call = thread_calls[resendable[-1] - 1]
    numbers = spread_evenly([number for number in resendable if thread_calls[number - 1].model == call.model], calls)
    chat_model = asyncio.run(_choose_model(call.model or loaded.session.model, base_url, config))
    with Working("putting requests together") as work, cached_counter(settings) as counter:
        account = make_account(loaded.session, counter, settings)
        heavy = resending.list_omittable_blocks(account, ChosenCall(chosen.thread, numbers[-1], call), leave_out)
        left_out = [VariantSpec(name=block.name, without=block.digest) for block in heavy]
        all_variants = [*variants, *left_out]
        plan = list(
            resending.plan_resends(account, counter, settings, chat_model, chosen.thread, numbers, all_variants)
        )
        quote = resending.quote_plan(plan)
        price_text = "cost unknown" if quote.usd is None else f"${quote.usd:,.3f} at most"
        models = " and ".join(
            dict.fromkeys([chat_model.model, *(variant.model for variant in variants if variant.model)])
        )
        note(f"{quote.requests:,} requests to {models} ({chat_model.endpoint}), {price_text}")
        resending.check_budget(quote, budget_usd)

        def charge(usage: Usage, model: str) -> float | None:
            cost = price(usage, model, chat_model.endpoint.name, None, account.table)
            return None if cost is None else cost.usd

        def show_progress(answered: int, total: int) -> None:
            work.show(f"answer {answered:,} of {total:,}")

        trials = asyncio.run(resending.send_plan(plan, chat_model, charge, show_progress))
    if all(trial.new is None for trial in trials):
        raise CtxtuiError(f"no request was answered: {trials[0].error}")
    agreements = compare_variants(trials)
    weights = {block.name: block.tokens for block in heavy}
    description = loaded.session.about
    return AgreeResult(
        session=description.id or loaded.name,
        title=description.title or loaded.name,
        model=chat_model.model,
        calls=tuple(numbers),
        quote=quote,
        variants=tuple(agreement for agreement in agreements if agreement.variant not in weights),
        blocks=tuple(rank_by_importance(agreements, weights)),
        weights=weights,
        idle=tuple(variant.name for variant in variants if variant.name not in {resend.variant for resend in plan}),
    )


async def _choose_model(model: str, base_url: str, config: Config) -> ChatModel:
    choice = parse_choice(model)
    if base_url:
        choice = ModelChoice(provider=choice.provider, model=model, base_url=base_url)
    return await choose_model(choice, config, os.environ)


def result_to_json(result: AgreeResult) -> dict[str, Any]:
    return {
        "session": result.session,
        "model": result.model,
        "calls": list(result.calls),
        **members(result, "requests=quote.requests refused=quote.refused quote_usd=quote.usd"),
        "variants": [_agreement_json(agreement) for agreement in result.variants],
        "unchanged_by": list(result.idle),
        "left_out": [
            {**_agreement_json(agreement), "tokens": result.weights[agreement.variant]} for agreement in result.blocks
        ],
    }


def _agreement_json(agreement: Agreement) -> dict[str, Any]:
    return {
        "variant": agreement.variant,
        "same_tools": members(agreement.tools, _SHARE),
        "same_calls": members(agreement.calls, _SHARE),
        "lost_calls": list(agreement.lost),
        "won_calls": list(agreement.won),
        **members(agreement, "failed usd verdict"),
    }


_SHARE: Final = "hits of=cases share low high"


def _print(result: AgreeResult, glyphs: str) -> None:
    painter, room = Painter(glyphs), width()
    calls = numbers.many(len(result.calls), "call")
    painter.lines(rule(safe_text.one_line(result.title)[: room - 50], f"{calls}, {result.model}"))
    painter.lines(agreement_lines(result.variants, room))
    for name in result.idle:
        painter.line([Span(f" {safe_text.one_line(name)} changes nothing in these calls; not sent", "dim")])
    if result.blocks:
        painter.line([Span(" blocks left out one by one, most missed first:", "bold")])
        painter.lines(agreement_lines(result.blocks, room))
