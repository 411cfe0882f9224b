"""Apply edits and policies to a recorded context, price and check the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ctxtui.analysis.block_sizes import BlockSizes
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache import what_if
from ctxtui.analysis.cache.what_if import OtherForecasts, Weigh
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.content.guard import Guard
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.edit_prices import EditPrices
from ctxtui.analysis.findings.risks import redact_secrets
from ctxtui.analysis.request_counts import counting_terms, weigh_as_reported
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.policies.policy import Step, run_all
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.policies.safe_edits import without_quoted
from ctxtui.curation.price.dependence import Literals
from ctxtui.curation.price.price_tag import Charge, PriceQuestion, PriceTag
from ctxtui.curation.provider_rules import ProviderRules, rules_for
from ctxtui.pricing.price import price
from ctxtui.pricing.table import PriceTable
from ctxtui.pricing.terms import read_terms
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.editing.edited_context import EditedContext
from ctxtui.services.editing.edited_request import SentPath
from ctxtui.services.editing.next_request import price_question_under
from ctxtui.services.editing.session_end import next_head, session_end


@dataclass(frozen=True, kw_only=True)
class Curation(EditedContext):
    """A context under edits, with its price.

    - `log`: the given edits, those that mask secrets, then those of policies; `policy_edits`: only the last.
    - `tag`: the price of the edits.
    """

    rules: ProviderRules
    log: tuple[Edit, ...]
    policy_edits: tuple[Edit, ...]
    tag: PriceTag
    policy_context: PolicyContext
    """The policy context under all of `log` but `policy_edits`."""
    prices: EditPrices
    """Prices of further edits."""


def curate_context(
    book: Book,
    counter: Counter,
    chosen: ChosenCall,
    *,
    steps: Sequence[Step] = (),
    edits: Sequence[Edit] = (),
    under: Sequence[Edit] = (),
    after: bool = False,
    resumed: bool = False,
    drops_blocks: bool = False,
    keep_quoted: bool = False,
    guard: Guard | None = None,
    usable_share: float = 0.75,
    prices: PriceTable,
    other_forecasts: OtherForecasts = lambda: None,
) -> Curation:
    """Edit the context of the `chosen` call, and price the result.

    Applies `edits`, then the policies of `steps`:

    - `after`: to the context after the call's answer.
    - `resumed`: to the context with which a tool would resume after the call.
    - `under`: those of `edits` that are applied already and are not part of the price.
    - `drops_blocks`: thinking bound to changed blocks stays, for the provider to drop.
    - `keep_quoted`: policies remove nothing that is quoted later.
    - `guard`: masks secrets, before the policies; None: they stay.
    - `other_forecasts`: returns a forecaster already trained on the session's calls, or None.

    Everything in `book` must be counted.
    """
    session, call = book.session, chosen.call
    head = next_head(session, chosen) if after else call.sent_head
    head = session_end(session, chosen).head if resumed else head
    after = after or resumed
    context = Context.of_call(session.tree, call, head)
    model = call.model or session.model
    card = book.card(model)
    rules = rules_for(context.dialect, card, drops_blocks=drops_blocks)
    counter.prefetch(card, [item.block for item in context.items])
    sizes = BlockSizes(book, model, context)
    literals = Literals(context)
    literals.advance()
    plain = apply(context, under, rules)
    sent = SentPath.from_applied(plain) if under else None
    if sent is not None:
        count_all(book, counter)
    question, weigh = _make_question(book, chosen, head, prices, other_forecasts, sent)
    policy_context = PolicyContext(
        context=context,
        log=tuple(edits),
        tokens=sizes.tokens_at,
        count=sizes.block_tokens,
        usable=context_window(book, call, usable_share).usable,
        rules=rules,
        literals=literals,
    )
    policy_context = replace(policy_context, hidden=_hidden_tokens(replace(policy_context, log=tuple(under)), question))
    redactions = redact_secrets(policy_context, guard) if guard is not None else []
    policy_context = policy_context.under(redactions)
    proposed = run_all(steps, policy_context)
    policy_edits = tuple(without_quoted(policy_context, proposed) if keep_quoted else proposed)
    log = (*edits, *redactions, *policy_edits)
    priced = EditPrices(plain, question, weigh, counter(card), counting_terms(book, call, context))
    applied = apply(context, log, rules)
    tag = priced.tag(applied, literals)
    return Curation(
        session=session,
        chosen=chosen,
        context=context,
        applied=applied,
        limits=card.request_limits,
        after=after,
        size=tag.after + tag.under.back,
        count=sizes.block_tokens,
        rules=rules,
        log=log,
        policy_edits=policy_edits,
        tag=tag,
        policy_context=policy_context,
        prices=priced,
    )


def _hidden_tokens(under: PolicyContext, question: PriceQuestion) -> int:
    """Tokens of the next request that are not in any block."""
    blocks = sum(map(under.tokens, range(len(under.context)))) - (under.freed if under.log else 0)
    return max(0, question.prompt.total - blocks)


def charge_of(call: Call, prices: PriceTable) -> Charge:
    """A function that prices usage at a call's terms."""

    terms = read_terms(call.extra)

    def charge(usage: Usage, at: float) -> float | None:
        cost = price(usage, call.model, call.provider, at or None, prices, terms)
        return None if cost is None else cost.usd

    return charge


def _make_question(
    book: Book,
    chosen: ChosenCall,
    head: int,
    prices: PriceTable,
    other_forecasts: OtherForecasts,
    under: SentPath | None,
) -> tuple[PriceQuestion, Weigh]:
    call, replay = chosen.call, what_if.Replay(book, cache_rules_by_call(book), other_forecasts)
    charge = charge_of(call, prices)
    if chosen.number:
        question, _, weigh = price_question_under(replay, book, call, head, lambda total: charge, under=under)
        return question, weigh
    # Before the first call, nothing of the context has been sent.
    request = replay.request_of(call)
    question = PriceQuestion(
        request.simulator, request.prompt, charge, request.at, request_ends=request.ends, sent_blocks=0
    )
    return question, weigh_as_reported(book, call.model or book.session.model, head, request)
