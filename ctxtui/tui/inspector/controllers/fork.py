"""Going on from a recorded call: the Inspector asks the app for a chat.

The commands that go on from a recorded call, and show what did.
"""

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
from ctxtui.tui.lists.request import CLIPBOARD
from ctxtui.tui.messages import Open, TalkFrom
from ctxtui.views.lists.forks import ForkRow
from ctxtui.views.text import safe_text
from ctxtui.views.text.signs import failed
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.edit_log import copied_answer

if TYPE_CHECKING:
    from ctxtui.services.editing.edited_context import Ready


class Went(Struct, frozen=True):
    """How a context left: what is `copied`, the `command` that goes on with it ("": none), the `place` where it is,
    what it went `without`, and the `folder` in which the command is to be typed ("": any)."""

    copied: str
    command: str
    place: str
    without: tuple[str, ...]
    folder: str = ""


CHAT = "ctxtui chat"
"""The client of sessions that ctxtui hosted."""


class ForksController(Controller):
    """Lists what the session went on from, and what went on from it."""

    def forks(self) -> None:
        """The tree of forks; what is chosen there is opened, or gone to."""
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
    """Goes on from a call, here or elsewhere, and offers it where a chat ended in the middle."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits) -> None:
        super().__init__(state, prompt, access, edits)
        state.on.complete.subscribe(self._complete)

    def _complete(self) -> None:
        """All is read: was this a chat that broke off?"""
        loaded = self.state.loaded
        if loaded is not None and loaded.path is None and loaded.session.about.client == CHAT:
            self.access.work(lambda: self._look_for_rest(loaded.name), "unfinished")

    def _look_for_rest(self, id_: str) -> None:
        from ctxtui.services.chat.resume import host_place, is_unfinished

        settings = self.state.source.settings
        host = host_place(id_, settings)
        if host:
            self.access.deliver(lambda: self._tell_host(host))
        elif is_unfinished(id_, settings):
            self.access.deliver(self._offer)

    def _offer(self) -> None:
        """Offer to go on."""
        told = Span("this chat ended in the middle of a turn: ")
        self.say([Span("▲ ", "warn"), told, Span("f", "accent bold"), Span(" goes on")])

    def _tell_host(self, host: str) -> None:
        """Say who hosts the chat, and offer a branch."""
        branch = [Span(": "), Span("f", "accent bold"), Span(" makes a branch of it")]
        self.say([Span("▲ ", "warn"), Span(f"this chat is open in {host}"), *(branch if self._answered else [])])

    @property
    def _answered(self) -> int:
        """The last call of the thread that has an answer; 0 where there is none."""
        calls = self.state.study.thread(self.state.thread).calls if self.state.study is not None else ()
        return len(calls) if calls and calls[-1].id else 0

    def go_on(self) -> None:
        """Go on from the call shown; where its context is edited, ask where: here, its tool, curl, a file."""
        overlay, scene, desk = self.edits.overlay, self.panels.scene, self.edits.desk
        if overlay is None or scene is None or desk is None or not overlay.in_force:
            self.talk_here()
            return
        if self.prompt.asking or not self.edits.ready():
            return
        if not overlay.applied:
            count = len(overlay.staged)
            told = f"{count:,} staged edit{' is' if count == 1 else 's are'} not applied yet: "
            self.say([Span(told, "warn"), *_keys(("a", "applies"), ("f", "then goes on with it"))])
            return
        ready = desk.leaving(scene)
        if ready.applied.refused:
            self.prompt.refuse(f"refused: {ready.applied.refused}")
            return
        self._ask_where(ready, len(overlay.staged))

    def _ask_where(self, ready: Ready, staged: int) -> None:
        from ctxtui.services.editing.edited_context import TRANSLATED, resumed_by, unfit_reason
        from ctxtui.services.editing.exporting import CURL
        from ctxtui.transcripts.targets import TARGETS

        loaded = self.state.loaded
        assert loaded is not None
        ways: dict[str, tuple[str, Callable[[], object]]] = {"h": ("here", self.talk_here)}
        own = resumed_by(ready, loaded.path)
        not_so: dict[str, str] = {}
        for key, form in _resumed_keys(own).items():
            # The other tools' commands would not fit beside each other.
            command = TARGETS[form].command.partition(" {")[0] if form in TRANSLATED else form
            ways[key] = (command, partial(self._resumed, ready, form, command))
            if why := unfit_reason(ready, form, loaded.path):
                not_so[key] = why
                ways[key] = (command, partial(self.prompt.refuse, f"not by {command}: {why}"))
        if ready.form != "ollama-chat":
            ways["c"] = ("curl", lambda: self._in_worker(lambda: self._by_curl(ready, CURL)))
        ways["w"] = ("file", lambda: self._ask_place(ready, ready.form, "file"))
        words = [Span(" go on ")]
        for key, (label, _) in ways.items():
            grey = [Span(f" {key} {label} ({safe_text.one_line(not_so.get(key, ''), 40)}) ", "faint")]
            words += grey if key in not_so else _keys((key, label))
        words += [Span(f" without {staged:,} only staged", "warn")] if staged else []
        self.prompt.ask_for(words, lambda key: ways[key][1](), keys=tuple(ways))

    def _resumed(self, ready: Ready, form: str, command: str) -> None:
        """A new session of the tool that recorded this one: beside it, where the tool looks; else ask where."""
        from ctxtui.services.editing.edited_context import resumed_by
        from ctxtui.services.editing.exporting import default_path, is_searched

        source = self.state.loaded.path if self.state.loaded is not None else None
        if form == resumed_by(ready, source) and is_searched(form, source, os.environ):
            self._in_worker(lambda: self._to_file(ready, form, default_path(ready, form, source)))
        else:
            self._ask_place(ready, form, command)

    def _ask_place(self, ready: Ready, form: str, label: str) -> None:
        from ctxtui.services.editing.exporting import default_path

        source = self.state.loaded.path if self.state.loaded is not None else None

        def write(place: str) -> None:
            if place.strip():
                self._in_worker(lambda: self._to_file(ready, form, place.strip()))

        self.prompt.ask_for(
            [Span(f" {label}: write to › ", "accent bold")], write, default_path(ready, form, source, os.environ)
        )

    def _to_file(self, ready: Ready, form: str, place: str) -> Went:
        from ctxtui.services.editing.exporting import save

        overlay, loaded = self.edits.overlay, self.state.loaded
        assert overlay is not None and loaded is not None
        made = save(ready, form, loaded.path, overlay.applied, place)
        # A tool looks for its sessions by the folder that it is started in.
        folder = loaded.session.about.cwd if made.command else ""
        missing = "" if not folder or Path(folder).is_dir() else " (not here)"
        return Went(made.command or str(made.path), made.command, str(made.path), made.without, folder + missing)

    def _by_curl(self, ready: Ready, form: str) -> Went:
        from ctxtui.services.editing.exporting import left_out, write_form

        assert self.state.loaded is not None
        made = write_form(ready, form, self.state.loaded.path, ())
        if len(made.data) > CLIPBOARD:
            raise CtxtuiError(f"{len(made.data):,} bytes are too many for a clipboard", way_out="w writes a file")
        return Went(made.data.decode("utf-8", "replace"), "curl", "the clipboard", left_out(made))

    def _in_worker(self, job: Callable[[], Went]) -> None:
        self.say([Span("writing …", "dim")])

        def run() -> None:
            try:
                went = job()
            except CtxtuiError as error:
                told = safe_text.one_line(str(error), 300)
                self.access.deliver(lambda: self.say(failed(told)))
            else:
                self.access.deliver(lambda: self._gone(went))

        self.access.work(run, "going on")

    def _gone(self, went: Went) -> None:
        """Copy the command, keep it in the log, say it and what was left out."""
        self.access.copy(went.copied)
        overlay = self.edits.overlay
        if overlay is not None:
            overlay.record_export(went.command, went.place, went.without, went.folder)
            self.edits.changed()
        what = f"{went.command} request" if went.command == "curl" else went.command or went.place
        file = went.place if went.folder else ""
        room = self.prompt.edit.size.width - 4
        self.say(copied_answer(safe_text.one_line(what, 200), went.folder, file, went.without, room))

    def talk_here(self) -> None:
        """A chat from the call shown; from the end of the record where that is in view, or a branch of it where another
        process goes on with it."""
        loaded = self.state.loaded
        if self.state.source.name == "-":
            self.say(failed("standard input cannot be gone on from: save it to a file"))
            return
        if self.state.study is None or self.state.glimpse is not None or loaded is None:
            return
        if self.state.index < self.state.count - 1:
            self._talk_from(self.state.index + 1)
        elif loaded.path is None and loaded.session.about.client == CHAT:
            self.access.work(lambda: self._talk_at_end(loaded.name), "whose it is")
        else:
            self._talk_from(0)

    def _talk_at_end(self, id_: str) -> None:
        from ctxtui.services.chat.resume import host_place

        host = host_place(id_, self.state.source.settings)
        if not host:
            self.access.deliver(lambda: self._talk_from(0))
        elif self._answered:
            self.access.deliver(lambda: self._talk_from(self._answered))
        else:
            self.access.deliver(lambda: self._tell_host(host))

    def _talk_from(self, number: int) -> None:
        applied = self.edits.overlay.applied if self.edits.overlay is not None else ()
        self.access.post(TalkFrom(self.state.source.name, self.state.thread, number, applied))


def _resumed_keys(own: str) -> dict[str, str]:
    """The forms that tools resume, by key: that of the tool which made the recording (`own`), and those that any
    context can be translated to."""
    from ctxtui.transcripts.targets import TARGETS

    others = {target.key: name for name, target in TARGETS.items() if target.key and name != own}
    return {**({"r": own} if own else {}), **others}


def _keys(*keys: tuple[str, str]) -> list[Span]:
    return [span for key, does in keys for span in (Span(f" {key}", "accent bold"), Span(f" {does} "))]


class TalkHere(Command):
    """Go on from the call shown: a chat whose context is what the model had read and answered there. The recording
    stays as it is; a chat of ctxtui's own goes on itself when the view is at its end and no other process hosts it.
    Where edits are applied it asks where to go on with them: here, in the tool that recorded it, in Claude Code, in
    Codex (translated where they did not record it; the command is copied and kept in the edit log), with curl, or from
    a file."""

    name, keys, label, short, group = "talk from here", ("f",), "talk here", "talk", "chat"
    sought = ("resume", "continue", "save", "fork", "branch")
    run = Act(ForkController, ForkController.go_on)


class Forks(Command):
    """The tree of forks: what this session went on from, chats that went on from its calls, and branches where it went
    back to an earlier call. Enter opens a session, or goes to the call with which a branch begins."""

    name, group = "forks", "lists"
    run = Act(ForksController, ForksController.forks)


TALKING: tuple[type[Command], ...] = (TalkHere, Forks)
