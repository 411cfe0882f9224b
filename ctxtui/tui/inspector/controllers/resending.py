"""Sending a recorded call again: unchanged or under edits, to its model or another."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from ctxtui.analysis.content.agreement import NextStep
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import price_table
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import EDITS
from ctxtui.tui.inspector.context_edits import ContextEdits, EditController
from ctxtui.tui.inspector.controller import ModelAccess, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.services.chat.chat_model import ChatModel, ModelChoice
    from ctxtui.services.chat.resending import PlannedResend


class ResendController(EditController):
    """Sends the call shown again and shows both answers side by side."""

    def __init__(
        self,
        state: InspectorState,
        prompt: SessionPrompt,
        access: ScreenAccess,
        edits: ContextEdits,
        model_access: ModelAccess,
    ) -> None:
        super().__init__(state, prompt, access, edits)
        self._model_access = model_access

    def resend(self) -> None:
        scene = self.panels.scene
        if self.prompt.is_asking or scene is None or not scene.calls or not self.edits.check_ready(counted=True):
            return
        own = self._model_access.own_model(scene)
        words = [Span(f" send call {scene.index + 1:,} again to › ", "accent bold")]
        self.prompt.ask_for(
            words, lambda name: self._prepare(scene, name.strip(), own), own.model if own is not None else ""
        )

    def _prepare(self, scene: Scene, name: str, own: ModelChoice | None) -> None:
        """Offer to send the call to the model `name`; if that is `own`, at its provider and address."""
        from ctxtui.services.chat.model_summary import parse_choice

        if name:
            choice = own if own is not None and name == own.model else parse_choice(name)
            self.show_message([Span("building the request …", "dim")])
            self.access.run(self._offer(scene, choice), "resend", exclusive=True)

    async def _offer(self, scene: Scene, choice: ModelChoice) -> None:
        from ctxtui.services.chat.model_summary import choose_named_model

        try:
            model = await choose_named_model(choice, self._model_access.config)
            resend = await asyncio.to_thread(self._plan, scene, model)
        except CtxtuiError as error:
            self.prompt.refuse(str(error))
            return
        if resend.refused:
            self.prompt.refuse(resend.refused)
            return
        cost = "no charge" if resend.usd == 0 else f"{numbers.money(resend.usd)} at most"
        description = (
            f"{safe_text.one_line(model.model, 40)} ({model.endpoint.name}): {numbers.tokens(resend.input)}, {cost}"
        )
        keys = [Span(" y", "accent bold"), Span(" send ", "dim"), Span(" n", "accent bold"), Span(" no  ", "dim")]
        self.prompt.ask_for(
            [Span(" send? ", "warn bold"), *keys, Span(description, "dim")],
            partial(self._answer, resend, model),
            keys=("y", "n"),
        )

    def _answer(self, resend: PlannedResend, model: ChatModel, key: str) -> None:
        if key == "y":
            self.show_message([Span(f"waiting for {safe_text.one_line(model.model, 60)} …", "dim")])
            self.access.run(self._send(resend, model), "resend", exclusive=True)

    def _plan(self, scene: Scene, model: ChatModel) -> PlannedResend:
        """Build the request from the call's context and its edits. Raises `CtxtuiError`."""
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
        request = rebuild_request(applied, call, model, self._model_access.config.settings)
        tokens = count_request(study.book, call, applied, partial(study.count_now, call.model)).whole
        edited = "under the edits" if applied.is_changed else "unchanged"
        return PlannedResend(
            variant=edited,
            number=scene.index + 1,
            model=model.model,
            body=request.body,
            recorded=recorded_step(session, call) or NextStep(),
            input=tokens,
            answer=request.answer,
            usd=max_usd(model, tokens, request.answer, price_table()),
            refused=request.refused,
        )

    async def _send(self, resend: PlannedResend, model: ChatModel) -> None:
        from ctxtui.services.chat.resending import send_plan
        from ctxtui.tui.lists.resend import ResendScreen

        study = self.state.study
        assert study is not None

        def charge(usage: Usage, model_name: str) -> float | None:
            cost, _ = study.pricer([Call("", "", provider=model.endpoint.name, model=model_name, usage=usage)])[0]
            return None if cost is None else cost.usd

        (trial,) = await send_plan([resend], model, charge)
        self.show_message([])
        self.access.push(ResendScreen(trial, model.model), lambda _: None)


class SendAgain(Command):
    """Send the call shown again under its edits, and compare the answers.

    You choose the model. You see the price first, and nothing is sent before you confirm.
    """

    name, group = "send this call again", "calls"
    synonyms = ("compare", "another model", "retry", "test")
    run = Act(ResendController, ResendController.resend)
    needs = frozenset({EDITS})
