"""One-line preview of a block: its label (tool, server, file) and the most telling words."""

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

SEARCHED_TAIL_CHARS: Final = 1 << 16
"""Characters at the end of an output that are searched: test summaries come last."""

PYTEST_TAIL_CHARS: Final = 1 << 12
"""Characters searched for pytest's summary, whose search word is common."""

_SGR = re.compile(r"\x1b\[[0-9;]*m")
_N = r"\d+(?:,\d{3})*"
_PYTEST = "failed|passed|skipped|errors?|warnings?|xfailed|xpassed|deselected|rerun"
# Each with a word that must occur: a plain search is a hundred times as fast as the pattern.
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
# mocha prints separate lines: 12 passing (18s) / 2 pending / 1 failing
_MOCHA: Final = rf"^\s*({_N} (?:passing(?: \([\d.]+\w+\))?|pending|failing))\s*$"


def describe_test_run(text: str) -> str:
    """The outcome of a test run in one line (``12 passing (18s) · 1 failing``).

    "" if there is none.
    """
    tail = text[-SEARCHED_TAIL_CHARS:]
    if "\x1b[" in tail:
        tail = _SGR.sub("", tail)
    ends = tail[-PYTEST_TAIL_CHARS:]
    pytests = list(re.finditer(_PYTEST_LINE, ends, re.MULTILINE)) if " in " in ends else []
    matches = [
        match for word, pattern in _PATTERNS if word in tail for match in re.finditer(pattern, tail, re.MULTILINE)
    ]
    if pytests or matches:
        last = pytests[-1] if pytests else max(matches, key=lambda match: match.end())
        return " · ".join(" ".join(group.split()) for group in last.groups() if group)
    return " · ".join(_mocha_lines(tail)) if "passing" in tail else ""


def _mocha_lines(tail: str) -> list[str]:
    lines = [match[1] for match in re.finditer(_MOCHA, tail, re.MULTILINE)]
    # The last of several runs counts; it begins at the last "passing".
    starts = [at for at, line in enumerate(lines) if "passing" in line]
    return lines[starts[-1] :] if starts else []


MAX_PREVIEW_CHARS: Final = 400

MAX_ARGUMENT_CHARS: Final = 44
"""Longest arguments of a call before its result."""
CODEX_SHELLS: Final = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec"})
"""Codex's names of the tool that runs a command; rows show ``$``."""

_NUMBERED: Final = r"^\s*\d+(?:→|\t)"
FILE_WRAPPER: Final = r'\A<(?:file|folder|memory|instructions) path="([^"\n]+)"(?: form="(signatures)")?>\n'
"""Wrapper of a file that ctxtui adds to a context."""


class Preview(NamedTuple):
    """A block in one line, safe to draw.

    `voice` is the style of `text`; a `loud` label is bold; `failed`: a tool reported an error; `detail`: the arguments
    of a result's call, or the form of a project's file that is not whole.
    """

    label: str
    text: str
    voice: str = "ink"
    loud: bool = False
    failed: bool = False
    detail: str = ""


def short_tool(name: str) -> str:
    """A tool's name without the prefix for MCP servers: ``puppeteer/navigate``."""
    return "/".join(name.split("__")[1:]) if name.startswith("mcp__") and name.count("__") > 1 else name


def preview(
    kind: str, category: int, value: Json, content: BlockContent, call: BlockContent | None = None, cwd: str = ""
) -> Preview:
    """The preview of a block; `call` is the call that a result answers."""
    name = CATEGORIES[category]
    if kind == UNREADABLE:
        return Preview("", _line("unreadable record, " + content.text), "warn")
    if kind == HEADER:
        return Preview("", _line(f"(empty {content.name} message)") if content.name else "(empty message)", "dim")
    if name == "tool_call":
        return Preview(tool_label(content.name), _line(main_argument(content, cwd)) or "(no input)", "ink", True)
    if name == "tool_result":
        result_text, failed = _result(content)
        tool = (call.name if call else "") or content.name
        return Preview(
            tool_label(tool), result_text, "dim", failed=failed, detail=_shorten_arguments(call, cwd) if call else ""
        )
    if name == "tools":
        about = _tool_description(value)
        return Preview(_line(short_tool(content.name)), _line(about), "dim", True)
    if name == "thinking":
        return Preview("", _line(content.text) or _withheld(content), "dim italic")
    if content.media and not content.text:
        return Preview("", _line(media_line(content.media[0])), "ink")
    voice = "dim" if name in ("system", "memory") else "ink"
    file = re.match(FILE_WRAPPER, content.text) if name in ("memory", "document") else None
    if file is not None:
        result_text = content.text[file.end() :].rpartition("\n</")[0] or content.text[file.end() :]
        return Preview(_line(file[1]), _line(result_text), "dim", True, detail=file[2] or "")
    return Preview("", _line(content.text) or _withheld(content), voice)


def tool_label(name: str) -> str:
    """A tool's name in rows, safe to draw: ``$`` for Codex's shell, without MCP prefix."""
    return "$" if name in CODEX_SHELLS else _line(short_tool(name))


def _shorten_arguments(call: BlockContent, cwd: str) -> str:
    """A call's main argument, shortened to leave room for the result; a path keeps its end."""
    words = _line(main_argument(call, cwd))
    if len(words) <= MAX_ARGUMENT_CHARS:
        return words
    return f"…{words[1 - MAX_ARGUMENT_CHARS :]}" if " " not in words else f"{words[: MAX_ARGUMENT_CHARS - 1]}…"


def _line(text: str) -> str:
    return safe_text.one_line(text, MAX_PREVIEW_CHARS)


def _withheld(content: BlockContent) -> str:
    return f"(withheld: {content.hidden:,} encrypted characters)" if content.hidden else "(empty)"


def _tool_description(value: Json) -> str:
    inner = value.get("function", value) if isinstance(value, Mapping) else value
    about = inner.get("description") if isinstance(inner, Mapping) else None
    return about if isinstance(about, str) else dump_text(value)


def _result(content: BlockContent) -> tuple[str, bool]:
    text, failed = split_output(content.text)
    test_outcome = describe_test_run(text)
    if test_outcome:
        return _line(test_outcome), failed or content.is_error
    first = next((line for line in text[: 1 << 14].split("\n", 64) if line.strip()), "")
    line = _line(re.sub(_NUMBERED, "", first)) or ("" if text[: 1 << 14].strip() else "(empty)")
    if content.media and not content.text.strip():
        line = _line(media_line(content.media[0]))
    return line or _line(text), failed or content.is_error


def media_line(media: Media) -> str:
    """An image or file in a line: type and size, or its location."""
    kind = media.media_type or "image"
    if media.data:
        return f"{kind}, {byte_size(len(media.data) * 3 // 4 - media.data[-2:].count('='))}"
    return f"{kind} {media.url}".strip()


def byte_size(count: int) -> str:
    """``812 B``, ``45.2 kB``, ``1.3 MB``."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.1f} kB" if count < 999_950 else f"{count / 1e6:.1f} MB"
