"""Tools that change files; the user is asked before they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ctxtui.agent.tools.read_tools import text_of
from ctxtui.agent.tools.tool import BadInput, Tool
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core.canonical import Json

_PATH: Final[Json] = {"type": "string", "description": "Path relative to the workspace."}


def _write_file(where: Workspace, given: Mapping[str, Json]) -> str:
    data = given["content"].encode("utf-8", "replace")
    new = where.write(given["path"], data)
    return f"{'created' if new else 'replaced'} {given['path']} ({len(data):,} bytes)"


def _edit_file(where: Workspace, given: Mapping[str, Json]) -> str:
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
    where.write(path, text.replace(old, new).encode("utf-8", "surrogateescape"))
    return f"replaced {count} place{'s' if count != 1 else ''} in {path}"


WRITE_FILE: Final = Tool(
    "write_file",
    "Write a whole text file of the workspace; folders are made. The user is asked first.",
    {"path": _PATH, "content": {"type": "string", "description": "The whole text of the file."}},
    _write_file,
    ("path", "content"),
    writes=True,
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
    _edit_file,
    ("path", "old", "new"),
    writes=True,
)
