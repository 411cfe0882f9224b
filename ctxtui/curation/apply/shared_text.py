"""The static part of a message: what it shares word for word with others and could stand in front of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import read
from ctxtui.core.tree import ROOT
from ctxtui.curation.context import Context, is_call, is_result

HEAD: Final = 200
"""Characters from which a common beginning is taken without looking for anything else."""
LEAST: Final = 100
"""Characters from which a part is worth moving."""
MOST: Final = 40
"""Messages that one is held against, the latest ones."""
LARGEST: Final = 4_000_000
"""Characters of them together."""
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_BASE: Final = 1_000_003
_FIELD: Final = (1 << 61) - 1


class Static(NamedTuple):
    """A part of a message, and in how many other messages it stands."""

    text: str
    others: int


def others_like(context: Context, at: int, heads: Iterable[int] = ()) -> list[str]:
    """What other messages of the same side say as the one at position `at`, in this context and in those that end at
    `heads`, the latest `MOST`. A message that is merely sent again is none of them."""
    own = context.items[at]
    alike: dict[str, Item] = {}
    for item in [*_above(context, heads), *context.items]:
        if _is_like(item, own) and item.block.digest != own.block.digest:
            alike[item.block.digest] = item
    found: list[str] = []
    room = LARGEST
    for item in list(alike.values())[-MOST:][::-1]:
        text = read(item.block).text
        room -= len(text)
        if room >= 0:
            found.append(text)
    return found[::-1]


def _above(context: Context, heads: Iterable[int]) -> Iterator[Item]:
    """The items of the contexts that end at `heads` and are not in `context`, each once."""
    tree, seen = context.tree, {ROOT, *context.nodes}
    for head in heads:
        node = head
        while node not in seen:
            seen.add(node)
            yield Item(tree[node].block, tree[node].place)
            node = tree[node].parent


def _is_like(item: Item, own: Item) -> bool:
    kind = item.block.kind
    same = item.place.section == own.place.section and item.place.role == own.place.role
    return same and kind != HEADER and not is_call(kind) and is_result(kind) == is_result(own.block.kind)


def static_part(texts: Sequence[str], others: Sequence[str]) -> Static | None:
    """The part that all of `texts` have and that stands in most of `others`, weighed by its length: their common
    beginning in whole lines, and where that is short, a run of whole lines. Never the whole of a text. Several texts
    are held against each other."""
    first, *more = texts
    against = more or others
    heads = {head for other in against if len(head := _head(first, other)) >= HEAD}
    return _best(heads, texts, others) or _best({_run(first, other) for other in against}, texts, others)


def _best(parts: Iterable[str], texts: Sequence[str], others: Sequence[str]) -> Static | None:
    fit = [part for part in parts if len(part) >= LEAST and all(part in text and part != text for text in texts)]
    found = [Static(part, sum(part in other for other in others)) for part in fit]
    return max(found, key=lambda one: (len(one.text) * max(1, one.others), one.text), default=None)


def _head(one: str, other: str) -> str:
    """The common beginning in whole lines."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        size = (low + high + 1) // 2
        low, high = (size, high) if other.startswith(one[low:size], low) else (low, size - 1)
    return one[: one.rfind("\n", 0, low) + 1]


def _run(one: str, other: str) -> str:
    """The longest run of whole lines that stands in both."""
    lines, theirs = _LINES.findall(one), _LINES.findall(other)
    numbers: dict[str, int] = {}
    ours = _hashes([numbers.setdefault(line, len(numbers) + 1) for line in lines])
    other_hashes = _hashes([numbers.setdefault(line, len(numbers) + 1) for line in theirs])
    low, high, start = 0, min(len(lines), len(theirs)), 0
    while low < high:
        size = (low + high + 1) // 2
        known = set(_windows(other_hashes, size))
        at = next((n for n, value in enumerate(_windows(ours, size)) if value in known), None)
        if at is None:
            high = size - 1
        else:
            low, start = size, at
    run = "".join(lines[start : start + low])
    return run if run in other else ""


def _hashes(numbers: Iterable[int]) -> list[int]:
    """The hash of every beginning, so that that of any window is one subtraction."""
    found = [0]
    for number in numbers:
        found.append((found[-1] * _BASE + number) % _FIELD)
    return found


def _windows(hashes: Sequence[int], size: int) -> Iterator[int]:
    power = pow(_BASE, size, _FIELD)
    return ((hashes[n + size] - hashes[n] * power) % _FIELD for n in range(len(hashes) - size))


def with_line_ends(part: str, texts: Sequence[str]) -> str:
    """`part` with the line ends that parted it from the rest, where it stands at the edge of every text."""
    longer = part
    if all(text.startswith(part) for text in texts):
        longer = part + _line_ends(texts[0][len(part) :])
    elif all(text.endswith(part) for text in texts):
        longer = _line_ends(texts[0][: len(texts[0]) - len(part)][::-1]) + part
    return longer if all(longer in text for text in texts) else part


def _line_ends(text: str) -> str:
    return text[: len(text) - len(text.lstrip("\n"))]
