"""Tools that change files. What they would write is worked out first, shown to the user, and then written as shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ctxtui.agent.tools.guarded_paths import guard
from ctxtui.agent.tools.read_tools import text_of
from ctxtui.agent.tools.tool import BadInput, PlannedWrite, Tool
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError

_PATH: Final[Json] = {"type": "string", "description": "Path relative to the workspace."}


class OtherByNow(CtxtuiError):
    """The place or the file is another one than what the user was shown."""


def _planned(where: Workspace, given: str, before: bytes | None, after: bytes, told: str) -> PlannedWrite:
    place = where.inside(given)
    return PlannedWrite(
        path=str(place), given=given, before=before, after=after, guard=guard(place), told=told.format(path=place)
    )


def _plan_write(where: Workspace, given: Mapping[str, Json]) -> PlannedWrite:
    path = given["path"]
    where.writable(path)
    after = given["content"].encode("utf-8", "replace")
    try:
        before: bytes | None = where.read(path)
    except FileNotFoundError:
        before = None
    told = f"{'created' if before is None else 'replaced'} {{path}} ({len(after):,} bytes)"
    return _planned(where, path, before, after, told)


def _plan_edit(where: Workspace, given: Mapping[str, Json]) -> PlannedWrite:
    path, old, new = given["path"], given["old"], given["new"]
    # What is no UTF-8 comes back as it was.
    data = where.read(path)
    text_of(data, path)
    text = data.decode("utf-8", "surrogateescape")
    count = text.count(old) if old else 0
    if not old or old == new:
        raise BadInput("old must not be empty" if not old else "old and new are the same", place="edit_file")
    if count == 0:
        raise BadInput("old is not in the file", place=path, way_out="read the file and give its exact text")
    if count > 1 and not given.get("all"):
        raise BadInput(f"old is {count} times in the file", place=path, way_out="give more of it, or set all")
    after = text.replace(old, new).encode("utf-8", "surrogateescape")
    return _planned(where, path, data, after, f"replaced {count} place{'s' if count != 1 else ''} in {{path}}")


def carry_out(where: Workspace, planned: PlannedWrite) -> str:
    """Write what was planned, to where it was planned, and nothing else. Raises `OtherByNow`, and what writing
    raises."""
    if where.inside(planned.given) != Path(planned.path):
        raise OtherByNow("the path leads elsewhere by now", place=planned.given, way_out="ask again")
    if not where.write(planned.path, planned.after, planned.before):
        raise OtherByNow("the file changed meanwhile", place=planned.path, way_out="read it and ask again")
    return planned.told


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
