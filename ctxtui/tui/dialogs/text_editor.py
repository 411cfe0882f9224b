"""An editor on the screen: several lines of text, staged by one key, left by another.

Commands of the editor on the screen.
"""

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


class StageText(Command):
    """Stage the text as it stands here. A text that was not changed stages nothing."""

    run = Act(lambda: TextEditor, lambda editor: editor.stage())
    name, keys, label, group = "stage this text", ("ctrl+s",), "stage", "editing a text"


class LeaveText(Command):
    """Leave; the text stays as it was."""

    run = Act(lambda: TextEditor, lambda editor: editor.leave())
    name, keys, label, group = "leave without change", ("escape",), "leave", "editing a text"


class UndoTyping(Command):
    """Undo what was typed; `ctrl+y` brings it back."""

    run = Act(lambda: TextEditor, lambda editor: editor.undo_typing())
    name, keys, label, group = "undo typing", ("ctrl+z",), "undo", "editing a text"


TEXT_EDITOR: tuple[type[Command], ...] = (StageText, LeaveText, UndoTyping)


_TYPED = ("ctrl+p", "f1", "ctrl+q")
"""The keys of every screen that are not typed into a text."""


class _Head(Board):
    """What is edited."""

    told = ""

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Nothing below the rule."""
        return ()

    def notes(self) -> Spans:
        """More about it."""
        return [Span(self.told, "dim")] if self.told else []


class _Area(TextArea):
    """The text, as `editable` shows it."""

    def __init__(self, editable: Editable) -> None:
        super().__init__(editable.shown, id="text", compact=True)
        self._editable = editable

    def on_paste(self, event: events.Paste) -> None:
        """What is pasted is shown like the rest; Textual puts it in."""
        event.text = self._editable.escape_paste(event.text)


class TextEditor(Commanded, Dialog[str | None]):
    """Edits `text`; `title` and `told` say what it is. Closes with the text as it was left, None where it was left
    without staging it."""

    commands: ClassVar[tuple[type[Command], ...]] = TEXT_EDITOR
    BINDINGS = [
        *bindings(TEXT_EDITOR[:2]),
        *(Binding(key, f"app.{each.action}", show=False) for each in EVERYWHERE for key in each.keys if key in _TYPED),
    ]
    AUTO_FOCUS = "#text"
    DEFAULT_CSS = """
    TextEditor { background: $background; }
    TextEditor Board { height: 1; }
    TextEditor TextArea { height: 1fr; padding: 0 1; background: $background; }
    TextEditor TextArea .text-area--cursor-line { background: $background; }
    """

    def __init__(self, text: str, title: str, told: str = "") -> None:
        super().__init__()
        self._editable = Editable(text)
        self._head = _Head(title=title)
        self._head.told = told

    @property
    def area(self) -> TextArea:
        """Where the text is."""
        return self.query_one(TextArea)

    def compose(self) -> ComposeResult:
        """What it is, the text, the keys."""
        yield self._head
        yield _Area(self._editable)
        shown = [Key(*each.key_line()) for each in self.commands]
        yield KeyLine(shown, right=WHILE_TYPING)

    def commands_now(self) -> list[type[Command]]:
        """What the palette offers here."""
        return [*self.commands, *EVERYWHERE]

    def stage(self) -> None:
        """Close with the text."""
        self.dismiss(self._editable.unescape(self.area.text))

    def leave(self) -> None:
        """Close without."""
        self.dismiss(None)

    def undo_typing(self) -> None:
        """As the text's own key does."""
        self.area.undo()
