"""The commands that go on from a recorded call, and show what did."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class TalkHere(Command):
    """Go on from the call shown: a chat whose context is what the model had read and answered there. The recording
    stays as it is; a chat of ctxtui's own goes on itself when the view is at its end."""

    name, action, keys, label, short, group = "talk from here", "talk_here", ("f",), "talk here", "talk", "chat"


class Forks(Command):
    """The tree of forks: what this session went on from, chats that went on from its calls, and branches where it went
    back to an earlier call. Enter opens a session, or goes to the call with which a branch begins."""

    name, action, keys, group = "forks", "forks", ("Y",), "lists"


TALKING: tuple[type[Command], ...] = (TalkHere, Forks)
