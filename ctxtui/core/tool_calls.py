"""What a tool call asks for and what came back, whatever client spelled them: the argument that says most, the output
without what its client wrote around it, and whether it failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ctxtui.core.block_content import BlockContent, arguments_value
from ctxtui.core.canonical import Json, loads, text_of

_UNWRAPPED: Final = 1 << 18
"""Characters of JSON around an output that are read for a row."""
_TELLING: Final = (
    "command", "cmd", "file_path", "path", "notebook_path", "filename", "pattern", "query", "url", "skill",
    "description", "prompt", "title", "name", "subject", "message", "input", "code", "text",
)  # fmt: skip
"""The argument that says most about a call, first of these that is there."""

# What some clients put before a command's output: its ids, times, exit code.
_PREAMBLE: Final = (
    r"\A(?:(?:Chunk ID|Wall time|Process exited with code|Process running with|Exit code|Original token count|"
    r"Total output lines|Session ID|Duration|Command|Status)\b[^\n]*\n)+(?:Output:[ \t]*\n?)?"
    r"(?:Total output lines: \d+\n\n?)?"
)
_EXIT: Final = r"(?:Process exited with code|Exit code:?) *(-?\d+)"
_ENDED: Final = (
    r"(?mi)^\W?(?:returncode>|[\w ]{0,30}\b(?:exit|with|with exit) (?:code|status):? *)(-?\d+)"
    r"(?=\W{0,2}(?:$|</returncode))"
)
"""A line of its own in which other clients say how a command ended, before its output or behind it."""
_EDGE: Final = 240
"""Characters at both ends of an output in which that line is looked for."""
_WRAPPED: Final = r'\A\{"output":'

_PATCHED: Final = r"(?m)^\*\*\* (?:Update|Add|Delete) File: (.+)$"


def short_path(path: str, cwd: str) -> str:
    """`path` as seen from the session's directory."""
    if cwd and path.rstrip("/") == cwd.rstrip("/"):
        return "."
    return path.removeprefix(cwd.rstrip("/") + "/") if cwd else path


def telling(got: BlockContent, cwd: str = "") -> str:
    """The argument of a call that says most about it; all of them as JSON where none is known."""
    given = arguments_value(got) if got.arguments else {}
    if isinstance(given, str):
        patched = re.findall(_PATCHED, given[:100_000])
        return ", ".join(short_path(path, cwd) for path in patched) if patched else given
    if not isinstance(given, Mapping):
        return text_of(given)
    for key in _TELLING:
        words = given.get(key)
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            return _shell(words)
        if isinstance(words, str) and words:
            patched = re.findall(_PATCHED, words[:100_000]) if "*** " in words[:4096] else []
            return ", ".join(patched) if patched else short_path(words, cwd)
    return _first_of_many(given) if given else ""


def _first_of_many(given: Mapping[str, Json]) -> str:
    """Of a list of things (todos, edits) the first one's words; else everything as JSON."""
    for items in given.values():
        if isinstance(items, list) and items and isinstance(items[0], Mapping):
            words = next((word for word in items[0].values() if isinstance(word, str) and len(word) > 2), "")
            if words:
                return words + (f" (+{len(items) - 1})" if len(items) > 1 else "")
    return text_of(given)


def _shell(words: list[str]) -> str:
    # ["bash", "-lc", "script"]: the script is what was run.
    return words[2] if len(words) == 3 and words[1].startswith("-") and "c" in words[1] else " ".join(words)


def output_of(text: str) -> tuple[str, bool]:
    """What a command printed, without what its client wrote before it; whether it ended in failure."""
    if re.match(_WRAPPED, text) and len(text) < _UNWRAPPED:
        try:
            value = loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, Mapping) and isinstance(value.get("output"), str):
            about = value.get("metadata")
            code = about.get("exit_code") if isinstance(about, Mapping) else 0
            return value["output"], code not in (0, None)
    lead = re.match(_PREAMBLE, text)
    code = re.search(_EXIT, lead[0]) if lead else re.search(_ENDED, f"{text[:_EDGE]}\n{text[-_EDGE:]}")
    return text[lead.end() :] if lead else text, code is not None and int(code[1]) != 0


def is_envelope(line: str) -> bool:
    """Whether a line of an output is its client's: a tag, or how the command ended."""
    return re.fullmatch(r"\s*</?[\w-]+>\s*", line) is not None or re.match(_ENDED, line.strip()) is not None
