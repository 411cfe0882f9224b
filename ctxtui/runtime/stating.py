"""A session's statement for the screen, made in a process of its own."""

from __future__ import annotations

from collections.abc import Callable

from ctxtui.analysis.money.statement import Statement
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.runtime.asked_apart import Asked, answering, ask
from ctxtui.runtime.settings import Settings
from ctxtui.runtime.sources import Named


def stated(name: str, session: Session | None, settings: Settings) -> Statement:
    """The statement of the session that `name` stands for, or of `session` where it is read already.

    Raises `CtxtuiError` where it cannot be read.
    """
    if session is not None:
        return _here(session, settings)
    does, way_out = "adds up the bill", "ctxtui why says it without one"
    found = ask("ctxtui.runtime.stating:make", name, settings, does=does, way_out=way_out)
    assert isinstance(found, Statement)
    return found


def _here(session: Session, settings: Settings) -> Statement:
    from ctxtui.runtime.accounts import account
    from ctxtui.runtime.memory import counter_with_memory

    with counter_with_memory(settings) as counter:
        return account(session, counter, settings).statement()


def make() -> Callable[[Asked], Statement | CtxtuiError]:
    """What the child answers with: the statement, or why there is none."""
    from ctxtui.runtime.subscribed import subscribed

    def state(session: Session, named: Named, settings: Settings) -> Statement:
        made = _here(session, settings)
        made.subscription = subscribed(named, settings)
        return made

    return answering(state)
