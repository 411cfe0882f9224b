"""Compares a recording with limits or an earlier recording (``ctxtui check``).

The field names are those of its JSON.
"""

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
"""Share by which a figure may be worse than the baseline's."""


class Figures(Struct, frozen=True, kw_only=True):
    """Figures of a recording; None: unknown.

    - `context_tokens`: the largest input of a call.
    - `block_chars`: characters of the longest block sent (system, tools, messages).
    - `cache_read`: the hit rate: tokens read from the cache / all input tokens, over the calls with cache figures. None
      for a single one, which could not hit.
    - `cache_read_of_unwritten`: the same without writes: read / (read + fresh).
    - `rewrites`: number of calls that paid again for cached tokens (see `analysis.money.bill`).
    - `cost_usd`: the list price. If `unpriced_calls` lack one, or `partial_calls` are not fully reported, it is
      unknown, but between `cost_usd_at_least` and `cost_usd_at_most`.
    - `read_per_write`: tokens read from the cache / tokens written to it.
    - `call_seconds`: duration of the longest call.

    Only computed if a limit is set: `repeats` is the longest run of the same calls with the same answers, `secrets` the
    number of blocks with a secret, `lost_facts` the number of facts lost in compactions.
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
    repeats: int | None = None
    secrets: int | None = None
    lost_facts: int | None = None


class Limits(Struct, frozen=True, kw_only=True):
    """Allowed values in the units of `Figures`; None: no limit."""

    max_context: int | None = None
    max_block_chars: int | None = None
    min_cache_read: float | None = None
    max_rewrites: int | None = None
    max_cost: float | None = None
    min_read_per_write: float | None = None
    max_seconds: float | None = None
    max_repeats: int | None = None
    max_secrets: int | None = None
    max_lost: int | None = None


class LimitVerdict(Struct, frozen=True):
    """One limit compared with its figure; `passed` is None if it cannot be decided."""

    limit: str
    allowed: float
    figure: float | None
    passed: bool | None
    text: str

    def as_fields(self) -> dict[str, Any]:
        return {
            "name": self.limit,
            "limit": self.allowed,
            "value": self.figure,
            "passed": self.passed,
            "words": self.text,
        }


_FIGURE: Final = {
    "max_context": "context_tokens",
    "max_block_chars": "block_chars",
    "min_cache_read": "cache_read",
    "max_rewrites": "rewrites",
    "max_cost": "cost_usd",
    "min_read_per_write": "read_per_write",
    "max_seconds": "call_seconds",
    "max_repeats": "repeats",
    "max_secrets": "secrets",
    "max_lost": "lost_facts",
}
"""The figure that each limit is about."""
_WORDS: Final = {
    "max_context": "largest context, tokens",
    "max_block_chars": "longest block, characters",
    "min_cache_read": "cache read / input",
    "max_rewrites": "rewrites",
    "max_cost": "cost, USD",
    "min_read_per_write": "cache read / written",
    "max_seconds": "longest call, seconds",
    "max_repeats": "the same calls with the same answers in a row",
    "max_secrets": "blocks with secrets",
    "max_lost": "facts that compactions lost",
}
_NOT_COMPARED: Final = frozenset({"max_seconds"})
"""Limits that are never compared with an earlier recording."""
ON_REQUEST: Final = frozenset({"max_repeats", "max_secrets", "max_lost"})
"""Limits whose figures are computed only if they are set: that is slow."""


def session_figures(session: Session, bill: Bill, largest: int | None, most: float | None = None) -> Figures:
    """Figures of a session with its `bill`.

    `largest` is its largest context in tokens (None: unknown), `most` an upper bound of its cost in USD (None: none).
    """
    used = [call.usage for call in list(session.calls.values()) if call.usage is not None and call.usage.has_cache]
    read_, fresh = sum(u.cache_read for u in used), sum(u.fresh for u in used)
    written = sum(u.cache_write for u in used)
    took = [c.ended - c.started for c in list(session.calls.values()) if c.started is not None and c.ended is not None]
    total_input = sum(u.input for u in used) if len(used) > 1 else 0
    unpriced = sum(bill.unpriced.values())
    return Figures(
        calls=count_calls(session.calls.values()),
        context_tokens=largest,
        block_chars=longest_block(session),
        cache_read=read_ / total_input if total_input else None,
        cache_read_of_unwritten=read_ / (read_ + fresh) if total_input and read_ + fresh else None,
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
    """Characters of text or arguments of the longest block of a call or the next request."""
    tree, sent_nodes, digests, longest = session.tree, {ROOT}, set[str](), 0
    heads = [call.sent_head for call in [*session.calls.values(), *unsent_calls(session)]]
    for node in heads or [thread.tip for thread in list(session.threads.values())]:
        while node not in sent_nodes:
            sent_nodes.add(node)
            block = tree[node].block
            # A block's text is never longer than its JSON.
            if block.kind != HEADER and block.digest not in digests and len(block.body) > longest:
                digests.add(block.digest)
                content = read(block)
                longest = max(longest, len(content.text), len(content.arguments))
            node = tree[node].parent
    return longest


def check_limits(figures: Figures, limits: Limits) -> list[LimitVerdict]:
    """Compare each limit that is set with its figure. The hit rate of a single call passes."""
    verdicts = []
    for name in Limits.__struct_fields__:
        allowed = getattr(limits, name)
        if allowed is None:
            continue
        figure = getattr(figures, _FIGURE[name])
        is_single_call = name == "min_cache_read" and figure is None and figures.calls == 1
        passed = True if is_single_call else _is_within(name, figures, allowed)
        verdicts.append(LimitVerdict(name, allowed, figure, passed, _verdict_text(name, figures, allowed, passed)))
    return verdicts


def check_baseline(figures: Figures, baseline: Mapping[str, Any], tolerance: float = TOLERANCE) -> list[LimitVerdict]:
    """Compare each figure with that of an earlier recording.

    Worse by more than the share `tolerance` fails. `baseline` is a result of `figures_as_fields`. Not compared are
    figures that it lacks, those of `ON_REQUEST` that were not computed, and the duration of calls.
    """
    verdicts = []
    for name, key in _FIGURE.items():
        before, now = baseline.get(key), getattr(figures, key)
        on_request = name in ON_REQUEST and now is None
        if on_request or name in _NOT_COMPARED or not isinstance(before, int | float) or isinstance(before, bool):
            continue
        allowed = before * (1 - tolerance if name.startswith("min") else 1 + tolerance)
        passed = _is_within(name, figures, allowed)
        text = _verdict_text(name, figures, allowed, passed) + f"; baseline {_format_value(name, before)}"
        verdicts.append(LimitVerdict(f"baseline {key}", allowed, now, passed, text))
    return verdicts


def all_passed(verdicts: Iterable[bool | None]) -> bool | None:
    """Whether all passed; None if none failed and one is undecided."""
    every = set(verdicts)
    return False if False in every else None if None in every else True


def _is_within(limit: str, figures: Figures, allowed: float) -> bool | None:
    figure: float | None = getattr(figures, _FIGURE[limit])
    if figure is None and limit == "max_cost":
        least, most = figures.cost_usd_at_least, figures.cost_usd_at_most
        return (
            False if least is not None and least > allowed else True if most is not None and most <= allowed else None
        )
    if figure is None:
        return None
    return figure >= allowed if limit.startswith("min") else figure <= allowed


_ENDING: Final = {True: "", False: " allowed", None: ": cannot be checked"}


def _verdict_text(limit: str, figures: Figures, allowed: float, passed: bool | None) -> str:
    figure = getattr(figures, _FIGURE[limit])
    bounds = (("≥ ", figures.cost_usd_at_least), ("≤ ", figures.cost_usd_at_most)) if limit == "max_cost" else ()
    known_bounds = [
        f"{sign}{_format_value(limit, bound)}" for sign, bound in bounds if bound is not None and figure is None
    ]
    than = "at least" if limit.startswith("min") else "at most"
    value = " and ".join(known_bounds) or _format_value(limit, figure)
    return f"{_WORDS[limit]}: {value}, {than} {_format_value(limit, allowed)}{_ENDING[passed]}"


def _format_value(limit: str, value: float | None) -> str:
    if value is None:
        return "unknown"
    if limit == "min_cache_read":
        return f"{value:.1%}".replace("%", " %")
    if limit == "max_cost":
        return f"{value:,.4f}"
    return f"{value:,.1f}" if limit in ("min_read_per_write", "max_seconds") else f"{value:,.0f}"


def figures_as_fields(figures: Figures) -> dict[str, Any]:
    """The figures by name, for a baseline."""
    return dict(to_builtins(figures))
