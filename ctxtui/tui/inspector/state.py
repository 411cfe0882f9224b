"""The Inspector's desk: what the parts of its screen share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size
from textual.reactive import Reactive
from textual.screen import Screen

from ctxtui.core.session import MAIN
from ctxtui.tui.inspector.loader import SessionLoader, Source
from ctxtui.tui.inspector.panels import ALL_LINES, Panels
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.prompt_line import PromptLine
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.services.recordings.recording import Loaded
    from ctxtui.services.study.study import Study


class InspectorState(Screen[None]):
    """The state of an Inspector: call `index` (from 0) of `thread` is wanted, each category `shown` in its way.

    `study` knows the session that `loaded` reads; `glimpse` is its end, as long as the whole is not read. `follows`
    says that the view goes along with a recording that grows, `live` that one is being written, `complete` that the
    first reading is done. `places` is the call last shown of each thread,
    `came_from` the thread that was shown before this one.
    """

    # The screen is as large as the terminal: see `tui.widgets.still`.
    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)

    def __init__(self, source: Source, follow: bool) -> None:
        super().__init__()
        self.source = source
        self.panels = Panels()
        self.prompt = self.make_prompt()
        self.line = PromptLine(self.prompt, self._prompt_opened, self._prompt_closed)
        self.feed = SessionLoader(source, self.post_message)
        self.study: Study | None = None
        self.loaded: Loaded | None = None
        self.glimpse: Study | None = None
        self.thread = MAIN
        self.came_from = MAIN
        self.places: dict[str, int] = {}
        self.index = 0
        self.shown: tuple[str, ...] = ALL_LINES
        self.follows = follow
        self.live = False
        self.complete = False

    def make_prompt(self) -> LineEdit:
        """The line that takes words."""
        return LineEdit(id="prompt")

    @property
    def asking(self) -> bool:
        """Whether the prompt is entered."""
        return self.line.asking

    def _prompt_opened(self) -> None:
        self.prompt.can_focus = True
        self.replan()
        self.set_focus(self.prompt)

    def _prompt_closed(self) -> None:
        self.prompt.show([Span(" › ", "accent")])
        self.set_focus(self.panels.transcript)
        self.prompt.can_focus = False
        self.say(())
        self.replan()

    @property
    def count(self) -> int:
        """How many calls the thread has."""
        return len(self.study.thread(self.thread).calls) if self.study is not None else 0

    @property
    def at_end(self) -> bool:
        """Whether the view stands at the end of the recording: then it goes along."""
        return self.study is None or (self.index >= self.count - 1 and self.panels.transcript.at_last)

    def show(self, *, to_end: bool = False) -> None:
        """Show what is wanted, as far as it is known."""
        raise NotImplementedError

    def say(self, words: Spans) -> None:
        """Say something on the prompt's line; nothing clears it."""
        raise NotImplementedError

    def replan(self) -> None:
        """The panes stand elsewhere now."""
        raise NotImplementedError
