"""The part of a chat's screen about whom it talks to: another model, the next request as bytes, what limits leave."""

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
from ctxtui.services.external_editor import NoPager, show_in_pager
from ctxtui.tui.chat.state import ChatController, ChatState
from ctxtui.tui.commands import Command
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span


def _entry(one: ModelOffer) -> type[Command]:
    told = [f"{numbers.tokens(one.window)} window" if one.window else "window not known"]
    if one.fresh is not None and one.output is not None:
        told.append(f"${one.fresh:,.2f} in, ${one.output:,.2f} out per 1M")
    told += [] if one.listed else ["from the price list"]
    named = {"name": safe_text.one_line(one.id, 60), "action": one.id, "__doc__": " · ".join(told)}
    return type("Model", (Command,), named)


class ChatAsker:
    """Asks the chat's own model for summaries, too."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def own_model(self, scene: Scene) -> ModelChoice | None:
        """The model that is talked to; that of the call shown before there is one."""
        from ctxtui.services.chat.model_summary import parse_choice

        partner = self._host.chat_model
        if partner is not None:
            return replace(self._host.choice, model=partner.model, name="")
        return parse_choice(scene.call.model) if scene.call.model else None

    @property
    def config(self) -> Config:
        """That of the chat."""
        return self._host.config


class ModelController(ChatController):
    """Acts on the partner of the chat. `pager` is the user's setting."""

    def __init__(self, state: ChatState, prompt: SessionPrompt, access: ScreenAccess, pager: str) -> None:
        super().__init__(state, prompt, access)
        self._pager = pager

    async def choose_model(self) -> None:
        """All models that the provider has, to go on with."""
        from ctxtui.tui.dialogs.command_palette import PaletteScreen

        partner = self.host.chat_model
        if partner is None:
            return
        # The price library takes a moment to load.
        found = await asyncio.to_thread(list_offers, partner, prices_for(self.host.config.settings))

        def run(command: type[Command] | None) -> None:
            if command is not None:
                self.use_model(command.action)

        self.access.push(PaletteScreen([_entry(one) for one in found], title="models"), run)

    def use_model(self, name: str) -> None:
        """Go on with the model `name`."""
        try:
            self.host.change_model(name)
        except CtxtuiError as error:
            self.prompt.refuse(safe_text.one_line(str(error), 300))
            return
        self.say([Span("◊ ", "cat-document"), Span(f"from now on {safe_text.one_line(name, 60)}", "dim")])
        self.state.grow_soon()

    def show_request(self) -> None:
        """The next request in the pager, byte for byte."""
        runner = self.host.runner
        if runner is None:
            return
        try:
            body = runner.conversation.draft().body.decode("utf-8", "replace")
            with self.access.suspended():
                show_in_pager(safe_text.lines(body), self._pager)
        except (CtxtuiError, NoPager) as error:
            self.prompt.refuse(safe_text.one_line(str(error), 300))
        self.access.repaint()

    async def show_rendered(self) -> None:
        """The next request as the server's template renders it, in the pager."""
        runner, partner = self.host.runner, self.host.chat_model
        if runner is None or partner is None:
            return
        try:
            text = await render_prompt(partner.endpoint, runner.conversation.draft().body)
            with self.access.suspended():
                show_in_pager(safe_text.lines(text), self._pager)
        except (CtxtuiError, NoPager) as error:
            self.prompt.refuse(safe_text.one_line(str(error), 300))
        self.access.repaint()
