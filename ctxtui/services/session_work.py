"""The same work over many sessions: by processes on all processors of this machine, or by those of a cluster.

The work is a function of this package, named ``module:function``: it is given what a name stands for, what is asked of
it, and where to say how far it is; what it gives back must be picklable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone
from ctxtui.services.process_pool import iter_answers, processor_count
from ctxtui.services.recordings.databases.address import file_of
from ctxtui.services.recordings.open_by_name import Named

Say = Callable[[str], None]
"""Told in words how far the work is."""
Work = Callable[[Named, Any, Say], Any]
_MAKER: Final = "ctxtui.services.session_work:make"
_WORTH: Final = 1_000_000
"""Bytes beside the largest recording from which on other processes are worth their start, half a second."""
_STORED: Final = 300_000
"""Bytes that a session is taken for which the database holds."""


class SessionResult(NamedTuple):
    """What came of the session called `name`: `found`, or the `error` that it ended in."""

    name: str
    found: Any
    error: CtxtuiError | None = None


def over_sessions(
    work: str, sessions: Sequence[tuple[str, Named]], asked: Any, cluster: str = "", say: Say = lambda words: None
) -> Iterator[SessionResult]:
    """What the function called `work` finds of each of `sessions`, asked the same, in their order: on all processors
    where there is enough to do, or by the processes of the cluster at that address where one is given. Raises what
    `process_pool.answers` raises."""
    workers = min(processor_count(), len(sessions))
    if cluster or (workers > 1 and _much(named for _, named in sessions)):
        where = _anywhere if cluster else lambda named: named
        requests = [(number, work, where(named), asked) for number, (_, named) in enumerate(sessions)]
        yield from _in_order(sessions, iter_answers(_MAKER, requests, _gone, workers, cluster=cluster), say)
        return
    for name, named in sessions:
        yield SessionResult(name, *_attempted(work, named, asked, say))


def _much(sessions: Iterable[Named]) -> bool:
    """Whether other processes are worth their start. What comes through standard input only this one can read."""
    sizes = []
    for one in sessions:
        if one.path is None and not one.stored:
            return False
        try:
            sizes.append(file_of(one.path).stat().st_size if one.path is not None else _STORED)
        except OSError:
            continue
    return len(sizes) > 1 and sum(sizes) - max(sizes) >= _WORTH


def _in_order(
    sessions: Sequence[tuple[str, Named]], answered: Iterable[tuple[int, Any, CtxtuiError | None]], say: Say
) -> Iterator[SessionResult]:
    came: dict[int, SessionResult] = {}
    following = 0
    for done, (number, found, error) in enumerate(answered, 1):
        say(f"{done:,} of {len(sessions):,} sessions")
        came[number] = SessionResult(sessions[number][0], found, error)
        while following in came:
            yield came.pop(following)
            following += 1


def _gone(request: tuple[int, str, Named, Any], error: ChildGone) -> tuple[int, Any, CtxtuiError]:
    return request[0], None, CtxtuiError("the process that did it ended", way_out="is there memory enough for it?")


def _anywhere(named: Named) -> Named:
    """The same, whatever folder is worked in."""
    if named.path is None and not named.stored:
        raise CtxtuiError("a cluster cannot read standard input", place="-", way_out="save it to a file first")
    path = named.path.absolute() if named.path is not None else None
    return Named(path, named.stored, tuple(one.absolute() for one in named.others))


def _attempted(work: str, named: Named, asked: Any, say: Say) -> tuple[Any, CtxtuiError | None]:
    module, _, function = work.partition(":")
    does: Work = getattr(import_module(module), function)
    try:
        return does(named, asked, say), None
    except CtxtuiError as error:
        return None, error


def make() -> Callable[[tuple[int, str, Named, Any]], tuple[int, Any, CtxtuiError | None]]:
    """What a process answers with, here or in a cluster."""

    def answer(request: tuple[int, str, Named, Any]) -> tuple[int, Any, CtxtuiError | None]:
        number, work, named, asked = request
        return number, *_attempted(work, named, asked, lambda words: None)

    return answer
