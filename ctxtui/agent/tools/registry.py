"""The tools by name, and a call done with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.reading import FIND, GREP, LIST_DIR, READ_FILE
from ctxtui.agent.tools.tool import Tool, checked
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.agent.tools.writing import EDIT_FILE, WRITE_FILE
from ctxtui.core.errors import CtxtuiError

TOOLS: Final[tuple[Tool, ...]] = (READ_FILE, LIST_DIR, FIND, GREP, WRITE_FILE, EDIT_FILE)


class Toolbox:
    """What the agent may use in `workspace`."""

    def __init__(self, workspace: Workspace, tools: Sequence[Tool] = TOOLS) -> None:
        self.workspace = workspace
        self.tools = {tool.name: tool for tool in tools}

    def asks(self, name: str) -> bool:
        """Whether the user is asked before this tool runs."""
        return name in self.tools and self.tools[name].writes

    def run(self, call: ToolCall) -> ToolResult:
        """Do `call`; for a thread. What goes wrong is the result, so that the model reads it."""
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(self.tools)
            return ToolResult(call.id, f"There is no tool {call.name!r}; there are {known}.", is_error=True)
        try:
            return ToolResult(call.id, tool.run(self.workspace, checked(tool, call.input)) or "(nothing)")
        except CtxtuiError as error:
            return ToolResult(call.id, str(error), is_error=True)
        except OSError as error:
            return ToolResult(call.id, f"{error.strerror or error} @ {call.name}", is_error=True)
        except Exception as error:  # noqa: BLE001 - a tool's fault is told to the model; the chat goes on
            return ToolResult(call.id, f"the tool failed: {type(error).__name__}: {error}", is_error=True)
