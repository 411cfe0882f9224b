"""Commands of a chat."""

from __future__ import annotations

from ctxtui.tui.chat.figures import FiguresController
from ctxtui.tui.chat.model import ModelController
from ctxtui.tui.chat.prompt import TalkController
from ctxtui.tui.chat.servers import ServersController
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import ASKING, HELD, PERMISSION, QUESTION, RESTING, RUNNING, USER_ROW
from ctxtui.tui.inspector.commands import INSPECTOR, LeaveOpen
from ctxtui.tui.inspector.controllers.fork import TalkHere


class EnterTalk(Command):
    """Type a message. Enter sends it; during a turn it waits for the next request."""

    name, keys, label, group, has_priority = "talk", ("i",), "talk", "chat", True
    run = Act(TalkController, TalkController.talk)
    unless, key_unless = frozenset({PERMISSION}), frozenset({ASKING})


class AnswerTool(EnterTalk):
    """Allow or refuse a tool call that needs your permission; you see what it would do."""

    name, label = "answer a permission request", "answer"
    synonyms = ("answer for the tool that waits",)
    needs = key_needs = frozenset({PERMISSION})
    unless = frozenset()


class HoldNext(Command):
    """Hold the next request before it is sent, so that you can inspect it.

    Press again to cancel.
    """

    name, keys, label, group = "hold the next request", ("ctrl+o",), "hold", "chat"
    synonyms = ("hold or release the request",)
    run = Act(TalkController, TalkController.hold)
    unless = key_unless = frozenset({HELD})


class ReleaseHeld(Command):
    """Send the held request, with the edits applied by now."""

    name, keys, label, short_label = "send the held request", ("ctrl+o",), "send the request", "send held"
    group = "chat"
    run = Act(TalkController, TalkController.hold)
    needs = key_needs = frozenset({HELD})
    panes = ("transcript",)


class PasteImage(Command):
    """Add the image in the clipboard to the message as a mention of a file.

    Its tokens and price are shown at the end of the prompt line.
    """

    name, keys, label, short_label, group = "paste image", ("ctrl+v",), "paste image", "image", "chat"
    run = Act(TalkController, TalkController.paste_image)


class Interrupt(Command):
    """End the turn: the partial answer stays, and calls without a result get an error result."""

    name, group = "interrupt the turn", "chat"
    run = Act(TalkController, TalkController.interrupt)
    needs = frozenset({RUNNING})


class Resend(Command):
    """Send the context once more, for example after an error."""

    name, group = "send the context again", "chat"
    run = Act(TalkController, TalkController.resend)
    needs = frozenset({RESTING})


class EditMessage(Command):
    """Edit your message under the cursor and send it again.

    This starts a branch; the old one stays recorded.
    """

    name, keys, label, group = "edit and resend message", ("U",), "edit", "chat"
    run = Act(TalkController, TalkController.edit_message)
    key_unless = frozenset({QUESTION})
    panes = ("transcript",)
    needs = frozenset({USER_ROW, RESTING})


class ChooseModel(Command):
    """Continue with another model of the same provider."""

    name, group = "choose model", "chat"
    run = Act(ModelController, ModelController.choose_model)
    needs = frozenset({RESTING})


class McpServers(Command):
    """Show the MCP servers, to add or remove their tools, with the effect on the next request.

    You can also read their logs, and put a resource or prompt of theirs into the message.
    """

    name, group = "MCP servers", "chat"
    run = Act(ServersController, ServersController.choose)
    needs = frozenset({RESTING})


class ShowRequest(Command):
    """Show the next request in the pager, with the applied edits.

    Policies change it only when it is sent.
    """

    name, group = "show the next request", "chat"
    run = Act(ModelController, ModelController.show_request)


class ShowRendered(Command):
    """Show the next request as a local server's template renders it (Ollama, llama.cpp, vLLM).

    That is the text that the model reads.
    """

    name, group = "show the rendered prompt", "chat"
    run = Act(ModelController, ModelController.show_rendered)


class DismissAlarm(Command):
    """Close the alarm below the header.

    A warning about unrecorded messages stays until they are recorded.
    """

    name, group = "dismiss the alarm", "chat"
    run = Act(FiguresController, FiguresController.dismiss_alarm)


class BranchHere(Command):
    """Let your next message continue from the call shown, as a branch of this chat.

    The context is that call's, with its answer. At the last call it continues the chat itself.
    """

    name, keys, label, short_label, group = "talk from here", ("f",), "talk here", "talk", "chat"
    synonyms = TalkHere.synonyms
    run = Act(TalkController, TalkController.branch_here)
    needs = frozenset({RESTING})
    key_unless = frozenset({QUESTION})


class LeaveOrInterrupt(LeaveOpen):
    """Close what is open: a search, the marks; then go back to the transcript.

    In the transcript it interrupts a running turn.
    """

    run = Act(TalkController, TalkController.leave)


_REPLACEMENTS: dict[type[Command], type[Command]] = {TalkHere: BranchHere, LeaveOpen: LeaveOrInterrupt}
"""Commands of the inspector and their replacements in a chat."""

CHAT_ONLY: tuple[type[Command], ...] = (
    AnswerTool, EnterTalk, ReleaseHeld, HoldNext, PasteImage, EditMessage, Interrupt, Resend, ChooseModel, McpServers,
    ShowRequest, ShowRendered, DismissAlarm,
)  # fmt: skip
"""Commands that only the chat has."""
CHAT_COMMANDS: tuple[type[Command], ...] = (*CHAT_ONLY, *(_REPLACEMENTS.get(command, command) for command in INSPECTOR))
"""All commands of the chat screen in display order, without those of every screen."""
