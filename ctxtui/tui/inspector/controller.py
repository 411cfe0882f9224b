"""Base of the inspector's controllers, one for each job, and their access to the screen.

A controller has private state and the methods that commands run. It does not know the screen. What several of them need
is a method of the state; the few that need another controller get it as an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from ctxtui.services.worker import end_when_closed
from ctxtui.tui.copied import KeepsCopiedBlocks
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.messages import OpenRequest
from ctxtui.views.text.span import Spans

if TYPE_CHECKING:
    from ctxtui.curation.transplant import CopiedBlocks
    from ctxtui.services.chat.chat_model import ModelChoice
    from ctxtui.services.config.config import Config
    from ctxtui.views.model.scene import Scene

T = TypeVar("T")


class Delivery(Message, bubble=False):
    """Run `do` in the screen's event loop."""

    def __init__(self, do: Callable[[], object]) -> None:
        super().__init__()
        self.do = do


class ScreenAccess:
    """The controllers' access to the screen: open screens, run work, use the terminal."""

    def __init__(self, screen: Screen[Any], child: Widget) -> None:
        self._screen = screen
        self._child = child
        self._scheduled: set[Callable[[], object]] = set()

    @property
    def width(self) -> int:
        return self._screen.size.width

    @property
    def is_covered(self) -> bool:
        return self._screen.app.screen is not self._screen

    def push(self, screen: Screen[T], then: Callable[[T | None], None] | None = None) -> None:
        """Open another screen over this one; `then` gets its result."""
        self._screen.app.push_screen(screen, then)

    def post(self, message: Message) -> None:
        """Post a message to the app; an `OpenRequest` gets this screen as its sender."""
        self._screen.post_message(message.sent_from(self._screen) if isinstance(message, OpenRequest) else message)

    def deliver(self, do: Callable[[], object]) -> None:
        """Run `do` in the screen's event loop, after earlier deliveries; thread-safe."""
        self._screen.post_message(Delivery(do))

    def work(self, job: Callable[[], object], group: str, *, exclusive: bool = False) -> None:
        """Run `job` in a thread; with `exclusive`, cancel earlier work of its `group`."""
        self._screen.run_worker(end_when_closed(job), thread=True, group=group, exclusive=exclusive)

    def run(self, job: Coroutine[Any, Any, object], group: str, *, exclusive: bool = False) -> None:
        """Run `job` in the event loop; with `exclusive`, cancel earlier work of its `group`."""
        self._screen.run_worker(job, group=group, exclusive=exclusive)

    def soon(self, do: Callable[[], object]) -> None:
        """Run `do` after current work."""
        self._screen.call_later(do)

    def once(self, do: Callable[[], object]) -> None:
        """Run `do` after current work, once for any number of requests."""
        if do not in self._scheduled:
            self._scheduled.add(do)
            self._screen.call_later(self._run_scheduled, do)

    def _run_scheduled(self, do: Callable[[], object]) -> None:
        self._scheduled.discard(do)
        do()

    def command(self, name: str) -> None:
        """Run the command of the class `name`, as if its key was pressed."""
        self._screen.call_later(self._screen.run_action, f"command('{name}')")

    def after_frame(self, do: Callable[[], object]) -> None:
        self._screen.call_after_refresh(do)

    def timer(self, seconds: float, do: Callable[[], object]) -> Timer:
        return self._screen.set_timer(seconds, do)

    def every(self, seconds: float, do: Callable[[], object]) -> Timer:
        return self._screen.set_interval(seconds, do)

    def replan(self) -> None:
        # A layout change of a child makes Textual lay out the panes again.
        self._child.refresh(layout=True)

    def suspended(self) -> AbstractContextManager[None]:
        return self._screen.app.suspend()

    def repaint(self) -> None:
        """Repaint everything after another program used the terminal."""
        self._screen.app.refresh()

    def copy(self, text: str) -> None:
        self._screen.app.copy_to_clipboard(text)

    @property
    def copied_blocks(self) -> CopiedBlocks | None:
        """Blocks that were copied last, in any session of the app."""
        app = self._screen.app
        return app.copied_blocks if isinstance(app, KeepsCopiedBlocks) else None

    def keep_copied(self, copied: CopiedBlocks) -> None:
        app = self._screen.app
        if isinstance(app, KeepsCopiedBlocks):
            app.copied_blocks = copied


class Controller:
    """One job of the inspector."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        self.state = state
        self.prompt = prompt
        self.access = access
        self.panels = state.panels

    def show_message(self, message: Spans) -> None:
        self.prompt.show_message(message)

    def facts(self) -> set[str]:
        """Return facts about this job for commands."""
        return set()

    def close(self) -> None:
        """Hook: the screen was closed."""


class ModelAccess(Protocol):
    """The session's model, and the configuration for requests to it or another one."""

    def own_model(self, scene: Scene) -> ModelChoice | None:
        """Return the session's own model choice; None if unknown."""

    @property
    def config(self) -> Config:
        """The configuration for calls."""
