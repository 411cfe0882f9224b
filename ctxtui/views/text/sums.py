"""Figures explained in checkable sums: shares, differences, products, rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.views.text import numbers

ROW: Final = "row"
"""Key of the explanation that applies to any figure of a row."""
MAX_TERMS: Final = 3


def share(part: int, whole: int, of: str = "") -> str:
    """``122 of 1,000 tokens sent = 12.2 %.``; "" if the whole is 0."""
    return f"{part:,} of {whole:,} tokens{of} = {numbers.share(part / whole)}." if whole > 0 else ""


def share_of_money(part: float | None, whole: float | None, of: str = "") -> str:
    """``$1.20 of $4.80 = 25.0 %.``, without a share if the whole is 0; "" if either is unknown."""
    if part is None or whole is None or whole < 0:
        return ""
    return f"{usd(part)} of {usd(whole)}{of}{f' = {numbers.share(part / whole)}' if whole else ''}."


def usd(amount: float) -> str:
    """Like `numbers.money`, with six decimals for tiny amounts."""
    return numbers.money(amount) if abs(amount) >= 0.01 or not amount else f"{'−' * (amount < 0)}${abs(amount):.6f}"


def rate(amount: float | None, tokens: int, of: str = "tokens") -> str:
    """``$0.310 for 183,200 tokens: $1.69 per million.``; "" if the cost is unknown."""
    if amount is None:
        return ""
    if not amount or not tokens:
        return f"{usd(amount)} for {tokens:,} {of}."
    return f"{usd(amount)} for {tokens:,} {of}: ${1e6 * amount / tokens:,.2f} per million."


def product(tokens: int, count: int, more: str = "", noun: str = "call") -> str:
    """``4,537 tokens × 89 calls = 403,793.``"""
    return f"{tokens:,} tokens × {numbers.many(count, noun)} = {tokens * count:,}{more}."


def addition(total: int, name: str, terms: Sequence[int], noun: str) -> str:
    """``900 carried = 400 + 300 + 100 + 100 in 2 further blocks.``, largest terms first."""
    listed = sorted(terms, reverse=True)
    if len(listed) < 2:
        return f"{total:,} {name}."
    shown, rest = listed[:MAX_TERMS], listed[MAX_TERMS:]
    words = [f"{term:,}" for term in shown] + ([f"{sum(rest):,} in {len(rest):,} further {noun}"] if rest else [])
    return f"{total:,} {name} = {' + '.join(words)}."


def money_addition(total: float | None, terms: Sequence[float | None], noun: str) -> str:
    """Like `addition`, for money; unknown terms are left out."""
    listed = sorted((term for term in terms if term), reverse=True)
    if total is None:
        return ""
    if not listed:
        return f"{usd(total)} in {len(terms):,} {noun}."
    if len(listed) == 1:
        return f"{usd(total)}."
    shown, rest = listed[:MAX_TERMS], listed[MAX_TERMS:]
    words = [usd(term) for term in shown]
    words += [f"{usd(sum(rest))} in {len(rest):,} further {noun}"] if rest else []
    return f"{usd(total)} = {' + '.join(words)}."


def loss(more: float | None, paid: float | None) -> str:
    """``$1.85 lost = $2.01 paid − $0.160 for a read.``"""
    if more is None or paid is None:
        return "No price is known for it."
    return f"{usd(more)} lost = {usd(paid)} paid − {usd(paid - more)} for a read."


def difference(after: int, whole: int, subtracted: int, names: tuple[str, str, str]) -> str:
    """``300 after = 1,000 before − 700 freed.``"""
    first, second, third = names
    sign = "−" if subtracted >= 0 else "+"
    return f"{after:,} {first} = {whole:,} {second} {sign} {abs(subtracted):,} {third}."
