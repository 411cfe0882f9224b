"""The tools by name, and a call done with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.read_tools import FIND, GREP, LIST_DIR, READ_FILE
from ctxtui.agent.tools.recall_tool import NAME as RECALL
from ctxtui.agent.tools.recall_tool import Known, recall
from ctxtui.agent.tools.tool import Tool, checked
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.agent.tools.write_tools import EDIT_FILE, WRITE_FILE
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.apply.references import expand_value

TOOLS: Final[tuple[Tool, ...]] = (READ_FILE, LIST_DIR, FIND, GREP, WRITE_FILE, EDIT_FILE)


class Toolbox:
    """What the agent may use in `workspace`. `known` gives what stands outside the conversation: a reference to it in a
    tool's input is replaced by its content, and the tool `recall` reads it back."""

    def __init__(self, workspace: Workspace, tools: Sequence[Tool] = TOOLS, known: Known = dict) -> None:
        self.workspace = workspace
        self.tools = {tool.name: tool for tool in (*tools, recall(known))}
        self._known = known

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
            given = call.input if tool.name == RECALL else expand_value(call.input, self._known())
            return ToolResult(call.id, tool.run(self.workspace, checked(tool, given)) or "(nothing)")
        except CtxtuiError as error:
            return ToolResult(call.id, str(error), is_error=True)
        except OSError as error:
            return ToolResult(call.id, f"{error.strerror or error} @ {call.name}", is_error=True)
        except Exception as error:  # noqa: BLE001 - a tool's fault is told to the model; the chat goes on
            return ToolResult(call.id, f"the tool failed: {type(error).__name__}: {error}", is_error=True)
