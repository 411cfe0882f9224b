"""The command of the inspector that is about money."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class Bill(Command):
    """What this session cost and why: carried, rewritten, new; the dearest rewrites and blocks; what is cheaper."""

    name, action, keys, label, group = "bill of the session", "bill", ("dollar_sign",), "bill", "calls"


MONEY: tuple[type[Command], ...] = (Bill,)
