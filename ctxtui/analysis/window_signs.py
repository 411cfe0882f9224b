"""What recorded calls show of the window that their client works with: how large a context was taken, where the client
compacted by itself, whether it asked for the long one (facts §13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.call import COMPACTED, Call, Fidelity
from ctxtui.core.session import Session
from ctxtui.tokens.models import plain_id

AUTOMATIC: Final = "auto"
_CHANGING: Final = 16
"""Calls at the end of a session that are gone through at each look."""
_LONG: Final = "context-1m"
"""What the name of the beta begins with that asks for the long context."""


class ShownWindow(Struct):
    """What the calls of one model show: the largest input, where the client compacted by itself, and whether it asked
    for the long context."""

    largest: int = 0
    compacted: tuple[int, ...] = ()
    asked: bool = False

    @property
    def compacts(self) -> int:
        """Where the client compacts by itself, 0 where nothing shows: no larger context was sent, so that an earlier
        setting does not count, and what stood a little beyond the limit does not move it."""
        return min((size for size in self.compacted if size >= self.largest), default=0)


class WindowSigns:
    """What the calls of a session show of the windows that its client works with."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._key: tuple[int, int, int] = (-1, 0, 0)
        self._shown: Mapping[str, ShownWindow] = {}
        self._settled: tuple[list[Call], dict[str, ShownWindow]] = ([], {})
        """The calls before the last ones, which are gone through once, and what they show."""
        self._whole: tuple[list[Call], dict[str, ShownWindow]] = ([], {})
        """All calls as they were looked at last, and what they show."""

    def of(self, model: str) -> ShownWindow:
        """What the calls of `model` show."""
        calls = self._session.calls
        last = next(reversed(calls.values()), None) if calls else None
        key = (len(calls), len(self._session.tree), id(last))
        if key != self._key:
            # A list first: another thread may be folding calls in.
            self._key, self._shown = key, self._look(list(calls.values()))
        return self._shown.get(plain_id(model)) or ShownWindow()

    def _look(self, calls: list[Call]) -> dict[str, ShownWindow]:
        # A call that says something else by now is another object; the last ones still change. Two threads may look.
        # Lists compare what they hold by identity first: quick.
        looked, found = self._whole
        if looked == calls:
            return found
        (before, known), settled = self._settled, calls[:-_CHANGING]
        if settled[: len(before)] != before:
            before, known = [], {}
        base = {name: replace(one) for name, one in known.items()}
        _add(base, settled[len(before) :])
        self._settled = settled, base
        shown = {name: replace(one) for name, one in base.items()}
        _add(shown, calls[len(settled) :])
        self._whole = calls, shown
        return shown


def _add(found: dict[str, ShownWindow], calls: Iterable[Call]) -> None:
    plain: dict[str, str] = {}
    for call in calls:
        name = plain.get(call.model)
        if name is None:
            name = plain[call.model] = plain_id(call.model)
        one = found.setdefault(name, ShownWindow())
        if call.usage is not None and call.fidelity != Fidelity.TOTALS and not _passes(call):
            one.largest = max(one.largest, call.usage.input)
        if size := compacted_at(call):
            one.compacted = (*one.compacted, size)
        one.asked = one.asked or "[1m]" in call.model.lower() or _asks(call.extra.get("betas"))


def _passes(call: Call) -> bool:
    """Whether the report of `call` may add up several passes of the model, each of which had a window of its own."""
    usage = call.extra.get("usage")
    facts = {**usage, **call.extra} if isinstance(usage, Mapping) else call.extra
    iterations, ran = facts.get("iterations"), facts.get("server_tool_use")
    many = isinstance(iterations, list) and len(iterations) > 1
    return many or (isinstance(ran, Mapping) and any(isinstance(n, int) and n > 0 for n in ran.values()))


def compacted_at(call: Call) -> int:
    """The tokens at which the client compacted by itself before `call`; 0 where it did not, or nobody says."""
    noted = call.extra.get(COMPACTED)
    if not isinstance(noted, Mapping) or noted.get("trigger") != AUTOMATIC:
        return 0
    size = noted.get("tokens")
    return size if isinstance(size, int) and size > 0 else 0


def by_hand(call: Call) -> bool:
    """Whether the record says that a person asked for the compaction before `call`."""
    noted = call.extra.get(COMPACTED)
    return isinstance(noted, Mapping) and noted.get("trigger") not in (None, AUTOMATIC)


def _asks(betas: object) -> bool:
    return isinstance(betas, list) and any(isinstance(name, str) and name.startswith(_LONG) for name in betas)
