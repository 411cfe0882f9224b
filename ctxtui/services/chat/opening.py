"""The system prompt and tools of a new chat, ctxtui's and the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.agent.child import START_AGENT, OwnTool
from ctxtui.agent.conversation import Conversation, with_tools
from ctxtui.agent.tools.command_tool import make_command_tool
from ctxtui.agent.tools.read_tools import make_recall
from ctxtui.agent.tools.registry import TOOLS
from ctxtui.agent.tools.tool import Tool
from ctxtui.core.block_content import read
from ctxtui.core.canonical import Json
from ctxtui.services.agent_tools.agent_tools import AgentTools
from ctxtui.services.agent_tools.own_tools import own_tools
from ctxtui.services.config.settings import Settings

SYSTEM: Final = (
    "You are an assistant in a terminal. Your tools read, search and write files in the workspace, whose paths are "
    "relative. Look before you answer; say plainly what you found and what you did not. Be brief."
)


def tool_definitions(settings: Settings, memory: Sequence[Tool] = ()) -> tuple[Json, ...]:
    """The definitions of ctxtui's tools in Anthropic's form, with the chat's `memory` tools."""
    command_tool = make_command_tool(shell=settings.command_shell)
    return tuple(tool.definition() for tool in (*TOOLS, *memory, make_recall(dict), command_tool))


class CustomParts(Struct):
    """The user's own system prompt and tools.

    `system` is the prompt or its parts ("": the default). `files` are Python files with tools, `tools` those passed
    from Python. After `load_tools`, `tools` has all of them.
    """

    system: str | Sequence[str] = ""
    files: tuple[Path, ...] = ()
    tools: tuple[OwnTool, ...] = ()

    def load_tools(self, settings: Settings) -> None:
        """Load the tools, and the one for sub-agents if it is enabled; for a worker thread.

        Raises `BadConfig`.
        """
        agents = (START_AGENT,) if settings.agents else ()
        self.tools = own_tools(self.files, (*self.tools, *agents))


def add_missing_tools(conversation: Conversation, every: AgentTools) -> Conversation:
    """Offer `every` tool in an earlier conversation if it lacks one."""
    items = conversation.tree.items(conversation.head)
    offered_names = {read(item.block).name for item in items if item.place.section == "tools"}
    return with_tools(conversation, every.definitions) if set(every.names) - offered_names else conversation
