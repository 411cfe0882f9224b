"""Whether the arithmetic that a text writes down holds, as far as its figures are rounded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_NUMBER: Final = r"(?<![\d.,])\$?\d{1,3}(?:,?\d{3})*(?:\.\d+)?(?![.,]?\d| ?%)"
_SHARE: Final = re.compile(rf"({_NUMBER}) of (?:the )?({_NUMBER})(?: [a-z]+)*(?: =| so far:) (\d+(?:\.\d+)?) %")
_TERMS: Final = rf"{_NUMBER}(?: [\w' -]+?)?(?: ±\d+ %)?(?: [+−] {_NUMBER}(?: [\w' -]+?)?(?: ±\d+ %)?)*"
_SUM: Final = re.compile(rf"({_TERMS}) = ({_TERMS})(?=[:.,;]|$)")
_SAVED: Final = re.compile(rf"1 − ({_NUMBER}) / ({_NUMBER}) without a cache = ([−\d.]+) %")
_TERM: Final = re.compile(rf"([+−])? ?({_NUMBER})[^+−]*")
_TIMES: Final = re.compile(rf"({_NUMBER}) tokens × ({_NUMBER}) (?:calls?|times?) = ({_NUMBER})")
_RATE: Final = re.compile(rf"({_NUMBER}) for ({_NUMBER})(?: \w+)*: ({_NUMBER}) for a million")


def claims(said: str) -> Iterator[tuple[str, float, float, float]]:
    """(what is claimed, its left side, its right side, how far rounding may part them) of all that `said` claims."""
    for found in _SHARE.finditer(said):
        part, whole, share = found.groups()
        if "$" not in part:
            yield found[0], 100 * _value(part) / max(1, _value(whole)), float(share), _half(share)
        elif _value(whole):
            room = 100 * (_half(part) + _half(whole) * _value(part) / _value(whole)) / _value(whole) + _half(share)
            yield found[0], 100 * _value(part) / _value(whole), float(share), room
    for found in _SUM.finditer(said):
        if "×" not in found.string[max(0, found.start() - 3) : found.start()]:
            yield _added(*found.group(0, 1, 2))
    for found in _TIMES.finditer(said):
        a, b, product = map(_value, found.groups())
        yield found[0], a * b, product, 0
    for found in _RATE.finditer(said):
        usd, tokens, rate = found.groups()
        room = 1e6 * _half(usd) / max(1.0, _value(tokens)) + _half(rate)
        yield found[0], 1e6 * _value(usd) / max(1.0, _value(tokens)), _value(rate), room
    for found in _SAVED.finditer(said):
        cost, whole, share = found.groups()
        room = 100 * (_half(cost) + _half(whole)) / max(1e-9, _value(whole))
        yield found[0], abs(100 * (1 - _value(cost) / _value(whole))), abs(float(share.replace("−", "-"))), room + 0.1


def broken(said: str) -> list[str]:
    """The claims of `said` that do not hold."""
    return [claim for claim, left, right, room in claims(said) if abs(left - right) > room + 1e-9]


def _added(claim: str, left: str, right: str) -> tuple[str, float, float, float]:
    exact = "." not in claim
    sums, room = [], 0.0
    for side in (left, right):
        terms = _TERM.findall(re.sub(r"±\d+ %", "", side))
        sums.append(sum(_value(text) * (-1 if sign == "−" else 1) for sign, text in terms))
        room += 0 if exact else sum(_half(text) for _, text in terms)
    return claim, sums[0], sums[1], room


def _value(text: str) -> float:
    return float(text.replace("$", "").replace(",", "").rstrip("."))


def _half(text: str) -> float:
    """Half of the last digit."""
    _, _, decimals = text.partition(".")
    return 0.5 * 10 ** -len(decimals)
