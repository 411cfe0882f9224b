"""One question about a whole session, answered in a process of its own: reading, counting and the price library take
longer than a frame may. The reports: a session's misses, and its statement (the bill).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ctxtui.analysis.cache.misses import Misses, misses_of
from ctxtui.analysis.money.statement import Statement
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cached_by
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.recordings.open_by_name import Named, locate, open_named, stored_ids

T = TypeVar("T")
Asked = tuple[str, str, Settings]
"""What the session is called, the folder in which that is meant, the settings."""


def ask(child: str, name: str, settings: Settings, *, does: str, way_out: str) -> object:
    """What the child made by `child` (``module:function``) answers about the session that `name` stands for. `does` and
    `way_out` are said where it ends before it answers.

    Raises `CtxtuiError` where the session cannot be read.
    """
    process = ChildProcess(child)
    try:
        found = process.ask((name, str(Path.cwd()), settings))
    except ChildGone as error:
        raise CtxtuiError(f"the process that {does} ended", way_out=way_out) from error
    finally:
        process.close()
    if isinstance(found, CtxtuiError):
        raise found
    return found


def answering(work: Callable[[Session, Named, Settings], T]) -> Callable[[Asked], T | CtxtuiError]:
    """What such a child does: `work` on the session, or why that cannot be read."""

    def answer(asked: Asked) -> T | CtxtuiError:
        name, cwd, settings = asked
        try:
            found = locate(name, Path(cwd), lambda prefix: stored_ids(prefix, settings))
            return work(open_named(found, settings).session, found, settings)
        except CtxtuiError as error:
            return CtxtuiError(error.message, place=error.place, way_out=error.way_out)

    return answer


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
        return _misses_here(session, settings)
    does, way_out = "looks for misses", "ctxtui cache says them without one"
    found = ask("ctxtui.services.workers.session_report:answer_misses", name, settings, does=does, way_out=way_out)
    assert isinstance(found, Misses)
    return found


def _misses_here(session: Session, settings: Settings) -> Misses:
    from ctxtui.services.counting.count_cache import counter_with_memory

    with counter_with_memory(settings) as counter:
        return missed(session, counter, settings)


def answer_misses() -> Callable[[Asked], Misses | CtxtuiError]:
    """What the child answers with: the misses, or why there are none."""
    return answering(lambda session, _, settings: _misses_here(session, settings))


def stated(name: str, session: Session | None, settings: Settings) -> Statement:
    """The statement of the session that `name` stands for, or of `session` where it is read already.

    Raises `CtxtuiError` where it cannot be read.
    """
    if session is not None:
        return _statement_here(session, settings)
    does, way_out = "adds up the bill", "ctxtui why says it without one"
    found = ask("ctxtui.services.workers.session_report:answer_statement", name, settings, does=does, way_out=way_out)
    assert isinstance(found, Statement)
    return found


def _statement_here(session: Session, settings: Settings) -> Statement:
    from ctxtui.services.counting.accounts import account
    from ctxtui.services.counting.count_cache import counter_with_memory

    with counter_with_memory(settings) as counter:
        return account(session, counter, settings).statement()


def answer_statement() -> Callable[[Asked], Statement | CtxtuiError]:
    """What the child answers with: the statement, or why there is none."""
    from ctxtui.services.library.session_actions import subscribed

    def state(session: Session, named: Named, settings: Settings) -> Statement:
        made = _statement_here(session, settings)
        made.subscription = subscribed(named, settings)
        return made

    return answering(state)
