"""The same work over many sessions: here, one after the other, or by the processes of a cluster.

The work is a function of this package, named ``module:function``: it is given what a name stands for, what is asked of
it, and where to say how far it is; what it gives back must be picklable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone
from ctxtui.services.cluster import answers
from ctxtui.services.recordings.open_by_name import Named

Say = Callable[[str], None]
"""Told in words how far the work is."""
Work = Callable[[Named, Any, Say], Any]
_MAKER: Final = "ctxtui.services.session_work:make"


class Worked(NamedTuple):
    """What came of the session called `name`: `found`, or the `error` that it ended in."""

    name: str
    found: Any
    error: CtxtuiError | None = None


def over_sessions(
    work: str, sessions: Sequence[tuple[str, Named]], asked: Any, cluster: str = "", say: Say = lambda words: None
) -> Iterator[Worked]:
    """What the function called `work` finds of each of `sessions`, asked the same, in their order; by the processes of
    the cluster at that address where one is given. Raises what `cluster.answers` raises."""
    if not cluster:
        for name, named in sessions:
            yield Worked(name, *_attempted(work, named, asked, say))
        return
    yield from _in_order(work, sessions, asked, cluster, say)


def _in_order(work: str, sessions: Sequence[tuple[str, Named]], asked: Any, cluster: str, say: Say) -> Iterator[Worked]:
    requests = [(number, work, _anywhere(named), asked) for number, (_, named) in enumerate(sessions)]
    came: dict[int, Worked] = {}
    following = 0
    for done, (number, found, error) in enumerate(answers(_MAKER, requests, cluster, _gone), 1):
        say(f"{done:,} of {len(requests):,} sessions")
        came[number] = Worked(sessions[number][0], found, error)
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
    """What a process of a cluster answers with."""

    def answer(request: tuple[int, str, Named, Any]) -> tuple[int, Any, CtxtuiError | None]:
        number, work, named, asked = request
        return number, *_attempted(work, named, asked, lambda words: None)

    return answer
