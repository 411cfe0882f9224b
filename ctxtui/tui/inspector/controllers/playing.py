"""Automatic replay, call after call, at a chosen speed."""

from __future__ import annotations

from typing import Final

from textual.timer import Timer

from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import CALLS
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.text.span import Span

SECONDS_PER_CALL: Final = (4.0, 2.0, 1.0, 0.5, 0.25, 0.1)
"""Seconds per call, from slow to fast."""
_FIRST_SPEED: Final = 2
"""Index of the first speed in `SECONDS_PER_CALL`."""


class PlayController(Controller):
    """Playback of the thread's calls; going elsewhere ends it."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self._timer: Timer | None = None
        self._speed = _FIRST_SPEED
        self._position = ("", 0)
        state.on.closed.subscribe(self._stop_if_playing)

    def play(self, step: int) -> None:
        """Start, from the first call if the last is shown; while playing, go faster (1) or slower."""
        if self.state.study is None:
            return
        if self._timer is None:
            self._speed = _FIRST_SPEED
            if self.state.index >= self.state.count - 1:
                self.state.go(0)
        else:
            self._speed = min(max(0, self._speed + step), len(SECONDS_PER_CALL) - 1)
        self._next()
        self._show_speed()

    def _next(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._position = self.state.thread, self.state.index
        self._timer = self.access.timer(SECONDS_PER_CALL[self._speed], self._step)

    def _step(self) -> None:
        if (self.state.thread, self.state.index) != self._position:
            self._stop()
        elif self.access.is_covered:
            self._next()
        elif self.state.index >= self.state.count - 1:
            self._stop()
            self.show_message([Span(f"played to call {self.state.count:,}, the last one", "dim")])
        else:
            self.state.go(self.state.index + 1)
            self._next()

    def _show_speed(self) -> None:
        seconds = SECONDS_PER_CALL[self._speed]
        speed = f"a call every {seconds:g} s" if seconds >= 1 else f"{1 / seconds:g} calls a second"
        words = [Span("» ", "accent"), Span(f"playing, {speed}  ")]
        for key, does in ((">", "faster"), ("<", "slower"), ("esc", "stops")):
            words += [Span(f" {key}", "accent bold"), Span(f" {does} ", "dim")]
        self.show_message(words)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = None

    def _stop_if_playing(self) -> bool:
        if self._timer is None:
            return False
        self._stop()
        words = [Span(f"stopped at call {self.state.index + 1:,}", "dim")]
        self.access.soon(lambda: self.show_message(words))  # after esc has cleared the line
        return True

    def close(self) -> None:
        self._stop()


class Play(Command):
    """Play the calls from here on; again: faster. `<` is slower, `esc` or any step stops."""

    name, keys, group = "play, faster", ("greater_than_sign",), "calls"
    synonyms = ("replay", "auto", "step", "watch")
    run = Act(PlayController, lambda it: it.play(1))
    needs = frozenset({CALLS})
    help_partners, help_row = ("PlaySlower",), ("> <", "play: faster, slower")


class PlaySlower(Play):
    """Play the calls from here on; again: slower."""

    name, keys = "play, slower", ("less_than_sign",)
    run = Act(PlayController, lambda it: it.play(-1))


PLAYING: tuple[type[Command], ...] = (Play, PlaySlower)
