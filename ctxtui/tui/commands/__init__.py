"""Commands: one class each; key line, palette and help are made from them. A screen lists its own in ``commands``."""

from __future__ import annotations

from ctxtui.tui.commands.command import Act, Command, Commanded, Situation, bindings, key_text, offered
from ctxtui.tui.commands.everywhere import EVERYWHERE

__all__ = ["EVERYWHERE", "Act", "Command", "Commanded", "Situation", "bindings", "key_text", "offered"]
