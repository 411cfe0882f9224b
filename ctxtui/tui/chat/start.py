"""The start pane of a chat: model, provider and price before the first message."""

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
from ctxtui.wire.key_mask import mask_url


class StartPane(Board):
    """Shows a `ChatStart`."""

    def __init__(self) -> None:
        super().__init__(title="new chat", id="start")
        self.data: ChatStart | None = None

    def show(self, data: ChatStart) -> None:
        if data != self.data:
            self.data = data
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        return chat_start.lines(self.data, width)[:height] if self.data is not None else ()


class StartController(ChatController):
    """Fills `pane`, which is shown until the chat has begun."""

    def __init__(self, state: ChatState, prompt: SessionPrompt, access: ScreenAccess, pane: StartPane) -> None:
        super().__init__(state, prompt, access)
        self._pane = pane
        self._has_begun = bool(self.host.choice.session)
        state.on.shown.subscribe(self._check_begun)
        state.chat_signals.early.subscribe(self._show_waiting)
        state.chat_signals.model.subscribe(self._show_model)

    @property
    def is_shown(self) -> bool:
        return not self._has_begun

    @property
    def content(self) -> ChatStart:
        home, folder = os.path.expanduser("~"), str(self.host.cwd)
        if self._pane.data is not None:
            return self._pane.data
        return ChatStart(folder="~" + folder[len(home) :] if folder.startswith(home + os.sep) else folder)

    def open(self) -> None:
        if self.is_shown:
            self._pane.show(self.content)

    def _show_model(self, model: ChatModel) -> None:
        """Show the model, and look up its price in a worker unless it runs on this machine."""
        if not self.is_shown:
            return
        end = model.endpoint
        local = end.local or model.is_offline
        self._pane.show(
            replace(
                self.content,
                model=model.model,
                of=end.name,
                address=mask_url(end.base_url),
                local=local,
                keeps=stays_on_machine(model),
                offline=model.is_offline,
                why=model.why,
                window=model.window,
            )
        )
        if not stays_on_machine(model):
            self.access.work(lambda: self._price(model), "price")

    def _price(self, model: ChatModel) -> None:
        rates = listed_rates(model, prices_for(self.host.config.settings))
        self.access.deliver(lambda: self._pane.show(replace(self.content, usd=rates, priced=True)))

    def _show_waiting(self, messages: int) -> None:
        if self.is_shown:
            self._pane.show(replace(self.content, waiting=messages))

    def _check_begun(self) -> None:
        """Replace the start pane by the inspector's panes after the first message."""
        if not self._has_begun and (self.state.is_running or self.host.session.calls):
            self._has_begun = True
            self.access.replan()
