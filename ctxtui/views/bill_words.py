"""The bill in words: the sum in one sentence, what a cure would have saved, whose price it is."""

from __future__ import annotations

from typing import Final

from ctxtui.analysis.money import savings as kinds
from ctxtui.analysis.money.bill import PARTS, REWRITES, Bill, to_the_cent
from ctxtui.analysis.money.savings import Cure
from ctxtui.analysis.money.statement import Dear, Statement
from ctxtui.analysis.session_events import thousands
from ctxtui.core.session import MAIN
from ctxtui.views import cells, numbers, safe_text
from ctxtui.views.span import Span

LABEL: Final = "list price"
WORTH: Final = 0.01
"""Share of the bill below which a cure is not worth naming, and USD: a cent."""


def sentence(what: Statement) -> str:
    """The bill in one sentence: ``$41.20 = 26.10 carry + 7.40 rewrites (7; 5 after pauses > 5 min) + ...``."""
    parts = [_sum(what)]
    if what.heaviest and what.bill.usd is not None:
        parts.append(f"heaviest: {_named(what.heaviest[0])} {_carried(what.heaviest[0])}")
    if what.bill.subagents >= 0.005:
        parts.append(f"subagents {numbers.share(what.bill.subagents, 0)}")
    if worth := worthwhile(what):
        parts.append(f"cheapest cure: {cure_words(worth[0])}")
    return "; ".join(parts)


def _sum(what: Statement) -> str:
    bill = what.bill
    if bill.usd is None:
        models = ", ".join(bill.unpriced)
        return f"cost unknown: no price for {safe_text.one_line(models)}" if models else "no usage recorded"
    amounts, decimals = shown_amounts(bill)
    total = sum(amounts.values())
    words = [f"{amounts[name]:,.{decimals}f} {name}{_often(bill) if name == REWRITES else ''}" for name in amounts]
    more = "≥ " if bill.unpriced else ""
    return f"{more}${total:,.{decimals}f} = {' + '.join(words)}"


def shown_amounts(bill: Bill) -> tuple[dict[str, float], int]:
    """The parts that are not empty, in USD rounded so that they add up to the total that is shown; the decimals."""
    shown = [name for name in PARTS if bill.parts[name].tokens or bill.parts[name].usd]
    decimals = 3 if (bill.usd or 0.0) < 0.9995 else 2
    return dict(zip(shown, to_the_cent([bill.parts[name].usd for name in shown], decimals), strict=True)), decimals


def _often(bill: Bill) -> str:
    paused = sum(one.cause == "pause" for one in bill.rewrites)
    return f" ({len(bill.rewrites)}{f'; {paused} after pauses > 5 min' if paused else ''})" if bill.rewrites else ""


def _named(one: Dear) -> str:
    return cells.fit(safe_text.one_line(f"{one.label} {one.about}".strip()), 60).strip()


def _carried(one: Dear) -> str:
    return f"{numbers.money(one.usd)} over {one.calls:,} call{'s' if one.calls != 1 else ''}"


def worthwhile(what: Statement) -> list[Cure]:
    """The cures that save a share of the bill worth naming, the best of each kind."""
    least = max(WORTH, WORTH * (what.bill.usd or 0.0))
    best: dict[str, Cure] = {}
    for cure in what.cures:
        if cure.saves >= least:
            best.setdefault(cure.kind, cure)
    return list(best.values())


def cure_words(cure: Cure) -> str:
    """What to do, and what it would have saved."""
    at = "" if cure.thread in ("", MAIN) else f" of thread {safe_text.one_line(cure.thread, 40)}"
    tokens, saves = thousands(cure.tokens), f"saves {numbers.money(cure.saves)}"
    match cure.kind:
        case kinds.CLEAR:
            what = f"clear {many(cure.count, 'old tool result')} ({tokens}) at call {cure.call}{at}"
            return f"{what}, {saves} net of the rewrite"
        case kinds.HOUR:
            return f"cache entries of 1 hour in place of 5 minutes{at}, {saves} ({many(cure.count, 'rewrite')} less)"
        case kinds.MINUTES:
            return f"cache entries of 5 minutes in place of 1 hour{at}, {saves}"
        case kinds.TOOLS:
            return f"leave out {many(cure.count, 'tool')} never called ({tokens} in every call){at}, {saves}"
    return f"switch the prompt cache on{at}, {saves}"


def many(count: int, noun: str) -> str:
    """``1 call``, ``2 calls``."""
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def head(what: Statement) -> list[Span]:
    """What the statement is about: the money and whose price it is; for a subscription tokens and window lead."""
    calls = f"{many(len(what.calls), 'call')}"
    more = f" · {many(what.sessions, 'session')}" if what.sessions > 1 else ""
    usd = ("≥ " if what.bill.unpriced and what.bill.usd is not None else "") + numbers.money(what.bill.usd)
    if not what.subscription:
        return [Span(f" {usd}", "ink bold"), Span(f" {LABEL} · {calls}{more}", "dim")]
    tokens = sum(c.usage.input + c.usage.output for c in what.calls if c.usage)
    share = f" · peak {numbers.share(what.peak / what.window, 0)} of the window" if what.window else ""
    return [
        Span(f" {numbers.tokens(tokens)}", "ink bold"),
        Span(f" tokens{share}", "ink"),
        Span(f" · subscription; {usd} {LABEL} · {calls}{more}", "dim"),
    ]
