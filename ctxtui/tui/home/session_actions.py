"""What Home can do to a session: import, export, rename, tag, archive, delete; asked on the prompt line, not in a
dialog. Only ctxtui's own database is changed, never a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.widget import Widget

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.library.session_actions import SessionActions
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.views.home.summary import SessionSummary
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
        self._answer: Callable[[str], None] | None = None

    @property
    def asking(self) -> bool:
        """Whether a question is open."""
        return self._answer is not None

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
        self._open([Span(f" {question} ", "ink")], keys={"y": "delete"})
        self._answer = lambda _: self._work(lambda: self._keeper.delete(one), "deleting")

    def export(self, one: SessionSummary) -> None:
        """Ask for the format, then for the file."""

        def chosen(key: str) -> None:
            form = FORMATS[key]
            name = self._keeper.export_name(one, form)
            self._ask(f"{form} file", name, lambda path: self._keeper.export(one, form, path))

        self._open([Span(" export as ", "ink")], keys=FORMATS)
        self._answer = chosen

    def submitted(self, text: str) -> None:
        """The question was answered."""
        answer, self._answer = self._answer, None
        self.close()
        if answer:
            answer(text)

    def close(self) -> None:
        """Leave the question, or the notice."""
        self._answer = None
        had_focus = self._prompt.has_focus
        self._prompt.display = False
        if had_focus:
            self._after.focus()

    def tell(self, spans: Spans) -> None:
        """A notice on the prompt line, until the next key."""
        self._prompt.show([Span(" "), *spans])
        self._prompt.display = True

    def _ask(self, what: str, text: str, then: Callable[[str], str]) -> None:
        right = [Span("⏎", "accent bold"), Span(" accept  ", "dim"), Span("esc", "accent bold"), Span(" leave", "dim")]
        self._open([Span(f" {what} ", "dim"), Span("› ", "accent")], text, right=right)
        self._answer = lambda given: self._work(lambda: then(given.strip()), "writing") if given.strip() else None

    def _open(self, lead: Spans, text: str = "", *, right: Spans = (), keys: dict[str, str] | None = None) -> None:
        asked: list[Span] = []
        for key, label in (keys or {}).items():
            asked += [Span(f" {key}", "accent bold"), Span(f" {label} ", "dim")]
        leave = [Span("esc", "accent bold"), Span(" leave", "dim")] if keys else []
        self._prompt.show([*lead, *asked], text, right=[*right, *leave], keys=tuple(keys or ()))
        self._prompt.display = True
        self._prompt.focus()

    def _work(self, job: Callable[[], str], verb: str) -> None:
        self.tell([Span(f"{verb} …", "dim")])

        def run() -> None:
            try:
                told: Spans = [Span("✓ ", "ok"), Span(safe_text.one_line(job()), "ink")]
            except CtxtuiError as error:
                told = [Span("✗ refused: ", "crit bold"), Span(safe_text.one_line(str(error)), "ink")]
            self._prompt.app.call_from_thread(self._worked, told)

        self._prompt.run_worker(run, thread=True, group="changes")

    def _worked(self, told: Spans) -> None:
        self.tell(told)
        self._done()
