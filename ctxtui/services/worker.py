"""An object in a process of its own: its methods are called from here, one after the other.

The one way to have work done beside a screen that takes longer than a frame may: a class with plain methods, or
functions whose first argument is such an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Concatenate, Final, Generic, NamedTuple, ParamSpec, TypeVar

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone, ChildProcess

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

_HOST: Final = "ctxtui.services.worker:host"


class _Request(NamedTuple):
    """Calls `method` of what `make` makes of `given`, at the first call. With `steps`, the number of a run of steps,
    the method gives an iterator; None: its next step."""

    make: Callable[..., Any]
    given: tuple[Any, ...]
    method: Callable[..., Any] | None
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    steps: int = 0


class Worker(Generic[T]):
    """What `make` makes of `given` in a child process, which starts at the first call. Both, methods, their arguments
    and what they give are pickled. A `CtxtuiError` is raised here; any other error ends the process."""

    def __init__(self, make: Callable[..., T], *given: Any) -> None:
        self._make, self._given = make, given
        self.child = ChildProcess(_HOST)
        self._closed = False
        self._steps = 0
        self._here: T | None = None

    def call(self, method: Callable[Concatenate[T, P], R], *args: P.args, **named: P.kwargs) -> R:
        """What `method` gives. Raises `ChildGone` where the process ends before, or this was closed."""
        return self.prepared(method, *args, **named)()

    def prepared(self, method: Callable[Concatenate[T, P], R], *args: P.args, **named: P.kwargs) -> Callable[[], R]:
        """`call`, to be done later: not at all where `stop` or `close` comes before."""
        request, ends = _Request(self._make, self._given, method, args, named), self.child.closed
        return lambda: self._ask(request, ends)

    def attempt(self, method: Callable[Concatenate[T, P], R], *args: P.args, **named: P.kwargs) -> R | None:
        """As `call`; None where the process ended, or this was closed."""
        try:
            return self.call(method, *args, **named)
        except ChildGone:
            return None

    def anyhow(self, method: Callable[Concatenate[T, P], R], *args: P.args, **named: P.kwargs) -> R:
        """As `call`; where the process has ended it is done in this one, from then on."""
        if self._here is None:
            try:
                return self.call(method, *args, **named)
            except ChildGone:
                self._here = self._make(*self._given)
        return method(self._here, *args, **named)

    def steps(self, method: Callable[Concatenate[T, P], Iterator[R]], *args: P.args, **named: P.kwargs) -> Iterator[R]:
        """What `method` yields, as it comes; ends early where other steps begin or this is closed. Raises `ChildGone`
        where the process ends."""
        self._steps = number = self._steps + 1
        request = _Request(self._make, self._given, method, args, named, number)
        try:
            while found := self._ask(request, self.child.closed):
                yield found[0]
                request = request._replace(method=None, arguments=(), named={})
        except ChildGone:
            if not self._closed:
                raise

    def stop(self) -> None:
        """End what is being done; the next call starts another process."""
        self.child.close()

    def close(self) -> None:
        """End it for good."""
        self._closed = True
        self.child.close()

    def _ask(self, request: _Request, ends: int) -> Any:
        if self._closed:
            raise ChildGone("it was closed")
        error, found = self.child.ask(request, closed=ends)
        if error is not None:
            raise error
        return found


def host() -> Callable[[_Request], tuple[CtxtuiError | None, Any]]:
    """What the child answers with: an error, or what a method gave; of steps a list of one, an empty one at the end."""
    objects: list[Any] = []
    running: dict[int, Iterator[Any]] = {}

    def answer(request: _Request) -> tuple[CtxtuiError | None, Any]:
        try:
            if not objects:
                objects.append(request.make(*request.given))
            if request.method is None:
                return None, list(islice(running.get(request.steps, iter(())), 1))
            found = request.method(objects[0], *request.arguments, **request.named)
            if not request.steps:
                return None, found
            running.clear()
            running[request.steps] = found
            return None, list(islice(found, 1))
        except CtxtuiError as error:
            return CtxtuiError(error.message, place=error.place, way_out=error.way_out), None

    return answer
