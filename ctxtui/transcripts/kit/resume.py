"""Files that a tool resumes from: what writers of all formats have in common.

`apply_edits` puts the context that is to be sent in the place of the recorded one: it says of each record of the source
what becomes of it, and what is put in before it. A tool's writer makes the new session of that: the records are its
envelopes, and what carries no context goes along. `Translation`s make one of a context that another tool recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core import canonical
from ctxtui.core.block import HEADER, NOT_RECORDED, Block, Item
from ctxtui.transcripts.kit.records import FoundObject, RecordStream
from ctxtui.wire.codec import spans
from ctxtui.wire.translate.turns import Losses

UNHELD: Final = "a changed block stands in the file in another form: as recorded"
UNANSWERED: Final = "what a person said after the last answer: the tool asks for the next prompt"
MOVED: Final = "a text put into a message stands behind it"
OWN: Final = "system prompt and tools: the tool writes its own"
ONLY_THERE: Final = ", which only the session that it comes from can send"
"""Lines that name what a file does not carry."""

Body = dict[str, Any]


class KeptBlock(NamedTuple):
    """A block of the context to resume with: the `item`, and `at`, its 0-based place on the raw path (None: it was
    made by an edit)."""

    item: Item
    at: int | None = None


class ResumeOrder(Struct, frozen=True, kw_only=True):
    """What a writer is asked for: the session in `source` with the context `sent` in the place of `path`.

    `session` is that session's id (a source may hold several).
    `until` is the 1-based line that the session ends before (0: at its end); `end` is the place of `path` behind its
    last answer and that answer's results, from which on nothing is written (None: nothing follows them). `input_tokens`
    is what the request of that answer would come to with the new context, `answer_tokens` what stands of the answer and
    behind it (None: not known). `ids` gives random UUIDs, `now` is in Unix seconds.
    """

    source: bytes
    path: Sequence[Item]
    sent: Sequence[KeptBlock]
    ids: Iterator[str]
    now: float
    session: str = ""
    until: int = 0
    end: int | None = None
    input_tokens: int | None = None
    answer_tokens: int = 0


class ResumedFile(Struct, frozen=True):
    """The new file: its bytes, a line for each thing that it could not carry, the session's `id`, the `name` that the
    file must have ("": any), and the `folder` below the tool's ``sessions`` where the tool looks for it ("": anywhere).
    """

    data: bytes
    lost: tuple[str, ...] = ()
    id: str = ""
    name: str = ""
    folder: str = ""


class ResumeTarget(Struct, frozen=True):
    """A tool that sessions are written back for.

    `name` is the form's, `source` that of the format which its own recordings are read as. `write` makes the file.
    `command` is what a user then types: ``{id}`` stands for the session's id, ``{file}`` for the file's place.
    `beside` says that the tool finds the file only in the folder of its recordings. `key` is what a user presses to go
    on in it with a context that another tool recorded ("": none can be translated for it).
    """

    name: str
    source: str
    write: Callable[[ResumeOrder], ResumedFile]
    command: str
    beside: bool = True
    key: str = ""


class TranslatedOrder(Struct, frozen=True, kw_only=True):
    """What a new session is made of: a request `body` in the tool's dialect, less what the tool cannot resume with.

    `ids` gives random UUIDs, `now` is in Unix seconds, `cwd` is the directory in which the session ran ("": unknown).
    """

    body: Body
    ids: Iterator[str]
    now: float
    cwd: str = ""


class Translation(Struct, frozen=True):
    """How a context becomes a session of a tool: the `dialect` it speaks, what of a request it resumes with (`kept`,
    which notes what it leaves out), and the file.

    A signature or an encrypted item is refused behind another system prompt (facts §1): those stay out.
    """

    dialect: str
    kept: Callable[[Body, Losses], Body]
    write: Callable[[TranslatedOrder], ResumedFile]


def stamp(now: float) -> str:
    """The time `now` (Unix seconds) as records have it."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class ResumeEntry(Struct, eq=False, kw_only=True):
    """A record of the source and what becomes of it.

    `digests` are those of its blocks; `answers` the ids of the calls that they answer, by part. `changes` has the parts
    that say something else (None: they are taken out), `before` what is put in before it, in groups of one side.
    `whole`: it can only go as a whole; `ends`: it goes where the session ends before it; `asks`: a person said it.
    """

    digests: list[str] = field(default_factory=list)
    answers: dict[int, str] = field(default_factory=dict)
    changes: dict[int, Block | None] = field(default_factory=dict)
    before: list[list[Item]] = field(default_factory=list)
    removed: bool = False
    whole: bool = False
    ends: bool = True
    asks: bool = False

    @property
    def touched(self) -> bool:
        """Whether it does not say what it said."""
        return self.removed or bool(self.changes)

    def change(self, part: int, block: Block | None) -> bool:
        """Let its 0-based `part` be `block` (None: leave it out); False where that cannot be done in it."""
        if self.removed or self.whole:
            self.removed = True
            return block is None
        self.changes[part] = block
        self.removed = len(self.changes) == len(self.digests) and all(one is None for one in self.changes.values())
        return True

    def changed_parts(self, content: Any, spelled: Callable[[Block], Any]) -> list[Any]:
        """The parts of `content`, a list or one part, under the changes; new ones as `spelled` says."""
        parts = content if isinstance(content, list) else [content]
        found = [self.changes.get(n, part) for n, part in enumerate(parts)]
        return [spelled(one) if isinstance(one, Block) else one for one in found if one is not None]


class ResumeEdits(NamedTuple):
    """Where blocks of the path stand (`found`: entry and part, 0-based), the last entry of the session (None: none
    holds any of them), what is put in behind everything, and what could not be done."""

    found: dict[int, tuple[int, int]]
    last: int | None
    behind: list[list[Item]]
    lost: list[str]


def apply_edits(
    order: ResumeOrder,
    entries: Sequence[ResumeEntry],
    found: dict[int, tuple[int, int]] | None = None,
    beside: Mapping[int, Sequence[int]] | None = None,
    *,
    cut: bool,
) -> ResumeEdits:
    """Note in `entries` what the context that is asked for makes of them; with `cut` the session ends behind its last
    block. `found` as `find_blocks` gives it; `beside` are further entries that a block was made of."""
    found = find_blocks(order.path, entries) if found is None else found
    end = len(order.path) if order.end is None else order.end
    wanted = plan_changes(order.path, [one for one in order.sent if one.at is None or one.at < end])
    lost: list[str] = []
    for at, item in recorded_items(enumerate(order.path[:end])):
        new = wanted.stands.get(at)
        if new is not None and new.block.digest == item.block.digest:
            continue
        if at not in found:
            lost.append(UNHELD if item.place.section == "messages" else OWN)
            continue
        for other in (beside or {}).get(at, ()):
            entries[other].removed = True
        number, part = found[at]
        if entries[number].change(part, new.block if new is not None else None):
            continue
        if new is None:
            lost.append(UNHELD)
        else:
            wanted.put(at, [new])
    last = max((found[at][0] for at in found if at < end), default=None)
    for entry in entries[last + 1 :] if cut and last is not None else ():
        if entry.asks and order.end is not None and not entry.removed:
            lost.append(UNANSWERED)
        entry.removed = entry.removed or entry.ends
    behind: list[list[Item]] = []
    for at, items in sorted(wanted.after.items()):
        above = found[at][0] if at in found else -1
        later = [found[n][0] for n in sorted(found) if n > at]
        if later[:1] == [above]:
            lost.append(MOVED)
        follower = next((n for n in later if n != above and not entries[n].removed), None)
        groups = [list(group) for _, group in groupby(items, is_answer)]
        (behind if follower is None else entries[follower].before).extend(groups)
    return ResumeEdits(found, last, behind, lost)


def is_answer(item: Item) -> bool:
    """Whether the model said it."""
    return item.place.role == "assistant"


def first_change(entries: Sequence[ResumeEntry]) -> int:
    """The number of the first entry that says something else than it said, or has something new behind it."""
    changed = [n - bool(one.before) for n, one in enumerate(entries) if one.touched or one.before]
    return min(changed, default=len(entries))


class ResumePlan(Struct):
    """What becomes of each place of the raw path: `stands` has the item there (a place without one is dropped),
    `after` the items put in behind a place (-1: in front of everything)."""

    stands: dict[int, Item] = field(default_factory=dict)
    after: dict[int, list[Item]] = field(default_factory=dict)

    def put(self, at: int, items: Iterable[Item]) -> None:
        """Put `items` in behind place `at`."""
        self.after.setdefault(at, []).extend(items)


def plan_changes(path: Sequence[Item], sent: Iterable[KeptBlock]) -> ResumePlan:
    """How `path` becomes `sent`. What stands out of the path's order, or with another role, is taken out where it was
    and put in where it is."""
    made = ResumePlan()
    last = -1
    for item, at in sent:
        if item.block.kind == HEADER:
            last = max(last, at) if at is not None else last
            if at is not None:
                made.stands[at] = item
        elif at is not None and at > last and item.place.role == path[at].place.role:
            made.stands[at] = item
            last = at
        else:
            made.put(last, [item])
    return made


def recorded_items(items: Iterable[tuple[int, Item]]) -> list[tuple[int, Item]]:
    """The numbered items that a transcript holds: no headers, and not what stands for something never recorded."""
    return [(n, item) for n, item in items if item.block.kind not in (HEADER, NOT_RECORDED)]


def find_blocks(path: Sequence[Item], entries: Sequence[ResumeEntry]) -> dict[int, tuple[int, int]]:
    """Where each place of `path` stands in the source: (entry, part), both 0-based. A result that the tool shortened in
    its requests is found by the call that it answers.

    What a path holds comes late in a file, so of equal blocks the last ones are taken, from the end on.
    """
    where: dict[str, list[tuple[int, int]]] = {}
    results: dict[str, tuple[int, int]] = {}
    for n, entry in enumerate(entries):
        for part, digest in enumerate(entry.digests):
            where.setdefault(digest, []).append((n, part))
        results |= {call: (n, part) for part, call in entry.answers.items()}
    found: dict[int, tuple[int, int]] = {}
    for at, item in reversed(recorded_items(enumerate(path))):
        places = where.get(item.block.digest)
        if places:
            found[at] = places.pop()
        elif item.block.kind.endswith(("_result", "_output")) and (place := results.get(_answered(item.block))):
            found[at] = place
    return found


def _answered(block: Block) -> str:
    value = block.value()
    names = ("tool_use_id", "call_id", "tool_call_id")
    return next((str(value[one]) for one in names if value.get(one)), "") if isinstance(value, dict) else ""


def read_source(order: ResumeOrder) -> tuple[list[tuple[bytes, FoundObject]], list[str]]:
    """The records of the source before the line that it ends at, each with its bytes as they stand (minified where they
    are no line), and what could not be read."""
    stream = RecordStream()
    found: list[tuple[bytes, FoundObject]] = []
    lost: list[str] = []
    for piece in [*stream.feed(order.source), *stream.settle()]:
        if order.until and piece.line >= order.until:
            break
        if isinstance(piece, FoundObject):
            raw = order.source[piece.start : piece.end]
            found.append((piece.raw if piece.note or b"\n" in raw else raw, piece))
        else:
            lost.append(f"line {piece.line}: {piece.reason}")
    if stream.tail is not None and not order.until:
        lost.append(f"line {stream.tail.line}: {stream.tail.reason}")
    return found, lost


def replace_members(raw: bytes, changes: Mapping[str, bytes | None]) -> bytes:
    """The JSON object `raw` with the values of some of its own members written anew, and without those that are None;
    every other byte stays."""
    text = raw.decode("utf-8", "surrogateescape")
    opens = text.index("{") + 1
    parts, done, last = [], 0, opens
    for member in spans.members(text, opens - 1):
        if member.key in changes:
            new = changes[member.key]
            if new is not None:
                parts += [text[done : member.start], new.decode("utf-8", "surrogateescape")]
                done = member.end
            elif last == opens:
                # The first member goes with the comma behind it.
                behind = spans.skip(text, member.end)
                parts.append(text[done:opens])
                done = last = opens = behind + (text[behind : behind + 1] == ",")
                continue
            else:
                parts.append(text[done:last])
                done = member.end
        last = member.end
    return "".join([*parts, text[done:]]).encode("utf-8", "surrogateescape")


def add_member(raw: bytes, member: str, value: bytes) -> bytes:
    """The JSON object `raw`, which is not empty, with one more `member` at its end, whose value is given as JSON text;
    every other byte stays."""
    end = raw.rindex(b"}")
    return raw[:end] + b"," + canonical.dumps(member) + b":" + value + raw[end:]


def count_losses(lost: Iterable[str]) -> tuple[str, ...]:
    """Each loss once, with how often it came where that is more than once."""
    return tuple(f"{what} ({n} times)" if n > 1 else what for what, n in Counter(lost).items())


def fresh_ids(ids: Iterator[str], taken: Iterable[str]) -> Iterator[str]:
    """`ids` less those that are `taken`."""
    known = set(taken)
    return (one for one in ids if one not in known)
