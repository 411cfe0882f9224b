"""Command classes: key, palette entry and help line of a command in one place."""

from __future__ import annotations

from ctxtui.tui.commands.command import (
    Act,
    Command,
    CommandContext,
    Commanded,
    available_commands,
    bindings,
    command_id,
    key_text,
)
from ctxtui.tui.commands.everywhere import EVERYWHERE

__all__ = [
    "EVERYWHERE",
    "Act",
    "Command",
    "CommandContext",
    "Commanded",
    "available_commands",
    "bindings",
    "command_id",
    "key_text",
]
