"""A session's statement for the screen: made in a process of its own, since reading, counting and the price library
take longer than a frame may."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.lab.statement import Statement
from ctxtui.runtime.apart import Child, ChildGone
from ctxtui.runtime.settings import Settings

Asked = tuple[str, str, Settings]
"""What the session is called, the folder in which that is meant, the settings."""


def stated(name: str, session: Session | None, settings: Settings) -> Statement:
    """The statement of the session that `name` stands for, or of `session` where it is read already.

    Raises `CtxtuiError` where it cannot be read.
    """
    if session is not None:
        return _here(session, settings)
    child = Child("ctxtui.runtime.stating:make")
    try:
        found: Statement | CtxtuiError = child.ask((name, str(Path.cwd()), settings))
    except ChildGone as error:
        raise CtxtuiError(
            "the process that adds up the bill ended", way_out="ctxtui why says it without one"
        ) from error
    finally:
        child.close()
    if isinstance(found, CtxtuiError):
        raise found
    return found


def _here(session: Session, settings: Settings) -> Statement:
    from ctxtui.runtime.accounts import account
    from ctxtui.runtime.memory import counter_with_memory

    with counter_with_memory(settings) as counter:
        return account(session, counter, settings).statement()


def make() -> Callable[[Asked], Statement | CtxtuiError]:
    """What the child answers with: the statement, or why there is none."""
    from ctxtui.runtime.sources import locate, open_named, stored_ids
    from ctxtui.runtime.subscribed import subscribed

    def answer(asked: Asked) -> Statement | CtxtuiError:
        name, cwd, settings = asked
        try:
            found = locate(name, Path(cwd), lambda prefix: stored_ids(prefix, settings))
            made = _here(open_named(found, settings).session, settings)
            made.subscription = subscribed(found, settings)
            return made
        except CtxtuiError as error:
            return CtxtuiError(error.message, place=error.place, way_out=error.way_out)

    return answer
