"""run_command: a program runs in the workspace; the user is asked first. What runs it is not here: it needs a host."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

from ctxtui.agent.events import ToolCall
from ctxtui.agent.tools.tool import BadInput, Tool

NAME: Final = "run_command"
SECONDS: Final = 120
"""A command's time where the model asks for none."""
MOST_SECONDS: Final = 3600
_SHELL: Final = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>"})

RUN_COMMAND: Final = Tool(
    NAME,
    "Run a program in the workspace, such as a test suite, and read what it prints. There is no shell: one program "
    "with its arguments, no pipes or redirections. The user is asked first.",
    {
        "command": {"type": "string", "description": "The program and its arguments, quoted as in a shell."},
        "timeout": {"type": "integer", "description": f"Seconds it may take ({SECONDS})."},
    },
    required=("command",),
)


def told(call: ToolCall) -> str:
    """A call in a few words: its tool, and of a command what runs."""
    given = call.input
    command = given.get("command") if call.name == NAME and isinstance(given, Mapping) else None
    return f"{call.name}: {command}" if isinstance(command, str) else call.name


def arguments(command: str, *, shell: bool = False) -> list[str]:
    """The program and arguments of `command`; with a `shell` the whole is its business. Raises `BadInput` for what only
    a shell understands."""
    if shell:
        return ["/bin/sh", "-c", command]
    try:
        found = shlex.split(command)
    except ValueError as error:
        raise BadInput(f"not a command: {error}", place=NAME) from None
    if not found:
        raise BadInput("the command is empty", place=NAME)
    odd = next((word for word in found if word in _SHELL), "")
    if odd:
        raise BadInput(f"there is no shell that understands {odd}", place=NAME, way_out="run one program at a time")
    return found
