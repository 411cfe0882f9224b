"""What happens in an Inspector, for whoever wants to hear of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

from textual.message import Message

from ctxtui.core.session import AnswerGrew
from ctxtui.views.text.span import Spans

P = ParamSpec("P")


class Signal(Generic[P]):
    """Something happened: all that subscribed are called, the first first."""

    def __init__(self) -> None:
        self._heard: list[Callable[P, object]] = []

    def subscribe(self, do: Callable[P, object]) -> None:
        """Call this, too."""
        self._heard.append(do)

    def unsubscribe(self, do: Callable[P, object]) -> None:
        """Do not call this any more."""
        self._heard.remove(do)

    def emit(self, *args: P.args, **more: P.kwargs) -> bool:
        """Call all of them; whether any said that it did something."""
        done = [do(*args, **more) for do in self._heard]
        return any(done)


class Signals:
    """What controllers may subscribe to: the `loader` posted something; another session is read (`reopened`), all of it
    is (`complete`); answers `grew` while they come in; figures were `worked` out, with whether that is all; the rows
    are others (`changed`); all panes are `shown` anew, or `fitted` to another size; the cursor `moved`; what is open is
    `closed`, which tells whether anything was; something is to be `told` on the prompt's line, or was `said` there; a
    list wishes that an `edit` of this kind is staged, or to `compare` two calls."""

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
        self.told: Signal[[Spans]] = Signal()
        self.said: Signal[[Spans]] = Signal()
        self.edit: Signal[[str]] = Signal()
        self.compare: Signal[[tuple[str, int], tuple[str, int], int, Callable[[], object]]] = Signal()
