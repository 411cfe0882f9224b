"""The fold of a session, as other threads see it meanwhile."""

from __future__ import annotations

from typing import SupportsIndex

from msgspec.structs import replace

from ctxtui.core.call import Call
from ctxtui.core.session import MAIN, CallSeen, Session
from tests.cases.sessions import Story, use


class LookedAt(list[str]):
    """An order of calls of which each change is looked at by another thread at once."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.seen: list[Call] = []

    def append(self, id_: str) -> None:
        super().append(id_)
        self.seen = [self._session.calls[one] for one in self]

    def remove(self, id_: str, /) -> None:
        super().remove(id_)
        self.seen = [self._session.calls[one] for one in self]

    def pop(self, index: SupportsIndex = -1, /) -> str:
        raise AssertionError("an order loses no call but by name")


def test_whoever_goes_through_an_order_meanwhile_finds_each_of_its_calls() -> None:
    told = Story().user("go").call("one", use("a", "Bash", command="ls")).results(("a", "x")).call("two").session
    session = Session(told.tree)
    order = session.order[MAIN] = LookedAt(session)
    for call in told.calls.values():
        session.apply(CallSeen(call))
        assert order.seen[-1] is call
    moved = replace(call, thread="other")
    session.apply(CallSeen(moved))
    assert len(order.seen) == 1 and session.thread_calls("other") == [moved]
