"""Short texts for tool calls and results of any client: the main argument, the bare output."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ctxtui.core.block_content import BlockContent, arguments_value
from ctxtui.core.canonical import Json, dump_text, loads

_MAX_UNWRAPPED_CHARS: Final = 1 << 18
"""Characters of JSON around an output up to which it is decoded."""
_ARGUMENTS_BY_RANK: Final = (
    "command", "cmd", "file_path", "path", "notebook_path", "filename", "pattern", "query", "url", "skill",
    "description", "prompt", "title", "name", "subject", "message", "input", "code", "text",
)  # fmt: skip
"""Argument names by how much they say about a call: the first one present is shown."""

_PREAMBLE: Final = (
    r"\A(?:(?:Chunk ID|Wall time|Process exited with code|Process running with|Exit code|Original token count|"
    r"Total output lines|Session ID|Duration|Command|Status)\b[^\n]*\n)+(?:Output:[ \t]*\n?)?"
    r"(?:Total output lines: \d+\n\n?)?"
)
"""Lines that a client adds before an output."""
_EXIT: Final = r"(?:Process exited with code|Exit code:?) *(-?\d{1,9})"
_ENDED: Final = (
    r"(?mi)^\W?(?:returncode>|[\w ]{0,30}\b(?:exit|with|with exit) (?:code|status):? *)(-?\d+)"
    r"(?=\W{0,2}(?:$|</returncode))"
)
"""A separate line before or after the output in which other clients give a command's exit status."""
_EXIT_SEARCH_CHARS: Final = 240
"""Characters at both ends of an output that are searched for that line."""
_WRAPPED: Final = r'\A\{"output":'

_PATCHED: Final = r"(?m)^\*\*\* (?:Update|Add|Delete) File: (.+)$"


def short_path(path: str, cwd: str) -> str:
    """`path` relative to the session's directory."""
    if cwd and path.rstrip("/") == cwd.rstrip("/"):
        return "."
    return path.removeprefix(cwd.rstrip("/") + "/") if cwd else path


def main_argument(content: BlockContent, cwd: str = "") -> str:
    """The most informative argument of a call, or the files of a patch.

    All arguments as JSON if no name is known. Paths below `cwd` are relative to it.
    """
    arguments = arguments_value(content) if content.arguments else {}
    if isinstance(arguments, str):
        return _patched_files(arguments, cwd) or arguments
    if not isinstance(arguments, Mapping):
        return dump_text(arguments)
    for key in _ARGUMENTS_BY_RANK:
        value = arguments.get(key)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return _script_of(value)
        if isinstance(value, str) and value:
            files = _patched_files(value, cwd) if "*** " in value[:4096] else ""
            return files or short_path(value, cwd)
    return _first_of_many(arguments) if arguments else ""


def _patched_files(text: str, cwd: str) -> str:
    return ", ".join(short_path(path, cwd) for path in re.findall(_PATCHED, text[:100_000]))


def _first_of_many(arguments: Mapping[str, Json]) -> str:
    """The first text in a list of things (todos, edits); else everything as JSON."""
    for items in arguments.values():
        if isinstance(items, list) and items and isinstance(items[0], Mapping):
            text = next((word for word in items[0].values() if isinstance(word, str) and len(word) > 2), "")
            if text:
                return text + (f" (+{len(items) - 1})" if len(items) > 1 else "")
    return dump_text(arguments)


def _script_of(words: list[str]) -> str:
    # ["bash", "-lc", "script"]: only the script is of interest.
    return words[2] if len(words) == 3 and words[1].startswith("-") and "c" in words[1] else " ".join(words)


def split_output(text: str) -> tuple[str, bool]:
    """The output of a command without its client's wrapping, and whether the command failed."""
    if re.match(_WRAPPED, text) and len(text) < _MAX_UNWRAPPED_CHARS:
        try:
            value = loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, Mapping) and isinstance(value.get("output"), str):
            about = value.get("metadata")
            code = about.get("exit_code") if isinstance(about, Mapping) else 0
            return value["output"], code not in (0, None)
    lead = re.match(_PREAMBLE, text)
    code = (
        re.search(_EXIT, lead[0])
        if lead
        else re.search(_ENDED, f"{text[:_EXIT_SEARCH_CHARS]}\n{text[-_EXIT_SEARCH_CHARS:]}")
    )
    return text[lead.end() :] if lead else text, code is not None and int(code[1]) != 0


def is_envelope(line: str) -> bool:
    """Whether a line of an output was added by the client: a tag, or an exit status."""
    return re.fullmatch(r"\s*</?[\w-]+>\s*", line) is not None or re.match(_ENDED, line.strip()) is not None
