"""Searches a session: the searchable text of blocks, the blocks with hits, their positions."""

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
"""To be increased when `searchable_text` changes: the index is then rebuilt."""

Find = Callable[[str], Iterable[tuple[int, int]]]
"""Gives the hits in a text, from left to right: (start, end)."""
MayHold = Callable[[bytes], bool]
"""Whether a block with this body may have a hit: cheaper than decoding it."""

_AROUND: Final = 60


def searchable_text(block: Block) -> str:
    """Searchable text of `block`: its text, or a call's name and input; "" for a header."""
    return text_of_content(read(block), block.kind)


def text_of_content(content: BlockContent, kind: str) -> str:
    """Like `searchable_text`, for a block of `kind` that is already parsed."""
    if kind == HEADER:
        return ""
    if not content.arguments:
        return content.text
    return "\n".join([content.name, *_argument_texts(arguments_value(content))])


def _argument_texts(arguments: Json) -> Iterator[str]:
    if not isinstance(arguments, Mapping):
        yield arguments if isinstance(arguments, str) else dump_text(arguments)
        return
    for key, item in arguments.items():
        yield f"{key}  {item if isinstance(item, str) else dump_text(item)}"


class FirstPlace(Struct, frozen=True):
    """First call of the first thread with a block in its context or answer.

    - `call`: its number (from 1) in `thread`; None if no call has it yet.
    - `turn`: the number of the user's turn.
    - `category`: the name of its category.
    """

    node: int
    thread: str
    call: int | None
    turn: int
    category: str


def first_places(session: Session) -> dict[str, FirstPlace]:
    """By the digest of each block: where it occurs first."""
    by_digest: dict[str, FirstPlace] = {}
    seen_nodes = {ROOT}
    turns = {thread: turns_of(session.tree, session.thread_calls(thread)) for thread in session.order}
    for thread, ids in list(session.order.items()):
        for number, id_ in enumerate(ids, 1):
            call = session.calls[id_]
            for head in (call.sent_head, call.raw_head, call.response_head):
                _add_places(session, head, turns[thread], thread, number, seen_nodes, by_digest)
    for thread, thread_state in list(session.threads.items()):
        _add_places(
            session, thread_state.tip, turns.get(thread) or Turns(session.tree), thread, None, seen_nodes, by_digest
        )
    return by_digest


def _add_places(
    session: Session,
    head: int,
    turns: Turns,
    thread: str,
    call: int | None,
    seen_nodes: set[int],
    places: dict[str, FirstPlace],
) -> None:
    tree, fresh = session.tree, []
    while head not in seen_nodes:
        seen_nodes.add(head)
        fresh.append(head)
        head = tree[head].parent
    for node in reversed(fresh):
        node_row = tree[node]
        if node_row.block.digest not in places:
            place = FirstPlace(node, thread, call, turns.number_of(node), CATEGORIES[node_row.category])
            places[node_row.block.digest] = place


class BlockHits(Struct, frozen=True):
    """A block with hits: their number, its first position, and a snippet around the first hit.

    The hit is the characters from `at` to `end` of the snippet.
    """

    block: Block
    place: FirstPlace
    hits: int
    snippet: str
    at: int
    end: int


def search(
    session: Session, find: Find, may_hold: MayHold, is_wanted: Callable[[FirstPlace], bool]
) -> Iterator[BlockHits]:
    """Yield the blocks of `session` with hits at wanted places, in the order of `first_places`."""
    blocks = session.tree.blocks
    for digest, place in first_places(session).items():
        block = blocks[digest]
        if not is_wanted(place) or not may_hold(block.body):
            continue
        text = searchable_text(block)
        spans = list(find(text))
        if spans:
            yield BlockHits(block, place, len(spans), *snippet(text, *spans[0]))


def snippet(text: str, start: int, end: int) -> tuple[str, int, int]:
    """Line around a hit, shortened, and the hit's position in it."""
    first = max(text.rfind("\n", 0, start) + 1, start - _AROUND)
    stop = text.find("\n", end)
    last = min(len(text) if stop < 0 else stop, max(end, start + 2 * _AROUND) + _AROUND)
    while first < start and text[first].isspace():
        first += 1
    return text[first:last], start - first, min(end, last) - first
