"""Pinned blocks as text, and Claude Code's hooks that run ctxtui commands.

One hook returns the pinned blocks: Claude Code runs `SessionStart` hooks with the matcher ``compact`` after a
compaction and adds their output to the model's context.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ctxtui.core.block_content import read
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import PIN
from ctxtui.core.errors import CtxtuiError, Malformed
from ctxtui.core.session import Session
from ctxtui.services.editing.exporting import create_folder, write_private
from ctxtui.views.text import safe_text

SETTINGS = Path(".claude") / "settings.local.json"
"""Claude Code's file of a user's own settings for a project."""


class Hook(Struct, frozen=True):
    """A hook of Claude Code.

    `own` matches the commands that this or an earlier version of ctxtui wrote.
    """

    event: str
    matcher: str
    own: re.Pattern[str]


PINS_HOOK: Final = Hook("SessionStart", "compact", re.compile(r" -m ctxtui (?:edits )?pins "))
"""Returns the pinned blocks after a compaction."""
AHEAD_HOOK: Final = Hook("PreCompact", "", re.compile(r" -m ctxtui compactions "))
"""Adds its output to the instructions for the summary."""

COLD_HOOK: Final = Hook("UserPromptSubmit", "", re.compile(r" -m ctxtui cache "))
"""Says before a message is sent that the cache has expired, with the price."""


class PinnedBlock(Struct, frozen=True):
    """A pinned block.

    `text` is its content or a call's arguments, `name` the called tool ("": no call).
    """

    name: str
    text: str
    digest: str


def pinned_blocks(session: Session, edits: Iterable[Edit]) -> list[PinnedBlock]:
    """The blocks with text that the active `edits` pin, in the order of pinning, each once."""
    pins: dict[str, PinnedBlock] = {}
    for edit in edits:
        for target in edit.targets if edit.kind == PIN else ():
            block = session.tree.blocks.get(target.digest)
            if block is not None:
                reading = read(block)
                pins.setdefault(
                    target.digest, PinnedBlock(reading.name, reading.text or reading.arguments, target.digest)
                )
    return [pin for pin in pins.values() if pin.text.strip()]


def as_text(pins: Iterable[PinnedBlock]) -> str:
    """The hook's output: every pinned block in full, each under a heading.

    A tool's result may hold terminal escapes and invisible text; the model gets only what is shown.
    """
    parts = [
        f"## Pinned{f' ({safe_text.one_line(pin.name)})' if pin.name else ''}\n\n{safe_text.plain(pin.text.strip())}"
        for pin in pins
    ]
    head = "The user pinned these parts of the conversation before it was compacted. They still hold.\n\n"
    return head + "\n\n".join(parts) + "\n" if parts else ""


def pins_command() -> str:
    """The shell command of `PINS_HOOK`, which learns the session from its input.

    Claude Code runs it in the project's folder, from which nothing must be imported (``-P``).
    """
    return f"{shlex.quote(sys.executable)} -P -m ctxtui edits pins --hook-input"


def ahead_command() -> str:
    """The command of `AHEAD_HOOK`, which learns the session from its input."""
    return f"{shlex.quote(sys.executable)} -P -m ctxtui compactions --ahead --hook-input"


def cold_command() -> str:
    """The command of `COLD_HOOK`, which learns the session from its input.

    It never exits with code 2, which would make Claude Code refuse the message.
    """
    return f"{shlex.quote(sys.executable)} -P -m ctxtui cache --hook-input || exit 1"


def add_hook(settings: dict[str, Any], run: str, kind: Hook = PINS_HOOK) -> dict[str, Any]:
    """`settings` with a hook in place of earlier ones of its `kind`, and nothing else changed.

    Raises `Malformed` if the hooks of this event are malformed.
    """
    hooks = settings.get("hooks", {})
    entries = hooks.get(kind.event, []) if isinstance(hooks, dict) else None
    if not isinstance(entries, list):
        raise _malformed_hooks(kind.event)
    other_entries = []
    for number, entry in enumerate(entries):
        commands = entry.get("hooks", []) if isinstance(entry, dict) else None
        if not isinstance(commands, list):
            raise _malformed_hooks(f"{kind.event}[{number}]")
        other_commands = [command for command in commands if not _is_own_command(command, kind)]
        if len(other_commands) == len(commands):
            other_entries.append(entry)
        elif other_commands:
            other_entries.append({**entry, "hooks": other_commands})
    hook = {**({"matcher": kind.matcher} if kind.matcher else {}), "hooks": [{"type": "command", "command": run}]}
    return {**settings, "hooks": {**hooks, kind.event: [*other_entries, hook]}}


def _malformed_hooks(place: str) -> Malformed:
    return Malformed("hooks have an unknown format", place=f"$.hooks.{place}", way_out=f"fix {SETTINGS}")


def _is_own_command(command: Any, kind: Hook) -> bool:
    return isinstance(command, dict) and kind.own.search(str(command.get("command"))) is not None


def read_settings(folder: Path) -> dict[str, Any]:
    """The user's own Claude Code settings of the project in `folder`; {} if there are none.

    Raises `CtxtuiError`.
    """
    path = folder / SETTINGS
    if not path.exists():
        return {}
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CtxtuiError(f"cannot be read: {error}", place=str(path)) from error
    if not isinstance(settings, dict):
        raise Malformed("not a JSON object", place=str(path))
    return settings


def install(folder: Path, settings: dict[str, Any]) -> Path:
    """Write `settings` as the user's own of the project in `folder`; return the path.

    A symbolic link stays, and the file that it names is written. Raises `CtxtuiError`.
    """
    path = folder / SETTINGS
    create_folder(path.parent)
    try:
        text = json.dumps(settings, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise Malformed(f"a number cannot be written again: {error}", place=str(path)) from error
    # A lone surrogate becomes the JSON escape that it was.
    write_private(path.resolve(), text.encode("utf-8", "backslashreplace") + b"\n", replace=True)
    return path
