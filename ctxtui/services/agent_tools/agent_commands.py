"""The agent's command tool: plan a command, run it confined if possible, keep long output."""

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
from ctxtui.services.sandbox.confined import run_confined
from ctxtui.services.sandbox.confinement import find_confinement
from ctxtui.store.store import Store

PART_CHARS: Final = 50_000
"""Characters of a long output that one ``recall`` returns."""
SHOWN_CHARS: Final = 12_000
"""Characters of each end of a long output that the result includes."""
_OUTPUT: Final = "output-"


class AgentCommands:
    """Runs commands in the folder `root`, as the `settings` allow.

    `keep` records each part of a long output.
    """

    def __init__(self, root: Path, settings: Settings, keep: Callable[[str, str], object]) -> None:
        self._root = root
        self._settings = settings
        self._keep = keep
        self.outputs: dict[str, str] = {}
        """Parts of long outputs, by name."""

    async def plan(self, call: ToolCall) -> PlannedCall | ToolResult:
        """Describe the command of `call` to ask for permission; an error result for bad input."""
        settings = self._settings
        parsed = self._parse_call(call)
        if isinstance(parsed, ToolResult):
            return parsed
        input_, argv = parsed
        sandbox = await asyncio.to_thread(find_confinement, self._root)
        guard = "" if sandbox or settings.command_unconfined else "not confined"
        shell = "by a shell, " if settings.command_shell else ""
        details = f"{shell}{sandbox.describe(network=settings.command_network)}"
        command = input_["command"] if settings.command_shell else shlex.join(argv)
        return PlannedCall(command, details, input_, guard)

    async def run(self, call: ToolCall) -> ToolResult:
        """Run the command of `call`, which the user allowed; failures are error results."""
        settings = self._settings
        parsed = self._parse_call(call)
        if isinstance(parsed, ToolResult):
            return parsed
        input_, argv = parsed
        seconds = min(max(1, input_.get("timeout", DEFAULT_SECONDS)), MAX_SECONDS)
        try:
            # Without a sandbox, the user was asked for this command, or `command_unconfined` allows it.
            result = await run_confined(
                argv,
                self._root,
                seconds=seconds,
                memory_mb=settings.command_memory,
                network=settings.command_network,
                unconfined=True,
                variables=settings.command_variables,
                reads=shlex.split(settings.command_reads),
            )
        except FileNotFoundError:
            missing = f"program {argv[0]}" if self._root.is_dir() else f"folder {self._root}"
            return ToolResult(call.id, f"there is no {missing}", is_error=True)
        except (OSError, ValueError) as error:
            # A NUL or a lone surrogate in an argument is a `ValueError`.
            return ToolResult(call.id, f"{argv[0]}: {getattr(error, 'strerror', None) or error}", is_error=True)
        return ToolResult(call.id, self._format_result(result, seconds), is_error=bool(result.code) or result.late)

    def _parse_call(self, call: ToolCall) -> tuple[dict[str, Any], list[str]] | ToolResult:
        try:
            input_ = check_input(RUN_COMMAND, call.input)
            return input_, split_command(input_["command"], shell=self._settings.command_shell)
        except BadInput as error:
            return ToolResult(call.id, str(error), is_error=True)

    def _format_result(self, result: CommandResult, seconds: int) -> str:
        status = f"exit code {result.code}" if result.code >= 0 else f"ended by signal {-result.code}"
        if result.late:
            status = f"ended after {seconds} seconds: timeout"
        text = result.text.rstrip("\n")
        if len(text) > MAX_RESULT_CHARS:
            name = self._store_output(text)
            omitted = len(text) - 2 * SHOWN_CHARS
            omission = f"[{omitted:,} characters are left out here; `recall` reads them: {name}]"
            text = f"{text[:SHOWN_CHARS]}\n{omission}\n{text[-SHOWN_CHARS:]}"
        head = f"{status}, {result.seconds:.1f} s" + ("" if text else ", no output")
        return "\n".join([head, *result.notes, *([text] if text else [])])

    def _store_output(self, text: str) -> str:
        """Store `text` in parts and return their names."""
        number = 1 + sum(name.endswith(".1") for name in self.outputs)
        parts = [text[at : at + PART_CHARS] for at in range(0, len(text), PART_CHARS)]
        for n, part in enumerate(parts, 1):
            self.outputs[f"{_OUTPUT}{number}.{n}"] = part
            self._keep(f"{_OUTPUT}{number}.{n}", part)
        return f"{_OUTPUT}{number}.1" + (f" to {_OUTPUT}{number}.{len(parts)}" if len(parts) > 1 else "")

    def load_outputs(self, store: Store, session: str) -> None:
        """Load the outputs that an earlier process kept in the stored `session`."""
        for name in store.artifact_names(session, _OUTPUT):
            self.outputs[name] = store.artifact(session, name).decode("utf-8", "replace")
