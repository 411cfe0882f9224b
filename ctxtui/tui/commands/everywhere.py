"""Commands that every screen has."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class OpenPalette(Command):
    """All commands by name: type a part of it."""

    name, action, keys, label, always = "command palette", "palette", ("ctrl+p", "colon"), "palette", True


class Help(Command):
    """This page: every key of this screen, and what the glyphs mean."""

    name, action, keys, label, always = "help", "help", ("question_mark", "f1"), "help", True


class Explain(Command):
    """What a word, sign or figure of this screen means, with its arithmetic: arrow keys or the mouse go to others."""

    name, action, keys, label = "explain: what is this word, sign or figure", "explain", ("equals_sign",), "explain"


class Theme(Command):
    """From dark to light and back."""

    name, action = "switch between dark and light", "switch_theme"


class Redraw(Command):
    """The whole screen is written anew, where another program wrote over it."""

    name, action, keys = "draw the screen anew", "redraw", ("ctrl+l",)


class Back(Command):
    """One level back: from a list to the session, from a session to Home. On the first screen it leaves ctxtui; `^q`
    does from anywhere. It asks where something would be lost."""

    name, action, keys, label = "back", "back", ("q",), "back"
    beside, together = ("Quit",), ("q ^q", "back, quit")


class Quit(Command):
    """Leave ctxtui from wherever you are. A recording is never changed; it asks where something would be lost."""

    name, action, keys = "quit", "quit", ("ctrl+q",)


EVERYWHERE: tuple[type[Command], ...] = (OpenPalette, Help, Explain, Theme, Redraw, Back, Quit)
