"""Totals over sessions, each call counted once however many files it stands in (law 3); Home's header."""

from __future__ import annotations

from collections.abc import Collection

from ctxtui.dataclasses import dataclass, field
from ctxtui.views.home.columns import read_share
from ctxtui.views.model.session_summary import CallSpent
from ctxtui.views.text import numbers, sums
from ctxtui.views.text.span import Span, Spans, merged, width


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over sessions: `sessions` of them, chosen among `of` (0: all there are), `tokens` in and out, `cost` in USD
    of the calls with a price, `unpriced` calls without one, `partial` ones whose answer is reported in part, `input`
    tokens and those of them that were `read` from a cache."""

    sessions: int = 0
    tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    partial: int = 0
    input: int = 0
    read: int = 0
    of: int = 0


Sums = tuple[float, float, float, float, float, float]
_NOTHING: Sums = (0.0,) * 6


def _of(call: CallSpent) -> Sums:
    return call.tokens, call.cost or 0.0, bool(call.cost is None and call.tokens), call.input, call.read, call.partial


def _plus(a: Sums, b: Sums, sign: int = 1) -> Sums:
    tokens, cost, unpriced, input_, read, partial = (x + sign * y for x, y in zip(a, b, strict=True))
    return tokens, cost, unpriced, input_, read, partial


@dataclass(slots=True)
class CallOwners:
    """Who owns which call: the first session that brings a call counts it, another one only once the owner is gone.

    Calls are kept as 64-bit hashes of their ids, because there may be a million of them.
    """

    _owner: dict[int, str] = field(default_factory=dict)
    _own: dict[str, set[int]] = field(default_factory=dict)
    _sums: dict[str, Sums] = field(default_factory=dict)
    _waiting: dict[int, dict[str, CallSpent]] = field(default_factory=dict)
    """Calls that others have too, with what they would add for each of them."""
    _waits: dict[str, list[int]] = field(default_factory=dict)
    _total: Sums = _NOTHING

    def put(self, key: str, calls: tuple[CallSpent, ...]) -> None:
        """The calls of session `key`, in place of those it had."""
        from hashlib import blake2b  # OpenSSL comes with it: after the first frame

        self.drop(key)
        own, sums, waits = set[int](), _NOTHING, list[int]()
        for call in calls:
            name = int.from_bytes(blake2b(call.id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
            if self._owner.setdefault(name, key) != key:
                self._waiting.setdefault(name, {})[key] = call
                waits.append(name)
            elif name not in own:
                own.add(name)
                sums = _plus(sums, _of(call))
        self._own[key], self._sums[key], self._waits[key] = own, sums, waits
        self._total = _plus(self._total, sums)

    def drop(self, key: str) -> None:
        """Session `key` is gone; its calls pass to sessions that have them too."""
        if key not in self._own:
            return
        self._total = _plus(self._total, self._sums.pop(key), -1)
        for name in self._waits.pop(key):
            self._waiting[name].pop(key, None)
        for name in self._own.pop(key):
            del self._owner[name]
            if heirs := self._waiting.get(name):
                heir, call = heirs.popitem()
                self._owner[name] = heir
                self._own[heir].add(name)
                self._sums[heir] = _plus(self._sums[heir], _of(call))
                self._total = _plus(self._total, _of(call))

    def totals(self, sessions: int) -> Totals:
        """The sums, for `sessions` listed ones."""
        return _totals(self._total, sessions)

    def among(self, keys: Collection[str], of: int) -> Totals:
        """The sums of the sessions `keys` alone, `of` so many; a call that several of them have counts once."""
        sums = _NOTHING
        taken: set[int] = set()
        for key in keys:
            sums = _plus(sums, self._sums.get(key, _NOTHING))
            for name in self._waits.get(key, ()):
                if name not in taken and self._owner.get(name) not in keys:
                    taken.add(name)
                    sums = _plus(sums, _of(self._waiting[name][key]))
        return _totals(sums, len(keys), of)


def _totals(sums: Sums, sessions: int, of: int = 0) -> Totals:
    tokens, cost, unpriced, input_, read, partial = sums
    return Totals(
        sessions=sessions,
        tokens=round(tokens),
        cost=max(0.0, cost),
        unpriced=round(unpriced),
        partial=round(partial),
        input=round(input_),
        read=round(read),
        of=of,
    )


def sums_of(totals: Totals) -> dict[str, str]:
    """What the figures of the header are made of, by the glossary's words."""
    spent = sums.rate(totals.cost, totals.tokens, "tokens in and out")
    once = "A call that stands in several files is counted once."
    whole = f"{totals.tokens:,} tokens = {totals.input:,} of input + {totals.tokens - totals.input:,} of output."
    return {
        "tokens": f"{whole} {once}",
        "cost": f"{spent} {once}",
        "list price": f"{spent} {once}",
        "hit rate": sums.share(totals.read, totals.input, " of input"),
        "sessions": f"{totals.sessions:,} are added up" + (f", of {totals.of:,}." if totals.of else "."),
    }


def header(room: int, directory: str, totals: Totals) -> list[Span]:
    """The screen's first line: what this is and where, the sums at the right as far as they fit."""
    left = [Span(" ctxtui ", "accent-ink on-accent bold"), Span(" "), Span("sessions", "ink bold")]
    where = [Span("   "), Span(directory, "dim")]
    groups = _groups(totals)
    while groups and width(left) + width(_joined(groups)) + 3 > room:
        groups.pop(0)
    right = _joined(groups)
    spans = [*left, *where] if width(left) + width(where) + width(right) + 3 <= room else left
    return merged([*spans, Span(" " * max(1, room - width(spans) - width(right) - 1)), *right, Span(" ")])


def _groups(totals: Totals) -> list[Spans]:
    noun = "session" if totals.sessions == 1 else "sessions"
    told = f"{totals.sessions:,} of {totals.of:,} sessions" if totals.of else f"{totals.sessions:,} {noun}"
    out: list[Spans] = [[Span(told, "warn" if totals.of else "dim")]]
    if totals.tokens:
        in_part = totals.partial > 0
        out.append([Span(numbers.least_tokens(totals.tokens, in_part), "ink bold"), Span(" tokens", "dim")])
        calls = "call" if totals.unpriced == 1 else "calls"
        more = [Span(f" + {totals.unpriced:,} {calls} without a price", "dim")] if totals.unpriced else []
        out.append([Span(numbers.least(totals.cost, in_part), "ink bold"), Span(" list price", "dim"), *more])
    if totals.read:
        share = read_share(totals.read / totals.input)
        out.append([Span("cache read ", "dim"), Span(share.text, f"{share.style} bold")])
    return out


def _joined(groups: list[Spans]) -> list[Span]:
    out: list[Span] = []
    for group in groups:
        out += [*([Span("   ")] if out else []), *group]
    return out
