"""Summarizes blocks without a model: verbatim lines, chosen by rule.

A summary lists requests, changed and read files, decisions, failures and open items. If the length does not allow all,
the most informative come first. The blocks to summarize are a *stretch*: `collect_facts` reads them, `summarize` writes
the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core import block
from ctxtui.core.block import ASSISTANT, HEADER, Block
from ctxtui.core.block_content import BlockContent, arguments_value
from ctxtui.core.canonical import Json
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import CHANGE, READ, find_touches, shell_command
from ctxtui.core.json_values import iter_strings
from ctxtui.core.tool_calls import is_envelope, main_argument, split_output
from ctxtui.curation.context import THINKING, CallFacts, Context, is_call, is_result

SHARE: Final = 5
"""If no length is requested, a summary has at most the size of its blocks divided by this."""
MIN_SUMMARY_TOKENS, MAX_SUMMARY_TOKENS = 200, 2_000
"""Limits of that length in tokens.

Less than the minimum for blocks of fewer than twice as many tokens.
"""
_REQUEST_CELLS, _SENTENCE_CELLS, _LINE_CELLS = 320, 300, 140
"""Cells kept of a request, of a sentence, and of any other line."""
_MAX_SEARCHED_CHARS: Final = 20_000
"""Characters of one block that are searched for sentences."""
_MAX_MINOR_ITEMS: Final = 12
"""Maximum items of the least informative sections."""
_MAX_CONSECUTIVE_MISFITS: Final = 30
"""After so many consecutive items that do not fit, no more are tried."""
_OMISSION_TOKENS: Final = 8
"""Maximum tokens of the line that counts omitted items."""

_CLIENTS: Final = re.compile(
    r"<([\w -]{0,40}(?:reminder|context|environment|instructions|stdout|stderr|caveat)[\w -]{0,40})\b[^>]*>.*?</\1>",
    re.DOTALL,
)
"""Text that clients add to a user's message."""
_IDENTIFIER: Final = re.compile(r"[\d_]|.[/:@]")
"""Signs by which a word is an identifier or a path."""
QUOTED: Final = "Quoted later"
"""Title of the section of identifiers that blocks after the stretch quote."""
_TAG: Final = re.compile(r"</?(?:command|user)[-_]\w+>")
_CODE: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|<think>.*?(?:</think>|\Z)", re.MULTILINE | re.DOTALL)
"""Fenced code, or thinking written as text: no prose."""
_BULLET: Final = re.compile(r"\s*(?:(?:[-*+•>#]+|\d{1,3}[.)])\s+)*")
"""The beginning of a line in a list, a quote or a heading."""
_SENTENCE: Final = re.compile(
    r"\S.*?(?:[.!?…]{1,3}[\"'”’)\]*_`]{0,4}(?=\s+[^\sa-z]|\s*$)|[。！？]{1,3}[”’」』）*]{0,4}|$)"
)
"""A sentence; a period inside a word or before a small letter does not end it."""
DECISION_WORDS: Final = re.compile(
    r"\b(?:decid\w+|chose|choosing|going with|instead of|rather than|root cause|the (?:fix|cause|problem|reason|issue) "
    r"(?:is|was)|must not|must never|should not|agreed)\b",
    re.IGNORECASE,
)
"""Words by which a sentence states a decision, in English; a hint in addition to its position."""
_PLAIN: Final = re.compile(r"(?<!\S)[\"'“‘(*]*[^\W\d_]+(?:['’-][^\W\d_]+)*[\"'”’)*.,:;!?]*(?!\S)")
"""A word of prose: no identifier, path or number."""
_TELLING: Final = re.compile(r"[`/\d]|\w\.\w|\w_\w")
_FAILED_TESTS: Final = re.compile(r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^FAIL", re.MULTILINE)
_RAISED: Final = re.compile(
    r"^(?:E +)?(?:[\w.]*(?:Error|Exception)|error(?:\[\w+\])?|fatal|panic)\b ?: ?\S", re.MULTILINE
)
_PROMPT: Final = re.compile(r"\n\S{0,40}[$#]\s*\Z")
_WRAP: Final = re.compile(r"^\s*<[\w-]+>|</[\w-]+>\s*$")
_COMPLAINS: Final = re.compile(
    r"\berr(?:or)?s?\b|fail|not found|cannot|can't|unable|denied|no such|invalid|missing|unexpected|[✗✖×]",
    re.IGNORECASE,
)
_HIT: Final = re.compile(r"\S+:\d+:")
_TEST_LINE: Final = re.compile(
    r"^.{0,40}?\b\d+ (?:passed|passing|failed|failing|failures?)\b.{0,80}$"
    r"|^test result: .{0,80}$|^(?:ok|FAIL)\s+\S+.{0,40}$",
    re.MULTILINE,
)
_ERROR_LINE: Final = re.compile(
    r"^.{0,80}(?:\b(?:(?:[A-Z]\w*)?(?:Error|Exception)|error(?:\[\w+\])?|fatal|panic)\b ?[:(!]|Traceback).{0,160}$",
    re.MULTILINE,
)
_OF_TESTS: Final = ("passed", "passing", "failed", "failing", "failure", "test result: ", "\nok", "\nFAIL")
_OF_ERRORS: Final = ("Error", "Exception", "error", "fatal", "panic", "Traceback")
"""Parts of the lines that `_TEST_LINE` and `_ERROR_LINE` match: a quick test before these slow expressions."""
_BORDER: Final = re.compile(r"^[=\-\s]+|[=\-\s]+$")
MAX_ERROR_LINES: Final = 5
_COMMIT: Final = re.compile(r"git commit\b[^\n]{0,200}?-a?m\s+(?:\"([^\"\n]{1,200})|'([^'\n]{1,200}))")
_LEAD: Final = re.compile(r"^(?:cd \S+ *(?:&&|;) *|\w+=\S+ +)+")
"""Text before the program in a command."""

_DONE: Final = frozenset("completed complete done finished cancelled canceled skipped deleted closed".split())
_STATUS, _ITEM = ("status", "state"), ("content", "step", "title", "subject", "description", "text", "task", "name")
_BOX: Final = re.compile(r"^[ \t]*(?:[-*+][ \t]*)?\[(.)\][ \t]+(\S.*)$", re.MULTILINE)
_LISTS: Final = ("todo", "plan", "task")
"""Parts of the names of tools that keep a list."""


class Distinct(list[str]):
    """Texts in order, without duplicates; fast for thousands of them."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def add(self, text: str) -> None:
        if text and text not in self._seen:
            self._seen.add(text)
            self.append(text)


class Failure(Struct):
    """The last failure of a `call`: its most informative `line`, and whether it is `solved`.

    It is solved if a later call with the same key (tool and files, or program) succeeded.
    """

    call: str
    line: str
    solved: bool = False


class Facts(Struct, kw_only=True):
    """Facts of a stretch of blocks.

    - `requests`: the user's requests.
    - `changed`, `read`: files, with their number of calls that did not fail.
    - `statements`: sentences of the assistant with their weights.
    - `tests`: the last line with test results.
    - `failures`: the last failure of each call, by the key of the call.
    - `todos`: open items of the last to-do list.
    - `commits`: commit messages.
    - `calls`: calls that did not fail and neither touch a file nor a to-do list, with their number.
    - `earlier`: lines of summaries in the stretch.
    - `answer`: the assistant's last text; `answered`: nothing follows it.
    """

    requests: Distinct = field(default_factory=Distinct)
    changed: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    statements: dict[str, float] = field(default_factory=dict)
    commits: Distinct = field(default_factory=Distinct)
    tests: str = ""
    failures: dict[tuple[str, ...], Failure] = field(default_factory=dict)
    todos: dict[str, str] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    earlier: Distinct = field(default_factory=Distinct)
    answer: str = ""
    answered: bool = False


def collect_facts(context: Context, positions: Iterable[int]) -> Facts:
    """Collect the facts of the blocks at `positions`, which are in the order of `context`."""
    result, stretch, failed = Facts(), [*positions], False
    position_set = frozenset(stretch)
    for position in stretch:
        item = context.items[position]
        kind, role = item.block.kind, item.place.role
        if kind == HEADER or kind in THINKING or item.place.section != "messages":
            continue
        if is_call(kind):
            failed, result.answered = _add_call(context, position, position_set, result), False
        elif is_result(kind) or role == "tool":
            result.answered = False
            if context.answered_call(position) not in position_set:
                failed = _add_result(context, position, result, (), "")
        elif context.tree[context.nodes[position]].category == INDEX["summary"]:
            for line in context.reading(position).text.splitlines():
                text_line = line.strip().removeprefix("- ")
                result.earlier.add("" if text_line.endswith((":", "```")) else text_line)
        elif role in ASSISTANT:
            text = context.reading(position).text
            if text.strip():
                closing = _ends_turn(context, position)
                _add_statements(result, text[:_MAX_SEARCHED_CHARS], closing=closing, mends=failed)
                result.answer, result.answered, failed = text, closing, False
        elif not item.place.mark and role not in ("system", "developer"):
            text = context.reading(position).text
            envelope = is_envelope(text.lstrip()[:80].partition("\n")[0]) or _PROMPT.search(text[-80:])
            if result.answer and envelope:
                # Agents without tool calls get the output of their commands as a user message.
                failed, result.answered = _add_result(context, position, result, (), ""), False
                continue
            request = user_text(text)
            result.requests.add("" if re.fullmatch(r"/\S*", request) else request)
            result.answered = result.answered and not request
    return result


def user_text(text: str) -> str:
    """The user's own text in a message, without text that the client added."""
    return " ".join(_TAG.sub(" ", _CLIENTS.sub(" ", text[:_MAX_SEARCHED_CHARS])).split())


def _add_call(context: Context, position: int, position_set: frozenset[int], result: Facts) -> bool:
    """Add the facts of a call; returns whether it failed."""
    item = context.items[position].block
    call_facts = context.derived.calls.get(item.digest)
    if call_facts is None:
        call_facts = context.derived.calls[item.digest] = _read_call(context.reading(position))
    answer = next(iter(context.partners.get(position, ())), -1)
    if answer >= 0 and context.items[answer].block.kind == HEADER:
        answer += 1
    text = context.reading(answer).text if answer in position_set else ""
    if answer in position_set and _add_result(context, answer, result, call_facts.key, call_facts.label):
        return True
    if call_facts.key in result.failures:
        result.failures[call_facts.key].solved = True
    result.changed.update(call_facts.changed)
    result.read.update(call_facts.read)
    for commit in call_facts.commits:
        result.commits.add(commit)
    if not call_facts.changed and not call_facts.read and call_facts.todos is None:
        result.calls[call_facts.label] = result.calls.pop(call_facts.label, 0) + 1
    if call_facts.todos is not None:
        _update_todos(result.todos, call_facts.todos, text)
    return False


def _read_call(content: BlockContent) -> CallFacts:
    files, value = list(find_touches(content)), arguments_value(content) if content.arguments else {}
    changed = tuple(file.path for file in files if file.kind == CHANGE)
    read = tuple(file.path for file in files if file.kind == READ)
    command, strings = shell_command(content), "\n".join(iter_strings(value))
    commits = [(match[1] or match[2]).strip() for match in _COMMIT.finditer(strings)]
    if "commit" in content.name.lower() and isinstance(value, Mapping) and isinstance(value.get("message"), str):
        commits.append(str(value["message"]).strip().partition("\n")[0][:200])
    program = _LEAD.sub("", command).split()[:2]
    key = (READ, *read) if read else (CHANGE, *changed) if changed and not command else (content.name, *program)
    label = short(main_argument(content) if command else f"{content.name} {main_argument(content)}", _LINE_CELLS)
    return CallFacts(key, label, changed, read, tuple(commits), listed_items(content.name, value))


# To-do lists


def listed_items(name: str, value: Json) -> tuple[tuple[str, str, bool], ...] | None:
    """(id, text, is open) of items that a call's input lists, or of one it adds or updates.

    The id of an added item is ``+``, that of an updated one starts with ``=``. None if the input changes no list.
    """
    if not isinstance(value, Mapping) or not any(word in name.lower() for word in _LISTS):
        return None
    if list(value.values()) == [[]]:
        return ()
    for items in value.values():
        if (
            isinstance(items, list)
            and items
            and all(isinstance(entry, dict) and _item_status(entry) for entry in items)
        ):
            return tuple((str(n), _item_text(entry), _item_status(entry) not in _DONE) for n, entry in enumerate(items))
    for text in value.values():
        boxes = _BOX.findall(text) if isinstance(text, str) else ()
        if len(boxes) > 1:
            return tuple((str(n), todo, box not in "xX") for n, (box, todo) in enumerate(boxes))
    id_ = next((str(value[key]) for key in ("taskId", "task_id", "id") if value.get(key)), "")
    if id_ and _item_status(value):
        return ((f"={id_}", "", _item_status(value) not in _DONE),)
    return (("+", str(value["subject"]), True),) if isinstance(value.get("subject"), str) else None


def _item_status(entry: Mapping[str, Json]) -> str:
    return next((str(entry[key]).lower() for key in _STATUS if isinstance(entry.get(key), str)), "")


def _item_text(entry: Mapping[str, Json]) -> str:
    return next((str(entry[key]) for key in _ITEM if isinstance(entry.get(key), str)), "")


def _update_todos(todos: dict[str, str], entries: tuple[tuple[str, str, bool], ...], result: str) -> None:
    if not entries or entries[0][0][0] not in "+=":
        todos.clear()
    for id_, text, is_open in entries:
        number = re.search(r"#?(\d+)", result)
        id_ = id_[1:] if id_[0] == "=" else id_ if id_ != "+" else number[1] if number else f"+{len(todos)}"
        if not is_open:
            todos.pop(id_, None)
        elif text:
            todos[id_] = text


# Failures and test results


def outcome_lines(context: Context, position: int) -> tuple[list[str], list[str]]:
    """Lines about tests and about errors in the result at a position; cached.

    Tests are searched in its last 20,000 characters, errors in its first 200,000.
    """
    digest = context.items[position].block.digest
    lines = context.derived.outcomes.get(digest)
    if lines is None:
        text = context.reading(position).text
        lines = context.derived.outcomes[digest] = lines_about_tests(text[-20_000:]), error_lines(text[:200_000])
    return lines


def lines_about_tests(text: str) -> list[str]:
    # Most results have none; the expressions, which check every line, take a hundred times as long as this test.
    if not any(word in text for word in _OF_TESTS) and not text.startswith(("ok", "FAIL")):
        return []
    return [_BORDER.sub("", match[0])[:120] for match in _TEST_LINE.finditer(text)]


def error_lines(text: str) -> list[str]:
    """The first lines of `text` about errors."""
    if not any(word in text for word in _OF_ERRORS):
        return []
    return [match[0].strip()[:160] for match in islice(_ERROR_LINE.finditer(text), MAX_ERROR_LINES)]


def _add_result(context: Context, position: int, result_facts: Facts, key: tuple[str, ...], label: str) -> bool:
    """Add a result's test outcome and failure; returns whether it is a failure."""
    content, (tests, errors) = context.reading(position), outcome_lines(context, position)
    text, failed = split_output(content.text)
    looks = key[:1] in ((READ,), (CHANGE,))
    if tests and not looks:
        result_facts.tests = tests[-1]
    tail = text[-4000:]
    failed = failed or content.is_error
    failed = failed or (not looks and bool(_RAISED.search(tail) or any(map(_FAILED_TESTS.search, tests))))
    if failed:
        raised = _RAISED.search(tail)
        line = tail[raised.start() :].partition("\n")[0] if raised else ""
        line = line or next(
            (candidate for candidate in errors if "Traceback" not in candidate and not _HIT.match(candidate)), ""
        )
        lines = [line for line in text[: 1 << 14].splitlines() if line.strip() and not is_envelope(line)]
        # Python's traceback ends with the error.
        lines = lines[::-1] if "Traceback" in text else lines
        line = line or next((candidate for candidate in lines if _COMPLAINS.search(candidate)), next(iter(lines), ""))
        if not line:
            # A search without results fails, too.
            return False
        result_facts.failures.pop(key, None)
        result_facts.failures[key or ("", line)] = Failure(label, short(_WRAP.sub("", line), _LINE_CELLS))
    return failed


# Statements of the assistant


def _ends_turn(context: Context, at: int) -> bool:
    """Whether the assistant's text at a position ends its turn: no call follows it."""
    for position in range(at + 1, len(context)):
        item = context.items[position]
        if is_call(item.block.kind):
            return False
        if item.block.kind != HEADER and item.block.kind not in THINKING and item.place.role not in ASSISTANT:
            return True
    return True


def sentences(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences of a text without code and tables, each with whether it is in a list."""
    for line in _CODE.sub("", text).splitlines():
        start = _BULLET.match(line)
        bare = line[start.end() if start else 0 :]
        if not bare.startswith("|"):
            for match in _SENTENCE.finditer(bare):
                sentence = match[0].rstrip()
                if len(_PLAIN.findall(sentence)) >= 4 or width(sentence) >= len(sentence) + 8:
                    yield sentence, bare != line


def _add_statements(result: Facts, text: str, *, closing: bool, mends: bool) -> None:
    """Weigh the sentences of a text.

    One that ends a turn gives the result, one after a failure the cause; the last one before a call only announces it.
    """
    every = list(sentences(text))
    for n, (sentence, listed) in enumerate(every):
        weight = (
            2.0 * closing
            + 2 * bool(DECISION_WORDS.search(sentence))
            + mends
            + 0.5 * bool(_TELLING.search(sentence))
            - 0.1 * n
        )
        weight -= (
            0.7 * listed
            + 2 * sentence.endswith((":", "："))
            + 0.5 * sentence.endswith(("?", "？"))
            + 1.5 * (not closing and n == len(every) - 1)
        )
        result.statements[sentence] = max(weight, result.statements.pop(sentence, weight))


def width(text: str) -> int:
    """Number of terminal cells of `text`."""
    return len(text) + (0 if text.isascii() else sum(unicodedata.east_asian_width(char) in "WF" for char in text))


def short(text: str, cells: int) -> str:
    """Put `text` on one line, cut after a sentence or word if wider than `cells`."""
    line = " ".join(text[: cells * 4].split())
    if width(line) < cells or (width(line) == cells and len(text) <= cells * 4):
        return line + ("…" if line and len(text) > cells * 4 else "")
    head = line[: cells - 1]
    while width(head) > cells - 1:
        head = head[: (cells - 1) * len(head) // width(head)]
    ends = [match.end() for match in _SENTENCE.finditer(head)][:-1]
    if ends and ends[-1] > len(head) // 2:
        return f"{head[: ends[-1]]} …"
    space = len(head) if line[len(head)] == " " else head.rfind(" ")
    return f"{head[:space] if space > len(head) // 2 else head}…"


# The summary


class _Section(NamedTuple):
    """A section of a summary.

    - `items`: in display order.
    - `order`: their indexes, the most informative first.
    - `step`: how much the rank falls from one item to the next, relative to other sections.
    - `joined`: items are put on one line.
    - `more`: the words for omitted items.
    """

    title: str
    more: str
    items: Sequence[str]
    order: Sequence[int]
    step: float
    joined: bool = False


def length_for(size: int, requested: int = 0) -> int:
    """Tokens allowed for the summary of blocks with `size` tokens, always fewer than `size`.

    `requested`: the length that the user wants, in tokens (0: a share of `size`).
    """
    return max(
        0, min(requested or min(MAX_SUMMARY_TOKENS, max(size // SHARE, min(MIN_SUMMARY_TOKENS, size // 2))), size - 1)
    )


def summarize(
    context: Context,
    positions: Sequence[int],
    limit: int,
    count: Callable[[Block], int],
    stretch_name: str = "",
    keep: Sequence[str] = (),
) -> str:
    """Summarize the blocks at `positions` in at most `limit` tokens.

    `count` gives the tokens of a block. `stretch_name` names the blocks in the head line (``turns 3-6``). `keep` are
    texts that later blocks quote: the first identifiers among them are added if there is room, except those that the
    summary has already. "" if there is nothing to say, or if no other line fits below the head line.
    """

    def tokens(text: str) -> int:
        return count(block.text(text))

    result = collect_facts(context, positions)
    base = _common_directory([*result.changed, *result.read])
    head = f"[Summary of {stretch_name or 'earlier messages'}, drawn from the record]" + (
        f"\nPaths are below {base}" if base else ""
    )
    sections = list(_make_sections(result, base, keep))
    ranked = sorted(
        ((n + 1) * section.step, s, item) for s, section in enumerate(sections) for n, item in enumerate(section.order)
    )
    chosen: dict[tuple[int, int], None] = {}
    empty, room, misfits = tokens(""), limit - tokens(head), 0
    opened: set[int] = set()
    for _, s, item in ranked:
        if room <= _OMISSION_TOKENS or misfits > _MAX_CONSECUTIVE_MISFITS:
            break
        title = "" if s in opened else f"## {sections[s].title}\n"
        cost = tokens(f"{title}- {sections[s].items[item]}\n") - empty + (_OMISSION_TOKENS if title else 0)
        misfits += 1
        repeats = sections[s].title == QUOTED and any(
            sections[s].items[item] in sections[t].items[n] for t, n in chosen
        )
        if cost <= room and not repeats:
            room, misfits = room - cost, 0
            opened.add(s)
            chosen[s, item] = None
    while any(sections[s].title != QUOTED for s, _ in chosen):
        text = _write_sections(head, sections, chosen)
        if tokens(text) <= limit:
            return text
        chosen.popitem()
    return ""


def is_empty(context: Context, positions: Sequence[int]) -> bool:
    """Whether there is nothing to say of these blocks, whatever the length."""
    return not any(section.items for section in _make_sections(collect_facts(context, positions), "", ()))


def _write_sections(head: str, sections: Sequence[_Section], chosen: Mapping[tuple[int, int], None]) -> str:
    lines = [head]
    for s, section in enumerate(sections):
        lines_of_section = [item for n, item in enumerate(section.items) if (s, n) in chosen]
        if not lines_of_section:
            continue
        omitted = len(section.items) - len(lines_of_section)
        lines_of_section += (
            [f"({omitted:,} more {section.more if omitted > 1 else section.more[:-1]})"] if omitted else []
        )
        lines += [
            f"## {section.title}",
            *([f"- {', '.join(lines_of_section)}"] if section.joined else (f"- {item}" for item in lines_of_section)),
        ]
    return "\n".join(lines)


def _make_sections(result: Facts, base: str, keep: Sequence[str]) -> Iterator[_Section]:
    requests = [short(request, _REQUEST_CELLS) for request in result.requests]
    newest_first = list(range(len(requests)))[::-1]
    yield _Section(
        "Asked",
        "requests",
        requests,
        [*newest_first[:1], *newest_first[-1:][: len(newest_first) - 1], *newest_first[1:-1]],
        0.7,
    )
    earlier = [short(sentence, _SENTENCE_CELLS) for sentence in result.earlier]
    # A summary's end describes the state, its beginning the subject.
    ends = sorted(range(len(earlier)), key=lambda n: (min(n, len(earlier) - 1 - n), -n))
    yield _Section("From the summary before", "lines", earlier, ends, 0.7)
    changed = _by_frequency(result.changed, base)
    yield _ordered_section("Files changed", "files", changed, 1)
    read = Counter({path: n for path, n in result.read.items() if path not in result.changed})
    yield _ordered_section("Files read", "files", _by_frequency(read, base), 1.5, joined=True)
    weights = {
        statement: weight
        for statement, weight in result.statements.items()
        if weight >= 0 or statement in result.answer
    }
    statements = list(weights)
    order = sorted(
        range(len(statements)),
        key=lambda n: (-weights[statements[n]] - 3 * (statements[n] in result.answer) - n / len(statements), -n),
    )
    yield _Section(
        "Decisions and results",
        "sentences",
        [f"“{short(statement, _SENTENCE_CELLS)}”" for statement in statements],
        order,
        1,
    )
    results = [f"tests: {result.tests}"] if result.tests else []
    yield _ordered_section(
        "Tests and commits", "commits", [*results, *(f"committed: {commit}" for commit in result.commits)], 1.5
    )
    solved = [_describe_failure(failure, base) for failure in reversed(result.failures.values()) if failure.solved]
    yield _ordered_section("Errors since solved", "errors", solved, 3)
    unsolved = [
        _describe_failure(failure, base) for failure in reversed(result.failures.values()) if not failure.solved
    ]
    unanswered = ["the last request has no answer yet"] if result.requests and not result.answered else []
    question = next((sentence for sentence, _ in reversed([*sentences(result.answer[-2000:])]) if result.answered), "")
    unanswered += [f"asked the user: “{short(question, _SENTENCE_CELLS)}”"] if question.endswith(("?", "？")) else []
    todos = [f"to do: {short(todo, _LINE_CELLS)}" for todo in result.todos.values()]
    yield _ordered_section("Still open", "others", [*unanswered, *todos, *unsolved], 0.8)
    calls = [
        f"{call.replace(base, '') if base else call}{f' ({n}x)' if n > 1 else ''}" for call, n in result.calls.items()
    ]
    yield _Section("Other calls", "calls", calls, range(len(calls))[::-1][:_MAX_MINOR_ITEMS], 3)
    yield _ordered_section(
        QUOTED, "names", [name for name in keep if _IDENTIFIER.search(name)][:_MAX_MINOR_ITEMS], 3, joined=True
    )


def _ordered_section(title: str, more: str, items: Sequence[str], step: float, *, joined: bool = False) -> _Section:
    return _Section(title, more, items, range(len(items)), step, joined)


def _describe_failure(failure: Failure, base: str) -> str:
    return (
        f"`{failure.call.replace(base, '') if base else failure.call}`: {failure.line}"
        if failure.call
        else failure.line
    )


def _by_frequency(paths: Counter[str], base: str) -> list[str]:
    """The paths, the most frequent first, the latest first of equally frequent ones."""
    latest = {path: n for n, path in enumerate(paths)}
    order = sorted(paths, key=lambda path: (-paths[path], -latest[path]))
    names = ((path.removeprefix(base), paths[path]) for path in order)
    return [f"{name} ({n}x)" if n > 1 else name for name, n in names]


def _common_directory(paths: Sequence[str]) -> str:
    """The common directory of most absolute paths, to be printed once."""
    saved = Counter[str]()
    for path in paths:
        for end in (match.end() for match in re.finditer("/", path)) if path.startswith("/") else ():
            saved[path[:end]] += end
    best = max(saved, key=lambda name: (saved[name], len(name)), default="")
    return best if saved[best] > 3 * len(best) > 30 else ""
