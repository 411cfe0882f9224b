"""Files that another tool resumes from: what writers of its format have in common.

A writer is given the source's bytes, the raw path and the context that is to stand instead; it changes only the
records that the difference touches. Everything else goes on as it is, byte for byte but for the session's id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core import canonical
from ctxtui.core.block import HEADER, NOT_RECORDED, Item
from ctxtui.wire.codec import spans

UNHELD: Final = "a changed block stands in the file in another form: as recorded"
UNANSWERED: Final = "what a person said after the last answer: the tool asks for the next prompt"
"""Lines that name what a file does not carry."""


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


class ResumePlan(Struct):
    """What becomes of each place of the raw path: `stands` has the item there (a place without one is dropped),
    `after` the items put in behind a place (-1: in front of everything)."""

    stands: dict[int, Item] = field(default_factory=dict)
    after: dict[int, list[Item]] = field(default_factory=dict)

    def put(self, at: int, items: Iterable[Item]) -> None:
        """Put `items` in behind place `at`."""
        self.after.setdefault(at, []).extend(items)


def plan(path: Sequence[Item], sent: Iterable[KeptBlock]) -> ResumePlan:
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


def told(items: Iterable[tuple[int, Item]]) -> list[tuple[int, Item]]:
    """The numbered items that a transcript holds: no headers, and not what stands for something never recorded."""
    return [(n, item) for n, item in items if item.block.kind not in (HEADER, NOT_RECORDED)]


def matched(path: Sequence[Item], records: Sequence[Sequence[str]]) -> dict[int, tuple[int, int]]:
    """Where each place of `path` stands in the source: (record, part), both 0-based; `records` are the digests of the
    parts of each record, in the file's order.

    What a path holds comes late in a file, so of equal blocks the last ones are taken, from the end on.
    """
    where: dict[str, list[tuple[int, int]]] = {}
    for n, digests in enumerate(records):
        for part, digest in enumerate(digests):
            where.setdefault(digest, []).append((n, part))
    found = {}
    for at, item in reversed(told(enumerate(path))):
        places = where.get(item.block.digest)
        if places:
            found[at] = places.pop()
    return found


def spliced(raw: bytes, changes: Mapping[str, bytes | None]) -> bytes:
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


def added(raw: bytes, member: str, value: bytes) -> bytes:
    """The JSON object `raw`, which is not empty, with one more `member` at its end, whose value is given as JSON text;
    every other byte stays."""
    end = raw.rindex(b"}")
    return raw[:end] + b"," + canonical.dumps(member) + b":" + value + raw[end:]


def losses(lost: Iterable[str]) -> tuple[str, ...]:
    """Each loss once, with how often it came where that is more than once."""
    return tuple(f"{what} ({n} times)" if n > 1 else what for what, n in Counter(lost).items())


def fresh_ids(ids: Iterator[str], taken: Iterable[str]) -> Iterator[str]:
    """`ids` less those that are `taken`."""
    known = set(taken)
    return (one for one in ids if one not in known)
