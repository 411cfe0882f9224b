"""Finds the blocks and calls of a session that the user's notes are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from ctxtui.core.edit import Target
from ctxtui.core.note import Note
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Tree


def target_of(tree: Tree, node: int) -> Target:
    """Stable name of the block of `node`: its digest, and the number of equal blocks before it."""
    digest, equals, ancestor = tree[node].block.digest, 0, tree[node].parent
    while ancestor != ROOT:
        ancestor_row = tree[ancestor]
        equals += ancestor_row.block.digest == digest
        ancestor = ancestor_row.parent
    return Target(digest, equals)


class PlacedNote(Struct, frozen=True):
    """A note with its position in the session.

    `call` (from 1) of `thread` is the noted call, or the first call that has the noted block (None: no call has it
    yet). `node` is the block's node; None for a note on a call. If the recording does not hold the subject, `thread` is
    "" and the others are None.
    """

    note: Note
    thread: str = ""
    call: int | None = None
    node: int | None = None

    @property
    def is_found(self) -> bool:
        return bool(self.thread)


class SessionNotes(Struct, frozen=True):
    """Notes of a session: in the order of the calls, on blocks by node, on calls by id.

    A note on a block is listed for every node with the block.
    """

    order: Sequence[PlacedNote] = ()
    nodes: dict[int, Note] = field(default_factory=dict)
    calls: dict[str, Note] = field(default_factory=dict)

    def at_calls(self) -> set[tuple[str, int]]:
        """(thread, number) of the calls that have a note, or are the first to have a block with one."""
        return {(placed.thread, placed.call) for placed in self.order if placed.call is not None}


def locate_notes(session: Session, notes: Iterable[Note]) -> SessionNotes:
    """Locate `notes` in `session`.

    For notes on blocks this reads the whole tree, so call it in a worker.
    """
    about_calls, about_blocks = {}, {}
    for note in notes:
        if note.target is not None:
            about_blocks[note.target] = note
        else:
            about_calls[note.call] = note
    nodes = _nodes_by_target(session.tree, about_blocks)
    places = _first_calls(session, set(nodes)) if nodes else {}
    placed: dict[int, PlacedNote] = {}
    for node in sorted(nodes, key=lambda node: (places.get(node, ("", 1 << 30))[1] or 1 << 30, node)):
        thread, call = places.get(node, ("", None))
        placed.setdefault(id(nodes[node]), PlacedNote(nodes[node], thread, call, node))
    blocks = [placed.get(id(note), PlacedNote(note)) for note in about_blocks.values()]
    calls = [_place_call_note(session, note) for note in about_calls.values()]
    ranks = {thread: rank for rank, thread in enumerate(session.order)}
    order = sorted([*blocks, *calls], key=lambda placed: _sort_key(placed, ranks))
    return SessionNotes(order, nodes, {id_: note for id_, note in about_calls.items() if id_ in session.calls})


def _sort_key(placed: PlacedNote, ranks: dict[str, int]) -> tuple[int, float, int]:
    rank = ranks.get(placed.thread, len(ranks)) if placed.is_found else len(ranks) + 1
    return rank, float("inf") if placed.call is None else placed.call, placed.node or 0


def _nodes_by_target(tree: Tree, by_target: dict[Target, Note]) -> dict[int, Note]:
    digests = {target.digest for target in by_target}
    notes = {}
    for node in tree.nodes(1) if digests else ():
        if node.block.digest in digests:
            note = by_target.get(target_of(tree, node.id))
            if note is not None:
                notes[node.id] = note
    return notes


def _first_calls(session: Session, nodes: set[int]) -> dict[int, tuple[str, int | None]]:
    """(thread, number) of the first call that has each of the nodes in its context or answer."""
    tree, first = session.tree, {}
    seen_nodes = {ROOT}

    def walk(head: int, thread: str, number: int | None) -> None:
        while head not in seen_nodes:
            seen_nodes.add(head)
            if head in nodes:
                first[head] = thread, number
            head = tree[head].parent

    for thread, ids in list(session.order.items()):
        for number, id_ in enumerate(ids, 1):
            call = session.calls[id_]
            for head in (call.sent_head, call.raw_head, call.response_head):
                walk(head, thread, number)
    for thread, thread_state in list(session.threads.items()):
        walk(thread_state.tip, thread, None)
    return first


def _place_call_note(session: Session, note: Note) -> PlacedNote:
    call = session.calls.get(note.call)
    if call is None:
        return PlacedNote(note)
    for thread, ids in list(session.order.items()):
        if note.call in ids:
            return PlacedNote(note, thread, ids.index(note.call) + 1)
    return PlacedNote(note)
