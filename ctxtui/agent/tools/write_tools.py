"""Tools that change files: a write is planned and shown before it is done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ctxtui.agent.tools.guarded_paths import guard_reason
from ctxtui.agent.tools.read_tools import decode_text
from ctxtui.agent.tools.tool import BadInput, PlannedWrite, Tool
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError

_PATH: Final[Json] = {"type": "string", "description": "Path relative to the workspace."}


class ChangedMeanwhile(CtxtuiError):
    """The path or file changed after it was shown to the user."""


def _make_plan(
    workspace: Workspace, given_path: str, before: bytes | None, after: bytes, result_text: str
) -> PlannedWrite:
    place = workspace.resolve(given_path)
    return PlannedWrite(
        path=str(place),
        given_path=given_path,
        before=before,
        after=after,
        guard=guard_reason(place),
        result_text=result_text.format(path=place),
    )


def _plan_write(workspace: Workspace, arguments: Mapping[str, Json]) -> PlannedWrite:
    path = arguments["path"]
    workspace.check_writable(path)
    after = arguments["content"].encode("utf-8", "replace")
    try:
        before: bytes | None = workspace.read(path)
    except FileNotFoundError:
        before = None
    result_text = f"{'created' if before is None else 'replaced'} {{path}} ({len(after):,} bytes)"
    return _make_plan(workspace, path, before, after, result_text)


def _plan_edit(workspace: Workspace, arguments: Mapping[str, Json]) -> PlannedWrite:
    path, old, new = arguments["path"], arguments["old"], arguments["new"]
    # Invalid UTF-8 is preserved.
    data = workspace.read(path)
    decode_text(data, path)
    text = data.decode("utf-8", "surrogateescape")
    count = text.count(old) if old else 0
    if not old or old == new:
        raise BadInput("old must not be empty" if not old else "old and new are the same", place="edit_file")
    if count == 0:
        raise BadInput("old is not in the file", place=path, way_out="read the file and give its exact text")
    if count > 1 and not arguments.get("all"):
        raise BadInput(f"old is {count} times in the file", place=path, way_out="give more of it, or set all")
    after = text.replace(old, new).encode("utf-8", "surrogateescape")
    return _make_plan(workspace, path, data, after, f"replaced {count} place{'s' if count != 1 else ''} in {{path}}")


def execute_plan(workspace: Workspace, planned: PlannedWrite) -> str:
    """Do the planned write. Raises `ChangedMeanwhile`, and the errors of `Workspace.write`."""
    if workspace.resolve(planned.given_path) != Path(planned.path):
        raise ChangedMeanwhile("the path now leads to another file", place=planned.given_path, way_out="ask again")
    if not workspace.write(planned.path, planned.after, planned.before):
        raise ChangedMeanwhile("the file changed meanwhile", place=planned.path, way_out="read it and ask again")
    return planned.result_text


WRITE_FILE: Final = Tool(
    "write_file",
    "Write a whole text file of the workspace; folders are made. The user is asked first.",
    {"path": _PATH, "content": {"type": "string", "description": "The whole text of the file."}},
    required=("path", "content"),
    plan=_plan_write,
)
EDIT_FILE: Final = Tool(
    "edit_file",
    "Replace a text that stands once in a file (or all of them). The user is asked first.",
    {
        "path": _PATH,
        "old": {"type": "string", "description": "The exact text to be replaced."},
        "new": {"type": "string", "description": "What stands there instead."},
        "all": {"type": "boolean", "description": "Whether every occurrence is replaced."},
    },
    required=("path", "old", "new"),
    plan=_plan_edit,
)
