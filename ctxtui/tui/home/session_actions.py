"""What Home can do to a session: import, export, rename, tag, archive, delete; asked on the prompt line, not in a
dialog. Only ctxtui's own database is changed, never a recording."""

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
"""Key and name of what can be exported to."""


class Changes:
    """The questions and their answers. `prompt` is the line they are asked on, `after` takes the focus when it is
    left; work is done in a thread, `done` is called after it."""

    def __init__(self, prompt: LineEdit, after: Widget, keeper: SessionActions, done: Callable[[], object]) -> None:
        self._prompt = prompt
        self._after = after
        self._keeper = keeper
        self._done = done
        self.line = PromptLine(prompt, self._opened, self._closed)

    @property
    def asking(self) -> bool:
        """Whether a question is open."""
        return self.line.asking

    def begin(self, what: str, one: SessionSummary) -> None:
        """Do `what` (``import``, ``export``, ``rename``, ``tag``, ``archive``, ``subscription`` ...) to a session."""
        todo = {
            "import": self.import_,
            "export": self.export,
            "rename": self.rename,
            "tag": self.tag,
            "archive": self.archive,
            "subscription": self.subscription,
            "delete": self.delete,
        }
        todo[what](one)

    def import_(self, one: SessionSummary) -> None:
        """Copy the session into the database."""
        self._work(lambda: self._keeper.import_(one), "importing")

    def rename(self, one: SessionSummary) -> None:
        """Ask for a title."""
        self._ask("title", one.title, lambda title: self._keeper.rename(one, title))

    def tag(self, one: SessionSummary) -> None:
        """Ask for tags."""
        self._ask("tags", " ".join(one.tags), lambda words: self._keeper.tag(one, words.split()))

    def archive(self, one: SessionSummary) -> None:
        """Into the archive, or back."""
        self._work(lambda: self._keeper.archive(one, not one.archived), "archiving")

    def subscription(self, one: SessionSummary) -> None:
        """Paid by a subscription, or by use."""
        self._work(lambda: self._keeper.subscription(one, not one.subscription), "marking")

    def delete(self, one: SessionSummary) -> None:
        """Ask whether it is meant."""
        kept = "; its recording stays where it is" if one.path else ", the only one there is"
        question = f"delete ctxtui's copy of “{safe_text.one_line(one.title, 60)}”{kept}?"
        self._offer(question, {"y": "delete"}, lambda _: self._work(lambda: self._keeper.delete(one), "deleting"))

    def export(self, one: SessionSummary) -> None:
        """Ask for the format, then for the file."""

        def chosen(key: str) -> None:
            form = FORMATS[key]
            name = self._keeper.export_name(one, form)
            self._ask(f"{form} file", name, lambda path: self._keeper.export(one, form, path))

        self._offer("export as", FORMATS, chosen)

    def close(self) -> None:
        """Leave the question, or the notice."""
        if self.line.asking:
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

    def tell(self, spans: Spans) -> None:
        """A notice on the prompt line, until the next key."""
        self._prompt.show([Span(" "), *spans])
        self._prompt.display = True

    def _ask(self, what: str, text: str, then: Callable[[str], str]) -> None:
        def answer(given: str) -> None:
            if given.strip():
                self._work(lambda: then(given.strip()), "writing")

        lead = [Span(f" {what} ", "dim"), Span("› ", "accent")]
        self.line.ask(Question(lead, answer, text=text))

    def _offer(self, what: str, keys: dict[str, str], then: Callable[[str], None]) -> None:
        lead = [Span(f" {what} ")]
        for key, label in keys.items():
            lead += [Span(f" {key}", "accent bold"), Span(f" {label} ", "dim")]
        self.line.ask(Question(lead, then, keys=tuple(keys)))

    def _work(self, job: Callable[[], str], verb: str) -> None:
        self.tell([Span(f"{verb} …", "dim")])

        def run() -> None:
            try:
                told: Spans = [Span("✓ ", "ok"), Span(safe_text.one_line(job()))]
            except CtxtuiError as error:
                told = [Span("✗ refused: ", "crit bold"), Span(safe_text.one_line(str(error)))]
            self._prompt.app.call_from_thread(self._worked, told)

        self._prompt.run_worker(run, thread=True, group="changes")

    def _worked(self, told: Spans) -> None:
        self.tell(told)
        self._done()
