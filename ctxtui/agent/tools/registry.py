"""The agent's tools by name, and the execution of their calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.read_tools import FIND, GREP, LIST_DIR, READ_FILE, Contents, make_recall
from ctxtui.agent.tools.read_tools import NAME as RECALL
from ctxtui.agent.tools.tool import PlannedWrite, Tool, check_input
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.agent.tools.write_tools import EDIT_FILE, WRITE_FILE, execute_plan
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.apply.references import expand_value

TOOLS: Final[tuple[Tool, ...]] = (READ_FILE, LIST_DIR, FIND, GREP, WRITE_FILE, EDIT_FILE)


class Toolbox:
    """The tools of the agent in `workspace`.

    `contents` returns externalized contents: texts that a reference, ``{{REF:name}}``, replaces in the context. A
    reference in a tool's input is replaced by its content, and the tool ``recall`` returns it to the model.
    """

    def __init__(self, workspace: Workspace, tools: Sequence[Tool] = TOOLS, contents: Contents = dict) -> None:
        self.workspace = workspace
        self.tools = {tool.name: tool for tool in (*tools, make_recall(contents))}
        self._contents = contents

    def asks(self, name: str) -> bool:
        return name in self.tools and self.tools[name].writes

    def expand(self, call: ToolCall) -> ToolCall:
        """Replace references in `call` by their content."""
        return call if call.name == RECALL else replace(call, input=expand_value(call.input, self._contents()))

    def plan(self, call: ToolCall) -> PlannedWrite | ToolResult:
        """Plan the write of an expanded `call`, or return the error for the model."""
        plans: list[PlannedWrite] = []

        def work(tool: Tool) -> str:
            if tool.plan is None:
                raise CtxtuiError("the tool writes nothing", place=call.name)
            plans.append(tool.plan(self.workspace, check_input(tool, call.input)))
            return ""

        failure = self._execute(call, work)
        return plans[0] if plans else failure

    def run(self, call: ToolCall, planned: PlannedWrite | None = None) -> ToolResult:
        """Run the expanded `call`; a write as it was `planned` (None: plan it now).

        Errors are returned as the result, for the model.
        """

        def work(tool: Tool) -> str:
            if tool.run is not None:
                return tool.run(self.workspace, check_input(tool, call.input))
            assert tool.plan is not None
            return execute_plan(self.workspace, planned or tool.plan(self.workspace, check_input(tool, call.input)))

        return self._execute(call, work)

    def _execute(self, call: ToolCall, work: Callable[[Tool], str]) -> ToolResult:
        tool = self.tools.get(call.name)
        if tool is None:
            names = ", ".join(self.tools)
            return ToolResult(call.id, f"There is no tool {call.name!r}; there are {names}.", is_error=True)
        try:
            return ToolResult(call.id, work(tool) or "(nothing)")
        except CtxtuiError as error:
            return ToolResult(call.id, str(error), is_error=True)
        except OSError as error:
            return ToolResult(call.id, f"{error.strerror or error} @ {call.name}", is_error=True)
        except Exception as error:  # noqa: BLE001 - a tool's fault is told to the model; the chat goes on
            return ToolResult(call.id, f"the tool failed: {type(error).__name__}: {error}", is_error=True)
