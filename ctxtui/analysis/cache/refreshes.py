"""When requests that are no calls of a recording used the cache: what the record shows of them beside its calls.

A client asks by itself (a recap while its user is away, memories after a turn), a person interrupts a request, an
attempt fails and is made again. Each begins as the calls do, so each that the provider took starts lifetimes anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ctxtui.core.session import ASIDE, Happened, Session

_RETRIED: Final = "api error"
_INTERRUPT: Final = "interrupt"
_USED: Final = (ASIDE, _INTERRUPT, "unanswered")
_TOOL: Final = "for tool use"


class Refreshes:
    """What happened in a session beside its calls, by the call before it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._taken = 0
        self._after: dict[str, list[Happened]] = {}

    def used(self, call_id: str, until: float) -> float | None:
        """When a request after the call `call_id`, which got no call of its own, last used the cache (Unix seconds, at
        most `until`); None where the record shows none. An interrupted tool was no request."""
        return self._latest(until, (h for h in self._of(call_id) if h.kind in _USED and _TOOL not in h.text))

    def retried(self, call_id: str, until: float) -> float | None:
        """When an attempt after the call `call_id` last failed (Unix seconds, at most `until`): the next call was sent
        after that."""
        return self._latest(until, (h for h in self._of(call_id) if h.kind == _RETRIED))

    def _of(self, call_id: str) -> list[Happened]:
        happened = self._session.happenings
        for one in happened[self._taken :]:
            self._after.setdefault(one.after, []).append(one)
        self._taken = len(happened)
        return self._after.get(call_id, []) if call_id else []

    def _latest(self, until: float, happened: Iterable[Happened]) -> float | None:
        return max((one.at for one in happened if one.at is not None and one.at <= until), default=None)
