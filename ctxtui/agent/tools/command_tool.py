"""run_command: a tool that runs a program in the workspace after asking the user.

Execution is up to the host.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Final

from ctxtui.agent.events import ToolCall
from ctxtui.agent.tools.tool import BadInput, Tool

NAME: Final = "run_command"
DEFAULT_SECONDS: Final = 120
"""Default time limit of a command."""
MAX_SECONDS: Final = 3600
"""Maximum time limit that the model can ask for."""
_SHELL: Final = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>"})
"""Words that only a shell understands."""
_QUOTED: Final = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.""", re.DOTALL)
"""A quotation or an escape."""

RUN_COMMAND: Final = Tool(
    NAME,
    "Run a program in the workspace, such as a test suite, and read what it prints. There is no shell: one program "
    "with its arguments, no pipes or redirections. The user is asked first.",
    {
        "command": {"type": "string", "description": "The program and its arguments, quoted as in a shell."},
        "timeout": {"type": "integer", "description": f"Seconds it may take ({DEFAULT_SECONDS})."},
    },
    required=("command",),
)


def describe_call(call: ToolCall) -> str:
    """Describe a call in a few words: its tool, and the command to run."""
    call_input = call.input
    command = call_input.get("command") if call.name == NAME and isinstance(call_input, Mapping) else None
    return f"{call.name}: {command}" if isinstance(command, str) else call.name


def split_command(command: str, *, shell: bool = False) -> list[str]:
    """Split `command` into program and arguments.

    With a `shell`, give it to ``/bin/sh`` as a whole. Without a shell, raises `BadInput` for an empty command, an open
    quote, and an operator of `_SHELL` that is a word of its own and not quoted.
    """
    if shell:
        return ["/bin/sh", "-c", command]
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput(f"not a command: {error}", place=NAME) from None
    if not words:
        raise BadInput("the command is empty", place=NAME)
    shell_word = next((word for word in _QUOTED.sub("", command).split() if word in _SHELL), "")
    if shell_word:
        raise BadInput(
            f"there is no shell that understands {shell_word}", place=NAME, way_out="run one program at a time"
        )
    return words
