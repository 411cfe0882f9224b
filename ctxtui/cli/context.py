"""Shared by commands: the configuration, common options, and opening a recording by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.cli.output import note, note_skipped_database
from ctxtui.cli.progress import Working
from ctxtui.core.edit import Edit
from ctxtui.core.errors import NotFound, Unreadable
from ctxtui.services.config.config import Config, export_flags, load
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.discover import find_recordings
from ctxtui.services.recordings.open_by_name import Named, locate, open_named
from ctxtui.services.recordings.recording import Loaded

MIN_ID_CHARS: Final = 4
"""Typed characters from which shells complete ids."""
NAME_HELP: Final = (
    "a file, a folder or database (its newest session; DATABASE#ID names one), a session's id or the start of one, "
    "last for this directory's newest session, or - for standard input"
)


class SessionName(click.ParamType[str]):
    """Name of a recording."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """An empty name, as of an unset shell variable, would be the current folder."""
        return value or self.fail("the name is empty", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        files = [CompletionItem(incomplete, type="file")]
        if len(incomplete) < MIN_ID_CHARS or os.sep in incomplete:
            return files
        ids = dict.fromkeys(
            recording.id for recording in find_recordings(Path.cwd()) if recording.id.startswith(incomplete)
        )
        return [CompletionItem(id_) for id_ in ids] or files


def config_of(context: click.Context) -> Config:
    root = context.find_root()
    if not isinstance(root.obj, Config):
        root.obj = load(root.obj or ())
        export_flags(root.obj)
    return root.obj


def override(context: click.Context, **options: object) -> None:
    """Set settings before the configuration is loaded, like ``--set``; empty values are ignored."""
    root = context.find_root()
    root.obj = (*(root.obj or ()), *(f"{name}={value}" for name, value in options.items() if value not in ("", None)))


CALL_OPTION: Final = click.option(
    "--call", "number", type=click.IntRange(min=1), metavar="N", help="The thread's Nth call (default: last)."
)
THREAD_OPTION: Final = click.option(
    "--thread", default="", metavar="T", help="A subagent's thread, by ID or label (default: the main one)."
)
JSON_OPTION: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1).")
FORCE_OPTION: Final = click.option("--force", is_flag=True, help="Replace an existing FILE.")
FILES_OPTION: Final = click.option(
    "--files",
    type=click.Choice(["named", "auto"]),
    help="auto: attach the project files that matter for the first message; named: only files given as @path.",
)
MEMORY_OPTION: Final = click.option(
    "--memory", metavar="DIR", default="", help="A folder for the agent's memory across chats."
)
TOOLS_OPTION: Final = click.option(
    "--tools",
    "tool_files",
    metavar="FILE.py",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="A Python file with your own tools (docs/plugins.md); repeatable.",
)


def read_file(path: Path) -> bytes:
    """Raises `NotFound`, `Unreadable`."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFound("no such file", place=str(path)) from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}", place=str(path)) from error


def applied_edits_of(loaded: Loaded, settings: Settings, chosen: ChosenCall) -> tuple[Edit, ...]:
    """Edits applied to the request after the `chosen` call.

    Empty, with a note, if they cannot be read.
    """
    from ctxtui.services.editing.edited_request import try_applied_edits

    edits, trouble = try_applied_edits(loaded, settings, chosen)
    note_ignored_edits(trouble)
    return edits


def note_ignored_edits(trouble: str) -> None:
    if trouble:
        note(f"applied edits are ignored: {trouble}")


def resolve_name(name: str, settings: Settings, *, with_note: bool = True) -> Named:
    """With `with_note`, say which of several recordings in a folder was chosen."""
    target = locate(name, Path.cwd(), settings)
    note_skipped_database(target.trouble)
    if target.others and with_note:
        count = len(target.others)
        others = "one more recording" if count == 1 else f"{count} more recordings"
        note(f"opened {target.path}, the newest; the folder has {others}: `ctxtui sessions {name}` lists them")
    return target


def open_recording(name: str, settings: Settings) -> Loaded:
    target = resolve_name(name, settings)
    with Working("reading") as work:
        return open_named(target, settings, work.bytes)
