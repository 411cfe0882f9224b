"""Home's actions on a session: import, export, rename, tag, archive, payment, delete.

Only ctxtui's own database is changed, and an exported file written; never a recording.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.widget import Widget

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.library.session_actions import SessionActions
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.prompt_line import PromptLine, Question
from ctxtui.views.model.session_summary import SessionSummary
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans

FORMATS: Final = {"c": "ctxtui", "a": "anthropic", "o": "openai-chat", "r": "openai-responses"}
"""Export formats by key."""


class SessionQuestions:
    """Asks for changes of a session and runs them in a thread; `done` is called after each.

    `prompt` is the prompt line; `after` gets the focus when it closes.
    """

    def __init__(self, prompt: LineEdit, after: Widget, actions: SessionActions, done: Callable[[], object]) -> None:
        self._prompt = prompt
        self._after = after
        self._actions = actions
        self._done = done
        self.line = PromptLine(prompt, self._opened, self._closed)
        self._waiting_notice: Spans = ()

    @property
    def is_asking(self) -> bool:
        return self.line.is_asking

    def import_(self, session: SessionSummary) -> None:
        self._run(lambda: self._actions.import_(session), "importing")

    def rename(self, session: SessionSummary) -> None:
        self._ask("title", session.title, lambda title: self._actions.rename(session, title))

    def tag(self, session: SessionSummary) -> None:
        """Ask for tags; an empty answer removes all."""
        tags = " ".join(session.tags)
        self._ask("tags", tags, lambda words: self._actions.tag(session, words.split()), may_be_empty=bool(tags))

    def archive(self, session: SessionSummary) -> None:
        self._run(lambda: self._actions.archive(session, not session.archived), "archiving")

    def subscription(self, session: SessionSummary) -> None:
        self._run(lambda: self._actions.subscription(session, not session.subscription), "marking")

    def delete(self, session: SessionSummary) -> None:
        consequence = "? Its recording is not touched." if session.path else ", its only copy?"
        question = f"delete ctxtui's copy of “{safe_text.one_line(session.title, 60)}”{consequence}"
        self._ask_key(question, {"y": "delete"}, lambda _: self._run(lambda: self._actions.delete(session), "deleting"))

    def export(self, session: SessionSummary) -> None:
        def chosen(key: str) -> None:
            form = FORMATS[key]
            name = self._actions.export_name(session, form)
            self._ask(f"{form} file", name, lambda path: self._actions.export(session, form, path))

        self._ask_key("export as", FORMATS, chosen)

    def close(self) -> None:
        if self.line.is_asking:
            self.line.cancel()
        else:
            self._closed()

    def _opened(self) -> None:
        self._prompt.display = True
        self._prompt.focus()

    def _closed(self) -> None:
        had_focus = self._prompt.has_focus
        self._prompt.display = False
        if had_focus:
            self._after.focus()
        if self._waiting_notice:
            self.show_notice(self._waiting_notice)
            self._waiting_notice = ()

    def show_notice(self, spans: Spans) -> None:
        """Show a notice on the prompt line until the next key; it waits for an open question."""
        if self.is_asking:
            self._waiting_notice = spans
            return
        self._prompt.show([Span(" "), *spans])
        self._prompt.display = True

    def _ask(self, what: str, text: str, then: Callable[[str], str], *, may_be_empty: bool = False) -> None:
        def answer(text: str) -> None:
            if text.strip() or may_be_empty:
                self._run(lambda: then(text.strip()), "writing")
            else:
                self.show_notice([Span(f"no {what}: nothing is changed", "dim")])

        lead = [Span(f" {what} ", "dim"), Span("› ", "accent")]
        self.line.ask(Question(lead, answer, text=text))

    def _ask_key(self, what: str, keys: dict[str, str], then: Callable[[str], None]) -> None:
        lead = [Span(f" {what} ")]
        for key, label in keys.items():
            lead += [Span(f" {key}", "accent bold"), Span(f" {label} ", "dim")]
        self.line.ask(Question(lead, then, keys=tuple(keys)))

    def _run(self, job: Callable[[], str], verb: str) -> None:
        self.show_notice([Span(f"{verb} …", "dim")])

        def run() -> None:
            try:
                result: Spans = [Span("✓ ", "ok"), Span(safe_text.one_line(job()))]
            except CtxtuiError as error:
                result = [Span("✗ failed: ", "crit bold"), Span(safe_text.one_line(str(error)))]
            self._prompt.app.call_from_thread(self._show_result, result)

        self._prompt.run_worker(run, thread=True, group="changes")

    def _show_result(self, result: Spans) -> None:
        self.show_notice(result)
        self._done()
