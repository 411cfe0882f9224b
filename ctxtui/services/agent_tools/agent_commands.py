"""The agent's commands: asked for with what they can reach, run confined where that is possible, their output kept."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.command_tool import DEFAULT_SECONDS, MAX_SECONDS, RUN_COMMAND, split_command
from ctxtui.agent.tools.tool import MAX_RESULT_CHARS, BadInput, PlannedCall, check_input
from ctxtui.services.config.settings import Settings
from ctxtui.services.sandbox.command import CommandResult
from ctxtui.services.sandbox.confined import confined
from ctxtui.services.sandbox.confinement import confinement

_PART: Final = 50_000
"""Characters of a long output that `recall` gives at once."""
_SHOWN: Final = 12_000
"""Characters at each end of a long output that the model reads at once."""


class AgentCommands:
    """Runs commands in the folder `root` as the `settings` allow. What is too long to be read at once is kept by name;
    `keep` puts it on record."""

    def __init__(self, root: Path, settings: Settings, keep: Callable[[str, str], object]) -> None:
        self._root = root
        self._settings = settings
        self._keep = keep
        self.kept: dict[str, str] = {}
        """Long outputs in parts, by name."""

    async def plan(self, call: ToolCall) -> PlannedCall | ToolResult:
        """What `call` would run; or what the model is told where it cannot be run."""
        settings = self._settings
        asked = self._asked(call)
        if isinstance(asked, ToolResult):
            return asked
        given, argv = asked
        found = await asyncio.to_thread(confinement, self._root)
        guard = "" if found or settings.command_unconfined else "not confined"
        shell = "by a shell, " if settings.command_shell else ""
        told = f"{shell}{found.told(network=settings.command_network)}"
        return PlannedCall(shlex.join(argv) if not settings.command_shell else given["command"], told, given, guard)

    async def run(self, call: ToolCall) -> ToolResult:
        """Run `call`. What goes wrong is the result."""
        settings = self._settings
        asked = self._asked(call)
        if isinstance(asked, ToolResult):
            return asked
        given, argv = asked
        seconds = min(max(1, given.get("timeout", DEFAULT_SECONDS)), MAX_SECONDS)
        memory, network = settings.command_memory, settings.command_network
        try:
            # Whether it may run unconfined was answered when it was asked for.
            done = await confined(
                argv,
                self._root,
                seconds=seconds,
                memory_mb=memory,
                network=network,
                unconfined=True,
                variables=settings.command_variables,
                reads=shlex.split(settings.command_reads),
            )
        except FileNotFoundError:
            return ToolResult(call.id, f"there is no program {argv[0]}", is_error=True)
        except OSError as error:
            return ToolResult(call.id, f"{argv[0]}: {error.strerror or error}", is_error=True)
        return ToolResult(call.id, self._told(done, seconds), is_error=bool(done.code) or done.late)

    def _asked(self, call: ToolCall) -> tuple[dict[str, Any], list[str]] | ToolResult:
        """The input of `call` and the words of its command; what the model is told where they are no good."""
        try:
            given = check_input(RUN_COMMAND, call.input)
            return given, split_command(given["command"], shell=self._settings.command_shell)
        except BadInput as error:
            return ToolResult(call.id, str(error), is_error=True)

    def _told(self, done: CommandResult, seconds: int) -> str:
        """What the model reads: how it ended, then what it printed."""
        ended = f"exit code {done.code}" if done.code >= 0 else f"ended by signal {-done.code}"
        if done.late:
            ended = f"ended after {seconds} seconds: its time was up"
        text = done.text.rstrip("\n")
        if len(text) > MAX_RESULT_CHARS:
            name = self._kept(text)
            left = len(text) - 2 * _SHOWN
            kept = f"[{left:,} characters are left out here; `recall` reads all of it: {name}]"
            text = f"{text[:_SHOWN]}\n{kept}\n{text[-_SHOWN:]}"
        head = f"{ended}, {done.seconds:.1f} s" + ("" if text else ", no output")
        return "\n".join([head, *done.notes, *([text] if text else [])])

    def _kept(self, text: str) -> str:
        """Keep `text` in parts; how they are called."""
        number = 1 + sum(name.endswith(".1") for name in self.kept)
        parts = [text[at : at + _PART] for at in range(0, len(text), _PART)]
        for n, part in enumerate(parts, 1):
            self.kept[f"output-{number}.{n}"] = part
            self._keep(f"output-{number}.{n}", part)
        return f"output-{number}.1" + (f" to output-{number}.{len(parts)}" if len(parts) > 1 else "")
