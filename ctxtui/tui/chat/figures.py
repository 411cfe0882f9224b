"""The part of a chat's screen that shows the figures of the next request while the view stands at the end."""

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
    composition = later("ctxtui.views.inspector.composition")


_LEAST_SLACK = 0.1
"""The share by which a count may be off before a report below it means anything."""


class FiguresController(ChatController):
    """Shows composition and fill of what would be sent now, the answer that comes in included."""

    def __init__(self, state: ChatState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self.foretold: RequestForecast | None = None
        """What the drafted request was foretold to be."""
        self._next: Scene | None = None
        self._teller: RequestForecaster | None = None
        self._level = 0
        self._checked = ""
        self._alarmed = False
        state.on.shown.subscribe(self._shown)
        state.tells.grown.subscribe(self._grown)
        state.tells.began.subscribe(self._call_began)

    @property
    def coming(self) -> dict[int, int]:
        """Tokens by category of the answer that comes in, as far as counted."""
        found: dict[int, int] = {}
        for block in self.state.rows.live if self.state.rows is not None else ():
            found[block.category] = found.get(block.category, 0) + (block.tokens or 0)
        return found

    def _shown(self) -> None:
        self._show_next()
        self._check_cut()

    def _show_next(self) -> None:
        """Show the figures of the next request, once they are known."""
        scene, partner = self.panels.scene, self.host.chat_model
        staging, header_ = self.panels.staging, self.panels.header.what
        if scene is None or not scene.last or (header_ is not None and header_.after is not None):
            # The panes have the next request already, under what is about to change it.
            self._next = None
            return
        if staging is not None and not staging.unsent:
            # The context without edits is not what leaves.
            self._next = replace(scene, figures=staging.following)
        else:
            self._next = composition.next_scene(scene, partner.model if partner is not None else "") or self._next
        self._grown()

    def _grown(self) -> None:
        """The answer that comes in has grown."""
        now, scene, study = self._next, self.panels.scene, self.state.study
        if now is None or scene is None or study is None or not scene.last:
            return
        known = study.thread(self.state.thread)
        spent = known.spent[scene.number] if scene.number < len(known.spent) else None
        before = scene.figures if scene.call.id else None
        what = composition.composition(now, before, None, self.state.shown)
        self.panels.context.show(composition.with_answer(what, self.coming))
        shown = header.header(now, self.state.word, spent, scene.number < len(known.spent))
        used = None if shown.used is None else shown.used + sum(self.coming.values())
        record = known.records[scene.number] if scene.number < len(known.records) else (0, 0)
        number = scene.number if scene.call.id else 0
        partial = scene.number < len(known.lacking) and known.lacking[scene.number] > 0
        self.panels.header.show(
            replace(shown, used=used, call=number, record=record, partial=partial, totals=study.totals)
        )
        self._warn(used or 0, now.limits.usable)

    def _warn(self, used: int, usable: int) -> None:
        """Say once that a threshold of the settings is passed, again when the context fell below it meanwhile."""
        level = context_level(used, usable, self.host.config.settings)
        if level.number > self._level:
            if level.number == CRITICAL:
                self.state.tells.alarm.emit(f"{level.description}: {REMEDY} (`?` lists the keys)")
            else:
                self.say(warned(level.description))
        self._level = level.number

    def _check_cut(self) -> None:
        """Whether a local server read all of the last call's prompt; the first time it did not, an alarm says so."""
        scene, partner, rows = self.panels.scene, self.host.chat_model, self.state.rows
        if scene is None or partner is None or rows is None or not partner.endpoint.local or partner.is_offline:
            return
        call, usage = scene.call, scene.call.usage
        if call.id == self._checked or usage is None or not scene.counted:
            return
        self._checked = call.id
        slack = max(_LEAST_SLACK, scene.book.whole_slack(call.model, call.sent_head) or 0.0)
        found = truncated_prompt.cut_prompt(
            scene.session.tree,
            call.sent_head,
            scene.running.block_tokens,
            scene.running.sent_tokens(call.sent_head, call.sent_head),
            slack=slack,
            read=usage.input,
            window=partner.window,
        )
        rows.unseen = frozenset(found.unseen) if found is not None else frozenset()
        if found is not None and not self._alarmed:
            self._alarmed = True
            fix = truncated_prompt.fix_for(partner.endpoint.kind, found.sent)
            told = f"{partner.endpoint.name} read {found.read:,} of about {found.sent:,} tokens: the rest was cut. Fix:"
            self.state.tells.alarm.emit(f"{told} {fix}")
        if found is not None:
            self.panels.transcript.redraw()

    async def judge(self, draft: Draft) -> str:
        """Foretell the drafted request; why a rule wants it held."""
        from ctxtui.services.chat.request_forecast import has_hold_rules

        settings = self.host.config.settings
        if not has_hold_rules(settings):
            self.access.run(self._foretell(draft), "foretelling")
            return ""
        return await self._foretell(draft)

    async def _foretell(self, draft: Draft) -> str:
        from ctxtui.services.chat.request_forecast import hold_reason

        study, partner = self.state.study, self.host.chat_model
        if study is None or partner is None:
            return ""
        if self._teller is None or self._teller.chat_model != partner:
            self._teller = self.state.source.forecaster(study, partner)
        self.foretold = await asyncio.to_thread(self._teller.forecast, draft, self.host.clock())
        return hold_reason(self.foretold, self.host.config.settings)

    async def compare(self, drafts: Sequence[Draft]) -> list[RequestForecast | None]:
        """What each of these would come to if it left now."""
        study, partner = self.state.study, self.host.chat_model
        if study is None or partner is None:
            return [None for _ in drafts]
        if self._teller is None or self._teller.chat_model != partner:
            self._teller = self.state.source.forecaster(study, partner)
        return [await asyncio.to_thread(self._teller.forecast, draft, self.host.clock()) for draft in drafts]

    def _call_began(self, draft: Draft, at: float) -> None:
        """The answer to `draft` begins: the cache holds it from now on."""
        if self._teller is not None:
            self._teller.note_answer_begun(draft, at)
