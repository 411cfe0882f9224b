"""Recorded calls sent again: what would be sent, what that costs at most, and what came back.

Nothing is sent before `carried_out` is called, and nothing that could cost more than is left of the budget.
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
from ctxtui.analysis.content.agreement import UNCHANGED, NextStep, Trial, next_step
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
from ctxtui.providers.sdk_client import SdkLine
from ctxtui.services.chat.chat_model import ChatModel, keeps_to_itself
from ctxtui.services.chat.model_choice import params_for
from ctxtui.services.chat.offline_provider import start
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import Curation, curated
from ctxtui.wire.request import ANSWER_LIMITS, Request

ANSWER: Final = 1_024
"""Tokens of an answer that are paid for at most, unless the recorded one was longer or thinking asks for more."""
_OURS: Final = frozenset({"model", "stream", "stream_options", *ANSWER_LIMITS})
_DROPPED: Final = frozenset({"metadata", "user", "prompt_cache_key", "safety_identifier", "previous_response_id"})
"""Members of a recorded request that are not sent again: they name a person or a conversation."""


class Resend(Struct, frozen=True, kw_only=True, dict=True):
    """One request to be sent to `model`: call `number` under `variant`, its `body`, tokens of its input and of its
    answer at most, USD at most (None: no price is known), what was `recorded` as its answer, and why it cannot be sent
    (`refused`)."""

    variant: str
    number: int
    model: str
    body: bytes
    recorded: NextStep
    input: int
    answer: int
    usd: float | None
    refused: str = ""


class WantedVariant(Struct, frozen=True, kw_only=True):
    """A way to send calls again: its `name`, the policies whose edits the context is under, another `model` ("": that
    of the partner); or the digest of the one block that is left out."""

    name: str
    steps: tuple[Step, ...] = ()
    model: str = ""
    without: str = ""


NOISE: Final = WantedVariant(name=UNCHANGED)


class Heavy(Struct, frozen=True, kw_only=True):
    """A block that is left out: its digest, the `name` that people read, and its tokens."""

    digest: str
    name: str
    tokens: int


def resendable(session: Session, thread: str) -> list[int]:
    """The numbers of the calls whose request is recorded whole and whose answer is there. Raises `CtxtuiError` where
    there is none: why."""
    calls, tree = session.thread_calls(thread), session.tree
    if not calls:
        raise CtxtuiError("no call is recorded: nothing can be sent again")
    front = {tree[node].place.section for call in calls[-1:] for node in tree.path(call.sent_head)}
    if calls[-1].fidelity != Fidelity.WIRE and not front & {"tools", "system"}:
        raise CtxtuiError(
            "the recording lacks system prompt and tools: what is sent again would be another request",
            way_out="name a recording of requests: a chat of ctxtui, a HAR file, plain bodies",
        )
    found = [n for n, call in enumerate(calls, 1) if recorded_step(session, call) is not None and not call.error]
    if not found:
        raise CtxtuiError("no answer is recorded: there is nothing to compare with")
    return found


def recorded_step(session: Session, call: Call) -> NextStep | None:
    """What the recorded answer of `call` does; None where none is recorded."""
    said = answer_items(session.tree, call)
    return next_step(said) if said else None


def heaviest_blocks(account: Account, chosen: ChosenCall, most: int) -> list[Heavy]:
    """The heaviest blocks of a call's messages: results, documents, what was said; not what a person said last."""
    book, tree = account.book, account.session.tree
    nodes = tree.path(chosen.call.sent_head)
    last = max((n for n, node in enumerate(nodes) if tree[node].category == INDEX["user"]), default=-1)
    kept = frozenset({INDEX["system"], INDEX["tools"], INDEX["tool_call"], INDEX["thinking"]})
    found: dict[str, Heavy] = {}
    for at, node in enumerate(nodes):
        here = tree[node]
        if at == last or here.block.kind == HEADER or here.place.section != "messages" or here.category in kept:
            continue
        label = book.names.label(here)
        tokens = book.own(chosen.call.model, node)
        found.setdefault(here.block.digest, Heavy(digest=here.block.digest, name=label, tokens=tokens))
    heavy = sorted(found.values(), key=lambda one: -one.tokens)[:most]
    return [replace(one, name=f"{one.name} ({one.digest[:8]})") for one in heavy]


def planned(
    account: Account,
    counter: Counter,
    settings: Settings,
    partner: ChatModel,
    thread: str,
    numbers: Sequence[int],
    variants: Sequence[WantedVariant],
) -> Iterator[Resend]:
    """The requests of `variants` for each of the calls `numbers` of `thread`; unchanged first, what a variant does not
    change is not sent a second time."""
    calls = account.session.thread_calls(thread)
    for number in numbers:
        call = calls[number - 1]
        chosen = ChosenCall(thread, number, call)
        plain = curated(account.book, counter, chosen, usable_share=settings.usable_share, prices=account.table)
        for wanted in (NOISE, *variants):
            made = _under(account, counter, settings, chosen, plain, wanted)
            if made is not None:
                asked = replace(partner, model=wanted.model) if wanted.model else partner
                yield _resend(account, settings, asked, made, wanted.name, number)


def _under(
    account: Account,
    counter: Counter,
    settings: Settings,
    chosen: ChosenCall,
    plain: Curation,
    wanted: WantedVariant,
) -> Curation | None:
    """The call's context under a variant; None where that changes nothing of it."""
    if wanted is NOISE:
        return plain
    share, prices = settings.usable_share, account.table
    if wanted.without:
        at = [p for p, item in enumerate(plain.context.items) if item.block.digest == wanted.without]
        if not at:
            return None
        edits = [make(REPLACE, plain.context.targets([p]), {"text": CLEARED}) for p in at]
        return curated(account.book, counter, chosen, edits=edits, usable_share=share, prices=prices)
    made = curated(account.book, counter, chosen, steps=wanted.steps, usable_share=share, prices=prices)
    return made if made.made or wanted.model else None


def _resend(
    account: Account, settings: Settings, partner: ChatModel, made: Curation, variant: str, number: int
) -> Resend:
    call = made.chosen.call
    asked = request_again(made.applied, call, partner, settings)
    tokens = made.tag.after
    return Resend(
        variant=variant,
        number=number,
        model=partner.model,
        body=asked.body,
        recorded=recorded_step(account.session, call) or NextStep(),
        input=tokens,
        answer=asked.answer,
        usd=0.0 if asked.refused else most_usd(partner, tokens, asked.answer, account.table),
        refused=asked.refused,
    )


class ResentRequest(NamedTuple):
    """A request made of a recorded one: its `body`, the tokens of its answer at most, why it cannot be sent."""

    body: bytes
    answer: int
    refused: str = ""


def request_again(applied: Applied, call: Call, partner: ChatModel, settings: Settings) -> ResentRequest:
    """The context of `call` as `applied` leaves it, as a request to `partner`: with the parameters that were recorded,
    streamed, and an answer no longer than need be."""
    dialect, endpoint = applied.context.dialect, partner.endpoint
    if applied.refused:
        return ResentRequest(b"", 0, applied.refused)
    if dialect != endpoint.dialect:
        return ResentRequest(b"", 0, f"the call is in {dialect}, {endpoint.name} speaks {endpoint.dialect}")
    params, most = _params(call, partner, settings)
    tree = Tree()
    body = resume(tree, tree.extend(ROOT, sent_items(applied)), dialect, params).draft().body
    found = check(dialect, body)
    return ResentRequest(body, most, f"the provider would refuse it: {found[0].message}" if found else "")


def _params(call: Call, partner: ChatModel, settings: Settings) -> tuple[dict[str, Json], int]:
    """The parameters of a request: those recorded, with this model, streamed, and an answer no longer than need be; and
    how many tokens that answer has at most."""
    own = params_for(partner, settings)
    recorded = Request((), call.skeleton).params if call.skeleton is not None else {}
    kept = {key: value for key, value in recorded.items() if key not in _OURS | _DROPPED}
    limit = next((key for known in (recorded, own) for key in ANSWER_LIMITS if key in known), "")
    was = recorded.get(limit)
    most = max(ANSWER, 2 * (call.usage.output if call.usage is not None else 0))
    if isinstance(was, int) and not isinstance(was, bool):
        # Thinking has a budget of its own, which must stay below the limit.
        most = was if recorded.get("thinking") or recorded.get("reasoning") else min(was, most)
    if call.skeleton is None:
        kept = {key: value for key, value in own.items() if key not in _OURS and key != "cache_control"}
    ours: dict[str, Json] = {key: value for key, value in own.items() if key in ("stream", "stream_options")}
    return {"model": partner.model, **kept, **({limit: most} if limit else {}), **ours}, most


def most_usd(partner: ChatModel, tokens: int, answer: int, table: PriceTable) -> float | None:
    """What a request can cost at most: nothing of it read from a cache, all of it written to one, the longest answer.
    0 where nothing is charged; None where no price is known."""
    if partner.is_offline or keeps_to_itself(partner) or partner.endpoint.local:
        return 0.0
    found = find_rates(partner.model, partner.endpoint.name, table=table)
    if found is None:
        return None
    return tokens * max(found.fresh, found.write_5m, found.write_1h) + answer * found.output


class ResendQuote(Struct, frozen=True):
    """What sending `requests` of them costs at most, in USD (None: some price is not known), how many cannot be
    sent, and the models that have no price (`unpriced`)."""

    requests: int
    usd: float | None
    refused: int = 0
    unpriced: tuple[str, ...] = ()


def quote(plan: Sequence[Resend]) -> ResendQuote:
    """The price of all of it."""
    sent = [one for one in plan if not one.refused]
    known = [one.usd for one in sent if one.usd is not None]
    unpriced = tuple(dict.fromkeys(one.model for one in sent if one.usd is None))
    return ResendQuote(len(sent), sum(known) if len(known) == len(sent) else None, len(plan) - len(sent), unpriced)


def within(found: ResendQuote, budget: float) -> None:
    """Raises `CtxtuiError` where it could cost more than `budget` USD, or nobody knows how much."""
    if found.usd is None:
        raise CtxtuiError(
            f"no price is known for {' and '.join(found.unpriced) or 'the model'}: what it would cost cannot be told",
            way_out="name a model with a price",
        )
    if found.usd > budget:
        raise CtxtuiError(
            f"{found.requests} requests could cost ${found.usd:.3f}, the budget is ${budget:g}; nothing was sent",
            way_out=f"--budget-usd {ceil(found.usd * 1000) / 1000:.3f}, or fewer calls or variants",
        )


Charge = Callable[[Usage, str], float | None]
"""Gives what a usage of a model costs in USD (None: no price is known)."""
Tell = Callable[[int, int], None]
"""Is told how many of how many came back."""


async def carried_out(
    plan: Sequence[Resend], partner: ChatModel, charge: Charge, tell: Tell = lambda done, of: None
) -> list[Trial]:
    """Send all of `plan`, one after the other; what came back, in its order. What fails is a trial with an error."""
    ends: Callable[[], Awaitable[None]] | None = None
    if partner.is_offline:
        partner, ends = await start(partner)
    line, done = SdkLine(partner.endpoint), []
    try:
        for one in plan:
            trial = Trial(variant=one.variant, number=one.number, recorded=one.recorded)
            if one.refused:
                done.append(replace(trial, error=one.refused))
            else:
                try:
                    response = await send_once(line, partner.endpoint.dialect, one.body)
                except ProviderError as error:
                    done.append(replace(trial, error=str(error)))
                else:
                    usage = response.billed
                    usd = charge(usage, one.model) if usage is not None else None
                    done.append(replace(trial, got=next_step(response.items), usage=usage, usd=usd))
            tell(len(done), len(plan))
    finally:
        await line.close()
        if ends is not None:
            await ends()
    return done
