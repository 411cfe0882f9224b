"""Commands of every screen."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class OpenPalette(Command):
    """Find a command by name: type a part of it."""

    name, action, keys, label, is_always_shown = "command palette", "palette", ("ctrl+p", "colon"), "palette", True


class Help(Command):
    """Show every key of this screen and what the signs mean."""

    name, action, keys, label, is_always_shown = "help", "help", ("question_mark", "f1"), "help", True


class Explain(Command):
    """Explain a word, sign or figure of this screen, with its arithmetic.

    Arrow keys or the mouse point at it.
    """

    name, action, keys, label = "explain: what is this word, sign or figure", "explain", ("equals_sign",), "explain"


class Theme(Command):
    """Switch between the dark and the light theme."""

    name, action = "switch between dark and light", "switch_theme"


class Redraw(Command):
    """Redraw the whole screen, for example after another program wrote over it."""

    name, action, keys = "redraw the screen", "redraw", ("ctrl+l",)


class Back(Command):
    """Go one level back: from a list to the session, from a session to Home.

    On the first screen this quits; `^q` quits from anywhere. You are asked first if something would be lost.
    """

    name, action, keys, label = "back", "back", ("q",), "back"
    help_partners, help_row = ("Quit",), ("q ^q", "back, quit")


class Quit(Command):
    """Quit ctxtui from any screen.

    Recordings are never changed; you are asked first if something would be lost.
    """

    name, action, keys = "quit", "quit", ("ctrl+q",)


EVERYWHERE: tuple[type[Command], ...] = (OpenPalette, Help, Explain, Theme, Redraw, Back, Quit)
