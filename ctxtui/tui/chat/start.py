"""The part of a chat's screen that says who answers, before the first word is said."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec.structs import replace

from ctxtui.services.chat.chat_model import ChatModel, stays_on_machine
from ctxtui.services.chat.model_choice import listed_rates
from ctxtui.services.counting.pricing import prices_for
from ctxtui.tui.chat.state import ChatController, ChatState
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.widgets.board import Board
from ctxtui.views.inspector import chat_start
from ctxtui.views.inspector.chat_start import ChatStart
from ctxtui.views.text.span import Spans


class StartPane(Board):
    """Shows a `ChatStart`."""

    def __init__(self) -> None:
        super().__init__(title="new chat", id="start")
        self.data: ChatStart | None = None

    def show(self, data: ChatStart) -> None:
        """What is known now."""
        if data != self.data:
            self.data = data
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Its lines, as many as fit."""
        return chat_start.lines(self.data, width)[:height] if self.data is not None else ()


class StartController(ChatController):
    """Fills `pane`. It is there until the chat has begun."""

    def __init__(self, state: ChatState, prompt: SessionPrompt, access: ScreenAccess, pane: StartPane) -> None:
        super().__init__(state, prompt, access)
        self._pane = pane
        self._begun = bool(self.host.choice.name)
        state.on.shown.subscribe(self._look)
        state.tells.early.subscribe(self._waits)
        state.tells.partner.subscribe(self._introduce)

    @property
    def shows(self) -> bool:
        """Whether nothing was said yet."""
        return not self._begun

    @property
    def known(self) -> ChatStart:
        """What is known of the partner."""
        home, folder = os.path.expanduser("~"), str(self.host.cwd)
        if self._pane.data is not None:
            return self._pane.data
        return ChatStart(folder="~" + folder[len(home) :] if folder.startswith(home + os.sep) else folder)

    def open(self) -> None:
        """The first frame."""
        if self.shows:
            self._pane.show(self.known)

    def _introduce(self, partner: ChatModel) -> None:
        """It is known who answers; what that costs is looked up beside the screen."""
        if not self.shows:
            return
        end = partner.endpoint
        local = end.local or partner.is_offline
        self._pane.show(
            replace(
                self.known,
                model=partner.model,
                of=end.name,
                address=end.base_url,
                local=local,
                keeps=stays_on_machine(partner),
                offline=partner.is_offline,
                why=partner.why,
                window=partner.window,
            )
        )
        if not stays_on_machine(partner):
            self.access.work(lambda: self._price(partner), "price")

    def _price(self, partner: ChatModel) -> None:
        found = listed_rates(partner, prices_for(self.host.config.settings))
        self.access.deliver(lambda: self._pane.show(replace(self.known, usd=found, priced=True)))

    def _waits(self, messages: int) -> None:
        """So many messages were said before there was anyone to hear them."""
        if self.shows:
            self._pane.show(replace(self.known, waiting=messages))

    def _look(self) -> None:
        """The panes come as soon as something is said."""
        if not self._begun and (self.state.running or self.host.session.calls):
            self._begun = True
            self.access.replan()
