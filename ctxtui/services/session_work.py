"""Runs one function over many sessions, in one process, in several, or on a cluster.

The function, named ``module:function``, gets the located session, a request and a progress callback; its result must be
picklable.
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
Work = Callable[[Named, Any, Say], Any]
_MAKER: Final = "ctxtui.services.session_work:make"
_MIN_PARALLEL_BYTES: Final = 1_000_000
"""Bytes besides the largest recording that make child processes worth their start of half a second."""
_STORED_BYTES: Final = 300_000
"""Assumed bytes of a session in the database."""


class SessionResult(NamedTuple):
    """The result for the session `name`, or the `error` that it ended in."""

    name: str
    result: Any
    error: CtxtuiError | None = None


def run_over_sessions(
    work: str, sessions: Sequence[tuple[str, Named]], request: Any, cluster: str = "", say: Say = lambda words: None
) -> Iterator[SessionResult]:
    """Run the function `work` with the same request on each of `sessions`.

    Yield the results in order. Child processes are used if there is enough work, or the `cluster` at that address.
    Raises what `process_pool.iter_answers` raises.
    """
    workers = min(processor_count(), len(sessions))
    if cluster or (workers > 1 and _is_worth_processes(named for _, named in sessions)):
        locate = _with_absolute_paths if cluster else lambda named: named
        requests = [(number, work, locate(named), request) for number, (_, named) in enumerate(sessions)]
        yield from _sort_answers(
            sessions, iter_answers(_MAKER, requests, _failed_answer, workers, cluster=cluster), say
        )
        return
    for name, named in sessions:
        yield SessionResult(name, *_run_work(work, named, request, say))


def _is_worth_processes(sessions: Iterable[Named]) -> bool:
    sizes = []
    for named in sessions:
        if named.path is None and not named.stored:
            return False  # only this process can read standard input
        try:
            sizes.append(file_of(named.path).stat().st_size if named.path is not None else _STORED_BYTES)
        except OSError:
            continue
    return len(sizes) > 1 and sum(sizes) - max(sizes) >= _MIN_PARALLEL_BYTES


def _sort_answers(
    sessions: Sequence[tuple[str, Named]], answers: Iterable[tuple[int, Any, CtxtuiError | None]], say: Say
) -> Iterator[SessionResult]:
    results: dict[int, SessionResult] = {}
    following = 0
    for done, (number, result, error) in enumerate(answers, 1):
        say(f"{done:,} of {len(sessions):,} sessions")
        results[number] = SessionResult(sessions[number][0], result, error)
        while following in results:
            yield results.pop(following)
            following += 1


def _failed_answer(request: tuple[int, str, Named, Any], error: ChildGone) -> tuple[int, Any, CtxtuiError]:
    return request[0], None, CtxtuiError("its process ended", way_out="is there enough memory?")


def _with_absolute_paths(named: Named) -> Named:
    if named.path is None and not named.stored:
        raise CtxtuiError("a cluster cannot read standard input", place="-", way_out="save it to a file first")
    path = named.path.absolute() if named.path is not None else None
    return Named(path, named.stored, tuple(other_path.absolute() for other_path in named.others))


def _run_work(work: str, named: Named, request: Any, say: Say) -> tuple[Any, CtxtuiError | None]:
    module, _, function = work.partition(":")
    does: Work = getattr(import_module(module), function)
    try:
        return does(named, request, say), None
    except CtxtuiError as error:
        return None, error


def make() -> Callable[[tuple[int, str, Named, Any]], tuple[int, Any, CtxtuiError | None]]:
    def answer(request: tuple[int, str, Named, Any]) -> tuple[int, Any, CtxtuiError | None]:
        number, work, named, arguments = request
        return number, *_run_work(work, named, arguments, lambda words: None)

    return answer
