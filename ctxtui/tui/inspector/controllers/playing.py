"""Replay that goes on by itself: call after call, at a speed, until it is stopped."""

from __future__ import annotations

from typing import Final

from textual.timer import Timer

from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import CALLS
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.text.span import Span

SPEEDS: Final = (4.0, 2.0, 1.0, 0.5, 0.25, 0.1)
"""Seconds for which a call is shown, from slow to fast."""
_FIRST: Final = 2


class PlayController(Controller):
    """Steps through the calls of the thread shown. It stops at the last one, by `esc`, and where one goes elsewhere."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self._timer: Timer | None = None
        self._speed = _FIRST
        self._at = ("", 0)
        state.on.closed.subscribe(self._stopped)

    def play(self, step: int) -> None:
        """Begin, or go faster (1) or slower (-1)."""
        if self.state.study is None:
            return
        if self._timer is None:
            self._speed = _FIRST
            if self.state.index >= self.state.count - 1:
                self.state.go(0)
        else:
            self._speed = min(max(0, self._speed + step), len(SPEEDS) - 1)
        self._next()
        self._tell()

    def _next(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._at = self.state.thread, self.state.index
        self._timer = self.access.timer(SPEEDS[self._speed], self._step)

    def _step(self) -> None:
        if (self.state.thread, self.state.index) != self._at:
            self._stop()
        elif self.access.is_covered:
            self._next()
        elif self.state.index >= self.state.count - 1:
            self._stop()
            self.say([Span(f"played to call {self.state.count:,}, the last one", "dim")])
        else:
            self.state.go(self.state.index + 1)
            self._next()

    def _tell(self) -> None:
        seconds = SPEEDS[self._speed]
        speed = f"a call every {seconds:g} s" if seconds >= 1 else f"{1 / seconds:g} calls a second"
        words = [Span("» ", "accent"), Span(f"playing, {speed}  ")]
        for key, does in ((">", "faster"), ("<", "slower"), ("esc", "stops")):
            words += [Span(f" {key}", "accent bold"), Span(f" {does} ", "dim")]
        self.say(words)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = None

    def _stopped(self) -> bool:
        """Whether there was anything to stop."""
        if self._timer is None:
            return False
        self._stop()
        words = [Span(f"stopped at call {self.state.index + 1:,}", "dim")]
        self.access.soon(lambda: self.say(words))  # behind what esc takes away
        return True

    def close(self) -> None:
        """The screen is gone."""
        self._stop()


class Play(Command):
    """Play the calls from here on, one after the other; again: faster. `<` is slower, `esc` or any step stops it."""

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
