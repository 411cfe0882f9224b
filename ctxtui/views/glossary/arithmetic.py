"""Arithmetic behind the inspector's figures: a sentence for each glossary word."""

from __future__ import annotations

from ctxtui.analysis.cache.next_call import NextCallForecast
from ctxtui.views.inspector.composition import Composition
from ctxtui.views.inspector.header import Header
from ctxtui.views.inspector.this_call import ThisCall
from ctxtui.views.inspector.why_so_big import WhySoBig
from ctxtui.views.text import numbers
from ctxtui.views.text.signs import ATTACHED, NOT_RECORDED
from ctxtui.views.transcript.staged_pane import MIN_PRICE_USD, StagedPane, explain_warm_cache, payback_clause


def explain_context(composition: Composition) -> dict[str, str]:
    """Explain the context pane: the total as a sum, each category as a share of it."""
    counted_tokens = sum(part.tokens for part in composition.parts if part.category < NOT_RECORDED)
    if not composition.parts:
        return {}
    uncertainty = f" ±{100 * composition.half_width:.0f} %" if composition.half_width else ""
    terms = [f"{counted_tokens:,} blocks{uncertainty}"]
    for part in composition.parts:
        if part.category >= NOT_RECORDED:
            terms.append(f"{part.tokens:,} {'re-attached' if part.category == ATTACHED else 'not recorded'}")
    whole = f"{composition.total:,} {'reported' if composition.reported else 'counted'} = {' + '.join(terms)}"
    if composition.residual:
        whole += f" {'+' if composition.residual > 0 else '−'} {abs(composition.residual):,} residual"
    sentence = f"{whole}: {composition.residual_cause}" if composition.residual_cause else f"{whole}."
    explanations = dict.fromkeys(
        ("residual", "reported", "tokens", "block", "±", "not recorded", "re-attached"), sentence
    )
    if composition.after is not None:
        more = composition.after - composition.total
        sign = "+" if more > 0 else "−"
        explanations["tokens"] = (
            f"{composition.after:,} under the staged edits = {composition.total:,} without them {sign} {abs(more):,}."
        )
    for part in composition.parts:
        if part.category < NOT_RECORDED:
            change = f", {numbers.signed(part.change)} since the previous call" if part.change else ""
            key = f" `{part.sign.key}` shows these blocks in full, then hides them." if part.sign.key else ""
            share = _share_of(part.tokens, composition.total)
            if composition.after is not None and part.after is not None:
                share = f"{_share_of(part.after, composition.after)} under the staged edits; without them {share}"
            explanations[part.sign.name] = f"{share}{change}.{key}"
    return explanations


def _share_of(tokens: int, whole: int) -> str:
    return f"{tokens:,} of {whole:,} tokens = {numbers.share(tokens / whole if whole else 0.0)}"


def explain_this_call(this_call: ThisCall) -> dict[str, str]:
    """Explain the pane of this call: input and price as sums of read, written and fresh."""
    lines_by_name = {line.name: line for line in this_call.lines}
    explanations: dict[str, str] = {}
    parts = [(name, lines_by_name[name].tokens) for name in ("read", "write", "fresh") if name in lines_by_name]
    counted_parts = [(name, tokens) for name, tokens in parts if tokens is not None]
    if counted_parts:
        total = sum(tokens for _, tokens in counted_parts)
        whole = " + ".join(f"{tokens:,} {name}" for name, tokens in counted_parts)
        for name, tokens in counted_parts:
            share = f" This is {100 * tokens / total:.1f} % of it." if total else ""
            explanations[name] = (
                f"{whole} = {total:,} tokens of input.{share}{_price_per_million(lines_by_name[name].usd, tokens)}"
            )
    answer = lines_by_name.get("answer")
    if answer is not None and answer.tokens is not None:
        least = "at least " if answer.partial else ""
        explanations["answer"] = (
            f"{least}{answer.tokens:,} tokens of output.{_price_per_million(answer.usd, answer.tokens)}"
        )
        if answer.partial:
            explanations["answer"] += " It was only partly reported."
    if this_call.total is not None and lines_by_name:
        money = [(line.name, line.usd) for line in this_call.lines if line.usd]
        if money:
            # Web searches and further passes of the provider have no line.
            other = this_call.total - sum(usd for _, usd in money)
            money += [("other", other)] if other >= MIN_PRICE_USD else []
            terms = " + ".join(f"{numbers.money(usd)} {name}" for name, usd in money)
            reason = "the answer was only partly reported" if answer and answer.partial else "a price is not known"
            least = f" This is a minimum: {reason}." if this_call.partial else ""
            explanations["cost"] = explanations["this call"] = f"{numbers.money(this_call.total)} = {terms}.{least}"
        if this_call.uncached:
            saved = 1 - this_call.total / this_call.uncached
            word = "saved" if saved >= 0 else "lost"
            terms = f"1 − {numbers.money(this_call.total)} / {numbers.money(this_call.uncached)} without a cache"
            explanations["saves"] = explanations["uncached"] = f"{terms} = {numbers.share(abs(saved))} {word}."
    return explanations


def _price_per_million(usd: float | None, tokens: int) -> str:
    return f" {numbers.money(usd)}: ${1e6 * usd / tokens:,.2f} per million." if usd and tokens else ""


def explain_header(header: Header) -> dict[str, str]:
    """Explain the header: share of the usable window, cost so far and with subagents."""
    explanations: dict[str, str] = {}
    limits, used = header.limits, header.used
    if limits.usable and limits.limit:
        limits_text = f"{limits.usable:,} usable of {limits.limit:,} ({limits.origin_text})."
        level, when = (used, "") if header.after is None else (header.after, " under the staged edits")
        used_share = (
            f"{level:,} of {limits.usable:,} = {100 * level / limits.usable:.0f} %" if level is not None else ""
        )
        explanations["usable"] = (f"{used_share}{when}. " if used_share else "") + limits_text
    if header.priced and header.call:
        cost = numbers.least(header.cost, header.partial)
        explanations["cost"] = f"{cost} for calls 1 to {header.call:,} of this thread."
    totals = header.totals
    if totals is not None and totals.is_split:
        whole, main, others = (
            numbers.least(row.usd, row.at_least) for row in (totals.total, totals.main, totals.others)
        )
        calls = (
            f"{totals.main.calls:,} + {totals.others.calls:,} calls"
            if totals.others.calls
            else f"{numbers.many(totals.main.calls, 'call')} and a sum of others"
        )
        source = f"in {numbers.many(totals.agents, 'subagent')}" if totals.agents else "in other requests"
        explanations["with subagents"] = f"{whole} = {main} in the main thread + {others} {source}; {calls}."
    return explanations


def explain_next_call(forecast: NextCallForecast, header: Header | None = None) -> dict[str, str]:
    """Explain the pane of the next call, with the forecast accuracy so far from `header`."""
    parts = (("read", forecast.read), ("write", forecast.write), ("fresh", forecast.fresh))
    whole = " + ".join(f"{tokens:,} {name}" for name, tokens in parts)
    input_sum = f"{whole} = {forecast.input:,} tokens; 90 % interval {forecast.lo:,} to {forecast.hi:,}."
    explanations = {name: input_sum for name, _ in parts}
    right, of = header.record if header is not None else (0, 0)
    if of:
        explanations["forecast right"] = (
            f"{right:,} of the {of:,} forecasts so far were right: {100 * right / of:.0f} %."
        )
    if forecast.total is not None and forecast.uncached:
        saved = 1 - forecast.total / forecast.uncached
        terms = f"1 − {numbers.money(forecast.total)} / {numbers.money(forecast.uncached)} without a cache"
        explanations["saves"] = explanations["uncached"] = f"{terms} = {numbers.share(saved)}."
    return explanations


def explain_staged(pane: StagedPane) -> dict[str, str]:
    """Explain the pane of staged edits: what they free, break and cost, by glossary word."""
    explanations = {}
    request, usable = pane.staging.request, pane.usable
    if request is not None:
        share = f", {100 * request.whole / usable:.0f} % of {usable:,} usable" if usable else ""
        beyond = f" {'+' if request.beyond >= 0 else '−'} {abs(request.beyond):,} residual" if request.beyond else ""
        parts = f"{request.whole:,} = {request.body:,} of blocks + {request.client:,} added by the client{beyond}"
        explanations["frees"] = f"The next call has {parts}{share}."
    if pane.is_breakage_known:
        explanations["breaks"] = f"{pane.broken:,} cached tokens become unreadable if this is applied now."
    if pane.moments:
        chosen = pane.moments[min(pane.chosen, len(pane.moments) - 1)]
        if chosen.once is not None and chosen.per_call is not None:
            prices = f"{numbers.money(chosen.once)} once, {numbers.money(chosen.per_call)} per call"
            sentence = f"{chosen.name}: {prices}: {payback_clause(chosen.pays_back)}."
            sentence += f" {why[0].upper()}{why[1:]}." if (why := explain_warm_cache(pane)) else ""
            explanations |= dict.fromkeys(("once", "per call", "pays back", "now", "next miss", "staged"), sentence)
    return explanations


def explain_safe_cut(why_so_big: WhySoBig) -> dict[str, str]:
    """Explain the safe cut: which policies make it, and the size of the next call after it."""
    if why_so_big.cut is None or not why_so_big.frees:
        return {}
    tag, names = why_so_big.cut.tag, " + ".join(name.replace("_", " ") for name in why_so_big.cut.names)
    staged = f" {'−' if why_so_big.staged > 0 else '+'} {abs(why_so_big.staged):,} staged" if why_so_big.staged else ""
    sum_ = f"{tag.before:,} in the next call{staged} − {why_so_big.frees:,} = {tag.after:,} tokens"
    return {"safe cut": f"{sum_}, by {names}."}
