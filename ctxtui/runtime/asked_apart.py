"""One question about a whole session, answered in a process of its own: reading, counting and the price library take
longer than a frame may."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.runtime.apart import Child, ChildGone
from ctxtui.runtime.settings import Settings
from ctxtui.runtime.sources import Named, locate, open_named, stored_ids

T = TypeVar("T")
Asked = tuple[str, str, Settings]
"""What the session is called, the folder in which that is meant, the settings."""


def ask(child: str, name: str, settings: Settings, *, does: str, way_out: str) -> object:
    """What the child made by `child` (``module:function``) answers about the session that `name` stands for. `does` and
    `way_out` are said where it ends before it answers.

    Raises `CtxtuiError` where the session cannot be read.
    """
    process = Child(child)
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
