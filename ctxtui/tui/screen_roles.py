"""What the app asks of a screen: whether it may be left, where to stand, which edits to take, to give way to keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ctxtui.tui.messages import Aim

if TYPE_CHECKING:
    from ctxtui.core.edit import Edit


@runtime_checkable
class MayStay(Protocol):
    """A screen that may not be left at once."""

    def may_quit(self, leave: Callable[[], None]) -> bool:
        """Whether the program may end now; asks the user otherwise, and calls `leave` where that is the answer."""


@runtime_checkable
class MayHold(Protocol):
    """A screen on which something would be lost if it was closed."""

    def may_close(self, close: Callable[[], None]) -> bool:
        """Whether it may be closed now; asks the user otherwise, and calls `close` where that is the answer."""


@runtime_checkable
class Aims(Protocol):
    """A screen that can be told where to stand."""

    aim: Aim | None


@runtime_checkable
class GivesWay(Protocol):
    """A screen whose work in the background halts while a key is answered."""

    def give_way(self) -> None:
        """A key came: halt, for a moment at most."""

    def answered(self) -> None:
        """What the key does is done: the halt ends with its frame."""


@runtime_checkable
class TakesNote(Protocol):
    """A screen that says something when its session is there."""

    note: str


@runtime_checkable
class TakesEdits(Protocol):
    """A screen that can be given edits of its context."""

    def bring(self, edits: Sequence[Edit]) -> None:
        """Apply these, as soon as the context is there."""
