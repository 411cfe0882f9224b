"""A text editor on the screen: one key accepts the text, another discards it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import TextArea

from ctxtui.tui.commands import EVERYWHERE, Act, Command, Commanded, bindings
from ctxtui.tui.dialog import Dialog
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.keyline import WHILE_TYPING, Key, KeyLine
from ctxtui.views.blocks.editable import Editable
from ctxtui.views.text.span import Span, Spans


class UseText(Command):
    """Close the editor and use this text."""

    run = Act(lambda: TextEditor, lambda editor: editor.use_text())
    name, keys, label, group = "use this text", ("ctrl+s",), "use this text", "editing a text"


class LeaveText(Command):
    """Close the editor without changing the text."""

    run = Act(lambda: TextEditor, lambda editor: editor.leave())
    name, keys, label, group = "leave without change", ("escape",), "leave", "editing a text"


class UndoTyping(Command):
    """Undo typing; `ctrl+y` redoes it."""

    run = Act(lambda: TextEditor, lambda editor: editor.undo_typing())
    name, keys, label, group = "undo typing", ("ctrl+z",), "undo", "editing a text"


TEXT_EDITOR: tuple[type[Command], ...] = (UseText, LeaveText, UndoTyping)
_KEYS_WHILE_TYPING = ("ctrl+p", "f1", "ctrl+q")
"""Keys of every screen that work while typing."""


class _Head(Board):
    """Title of the text being edited."""

    details = ""

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        return ()

    def notes(self) -> Spans:
        return [Span(self.details, "dim")] if self.details else []


class _Area(TextArea):
    """The text area, showing `editable`."""

    def __init__(self, editable: Editable) -> None:
        super().__init__(editable.shown, id="text", compact=True)
        self._editable = editable

    def on_paste(self, event: events.Paste) -> None:
        """Escape unsafe characters of pasted text, as in the rest; Textual inserts it."""
        event.text = self._editable.escape_paste(event.text)


class TextEditor(Commanded, Dialog[str | None]):
    """Edits `text`; closes with it, changed or not, or None if the user left."""

    commands: ClassVar[tuple[type[Command], ...]] = TEXT_EDITOR
    BINDINGS = [
        *bindings(TEXT_EDITOR[:2]),  # TextArea has its own ctrl+z.
        *(
            Binding(key, f"app.{each.action}", show=False)
            for each in EVERYWHERE
            for key in each.keys
            if key in _KEYS_WHILE_TYPING
        ),
    ]
    AUTO_FOCUS = "#text"
    DEFAULT_CSS = """
    TextEditor { background: $background; }
    TextEditor Board { height: 1; }
    TextEditor TextArea { height: 1fr; padding: 0 1; background: $background; }
    TextEditor TextArea .text-area--cursor-line { background: $background; }
    """

    def __init__(self, text: str, title: str, details: str = "") -> None:
        super().__init__()
        self._editable = Editable(text)
        self._head = _Head(title=title)
        self._head.details = details

    @property
    def area(self) -> TextArea:
        return self.query_one(TextArea)

    def compose(self) -> ComposeResult:
        yield self._head
        yield _Area(self._editable)
        shown = [Key(*each.key_line()) for each in self.commands]
        yield KeyLine(shown, right=WHILE_TYPING)

    def commands_now(self) -> list[type[Command]]:
        return [*self.commands, *EVERYWHERE]

    def use_text(self) -> None:
        self.dismiss(self._editable.unescape(self.area.text))

    def leave(self) -> None:
        self.dismiss(None)

    def undo_typing(self) -> None:
        self.area.undo()
