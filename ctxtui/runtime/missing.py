"""A session's misses for screen and command line; for the screen in a process of its own, as the bill is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.lab.missed import Misses, misses_of
from ctxtui.runtime.apart import Child, ChildGone
from ctxtui.runtime.auditing import cached_by
from ctxtui.runtime.books import book_for
from ctxtui.runtime.counting import Counter, count_all
from ctxtui.runtime.pricing import prices_for
from ctxtui.runtime.settings import Settings

Asked = tuple[str, str, Settings]
"""What the session is called, the folder in which that is meant, the settings."""


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
    child = Child("ctxtui.runtime.missing:make")
    try:
        found: Misses | CtxtuiError = child.ask((name, str(Path.cwd()), settings))
    except ChildGone as error:
        raise CtxtuiError(
            "the process that looks for misses ended", way_out="ctxtui cache says them without one"
        ) from error
    finally:
        child.close()
    if isinstance(found, CtxtuiError):
        raise found
    return found


def _here(session: Session, settings: Settings) -> Misses:
    from ctxtui.runtime.memory import counter_with_memory

    with counter_with_memory(settings) as counter:
        return missed(session, counter, settings)


def make() -> Callable[[Asked], Misses | CtxtuiError]:
    """What the child answers with: the misses, or why there are none."""
    from ctxtui.runtime.sources import locate, open_named, stored_ids

    def answer(asked: Asked) -> Misses | CtxtuiError:
        name, cwd, settings = asked
        try:
            found = locate(name, Path(cwd), lambda prefix: stored_ids(prefix, settings))
            return _here(open_named(found, settings).session, settings)
        except CtxtuiError as error:
            return CtxtuiError(error.message, place=error.place, way_out=error.way_out)

    return answer
