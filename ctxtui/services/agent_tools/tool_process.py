"""The agent's file tools, run in a child process one call at a time, each with a deadline.

A cancelled or late call ends the child; the next call starts another. Memory tools and ``recall`` run in this process,
without a deadline; a cancelled memory tool runs on in its thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.read_tools import NAME as RECALL
from ctxtui.agent.tools.read_tools import Contents
from ctxtui.agent.tools.registry import TOOLS, Toolbox
from ctxtui.agent.tools.tool import PlannedWrite, Tool
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.services.child_process import ChildGone
from ctxtui.services.worker import Worker

DEADLINE: Final = 60.0
P = ParamSpec("P")
T = TypeVar("T")


class ToolProcess:
    """The file tools of the folder `root`, and the chat's `memory` tools.

    `external` returns externalized contents by name, for references in inputs and for ``recall``. For one event loop.
    """

    def __init__(
        self, root: Path, external: Contents = dict, *, memory: Sequence[Tool] = (), deadline: float = DEADLINE
    ) -> None:
        self._box = Toolbox(Workspace(root), (*TOOLS, *memory), external)
        self._memory_names = {tool.name for tool in memory}
        self._worker = Worker(Toolbox, Workspace(root))
        self._deadline = deadline
        self._memory = tuple(memory)
        # One call at a time: a write is planned only after the writes before it.
        self._lock = asyncio.Lock()

    def copy(self, external: Contents) -> ToolProcess:
        """The same tools in another process, with other `external` contents."""
        return ToolProcess(self._box.workspace.root, external, memory=self._memory, deadline=self._deadline)

    def needs_permission(self, name: str) -> bool:
        return self._box.asks(name)

    async def plan(self, call: ToolCall) -> PlannedWrite | ToolResult:
        """Plan the write of `call`, or return an error result for the model."""
        return await self._ask_child(Toolbox.plan, self._box.expand(call))

    async def run(self, call: ToolCall, planned: PlannedWrite | None = None) -> ToolResult:
        """Run `call`, a write as it was `planned` (None: plan it now); failures are error results."""
        if call.name == RECALL:
            # The child does not have the external content.
            return self._box.run(call)
        if call.name in self._memory_names:
            return await asyncio.to_thread(self._box.run, self._box.expand(call))
        return await self._ask_child(Toolbox.run, self._box.expand(call), planned)

    async def close(self) -> None:
        await asyncio.to_thread(self._worker.close)

    async def _ask_child(
        self, method: Callable[Concatenate[Toolbox, ToolCall, P], T], call: ToolCall, *args: P.args, **named: P.kwargs
    ) -> T | ToolResult:
        async with self._lock:
            request = self._worker.prepare(method, call, *args, **named)
            try:
                async with asyncio.timeout(self._deadline):
                    return await asyncio.to_thread(request)
            except TimeoutError:
                self._worker.stop()
                message = f"stopped after {self._deadline:g} seconds; ask for less at once"
                return ToolResult(call.id, message, is_error=True)
            except asyncio.CancelledError:
                self._worker.stop()
                raise
            except ChildGone as error:
                return ToolResult(call.id, f"the tool failed: {error}", is_error=True)
