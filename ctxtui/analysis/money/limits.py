"""A gate for one's own tests: what a recording comes to, held against limits or an earlier recording's figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct, to_builtins

from ctxtui.analysis.call_choice import unsent_calls
from ctxtui.analysis.money.bill import Bill
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.call import count_calls
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT

TOLERANCE: Final = 0.05
"""Share by which a figure may be worse than the baseline's before that counts as worse."""


class Figures(Struct, frozen=True, kw_only=True):
    """What a recording comes to; None: not known.

    `context_tokens` is the largest input of a call, `block_chars` the characters of the longest block that a call sent
    (system, tools, messages). `cache_read` is THE hit rate: tokens read from the cache / all input tokens, over every
    call whose provider reports cache figures (None where there is but one: it had nothing to hit);
    `cache_read_of_unwritten` is the other common definition, read / (read +
    fresh), which leaves writes out. `rewrites` counts calls that paid again for what the cache had held (see
    `analysis.money.bill`), `cost_usd` is the list price: where `unpriced_calls` lack one, or `partial_calls` are
    reported in part or not at all, it is not known, but that it is from `cost_usd_at_least` to `cost_usd_at_most`.
    `read_per_write` is tokens read from the cache / tokens written to it, `call_seconds` how long the longest call
    took.
    """

    calls: int = 0
    context_tokens: int | None = None
    block_chars: int = 0
    cache_read: float | None = None
    cache_read_of_unwritten: float | None = None
    rewrites: int = 0
    cost_usd: float | None = None
    cost_usd_at_least: float | None = None
    cost_usd_at_most: float | None = None
    unpriced_calls: int = 0
    partial_calls: int = 0
    read_per_write: float | None = None
    call_seconds: float | None = None


class Limits(Struct, frozen=True, kw_only=True):
    """What is allowed; None: no limit. Tokens, characters, a share (0 to 1), counts, USD, a ratio, seconds."""

    max_context: int | None = None
    max_block_chars: int | None = None
    min_cache_read: float | None = None
    max_rewrites: int | None = None
    max_cost: float | None = None
    min_read_per_write: float | None = None
    max_seconds: float | None = None


class LimitVerdict(Struct, frozen=True):
    """One limit held against its figure. `limit` is the limit's name, `allowed` its value, `found` the figure (None:
    unknown), `passed` None where it cannot be told, `told` says it in words."""

    limit: str
    allowed: float
    found: float | None
    passed: bool | None
    told: str

    def as_fields(self) -> dict[str, Any]:
        """As JSON names it."""
        return {
            "name": self.limit,
            "limit": self.allowed,
            "value": self.found,
            "passed": self.passed,
            "words": self.told,
        }


_FIGURE: Final = {
    "max_context": "context_tokens",
    "max_block_chars": "block_chars",
    "min_cache_read": "cache_read",
    "max_rewrites": "rewrites",
    "max_cost": "cost_usd",
    "min_read_per_write": "read_per_write",
    "max_seconds": "call_seconds",
}
_WORDS: Final = {
    "max_context": "largest context, tokens",
    "max_block_chars": "longest block, characters",
    "min_cache_read": "cache read / input",
    "max_rewrites": "rewrites",
    "max_cost": "cost, USD",
    "min_read_per_write": "cache read / written",
    "max_seconds": "longest call, seconds",
}
_OF_THE_DAY: Final = frozenset({"max_seconds"})
"""What is never held against an earlier recording: how long a call takes is not the agent's doing."""


def figures_of(session: Session, bill: Bill, largest: int | None, most: float | None = None) -> Figures:
    """The figures of a session with its `bill`; `largest` is its largest context in tokens, reported or counted, `most`
    USD that it can have cost at most."""
    used = [call.usage for call in list(session.calls.values()) if call.usage is not None and call.usage.has_cache]
    read_, fresh = sum(u.cache_read for u in used), sum(u.fresh for u in used)
    written = sum(u.cache_write for u in used)
    took = [c.ended - c.started for c in list(session.calls.values()) if c.started is not None and c.ended is not None]
    whole = sum(u.input for u in used) if len(used) > 1 else 0
    unpriced = sum(bill.unpriced.values())
    return Figures(
        calls=count_calls(session.calls.values()),
        context_tokens=largest,
        block_chars=longest_block(session),
        cache_read=read_ / whole if whole else None,
        cache_read_of_unwritten=read_ / (read_ + fresh) if whole and read_ + fresh else None,
        rewrites=len(bill.rewrites),
        cost_usd=None if bill.at_least else bill.usd,
        cost_usd_at_least=bill.usd,
        cost_usd_at_most=most if bill.at_least else bill.usd,
        unpriced_calls=unpriced,
        partial_calls=bill.partial,
        read_per_write=read_ / written if written else None,
        call_seconds=max(took, default=None),
    )


def longest_block(session: Session) -> int:
    """Characters of the longest block that any call sent or the next one will send: what the model reads as words or
    arguments."""
    tree, sent, digests, most = session.tree, {ROOT}, set[str](), 0
    heads = [call.sent_head for call in [*session.calls.values(), *unsent_calls(session)]]
    for node in heads or [thread.tip for thread in list(session.threads.values())]:
        while node not in sent:
            sent.add(node)
            block = tree[node].block
            # A block's text is never longer than its JSON.
            if block.kind != HEADER and block.digest not in digests and len(block.body) > most:
                digests.add(block.digest)
                got = read(block)
                most = max(most, len(got.text), len(got.arguments))
            node = tree[node].parent
    return most


def verdicts(found: Figures, limits: Limits) -> list[LimitVerdict]:
    """Each limit that is set, held against its figure; a hit rate where there was nothing to hit (one call alone)
    passes."""
    out = []
    for name in Limits.__struct_fields__:
        allowed = getattr(limits, name)
        if allowed is None:
            continue
        figure = getattr(found, _FIGURE[name])
        alone = name == "min_cache_read" and figure is None and found.calls == 1
        passed = True if alone else _within(name, found, allowed)
        out.append(LimitVerdict(name, allowed, figure, passed, _told(name, found, allowed, passed)))
    return out


def against(found: Figures, baseline: Mapping[str, Any], tolerance: float = TOLERANCE) -> list[LimitVerdict]:
    """Each figure held against the same one of an earlier recording: worse by more than `tolerance` does not pass.

    `baseline` holds figures by name, as `as_fields` gives them; what it lacks is not compared.
    """
    out = []
    for name, key in _FIGURE.items():
        before, now = baseline.get(key), getattr(found, key)
        if name in _OF_THE_DAY or not isinstance(before, int | float) or isinstance(before, bool):
            continue
        allowed = before * (1 - tolerance if name.startswith("min") else 1 + tolerance)
        passed = _within(name, found, allowed)
        told = _told(name, found, allowed, passed) + f"; baseline {_shown(name, before)}"
        out.append(LimitVerdict(f"baseline {key}", allowed, now, passed, told))
    return out


def all_passed(verdicts: Iterable[bool | None]) -> bool | None:
    """Whether all passed; None where none failed and one cannot be told."""
    every = set(verdicts)
    return False if False in every else None if None in every else True


def _within(limit: str, found: Figures, allowed: float) -> bool | None:
    """Whether the figure is within its limit; None where what is known of it does not tell."""
    figure: float | None = getattr(found, _FIGURE[limit])
    if figure is None and limit == "max_cost":
        least, most = found.cost_usd_at_least, found.cost_usd_at_most
        return (
            False if least is not None and least > allowed else True if most is not None and most <= allowed else None
        )
    if figure is None:
        return None
    return figure >= allowed if limit.startswith("min") else figure <= allowed


_ENDING: Final = {True: "", False: " allowed", None: ": cannot be told"}


def _told(limit: str, found: Figures, allowed: float, passed: bool | None) -> str:
    figure = getattr(found, _FIGURE[limit])
    bounds = (("≥ ", found.cost_usd_at_least), ("≤ ", found.cost_usd_at_most)) if limit == "max_cost" else ()
    known = [f"{sign}{_shown(limit, bound)}" for sign, bound in bounds if bound is not None and figure is None]
    than = "at least" if limit.startswith("min") else "at most"
    said = " and ".join(known) or _shown(limit, figure)
    return f"{_WORDS[limit]}: {said}, {than} {_shown(limit, allowed)}{_ENDING[passed]}"


def _shown(limit: str, value: float | None) -> str:
    if value is None:
        return "unknown"
    if limit == "min_cache_read":
        return f"{value:.1%}".replace("%", " %")
    if limit == "max_cost":
        return f"{value:,.4f}"
    return f"{value:,.1f}" if limit in ("min_read_per_write", "max_seconds") else f"{value:,.0f}"


def as_fields(found: Figures) -> dict[str, Any]:
    """The figures by name, as a baseline keeps them."""
    return dict(to_builtins(found))
