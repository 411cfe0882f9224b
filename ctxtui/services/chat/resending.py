"""Send recorded calls again: plan, maximum cost, results.

Only `send_plan` sends anything. Callers first compare the plan's maximum cost with the budget (`check_budget`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
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
from ctxtui.pricing.price import PriceTable
from ctxtui.pricing.rates import find_rates
from ctxtui.providers.sdk_client import SdkClient
from ctxtui.services.chat.chat_model import ChatModel, charges_nothing
from ctxtui.services.chat.model_choice import params_for
from ctxtui.services.chat.offline_provider import start_offline
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import Curation, curate_context
from ctxtui.wire.request import ANSWER_LIMITS, Request

DEFAULT_ANSWER_LIMIT: Final = 1_024
"""Default limit of an answer in tokens; higher if the recorded one was longer or thinking needs more."""
_OWN_PARAMS: Final = frozenset({"model", "stream", "stream_options", *ANSWER_LIMITS})
_DROPPED: Final = frozenset({"metadata", "user", "prompt_cache_key", "safety_identifier", "previous_response_id"})
"""Members of a recorded request that are not sent again because they identify a user or a conversation."""


class PlannedResend(Struct, frozen=True, kw_only=True, dict=True):
    """A planned request: call `number` under `variant`, sent to `model` with `body`.

    - `input`: counted tokens; `answer`: maximum tokens.
    - `usd`: maximum cost; None: no known price; 0: nothing is charged, or it cannot be sent.
    - `recorded`: the step of the recorded answer.
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
    """A way to send calls again, called `name`.

    It has the edits of the policies `steps`, goes to another `model` ("": the same), or has a placeholder instead of
    the block with the digest `without`.
    """

    name: str
    steps: tuple[Step, ...] = ()
    model: str = ""
    without: str = ""


UNCHANGED_VARIANT: Final = VariantSpec(name=UNCHANGED)


class HeavyBlock(Struct, frozen=True, kw_only=True):
    """A block to leave out: digest, display name, tokens."""

    digest: str
    name: str
    tokens: int


def resendable_calls(session: Session, thread: str) -> list[int]:
    """Numbers of the calls with a recorded answer and no error.

    Raises `CtxtuiError` if there is none, or if whole requests are not recorded (judged by the last call).
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
    """The effect of the recorded answer of `call`; None if there is none."""
    answer = answer_items(session.tree, call)
    return extract_step(answer) if answer else None


def heaviest_blocks(account: Account, chosen: ChosenCall, count: int) -> list[HeavyBlock]:
    """The `count` heaviest message blocks of a call: results, documents, texts.

    Not the user's last text.
    """
    book, tree = account.book, account.session.tree
    nodes = tree.path(chosen.call.sent_head)
    last = max((n for n, node in enumerate(nodes) if tree[node].category == INDEX["user"]), default=-1)
    excluded = frozenset({INDEX["system"], INDEX["tools"], INDEX["tool_call"], INDEX["thinking"]})
    blocks: dict[str, HeavyBlock] = {}
    for position, node in enumerate(nodes):
        node_ = tree[node]
        if (
            position == last
            or node_.block.kind == HEADER
            or node_.place.section != "messages"
            or node_.category in excluded
        ):
            continue
        label = book.names.label(node_)
        tokens = book.block_tokens(chosen.call.model, node)
        blocks.setdefault(node_.block.digest, HeavyBlock(digest=node_.block.digest, name=label, tokens=tokens))
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
    """Plan the requests of `variants` for the calls `numbers` of `thread`.

    For each call the unchanged request comes first. A variant that changes nothing in a call is skipped.
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
    """Apply a variant to the call's context; None if it changes nothing."""
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
        usd=0.0 if rebuilt.refused else max_usd(chat_model, tokens, rebuilt.answer, account.table),
        refused=rebuilt.refused,
    )


class ResentRequest(NamedTuple):
    """A request rebuilt from a recorded one.

    `answer`: maximum tokens of its answer; `refused`: the reason why it cannot be sent ("": it can).
    """

    body: bytes
    answer: int
    refused: str = ""


def rebuild_request(applied: Applied, call: Call, chat_model: ChatModel, settings: Settings) -> ResentRequest:
    """Rebuild the request of `call` with the context that `applied` leaves, for `chat_model`.

    It has the recorded parameters, is streamed, and its answer limit is no higher than needed.
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
    """The parameters of a rebuilt request, and its answer limit in tokens."""
    own = params_for(chat_model, settings)
    recorded = Request((), call.skeleton).params if call.skeleton is not None else {}
    params = {key: value for key, value in recorded.items() if key not in _OWN_PARAMS | _DROPPED}
    limit = next((key for candidates in (recorded, own) for key in ANSWER_LIMITS if key in candidates), "")
    recorded_limit = recorded.get(limit)
    max_tokens = max(DEFAULT_ANSWER_LIMIT, 2 * (call.usage.output if call.usage is not None else 0))
    if isinstance(recorded_limit, int) and not isinstance(recorded_limit, bool):
        # The thinking budget must stay below the limit.
        max_tokens = (
            recorded_limit if recorded.get("thinking") or recorded.get("reasoning") else min(recorded_limit, max_tokens)
        )
    if call.skeleton is None:
        params = {key: value for key, value in own.items() if key not in _OWN_PARAMS and key != "cache_control"}
    streaming: dict[str, Json] = {key: value for key, value in own.items() if key in ("stream", "stream_options")}
    return {"model": own["model"], **params, **({limit: max_tokens} if limit else {}), **streaming}, max_tokens


def max_usd(chat_model: ChatModel, tokens: int, answer: int, table: PriceTable) -> float | None:
    """Maximum USD of a request with `tokens` of input and at most `answer` tokens of output.

    All input is charged at the highest rate of fresh and written input, and the answer is the longest possible. 0 if
    nothing is charged; None if no price is known.
    """
    rates_ = find_rates(chat_model.model, chat_model.endpoint.name, table=table)
    usd = None
    if rates_ is not None:
        usd = tokens * max(rates_.fresh, rates_.write_5m, rates_.write_1h) + answer * rates_.output
    return 0.0 if charges_nothing(chat_model, usd) else usd


class ResendQuote(Struct, frozen=True):
    """The maximum cost of sending `requests`, in USD (None: a price is unknown).

    `refused` counts requests that cannot be sent; `unpriced` are the models without a price.
    """

    requests: int
    usd: float | None
    refused: int = 0
    unpriced: tuple[str, ...] = ()


def quote_plan(plan: Sequence[PlannedResend]) -> ResendQuote:
    """Quote the maximum cost of `plan`."""
    sendable = [resend for resend in plan if not resend.refused]
    prices = [resend.usd for resend in sendable if resend.usd is not None]
    unpriced = tuple(dict.fromkeys(resend.model for resend in sendable if resend.usd is None))
    return ResendQuote(
        len(sendable), sum(prices) if len(prices) == len(sendable) else None, len(plan) - len(sendable), unpriced
    )


def check_budget(quote_: ResendQuote, budget: float) -> None:
    """Raise `CtxtuiError` if the cost could exceed `budget` USD or is unknown."""
    if quote_.usd is None:
        raise CtxtuiError(
            f"no price is known for {' and '.join(quote_.unpriced) or 'the model'}: the cost is unknown",
            way_out="name a model with a price",
        )
    if quote_.usd > budget:
        raise CtxtuiError(
            f"{quote_.requests} requests could cost ${quote_.usd:.3f}, the budget is ${budget:g}; nothing was sent",
            way_out=f"--budget-usd {ceil(quote_.usd * 1000) / 1000:.3f}, or fewer calls or variants",
        )


Charge = Callable[[Usage, str], float | None]
"""Returns the cost of a model's usage in USD (None: no known price)."""
Tell = Callable[[int, int], None]
"""Receives the progress: number done, number in all."""


async def send_plan(
    plan: Sequence[PlannedResend], chat_model: ChatModel, charge: Charge, tell: Tell = lambda done, of: None
) -> list[Trial]:
    """Send the requests of `plan` one after the other; return the results in order.

    Failed and refused ones have an `error`; refused ones are not sent.
    """
    close_offline: Callable[[], Awaitable[None]] | None = None
    if chat_model.is_offline:
        chat_model, close_offline = await start_offline(chat_model)
    line, trials = SdkClient(chat_model.endpoint), []
    try:
        for resend in plan:
            trial = Trial(variant=resend.variant, number=resend.number, recorded=resend.recorded)
            if resend.refused:
                trials.append(replace(trial, error=resend.refused))
            else:
                try:
                    response = await send_once(line, chat_model.endpoint.dialect, resend.body)
                except ProviderError as error:
                    trials.append(replace(trial, error=str(error)))
                else:
                    usage = response.billed
                    usd = charge(usage, resend.model) if usage is not None else None
                    trials.append(replace(trial, got=extract_step(response.items), usage=usage, usd=usd))
            tell(len(trials), len(plan))
    finally:
        await line.close()
        if close_offline is not None:
            await close_offline()
    return trials
