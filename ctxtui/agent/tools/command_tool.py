"""run_command: a tool that runs a program in the workspace if the user permits it.

Here are its definition and its input; the chat's host runs the program.
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
"""A longer limit that the model asks for is reduced to this."""
_SHELL_OPERATORS: Final = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>"})
"""Words that only a shell understands."""
_QUOTED: Final = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.""", re.DOTALL)


def make_command_tool(*, shell: bool = False) -> Tool:
    """The tool; with `shell`, its description says that ``/bin/sh`` runs the command line."""
    about = (
        "Run a command line in the workspace, such as a test suite, and read what it prints. /bin/sh runs it."
        if shell
        else "Run a program in the workspace, such as a test suite, and read what it prints. There is no shell: one "
        "program with its arguments, no pipes or redirections."
    )
    command = "The command line." if shell else "The program and its arguments, quoted as in a shell."
    limit = f"Seconds it may take (default {DEFAULT_SECONDS}, at most {MAX_SECONDS})."
    return Tool(
        NAME,
        f"{about} It needs the user's permission.",
        {"command": {"type": "string", "description": command}, "timeout": {"type": "integer", "description": limit}},
        required=("command",),
    )


RUN_COMMAND: Final = make_command_tool()


def describe_call(call: ToolCall) -> str:
    """A tool call in a few words: the tool's name, and the command if it is ``run_command``."""
    call_input = call.input
    command = call_input.get("command") if call.name == NAME and isinstance(call_input, Mapping) else None
    return f"{call.name}: {command}" if isinstance(command, str) else call.name


def split_command(command: str, *, shell: bool = False) -> list[str]:
    """Split `command` into program and arguments; with `shell`, ``/bin/sh`` runs all of it.

    Raises `BadInput` for a command that is no list of words, or has a word that only a shell understands.
    """
    if shell:
        return ["/bin/sh", "-c", command]
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput(f"not a command: {error}", place=NAME) from None
    if not words:
        raise BadInput("the command is empty", place=NAME)
    shell_word = next((word for word in _QUOTED.sub("", command).split() if word in _SHELL_OPERATORS), "")
    if shell_word:
        raise BadInput(
            f"there is no shell that understands {shell_word}", place=NAME, way_out="run one program at a time"
        )
    return words
