"""What commands share: the settings in force, and a recording opened by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.cli.output import note
from ctxtui.cli.progress import Working
from ctxtui.core.edit import Edit
from ctxtui.services.config.config import Config, export_flags, load
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.discover import find_recordings
from ctxtui.services.recordings.open_by_name import Named, locate, open_named
from ctxtui.services.recordings.recording import Loaded

_LEAST: Final = 4

NAME_HELP: Final = (
    "a file, a folder or database (its newest session; DATABASE#ID names one), a session's id or the beginning of one, "
    "last for this directory's newest, or - for standard input"
)


class SessionName(click.ParamType[str]):
    """What names a recording; shells complete file names and, from four characters on, ids."""

    name = "name"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """File names, and the ids that begin as typed."""
        files = [CompletionItem(incomplete, type="file")]
        if len(incomplete) < _LEAST or os.sep in incomplete:
            return files
        ids = dict.fromkeys(one.id for one in find_recordings(Path.cwd()) if one.id.startswith(incomplete))
        return [CompletionItem(id_) for id_ in ids] or files


def config_of(context: click.Context) -> Config:
    """The configuration in force, read once per run."""
    root = context.find_root()
    if not isinstance(root.obj, Config):
        root.obj = load(root.obj or ())
        export_flags(root.obj)
    return root.obj


def override(context: click.Context, **given: object) -> None:
    """Let options of a command stand for settings, as ``--set`` does; what is empty is left to the settings. Before the
    configuration is read."""
    root = context.find_root()
    root.obj = (*(root.obj or ()), *(f"{name}={value}" for name, value in given.items() if value not in ("", None)))


CALL_OPTION: Final = click.option(
    "--call", "number", type=click.IntRange(min=1), metavar="N", help="The thread's Nth call (default: last)."
)
THREAD_OPTION: Final = click.option(
    "--thread", default="", metavar="T", help="A subagent's thread (default: the main one)."
)
JSON_OPTION: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1).")
FORCE_OPTION: Final = click.option("--force", is_flag=True, help="Replace FILE where there is one.")
FILES_OPTION: Final = click.option(
    "--files",
    type=click.Choice(["named", "auto"]),
    help="auto: what of the project matters for the first message goes with it; @path names a file in any case.",
)
MEMORY_OPTION: Final = click.option(
    "--memory", metavar="DIR", default="", help="A folder in which the agent keeps memory from chat to chat."
)

TOOLS_OPTION: Final = click.option(
    "--tools",
    "tool_files",
    metavar="FILE.py",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="Tools of your own, a Python file (docs/plugins.md); repeatable.",
)


def edits_of(loaded: Loaded, settings: Settings, chosen: ChosenCall) -> tuple[Edit, ...]:
    """The edits that are applied behind the `chosen` call; without a database that can be read none, which is said."""
    from ctxtui.services.editing.edited_request import known_edits

    found = known_edits(loaded, settings, chosen)
    without_edits(found.trouble)
    return found.edits


def without_edits(trouble: str) -> None:
    """Say that edits are left out, and by what `trouble`; nothing where there is none."""
    if trouble:
        note(f"edits that are applied are left out: {trouble}")


def named(name: str, settings: Settings, *, say: bool = True) -> Named:
    """What `name` stands for; says on standard error which of several recordings in a folder was taken."""
    found = locate(name, Path.cwd(), settings)
    if found.others and say:
        count = len(found.others)
        also = "one more recording" if count == 1 else f"{count} more recordings"
        note(f"opened {found.path}, the newest; {also} there: `ctxtui sessions {name}` lists them")
    return found


def opened(name: str, settings: Settings) -> Loaded:
    """The recording that `name` stands for, read to its end; progress is shown on a terminal."""
    found = named(name, settings)
    with Working("reading") as work:
        return open_named(found, settings, work.bytes)
