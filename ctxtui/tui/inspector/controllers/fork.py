"""Continuing from a recorded call, here or in another tool, and the tree of forks."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.inspector.context_edits import ContextEdits, EditController
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lists.request import MAX_CLIPBOARD_BYTES
from ctxtui.tui.messages import Open, TalkFrom
from ctxtui.views.lists.forks import ForkRow
from ctxtui.views.text import safe_text
from ctxtui.views.text.signs import failed
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.edit_log import copied_answer

if TYPE_CHECKING:
    from ctxtui.services.editing.edited_context import EditedContext


class Handover(Struct, frozen=True):
    """A context that was handed over.

    - `copied`: a text for the clipboard; `place`: where the context was written.
    - `command`: continues with it ("": none); `folder`: where to run that ("": anywhere).
    - `without`: what was left out.
    """

    copied: str
    command: str
    place: str
    without: tuple[str, ...]
    folder: str = ""


CHAT = "ctxtui chat"
"""Client name of sessions hosted by ctxtui."""


class ForksController(Controller):
    """Lists the sessions that this one came from, and those that continue it."""

    def forks(self) -> None:
        loaded, settings = self.state.loaded, self.state.source.settings
        if loaded is None or not self.state.complete:
            return
        from ctxtui.services.study.fork_tree import list_forks
        from ctxtui.tui.lists.forks import ForksScreen

        thread = self.state.thread

        def show(row: ForkRow | None) -> None:
            if row is not None and row.target:
                self.access.post(Open(row.target))
            elif row is not None and row.call:
                self.state.go(row.call - 1)

        self.access.push(ForksScreen(lambda: list_forks(loaded, thread, settings)), show)


class ForkController(EditController):
    """Continues from a call, here or elsewhere; offers it for an unfinished chat."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits) -> None:
        super().__init__(state, prompt, access, edits)
        state.on.complete.subscribe(self._complete)

    def _complete(self) -> None:
        loaded = self.state.loaded
        if loaded is not None and loaded.path is None and loaded.session.about.client == CHAT:
            self.access.work(lambda: self._check_unfinished(loaded.name), "unfinished")

    def _check_unfinished(self, id_: str) -> None:
        from ctxtui.services.chat.resume import host_place, is_unfinished

        settings = self.state.source.settings
        host = host_place(id_, settings)
        if host:
            self.access.deliver(lambda: self._tell_host(host))
        elif is_unfinished(id_, settings):
            self.access.deliver(self._offer_to_continue)

    def _offer_to_continue(self) -> None:
        message = Span("This chat ended during a turn; ")
        self.show_message([Span("▲ ", "warn"), message, Span("f", "accent bold"), Span(" continues it")])

    def _tell_host(self, host: str) -> None:
        branch = [Span(": "), Span("f", "accent bold"), Span(" starts a branch")]
        self.show_message(
            [Span("▲ ", "warn"), Span(f"This chat is open in {host}"), *(branch if self._last_answered else [])]
        )

    @property
    def _last_answered(self) -> int:
        """The number of the thread's last call; 0 if it has no answer."""
        calls = self.state.study.thread(self.state.thread).calls if self.state.study is not None else ()
        return len(calls) if calls and calls[-1].id else 0

    def continue_from_here(self) -> None:
        """Continue from the call shown; with applied edits, ask where."""
        overlay, scene, area = self.edits.overlay, self.panels.scene, self.edits.staging_area
        if overlay is None or scene is None or area is None or not overlay.in_force:
            self.talk_here()
            return
        if self.prompt.is_asking or not self.edits.check_ready():
            return
        if not overlay.applied:
            count = len(overlay.staged)
            message = f"{count:,} staged edit{' is' if count == 1 else 's are'} not applied yet; "
            self.show_message([Span(message, "warn"), *_keys(("a", "applies"), ("f", "then continues"))])
            return
        ready = area.to_edited_context(scene)
        if ready.applied.refused:
            self.prompt.refuse(f"refused: {ready.applied.refused}")
            return
        self._ask_where(ready, len(overlay.staged))

    def _ask_where(self, ready: EditedContext, staged: int) -> None:
        from ctxtui.services.editing.edited_context import TRANSLATED, resumed_by, unfit_reason
        from ctxtui.services.editing.exporting import CURL
        from ctxtui.transcripts.targets import TARGETS

        loaded = self.state.loaded
        assert loaded is not None
        choices: dict[str, tuple[str, Callable[[], object]]] = {"h": ("here", self.talk_here)}
        own = resumed_by(ready.session, loaded.path)
        unfit_reasons: dict[str, str] = {}
        for key, form in _resumed_keys(own).items():
            # The full commands of the other tools would not fit into one line.
            command = TARGETS[form].command.partition(" {")[0] if form in TRANSLATED else form
            choices[key] = (command, partial(self._write_session, ready, form, command))
            if why := unfit_reason(ready, form, loaded.path):
                unfit_reasons[key] = why
                choices[key] = (command, partial(self.prompt.refuse, f"not by {command}: {why}"))
        choices["c"] = ("curl", lambda: self._in_worker(lambda: self._copy_curl(ready, CURL)))
        choices["w"] = ("file", lambda: self._ask_place(ready, ready.form, "file"))
        words = [Span(" continue ")]
        for key, (label, _) in choices.items():
            grey = [Span(f" {key} {label} ({safe_text.one_line(unfit_reasons.get(key, ''), 40)}) ", "faint")]
            words += grey if key in unfit_reasons else _keys((key, label))
        words += [Span(f" without {staged:,} staged edits", "warn")] if staged else []
        self.prompt.ask_for(words, lambda key: choices[key][1](), keys=tuple(choices))

    def _write_session(self, ready: EditedContext, form: str, command: str) -> None:
        """Write a new session where the tool of `form` finds it. Ask for the place if that is not known."""
        from ctxtui.services.editing.edited_context import resumed_by
        from ctxtui.services.editing.exporting import default_path, is_searched

        source = self.state.loaded.path if self.state.loaded is not None else None
        if form == resumed_by(ready.session, source) and is_searched(form, source, os.environ):
            self._in_worker(lambda: self._save_to_file(ready, form, default_path(ready, form, source)))
        else:
            self._ask_place(ready, form, command)

    def _ask_place(self, ready: EditedContext, form: str, label: str) -> None:
        from ctxtui.services.editing.exporting import default_path

        source = self.state.loaded.path if self.state.loaded is not None else None

        def write(place: str) -> None:
            if place.strip():
                self._in_worker(lambda: self._save_to_file(ready, form, place.strip()))

        self.prompt.ask_for(
            [Span(f" {label}: write to › ", "accent bold")], write, default_path(ready, form, source, os.environ)
        )

    def _save_to_file(self, ready: EditedContext, form: str, place: str) -> Handover:
        from ctxtui.services.editing.exporting import save

        overlay, loaded = self.edits.overlay, self.state.loaded
        assert overlay is not None and loaded is not None
        export = save(ready, form, loaded.path, overlay.applied, place)
        # A tool finds its sessions by the folder that it is started in.
        folder = loaded.session.about.cwd if export.command else ""
        missing = "" if not folder or Path(folder).is_dir() else " (not here)"
        return Handover(
            export.command or str(export.path), export.command, str(export.path), export.without, folder + missing
        )

    def _copy_curl(self, ready: EditedContext, form: str) -> Handover:
        from ctxtui.services.editing.exporting import left_out, write_form

        assert self.state.loaded is not None
        export = write_form(ready, form, self.state.loaded.path, ())
        if len(export.data) > MAX_CLIPBOARD_BYTES:
            raise CtxtuiError(
                f"{len(export.data):,} bytes do not fit into the clipboard", way_out="f, then w, writes a file"
            )
        return Handover(export.data.decode("utf-8", "replace"), "curl", "the clipboard", left_out(export))

    def _in_worker(self, job: Callable[[], Handover]) -> None:
        self.show_message([Span("writing …", "dim")])

        def run() -> None:
            try:
                handover = job()
            except CtxtuiError as error:
                self.access.deliver(partial(self.show_message, failed(error)))
            else:
                self.access.deliver(lambda: self._report_handover(handover))

        self.access.work(run, "continuing")

    def _report_handover(self, handover: Handover) -> None:
        self.access.copy(handover.copied)
        overlay = self.edits.overlay
        if overlay is not None:
            overlay.record_export(handover.command, handover.place, handover.without, handover.folder)
            self.edits.changed()
        command = f"{handover.command} request" if handover.command == "curl" else handover.command or handover.place
        file = handover.place if handover.folder else ""
        width = self.prompt.edit.size.width - 4
        self.show_message(
            copied_answer(safe_text.one_line(command, 200), handover.folder, file, handover.without, width)
        )

    def talk_here(self) -> None:
        """Start a chat from the call shown. At a chat's end, continue it, or branch if it is hosted elsewhere."""
        loaded = self.state.loaded
        if self.state.source.name == "-":
            self.show_message(failed("You cannot continue from standard input; save it to a file first."))
            return
        if self.state.study is None or self.state.recording_end is not None or loaded is None:
            return
        if self.state.index < self.state.count - 1:
            self._talk_from(self.state.index + 1)
        elif loaded.path is None and loaded.session.about.client == CHAT:
            self.access.work(lambda: self._talk_at_end(loaded.name), "finding the host")
        else:
            self._talk_from(0)

    def _talk_at_end(self, id_: str) -> None:
        from ctxtui.services.chat.resume import host_place

        host = host_place(id_, self.state.source.settings)
        if not host:
            self.access.deliver(lambda: self._talk_from(0))
        elif self._last_answered:
            self.access.deliver(lambda: self._talk_from(self._last_answered))
        else:
            self.access.deliver(lambda: self._tell_host(host))

    def _talk_from(self, number: int) -> None:
        """Start a chat from call `number` (0: from the end) with the applied edits."""
        applied = self.edits.overlay.applied if self.edits.overlay is not None else ()
        self.access.post(TalkFrom(self.state.source.name, self.state.thread, number, applied))


def _resumed_keys(own: str) -> dict[str, str]:
    """The forms to resume by key: `own`, of the recording's tool ("": none), and translations."""
    from ctxtui.transcripts.targets import TARGETS

    translated = {target.key: name for name, target in TARGETS.items() if target.key and name != own}
    return {**({"r": own} if own else {}), **translated}


def _keys(*keys: tuple[str, str]) -> list[Span]:
    return [span for key, does in keys for span in (Span(f" {key}", "accent bold"), Span(f" {does} "))]


class TalkHere(Command):
    """Start a chat from the call shown, with the context that the model had there.

    The recording is not changed; a chat of ctxtui continues itself if its end is shown and no other process hosts it.
    With applied edits you are asked where to continue: here, in the tool that recorded it, in Claude Code, in Codex
    (translated if they did not record it; the command is copied and kept in the edit log), with curl, or from a file.
    """

    name, keys, label, short_label, group = "talk from here", ("f",), "talk here", "talk", "chat"
    synonyms = ("resume", "continue", "save", "fork", "branch", "rewind")
    run = Act(ForkController, ForkController.continue_from_here)


class Forks(Command):
    """Show the tree of forks: the session this one came from, and chats that continue its calls.

    Enter opens a session, or goes to the call where a branch begins.
    """

    name, group = "forks", "lists"
    run = Act(ForksController, ForksController.forks)


FORKING: tuple[type[Command], ...] = (TalkHere, Forks)
