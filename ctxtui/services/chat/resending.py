"""Send recorded calls again: plan, maximum cost, results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from math import ceil
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.agent.conversation import resume
from ctxtui.agent.runner import send_once
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.content.agreement import UNCHANGED, NextStep, Trial, extract_step
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call, Fidelity, answer_items
from ctxtui.core.canonical import Json
from ctxtui.core.category import INDEX
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.core.errors import CtxtuiError, ProviderError
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.applied import Applied, sent_items
from ctxtui.curation.legality.legality import check
from ctxtui.curation.policies.policy import Step
from ctxtui.curation.policies.tool_results import CLEARED
from ctxtui.pricing.rates import find_rates
from ctxtui.pricing.table import PriceTable
from ctxtui.pricing.terms import FLEX, STANDARD, Terms, read_terms
from ctxtui.providers.sdk_client import SdkClient
from ctxtui.services.chat.chat_model import ChatModel, charges_nothing
from ctxtui.services.chat.model_choice import params_for
from ctxtui.services.chat.offline_provider import start_offline
from ctxtui.services.config.settings import Settings
from ctxtui.services.config.window_checks import answer_limit
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import Curation, curate_context
from ctxtui.wire.request import ANSWER_LIMITS, Request, with_answer_limit

DEFAULT_ANSWER_LIMIT: Final = 1_024
"""Least limit of an answer in tokens.

It is twice the recorded answer if that is more, never above the recorded limit. A model that thinks gets the recorded
limit, else the setting's.
"""
_CHAT_PARAMS: Final = frozenset({"model", "stream", "stream_options"})
"""Parameters that are taken from the chat, not from the recording."""
_IDENTIFYING_PARAMS: Final = frozenset(
    {"metadata", "user", "prompt_cache_key", "safety_identifier", "previous_response_id", "conversation"}
)
"""Members of a recorded request that identify a user or a conversation: not sent again."""
_TWELVE_HOURS: Final = b'"12h"'
"""If a body contains this, it may ask for cache writes at the 12-hour rate."""


class PlannedResend(Struct, frozen=True, kw_only=True):
    """A planned request: call `number` (from 1) under `variant`, sent to `model` with `body`.

    - `recorded`: the step of the recorded answer.
    - `input`: counted tokens; `answer`: maximum tokens.
    - `usd`: cost with the counted input and the longest answer (None: unknown; 0 if it cannot be sent).
    - `refused`: why it cannot be sent; "": it can.
    """

    variant: str
    number: int
    model: str
    body: bytes
    recorded: NextStep
    input: int
    answer: int
    usd: float | None
    refused: str = ""


class VariantSpec(Struct, frozen=True, kw_only=True):
    """A way to send calls again: another `model`, policies (`steps`), or `without` a block.

    `without` is the digest of a block to clear.
    """

    name: str
    steps: tuple[Step, ...] = ()
    model: str = ""
    without: str = ""


UNCHANGED_VARIANT: Final = VariantSpec(name=UNCHANGED)


class OmittableBlock(Struct, frozen=True, kw_only=True):
    """A block that a variant may clear."""

    digest: str
    name: str
    tokens: int


def resendable_calls(session: Session, thread: str) -> list[int]:
    """Numbers (from 1) of the calls with a recorded answer and no error.

    Raises `CtxtuiError` if there is none, or if the last call's request lacks system prompt and tools.
    """
    calls, tree = session.thread_calls(thread), session.tree
    if not calls:
        raise CtxtuiError("no call is recorded: nothing can be sent again")
    sections = {tree[node].place.section for call in calls[-1:] for node in tree.path(call.sent_head)}
    if calls[-1].fidelity != Fidelity.WIRE and not sections & {"tools", "system"}:
        raise CtxtuiError(
            "the recording lacks system prompt and tools: the request cannot be sent again",
            way_out="use a recording of requests: a chat of ctxtui, a HAR file, plain bodies",
        )
    numbers = [n for n, call in enumerate(calls, 1) if recorded_step(session, call) is not None and not call.error]
    if not numbers:
        raise CtxtuiError("no answer is recorded: there is nothing to compare with")
    return numbers


def recorded_step(session: Session, call: Call) -> NextStep | None:
    """The step that the recorded answer of `call` takes; None without an answer."""
    answer = answer_items(session.tree, call)
    return extract_step(answer) if answer else None


def list_omittable_blocks(account: Account, chosen: ChosenCall, count: int) -> list[OmittableBlock]:
    """List the `count` heaviest blocks of a context that a variant may clear.

    Only the messages' blocks, without system texts, tool definitions and calls, thinking, and the user's last text.
    """
    book, tree = account.book, account.session.tree
    nodes = tree.path(chosen.call.sent_head)
    user_texts = [tree[node].block.digest for node in nodes if tree[node].category == INDEX["user"]]
    excluded = frozenset({INDEX["system"], INDEX["tools"], INDEX["tool_call"], INDEX["thinking"]})
    blocks: dict[str, OmittableBlock] = {}
    for node in nodes:
        entry = tree[node]
        if (
            entry.block.digest in user_texts[-1:]
            or entry.block.kind == HEADER
            or entry.place.section != "messages"
            or entry.category in excluded
        ):
            continue
        label = book.names.label(entry)
        tokens = book.block_tokens(chosen.call.model, node)
        blocks.setdefault(entry.block.digest, OmittableBlock(digest=entry.block.digest, name=label, tokens=tokens))
    heavy = sorted(blocks.values(), key=lambda block: -block.tokens)[:count]
    return [replace(block, name=f"{block.name} ({block.digest[:8]})") for block in heavy]


def plan_resends(
    account: Account,
    counter: Counter,
    settings: Settings,
    chat_model: ChatModel,
    thread: str,
    numbers: Sequence[int],
    variants: Sequence[VariantSpec],
) -> Iterator[PlannedResend]:
    """Plan the requests for the calls `numbers` of `thread`: unchanged, then under `variants`.

    Variants that change nothing in a call are skipped.
    """
    calls = account.session.thread_calls(thread)
    for number in numbers:
        call = calls[number - 1]
        chosen = ChosenCall(thread, number, call)
        unchanged = curate_context(
            account.book, counter, chosen, usable_share=settings.usable_share, prices=account.table
        )
        for variant in (UNCHANGED_VARIANT, *variants):
            curation = _apply_variant(account, counter, settings, chosen, unchanged, variant)
            if curation is not None:
                target = replace(chat_model, model=variant.model) if variant.model else chat_model
                yield _plan_resend(account, settings, target, curation, variant.name, number)


def _apply_variant(
    account: Account,
    counter: Counter,
    settings: Settings,
    chosen: ChosenCall,
    unchanged: Curation,
    variant: VariantSpec,
) -> Curation | None:
    if variant is UNCHANGED_VARIANT:
        return unchanged
    share, prices = settings.usable_share, account.table
    if variant.without:
        positions = [p for p, item in enumerate(unchanged.context.items) if item.block.digest == variant.without]
        if not positions:
            return None
        edits = [make(REPLACE, unchanged.context.targets([p]), {"text": CLEARED}) for p in positions]
        return curate_context(account.book, counter, chosen, edits=edits, usable_share=share, prices=prices)
    curation = curate_context(account.book, counter, chosen, steps=variant.steps, usable_share=share, prices=prices)
    return curation if curation.policy_edits or variant.model else None


def _plan_resend(
    account: Account, settings: Settings, chat_model: ChatModel, curation: Curation, variant: str, number: int
) -> PlannedResend:
    call = curation.chosen.call
    rebuilt = rebuild_request(curation.applied, call, chat_model, settings)
    tokens = curation.tag.after
    return PlannedResend(
        variant=variant,
        number=number,
        model=chat_model.model,
        body=rebuilt.body,
        recorded=recorded_step(account.session, call) or NextStep(),
        input=tokens,
        answer=rebuilt.answer,
        usd=0.0 if rebuilt.refused else _max_resend_usd(call, chat_model, rebuilt, tokens, account.table),
        refused=rebuilt.refused,
    )


def _max_resend_usd(
    call: Call, chat_model: ChatModel, rebuilt: ResentRequest, tokens: int, table: PriceTable
) -> float | None:
    terms, may_write_12h = read_terms(call.extra), _TWELVE_HOURS in rebuilt.body
    # Discounts of the recorded call may not be given again.
    terms = terms._replace(batch=False, tier="" if terms.tier == FLEX else terms.tier)
    return max_usd(chat_model, tokens, rebuilt.answer, table, terms, may_write_12h=may_write_12h)


class ResentRequest(NamedTuple):
    """A request rebuilt from a recorded one; `answer` and `refused` as in `PlannedResend`."""

    body: bytes
    answer: int
    refused: str = ""


def rebuild_request(applied: Applied, call: Call, chat_model: ChatModel, settings: Settings) -> ResentRequest:
    """Rebuild the request of `call` with the context that `applied` leaves, for `chat_model`.

    It has the recorded parameters, except for those that identify a user or a conversation. Model and streaming are
    those of `chat_model`; without recorded parameters it gets those of a chat. The answer limit is at most the recorded
    one.
    """
    dialect, endpoint = applied.context.dialect, chat_model.endpoint
    if applied.refused:
        return ResentRequest(b"", 0, applied.refused)
    if dialect != endpoint.dialect:
        return ResentRequest(b"", 0, f"the call is in {dialect}, {endpoint.name} speaks {endpoint.dialect}")
    params, max_tokens = _resend_params(call, chat_model, settings)
    tree = Tree()
    body = resume(tree, tree.extend(ROOT, sent_items(applied)), dialect, params).draft().body
    violations = check(dialect, body)
    return ResentRequest(
        body, max_tokens, f"the provider would refuse it: {violations[0].message}" if violations else ""
    )


def _resend_params(call: Call, chat_model: ChatModel, settings: Settings) -> tuple[dict[str, Json], int]:
    """The parameters of a rebuilt request, and its answer limit (at most the recorded one)."""
    chat_params, dialect = params_for(chat_model, settings), chat_model.endpoint.dialect
    request = Request((), call.skeleton) if call.skeleton is not None else None
    recorded = request.params if request is not None else {}
    if request is not None:
        params = {key: value for key, value in recorded.items() if key not in _CHAT_PARAMS | _IDENTIFYING_PARAMS}
    else:
        params = {
            key: value for key, value in chat_params.items() if key not in _CHAT_PARAMS and key != "cache_control"
        }
    recorded_limit = request.answer_limit if request is not None else 0
    # Thinking counts as output, and an Anthropic thinking budget must stay below the limit.
    if _thinks(recorded, call):
        limit = recorded_limit or answer_limit(settings.answer_tokens, chat_model.most_output, chat_model.window)
    else:
        limit = max(DEFAULT_ANSWER_LIMIT, 2 * (call.usage.output if call.usage is not None else 0))
        limit = min(recorded_limit or limit, limit)
    if not any(key in params for key in ANSWER_LIMITS):
        params |= {key: value for key, value in chat_params.items() if key in ANSWER_LIMITS}
    streaming: dict[str, Json] = {key: chat_params[key] for key in ("stream", "stream_options") if key in chat_params}
    params = {"model": chat_params["model"], **params, **streaming}
    return with_answer_limit(params, dialect, limit), limit


def _thinks(params: Mapping[str, Json], call: Call) -> bool:
    """Whether the model thinks before it answers, by the request's parameters or the report."""
    if call.usage is not None and call.usage.reasoning:
        return True
    thinking, effort = params.get("thinking"), params.get("reasoning_effort")
    if isinstance(thinking, dict):
        return thinking.get("type") != "disabled"
    return bool(params.get("reasoning") or params.get("think")) or effort not in (None, "none")


def max_usd(
    chat_model: ChatModel,
    tokens: int,
    answer: int,
    table: PriceTable,
    terms: Terms = STANDARD,
    *,
    may_write_12h: bool = False,
) -> float | None:
    """Maximum USD of a request with `tokens` of input and `answer` of output, on `terms`.

    None if unknown, 0 for a model that costs nothing. All input is charged as fresh or written (with `may_write_12h`
    also for 12 hours), whichever costs most; the provider's tools are left out.
    """
    rates = find_rates(chat_model.model, chat_model.endpoint.name, length=max(1, tokens), table=table, terms=terms)
    usd = None
    if rates is not None and not rates.lacks:
        write_12h = rates.write_12h if may_write_12h else 0.0
        input_rate = max(rates.fresh, rates.write_5m, rates.write_30m, rates.write_1h, write_12h)
        usd = tokens * input_rate + answer * rates.output
    return 0.0 if charges_nothing(chat_model, usd) else usd


class ResendQuote(Struct, frozen=True):
    """The cost of sending a number of `requests`; `refused` others cannot be sent.

    `usd` is that of the longest answers, None if a price is unknown; `unpriced` are the models without one.
    """

    requests: int
    usd: float | None
    refused: int = 0
    unpriced: tuple[str, ...] = ()


def quote_plan(plan: Sequence[PlannedResend]) -> ResendQuote:
    sendable = [resend for resend in plan if not resend.refused]
    prices = [resend.usd for resend in sendable if resend.usd is not None]
    unpriced = tuple(dict.fromkeys(resend.model for resend in sendable if resend.usd is None))
    return ResendQuote(
        len(sendable), sum(prices) if len(prices) == len(sendable) else None, len(plan) - len(sendable), unpriced
    )


def check_budget(quote: ResendQuote, budget: float) -> None:
    """Raise `CtxtuiError` if the cost of the longest answers exceeds `budget` USD or is unknown."""
    if quote.usd is None:
        raise CtxtuiError(
            f"no price is known for {' and '.join(quote.unpriced) or 'the model'}: the cost is unknown",
            way_out="name a model with a price",
        )
    if quote.usd > budget:
        raise CtxtuiError(
            f"{quote.requests} requests could cost ${quote.usd:.3f}, the budget is ${budget:g}; nothing was sent",
            way_out=f"--budget-usd {ceil(quote.usd * 1000) / 1000:.3f}, or fewer calls or variants",
        )


Charge = Callable[[Usage, str], float | None]
"""Returns the cost of a model's usage in USD (None: no known price)."""
OnProgress = Callable[[int, int], None]
"""Receives the number of requests done, and of all."""


async def send_plan(
    plan: Sequence[PlannedResend],
    chat_model: ChatModel,
    charge: Charge,
    on_progress: OnProgress = lambda done, of: None,
) -> list[Trial]:
    """Send the requests of `plan` that are not refused, one after the other. Return the results of all."""
    close_offline: Callable[[], Awaitable[None]] | None = None
    if chat_model.is_offline:
        chat_model, close_offline = await start_offline(chat_model)
    client, trials = SdkClient(chat_model.endpoint), []
    try:
        for resend in plan:
            trial = Trial(variant=resend.variant, number=resend.number, recorded=resend.recorded)
            if resend.refused:
                trials.append(replace(trial, error=resend.refused))
            else:
                try:
                    response = await send_once(client, chat_model.endpoint.dialect, resend.body)
                except ProviderError as error:
                    trials.append(replace(trial, error=str(error)))
                else:
                    usage = response.billed
                    usd = charge(usage, resend.model) if usage is not None else None
                    trials.append(replace(trial, new=extract_step(response.items), usage=usage, usd=usd))
            on_progress(len(trials), len(plan))
    finally:
        await client.close()
        if close_offline is not None:
            await close_offline()
    return trials
