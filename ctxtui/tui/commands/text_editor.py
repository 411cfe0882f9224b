"""Commands of the editor on the screen."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class StageText(Command):
    """Stage the text as it stands here. A text that was not changed stages nothing."""

    name, action, keys, label, group = "stage this text", "stage", ("ctrl+s",), "stage", "editing a text"


class LeaveText(Command):
    """Leave; the text stays as it was."""

    name, action, keys, label, group = "leave without change", "leave", ("escape",), "leave", "editing a text"


class UndoTyping(Command):
    """Undo what was typed; `ctrl+y` brings it back."""

    name, action, keys, label, group = "undo typing", "undo_typing", ("ctrl+z",), "undo", "editing a text"


TEXT_EDITOR: tuple[type[Command], ...] = (StageText, LeaveText, UndoTyping)
