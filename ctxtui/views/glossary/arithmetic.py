"""The sums behind the figures of the inspector: of each word the sentence with the figures that make it, from the same
models that the panes draw."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.cache.next_call import NextCallForecast
from ctxtui.views.inspector.composition import Composition
from ctxtui.views.inspector.header import Header
from ctxtui.views.inspector.this_call import ThisCall
from ctxtui.views.inspector.why_so_big import WhySoBig
from ctxtui.views.text import numbers
from ctxtui.views.text.signs import ATTACHED, NOT_RECORDED
from ctxtui.views.transcript.staged_pane import StagedPane, warm


def of_context(what: Composition) -> dict[str, str]:
    """The context pane: the report as the sum of its parts, each category as a share of it."""
    counted = sum(part.tokens for part in what.parts if part.category < NOT_RECORDED)
    if not what.parts:
        return {}
    sure = f" ±{100 * what.half_width:.0f} %" if what.half_width else ""
    terms = [f"{counted:,} blocks{sure}"]
    for part in what.parts:
        if part.category >= NOT_RECORDED:
            terms.append(f"{part.tokens:,} {'re-attached' if part.category == ATTACHED else 'not recorded'}")
    whole = f"{what.total:,} {'reported' if what.reported else 'counted'} = {' + '.join(terms)}"
    if what.residual:
        whole += f" {'+' if what.residual > 0 else '−'} {abs(what.residual):,} residual"
    said = f"{whole}: {what.says}" if what.says else f"{whole}."
    found = dict.fromkeys(("residual", "reported", "tokens", "block", "±", "not recorded", "re-attached"), said)
    if what.after is not None:
        more = what.after - what.total
        sign = "+" if more > 0 else "−"
        found["tokens"] = f"{what.after:,} under the staged edits = {what.total:,} without them {sign} {abs(more):,}."
    for part in what.parts:
        if part.category < NOT_RECORDED:
            change = f", {numbers.signed(part.change)} since the call before" if part.change else ""
            key = f" `{part.sign.key}` shows these blocks in full, then hides them." if part.sign.key else ""
            share = _part(part.tokens, what.total)
            if what.after is not None and part.after is not None:
                share = f"{_part(part.after, what.after)} under the staged edits; without them {share}"
            found[part.sign.name] = f"{share}{change}.{key}"
    return found


def _part(tokens: int, whole: int) -> str:
    return f"{tokens:,} of {whole:,} tokens = {numbers.share(tokens / whole if whole else 0.0)}"


def of_call(what: ThisCall) -> dict[str, str]:
    """The pane of this call: input as the sum of what was read, written and fresh; the price as that of its parts."""
    known = {line.name: line for line in what.lines}
    found: dict[str, str] = {}
    parts = [(name, known[name].tokens) for name in ("read", "write", "fresh") if name in known]
    told = [(name, tokens) for name, tokens in parts if tokens is not None]
    if told:
        total = sum(tokens for _, tokens in told)
        whole = " + ".join(f"{tokens:,} {name}" for name, tokens in told)
        for name, tokens in told:
            share = f" This is {100 * tokens / total:.1f} % of it." if total else ""
            found[name] = f"{whole} = {total:,} tokens of input.{share}{_rate(known[name].usd, tokens)}"
    answer = known.get("answer")
    if answer is not None and answer.tokens is not None:
        least = "at least " if answer.partial else ""
        found["answer"] = f"{least}{answer.tokens:,} tokens of output.{_rate(answer.usd, answer.tokens)}"
        if answer.partial:
            found["answer"] += " Reported at its beginning only: its words and signs on record are that many tokens."
    if what.total is not None and known:
        money = [(line.name, line.usd) for line in what.lines if line.usd]
        if money:
            terms = " + ".join(f"{numbers.money(usd)} {name}" for name, usd in money)
            least = " That is the least: the answer is reported in part." if what.partial else ""
            found["cost"] = found["this call"] = f"{numbers.money(what.total)} = {terms}.{least}"
        if what.uncached:
            saved = 1 - what.total / what.uncached
            word = "saved" if saved >= 0 else "lost"
            terms = f"1 − {numbers.money(what.total)} / {numbers.money(what.uncached)} without a cache"
            found["saves"] = found["uncached"] = f"{terms} = {numbers.share(abs(saved))} {word}."
    return found


def _rate(usd: float | None, tokens: int) -> str:
    return f" {numbers.money(usd)}: ${1e6 * usd / tokens:,.2f} for a million." if usd and tokens else ""


def of_header(what: Header) -> dict[str, str]:
    """The header: the share of the usable window, the money up to this call and of all, the record of forecasts."""
    found: dict[str, str] = {}
    limits, used = what.limits, what.used
    if limits.usable and limits.limit:
        kept = f"{limits.usable:,} usable of {limits.limit:,} ({limits.origin_text}); the rest is kept for the answer."
        level, when = (used, "") if what.after is None else (what.after, " under the staged edits")
        said = f"{level:,} of {limits.usable:,} = {100 * level / limits.usable:.0f} %" if level is not None else ""
        found["usable"] = (f"{said}{when}. " if said else "") + kept
    if what.priced and what.call:
        cost = numbers.least(what.cost, what.partial)
        found["cost"] = f"{cost} for calls 1 to {what.call:,} of the line of context that is shown."
    totals = what.totals
    if totals is not None and totals.others.calls:
        whole, main, others = (
            numbers.least(row.usd, row.at_least) for row in (totals.total, totals.main, totals.others)
        )
        calls = f"{totals.main.calls:,} + {totals.others.calls:,} calls"
        beside = f"in {numbers.many(totals.agents, 'subagent')}" if totals.agents else "beside it"
        found["with subagents"] = f"{whole} = {main} in the main line + {others} {beside}; {calls}."
    return found


def of_next(what: NextCallForecast, header: Header | None = None) -> dict[str, str]:
    """The pane of the next call, with the record of forecasts so far that the `header`'s model has."""
    parts = (("read", what.read), ("write", what.write), ("fresh", what.fresh))
    whole = " + ".join(f"{tokens:,} {name}" for name, tokens in parts)
    said = f"{whole} = {what.input:,} tokens, nine times of ten between {what.lo:,} and {what.hi:,}."
    found = {name: said for name, _ in parts}
    right, of = header.record if header is not None else (0, 0)
    if of:
        found["forecast right"] = f"{right:,} of the {of:,} forecasts so far were right: {100 * right / of:.0f} %."
    if what.total is not None and what.uncached:
        saved = 1 - what.total / what.uncached
        terms = f"1 − {numbers.money(what.total)} / {numbers.money(what.uncached)} without a cache"
        found["saves"] = found["uncached"] = f"{terms} = {numbers.share(saved)}."
    return found


def of_staged(what: StagedPane) -> dict[str, str]:
    """The pane of staged edits: what each price is made of."""
    found = {}
    request, usable = what.staging.request, what.usable
    if request is not None:
        share = f", {100 * request.whole / usable:.0f} % of {usable:,} usable" if usable else ""
        beyond = f" {'+' if request.beyond >= 0 else '−'} {abs(request.beyond):,} residual" if request.beyond else ""
        parts = f"{request.whole:,} = {request.body:,} of blocks + {request.client:,} that the client adds{beyond}"
        found["frees"] = f"The next call has {parts}{share}."
    if what.known:
        found["breaks"] = f"{what.broken:,} cached tokens are read no more if this is applied now."
    if what.moments:
        chosen = what.moments[min(what.chosen, len(what.moments) - 1)]
        if chosen.once is not None and chosen.per_call is not None:
            prices = f"{numbers.money(chosen.once)} once, {numbers.money(chosen.per_call)} per call"
            after = "never" if chosen.pays_back is None else f"after {chosen.pays_back:,} calls"
            said = f"{chosen.name}: {prices}, so it pays back {'at once' if chosen.pays_back == 0 else after}."
            said += f" {why[0].upper()}{why[1:]}." if (why := warm(what)) else ""
            found |= dict.fromkeys(("once", "per call", "pays back", "now", "next miss", "staged"), said)
    return found


def of_cut(what: WhySoBig) -> dict[str, str]:
    """The safe cut of the sentence on top: by which policies, and what it leaves of the next call."""
    if what.cut is None or not what.frees:
        return {}
    tag, names = what.cut.tag, " + ".join(name.replace("_", " ") for name in what.cut.names)
    staged = f" − {what.staged:,} staged" if what.staged > 0 else f" + {-what.staged:,} staged" if what.staged else ""
    sum_ = f"{tag.before:,} in the next call{staged} − {what.frees:,} = {tag.after:,} tokens"
    return {"safe cut": f"{sum_}, by {names}."}


def of_calls(shown: int, count: int) -> Iterator[tuple[str, str]]:
    """The strip and the header's number."""
    yield "call", f"Call {shown:,} of {count:,} is shown."
