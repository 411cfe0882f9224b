"""Model choice of a chat, and its next request as text."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from ctxtui.core.errors import CtxtuiError
from ctxtui.providers.local_servers import render_prompt
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.model_choice import ModelOffer, list_offers
from ctxtui.services.config.config import Config
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.external_editor import show_in_pager
from ctxtui.tui.chat.state import ChatController, ChatState
from ctxtui.tui.commands import Command
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span


def _model_command(offer: ModelOffer) -> type[Command]:
    """Make a palette entry for `offer`; its `action` is the model's id, no Textual action."""
    details = [f"{numbers.tokens(offer.window)} window" if offer.window else "window unknown"]
    if offer.fresh is not None and offer.output is not None:
        details.append(f"${offer.fresh:,.2f} in, ${offer.output:,.2f} out per 1M")
    details += [] if offer.listed else ["from the price list"]
    attributes = {"name": safe_text.one_line(offer.id, 60), "action": offer.id, "__doc__": " · ".join(details)}
    return type("Model", (Command,), attributes)


class ChatModelAccess:
    """Gives the chat's own model: the default for summaries and for calls sent again."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def own_model(self, scene: Scene) -> ModelChoice | None:
        """Return the choice of the chat's model, or before there is one, of the call's.

        None without either.
        """
        from ctxtui.services.chat.model_summary import parse_choice

        model = self._host.chat_model
        if model is not None:
            return replace(self._host.choice, model=model.model, session="")
        return parse_choice(scene.call.model) if scene.call.model else None

    @property
    def config(self) -> Config:
        return self._host.config


class ModelController(ChatController):
    """Changes the chat's model, and shows its next request in the pager."""

    def __init__(self, state: ChatState, prompt: SessionPrompt, access: ScreenAccess, pager: str) -> None:
        super().__init__(state, prompt, access)
        self._pager = pager

    async def choose_model(self) -> None:
        """Offer the models that the chat's provider or the price library lists."""
        from ctxtui.tui.dialogs.command_palette import PaletteScreen

        model = self.host.chat_model
        if model is None:
            return
        # Loading the price library takes time.
        offered = await asyncio.to_thread(list_offers, model, prices_for(self.host.config.settings))

        def run(command: type[Command] | None) -> None:
            if command is not None:
                self.use_model(command.action)

        self.access.push(PaletteScreen([_model_command(offer) for offer in offered], title="models"), run)

    def use_model(self, name: str) -> None:
        try:
            self.host.change_model(name)
        except CtxtuiError as error:
            self.prompt.refuse(str(error))
            return
        self.show_message([Span("◊ ", "cat-document"), Span(f"next request: {safe_text.one_line(name, 60)}", "dim")])
        self.state.grow_soon()

    def show_request(self) -> None:
        """Show the next request as it would be sent, in the pager; policies do not act on it."""
        try:
            draft = self.host.draft_next()
            if draft is None:
                return
            body = draft.body.decode("utf-8", "replace")
            with self.access.suspended():
                show_in_pager(safe_text.lines(body), self._pager)
        except CtxtuiError as error:
            self.prompt.refuse(str(error))
        self.access.repaint()

    async def show_rendered(self) -> None:
        """Show the next request as the server's template renders it, in the pager."""
        model = self.host.chat_model
        if model is None:
            return
        try:
            draft = self.host.draft_next()
            if draft is None:
                return
            text = await render_prompt(model.endpoint, draft.body)
            with self.access.suspended():
                show_in_pager(safe_text.lines(text), self._pager)
        except CtxtuiError as error:
            self.prompt.refuse(str(error))
        self.access.repaint()
