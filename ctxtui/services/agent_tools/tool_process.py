"""The agent's tools, done in a child process: one call after the other, each with a deadline, all of them ended at once
by whoever interrupts the turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.planned_write import PlannedWrite
from ctxtui.agent.tools.recall_tool import NAME as RECALL
from ctxtui.agent.tools.recall_tool import Known
from ctxtui.agent.tools.registry import TOOLS, Toolbox
from ctxtui.agent.tools.tool import Tool
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.workers.tool_worker import ToolWork

DEADLINE: Final = 60.0
"""Seconds that a call may take."""


class ToolProcess:
    """The tools that work in the folder `root`, and `own` ones; `known` gives what stands outside the conversation (see
    `Toolbox`).

    For one event loop. A task that is cancelled while it waits here ends the child, and with it what it was doing.
    """

    def __init__(
        self, root: Path, known: Known = dict, *, own: Sequence[Tool] = (), deadline: float = DEADLINE
    ) -> None:
        self._box = Toolbox(Workspace(root), (*TOOLS, *own), known)
        self._own = {tool.name for tool in own}
        self._child = ChildProcess("ctxtui.services.workers.tool_worker:starter")
        self._deadline = deadline
        self._kept = tuple(own)
        self._known = known
        # In order: a write is planned when the writes before it are done.
        self._turn = asyncio.Lock()

    def another(self) -> ToolProcess:
        """The same tools in a process of their own: who ends those ends none of these."""
        return ToolProcess(self._box.workspace.root, self._known, own=self._kept, deadline=self._deadline)

    def asks(self, name: str) -> bool:
        """Whether the user is asked before this tool runs."""
        return self._box.asks(name)

    async def plan(self, call: ToolCall) -> PlannedWrite | ToolResult:
        """What `call` would write; or what the model is told where it cannot be done."""
        return await self._ask(self._work(call)._replace(plan=True))

    async def run(self, call: ToolCall, planned: PlannedWrite | None = None) -> ToolResult:
        """Do `call`, a write as it was `planned`. What goes wrong is the result."""
        if call.name == RECALL:
            # What stands outside is held here.
            return self._box.run(call)
        if call.name in self._own:
            return await asyncio.to_thread(self._box.run, self._box.expanded(call))
        done = await self._ask(self._work(call)._replace(planned=planned))
        assert isinstance(done, ToolResult)
        return done

    async def close(self) -> None:
        """End the child."""
        await asyncio.to_thread(self._child.close)

    def _work(self, call: ToolCall) -> ToolWork:
        return ToolWork(str(self._box.workspace.root), self._box.expanded(call))

    async def _ask(self, work: ToolWork) -> PlannedWrite | ToolResult:
        async with self._turn:
            asking = partial(self._child.ask, work, closed=self._child.closed)
            try:
                async with asyncio.timeout(self._deadline):
                    done: PlannedWrite | ToolResult = await asyncio.to_thread(asking)
                    return done
            except TimeoutError:
                self._child.close()
                told = f"stopped after {self._deadline:g} seconds; ask for less at once"
                return ToolResult(work.call.id, told, is_error=True)
            except asyncio.CancelledError:
                self._child.close()
                raise
            except ChildGone as error:
                return ToolResult(work.call.id, f"the tool failed: {error}", is_error=True)
