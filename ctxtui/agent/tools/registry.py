"""The tools by name, and a call done with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.read_tools import FIND, GREP, LIST_DIR, READ_FILE, Known, recall
from ctxtui.agent.tools.read_tools import NAME as RECALL
from ctxtui.agent.tools.tool import PlannedWrite, Tool, checked
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.agent.tools.write_tools import EDIT_FILE, WRITE_FILE, carry_out
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

    def expanded(self, call: ToolCall) -> ToolCall:
        """`call` with the content in place of references to it, as it is asked for and done."""
        return call if call.name == RECALL else replace(call, input=expand_value(call.input, self._known()))

    def plan(self, call: ToolCall) -> PlannedWrite | ToolResult:
        """Plan the write of an expanded `call`; the result for the model where it cannot be done."""
        found: list[PlannedWrite] = []

        def work(tool: Tool) -> str:
            if tool.plan is None:
                raise CtxtuiError("the tool writes nothing", place=call.name)
            found.append(tool.plan(self.workspace, checked(tool, call.input)))
            return ""

        told = self._done(call, work)
        return found[0] if found else told

    def run(self, call: ToolCall, planned: PlannedWrite | None = None) -> ToolResult:
        """Do `call`, which is expanded; a write as it was `planned`. What goes wrong is the result, so that the model
        reads it."""

        def work(tool: Tool) -> str:
            if tool.run is not None:
                return tool.run(self.workspace, checked(tool, call.input))
            assert tool.plan is not None
            return carry_out(self.workspace, planned or tool.plan(self.workspace, checked(tool, call.input)))

        return self._done(call, work)

    def _done(self, call: ToolCall, work: Callable[[Tool], str]) -> ToolResult:
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(self.tools)
            return ToolResult(call.id, f"There is no tool {call.name!r}; there are {known}.", is_error=True)
        try:
            return ToolResult(call.id, work(tool) or "(nothing)")
        except CtxtuiError as error:
            return ToolResult(call.id, str(error), is_error=True)
        except OSError as error:
            return ToolResult(call.id, f"{error.strerror or error} @ {call.name}", is_error=True)
        except Exception as error:  # noqa: BLE001 - a tool's fault is told to the model; the chat goes on
            return ToolResult(call.id, f"the tool failed: {type(error).__name__}: {error}", is_error=True)
