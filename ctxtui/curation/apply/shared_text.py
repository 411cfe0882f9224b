"""Finds text that other messages repeat word for word, so that it could be sent once.

The edit ``hoist`` moves such text, the static part of a message, to the front of the context. Candidates are a common
beginning, and the longest common run of whole lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import read
from ctxtui.core.tree import ROOT
from ctxtui.curation.context import Context, is_call, is_result

MIN_HEAD_CHARS: Final = 200
"""Minimum characters of a common beginning that is taken without a further search."""
MIN_PART_CHARS: Final = 100
"""Minimum characters of a part that is worth moving."""
MAX_COMPARED_MESSAGES: Final = 40
"""Maximum number of messages, the latest ones, that a message is compared with."""
MAX_COMPARED_CHARS: Final = 4_000_000
"""Maximum characters of these messages together."""
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_BASE: Final = 1_000_003
_FIELD: Final = (1 << 61) - 1
"""Modulus of the rolling hash: a Mersenne prime, so that equal hashes almost surely mean equal lines."""


class SharedPart(NamedTuple):
    """The shared part of a message, and the number of `others` that contain it."""

    text: str
    others: int


def find_similar_texts(context: Context, position: int, heads: Iterable[int] = ()) -> list[str]:
    """The texts of other messages with the same role as the one at `position`.

    They are the latest `MAX_COMPARED_MESSAGES` of this context and of those that end at `heads`. Messages that are
    merely sent again do not count.
    """
    item_here = context.items[position]
    similar: dict[str, Item] = {}
    for item in [*_new_items(context, heads), *context.items]:
        if _is_like(item, item_here) and item.block.digest != item_here.block.digest:
            similar[item.block.digest] = item
    texts: list[str] = []
    room = MAX_COMPARED_CHARS
    for item in list(similar.values())[-MAX_COMPARED_MESSAGES:][::-1]:
        text = read(item.block).text
        room -= len(text)
        if room >= 0:
            texts.append(text)
    return texts[::-1]


def _new_items(context: Context, heads: Iterable[int]) -> Iterator[Item]:
    tree, visited = context.tree, {ROOT, *context.nodes}
    for head in heads:
        node = head
        while node not in visited:
            visited.add(node)
            yield Item(tree[node].block, tree[node].place)
            node = tree[node].parent


def _is_like(item: Item, item_here: Item) -> bool:
    kind = item.block.kind
    same = item.place.section == item_here.place.section and item.place.role == item_here.place.role
    return same and kind != HEADER and not is_call(kind) and is_result(kind) == is_result(item_here.block.kind)


def find_shared_part(texts: Sequence[str], others: Sequence[str]) -> SharedPart | None:
    """Find the best part that all `texts` have in common; None if there is none.

    A single text is compared with `others` instead. A common beginning in whole lines is preferred to a run of whole
    lines, then the most characters, times the number of `others` with them. It is never the whole of a text.
    """
    first, *more = texts
    against = more or others
    heads = {head for other_text in against if len(head := _common_head(first, other_text)) >= MIN_HEAD_CHARS}
    return _best_part(heads, texts, others) or _best_part(
        {_longest_common_run(first, other_text) for other_text in against}, texts, others
    )


def _best_part(parts: Iterable[str], texts: Sequence[str], others: Sequence[str]) -> SharedPart | None:
    fit = [
        part for part in parts if len(part) >= MIN_PART_CHARS and all(part in text and part != text for text in texts)
    ]
    candidates = [SharedPart(part, sum(part in other_text for other_text in others)) for part in fit]
    return max(
        candidates, key=lambda candidate: (len(candidate.text) * max(1, candidate.others), candidate.text), default=None
    )


def _common_head(text: str, other_text: str) -> str:
    low, high = 0, min(len(text), len(other_text))
    while low < high:
        size = (low + high + 1) // 2
        low, high = (size, high) if other_text.startswith(text[low:size], low) else (low, size - 1)
    return text[: text.rfind("\n", 0, low) + 1]


def _longest_common_run(text: str, other_text: str) -> str:
    lines, other_lines = _LINES.findall(text), _LINES.findall(other_text)
    numbers: dict[str, int] = {}
    hashes = _hashes([numbers.setdefault(line, len(numbers) + 1) for line in lines])
    other_hashes = _hashes([numbers.setdefault(line, len(numbers) + 1) for line in other_lines])
    low, high, start = 0, min(len(lines), len(other_lines)), 0
    while low < high:
        size = (low + high + 1) // 2
        window_hashes = set(_windows(other_hashes, size))
        at = next((n for n, value in enumerate(_windows(hashes, size)) if value in window_hashes), None)
        if at is None:
            high = size - 1
        else:
            low, start = size, at
    run = "".join(lines[start : start + low])
    return run if run in other_text else ""


def _hashes(numbers: Iterable[int]) -> list[int]:
    """The hash of every beginning of `numbers`: the hash of any window is then one subtraction."""
    hashes = [0]
    for number in numbers:
        hashes.append((hashes[-1] * _BASE + number) % _FIELD)
    return hashes


def _windows(hashes: Sequence[int], size: int) -> Iterator[int]:
    power = pow(_BASE, size, _FIELD)
    return ((hashes[n + size] - hashes[n] * power) % _FIELD for n in range(len(hashes) - size))


def extend_to_line_ends(part: str, texts: Sequence[str]) -> str:
    """Extend `part` by the adjacent line ends if it is at the beginning or end of every text."""
    longer = part
    if all(text.startswith(part) for text in texts):
        longer = part + _line_ends(texts[0][len(part) :])
    elif all(text.endswith(part) for text in texts):
        longer = _line_ends(texts[0][: len(texts[0]) - len(part)][::-1]) + part
    return longer if all(longer in text for text in texts) else part


def _line_ends(text: str) -> str:
    return text[: len(text) - len(text.lstrip("\n"))]
