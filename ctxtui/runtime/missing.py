"""A session's misses for screen and command line; for the screen in a process of its own, as the bill is."""

from __future__ import annotations

from collections.abc import Callable

from ctxtui.analysis.cache.misses import Misses, misses_of
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.runtime.asked_apart import Asked, answering, ask
from ctxtui.runtime.auditing import cached_by
from ctxtui.runtime.books import book_for
from ctxtui.runtime.counting import Counter, count_all
from ctxtui.runtime.pricing import prices_for
from ctxtui.runtime.settings import Settings


def missed(session: Session, counter: Counter, settings: Settings) -> Misses:
    """The misses of `session`, worked out here."""
    from ctxtui.pricing.price import call_rates, price_call

    book = book_for(session, counter, settings)
    count_all(book, counter)
    table = prices_for(settings)
    costs = {call.id: price_call(call, table) for call in session.calls.values()}
    return misses_of(book, cached_by(book), costs, lambda call: call_rates(call, table))


def missed_apart(name: str, session: Session | None, settings: Settings) -> Misses:
    """The misses of the session that `name` stands for, or of `session` where it is read already.

    Raises `CtxtuiError` where it cannot be read.
    """
    if session is not None:
        return _here(session, settings)
    does, way_out = "looks for misses", "ctxtui cache says them without one"
    found = ask("ctxtui.runtime.missing:make", name, settings, does=does, way_out=way_out)
    assert isinstance(found, Misses)
    return found


def _here(session: Session, settings: Settings) -> Misses:
    from ctxtui.runtime.memory import counter_with_memory

    with counter_with_memory(settings) as counter:
        return missed(session, counter, settings)


def make() -> Callable[[Asked], Misses | CtxtuiError]:
    """What the child answers with: the misses, or why there are none."""
    return answering(lambda session, _, settings: _here(session, settings))
