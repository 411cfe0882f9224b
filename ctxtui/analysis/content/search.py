"""Searching a session: what the text of a block is, which blocks hold it, and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from ctxtui.core.block import HEADER, Block
from ctxtui.core.block_content import BlockContent, arguments_value, read
from ctxtui.core.canonical import Json, dump_text
from ctxtui.core.category import CATEGORIES
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT
from ctxtui.core.turns import Turns, turns_of

VERSION: Final = 1
"""Raised when `words_of` gives other words: what was indexed before is then indexed anew."""

Find = Callable[[str], Iterable[tuple[int, int]]]
"""Gives the hits in a text, from left to right: (first character, character behind the last)."""
MayHold = Callable[[bytes], bool]
"""Whether a block with this body may have a hit: cheaper than decoding it."""

_AROUND: Final = 60
"""Characters of a snippet before and after the first hit."""


def words_of(block: Block) -> str:
    """The text of `block` that is searched: what its reading says, a call's name and input by name. Neither images nor
    ciphers; "" for a message's header."""
    if block.kind == HEADER:
        return ""
    return words_of_reading(read(block), block.kind)


def words_of_reading(got: BlockContent, kind: str) -> str:
    """As `words_of`, for a block of `kind` that is read already."""
    if kind == HEADER:
        return ""
    if not got.arguments:
        return got.text
    return "\n".join([got.name, *_arguments(arguments_value(got))])


def _arguments(given: Json) -> Iterator[str]:
    if not isinstance(given, Mapping):
        yield given if isinstance(given, str) else dump_text(given)
        return
    for key, item in given.items():
        yield f"{key}  {item if isinstance(item, str) else dump_text(item)}"


class FirstPlace(Struct, frozen=True):
    """Where a block first stands: call `call` (from 1) of `thread` is the first to have it in its context or answer,
    None where no call has it yet; `turn` counts the user's turns, `category` is its name."""

    node: int
    thread: str
    call: int | None
    turn: int
    category: str


def places(session: Session) -> dict[str, FirstPlace]:
    """The first place of every block by digest, in order of the calls."""
    found: dict[str, FirstPlace] = {}
    seen = {ROOT}
    turns = {thread: turns_of(session.tree, session.thread_calls(thread)) for thread in session.order}
    for thread, ids in list(session.order.items()):
        for number, id_ in enumerate(ids, 1):
            call = session.calls[id_]
            for head in (call.sent_head, call.raw_head, call.response_head):
                _place(session, head, turns[thread], thread, number, seen, found)
    for thread, known in list(session.threads.items()):
        _place(session, known.tip, turns.get(thread) or Turns(session.tree), thread, None, seen, found)
    return found


def _place(
    session: Session,
    head: int,
    turns: Turns,
    thread: str,
    call: int | None,
    seen: set[int],
    found: dict[str, FirstPlace],
) -> None:
    tree, fresh = session.tree, []
    while head not in seen:
        seen.add(head)
        fresh.append(head)
        head = tree[head].parent
    for node in reversed(fresh):
        here = tree[node]
        if here.block.digest not in found:
            place = FirstPlace(node, thread, call, turns.number_of(node), CATEGORIES[here.category])
            found[here.block.digest] = place


class BlockHits(Struct, frozen=True):
    """A block with hits: how many, where it first stands, and the words around its first hit, of which the characters
    from `at` to `end` are the hit."""

    block: Block
    place: FirstPlace
    hits: int
    snippet: str
    at: int
    end: int


def search(
    session: Session, find: Find, may_hold: MayHold, wanted: Callable[[FirstPlace], bool]
) -> Iterator[BlockHits]:
    """The blocks of `session` with hits at a place that is `wanted`, in order of their first calls."""
    blocks = session.tree.blocks
    for digest, place in places(session).items():
        block = blocks[digest]
        if not wanted(place) or not may_hold(block.body):
            continue
        text = words_of(block)
        spans = list(find(text))
        if spans:
            yield BlockHits(block, place, len(spans), *snippet(text, *spans[0]))


def snippet(text: str, start: int, end: int) -> tuple[str, int, int]:
    """The line around a hit, without the rest of a long one, and where in it the hit is."""
    first = max(text.rfind("\n", 0, start) + 1, start - _AROUND)
    stop = text.find("\n", end)
    last = min(len(text) if stop < 0 else stop, max(end, start + 2 * _AROUND) + _AROUND)
    while first < start and text[first].isspace():
        first += 1
    return text[first:last], start - first, min(end, last) - first
