"""What happened in a stretch of a conversation, in facts drawn from its own words: what was asked and answered, files
read and written, tests, errors, commits. This is the summary that needs no model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from msgspec import Struct, field

from ctxtui.core import canonical
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import BlockContent
from ctxtui.core.canonical import Json
from ctxtui.curation.context import ASSISTANT, THINKING, CallFacts, Context, is_call, is_result

ASKED, SAID = 200, 400
"""Characters that are kept of what a person asked, and of the last answer."""
MOST: Final = 40
"""Items that one line lists at most."""
MOST_ERRORS: Final = 5
"""Errors that are taken from one result."""

_WRITES: Final = re.compile(r"write|edit|patch|create|replace|insert|notebook", re.IGNORECASE)
_READS: Final = re.compile(r"read|view|open|cat|fetch", re.IGNORECASE)
_PATH_KEYS: Final = ("file_path", "path", "notebook_path", "filename", "file", "target_file")
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_COMMIT: Final = re.compile(r"git commit\b[^\n]*?-a?m\s+(?:\"([^\"\n]{1,200})|'([^'\n]{1,200}))")
_COMMITS: Final = re.compile(r"commit", re.IGNORECASE)
_ERROR: Final = re.compile(
    r"^.{0,80}(?:\b(?:(?:[A-Z]\w*)?(?:Error|Exception)|error(?:\[\w+\])?|fatal|panic)\b ?[:(!]|Traceback).{0,160}$",
    re.MULTILINE,
)
_TESTS: Final = re.compile(
    r"^.{0,40}?\b\d+ (?:passed|passing|failed|failing|failures?)\b.{0,80}$"
    r"|^test result: .{0,80}$|^(?:ok|FAIL)\s+\S+.{0,40}$",
    re.MULTILINE,
)
_OF_ERRORS: Final = ("Error", "Exception", "error", "fatal", "panic", "Traceback")
_OF_TESTS: Final = ("passed", "passing", "failed", "failing", "failure", "test result: ", "\nok", "\nFAIL")
"""Each line that the expression finds holds one of these, or begins with the last two."""
_BORDER: Final = re.compile(r"^[=\-\s]+|[=\-\s]+$")


class Distinct(list[str]):
    """Texts in order, each once: `tell` adds to them. A stretch may name thousands of files."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        super().__init__()
        self._known: set[str] = set()

    def tell(self, one: str) -> None:
        """Add a text, unless it is empty or there already."""
        if one and one not in self._known:
            self._known.add(one)
            self.append(one)


class ExtractedFacts(Struct, kw_only=True):
    """The facts of a stretch, each list in order and without repeats."""

    asked: Distinct = field(default_factory=Distinct)
    answered: str = ""
    written: Distinct = field(default_factory=Distinct)
    read: Distinct = field(default_factory=Distinct)
    tests: Distinct = field(default_factory=Distinct)
    errors: Distinct = field(default_factory=Distinct)
    commits: Distinct = field(default_factory=Distinct)
    calls: dict[str, int] = field(default_factory=dict)
    thoughts: int = 0


def facts(context: Context, positions: Iterable[int]) -> ExtractedFacts:
    """The facts in the blocks at `positions`."""
    found = ExtractedFacts()
    for at in positions:
        item = context.items[at]
        kind = item.block.kind
        if kind == HEADER:
            continue
        if kind in THINKING:
            found.thoughts += 1
        elif is_call(kind):
            _call(context, at, found)
        elif is_result(kind) or item.place.role == "tool":
            tests, errors = _outcomes(context, at)
            for one in tests:
                found.tests.tell(one)
            for one in errors:
                found.errors.tell(one)
        elif item.place.role in ASSISTANT:
            found.answered = _first(context.reading(at).text, SAID) or found.answered
        elif item.place.section == "messages" and not item.place.mark:
            found.asked.tell(_first(context.reading(at).text, ASKED))
    return found


def _call(context: Context, at: int, found: ExtractedFacts) -> None:
    digest = context.items[at].block.digest
    asked = context.said.calls.get(digest)
    if asked is None:
        asked = context.said.calls[digest] = _asked(context.reading(at))
    found.calls[asked.name] = found.calls.get(asked.name, 0) + 1
    for items, more in ((found.written, asked.written), (found.read, asked.read), (found.commits, asked.commits)):
        for one in more:
            items.tell(one)


def _asked(got: BlockContent) -> CallFacts:
    given = _given(got.arguments)
    path = next((given[key] for key in _PATH_KEYS if isinstance(given.get(key), str)), "")
    words = "\n".join(_strings(given)) if given else got.arguments
    written = [one.strip() for one in _PATCHED.findall(words)]
    read: list[str] = []
    if path and _WRITES.search(got.name):
        written.append(path)
    elif path and _READS.search(got.name):
        read.append(path)
    commits = [(match[1] or match[2]).strip() for match in _COMMIT.finditer(words)]
    if _COMMITS.search(got.name) and isinstance(given.get("message"), str):
        commits.append(given["message"].strip().partition("\n")[0][:200])
    return CallFacts(got.name, tuple(written), tuple(read), tuple(commits))


def _given(arguments: str) -> dict[str, Json]:
    try:
        value = canonical.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)


def _outcomes(context: Context, at: int) -> tuple[list[str], list[str]]:
    """Lines about tests and errors in the result at a position; looked for once."""
    digest = context.items[at].block.digest
    known = context.said.outcomes.get(digest)
    if known is None:
        text = context.reading(at).text
        known = context.said.outcomes[digest] = told_of_tests(text[-20_000:]), told_of_errors(text[:200_000])
    return known


def told_of_tests(text: str) -> list[str]:
    """The lines of `text` that say how tests went."""
    # Most results hold none of it; the expressions, which look at every line, take a hundred times as long as this.
    if not any(word in text for word in _OF_TESTS) and not text.startswith(("ok", "FAIL")):
        return []
    return [_BORDER.sub("", match[0])[:120] for match in _TESTS.finditer(text)]


def told_of_errors(text: str) -> list[str]:
    """The first lines of `text` that tell of errors."""
    if not any(word in text for word in _OF_ERRORS):
        return []
    return [match[0].strip()[:160] for match in islice(_ERROR.finditer(text), MOST_ERRORS)]


def _first(text: str, most: int) -> str:
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def told(found: ExtractedFacts, what: str = "") -> str:
    """`found` as text; `what` says which stretch it is (``turns 3-6``)."""
    head = f"[Summary of {what or 'earlier messages'}, drawn from the record]"
    lines, written = [head], {*found.written}
    lines += [f"- asked: {asked}" for asked in found.asked[:MOST]]
    for name, items in (
        ("files written", found.written),
        ("files read", [path for path in found.read if path not in written]),
        ("tests", found.tests[-5:]),
        ("errors met", found.errors),
        ("commits", found.commits),
    ):
        if items:
            more = f", and {len(items) - MOST} more" if len(items) > MOST else ""
            lines.append(f"- {name}: {'; '.join(items[:MOST])}{more}")
    if found.calls:
        lines.append("- tools used: " + ", ".join(f"{name} x{n}" for name, n in found.calls.items()))
    if found.answered:
        lines.append(f"- last answer: {found.answered}")
    return "\n".join(lines)
