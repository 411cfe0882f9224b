"""Call the methods of an object that lives in a child process, one after the other.

Use it for all work that would block a screen for longer than a frame: a class with plain methods, or functions whose
first argument is such an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Concatenate, Final, Generic, NamedTuple, ParamSpec, TypeVar

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone, ChildProcess

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

_HOST: Final = "ctxtui.services.worker:host"


class WorkerClosed(ChildGone):
    """The worker was closed for good, so its caller ends, too."""


class _Request(NamedTuple):
    """A call of `method` on the object, which the first request makes.

    The object is ``make(*constructor_arguments)``. With `steps` (a run's number) the method returns an iterator; a
    `method` of None asks for its next item.
    """

    make: Callable[..., Any]
    constructor_arguments: tuple[Any, ...]
    method: Callable[..., Any] | None
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    steps: int = 0


class Worker(Generic[T]):
    """The object `make(*arguments)` in a child process, which starts at the first call.

    `make`, `arguments`, methods, arguments and results are pickled. A subclass of `CtxtuiError` is raised here as a
    plain one; any other error ends the process.
    """

    def __init__(self, make: Callable[..., T], *arguments: Any) -> None:
        self._make, self._arguments = make, arguments
        self.child = ChildProcess(_HOST)
        self._closed = False
        self._steps = 0
        self._local: T | None = None

    def call(self, method: Callable[Concatenate[T, P], R], *args: P.args, **named: P.kwargs) -> R:
        """Call `method` and return its result.

        Raises `ChildGone`, `WorkerClosed`, or a `CtxtuiError` of `method`.
        """
        return self.prepare(method, *args, **named)()

    def prepare(self, method: Callable[Concatenate[T, P], R], *args: P.args, **named: P.kwargs) -> Callable[[], R]:
        """A function that does the call later.

        It raises `ChildGone` if `stop` or `close` was called in between.
        """
        request, close_count = _Request(self._make, self._arguments, method, args, named), self.child.close_count
        return lambda: self._ask(request, close_count)

    def attempt(self, method: Callable[Concatenate[T, P], R], *args: P.args, **named: P.kwargs) -> R | None:
        """Like `call`, but return None if the process ends or the worker is closed."""
        try:
            return self.call(method, *args, **named)
        except ChildGone:
            return None

    def call_or_run_here(self, method: Callable[Concatenate[T, P], R], *args: P.args, **named: P.kwargs) -> R:
        """Like `call`. If the process ends, do this call and all later ones in this process.

        Raises `WorkerClosed`: a screen that closes must not wait for the work.
        """
        if self._local is None:
            try:
                return self.call(method, *args, **named)
            except WorkerClosed:
                raise
            except ChildGone:
                self._local = self._make(*self._arguments)
        if self._closed:
            raise WorkerClosed("it was closed")
        return method(self._local, *args, **named)

    def steps(self, method: Callable[Concatenate[T, P], Iterator[R]], *args: P.args, **named: P.kwargs) -> Iterator[R]:
        """Yield the items of `method` as they come.

        Ends when other steps begin or the worker is closed. Raises `ChildGone` if the process ends.
        """
        self._steps = number = self._steps + 1
        request = _Request(self._make, self._arguments, method, args, named, number)
        try:
            while item := self._ask(request, self.child.close_count):
                yield item[0]
                request = request._replace(method=None, arguments=(), named={})
        except WorkerClosed:
            return

    def stop(self) -> None:
        """Abort the running call; the next call starts another process."""
        self.child.close()

    def close(self) -> None:
        """End the process for good."""
        self._closed = True
        self.child.close()

    def _ask(self, request: _Request, close_count: int) -> Any:
        if self._closed:
            raise WorkerClosed("it was closed")
        try:
            error, result = self.child.ask(request, close_count=close_count)
        except ChildGone as gone:
            if self._closed:
                raise WorkerClosed("it was closed") from gone
            raise
        if error is not None:
            raise error
        return result


def end_when_closed(job: Callable[[], object]) -> Callable[[], None]:
    """A function that does `job`, and ends early if a worker that it calls is closed."""

    def run() -> None:
        with suppress(WorkerClosed):
            job()

    return run


def host() -> Callable[[_Request], tuple[CtxtuiError | None, Any]]:
    """Make the child's function, which returns an error or a result.

    For steps, the result is a list of one item, empty at the end.
    """
    objects: list[Any] = []
    running: dict[int, Iterator[Any]] = {}

    def answer(request: _Request) -> tuple[CtxtuiError | None, Any]:
        try:
            if not objects:
                objects.append(request.make(*request.constructor_arguments))
            if request.method is None:
                return None, list(islice(running.get(request.steps, iter(())), 1))
            result = request.method(objects[0], *request.arguments, **request.named)
            if not request.steps:
                return None, result
            running.clear()
            running[request.steps] = result
            return None, list(islice(result, 1))
        except CtxtuiError as error:
            return CtxtuiError(error.message, place=error.place, way_out=error.way_out), None

    return answer
