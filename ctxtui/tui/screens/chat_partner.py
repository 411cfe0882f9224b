"""The part of a chat's screen about whom it talks to: another model, the next request as bytes, what limits leave."""

from __future__ import annotations

import time

from ctxtui.core.errors import CtxtuiError
from ctxtui.runtime.pager import NoPager, page
from ctxtui.tui.commands import Command
from ctxtui.tui.screens.chat_turn import TurnSeen
from ctxtui.views import numbers, safe_text
from ctxtui.views.span import Span, Spans

_TIGHT = 0.5
"""The share of a rate limit under which it is told."""


class Partnered(TurnSeen):
    """Acts on the partner of the chat."""

    def action_choose_model(self) -> None:
        """All models that the provider lists, to go on with."""
        from ctxtui.tui.screens.palette import PaletteScreen

        partner = self.host.partner
        if partner is None or self.study is None:
            return
        names = dict.fromkeys((partner.model, *partner.models))
        entries = [self._entry(name, self.study.book.card(name).window or 0) for name in names]

        async def run(action: str | None) -> None:
            if action is not None:
                self.use_model(action)

        self.app.push_screen(PaletteScreen(entries), run)

    def _entry(self, name: str, window: int) -> type[Command]:
        told = f"window of {numbers.tokens(window)} tokens" if window else "window not known"
        return type("Model", (Command,), {"name": safe_text.one_line(name, 60), "action": name, "__doc__": told})

    def use_model(self, name: str) -> None:
        """Go on with the model `name`."""
        try:
            self.host.change_model(name)
        except CtxtuiError as error:
            self.say([Span("✗ ", "crit"), Span(safe_text.one_line(str(error), 300), "crit")])
            return
        self.say([Span("◊ ", "cat-document"), Span(f"from now on {safe_text.one_line(name, 60)}", "dim")])
        self._look_again()

    def action_show_request(self) -> None:
        """The next request in the pager, byte for byte."""
        runner = self.host.runner
        if runner is None:
            return
        try:
            body = runner.conversation.draft().body.decode("utf-8", "replace")
            with self.app.suspend():
                page(safe_text.lines(body), self.pager)
        except (CtxtuiError, NoPager) as error:
            self.say([Span("✗ ", "crit"), Span(safe_text.one_line(str(error), 300), "crit")])
        self.app.refresh()

    async def action_show_rendered(self) -> None:
        """The next request as the server's template renders it, in the pager."""
        from ctxtui.providers.rendered import rendered

        runner, partner = self.host.runner, self.host.partner
        if runner is None or partner is None:
            return
        try:
            text = await rendered(partner.endpoint, runner.conversation.draft().body)
            with self.app.suspend():
                page(safe_text.lines(text), self.pager)
        except (CtxtuiError, NoPager) as error:
            self.say([Span("✗ ", "crit"), Span(safe_text.one_line(str(error), 300), "crit")])
        self.app.refresh()

    def headroom(self) -> Spans:
        """What the provider's rate limits leave, where that is little; cache reads do not count against them."""
        tight = [room for room in self.host.headroom if room.share < _TIGHT]
        if not tight:
            return []
        room = tight[0]
        left = f"{room.what.replace('-', ' ')} {100 * room.share:.0f} % left"
        until = f", whole in {max(0, room.reset - time.time()):.0f} s" if room.reset is not None else ""
        return [Span(f"{left}{until}  ", "warn" if room.share < 0.2 else "dim")]
