"""Commands that every screen has."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class OpenPalette(Command):
    """All commands by name: type a part of it."""

    name, action, keys, label, always = "command palette", "palette", ("ctrl+p", "colon"), "palette", True


class Help(Command):
    """This page: every key of this screen, and what the glyphs mean."""

    name, action, keys, label, always = "help", "help", ("question_mark", "f1"), "help", True


class Theme(Command):
    """From dark to light and back."""

    name, action = "switch between dark and light", "switch_theme"


class Quit(Command):
    """Leave ctxtui. A recording is never changed, so nothing is asked."""

    name, action, keys, short, label = "quit", "quit", ("q", "ctrl+q"), "quit", "quit"


EVERYWHERE: tuple[type[Command], ...] = (OpenPalette, Help, Theme, Quit)
