"""Files that another tool resumes from: what writers of its format have in common.

A writer is given the source's bytes, the raw path and the context that is to stand instead; it changes only the
records that the difference touches. Everything else goes on as it is, byte for byte but for the session's id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ctxtui.core.block import HEADER, NOT_RECORDED, Item
from ctxtui.wire.codec import spans


class KeptBlock(NamedTuple):
    """A block of the context to resume with: the `item`, and `at`, its 0-based place on the raw path (None: it was
    made by an edit)."""

    item: Item
    at: int | None = None


class ResumedFile(NamedTuple):
    """The new file's bytes, and a line for each thing that it could not carry."""

    data: bytes
    lost: tuple[str, ...] = ()


@dataclass(slots=True)
class ResumePlan:
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


def spliced(raw: bytes, changes: Mapping[str, bytes]) -> bytes:
    """The JSON object `raw` with the values of some of its own members written anew; every other byte stays."""
    text = raw.decode("utf-8", "surrogateescape")
    parts, done = [], 0
    for member in spans.members(text, text.index("{")):
        if member.key in changes:
            parts += [text[done : member.start], changes[member.key].decode("utf-8", "surrogateescape")]
            done = member.end
    return "".join([*parts, text[done:]]).encode("utf-8", "surrogateescape")


def losses(lost: Iterable[str]) -> tuple[str, ...]:
    """Each loss once, with how often it came where that is more than once."""
    return tuple(f"{what} ({n} times)" if n > 1 else what for what, n in Counter(lost).items())


def fresh_ids(ids: Iterator[str], taken: Iterable[str]) -> Iterator[str]:
    """`ids` less those that are `taken`."""
    known = set(taken)
    return (one for one in ids if one not in known)
