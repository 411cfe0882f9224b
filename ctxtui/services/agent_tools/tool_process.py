"""The agent's tools, done in a child process: one call after the other, each with a deadline, all of them ended at once
by whoever interrupts the turn."""

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
"""Seconds that a call may take."""


P = ParamSpec("P")
Told = TypeVar("Told")


class ToolProcess:
    """The tools that work in the folder `root`, and `own` ones; `known` gives what stands outside the conversation (see
    `Toolbox`).

    For one event loop. A task that is cancelled while it waits here ends the child, and with it what it was doing.
    """

    def __init__(
        self, root: Path, known: Contents = dict, *, own: Sequence[Tool] = (), deadline: float = DEADLINE
    ) -> None:
        self._box = Toolbox(Workspace(root), (*TOOLS, *own), known)
        self._own = {tool.name for tool in own}
        self._worker = Worker(_toolbox, str(root))
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
        return await self._ask(Toolbox.plan, self._box.expand(call))

    async def run(self, call: ToolCall, planned: PlannedWrite | None = None) -> ToolResult:
        """Do `call`, a write as it was `planned`. What goes wrong is the result."""
        if call.name == RECALL:
            # What stands outside is held here.
            return self._box.run(call)
        if call.name in self._own:
            return await asyncio.to_thread(self._box.run, self._box.expand(call))
        return await self._ask(Toolbox.run, self._box.expand(call), planned)

    async def close(self) -> None:
        """End the child."""
        await asyncio.to_thread(self._worker.close)

    async def _ask(
        self, does: Callable[Concatenate[Toolbox, ToolCall, P], Told], call: ToolCall, *args: P.args, **named: P.kwargs
    ) -> Told | ToolResult:
        async with self._turn:
            asking = self._worker.prepared(does, call, *args, **named)
            try:
                async with asyncio.timeout(self._deadline):
                    return await asyncio.to_thread(asking)
            except TimeoutError:
                self._worker.stop()
                told = f"stopped after {self._deadline:g} seconds; ask for less at once"
                return ToolResult(call.id, told, is_error=True)
            except asyncio.CancelledError:
                self._worker.stop()
                raise
            except ChildGone as error:
                return ToolResult(call.id, f"the tool failed: {error}", is_error=True)


def _toolbox(root: str) -> Toolbox:
    return Toolbox(Workspace(root))
