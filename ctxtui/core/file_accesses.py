"""Which file a tool call reads or changes, as far as its name and input tell: clients spell it in many ways."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ctxtui.core.block_content import BlockContent, arguments_value
from ctxtui.core.canonical import Json

READ, CHANGE = "read", "change"
WHOLE: Final = (1, 1 << 60)
"""The lines of a whole file."""

_PATHS: Final = ("file_path", "path", "filePath", "absolute_path", "notebook_path", "filename", "file", "target_file")
_READS: Final = frozenset("read view read_file readfile open_file view_file cat get_file_contents notebookread".split())
_CHANGES: Final = frozenset(
    "write edit multiedit multi_edit write_file create_file edit_file str_replace str_replace_editor insert replace"
    " notebookedit create apply_patch search_replace str_replace_based_edit_tool create_or_update_file".split()
)
_VIEWS: Final = frozenset({"view", "cat"})
"""Commands of an editor tool that only look."""
_COMMANDS: Final = ("command", "cmd", "script")
_SHOWN: Final = re.compile(r"\s*(?:cat|bat|nl)(?:\s+-[a-zA-Z]+)*\s+(?P<path>[^\s|;&<>$`*?\"']+)\s*")
_CUT: Final = re.compile(r"\s*sed\s+-n\s+['\"]?(?P<first>\d+),(?P<last>\d+)p['\"]?\s+(?P<path>[^\s|;&<>$`*?\"']+)\s*")
_WRITTEN: Final = re.compile(
    r"(?:^|[;&|\n])[ \t]*(?=(?:cat|tee)\b[^\n]{0,400}<<)(?:cat[^\n]{0,400}?>>?|tee(?:[ \t]+-a)?)[ \t]*"
    r"(?P<path>[^\s|;&<>$`*?\"']+)"
    r"|\bsed\s+-i\S*\s+(?:-e\s+)?(?:'[^']*'|\"[^\"]*\")\s+(?P<other>[^\s|;&<>$`*?\"']+)"
)
"""What a shell's here-document or `sed -i` writes."""
_PATCHED: Final = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_INTERESTING: Final = 1 << 18
"""Characters of a patch that are looked through."""


class Touch(NamedTuple):
    """A file that a call reads (`READ`, lines `first` to `last` from 1) or changes (`CHANGE`)."""

    path: str
    kind: str
    first: int = WHOLE[0]
    last: int = WHOLE[1]

    def covers(self, other: Touch) -> bool:
        """Whether all lines of `other` are among these."""
        return self.path == other.path and self.first <= other.first and self.last >= other.last


def touches(call: BlockContent, cwd: str = "") -> Iterator[Touch]:
    """The files that a call's `BlockContent` names; paths as seen from `cwd`. None where it cannot be told."""
    given = arguments_value(call) if call.arguments else {}
    if isinstance(given, str):
        yield from _patched(given, cwd)
        return
    if not isinstance(given, Mapping):
        return
    name = call.name.rpartition("__")[2].rpartition(".")[2].lower()
    path = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), "")
    looks = str(given.get("command", "")) in _VIEWS
    if path and (name in _READS or (looks and name in _CHANGES)):
        yield Touch(_seen_from(str(path), cwd), READ, *_lines(given))
    elif path and name in _CHANGES:
        yield Touch(_seen_from(str(path), cwd), CHANGE)
    else:
        yield from _run(given, cwd)


def _lines(given: Mapping[str, Json]) -> tuple[int, int]:
    span = given.get("view_range")
    if isinstance(span, list) and len(span) == 2 and all(isinstance(n, int) for n in span):
        return max(1, span[0]), span[1] if span[1] > 0 else WHOLE[1]
    start, count = given.get("offset"), given.get("limit")
    first = start if isinstance(start, int) and start > 0 else 1
    return first, first + count - 1 if isinstance(count, int) and count > 0 else WHOLE[1]


def command_of(call: BlockContent) -> str:
    """The shell command that a call runs; "" where it runs none."""
    given = arguments_value(call) if call.arguments else {}
    return next(_commands(given), "") if isinstance(given, Mapping) else ""


def _commands(given: Mapping[str, Json]) -> Iterator[str]:
    for key in _COMMANDS:
        command = given.get(key)
        if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
            shell = len(command) == 3 and command[1] in ("-c", "-lc")
            command = command[2] if shell else " ".join(command)
        if isinstance(command, str):
            yield command


def _run(given: Mapping[str, Json], cwd: str) -> Iterator[Touch]:
    """What a shell command shows, and what a patch in it changes."""
    for command in _commands(given):
        yield from _patched(command, cwd)
        for written in _WRITTEN.finditer(command[:_INTERESTING]):
            yield Touch(_seen_from(written["path"] or written["other"], cwd), CHANGE)
        if found := _SHOWN.fullmatch(command):
            yield Touch(_seen_from(found["path"], cwd), READ)
        elif found := _CUT.fullmatch(command):
            yield Touch(_seen_from(found["path"], cwd), READ, int(found["first"]), int(found["last"]))


def _patched(text: str, cwd: str) -> Iterator[Touch]:
    if "*** " in text[:4096]:
        for path in _PATCHED.findall(text[:_INTERESTING]):
            yield Touch(_seen_from(path.strip(), cwd), CHANGE)


def _seen_from(path: str, cwd: str) -> str:
    if cwd:
        path = path.removeprefix(cwd.rstrip("/") + "/")
    return path.removeprefix("./")
