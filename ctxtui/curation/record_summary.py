"""A summary that needs no model: what was asked, which files were changed and read, what was decided, what failed and
what is open, in the record's own words. The most informative comes first where the length does not allow all."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core import block
from ctxtui.core.block import HEADER, Block
from ctxtui.core.block_content import BlockContent, arguments_value
from ctxtui.core.canonical import Json
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import CHANGE, READ, find_touches, shell_command
from ctxtui.core.tool_calls import is_envelope, main_argument, split_output
from ctxtui.curation.context import ASSISTANT, THINKING, CallFacts, Context, is_call, is_result

SHARE: Final = 5
"""Of so many tokens a summary has one, where no length is asked for ..."""
SHORTEST, LONGEST = 200, 2_000
"""... but at least and at most so many."""
_ASK, _SENTENCE_CELLS, _LINE = 320, 300, 140
"""Cells that are kept of a request, of a sentence, and of any other line."""
_PASTED: Final = 20_000
"""Characters of one block that are looked through for sentences."""
_LEAST: Final = 12
"""Items of what tells least, at most."""
_MISSES: Final = 30
"""Items in a row that do not fit, after which no other is tried."""
_MORE: Final = 8
"""Tokens of the line that says how many items are left out, at most."""

_CLIENTS: Final = re.compile(
    r"<([\w -]{0,40}(?:reminder|context|environment|instructions|stdout|stderr|caveat)[\w -]{0,40})\b[^>]*>.*?</\1>",
    re.DOTALL,
)
"""What clients put beside a person's words."""
_IDENTIFIER: Final = re.compile(r"[\d_]|.[/:@]")
QUOTED: Final = "Quoted later"
_TAG: Final = re.compile(r"</?(?:command|user)[-_]\w+>")
_CODE: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|<think>.*?(?:</think>|\Z)", re.MULTILINE | re.DOTALL)
_BULLET: Final = re.compile(r"\s*(?:(?:[-*+•>#]+|\d{1,3}[.)])\s+)*")
_SENTENCE: Final = re.compile(
    r"\S.*?(?:[.!?…]{1,3}[\"'”’)\]*_`]{0,4}(?=\s+[^\sa-z]|\s*$)|[。！？]{1,3}[”’」』）*]{0,4}|$)"
)
CHOSE: Final = re.compile(
    r"\b(?:decid\w+|chose|choosing|going with|instead of|rather than|root cause|the (?:fix|cause|problem|reason|issue) "
    r"(?:is|was)|must not|must never|should not|agreed)\b",
    re.IGNORECASE,
)
"""Words with which a sentence says a decision, in English: they add to what its place tells."""
_PLAIN: Final = re.compile(r"(?<!\S)[\"'“‘(*]*[^\W\d_]+(?:['’-][^\W\d_]+)*[\"'”’)*.,:;!?]*(?!\S)")
"""A word of prose: no name of code, path or number."""
_TELLING: Final = re.compile(r"[`/\d]|\w\.\w|\w_\w")
_FAILED_TESTS: Final = re.compile(r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^FAIL", re.MULTILINE)
_RAISED: Final = re.compile(
    r"^(?:E +)?(?:[\w.]*(?:Error|Exception)|error(?:\[\w+\])?|fatal|panic)\b ?: ?\S", re.MULTILINE
)
_PROMPT: Final = re.compile(r"\n\S{0,40}[$#]\s*\Z")
"""The end of what a shell prints: it waits for the next command."""
_WRAP: Final = re.compile(r"^\s*<[\w-]+>|</[\w-]+>\s*$")
_COMPLAINS: Final = re.compile(
    r"\berr(?:or)?s?\b|fail|not found|cannot|can't|unable|denied|no such|invalid|missing|unexpected|[✗✖×]",
    re.IGNORECASE,
)
_HIT: Final = re.compile(r"\S+:\d+:")
"""What a search found begins so."""
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
"""Each line that the expressions find holds one of these, or begins with the last two of tests."""
_BORDER: Final = re.compile(r"^[=\-\s]+|[=\-\s]+$")
MOST_ERRORS: Final = 5
"""Lines about errors that are taken from one result."""
_COMMIT: Final = re.compile(r"git commit\b[^\n]{0,200}?-a?m\s+(?:\"([^\"\n]{1,200})|'([^'\n]{1,200}))")
_LEAD: Final = re.compile(r"^(?:cd \S+ *(?:&&|;) *|\w+=\S+ +)+")
"""What stands in front of the program in a command."""

_DONE: Final = frozenset("completed complete done finished cancelled canceled skipped deleted closed".split())
_STATUS, _ITEM = ("status", "state"), ("content", "step", "title", "subject", "description", "text", "task", "name")
_BOX: Final = re.compile(r"^[ \t]*(?:[-*+][ \t]*)?\[(.)\][ \t]+(\S.*)$", re.MULTILINE)
LISTS: Final = ("todo", "plan", "task")
"""Parts of the names of tools that keep a list."""


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


class Failure(Struct):
    """The last failure of a `call`: its telling `line`, and whether a later call of the same went well."""

    call: str
    line: str
    solved: bool = False


class Facts(Struct, kw_only=True):
    """What a stretch tells. `statements` are the assistant's sentences with what they weigh, `todos` what is open of
    the last list, `calls` other calls than of files; `answer` is the assistant's last text, and `answered` says that
    nothing but it stands at the end. `earlier` are the lines of summaries that stand in the stretch."""

    asked: Distinct = field(default_factory=Distinct)
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


def facts(context: Context, positions: Iterable[int]) -> Facts:
    """The facts in the blocks at `positions`."""
    found, inside, failed = Facts(), [*positions], False
    held = frozenset(inside)
    for at in inside:
        item = context.items[at]
        kind, role = item.block.kind, item.place.role
        if kind == HEADER or kind in THINKING or item.place.section != "messages":
            continue
        if is_call(kind):
            failed, found.answered = _take_call(context, at, held, found), False
        elif is_result(kind) or role == "tool":
            found.answered = False
            if not any(one in held for one in context.partners.get(_head_of(context, at), ())):
                failed = _take_result(context, at, found, (), "")
        elif context.tree[context.nodes[at]].category == INDEX["summary"]:
            for line in context.reading(at).text.splitlines():
                said = line.strip().removeprefix("- ")
                found.earlier.tell("" if said.endswith((":", "```")) else said)
        elif role in ASSISTANT:
            text = context.reading(at).text
            if text.strip():
                closing = _closes(context, at)
                _take_words(found, text[:_PASTED], closing=closing, mends=failed)
                found.answer, found.answered, failed = text, closing, False
        elif not item.place.mark and role not in ("system", "developer"):
            text = context.reading(at).text
            envelope = is_envelope(text.lstrip()[:80].partition("\n")[0]) or _PROMPT.search(text[-80:])
            if found.answer and envelope:
                # An agent that calls no tools by name gets what its commands print as a user's message.
                failed, found.answered = _take_result(context, at, found, (), ""), False
                continue
            words = own_words(text)
            found.asked.tell("" if re.fullmatch(r"/\S*", words) else words)
            found.answered = found.answered and not words
    return found


def own_words(text: str) -> str:
    """What a person said in a message, without what the client put beside it."""
    return " ".join(_TAG.sub(" ", _CLIENTS.sub(" ", text[:_PASTED])).split())


def _head_of(context: Context, at: int) -> int:
    """The position by which a result is paired with its call: in Chat that of its message."""
    message = context.message_at(at)
    return at if is_result(context.items[at].block.kind) or message is None else message.start


def _take_call(context: Context, at: int, held: frozenset[int], found: Facts) -> bool:
    """Add what a call did; whether it failed."""
    item = context.items[at].block
    asked = context.derived.calls.get(item.digest)
    if asked is None:
        asked = context.derived.calls[item.digest] = _asked(context.reading(at))
    answer = next(iter(context.partners.get(at, ())), -1)
    if answer >= 0 and context.items[answer].block.kind == HEADER:
        answer += 1
    text = context.reading(answer).text if answer in held else ""
    if answer in held and _take_result(context, answer, found, asked.key, asked.label):
        return True
    if asked.key in found.failures:
        found.failures[asked.key].solved = True
    found.changed.update(asked.changed)
    found.read.update(asked.read)
    for one in asked.commits:
        found.commits.tell(one)
    if not asked.changed and not asked.read and asked.todos is None:
        found.calls[asked.label] = found.calls.pop(asked.label, 0) + 1
    if asked.todos is not None:
        _list(found.todos, asked.todos, text)
    return False


def _asked(got: BlockContent) -> CallFacts:
    files, value = list(find_touches(got)), arguments_value(got) if got.arguments else {}
    changed = tuple(one.path for one in files if one.kind == CHANGE)
    read = tuple(one.path for one in files if one.kind == READ)
    command, words = shell_command(got), "\n".join(_strings(value))
    commits = [(match[1] or match[2]).strip() for match in _COMMIT.finditer(words)]
    if "commit" in got.name.lower() and isinstance(value, Mapping) and isinstance(value.get("message"), str):
        commits.append(str(value["message"]).strip().partition("\n")[0][:200])
    program = _LEAD.sub("", command).split()[:2]
    key = (READ, *read) if read else (CHANGE, *changed) if changed and not command else (got.name, *program)
    label = short(main_argument(got) if command else f"{got.name} {main_argument(got)}", _LINE)
    return CallFacts(key, label, changed, read, tuple(commits), _todos(got.name, value))


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


# Lists of what is to be done


def _todos(name: str, value: Json) -> tuple[tuple[str, str, bool], ...] | None:
    """(id, words, open) of the things that a call's input lists as done or not, or of the one that it adds or ticks off
    (its id then says ``+`` or ``=``); None where it lists nothing."""
    if not isinstance(value, Mapping) or not any(word in name.lower() for word in LISTS):
        return None
    for items in value.values():
        if isinstance(items, list) and items and all(isinstance(one, dict) and _status(one) for one in items):
            return tuple((str(n), _item(one), _status(one) not in _DONE) for n, one in enumerate(items))
    for text in value.values():
        boxes = _BOX.findall(text) if isinstance(text, str) else ()
        if len(boxes) > 1:
            return tuple((str(n), words, box not in "xX") for n, (box, words) in enumerate(boxes))
    id_ = next((str(value[key]) for key in ("taskId", "task_id", "id") if value.get(key)), "")
    if id_ and _status(value):
        return ((f"={id_}", "", _status(value) not in _DONE),)
    return (("+", str(value["subject"]), True),) if isinstance(value.get("subject"), str) else None


def _status(one: Mapping[str, Json]) -> str:
    return next((str(one[key]).lower() for key in _STATUS if isinstance(one.get(key), str)), "")


def _item(one: Mapping[str, Json]) -> str:
    return next((str(one[key]) for key in _ITEM if isinstance(one.get(key), str)), "")


def _list(todos: dict[str, str], told: tuple[tuple[str, str, bool], ...], result: str) -> None:
    if not told or told[0][0][0] not in "+=":
        todos.clear()
    for id_, words, is_open in told:
        number = re.search(r"#?(\d+)", result)
        id_ = id_[1:] if id_[0] == "=" else id_ if id_ != "+" else number[1] if number else f"+{len(todos)}"
        if not is_open:
            todos.pop(id_, None)
        elif words:
            todos[id_] = words


# What went wrong, and how tests went


def outcomes(context: Context, at: int) -> tuple[list[str], list[str]]:
    """Lines about tests and errors in the result at a position; looked for once."""
    digest = context.items[at].block.digest
    known = context.derived.outcomes.get(digest)
    if known is None:
        text = context.reading(at).text
        known = context.derived.outcomes[digest] = told_of_tests(text[-20_000:]), told_of_errors(text[:200_000])
    return known


def told_of_tests(text: str) -> list[str]:
    """The lines of `text` that say how tests went."""
    # Most results hold none of it; the expressions, which look at every line, take a hundred times as long as this.
    if not any(word in text for word in _OF_TESTS) and not text.startswith(("ok", "FAIL")):
        return []
    return [_BORDER.sub("", match[0])[:120] for match in _TEST_LINE.finditer(text)]


def told_of_errors(text: str) -> list[str]:
    """The first lines of `text` that tell of errors."""
    if not any(word in text for word in _OF_ERRORS):
        return []
    return [match[0].strip()[:160] for match in islice(_ERROR_LINE.finditer(text), MOST_ERRORS)]


def _take_result(context: Context, at: int, found: Facts, key: tuple[str, ...], label: str) -> bool:
    """Add what a result says of tests, and its failure; whether it is one."""
    got, (tests, errors) = context.reading(at), outcomes(context, at)
    text, failed = split_output(got.text)
    looks = key[:1] in ((READ,), (CHANGE,))
    if tests and not looks:
        found.tests = tests[-1]
    tail = text[-4000:]
    failed = failed or got.is_error
    failed = failed or (not looks and bool(_RAISED.search(tail) or any(map(_FAILED_TESTS.search, tests))))
    if failed:
        raised = _RAISED.search(tail)
        line = tail[raised.start() :].partition("\n")[0] if raised else ""
        line = line or next((one for one in errors if "Traceback" not in one and not _HIT.match(one)), "")
        lines = [one for one in text[: 1 << 14].splitlines() if one.strip() and not is_envelope(one)]
        # What Python raises stands last.
        lines = lines[::-1] if "Traceback" in text else lines
        line = line or next((one for one in lines if _COMPLAINS.search(one)), next(iter(lines), ""))
        if not line:
            # A search that finds nothing fails, too.
            return False
        found.failures.pop(key, None)
        found.failures[key or ("", line)] = Failure(label, short(_WRAP.sub("", line), _LINE))
    return failed


# What the assistant said


def _closes(context: Context, at: int) -> bool:
    """Whether the assistant's text at a position ends its turn: no call follows it."""
    for other in range(at + 1, len(context)):
        item = context.items[other]
        if is_call(item.block.kind):
            return False
        if item.block.kind != HEADER and item.block.kind not in THINKING and item.place.role not in ASSISTANT:
            return True
    return True


def sentences(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences of a text as they stand there, without code, tables and what is no prose; whether each is one of a
    list."""
    for line in _CODE.sub("", text).splitlines():
        start = _BULLET.match(line)
        bare = line[start.end() if start else 0 :]
        if not bare.startswith("|"):
            for match in _SENTENCE.finditer(bare):
                one = match[0].rstrip()
                if len(_PLAIN.findall(one)) >= 4 or width(one) >= len(one) + 8:
                    yield one, bare != line


def _take_words(found: Facts, text: str, *, closing: bool, mends: bool) -> None:
    """Weigh the sentences of a text: one that ends a turn says what came of it, one behind a failure why; the last one
    before a call says only what comes next."""
    every = list(sentences(text))
    for n, (one, listed) in enumerate(every):
        weight = 2.0 * closing + 2 * bool(CHOSE.search(one)) + mends + 0.5 * bool(_TELLING.search(one)) - 0.1 * n
        weight -= (
            0.7 * listed
            + 2 * one.endswith((":", "："))
            + 0.5 * one.endswith(("?", "？"))
            + 1.5 * (not closing and n == len(every) - 1)
        )
        found.statements[one] = max(weight, found.statements.pop(one, weight))


def width(text: str) -> int:
    """Cells that `text` takes."""
    return len(text) + (0 if text.isascii() else sum(unicodedata.east_asian_width(one) in "WF" for one in text))


def short(text: str, cells: int) -> str:
    """`text` on one line, cut behind a sentence or a word where it is wider than `cells`."""
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
    """`items` in the order in which they are said, `order` their indexes, the most informative first; `step` is how
    fast they lose against those of other sections. `joined` ones stand on one line."""

    title: str
    more: str
    items: Sequence[str]
    order: Sequence[int]
    step: float
    joined: bool = False


def length_for(size: int, wished: int = 0) -> int:
    """The tokens that a summary of `size` tokens may have, where `wished` are asked for (0: by its size); always fewer
    than it stands for."""
    return max(0, min(wished or min(LONGEST, max(size // SHARE, min(SHORTEST, size // 2))), size - 1))


def summary(
    context: Context,
    positions: Sequence[int],
    limit: int,
    count: Callable[[Block], int],
    what: str = "",
    keep: Sequence[str] = (),
) -> str:
    """The summary of the blocks at `positions` in at most `limit` tokens, as `count` counts them; "" where it would say
    nothing. `what` says which stretch it is (``turns 3-6``), `keep` are words that later text quotes."""

    def tokens(text: str) -> int:
        return count(block.text(text))

    found = facts(context, positions)
    base = _base([*found.changed, *found.read])
    head = f"[Summary of {what or 'earlier messages'}, drawn from the record]" + (
        f"\nPaths are below {base}" if base else ""
    )
    made = list(_sections(found, base, keep))
    ranked = sorted(((n + 1) * one.step, s, item) for s, one in enumerate(made) for n, item in enumerate(one.order))
    chosen: dict[tuple[int, int], None] = {}
    empty, room, missed = tokens(""), limit - tokens(head), 0
    opened: set[int] = set()
    for _, s, item in ranked:
        if room <= _MORE or missed > _MISSES:
            break
        title = "" if s in opened else f"## {made[s].title}\n"
        cost = tokens(f"{title}- {made[s].items[item]}\n") - empty + (_MORE if title else 0)
        missed += 1
        repeats = made[s].title == QUOTED and any(made[s].items[item] in made[t].items[n] for t, n in chosen)
        if cost <= room and not repeats:
            room, missed = room - cost, 0
            opened.add(s)
            chosen[s, item] = None
    while any(made[s].title != QUOTED for s, _ in chosen):
        text = _written(head, made, chosen)
        if tokens(text) <= limit:
            return text
        chosen.popitem()
    return ""


def says_nothing(context: Context, positions: Sequence[int]) -> bool:
    """Whether a summary of these blocks would have its head line and nothing else, however long it may be."""
    return not any(one.items for one in _sections(facts(context, positions), "", ()))


def _written(head: str, sections: Sequence[_Section], chosen: Mapping[tuple[int, int], None]) -> str:
    lines = [head]
    for s, one in enumerate(sections):
        said = [item for n, item in enumerate(one.items) if (s, n) in chosen]
        if not said:
            continue
        left = len(one.items) - len(said)
        said += [f"({left:,} more {one.more if left > 1 else one.more[:-1]})"] if left else []
        lines += [f"## {one.title}", *([f"- {', '.join(said)}"] if one.joined else (f"- {item}" for item in said))]
    return "\n".join(lines)


def _sections(found: Facts, base: str, keep: Sequence[str]) -> Iterator[_Section]:
    asked = [short(one, _ASK) for one in found.asked]
    back = list(range(len(asked)))[::-1]
    yield _Section("Asked", "requests", asked, [*back[:1], *back[-1:][: len(back) - 1], *back[1:-1]], 0.7)
    earlier = [short(one, _SENTENCE_CELLS) for one in found.earlier]
    # Where things stood is said at its end, what it is about at its beginning.
    ends = sorted(range(len(earlier)), key=lambda n: (min(n, len(earlier) - 1 - n), -n))
    yield _Section("From the summary before", "lines", earlier, ends, 0.7)
    changed = _counted(found.changed, base)
    yield _in_order("Files changed", "files", changed, 1)
    read = Counter({path: n for path, n in found.read.items() if path not in found.changed})
    yield _in_order("Files read", "files", _counted(read, base), 1.5, joined=True)
    weights = {one: weight for one, weight in found.statements.items() if weight >= 0 or one in found.answer}
    said = list(weights)
    order = sorted(
        range(len(said)), key=lambda n: (-weights[said[n]] - 3 * (said[n] in found.answer) - n / len(said), -n)
    )
    yield _Section("Decisions and results", "sentences", [f"“{short(one, _SENTENCE_CELLS)}”" for one in said], order, 1)
    results = [f"tests: {found.tests}"] if found.tests else []
    yield _in_order("Tests and commits", "commits", [*results, *(f"committed: {one}" for one in found.commits)], 1.5)
    solved = [_told(one, base) for one in reversed(found.failures.values()) if one.solved]
    yield _in_order("Errors since solved", "errors", solved, 3)
    left = [_told(one, base) for one in reversed(found.failures.values()) if not one.solved]
    unanswered = ["the last request has no answer yet"] if found.asked and not found.answered else []
    question = next((one for one, _ in reversed([*sentences(found.answer[-2000:])]) if found.answered), "")
    unanswered += [f"asked the user: “{short(question, _SENTENCE_CELLS)}”"] if question.endswith(("?", "？")) else []
    todos = [f"to do: {short(one, _LINE)}" for one in found.todos.values()]
    yield _in_order("Still open", "others", [*unanswered, *todos, *left], 0.8)
    calls = [f"{one.replace(base, '') if base else one}{f' ({n}x)' if n > 1 else ''}" for one, n in found.calls.items()]
    yield _Section("Other calls", "calls", calls, range(len(calls))[::-1][:_LEAST], 3)
    yield _in_order(QUOTED, "names", [one for one in keep if _IDENTIFIER.search(one)][:_LEAST], 3, joined=True)


def _in_order(title: str, more: str, items: Sequence[str], step: float, *, joined: bool = False) -> _Section:
    return _Section(title, more, items, range(len(items)), step, joined)


def _told(one: Failure, base: str) -> str:
    return f"`{one.call.replace(base, '') if base else one.call}`: {one.line}" if one.call else one.line


def _counted(paths: Counter[str], base: str) -> list[str]:
    """The paths, most often first, of several equal ones the latest."""
    latest = {path: n for n, path in enumerate(paths)}
    order = sorted(paths, key=lambda path: (-paths[path], -latest[path]))
    names = ((path.removeprefix(base), paths[path]) for path in order)
    return [f"{name} ({n}x)" if n > 1 else name for name, n in names]


def _base(paths: Sequence[str]) -> str:
    """The directory that most of the absolute paths have in front: it is said once."""
    saved = Counter[str]()
    for path in paths:
        for end in (match.end() for match in re.finditer("/", path)) if path.startswith("/") else ():
            saved[path[:end]] += end
    best = max(saved, key=lambda one: (saved[one], len(one)), default="")
    return best if saved[best] > 3 * len(best) > 30 else ""
