"""Summaries that a model writes: whom to ask, whether to send it, and what comes back staged for review.

Commands that have a model write a summary.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

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
from ctxtui.tui.inspector.context_edits import ContextEdits, EditController, OnBlocksOrPutIn
from ctxtui.tui.inspector.controller import ScreenAccess
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
    from ctxtui.services.editing.edited_context import Ready
else:
    edits_from_selection = later("ctxtui.curation.edits_from_selection")


_ANSWER = 800
"""Tokens that a summary is taken to have when its price is told."""


class _Job:
    """A summary that is wanted: the `edit` it stands for, of `thread`, the `part`, whom to ask, and the context for the
    agent."""

    # No dataclass: making one takes a millisecond of the first frame.
    def __init__(self, edit: Edit, thread: str, part: SummaryPart, wish: ModelChoice, own: Ready | None) -> None:
        self.edit, self.thread, self.part, self.wish, self.own = edit, thread, part, wish, own


class Asker(Protocol):
    """Whom summaries are asked of."""

    def own_model(self, scene: Scene) -> ModelChoice | None:
        """How the session's own model is asked for; None where it is not known."""

    @property
    def config(self) -> Config:
        """The configuration under which models are asked."""


class RecordedAsker:
    """Asks the model of a recorded session; `source` has the user's settings."""

    def __init__(self, source: SessionSource) -> None:
        self._source = source

    def own_model(self, scene: Scene) -> ModelChoice | None:
        """As the recording names it."""
        from ctxtui.services.chat.model_summary import parse_choice

        return parse_choice(scene.call.model) if scene.call.model else None

    @property
    def config(self) -> Config:
        """The user's settings, and nothing of the environment."""
        return Config(self._source.settings, {})


class SummariesController(EditController):
    """Asks a model for a summary; nothing leaves before the user says so. Rates summaries."""

    def __init__(
        self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits, asker: Asker
    ) -> None:
        super().__init__(state, prompt, access, edits)
        self._asker = asker

    def facts(self) -> set[str]:
        """Whether a model can be asked."""
        return {KEYED} if has_key(os.environ) else set()

    def model_summary(self) -> None:
        """Ask who is to write it."""
        scene, desk = self.panels.scene, self.edits.desk
        if self.prompt.asking or scene is None or desk is None or not self.edits.ready():
            return
        edit = self._summary_wanted(scene)
        if edit is None:
            self.say(failed("mark the blocks that a summary is to replace"))
            return
        ready, own = desk.leaving(scene), self._asker.own_model(scene)
        agent = own is not None and ready.whole
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
        """Ask what is to be said of the summary under the cursor."""
        if not self.prompt.asking and self.edits.ready():
            words = [Span(" remark on the summary › ", "accent bold")]
            self.prompt.ask_for(words, lambda text: self.rate("", text.strip()) if text.strip() else None)

    def rate(self, rating: str, remark: str = "") -> None:
        """Rate the summary that stands for the block under the cursor, or say something of it."""
        scene, overlay, node = self.panels.scene, self.edits.overlay, self.panels.transcript.node
        new = self.panels.transcript.place.new
        if scene is None or overlay is None or not (node or new) or not self.edits.ready():
            return
        context = self.edits.context_of(scene)
        at = context.find(new.edit.targets[0]) if new is not None else self.edits.position(node)
        edit = (
            None if at is None else edits_from_selection.annotate_summary(context, overlay.in_force, at, rating, remark)
        )
        if edit is None:
            self.say([Span("no summary stands for this block", "dim")])
        else:
            overlay.stage_all([edit])
            said = f"the summary is rated {rating}" if rating else "the remark is kept"
            self.say(done(f"{said}; E lists it"))
            self.edits.changed()

    def _summary_wanted(self, scene: Scene) -> Edit | None:
        """The summary under the cursor, else one of the marked blocks (of their first run)."""
        new = self.panels.transcript.place.new
        if new is not None and new.edit.kind == "summarize" and not self.state.marks:
            return new.edit
        context = self.edits.context_of(scene)
        positions = self.edits.chosen()
        if not positions:
            return None
        run = edits_from_selection.runs(context, positions)[0]
        return edits.make("summarize", context.targets(range(run[0], run[-1] + 1)), {"text": ""})

    def _name_model(self, scene: Scene, edit: Edit) -> None:
        from ctxtui.services.chat.model_summary import parse_choice

        self.prompt.ask_for(
            [Span(" model, or provider:model › ", "accent bold")],
            lambda name: self._prepare(scene, edit, parse_choice(name.strip()), None) if name.strip() else None,
            self._asker.config.settings.model,
        )

    def _prepare(self, scene: Scene, edit: Edit, wish: ModelChoice, own: Ready | None) -> None:
        from ctxtui.curation.summary_request import quoted_literals
        from ctxtui.services.chat.model_summary import SummaryPart

        context = self.edits.context_of(scene)
        positions = sorted(at for target in edit.targets if (at := context.find(target)) is not None)
        known = self.edits.desk.literals if self.edits.desk is not None else None
        sections = [one.strip() for one in self._asker.config.settings.summary_sections.split(";") if one.strip()]
        keep = quoted_literals(known, positions) if known is not None else ()
        part = SummaryPart(context, positions, sections, keep, self._asker.config.settings.summary_tokens)
        self.say([Span("looking for whom to ask …", "dim")])
        self.access.run(self._offer_to_send(_Job(edit, self.state.thread, part, wish, own)), "summary", exclusive=True)

    async def _offer_to_send(self, job: _Job) -> None:
        """Find the partner, make the request, and ask whether it may leave."""
        from ctxtui.services.chat.model_summary import build_request, choose_summary_model

        try:
            partner = await choose_summary_model(job.wish, self._asker.config)
            body = await asyncio.to_thread(build_request, partner, self._asker.config, job.part, job.own)
            told = await asyncio.to_thread(self._offer_told, partner, body)
        except CtxtuiError as error:
            self.say(failed(error))
            return
        if self.prompt.asking:
            # Something else is being typed: it is not taken away.
            self.say([*told, Span(" esc, then ^s, asks again whether to send it", "dim")])
            return
        keys = [Span("y", "accent bold"), Span(" yes ", "dim"), Span("n", "accent bold"), Span(" no  ", "dim")]
        self.prompt.ask_for(
            [Span(" send? ", "warn bold"), *keys, *told], self._sender(job, partner, body), keys=("y", "n")
        )

    def _sender(self, job: _Job, partner: ChatModel, body: bytes) -> Callable[[str], None]:
        def answer(key: str) -> None:
            if key == "y":
                self.say([Span(f"{safe_text.one_line(partner.model, 60)} writes the summary …", "dim")])
                self.access.run(self._ask(job, partner, body), "summary", exclusive=True)

        return answer

    def _offer_told(self, partner: ChatModel, body: bytes) -> Spans:
        """What would be sent to whom, and about what it costs."""
        from ctxtui.tokens.weights import weigh

        study = self.state.study
        assert study is not None
        whole = text(body.decode("utf-8", "replace"))
        count = round(weigh(study.count_now(partner.model, whole), study.book.weights(partner.model)))
        usd = self._price(partner, Usage(fresh=count, output=_ANSWER))
        price = f", about {numbers.money(usd)}" if usd is not None else ", no price is known"
        name = f"{partner.model} ({partner.endpoint.name})"
        return [Span(f"about {numbers.tokens(count)} tokens to {safe_text.one_line(name, 60)}{price}")]

    def _price(self, partner: ChatModel, usage: Usage) -> float | None:
        """What a request to this model costs, in USD."""
        study = self.state.study
        assert study is not None
        cost, _ = study.pricer([Call("", "", provider=partner.endpoint.name, model=partner.model, usage=usage)])[0]
        return cost.usd if cost is not None else None

    async def _ask(self, job: _Job, partner: ChatModel, body: bytes) -> None:
        from ctxtui.services.chat.model_summary import write_summary

        try:
            made = await write_summary(partner, body)
        except CtxtuiError as error:
            self.say(failed(error))
            return
        given = {**job.edit.params, "text": made.text, "by": made.model}
        edit = edits.make("summarize", job.edit.targets, given)
        if job.thread == self.state.thread:
            for one in self.edits.stage([edit]):
                self.state.to_new(one.id)
        elif self.edits.desk is not None:
            # The user looks at another thread meanwhile.
            self.edits.desk.overlay(job.thread).stage_all([edit])
            self.edits.changed()
        used = f", {numbers.tokens(made.usage.input)} in, {made.usage.output:,} out" if made.usage is not None else ""
        usd = self._price(partner, made.usage) if made.usage is not None else None
        used += f", {numbers.money(usd)}" if usd is not None else ""
        words = f"{safe_text.one_line(made.model, 60)} wrote it{used}; `R` edits, `l` lists what it lost, `a` applies"
        self.say(done(words))


class WriteSummary(OnBlocksOrPutIn):
    """Have a model write the summary of what is marked, or this summary anew: the session's model, another one, or the
    agent itself behind its whole context. What is sent, to whom and for about how much is asked first; what comes back
    is staged, and you apply it."""

    name, keys, label, short = "summary by a model", ("ctrl+s",), "model's summary", "model"
    run = Act(SummariesController, SummariesController.model_summary)


class Remark(OnBlocksOrPutIn):
    """Say something of the summary that stands for this block: a remark in the edit log, for whoever curates next."""

    name, on_marked = "remark on a summary", False
    run = Act(SummariesController, SummariesController.remark)


SUMMARIES: tuple[type[Command], ...] = (WriteSummary, Remark)


class RateGood(OnBlocksOrPutIn):
    """Rate the summary that stands for this block as good."""

    name, on_marked = "rate summary: good", False
    run = Act(SummariesController, lambda it: it.rate("good"))


class RatePoor(OnBlocksOrPutIn):
    """Rate the summary that stands for this block as poor."""

    name, on_marked = "rate summary: poor", False
    run = Act(SummariesController, lambda it: it.rate("poor"))
