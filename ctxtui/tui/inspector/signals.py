"""Signals of an inspector, for controllers to subscribe to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

from textual.message import Message

from ctxtui.core.session import AnswerGrew
from ctxtui.views.text.span import Spans

P = ParamSpec("P")


class Signal(Generic[P]):
    """Calls its subscribers in the order of subscription."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[P, object]] = []

    def subscribe(self, do: Callable[P, object]) -> None:
        self._subscribers.append(do)

    def unsubscribe(self, do: Callable[P, object]) -> None:
        self._subscribers.remove(do)

    def emit(self, *args: P.args, **more: P.kwargs) -> bool:
        """Call all subscribers; return whether any returned a true value."""
        done = [do(*args, **more) for do in self._subscribers]
        return any(done)


class Signals:
    """Signals of an inspector.

    - `loader`: the loader posted a message.
    - `reopened`: the session was replaced, or its first reading ended; `complete`: after that, all of it is shown.
    - `grew`: answers being received.
    - `worked`: figures were computed; the flag says whether a round of work ended.
    - `changed`: the rows changed. `shown`: all panes were updated.
    - `fitted`: panes were updated for another size, or facts changed without new rows (edits, an attached program).
    - `moved`: the transcript's cursor moved.
    - `closed`: `esc` closes what is open; a subscriber returns whether it closed something.
    - `message`: show a message on the prompt line; `message_shown`: it was shown.
    - `edit`: a list requests an edit of this kind; `compare`: a list requests the comparison of two calls.
    """

    def __init__(self) -> None:
        self.loader: Signal[[Message]] = Signal()
        self.reopened: Signal[[]] = Signal()
        self.complete: Signal[[]] = Signal()
        self.grew: Signal[[tuple[AnswerGrew, ...]]] = Signal()
        self.worked: Signal[[bool]] = Signal()
        self.changed: Signal[[]] = Signal()
        self.shown: Signal[[]] = Signal()
        self.fitted: Signal[[]] = Signal()
        self.moved: Signal[[]] = Signal()
        self.closed: Signal[[]] = Signal()
        self.message: Signal[[Spans]] = Signal()
        self.message_shown: Signal[[Spans]] = Signal()
        self.edit: Signal[[str]] = Signal()
        self.compare: Signal[[tuple[str, int], tuple[str, int], int, Callable[[], object]]] = Signal()
