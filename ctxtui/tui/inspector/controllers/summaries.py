"""Summaries by a model, confirmed first and staged for review."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING

from ctxtui.core import edit as edits
from ctxtui.core.block import text
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.usage import Usage
from ctxtui.providers.endpoint import has_key
from ctxtui.services.config.config import Config
from ctxtui.services.session_source import SessionSource
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import KEYED
from ctxtui.tui.inspector.context_edits import BlocksOrInsertsCommand, ContextEdits, EditController
from ctxtui.tui.inspector.controller import ModelAccess, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.signs import done, failed
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.curation import edits_from_selection
    from ctxtui.services.chat.chat_model import ChatModel, ModelChoice
    from ctxtui.services.chat.model_summary import SummaryPart
    from ctxtui.services.editing.edited_context import EditedContext
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


_ASSUMED_ANSWER_TOKENS = 800
"""Assumed tokens of a summary, for its estimated price."""


class _Job:
    """A requested summary: its `edit`, `thread` and `part`, and the model.

    `own` is the agent's whole context if the agent itself is to write the summary, else None.
    """

    # Not a dataclass: creating one takes a millisecond of the first frame.
    def __init__(
        self, edit: Edit, thread: str, part: SummaryPart, model_choice: ModelChoice, own: EditedContext | None
    ) -> None:
        self.edit, self.thread, self.part, self.model_choice, self.own = edit, thread, part, model_choice, own


class RecordedModelAccess:
    """Uses the model of a recorded session; `source` has the user's settings."""

    def __init__(self, source: SessionSource) -> None:
        self._source = source

    def own_model(self, scene: Scene) -> ModelChoice | None:
        from ctxtui.services.chat.model_summary import parse_choice

        return parse_choice(scene.call.model) if scene.call.model else None

    @property
    def config(self) -> Config:
        """The settings without their origins, which matter only if no model is named."""
        return Config(self._source.settings, {})


class SummariesController(EditController):
    """Requests summaries from a model after the user's confirmation, and rates summaries."""

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

    def facts(self) -> set[str]:
        return {KEYED} if has_key(os.environ) else set()

    def model_summary(self) -> None:
        """Ask which model is to write the summary."""
        scene, area = self.panels.scene, self.edits.staging_area
        if self.prompt.is_asking or scene is None or area is None or not self.edits.check_ready():
            return
        edit = self._requested_summary(scene)
        if edit is None:
            self.show_message(failed("There is no block to summarize: mark some, or go to one."))
            return
        ready, own = area.to_edited_context(scene), self._model_access.own_model(scene)
        agent = own is not None and ready.has_system_and_tools
        words: list[Span] = [Span(" summary by ")]
        if own is not None:
            words += [Span(" s", "accent bold"), Span(f" {safe_text.one_line(own.model, 40)}", "dim")]
        words += [Span(" m", "accent bold"), Span(" another model", "dim")]
        words += [Span(" a", "accent bold"), Span(" the agent itself", "dim")] if agent else []
        keys = ("s",) * (own is not None) + ("m",) + ("a",) * agent

        def chosen(key: str) -> None:
            if key == "m":
                self._name_model(scene, edit)
            elif own is not None:
                self._prepare(scene, edit, own, ready if key == "a" else None)

        self.prompt.ask_for(words, chosen, keys=keys)

    def remark(self) -> None:
        if not self.prompt.is_asking and self.edits.check_ready():
            words = [Span(" remark on the summary › ", "accent bold")]
            self.prompt.ask_for(words, lambda text: self.rate("", text.strip()) if text.strip() else None)

    def rate(self, rating: str, remark: str = "") -> None:
        """Rate the summary at the block under the cursor, or add a remark."""
        scene, overlay, node = self.panels.scene, self.edits.overlay, self.panels.transcript.node
        new = self.panels.transcript.place.new
        if scene is None or overlay is None or not (node or new) or not self.edits.check_ready():
            return
        context = self.edits.context_of(scene)
        at = context.find(new.edit.targets[0]) if new is not None else self.edits.position(node)
        edit = (
            None if at is None else edits_from_selection.annotate_summary(context, overlay.in_force, at, rating, remark)
        )
        if edit is None:
            self.show_message([Span("This block has no summary.", "dim")])
        else:
            overlay.stage_all([edit])
            message = f"summary rated {rating}" if rating else "remark saved"
            self.show_message(done(f"{message}; E lists it"))
            self.edits.changed()

    def _requested_summary(self, scene: Scene) -> Edit | None:
        """Return the summary under the cursor, else a new one of the first run of selected blocks."""
        new = self.panels.transcript.place.new
        if new is not None and new.edit.kind == "summarize" and not self.state.marks:
            return new.edit
        context = self.edits.context_of(scene)
        positions = self.edits.selected_positions()
        if not positions:
            return None
        run = edits_from_selection.runs(context, positions)[0]
        return edits.make("summarize", context.targets(range(run[0], run[-1] + 1)), {"text": ""})

    def _name_model(self, scene: Scene, edit: Edit) -> None:
        from ctxtui.services.chat.model_summary import parse_choice

        self.prompt.ask_for(
            [Span(" model, or provider:model › ", "accent bold")],
            lambda name: self._prepare(scene, edit, parse_choice(name.strip()), None) if name.strip() else None,
            self._model_access.config.settings.model,
        )

    def _prepare(self, scene: Scene, edit: Edit, model_choice: ModelChoice, own: EditedContext | None) -> None:
        from ctxtui.curation.summary_request import quoted_literals
        from ctxtui.services.chat.model_summary import SummaryPart

        context = self.edits.context_of(scene)
        positions = sorted(at for target in edit.targets if (at := context.find(target)) is not None)
        literals = self.edits.staging_area.literals if self.edits.staging_area is not None else None
        sections = [
            section.strip()
            for section in self._model_access.config.settings.summary_sections.split(";")
            if section.strip()
        ]
        keep = quoted_literals(literals, positions) if literals is not None else ()
        part = SummaryPart(context, positions, sections, keep, self._model_access.config.settings.summary_tokens)
        self.show_message([Span("connecting to the model …", "dim")])
        self.access.run(
            self._offer_to_send(_Job(edit, self.state.thread, part, model_choice, own)), "summary", exclusive=True
        )

    async def _offer_to_send(self, job: _Job) -> None:
        """Connect to the model, build the request, and ask whether to send it."""
        from ctxtui.services.chat.model_summary import build_request, choose_named_model

        try:
            model = await choose_named_model(job.model_choice, self._model_access.config)
            body = await asyncio.to_thread(build_request, model, self._model_access.config, job.part, job.own)
            offer = await asyncio.to_thread(self._describe_offer, model, body)
        except CtxtuiError as error:
            self.show_message(failed(error))
            return
        if self.prompt.is_asking:
            # Do not interrupt another question.
            self.show_message([*offer, Span(" press esc, then ^s to be asked again", "dim")])
            return
        keys = [Span("y", "accent bold"), Span(" yes ", "dim"), Span("n", "accent bold"), Span(" no  ", "dim")]
        self.prompt.ask_for(
            [Span(" send? ", "warn bold"), *keys, *offer], partial(self._answer, job, model, body), keys=("y", "n")
        )

    def _answer(self, job: _Job, model: ChatModel, body: bytes, key: str) -> None:
        if key == "y":
            self.show_message([Span(f"{safe_text.one_line(model.model, 60)} is writing the summary …", "dim")])
            self.access.run(self._request_summary(job, model, body), "summary", exclusive=True)

    def _describe_offer(self, model: ChatModel, body: bytes) -> Spans:
        """Return the size, model and estimated price of the request."""
        from ctxtui.tokens.weights import weigh

        study = self.state.study
        assert study is not None
        whole = text(body.decode("utf-8", "replace"))
        count = round(weigh(study.count_now(model.model, whole), study.book.weights(model.model)))
        usd = self._price(model, Usage(fresh=count, output=_ASSUMED_ANSWER_TOKENS))
        price = f", about {numbers.money(usd)}" if usd is not None else ", price unknown"
        name = f"{model.model} ({model.endpoint.name})"
        return [Span(f"about {numbers.tokens(count)} tokens to {safe_text.one_line(name, 60)}{price}")]

    def _price(self, model: ChatModel, usage: Usage) -> float | None:
        study = self.state.study
        assert study is not None
        cost, _ = study.pricer([Call("", "", provider=model.endpoint.name, model=model.model, usage=usage)])[0]
        return cost.usd if cost is not None else None

    async def _request_summary(self, job: _Job, model: ChatModel, body: bytes) -> None:
        from ctxtui.services.chat.model_summary import write_summary

        try:
            summary = await write_summary(model, body)
        except CtxtuiError as error:
            self.show_message(failed(error))
            return
        fields = {**job.edit.params, "text": summary.text, "by": summary.model}
        edit = edits.make("summarize", job.edit.targets, fields)
        area, keys = self.edits.staging_area, "`R` edits it, `l` lists what it lost, `a` applies it"
        if area is not None and job.thread != self.state.thread:
            # The user has moved to another thread.
            area.overlay(job.thread).stage_all([edit])
            self.edits.changed()
            keys = "it is staged in the thread that it summarizes"
        elif staged := self.edits.stage_text(edit):
            self.state.to_inserted(staged[0].id)
        else:
            return
        used = (
            f", {numbers.tokens(summary.usage.input)} in, {summary.usage.output:,} out"
            if summary.usage is not None
            else ""
        )
        usd = self._price(model, summary.usage) if summary.usage is not None else None
        used += f", {numbers.money(usd)}" if usd is not None else ""
        message = f"{safe_text.one_line(summary.model, 60)} wrote it{used}; {keys}"
        self.show_message(done(message))


class WriteSummary(BlocksOrInsertsCommand):
    """Let a model summarize the marked blocks up to the first gap, or write this summary again.

    You choose the model and confirm the estimated price first; the result is staged for you to apply.
    """

    name, keys, label, short_label = "summary by a model", ("ctrl+s",), "model's summary", "model"
    run = Act(SummariesController, SummariesController.model_summary)


class Remark(BlocksOrInsertsCommand):
    """Add a remark to the summary at this block: it is kept in the edit log."""

    name, on_marked = "remark on a summary", False
    run = Act(SummariesController, SummariesController.remark)


SUMMARIES: tuple[type[Command], ...] = (WriteSummary, Remark)


class RateGood(BlocksOrInsertsCommand):
    """Rate the summary at this block as good."""

    name, on_marked = "rate summary: good", False
    run = Act(SummariesController, lambda it: it.rate("good"))


class RatePoor(BlocksOrInsertsCommand):
    """Rate the summary at this block as poor."""

    name, on_marked = "rate summary: poor", False
    run = Act(SummariesController, lambda it: it.rate("poor"))
