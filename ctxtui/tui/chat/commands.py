"""Commands of a chat."""

from __future__ import annotations

from ctxtui.tui.chat.model import ModelController
from ctxtui.tui.chat.prompt import TalkController
from ctxtui.tui.chat.servers import ServersController
from ctxtui.tui.chat.turn import TurnController
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import ASKING, HELD, PERMISSION, QUESTION, RESTING, RUNNING, USER_ROW
from ctxtui.tui.inspector.commands import INSPECTOR, LeaveOpen
from ctxtui.tui.inspector.controllers.fork import TalkHere


class EnterTalk(Command):
    """Enter the prompt and talk. Enter sends; what is sent while a turn runs waits for the next request."""

    name, keys, label, group, has_priority = "talk", ("i",), "talk", "chat", True
    run = Act(TalkController, TalkController.talk)
    unless, key_unless = frozenset({PERMISSION}), frozenset({ASKING})


class AnswerTool(EnterTalk):
    """Answer for the tool that waits for your permission: what it would do is shown, and asked."""

    name, label = "answer for the tool that waits", "answer"
    needs = key_needs = frozenset({PERMISSION})
    unless = frozenset()


class HoldNext(Command):
    """Hold the next request before it is sent, so that it can be looked at; again: let it go."""

    name, keys, label, short_label, group = "hold or release the request", ("ctrl+o",), "hold", "hold", "chat"
    run = Act(TalkController, TalkController.hold)
    unless = key_unless = frozenset({HELD})


class ReleaseHeld(Command):
    """Send the request that is held, with the edits that are applied by now."""

    name, keys, label, short_label, group = (
        "send the held request",
        ("ctrl+o",),
        "send what is held",
        "send held",
        "chat",
    )
    run = Act(TalkController, TalkController.hold)
    needs = key_needs = frozenset({HELD})
    panes = ("transcript",)


class PasteImage(Command):
    """Put the image in the clipboard into the message, as a file that it names. Its cost stands at the line's end."""

    name, keys, label, short_label, group = "paste image", ("ctrl+v",), "paste image", "image", "chat"
    run = Act(TalkController, TalkController.paste_image)


class Interrupt(Command):
    """End the turn: what the model said so far stays, calls without a result are answered for it."""

    name, group = "interrupt the turn", "chat"
    run = Act(TalkController, TalkController.interrupt)
    needs = frozenset({RUNNING})


class Resend(Command):
    """Send the context as it stands, once more: after an error, say."""

    name, group = "send the context again", "chat"
    run = Act(TalkController, TalkController.resend)
    needs = frozenset({RESTING})


class EditMessage(Command):
    """Edit the user's message under the cursor and send it anew: a branch begins there, the old one stays on record."""

    name, keys, label, short_label, group = "edit and resend message", ("U",), "edit", "edit", "chat"
    run = Act(TalkController, TalkController.edit_message)
    key_unless = frozenset({QUESTION})
    panes = ("transcript",)
    needs = frozenset({USER_ROW, RESTING})


class ChooseModel(Command):
    """Go on with another model of the same provider."""

    name, group = "choose model", "chat"
    run = Act(ModelController, ModelController.choose_model)
    needs = frozenset({RESTING})


class McpServers(Command):
    """The MCP servers: offer their tools or take them back, with what that does to the next request; their logs; put a
    resource or a prompt of theirs into the message."""

    name, group = "MCP servers", "chat"
    run = Act(ServersController, ServersController.choose)
    needs = frozenset({RESTING})


class ShowRequest(Command):
    """The next request, exactly as it would be sent, byte for byte."""

    name, group = "show the next request", "chat"
    run = Act(ModelController, ModelController.show_request)


class Rendered(Command):
    """The next request as a local server's template renders it: the text that the model reads (Ollama, llama.cpp,
    vLLM tell it)."""

    name, group = "show the rendered prompt", "chat"
    run = Act(ModelController, ModelController.show_rendered)


class DismissAlarm(Command):
    """Take the alarm under the header away. What is not on record stays there until it is."""

    name, group = "dismiss the alarm", "chat"
    run = Act(TurnController, TurnController.dismiss_alarm)


class BranchHere(Command):
    """Go on from the call shown: a chat whose context is what the model had read and answered there. The recording
    stays as it is; a chat of ctxtui's own goes on itself when the view is at its end."""

    name, keys, label, short_label, group = "talk from here", ("f",), "talk here", "talk", "chat"
    run = Act(TalkController, TalkController.branch_here)
    key_unless = frozenset({QUESTION})


class LeaveOrInterrupt(Command):
    """Close what is open: the prompt's message, then back to the transcript."""

    name, keys, group = "leave", ("escape",), "general"
    run = Act(TalkController, TalkController.leave)


_INSTEAD: dict[type[Command], type[Command]] = {TalkHere: BranchHere, LeaveOpen: LeaveOrInterrupt}
"""What a chat does in place of what a recording's screen does."""

CHAT: tuple[type[Command], ...] = (
    AnswerTool, EnterTalk, ReleaseHeld, HoldNext, PasteImage, EditMessage, Interrupt, Resend, ChooseModel, McpServers,
    ShowRequest, Rendered, DismissAlarm,
)  # fmt: skip
CHAT_KEYS: tuple[type[Command], ...] = (*CHAT, *(_INSTEAD.get(command, command) for command in INSPECTOR))
"""All commands of a chat's screen but those of every screen."""
