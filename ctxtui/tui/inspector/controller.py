"""Controllers: one for each job of the Inspector. Each has its own private state and the methods that commands do; none
knows another one, or the screen. What two of them need is a method of the state."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.messages import Wish
from ctxtui.views.text.span import Spans

T = TypeVar("T")


class Delivery(Message, bubble=False):
    """Something that is to be done in the screen's own turn."""

    def __init__(self, do: Callable[[], object]) -> None:
        super().__init__()
        self.do = do


class ScreenAccess:
    """What a controller may do beside changing what is shown: open other screens, work in the background, reach the
    terminal. `planned` is a widget whose size is the screen's business."""

    def __init__(self, screen: Screen[Any], planned: Widget) -> None:
        self._screen = screen
        self._planned = planned
        self._due: set[Callable[[], object]] = set()

    @property
    def width(self) -> int:
        """Columns of the screen."""
        return self._screen.size.width

    @property
    def covered(self) -> bool:
        """Whether another screen lies over this one."""
        return self._screen.app.screen is not self._screen

    def push(self, screen: Screen[T], then: Callable[[T | None], None] | None = None) -> None:
        """Open another screen over this one; `then` gets what it closes with."""
        self._screen.app.push_screen(screen, then)

    def post(self, message: Message) -> None:
        """Tell the app."""
        self._screen.post_message(message.on(self._screen) if isinstance(message, Wish) else message)

    def deliver(self, do: Callable[[], object]) -> None:
        """From any thread: do this in the screen's turn, after what was delivered before."""
        self._screen.post_message(Delivery(do))

    def work(self, job: Callable[[], object], group: str, *, exclusive: bool = False) -> None:
        """Do `job` in a thread."""
        self._screen.run_worker(job, thread=True, group=group, exclusive=exclusive)

    def run(self, job: Coroutine[Any, Any, object], group: str, *, exclusive: bool = False) -> None:
        """Do `job` in the event loop, beside the keys."""
        self._screen.run_worker(job, group=group, exclusive=exclusive)

    def soon(self, do: Callable[[], object]) -> None:
        """Do this when what is under way is done."""
        self._screen.call_later(do)

    def once(self, do: Callable[[], object]) -> None:
        """Do this when what is under way is done, once however often it is asked for until then."""
        if do not in self._due:
            self._due.add(do)
            self._screen.call_later(self._do_due, do)

    def _do_due(self, do: Callable[[], object]) -> None:
        self._due.discard(do)
        do()

    def command(self, name: str) -> None:
        """Do the command of the class `name`, as if its key were pressed."""
        self._screen.call_later(self._screen.run_action, f"command('{name}')")

    def after_frame(self, do: Callable[[], object]) -> None:
        """Do this behind the next frame."""
        self._screen.call_after_refresh(do)

    def timer(self, seconds: float, do: Callable[[], object]) -> Timer:
        """Do this once, in so many seconds."""
        return self._screen.set_timer(seconds, do)

    def every(self, seconds: float, do: Callable[[], object]) -> Timer:
        """Do this again and again."""
        return self._screen.set_interval(seconds, do)

    def replan(self) -> None:
        """The panes stand elsewhere now."""
        # A child's change of layout makes Textual ask the stage again.
        self._planned.refresh(layout=True)

    def suspended(self) -> AbstractContextManager[None]:
        """The terminal is another program's meanwhile."""
        return self._screen.app.suspend()

    def repaint(self) -> None:
        """The terminal shows something else: paint all of it."""
        self._screen.app.refresh()

    def copy(self, text: str) -> None:
        """Copy `text` to the clipboard."""
        self._screen.app.copy_to_clipboard(text)


class Controller:
    """One job. `state` is what is shown, `prompt` the line that asks and tells."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        self.state = state
        self.prompt = prompt
        self.access = access
        self.panels = state.panels

    def say(self, words: Spans) -> None:
        """Say something on the prompt's line."""
        self.prompt.say(words)

    def facts(self) -> set[str]:
        """What commands may ask about this job."""
        return set()

    def close(self) -> None:
        """The screen is gone."""
