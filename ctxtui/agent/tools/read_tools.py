"""Tools that only read: read_file, list_dir, find, grep."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch
from math import prod
from typing import Any, Final

from ctxtui.agent.tools.tool import BadInput, Tool, shorten
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadPattern, CtxtuiError

SKIPPED: Final = frozenset(
    ".git .hg .svn .venv venv node_modules __pycache__ .mypy_cache .ruff_cache .pytest_cache .hypothesis dist"
    " build".split()
)
"""Folders that find and grep skip."""
_DEFAULT_LINES: Final = 2000
_MAX_MATCHES: Final = 200
_MAX_LINE_CHARS: Final = 1000
"""Characters of a line that grep searches; it shows the first 300."""
_MAX_MATCH_S: Final = 10.0
"""Seconds of matching by grep in all, without the time to read the files."""
_MAX_PATTERN_SIZE: Final = 100_000
"""Maximum size of a pattern, with repetitions multiplied out: compiling is not subject to the time limit."""
_COMMENT: Final = re.compile(r"\(\?#[^)]*\)")
_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z-]*x")
"""The flag that allows blanks and comments in a pattern, which would hide repetitions from `_pattern_size`."""
_REPEATED: Final = re.compile(r"(\)?)\{(\d+)")
"""A repetition of a group or an element, with its count."""
_PATH: Final[Json] = {"type": "string", "description": "Path relative to the workspace."}


def decode_text(data: bytes, path: str) -> str:
    """Decode a file as text. Raises `CtxtuiError` for binary files."""
    if b"\0" in data[:8192]:
        raise CtxtuiError(f"a binary file of {len(data):,} bytes", place=path)
    return data.decode("utf-8", "replace")


def _read_file(workspace: Workspace, arguments: Mapping[str, Json]) -> str:
    text = decode_text(workspace.read(arguments["path"]), arguments["path"])
    lines = text.splitlines()
    first = max(1, arguments.get("offset", 1))
    limit = max(1, arguments.get("limit", _DEFAULT_LINES))
    chosen = lines[first - 1 : first - 1 + limit]
    if not chosen:
        return f"(the file has {len(lines):,} lines)" if lines else "(the file is empty)"
    shown = "\n".join(f"{number}\t{line}" for number, line in enumerate(chosen, first))
    lines_left = len(lines) - (first - 1 + len(chosen))
    more = f"\n[{lines_left:,} more lines: read on with offset {first + len(chosen)}]" if lines_left > 0 else ""
    shortened = shorten(shown, "give offset and limit")
    return shown + more if shortened == shown else shortened


def _list_dir(workspace: Workspace, arguments: Mapping[str, Json]) -> str:
    return shorten("\n".join(workspace.entries(arguments.get("path", ""))) or "(empty)", "list a folder below")


def _find(workspace: Workspace, arguments: Mapping[str, Json]) -> str:
    pattern = arguments["pattern"]
    name_pattern = pattern if "/" in pattern or "*" in pattern or "?" in pattern else f"*{pattern}*"
    matches: list[str] = []
    for path in workspace.files(arguments.get("path", ""), SKIPPED):
        if fnmatch(path, name_pattern) or fnmatch(path.rpartition("/")[2], name_pattern):
            matches.append(path)
            if len(matches) > _MAX_MATCHES:
                return "\n".join(
                    [*matches[:_MAX_MATCHES], f"[more than {_MAX_MATCHES} files: give a narrower pattern]"]
                )
    return "\n".join(matches) or f"no file fits {pattern}"


def _grep(workspace: Workspace, arguments: Mapping[str, Json]) -> str:
    pattern = _compile_pattern(arguments["pattern"], arguments.get("ignore_case", False))
    matches: list[str] = []
    try:
        for line in _find_matches(workspace, pattern, arguments.get("path", ""), arguments.get("glob", "*")):
            matches.append(line)
            if len(matches) > _MAX_MATCHES:
                return "\n".join(
                    [*matches[:_MAX_MATCHES], f"[more than {_MAX_MATCHES} lines: give a narrower pattern]"]
                )
    except BadPattern as error:
        if not matches:
            raise
        return "\n".join([*matches, f"[{error}]"])
    return "\n".join(matches) or f"nothing fits {arguments['pattern']}"


def _pattern_size(text: str) -> int:
    """Upper bound of a pattern's elements, as if each repeated group contained everything."""
    repetitions = [(bool(group), int(least[:9])) for group, least in _REPEATED.findall(_COMMENT.sub("", text))]
    single = sum(least for group, least in repetitions if not group)
    return (len(text) + single) * prod(max(1, least) for group, least in repetitions if group)


def _compile_pattern(text: str, ignore_case: bool) -> Any:
    if _VERBOSE.search(text):
        raise BadInput("the flag x is not taken", place="grep", way_out="write the pattern without it, in one line")
    if _pattern_size(text) > _MAX_PATTERN_SIZE:
        raise BadInput("the pattern repeats too much", place="grep", way_out="use + or smaller numbers in {}")
    # Not `re`: it cannot be stopped, and holds the interpreter's lock while it searches. Imported late: few chats
    # search.
    import regex  # type: ignore[import-untyped]

    try:
        return regex.compile(text, regex.V0 | (regex.IGNORECASE if ignore_case else 0))
    except regex.error as error:
        raise BadInput(f"not a regular expression: {error}", place="grep") from error


def _find_matches(workspace: Workspace, pattern: Any, path: str, glob: str) -> Iterator[str]:
    seconds_left = _MAX_MATCH_S
    for name in workspace.files(path, SKIPPED):
        if not (fnmatch(name, glob) or fnmatch(name.rpartition("/")[2], glob)):
            continue
        try:
            text = decode_text(workspace.read(name), name)
        except (CtxtuiError, OSError):
            continue
        began = time.monotonic()
        for number, line in enumerate(text.splitlines(), 1):
            passed = time.monotonic() - began
            # Very long lines are generated: a pattern may take forever on them.
            if _matches_within(pattern, line[:_MAX_LINE_CHARS], seconds_left - passed, f"{name}:{number}"):
                yield f"{name}:{number}:{line[:300]}"
        seconds_left -= time.monotonic() - began


def _matches_within(pattern: Any, line: str, seconds: float, place: str) -> bool:
    try:
        return pattern.search(line, timeout=max(seconds, 1e-6), concurrent=True) is not None
    except TimeoutError:
        raise BadPattern(
            f"the pattern takes too long: stopped after {_MAX_MATCH_S:g} seconds, the rest is not searched",
            place=place,
            way_out="write it without repetitions inside repetitions such as (a|aa)+, or narrow path and glob",
        ) from None


READ_FILE: Final = Tool(
    "read_file",
    "Read a text file of the workspace; lines come with their numbers.",
    {
        "path": _PATH,
        "offset": {"type": "integer", "description": "First line, from 1."},
        "limit": {"type": "integer", "description": f"How many lines, {_DEFAULT_LINES} by default."},
    },
    _read_file,
    ("path",),
)
LIST_DIR: Final = Tool(
    "list_dir", "List a folder of the workspace; folders end with a slash.", {"path": _PATH}, _list_dir
)
FIND: Final = Tool(
    "find",
    "Find files by name: a part of the name, or a pattern with * and ?.",
    {"pattern": {"type": "string", "description": "Part of a name, or a pattern such as src/*.py."}, "path": _PATH},
    _find,
    ("pattern",),
)
GREP: Final = Tool(
    "grep",
    "Search the text of files with a regular expression; gives path:line:text.",
    {
        "pattern": {"type": "string", "description": "A regular expression (Python's)."},
        "path": _PATH,
        "glob": {"type": "string", "description": "Only files that fit this pattern, such as *.py."},
        "ignore_case": {"type": "boolean", "description": "Whether case does not matter."},
    },
    _grep,
    ("pattern",),
)


Contents = Callable[[], Mapping[str, str]]
"""Returns externalized contents by name."""

NAME: Final = "recall"


def make_recall(contents: Contents) -> Tool:
    """Make the tool that returns the content of a reference, ``{{REF:name}}``."""

    def run(workspace: Workspace, arguments: Mapping[str, Json]) -> str:
        name = str(arguments["name"]).removeprefix("{{REF:").removesuffix("}}")
        contents_by_name = contents()
        if name not in contents_by_name:
            names = ", ".join(list(contents_by_name)[:20]) or "none"
            raise BadInput(f"nothing is kept under {name!r}", place=NAME, way_out=f"names: {names}")
        return shorten(contents_by_name[name], "recall cannot show more")

    return Tool(
        NAME,
        "Read back content that is outside this conversation: {{REF:name}} is in its place. In the inputs of "
        "other tools, but not of run_command, such a reference is replaced by its content.",
        {"name": {"type": "string", "description": "The name in {{REF:name}}."}},
        run,
        required=("name",),
    )
