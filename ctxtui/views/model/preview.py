"""One line for a block: its label (tool, server, file) and the words that say most about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, UNREADABLE
from ctxtui.core.block_content import BlockContent, Media
from ctxtui.core.canonical import Json, dump_text
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tool_calls import main_argument, split_output
from ctxtui.views.text import safe_text

TAIL: Final = 1 << 16
"""Characters at the end of an output that are searched: of a run, the summary stands last."""

_LAST_LINES: Final = 1 << 12
"""Characters in which pytest says its last word; the word to look for is too common for more."""

_SGR = re.compile(r"\x1b\[[0-9;]*m")
_N = r"\d+(?:,\d{3})*"
_PYTEST = "failed|passed|skipped|errors?|warnings?|xfailed|xpassed|deselected|rerun"
# Each with a word that must occur: looking for it is a hundred times as fast as the pattern.
_PATTERNS: Final = (
    # cargo: test result: ok. 12 passed; 0 failed; 0 ignored ...
    ("test result: ", rf"^test result: (\w+\. {_N} passed; {_N} failed(?:; {_N} ignored)?)"),
    # jest, vitest: Tests:  1 failed, 12 passed, 13 total
    (
        "Tests",
        rf"^\s*Tests:?\s+((?:{_N} \w+[,|\s]+)*{_N} (?:total|passed|failed|skipped)(?: \({_N}\))?)\s*$",
    ),
    # unittest: Ran 12 tests in 0.1s, then OK or FAILED (failures=1)
    ("Ran ", rf"^(Ran {_N} tests? in [\d.]+s\s+(?:OK|FAILED)(?: \([^)\n]*\))?)"),
    # dotnet: Failed: 0, Passed: 12, Skipped: 0
    (
        "Passed:",
        rf"^.*?((?:Failed|Passed):\s+{_N}, (?:Failed|Passed):\s+{_N}(?:, Skipped:\s+{_N})?)",
    ),
    # maven, gradle: Tests run: 12, Failures: 1, Errors: 0
    ("Tests run: ", rf"^.*?(Tests run: {_N}, Failures: {_N}(?:, Errors: {_N})?)"),
    # rspec: 12 examples, 1 failure
    (" failure", rf"^({_N} examples?, {_N} failures?(?:, {_N} pending)?)"),
    # node --test and tap: # pass 12 ... # fail 1
    ("# pass ", rf"^# (pass {_N})\s*\n# (fail {_N})"),
)
# pytest, with or without its rule: 12 passed, 1 failed in 3.41s
_PYTEST_LINE: Final = rf"^=*\s*((?:{_N} (?:{_PYTEST})(?:, )?)+ in [\d.:hms ()]+?)\s*=*$"
# mocha says it in lines of their own: 12 passing (18s) / 2 pending / 1 failing
_MOCHA: Final = rf"^\s*({_N} (?:passing(?: \([\d.]+\w+\))?|pending|failing))\s*$"


def verdict(text: str) -> str:
    """The outcome of a test run in one line (``12 passing (18s) · 1 failing``); "" where `text` is no test output."""
    tail = text[-TAIL:]
    if "\x1b[" in tail:
        tail = _SGR.sub("", tail)
    ends = tail[-_LAST_LINES:]
    pytests = list(re.finditer(_PYTEST_LINE, ends, re.MULTILINE)) if " in " in ends else []
    found = [match for word, pattern in _PATTERNS if word in tail for match in re.finditer(pattern, tail, re.MULTILINE)]
    if pytests or found:
        last = pytests[-1] if pytests else max(found, key=lambda match: match.end())
        return " · ".join(" ".join(group.split()) for group in last.groups() if group)
    return " · ".join(_of_mocha(tail)) if "passing" in tail else ""


def _of_mocha(tail: str) -> list[str]:
    lines = [match[1] for match in re.finditer(_MOCHA, tail, re.MULTILINE)]
    # Of several runs the last one counts: it begins at the last "passing".
    starts = [at for at, line in enumerate(lines) if "passing" in line]
    return lines[starts[-1] :] if starts else []


LIMIT: Final = 400
"""Characters of a one-line text: more than the widest row shows."""

ASKED: Final = 44
"""Characters of a call's words before its result."""
_SHELLS: Final = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec"})
"""Codex's names for the one tool that runs a command: rows say ``$``."""

_NUMBERED: Final = r"^\s*\d+(?:→|\t)"
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
        return Preview(tool_label(got.name), _line(main_argument(got, cwd)) or "(no input)", "ink", True)
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
    words = _line(main_argument(call, cwd))
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
    return about if isinstance(about, str) else dump_text(value)


def _result(got: BlockContent) -> tuple[str, bool]:
    """A result's line, and whether it says that something failed."""
    text, failed = split_output(got.text)
    said = verdict(text)
    if said:
        return _line(said), failed or got.is_error
    first = next((line for line in text[: 1 << 14].split("\n", 64) if line.strip()), "")
    line = _line(re.sub(_NUMBERED, "", first)) or ("" if text[: 1 << 14].strip() else "(empty)")
    if got.media and not got.text.strip():
        line = _line(media_line(got.media[0]))
    return line or _line(text), failed or got.is_error


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
