"""Pinned blocks that survive a client's own compaction: their words, and the hook that gives them back to the model.

Claude Code runs `SessionStart` hooks with the matcher `compact` after it compacted; what such a hook prints is put
before the model again.
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
from ctxtui.services.editing.exporting import write_private
from ctxtui.views.text import safe_text

_OURS: Final = re.compile(r" -m ctxtui (?:edits )?pins ")
"""In the command of a hook that ctxtui installed, in this version or before."""

SETTINGS = Path(".claude") / "settings.local.json"
"""Where Claude Code reads a person's own settings of a project."""
EVENT, MATCHER = "SessionStart", "compact"


class Pinned(Struct, frozen=True):
    """One pinned block: its category's side (`role`), tool or "" (`name`), its words, and its digest."""

    role: str
    name: str
    text: str
    digest: str


def pinned(session: Session, edits: Iterable[Edit]) -> list[Pinned]:
    """The blocks that `edits` (those in force) pin, in the order of pinning; each once."""
    found: dict[str, Pinned] = {}
    for edit in edits:
        for target in edit.targets if edit.kind == PIN else ():
            block = session.tree.blocks.get(target.digest)
            if block is not None:
                got = read(block)
                found.setdefault(target.digest, Pinned("", got.name, got.text or got.arguments, target.digest))
    return [one for one in found.values() if one.text.strip()]


def as_text(pins: Iterable[Pinned]) -> str:
    """What the hook prints: every pinned block whole, each under a line that says what it is.

    A tool's result may hold escapes for the terminal and text that nobody sees: the model gets what is shown.
    """
    parts = [
        f"## Pinned{f' ({safe_text.one_line(one.name)})' if one.name else ''}\n\n{safe_text.plain(one.text.strip())}"
        for one in pins
    ]
    head = "The user pinned these parts of the conversation before it was compacted. They still hold.\n\n"
    return head + "\n\n".join(parts) + "\n" if parts else ""


def command(session: str) -> str:
    """The shell command that the hook runs. Claude Code runs it in the project's folder, from which nothing may be
    imported (``-P``)."""
    return f"{shlex.quote(sys.executable)} -P -m ctxtui edits pins {shlex.quote(session)}"


def hooked(settings: dict[str, Any], run: str) -> dict[str, Any]:
    """`settings` with the hook in them, once; everything else stays. Raises `Malformed` where hooks are of another
    shape."""
    hooks = settings.get("hooks", {})
    listed = hooks.get(EVENT, []) if isinstance(hooks, dict) else None
    if not isinstance(listed, list):
        raise Malformed("hooks are not as Claude Code writes them", place=f"$.hooks.{EVENT}")
    own = {"matcher": MATCHER, "hooks": [{"type": "command", "command": run}]}
    kept = [one for one in listed if not _is_ours(one)]
    return {**settings, "hooks": {**hooks, EVENT: [*kept, own]}}


def _is_ours(entry: Any) -> bool:
    inner = entry.get("hooks") if isinstance(entry, dict) else None
    return any(isinstance(one, dict) and _OURS.search(str(one.get("command"))) for one in inner or ())


def settings_of(folder: Path) -> dict[str, Any]:
    """The person's own Claude Code settings of the project in `folder`; empty where there are none. Raises
    `CtxtuiError`."""
    path = folder / SETTINGS
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CtxtuiError(f"cannot be read: {error}", place=str(path)) from error
    if not isinstance(found, dict):
        raise Malformed("no JSON object", place=str(path))
    return found


def install(folder: Path, settings: dict[str, Any]) -> Path:
    """Write `settings` as the person's own of the project in `folder`; the path. Raises `CtxtuiError`."""
    path = folder / SETTINGS
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, json.dumps(settings, indent=2, ensure_ascii=False).encode() + b"\n", replace=True)
    return path
