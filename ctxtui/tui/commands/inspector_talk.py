"""The command that goes on from a recorded call."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class TalkHere(Command):
    """Go on from the call shown: a chat whose context is what the model had read and answered there. The recording
    stays as it is; a chat of ctxtui's own goes on itself when the view is at its end."""

    name, action, keys, label, short, group = "talk from here", "talk_here", ("f",), "talk here", "talk", "chat"


TALKING: tuple[type[Command], ...] = (TalkHere,)
