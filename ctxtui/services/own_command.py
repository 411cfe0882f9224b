"""Run a command of the user (``[commands.NAME]``) on what a screen shows.

The shell runs it. It gets the session, call and block in variables (`VARIABLES`), and, unless it takes over the
terminal, the block's text on standard input, so that no name or text of a recording becomes part of the command line.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.own_commands import OwnCommand

VARIABLES: Final = {
    "CTXTUI_SESSION": "the recording's path, or the stored session's id",
    "CTXTUI_THREAD": "the thread's id",
    "CTXTUI_CALL": "the call's number in its thread, from 1",
    "CTXTUI_BLOCK": "the block's digest, as `ctxtui show --json` gives it",
    "CTXTUI_CATEGORY": "the block's category: `tool_result`, `user`, ...",
}
"""Variables of a command's environment, and their meaning; one without a value on this screen is empty."""
MESSAGE_SECONDS: Final = 60
"""Seconds after which a command whose output is a message is stopped: it runs unseen."""


class Target(Struct, frozen=True):
    """The place that a command is run on.

    `variables` are values of `VARIABLES`, `text` is the block's ("" without a block).
    """

    variables: Mapping[str, str] = {}
    text: str = ""


class CommandFailed(CtxtuiError):
    """The user's own command could not be started, or was stopped."""


def run_command(command: OwnCommand, target: Target) -> tuple[int, str]:
    """Run `command` and wait.

    Return its exit code and what it printed, errors included ("" with the output ``terminal``). Raises `CommandFailed`.
    """
    env = {**os.environ, **dict.fromkeys(VARIABLES, ""), **target.variables}
    has_terminal, is_limited = command.output == "terminal", command.output == "message"
    pipe = None if has_terminal else subprocess.PIPE
    try:
        process = subprocess.Popen(
            command.run,
            shell=True,
            env=env,
            stdin=pipe,
            stdout=pipe,
            stderr=None if has_terminal else subprocess.STDOUT,
            # A group of its own, so that all that it started can be stopped.
            process_group=0 if is_limited else None,
        )
    except OSError as error:
        raise CommandFailed(f"{command.name} cannot be started: {error.strerror}") from error
    with process:
        try:
            output, _ = process.communicate(
                None if has_terminal else target.text.encode("utf-8", "backslashreplace"),
                MESSAGE_SECONDS if is_limited else None,
            )
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise CommandFailed(
                f"{command.name} was stopped after {MESSAGE_SECONDS} s",
                way_out='give it output = "terminal" or "pager"',
            ) from None
    return process.returncode, (output or b"").decode("utf-8", "replace")
