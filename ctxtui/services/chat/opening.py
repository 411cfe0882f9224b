"""What a chat begins with: its system prompt and its tools, ours and the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.agent.child import START_AGENT, OwnTool
from ctxtui.agent.conversation import Conversation, with_tools
from ctxtui.agent.tools.command_tool import RUN_COMMAND
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


def tool_definitions(own: Sequence[Tool] = ()) -> tuple[Json, ...]:
    """The tools of a new chat in Anthropic's form; `own` are tools of this chat besides."""
    return tuple(tool.definition() for tool in (*TOOLS, *own, make_recall(dict), RUN_COMMAND))


class OwnParts(Struct):
    """The `system` prompt or its parts ("": the usual one), the Python `files` that bring tools, and the `tools` of
    whoever runs the chat from Python. After `find` the tools are all there are."""

    system: str | Sequence[str] = ""
    files: tuple[Path, ...] = ()
    tools: tuple[OwnTool, ...] = ()

    def find(self, settings: Settings) -> None:
        """Load the tools, with the one that starts sub-agents where the user wants it; for a worker thread. Raises
        `BadConfig`."""
        agents = (START_AGENT,) if settings.agents else ()
        self.tools = own_tools(self.files, (*self.tools, *agents))

    def offered_in(self, talk: Conversation, every: AgentTools) -> Conversation:
        """`talk`, which began earlier, with the tools among `every` that it does not offer yet."""
        named = {tool.name for tool in self.tools}
        offered = {read(one.block).name for one in talk.tree.items(talk.head) if one.place.section == "tools"}
        return with_tools(talk, every.definitions) if named - offered else talk
