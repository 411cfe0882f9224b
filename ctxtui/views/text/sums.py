"""The sums behind figures, as sentences: a share, a difference, a product, a rate. What they claim can be checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.views.text import numbers

ROW: Final = "row"
"""The key under which a screen tells the sum behind any figure of a row."""
_NAMED: Final = 3
"""Terms of a long sum that are written one by one; the rest is one term."""


def share(part: int, whole: int, of: str = "") -> str:
    """``122 of 1,000 tokens sent = 12.2 %.``"""
    return f"{part:,} of {whole:,} tokens{of} = {numbers.share(part / whole)}." if whole > 0 else ""


def share_of_money(part: float | None, whole: float | None, of: str = "") -> str:
    """``$1.20 of $4.80 = 25.0 %.``, without a share where the whole is nothing; "" where either is not known."""
    if part is None or whole is None or whole < 0:
        return ""
    if not whole:
        return f"{usd(part)} of {usd(whole)}{of}."
    return f"{usd(part)} of {usd(whole)}{of} = {numbers.share(part / whole)}."


def usd(amount: float) -> str:
    """As `numbers.money`, to the millionth where that would be next to nothing."""
    return numbers.money(amount) if abs(amount) >= 0.01 or not amount else f"{'−' * (amount < 0)}${abs(amount):.6f}"


def rate(amount: float | None, tokens: int, of: str = "tokens") -> str:
    """``$0.310 for 183,200 tokens: $1.69 for a million.``, without a rate where either is nothing; "" where it is not
    known what was paid."""
    if amount is None:
        return ""
    if not amount or not tokens:
        return f"{usd(amount)} for {tokens:,} {of}."
    return f"{usd(amount)} for {tokens:,} {of}: ${1e6 * amount / tokens:,.2f} for a million."


def times(tokens: int, calls: int, more: str = "") -> str:
    """``4,537 tokens × 89 calls = 403,793.``"""
    return f"{tokens:,} tokens × {calls:,} call{'' if calls == 1 else 's'} = {tokens * calls:,}{more}."


def added(total: int, name: str, terms: Sequence[int], noun: str) -> str:
    """``900 carried = 400 + 300 + 100 + 100 in 2 further blocks.``, the largest terms first."""
    listed = sorted(terms, reverse=True)
    if len(listed) < 2:
        return f"{total:,} {name}."
    shown, rest = listed[:_NAMED], listed[_NAMED:]
    words = [f"{one:,}" for one in shown] + ([f"{sum(rest):,} in {len(rest):,} further {noun}"] if rest else [])
    return f"{total:,} {name} = {' + '.join(words)}."


def added_money(total: float | None, terms: Sequence[float | None], noun: str) -> str:
    """As `added`, of money; what is not known counts for nothing."""
    listed = sorted((one for one in terms if one), reverse=True)
    if total is None:
        return ""
    if not listed:
        return f"{usd(total)} in {len(terms):,} {noun}."
    if len(listed) == 1:
        return f"{usd(total)}."
    shown, rest = listed[:_NAMED], listed[_NAMED:]
    words = [usd(one) for one in shown]
    words += [f"{usd(sum(rest))} in {len(rest):,} further {noun}"] if rest else []
    return f"{usd(total)} = {' + '.join(words)}."


def lost(more: float | None, paid: float | None) -> str:
    """``$1.85 lost = $2.01 paid − $0.160 for a read.``"""
    if more is None or paid is None:
        return "No price is known for it."
    return f"{usd(more)} lost = {usd(paid)} paid − {usd(paid - more)} for a read."


def less(after: int, whole: int, taken: int, names: tuple[str, str, str]) -> str:
    """``300 after = 1,000 before − 700 freed.``"""
    first, second, third = names
    sign = "−" if taken >= 0 else "+"
    return f"{after:,} {first} = {whole:,} {second} {sign} {abs(taken):,} {third}."
