"""The agent's tools in a process of their own: where a search or a write can be ended at any moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.planned_write import PlannedWrite
from ctxtui.agent.tools.registry import Toolbox
from ctxtui.agent.tools.workspace import Workspace


class ToolWork(NamedTuple):
    """A call to be done in the folder `root`: worked out only where it is to `plan`, else done, a write as
    `planned`."""

    root: str
    call: ToolCall
    plan: bool = False
    planned: PlannedWrite | None = None


def starter() -> Callable[[ToolWork], PlannedWrite | ToolResult]:
    """What the child answers requests with."""
    boxes: dict[str, Toolbox] = {}

    def answer(work: ToolWork) -> PlannedWrite | ToolResult:
        box = boxes.get(work.root)
        if box is None:
            box = boxes[work.root] = Toolbox(Workspace(work.root))
        return box.plan(work.call) if work.plan else box.run(work.call, work.planned)

    return answer
