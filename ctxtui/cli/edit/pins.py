"""`ctxtui edits pins`: pinned blocks, and a hook that prints them after a compaction."""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path
from typing import Any, Final

import click

from ctxtui.cli.context import JSON_OPTION, NAME_HELP, SessionName, config_of, open_recording
from ctxtui.cli.output import note, write, write_json
from ctxtui.core.errors import CtxtuiError, Malformed
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.editing.pins import (
    PINS_HOOK,
    SETTINGS,
    Hook,
    add_hook,
    as_text,
    install,
    pinned_blocks,
    pins_command,
    read_settings,
)
from ctxtui.services.members import members
from ctxtui.views.text import numbers, safe_text

YES_OPTION: Final = click.option("--yes", is_flag=True, help="With --hook: do not ask.")
HOOK_INPUT_OPTION: Final = click.option(
    "--hook-input", is_flag=True, hidden=True, help="The session is named by a hook's JSON on standard input."
)


@click.command(
    "pins",
    help="Print the pinned blocks of a session; with --hook, let Claude Code read them again after a compaction.\n\n"
    f"NAME is {NAME_HELP} (default: last). Press `p` in the inspector to pin a block. --hook shows the change to "
    ".claude/settings.local.json in the session's directory, and asks before writing it.\n\n\b\n"
    "Example: ctxtui edits pins last --hook\n"
    "Example: ctxtui edits pins last --json",
)
@click.argument("name", metavar="[NAME]", type=SessionName(), default="last")
@click.option("--hook", is_flag=True, help="Install the SessionStart hook (matcher: compact) that prints them.")
@YES_OPTION
@HOOK_INPUT_OPTION
@JSON_OPTION
@click.pass_context
def pins(context: click.Context, name: str, hook: bool, yes: bool, hook_input: bool, as_json: bool) -> None:
    settings = config_of(context).settings
    loaded = open_recording(hook_transcript() if hook_input else name, settings)
    overlays = SessionEdits(loaded, settings)
    edits = [edit for thread in loaded.session.threads for edit in overlays.of_thread(thread).in_force]
    blocks = pinned_blocks(loaded.session, edits)
    if hook:
        install_hook(Path(loaded.session.about.cwd or "."), pins_command(), PINS_HOOK, yes)
        note(f"{numbers.many(len(blocks), 'block')} pinned now")
    elif as_json:
        fields = [members(block, "digest tool=name text") for block in blocks]
        write_json({"session": loaded.session.about.id or loaded.name, "pins": fields})
    elif blocks:
        write(as_text(blocks).rstrip("\n"))
    else:
        note("nothing is pinned: press `p` in the inspector to pin a block")


def install_hook(folder: Path, run: str, kind: Hook, yes: bool) -> None:
    """Show the change to Claude Code's settings in `folder`, and write it.

    Ask first unless `yes`. `run`: the hook's command; `kind`: when Claude Code runs it.
    """
    if not folder.is_dir():
        raise CtxtuiError("the session's directory does not exist here", place=str(folder))
    before = read_settings(folder)
    after = add_hook(before, run, kind)
    if after == before:
        note(f"the hook is already installed: {folder / SETTINGS}")
        return
    for line in difflib.unified_diff(_lines(before), _lines(after), str(SETTINGS), str(SETTINGS), lineterm="", n=2):
        # The file's text is untrusted: make it safe for the terminal.
        write(safe_text.line(line))
    if not yes and not click.confirm(f"Write {folder / SETTINGS}?", default=False, err=True):
        note("nothing was written")
        return
    note(f"written: {install(folder, after)}")


def hook_transcript() -> str:
    """The transcript that Claude Code names in a hook's input.

    Raises `Malformed`: exit code 2, of wrong use, would make Claude Code block the compaction or the message.
    """
    try:
        path = json.loads(sys.stdin.read())["transcript_path"]
    except (ValueError, KeyError, TypeError, RecursionError):
        path = ""
    if not isinstance(path, str) or not path:
        raise Malformed("no JSON of a hook on standard input", place="--hook-input")
    return path


def _lines(settings: dict[str, Any]) -> list[str]:
    return json.dumps(settings, indent=2, ensure_ascii=False).splitlines() if settings else []
