"""Export of the edited context: as a request, a curl command, a session, reusable edits."""

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
    """Shows and writes the edited context."""

    def __init__(
        self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits, pager: str
    ) -> None:
        super().__init__(state, prompt, access, edits)
        self._pager = pager

    def export(self) -> None:
        """Ask for a format, then write the context with its applied edits."""
        scene, area, loaded = self.panels.scene, self.edits.staging_area, self.state.loaded
        if self.prompt.is_asking or scene is None or area is None or loaded is None or not self.edits.check_ready():
            return
        from ctxtui.services.editing.edited_context import RESUMED
        from ctxtui.services.editing.exporting import list_forms

        edited, edits = area.to_edited_context(scene), area.overlay(self.state.thread).applied
        if edited.applied.refused:
            self.show_message(failed(f"refused: {edited.applied.refused}"))
            return
        formats = list_forms(edited, loaded.path, edits)
        words: list[Span] = [Span(" write as ")]
        for key, form in formats.items():
            label = "resume" if form in RESUMED else _SHORT_NAMES.get(form, form)
            words += [Span(f" {key}", "accent bold"), Span(f" {label}", "ink" if form == edited.form else "dim")]
        self.prompt.ask_for(words, lambda key: self._ask_file(edited, formats[key]), keys=tuple(formats))

    def _ask_file(self, edited: EditedContext, form: str) -> None:
        """Ask for the file and write it in a worker; a curl command is copied instead."""
        from ctxtui.services.editing.exporting import CURL, default_path

        if form == CURL:
            self._in_worker(lambda: self._copy_curl(edited), "copying …")
            return
        source = self.state.loaded.path if self.state.loaded is not None else None

        def write(path: str) -> None:
            if path.strip():
                self._in_worker(lambda: self._save(edited, form, path.strip()), "writing …")

        self.prompt.ask_for([Span(f" {form} › ", "accent bold")], write, default_path(edited, form, source))

    def show_request(self) -> None:
        """Show the request after the call shown, under applied and staged edits."""
        scene, area = self.panels.scene, self.edits.staging_area
        if scene is None or area is None or not self.edits.check_ready():
            return
        from ctxtui.services.editing.edited_context import build_request_body
        from ctxtui.services.editing.exporting import export_session

        edited = area.to_edited_context(scene, staged=True)
        chosen = edited.chosen

        def make() -> Requests:
            recorded = export_session(edited.session, edited.form, chosen).data if chosen.call.id else None
            missing = "" if edited.has_system_and_tools else "; system prompt and tools were not recorded"
            return Requests(build_request_body(edited).body, recorded, missing)

        self.access.push(RequestScreen(make, self._pager), lambda _: None)

    def _save(self, edited: EditedContext, form: str, path: str) -> str:
        from ctxtui.services.editing.exporting import save

        overlay, loaded = self.edits.overlay, self.state.loaded
        assert overlay is not None and loaded is not None
        return save(edited, form, loaded.path, overlay.applied, path).message + self._describe_staged()

    def _copy_curl(self, edited: EditedContext) -> str:
        from ctxtui.services.editing.exporting import CURL, list_forms, write_form

        loaded = self.state.loaded
        assert loaded is not None
        data = write_form(edited, CURL, loaded.path, ()).data
        if len(data) > MAX_CLIPBOARD_BYTES:
            key = next(key for key, form in list_forms(edited, loaded.path, ()).items() if form == edited.form)
            raise CtxtuiError(
                f"{len(data):,} bytes do not fit into the clipboard", way_out=f"ctrl+e, then {key}, writes a file"
            )
        self.access.deliver(lambda: self.access.copy(data.decode("utf-8", "replace")))
        return f"copied as a curl command, {len(data):,} bytes{self._describe_staged()}"

    def _describe_staged(self) -> str:
        assert self.edits.overlay is not None
        count = len(self.edits.overlay.staged)
        return f"; staged edits are not included ({count:,})" if count else ""

    def _in_worker(self, job: Callable[[], str], progress: str) -> None:
        self.show_message([Span(progress, "dim")])

        def run() -> None:
            try:
                message: Spans = done(job())
            except CtxtuiError as error:
                message = failed(error)
            self.access.deliver(lambda: self.show_message(message))

        self.access.work(run, "export")


class ShowNext(Command):
    """Show the next request as text, as it would be sent with applied and staged edits.

    `tab` there shows the difference from the request of the call shown.
    """

    name, keys, label, short_label = "next request as text", ("O",), "next request", "request"
    synonyms = ("body", "sent", "json", "prompt")
    run = Act(ExportController, ExportController.show_request)
    group, needs = "editing the context", frozenset({EDITS})


class WriteContext(Command):
    """Write this context with the applied edits to a file, or copy it as a curl command.

    The file is a request body, a session that its tool resumes, ctxtui's own format, or the edits themselves.
    """

    name, keys, label = "write context to a file", ("ctrl+e",), "export"
    synonyms = ("save", "resume", "export", "write", "rewind")
    run = Act(ExportController, ExportController.export)
    group, needs = "editing the context", frozenset({EDITS})
