"""One line for a block: its label (tool, server, file) and the words that say most about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, UNREADABLE
from ctxtui.core.block_content import BlockContent, Media, arguments_value
from ctxtui.core.canonical import Json, loads, text_of
from ctxtui.core.category import CATEGORIES
from ctxtui.views.model.test_verdict import verdict
from ctxtui.views.text import safe_text

_UNWRAPPED: Final = 1 << 18
"""Characters of JSON around an output that are read for a row."""
LIMIT: Final = 400
"""Characters of a one-line text: more than the widest row shows."""

_TELLING: Final = (
    "command", "cmd", "file_path", "path", "notebook_path", "filename", "pattern", "query", "url", "skill",
    "description", "prompt", "title", "name", "subject", "message", "input", "code", "text",
)  # fmt: skip
"""The argument that says most about a call, first of these that is there."""

ASKED: Final = 44
"""Characters of a call's words before its result."""
_SHELLS: Final = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec"})
"""Codex's names for the one tool that runs a command: rows say ``$``."""

_NUMBERED: Final = r"^\s*\d+(?:→|\t)"
# What some clients put before a command's output: its ids, times, exit code.
_PREAMBLE: Final = (
    r"\A(?:(?:Chunk ID|Wall time|Process exited with code|Process running with|Exit code|Original token count|"
    r"Total output lines|Session ID|Duration|Command|Status)\b[^\n]*\n)+(?:Output:[ \t]*\n?)?"
    r"(?:Total output lines: \d+\n\n?)?"
)
_EXIT: Final = r"(?:Process exited with code|Exit code:?) *(-?\d+)"
_WRAPPED: Final = r'\A\{"output":'

_PATCHED: Final = r"(?m)^\*\*\* (?:Update|Add|Delete) File: (.+)$"


_FILE: Final = r'\A<(?:file|folder|memory|instructions) path="([^"\n]+)"(?: form="(signatures)")?>\n'
"""What stands in front of a file that ctxtui itself put into a context."""


class Preview(NamedTuple):
    """A block in one line, safe to draw: `voice` is the style of its `text`; a `loud` label is bold; `failed` says
    that a tool reported an error; `asked` is what the call of a result asked for."""

    label: str
    text: str
    voice: str = "ink"
    loud: bool = False
    failed: bool = False
    asked: str = ""


def short_path(path: str, cwd: str) -> str:
    """`path` as seen from the session's directory."""
    if cwd and path.rstrip("/") == cwd.rstrip("/"):
        return "."
    return path.removeprefix(cwd.rstrip("/") + "/") if cwd else path


def short_tool(name: str) -> str:
    """A tool's name without the prefix that clients give to those of MCP servers: ``puppeteer/navigate``."""
    return "/".join(name.split("__")[1:]) if name.startswith("mcp__") and name.count("__") > 1 else name


def preview(
    kind: str, category: int, value: Json, got: BlockContent, call: BlockContent | None = None, cwd: str = ""
) -> Preview:
    """The line for a block of `kind` (JSON `value`, reading `got`); `call` is the call that a result answers."""
    name = CATEGORIES[category]
    if kind == UNREADABLE:
        return Preview("", _line("unreadable record, " + got.text), "warn")
    if kind == HEADER:
        return Preview("", f"(empty {got.name} message)" if got.name else "(empty message)", "dim")
    if name == "tool_call":
        return Preview(tool_label(got.name), _line(telling(got, cwd)) or "(no input)", "ink", True)
    if name == "tool_result":
        said, failed = _result(got)
        tool = (call.name if call else "") or got.name
        return Preview(tool_label(tool), said, "dim", failed=failed, asked=_asked(call, cwd) if call else "")
    if name == "tools":
        about = _described(value)
        return Preview(_line(short_tool(got.name)), _line(about), "dim", True)
    if name == "thinking":
        return Preview("", _line(got.text) or _withheld(got), "dim italic")
    if got.media and not got.text:
        return Preview("", _line(media_line(got.media[0])), "ink")
    voice = "dim" if name in ("system", "memory") else "ink"
    file = re.match(_FILE, got.text) if name in ("memory", "document") else None
    if file is not None:
        said = got.text[file.end() :].rpartition("\n</")[0] or got.text[file.end() :]
        return Preview(_line(file[1]), _line(said), "dim", True, asked=file[2] or "")
    return Preview("", _line(got.text) or _withheld(got), voice)


def tool_label(name: str) -> str:
    """A tool as rows call it, safe to draw: ``$`` for a shell of Codex's, no prefix of an MCP server's."""
    return "$" if name in _SHELLS else _line(short_tool(name))


def _asked(call: BlockContent, cwd: str) -> str:
    """What a call asked for, short enough to leave room for what came back: of a path the end, else the beginning."""
    words = _line(telling(call, cwd))
    if len(words) <= ASKED:
        return words
    return f"…{words[1 - ASKED :]}" if " " not in words else f"{words[: ASKED - 1]}…"


def _line(text: str) -> str:
    return safe_text.one_line(text, LIMIT)


def _withheld(got: BlockContent) -> str:
    return f"(withheld: {got.hidden:,} characters of cipher)" if got.hidden else "(empty)"


def _described(value: Json) -> str:
    inner = value.get("function", value) if isinstance(value, Mapping) else value
    about = inner.get("description") if isinstance(inner, Mapping) else None
    return about if isinstance(about, str) else text_of(value)


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


def _result(got: BlockContent) -> tuple[str, bool]:
    """A result's line, and whether it says that something failed."""
    text, failed = _output(got.text)
    said = verdict(text)
    if said:
        return _line(said), failed or got.is_error
    first = next((line for line in text[: 1 << 14].split("\n", 64) if line.strip()), "")
    line = _line(re.sub(_NUMBERED, "", first)) or ("" if text[: 1 << 14].strip() else "(empty)")
    if got.media and not got.text.strip():
        line = _line(media_line(got.media[0]))
    return line or _line(text), failed or got.is_error


def _output(text: str) -> tuple[str, bool]:
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
    told = re.match(_PREAMBLE, text)
    if told is None:
        return text, False
    code = re.search(_EXIT, told[0])
    return text[told.end() :], code is not None and int(code[1]) != 0


def media_line(media: Media) -> str:
    """An image or file in a line: its type and size, or where it lies."""
    kind = media.media_type or "image"
    if media.data:
        return f"{kind}, {byte_size(len(media.data) * 3 // 4 - media.data[-2:].count('='))}"
    return f"{kind} {media.url}".strip()


def byte_size(count: int) -> str:
    """Bytes as people write them: ``812 B``, ``45.2 kB``, ``1.3 MB``."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.1f} kB" if count < 999_950 else f"{count / 1e6:.1f} MB"
