"""The files that a tool call reads or changes, in the spellings of many clients."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ctxtui.core.block_content import BlockContent, arguments_value
from ctxtui.core.canonical import Json

READ, CHANGE = "read", "change"
WHOLE: Final = (1, 1 << 60)
"""The line range of a whole file."""

PATH_KEYS: Final = tuple("file_path path filePath absolute_path notebook_path filename file target_file".split())
"""Arguments of a call that name a file."""
_READS: Final = frozenset("read view read_file readfile open_file view_file cat get_file_contents notebookread".split())
"""Names of tools that read a file, in lower case."""
_CHANGES: Final = frozenset(
    "write edit multiedit multi_edit write_file create_file edit_file str_replace str_replace_editor insert replace"
    " notebookedit create apply_patch search_replace str_replace_based_edit_tool create_or_update_file".split()
)
"""Names of tools that change a file, in lower case."""
_LINES: Final = (("offset", "line_offset", "start_line", "startLine"), ("end_line", "endLine"), ("limit", "n_lines"))
"""Names of the arguments with the first and the last line that is read, and with the number of lines."""
_VIEWS: Final = frozenset({"view", "cat"})
"""Commands of an editor tool that only read."""
_COMMANDS: Final = ("command", "cmd", "script")
_SHOWN: Final = re.compile(r"\s*(?:cat|bat|nl)(?:\s+-[a-zA-Z]+)*\s+(?P<path>[^\s|;&<>$`*?\"']+)\s*")
"""A command that prints one whole file."""
_CUT: Final = re.compile(
    r"\s*sed\s+-n\s+['\"]?(?P<first>\d{1,9}),(?P<last>\d{1,9})p['\"]?\s+(?P<path>[^\s|;&<>$`*?\"']+)\s*"
)
"""A command that prints some lines of a file."""
_PRINTING: Final = frozenset(
    "cat cd cut date du echo file git-diff git-log git-show git-status grep head ls nl pwd rg stat tail tree wc "
    "which".split()
)
"""Programs that only print; commands of git after ``git-``."""
_OPERATOR: Final = frozenset(";&|()<>")
"""Characters of a shell's operators."""
_SUBSTITUTIONS: Final = ("`", "$(", "<(")
"""Begin a command inside a command, in the first two cases also inside double quotes."""
_MAX_COMMAND_CHARS: Final = 2_000
_WRITTEN: Final = re.compile(
    r"(?:^|[;&|\n])[ \t]*(?=(?:cat|tee)\b[^\n]{0,400}<<)(?:cat[^\n]{0,400}?>>?|tee(?:[ \t]+-a)?)[ \t]*"
    r"(?P<path>[^\s|;&<>$`*?\"']+)"
    r"|\bsed\s+-i\S*\s+(?:-e\s+)?(?:'[^']*'|\"[^\"]*\")\s+(?P<other>[^\s|;&<>$`*?\"']+)"
)
"""Files that a shell's here-document or `sed -i` writes."""
_PATCHED: Final = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_MAX_PATCH_CHARS: Final = 1 << 18


class Touch(NamedTuple):
    """A file that a call reads (`READ`, lines `first` to `last` from 1) or changes (`CHANGE`)."""

    path: str
    kind: str
    first: int = WHOLE[0]
    last: int = WHOLE[1]

    def covers(self, other: Touch) -> bool:
        """Whether it includes all lines of `other`."""
        return self.path == other.path and self.first <= other.first and self.last >= other.last


def find_touches(call: BlockContent, cwd: str = "") -> Iterator[Touch]:
    """Yield the files that a call reads or changes; paths below `cwd` are relative to it."""
    arguments = arguments_value(call) if call.arguments else {}
    if isinstance(arguments, str):
        yield from _find_in_patch(arguments, cwd)
        return
    if not isinstance(arguments, Mapping):
        return
    name, path = _file_tool(call, arguments)
    if not path:
        yield from _find_in_shell(arguments, cwd)
    elif name in _READS or str(arguments.get("command", "")) in _VIEWS:
        yield Touch(_relative_path(path, cwd), READ, *_line_range(arguments))
    else:
        yield Touch(_relative_path(path, cwd), CHANGE)


def _file_tool(call: BlockContent, arguments: Mapping[str, Json]) -> tuple[str, str]:
    """Name and path of a call of a tool that reads or changes one file; ("", "") of others."""
    name = call.name.rpartition("__")[2].rpartition(".")[2].lower()
    path = next((path for key in PATH_KEYS if isinstance(path := arguments.get(key), str)), "")
    return (name, path) if name in _READS | _CHANGES else ("", "")


def _line_range(arguments: Mapping[str, Json]) -> tuple[int, int]:
    span = arguments.get("view_range")
    if isinstance(span, list) and len(span) == 2 and all(isinstance(n, int) for n in span):
        return max(1, span[0]), span[1] if span[1] > 0 else WHOLE[1]
    first, last, count = (
        next((n for name in names if isinstance(n := arguments.get(name), int) and n > 0), 0) for names in _LINES
    )
    first = first or 1
    return first, last or (first + count - 1 if count else WHOLE[1])


def shell_command(call: BlockContent) -> str:
    """The shell command of a call: its first argument named ``command``, ``cmd`` or ``script``.

    "" without one, and for tools that read or change one file, whose ``command`` is an action of the tool.
    """
    arguments = arguments_value(call) if call.arguments else {}
    if not isinstance(arguments, Mapping) or _file_tool(call, arguments)[1]:
        return ""
    return next(_list_commands(arguments), "")


def only_prints(command: str) -> bool:
    """Whether a shell command runs only programs that print, and redirects nothing to a file."""
    if len(command) > _MAX_COMMAND_CHARS or any(sign in command for sign in _SUBSTITUTIONS):
        return False
    lexer = shlex.shlex(command.replace("\n", ";"), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = [";", *lexer, ";", ";"]
    except ValueError:
        return False
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        if _OPERATOR.issuperset(word):
            if ">" in word and after != "/dev/null" and not (word == ">&" and after.isdecimal()):
                return False
        elif set(before) <= _OPERATOR - {"<", ">"} and (f"git-{after}" if word == "git" else word) not in _PRINTING:
            return False
    return True


def _list_commands(arguments: Mapping[str, Json]) -> Iterator[str]:
    for key in _COMMANDS:
        command = arguments.get(key)
        if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
            shell = len(command) == 3 and command[1] in ("-c", "-lc")
            command = command[2] if shell else " ".join(command)
        if isinstance(command, str):
            yield command


def _find_in_shell(arguments: Mapping[str, Json], cwd: str) -> Iterator[Touch]:
    """The files that a shell command prints or writes, and those that a patch in it changes."""
    for command in _list_commands(arguments):
        yield from _find_in_patch(command, cwd)
        for written in _WRITTEN.finditer(command[:_MAX_PATCH_CHARS]):
            yield Touch(_relative_path(written["path"] or written["other"], cwd), CHANGE)
        if match := _SHOWN.fullmatch(command):
            yield Touch(_relative_path(match["path"], cwd), READ)
        elif match := _CUT.fullmatch(command):
            yield Touch(_relative_path(match["path"], cwd), READ, int(match["first"]), int(match["last"]))


def _find_in_patch(text: str, cwd: str) -> Iterator[Touch]:
    if "*** " in text[:4096]:
        for path in _PATCHED.findall(text[:_MAX_PATCH_CHARS]):
            yield Touch(_relative_path(path.strip(), cwd), CHANGE)


def _relative_path(path: str, cwd: str) -> str:
    if cwd:
        path = path.removeprefix(cwd.rstrip("/") + "/")
    return path.removeprefix("./")
