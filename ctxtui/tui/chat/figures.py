"""Figures of the next request in a chat while its end is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ctxtui.agent.conversation import Draft
from ctxtui.analysis.cache import truncated_prompt
from ctxtui.services.config.window_checks import CRITICAL, REMEDY, context_level
from ctxtui.tui.chat.state import ChatController, ChatState
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.lazy import later
from ctxtui.views.model.scene import Scene
from ctxtui.views.text.signs import warned

if TYPE_CHECKING:
    from ctxtui.services.chat.request_forecast import RequestForecast, RequestForecaster
    from ctxtui.views.inspector import composition, header
else:
    composition = later("ctxtui.views.inspector.composition")
    header = later("ctxtui.views.inspector.header")


_MIN_SLACK = 0.1
"""Least relative difference of count and report that is taken for a cut."""


class FiguresController(ChatController):
    """Shows composition and size of the next request, including the answer being received."""

    def __init__(self, state: ChatState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self._next: Scene | None = None
        self._forecaster: RequestForecaster | None = None
        self._level = 0
        self._checked_call = ""
        self._alarmed = False
        state.on.shown.subscribe(self._on_shown)
        state.chat_signals.grown.subscribe(self._update_figures)
        state.chat_signals.began.subscribe(self._call_began)

    @property
    def incoming(self) -> dict[int, int]:
        """Counted tokens by category of the answer being received."""
        tokens: dict[int, int] = {}
        for block in self.state.rows.live if self.state.rows is not None else ():
            tokens[block.category] = tokens.get(block.category, 0) + (block.tokens or 0)
        return tokens

    def dismiss_alarm(self) -> None:
        self.state.chat_signals.alarm.emit("")

    def _on_shown(self) -> None:
        self._show_next()
        self._check_truncation()

    def _show_next(self) -> None:
        scene, model = self.panels.scene, self.host.chat_model
        staging, header_ = self.panels.staging, self.panels.header.content
        if scene is None or not scene.last or (header_ is not None and header_.after is not None):
            # The panes already show the next request under pending changes.
            self._next = None
            return
        if staging is not None and not staging.was_sent_plain:
            # The request is sent with edits.
            self._next = replace(scene, figures=staging.following)
        else:
            self._next = composition.next_scene(scene, model.model if model is not None else "") or self._next
        self._update_figures()

    def _update_figures(self) -> None:
        """Show the figures of the next request, with the answer received so far added."""
        now, scene, study = self._next, self.panels.scene, self.state.study
        if now is None or scene is None or study is None or not scene.last:
            return
        thread_study = study.thread(self.state.thread)
        spent = thread_study.spent[scene.number] if scene.number < len(thread_study.spent) else None
        before = scene.figures if scene.call.id else None
        context_figures = composition.composition(now, before, None, self.state.shown)
        self.panels.context.show(composition.with_answer(context_figures, self.incoming))
        header_figures = header.header(now, self.state.recording_state, spent, scene.number < len(thread_study.spent))
        used = None if header_figures.used is None else header_figures.used + sum(self.incoming.values())
        record = thread_study.records[scene.number] if scene.number < len(thread_study.records) else (0, 0)
        number = scene.number if scene.call.id else 0
        partial = scene.number < len(thread_study.lacking) and thread_study.lacking[scene.number] > 0
        self.panels.header.show(
            replace(header_figures, used=used, call=number, record=record, partial=partial, totals=study.totals)
        )
        self._warn(used or 0, now.limits.usable)

    def _warn(self, used: int, usable: int) -> None:
        """Warn when the context reaches a higher level of the settings; if critical, by the alarm."""
        level = context_level(used, usable, self.host.config.settings)
        if level.number > self._level:
            if level.number == CRITICAL:
                self.state.chat_signals.alarm.emit(f"{level.description}: {REMEDY} (`?` lists the keys)")
            else:
                self.show_message(warned(level.description))
        self._level = level.number

    def _check_truncation(self) -> None:
        """Mark the blocks that a local server cut off the prompt; raise an alarm the first time."""
        scene, model, rows = self.panels.scene, self.host.chat_model, self.state.rows
        if scene is None or model is None or rows is None or not model.endpoint.local or model.is_offline:
            return
        call, usage = scene.call, scene.call.usage
        if call.id == self._checked_call or usage is None or not scene.counted:
            return
        self._checked_call = call.id
        slack = max(_MIN_SLACK, scene.book.whole_slack(call.model, call.sent_head) or 0.0)
        cut = truncated_prompt.cut_prompt(
            scene.session.tree,
            call.sent_head,
            scene.running.block_tokens,
            scene.running.sent_tokens(call.sent_head, call.sent_head),
            slack=slack,
            read=usage.input,
            window=model.window,
        )
        rows.unseen = frozenset(cut.unseen) if cut is not None else frozenset()
        if cut is not None and not self._alarmed:
            self._alarmed = True
            fix = truncated_prompt.fix_for(model.endpoint.kind, cut.sent)
            message = f"{model.endpoint.name} read {cut.read:,} of about {cut.sent:,} tokens and cut the rest. Fix:"
            self.state.chat_signals.alarm.emit(f"{message} {fix}")
        if cut is not None:
            self.panels.transcript.redraw()

    async def judge(self, draft: Draft) -> str:
        """Return why a rule holds the drafted request, or "".

        Without such rules, forecast in the background.
        """
        from ctxtui.services.chat.request_forecast import has_hold_rules

        settings = self.host.config.settings
        if not has_hold_rules(settings):
            self.access.run(self._forecast_draft(draft), "forecasting")
            return ""
        return await self._forecast_draft(draft)

    async def _forecast_draft(self, draft: Draft) -> str:
        from ctxtui.services.chat.request_forecast import hold_reason

        forecaster = self._forecaster_for_model()
        if forecaster is None:
            return ""
        forecast = await asyncio.to_thread(forecaster.forecast, draft, self.host.clock())
        return hold_reason(forecast, self.host.config.settings)

    def _forecaster_for_model(self) -> RequestForecaster | None:
        """Return the forecaster for the chat's present model; None without model or session."""
        study, model = self.state.study, self.host.chat_model
        if study is None or model is None:
            return None
        if self._forecaster is None or self._forecaster.chat_model != model:
            self._forecaster = self.state.source.forecaster(study, model)
        return self._forecaster

    async def compare(self, drafts: Sequence[Draft]) -> list[RequestForecast | None]:
        """Forecast each of these drafts, as if sent now; None for each without model or session."""
        forecaster = self._forecaster_for_model()
        if forecaster is None:
            return [None for _ in drafts]
        return [await asyncio.to_thread(forecaster.forecast, draft, self.host.clock()) for draft in drafts]

    def _call_began(self, draft: Draft, at: float) -> None:
        """Tell the forecaster that the answer to `draft` began: the cache holds it from now on."""
        if self._forecaster is not None:
            self._forecaster.note_answer_begun(draft, at)
