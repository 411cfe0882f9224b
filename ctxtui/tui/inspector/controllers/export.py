"""Writing what the edits leave: the context shown as a request, as a session to resume, as edits to use again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import EDITS
from ctxtui.tui.inspector.context_edits import ContextEdits, EditController
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lists.request import CLIPBOARD, Requests, RequestScreen
from ctxtui.views.text.signs import done, failed
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.services.editing.edited_context import Ready

_SHORT = {"openai-chat": "chat", "openai-responses": "responses", "ollama-chat": "ollama"}


class ExportController(EditController):
    """Shows and writes the context as the edits leave it. Before it writes it asks as what, then where."""

    def __init__(
        self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits, pager: str
    ) -> None:
        super().__init__(state, prompt, access, edits)
        self._pager = pager

    def export(self) -> None:
        """Ask as what it is to be written."""
        scene, desk, loaded = self.panels.scene, self.edits.desk, self.state.loaded
        if self.prompt.asking or scene is None or desk is None or loaded is None or not self.edits.ready():
            return
        from ctxtui.services.editing.exporting import list_forms

        ready, edits = desk.leaving(scene), desk.overlay(self.state.thread).applied
        if ready.applied.refused:
            self.say(failed(f"refused: {ready.applied.refused}"))
            return
        found = list_forms(ready, loaded.path, edits)
        words: list[Span] = [Span(" write as ")]
        for key, form in found.items():
            label = "resume" if form == ready.resumed else _SHORT.get(form, form)
            words += [Span(f" {key}", "accent bold"), Span(f" {label}", "ink" if form == ready.form else "dim")]
        self.prompt.ask_for(words, lambda key: self._to(ready, found[key]), keys=tuple(found))

    def _to(self, ready: Ready, form: str) -> None:
        """Ask for the file."""
        from ctxtui.services.editing.exporting import CURL, default_path

        if form == CURL:
            self._in_worker(lambda: self._copied(ready))
            return
        source = self.state.loaded.path if self.state.loaded is not None else None

        def write(place: str) -> None:
            if place.strip():
                self._in_worker(lambda: self._saved(ready, form, place.strip()))

        self.prompt.ask_for([Span(f" {form} › ", "accent bold")], write, default_path(ready, form, source))

    def show_request(self) -> None:
        """The next request as text, under what is applied and staged, and how it differs from the last one."""
        scene, desk = self.panels.scene, self.edits.desk
        if scene is None or desk is None or not self.edits.ready():
            return
        from ctxtui.services.editing.edited_context import build_request_body
        from ctxtui.services.editing.exporting import export_session

        ready = desk.leaving(scene, staged=True)
        chosen = ready.chosen

        def make() -> Requests:
            sent = export_session(ready.session, ready.form, chosen).data if chosen.call.id else b""
            lacking = "" if ready.whole else "; system prompt and tools are not recorded"
            return Requests(build_request_body(ready).body, sent, lacking)

        self.access.push(RequestScreen(make, self._pager), lambda _: None)

    def _saved(self, ready: Ready, form: str, place: str) -> str:
        from ctxtui.services.editing.exporting import save

        overlay, loaded = self.edits.overlay, self.state.loaded
        assert overlay is not None and loaded is not None
        left = len(overlay.staged)
        told = save(ready, form, loaded.path, overlay.applied, place).message
        return told + (f"; without what is only staged ({left:,})" if left else "")

    def _copied(self, ready: Ready) -> str:
        from ctxtui.services.editing.exporting import CURL, write_form

        assert self.state.loaded is not None
        data = write_form(ready, CURL, self.state.loaded.path, ()).data
        if len(data) > CLIPBOARD:
            raise CtxtuiError(f"{len(data):,} bytes are too many for a clipboard", way_out="a or o writes a file")
        self.access.deliver(lambda: self.access.copy(data.decode("utf-8", "replace")))
        return f"copied as a curl command, {len(data):,} bytes"

    def _in_worker(self, job: Callable[[], str]) -> None:
        self.say([Span("writing …", "dim")])

        def run() -> None:
            try:
                told: Spans = done(job())
            except CtxtuiError as error:
                told = failed(error)
            self.access.deliver(lambda: self.say(told))

        self.access.work(run, "export")


class ShowNext(Command):
    """The next request as text, whole, as it would leave with what is applied and staged; `tab` there shows what
    differs from the last one that was sent."""

    name, keys, label, short = "next request as text", ("O",), "next request", "request"
    sought = ("body", "sent", "json", "prompt")
    run = Act(ExportController, ExportController.show_request)
    group, needs = "editing the context", frozenset({EDITS})


class WriteContext(Command):
    """Write this context as the applied edits leave it: a request body, a session that its tool resumes, ctxtui's own
    format, the edits themselves; or copy the request as a curl command. The recording stays as it is."""

    name, keys, label = "write context to a file", ("ctrl+e",), "export"
    sought = ("save", "resume", "export", "write")
    run = Act(ExportController, ExportController.export)
    group, needs = "editing the context", frozenset({EDITS})
