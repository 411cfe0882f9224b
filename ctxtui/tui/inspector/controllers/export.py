"""Export of the edited context: as a request, as a session to resume, as reusable edits."""

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
from ctxtui.tui.lists.request import MAX_CLIPBOARD_BYTES, Requests, RequestScreen
from ctxtui.views.text.signs import done, failed
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.services.editing.edited_context import EditedContext

_SHORT_NAMES = {"openai-chat": "chat", "openai-responses": "responses", "ollama-chat": "ollama"}


class ExportController(EditController):
    """Shows and writes the edited context; asks for format and file before writing."""

    def __init__(
        self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits, pager: str
    ) -> None:
        super().__init__(state, prompt, access, edits)
        self._pager = pager

    def export(self) -> None:
        """Ask for the format."""
        scene, area, loaded = self.panels.scene, self.edits.staging_area, self.state.loaded
        if self.prompt.is_asking or scene is None or area is None or loaded is None or not self.edits.check_ready():
            return
        from ctxtui.services.editing.exporting import list_forms

        ready, edits = area.to_edited_context(scene), area.overlay(self.state.thread).applied
        if ready.applied.refused:
            self.show_message(failed(f"refused: {ready.applied.refused}"))
            return
        formats = list_forms(ready, loaded.path, edits)
        words: list[Span] = [Span(" write as ")]
        for key, form in formats.items():
            label = "resume" if form == ready.resume_form else _SHORT_NAMES.get(form, form)
            words += [Span(f" {key}", "accent bold"), Span(f" {label}", "ink" if form == ready.form else "dim")]
        self.prompt.ask_for(words, lambda key: self._ask_file(ready, formats[key]), keys=tuple(formats))

    def _ask_file(self, ready: EditedContext, form: str) -> None:
        """Ask for the file and write it; a curl command is copied instead."""
        from ctxtui.services.editing.exporting import CURL, default_path

        if form == CURL:
            self._in_worker(lambda: self._copy_curl(ready))
            return
        source = self.state.loaded.path if self.state.loaded is not None else None

        def write(place: str) -> None:
            if place.strip():
                self._in_worker(lambda: self._save(ready, form, place.strip()))

        self.prompt.ask_for([Span(f" {form} › ", "accent bold")], write, default_path(ready, form, source))

    def show_request(self) -> None:
        """Show the next request as text, and its difference from the last one sent.

        It includes the applied and the staged edits.
        """
        scene, area = self.panels.scene, self.edits.staging_area
        if scene is None or area is None or not self.edits.check_ready():
            return
        from ctxtui.services.editing.edited_context import build_request_body
        from ctxtui.services.editing.exporting import export_session

        ready = area.to_edited_context(scene, staged=True)
        chosen = ready.chosen

        def make() -> Requests:
            sent = export_session(ready.session, ready.form, chosen).data if chosen.call.id else b""
            missing = "" if ready.has_system_and_tools else "; system prompt and tools were not recorded"
            return Requests(build_request_body(ready).body, sent, missing)

        self.access.push(RequestScreen(make, self._pager), lambda _: None)

    def _save(self, ready: EditedContext, form: str, place: str) -> str:
        from ctxtui.services.editing.exporting import save

        overlay, loaded = self.edits.overlay, self.state.loaded
        assert overlay is not None and loaded is not None
        staged_count = len(overlay.staged)
        message = save(ready, form, loaded.path, overlay.applied, place).message
        return message + (f"; staged edits are not included ({staged_count:,})" if staged_count else "")

    def _copy_curl(self, ready: EditedContext) -> str:
        from ctxtui.services.editing.exporting import CURL, write_form

        assert self.state.loaded is not None
        data = write_form(ready, CURL, self.state.loaded.path, ()).data
        if len(data) > MAX_CLIPBOARD_BYTES:
            raise CtxtuiError(f"{len(data):,} bytes do not fit into the clipboard", way_out="a or o writes a file")
        self.access.deliver(lambda: self.access.copy(data.decode("utf-8", "replace")))
        return f"copied as a curl command, {len(data):,} bytes"

    def _in_worker(self, job: Callable[[], str]) -> None:
        self.show_message([Span("writing …", "dim")])

        def run() -> None:
            try:
                message: Spans = done(job())
            except CtxtuiError as error:
                message = failed(error)
            self.access.deliver(lambda: self.show_message(message))

        self.access.work(run, "export")


class ShowNext(Command):
    """Show the next request as text, as it would be sent with applied and staged edits.

    `tab` there shows the difference from the last one sent.
    """

    name, keys, label, short_label = "next request as text", ("O",), "next request", "request"
    synonyms = ("body", "sent", "json", "prompt")
    run = Act(ExportController, ExportController.show_request)
    group, needs = "editing the context", frozenset({EDITS})


class WriteContext(Command):
    """Write this context with the applied edits to a file, or copy it as a curl command.

    The file is a request body, a session that its tool resumes, ctxtui's own format, or the edits themselves. The
    recording is not changed.
    """

    name, keys, label = "write context to a file", ("ctrl+e",), "export"
    synonyms = ("save", "resume", "export", "write", "rewind")
    run = Act(ExportController, ExportController.export)
    group, needs = "editing the context", frozenset({EDITS})
