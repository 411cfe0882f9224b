"""What a chat begins with: its system prompt and its tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ctxtui.agent.tools.command_tool import RUN_COMMAND
from ctxtui.agent.tools.recall_tool import recall
from ctxtui.agent.tools.registry import TOOLS
from ctxtui.agent.tools.tool import Tool
from ctxtui.core.canonical import Json

SYSTEM: Final = (
    "You are an assistant in a terminal. Your tools read, search and write files in the workspace, whose paths are "
    "relative. Look before you answer; say plainly what you found and what you did not. Be brief."
)


class Opening(NamedTuple):
    """The system prompt, and the definitions of the tools in Anthropic's form."""

    system: str
    tools: tuple[Json, ...]


def opening(own: Sequence[Tool] = ()) -> Opening:
    """What a new chat begins with; `own` are tools of this chat besides."""
    return Opening(SYSTEM, tuple(tool.definition() for tool in (*TOOLS, *own, recall(dict), RUN_COMMAND)))
