"""Sending a recorded call again in the Inspector: as it was, under the staged edits, or to another model. Nothing
leaves before the user says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from ctxtui.analysis.content.agreement import NextStep
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.usage import Usage
from ctxtui.services.config.config import Config
from ctxtui.services.config.package_data import price_table
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import EDITS
from ctxtui.tui.inspector.context_edits import ContextEdits, EditController
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.services.chat.chat_model import ChatModel, ModelChoice
    from ctxtui.services.chat.resending import PlannedResend


class Asks(Protocol):
    """Who is asked, and under which settings."""

    def own_model(self, scene: Scene) -> ModelChoice | None:
        """The model of the session itself; None where it has no name."""

    @property
    def config(self) -> Config:
        """The configuration under which models are asked."""


class _Offer(Struct, frozen=True, dict=True):
    """A request that may be sent, and to whom."""

    one: PlannedResend
    partner: ChatModel


class ResendController(EditController):
    """Sends the call shown again and puts the answers side by side."""

    def __init__(
        self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits, asker: Asks
    ) -> None:
        super().__init__(state, prompt, access, edits)
        self._asker = asker

    def resend(self) -> None:
        """Ask whom to send it to."""
        scene = self.panels.scene
        if self.prompt.asking or scene is None or not scene.calls or not self.edits.ready(counted=True):
            return
        own = self._asker.own_model(scene)
        words = [Span(f" send call {scene.index + 1:,} again to › ", "accent bold")]
        self.prompt.ask_for(
            words, lambda name: self._prepare(scene, name.strip()), own.model if own is not None else ""
        )

    def _prepare(self, scene: Scene, name: str) -> None:
        if name:
            self.say([Span("putting the request together …", "dim")])
            self.access.run(self._offer(scene, name), "resend", exclusive=True)

    async def _offer(self, scene: Scene, name: str) -> None:
        from ctxtui.services.chat.model_summary import choose_summary_model, parse_choice

        try:
            partner = await choose_summary_model(parse_choice(name), self._asker.config)
            one = await asyncio.to_thread(self._planned, scene, partner)
        except CtxtuiError as error:
            self.prompt.refuse(str(error))
            return
        if one.refused:
            self.prompt.refuse(one.refused)
            return
        cost = "nothing is charged" if one.usd == 0 else f"{numbers.money(one.usd)} at most"
        told = f"{safe_text.one_line(partner.model, 40)} ({partner.endpoint.name}): {numbers.tokens(one.input)}, {cost}"
        keys = [Span(" y", "accent bold"), Span(" send ", "dim"), Span(" n", "accent bold"), Span(" not  ", "dim")]
        self.prompt.ask_for(
            [Span(" send? ", "warn bold"), *keys, Span(told, "dim")],
            self._sender(_Offer(one, partner)),
            keys=("y", "n"),
        )

    def _sender(self, offer: _Offer) -> Callable[[str], None]:
        def sent(key: str) -> None:
            if key == "y":
                self.say([Span(f"{safe_text.one_line(offer.partner.model, 60)} answers …", "dim")])
                self.access.run(self._send(offer), "resend", exclusive=True)

        return sent

    def _planned(self, scene: Scene, partner: ChatModel) -> PlannedResend:
        """The call's own context under the edits that are staged or applied. Raises `CtxtuiError`."""
        from ctxtui.analysis.request_counts import count_request
        from ctxtui.curation.apply.apply import apply
        from ctxtui.curation.context import Context
        from ctxtui.curation.provider_rules import rules_for
        from ctxtui.services.chat.resending import (
            PlannedResend,
            max_usd,
            rebuild_request,
            recorded_step,
            resendable_calls,
        )

        study = self.state.study
        assert study is not None
        call, session = scene.call, scene.session
        resendable_calls(session, scene.thread or "main")
        context = Context.of_call(session.tree, call, call.raw_head)
        log = self.edits.overlay.in_force if self.edits.overlay is not None else ()
        applied = apply(context, tuple(log), rules_for(context.dialect, study.book.card(call.model)))
        made = rebuild_request(applied, call, partner, self._asker.config.settings)
        tokens = count_request(study.book, call, applied, partial(study.count_now, call.model)).whole
        edited = "under the staged edits" if applied.is_changed else "unchanged"
        return PlannedResend(
            variant=edited,
            number=scene.index + 1,
            model=partner.model,
            body=made.body,
            recorded=recorded_step(session, call) or NextStep(),
            input=tokens,
            answer=made.answer,
            usd=max_usd(partner, tokens, made.answer, price_table()),
            refused=made.refused,
        )

    async def _send(self, offer: _Offer) -> None:
        from ctxtui.services.chat.resending import send_plan
        from ctxtui.tui.lists.resend import ResendScreen

        study, partner = self.state.study, offer.partner
        assert study is not None

        def charge(usage: Usage, model: str) -> float | None:
            cost, _ = study.pricer([Call("", "", provider=partner.endpoint.name, model=model, usage=usage)])[0]
            return None if cost is None else cost.usd

        (trial,) = await send_plan([offer.one], partner, charge)
        self.say([])
        self.access.push(ResendScreen(trial, partner.model), lambda _: None)


class SendAgain(Command):
    """Send the call shown again, as it was or under the staged edits, to its model or another one: the answers stand
    side by side. The price is told first, and nothing leaves before you say so."""

    name, group = "send this call again", "calls"
    sought = ("compare", "another model", "retry", "test")
    run = Act(ResendController, ResendController.resend)
    needs = frozenset({EDITS})
