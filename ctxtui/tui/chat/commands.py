"""Commands of a chat."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command
from ctxtui.tui.commands.facts import RESTING, RUNNING, USER_ROW


class EnterTalk(Command):
    """Enter the prompt and talk. Enter sends; what is sent while a turn runs waits for the next request."""

    name, action, keys, label, group, first = "talk", "prompt", ("i",), "talk", "chat", True


class HoldNext(Command):
    """Hold the next request before it is sent, so that it can be looked at; again: let it go."""

    name, action, keys, label, short, group = "hold or release the request", "hold", ("ctrl+o",), "hold", "hold", "chat"


class Interrupt(Command):
    """End the turn: what the model said so far stays, calls without a result are answered for it."""

    name, action, group = "interrupt the turn", "interrupt", "chat"
    needs = frozenset({RUNNING})


class Resend(Command):
    """Send the context as it stands, once more: after an error, say."""

    name, action, group = "send the context again", "resend", "chat"
    needs = frozenset({RESTING})


class EditMessage(Command):
    """Edit the user's message under the cursor and send it anew: a branch begins there, the old one stays on record."""

    name, action, keys, label, short, group = "edit and resend message", "edit_message", ("U",), "edit", "edit", "chat"
    panes = ("transcript",)
    needs = frozenset({USER_ROW, RESTING})


class ChooseModel(Command):
    """Go on with another model of the same provider."""

    name, action, group = "choose model", "choose_model", "chat"
    needs = frozenset({RESTING})


class ShowRequest(Command):
    """The next request, exactly as it would be sent, byte for byte."""

    name, action, group = "show the next request", "show_request", "chat"


class Rendered(Command):
    """The next request as a local server's template renders it: the text that the model reads (Ollama, llama.cpp,
    vLLM tell it)."""

    name, action, group = "show the rendered prompt", "show_rendered", "chat"


class DismissAlarm(Command):
    """Take the alarm under the header away."""

    name, action, group = "dismiss the alarm", "dismiss_alarm", "chat"


CHAT: tuple[type[Command], ...] = (
    EnterTalk, HoldNext, EditMessage, Interrupt, Resend, ChooseModel, ShowRequest, Rendered, DismissAlarm,
)  # fmt: skip
