"""What a command is: one class, from which its key, palette entry and help line are made."""

from __future__ import annotations

from ctxtui.tui.commands.command import Act, Command, Commanded, Situation, bindings, key_text, offered
from ctxtui.tui.commands.everywhere import EVERYWHERE

__all__ = ["EVERYWHERE", "Act", "Command", "Commanded", "Situation", "bindings", "key_text", "offered"]
