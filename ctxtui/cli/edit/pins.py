"""`ctxtui edits pins`: the pinned blocks of a session as text, and the hook that keeps them through a compaction."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import click

from ctxtui.cli.context import JSON_OPTION, NAME_HELP, SessionName, config_of, opened
from ctxtui.cli.output import note, write, write_json
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.editing.pins import (
    SETTINGS,
    add_hook,
    as_text,
    hook_command,
    install,
    pinned_blocks,
    read_settings,
)
from ctxtui.services.members import members
from ctxtui.views.text import safe_text


@click.command(
    "pins",
    help="Print the pinned blocks of a session; with --hook, have Claude Code read them again after it compacted.\n\n"
    f"NAME is {NAME_HELP}. Blocks are pinned with `p` in the inspector. --hook shows the change of "
    ".claude/settings.local.json in the session's directory and asks before it is written.\n\n\b\n"
    "Example: ctxtui edits pins last --hook\n"
    "Example: ctxtui edits pins last --json",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option("--hook", is_flag=True, help="Install the SessionStart hook (matcher: compact) that prints them.")
@click.option("--yes", is_flag=True, help="With --hook: do not ask.")
@JSON_OPTION
@click.pass_context
def pins(context: click.Context, name: str, hook: bool, yes: bool, as_json: bool) -> None:
    """The pinned blocks of a session."""
    settings = config_of(context).settings
    loaded = opened(name, settings)
    overlays = SessionEdits(loaded, settings)
    edits = [edit for thread in loaded.session.threads for edit in overlays.of(thread).in_force]
    found = pinned_blocks(loaded.session, edits)
    if hook:
        _install(Path(loaded.session.about.cwd or "."), hook_command(loaded.session.about.id or name), yes)
        note(f"{len(found):,} block{'' if len(found) == 1 else 's'} pinned now")
    elif as_json:
        fields = [members(one, "digest tool=name text") for one in found]
        write_json({"session": loaded.session.about.id or loaded.name, "pins": fields})
    elif found:
        write(as_text(found).rstrip("\n"))
    else:
        note("nothing is pinned: `p` in the inspector pins a block")


def _install(folder: Path, run: str, yes: bool) -> None:
    if not folder.is_dir():
        raise CtxtuiError("the session's directory is not here", place=str(folder))
    before = read_settings(folder)
    after = add_hook(before, run)
    if after == before:
        note(f"the hook is there already: {folder / SETTINGS}")
        return
    for line in difflib.unified_diff(_lines(before), _lines(after), str(SETTINGS), str(SETTINGS), lineterm="", n=2):
        # What stands in the folder's file is no word of ours: nothing in it may reach the terminal as it is.
        write(safe_text.line(line))
    if not yes and not click.confirm(f"Write {folder / SETTINGS}?", default=False, err=True):
        note("nothing was written")
        return
    note(f"written: {install(folder, after)}")


def _lines(settings: dict[str, Any]) -> list[str]:
    return json.dumps(settings, indent=2, ensure_ascii=False).splitlines() if settings else []
