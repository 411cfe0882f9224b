"""Figures kept between runs: what a recording taught, and the running sums of its contexts, beside the counts.

They are found again by the recording's own name and taken over where they are those of the same content: the same
blocks at the same places and the same calls, under the same facts about models, the same label rules and the same code.
Of a recording that only grew what was learnt is taken over, and learning goes on from there. Whatever does not fit is
passed over and worked out anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import blake2b
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import msgspec
import zstandard

import ctxtui
from ctxtui.analysis.book import CONTEXTS, COUNTS, Book
from ctxtui.core.block import Place
from ctxtui.core.call import Fidelity
from ctxtui.core.canonical import Number
from ctxtui.core.session import Session
from ctxtui.core.tree import Tree
from ctxtui.store.rows import KeptRow

LEAST: Final = 200
"""Nodes from which on a recording is worth keeping: smaller ones are worked out in the time that looking takes."""
_NAMED_BY: Final = 8
"""Blocks that a recording begins with and is found by, beside its name."""
_DIGEST: Final = 16
_AT_ONCE: Final = 512
_LEVEL: Final = 1
_NOTHING: Final = msgspec.msgpack.encode(None)
_FLOORS: Final = ("core", "tokens", "wire", "curation", "cache", "analysis", "services/counting")
"""The code that figures are worked out by."""
_CALL: Final = attrgetter(
    *"id thread raw_head sent_head response_head provider model started first_byte ended fidelity usage "
    "stop_reason error extra".split()
)


class KeptFigures:
    """Takes figures over from earlier runs and keeps new ones. `load` gives the row of a name, `save` keeps one.

    `labels` names the label rules in force; None where one of them was left out, so that nothing is kept. `has_place`
    tells whether there is a database to keep anything in.
    """

    def __init__(
        self,
        load: Callable[[bytes], KeptRow | None],
        save: Callable[[KeptRow], None],
        labels: Callable[[], str | None] = str,
        has_place: Callable[[], bool] = lambda: True,
    ) -> None:
        self._load = load
        self._save = save
        self._labels = labels
        self._has_place = has_place

    def restore(self, book: Book) -> bool:
        """Take over what is kept of the recording of `book`; whether all of it is known then. Of one that grew nothing
        is taken over where something of it is counted already."""
        session = book.session
        labels = self._labels()
        if labels is None or len(session.tree) < LEAST:
            return False
        row = self._load(_name(session, labels))
        return row is not None and self.take_over(book, row)

    def take_over(self, book: Book, row: KeptRow, *, same: bool = False) -> bool:
        """As `restore`, of what stands in `row`. `same`: the session is known to be the one that it was made of."""
        session, labels = book.session, self._labels()
        if labels is None or row.nodes > len(session.tree) or row.calls > len(session.calls):
            return False
        if row.version != _version(book, row.calls, labels) or row.checksum != _hash(row.body):
            return False
        grown = row.nodes < len(session.tree) or row.calls < len(session.calls)
        if grown and book.is_begun:
            return False
        if grown and any(call.fidelity == Fidelity.WIRE for call in session.calls.values()):
            # Whole requests teach as soon as they are read: in which order depends on how much is read at once.
            return False
        if not same and row.fingerprint != fingerprint(session, row.nodes, row.calls):
            return False
        try:
            part = _Parts(row.body)
            taken = book.take_over(part, row.nodes, grown=grown) and not grown and part.has(CONTEXTS)
            part.drop(COUNTS)
            return taken
        except (ValueError, TypeError, LookupError, msgspec.MsgspecError, zstandard.ZstdError):
            # Damaged in a way that its checksum agrees with: as good as nothing.
            return False

    def knows(self, session: Session) -> bool:
        """Whether anything is kept of the recording, whatever its length, as far as its beginning tells."""
        labels = self._labels()
        return labels is not None and len(session.tree) > _NAMED_BY and self._load(_name(session, labels)) is not None

    def keep(self, book: Book, *, at_once: bool = True) -> None:
        """Keep what `book` has worked out: counted `at_once`, or while the recording was read. Then it is kept where it
        is what it would be at once, without how contexts were read."""
        if len(book.session.tree) < LEAST or not self._has_place():
            return
        row = self.row(book, at_once=at_once)
        if row is not None:
            self._save(row)

    def row(self, book: Book, *, at_once: bool = True) -> KeptRow | None:
        """What `keep` keeps; None where it is not what it would be at once, or cannot be kept."""
        session, labels = book.session, self._labels()
        nodes, calls = len(session.tree), len(session.calls)
        if labels is None or not (book.is_settled if at_once else book.is_as_anew):
            return None
        found = fingerprint(session, nodes, calls)
        if found is None:
            return None
        body = _packed(book.kept(contexts=at_once))
        version = _version(book, calls, labels)
        name = _name(session, labels)
        return KeptRow(
            name=name,
            session=session.about.id,
            version=version,
            nodes=nodes,
            calls=calls,
            fingerprint=found,
            checksum=_hash(body),
            body=body,
        )


class _Parts:
    """Gives what is kept, part by part, unpacked when it is asked for."""

    def __init__(self, body: bytes) -> None:
        self._parts: dict[str, bytes] = msgspec.msgpack.decode(body)

    def has(self, name: str) -> bool:
        """Whether there is such a part, and it holds something."""
        return zstandard.ZstdDecompressor().decompress(self._parts[name]) != _NOTHING

    def drop(self, name: str) -> None:
        """Nobody asks for this part any more."""
        del self._parts[name]

    def __call__(self, name: str) -> Any:
        return msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(self._parts[name]))


def _packed(kept: Iterable[tuple[str, Any]]) -> bytes:
    packer = zstandard.ZstdCompressor(level=_LEVEL)
    return msgspec.msgpack.encode({name: packer.compress(msgspec.msgpack.encode(one)) for name, one in kept})


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST).digest()


def _name(session: Session, labels: str) -> bytes:
    """Where the figures of a recording are found, however long it is by now."""
    first = [node.block.digest for node in session.tree.nodes(1)[:_NAMED_BY]]
    parts = (session.about.source, session.about.id, labels, *first)
    return _hash("\0".join(parts).encode("utf-8", "surrogatepass"))


def fingerprint(session: Session, nodes: int, calls: int) -> bytes | None:
    """What tells the first `nodes` nodes and `calls` calls of a session from any other; None where a call holds what
    cannot be written down."""
    first = dict(islice(session.calls.items(), calls))
    order = {thread: [id_ for id_ in ids if id_ in first] for thread, ids in session.order.items()}
    # One epoch is that of many calls.
    epochs: dict[object, int] = {}
    stretches = [epochs.setdefault(call.epoch, len(epochs)) for call in first.values()]
    found, written = blake2b(digest_size=_DIGEST), bytearray()
    every: Iterator[object] = chain(_columns(session.tree, nodes), map(_CALL, first.values()))
    try:
        # A few at a time: memory that is in use already is written a third quicker.
        while some := list(islice(every, _AT_ONCE)):
            _encoder.encode_into(some, written)
            found.update(written)
        ends = {thread: ids for thread, ids in order.items() if ids}
        found.update(_encoder.encode((nodes, calls, stretches, list(epochs), ends)))
    except (TypeError, ValueError, OverflowError, UnicodeError, RecursionError):
        return None
    return found.digest()


def _columns(tree: Tree, nodes: int) -> Iterator[object]:
    """What makes the first `nodes` nodes of a tree what they are; columns are written in half the time of rows."""
    made = tree.nodes(1)[: nodes - 1]
    places: dict[Place, int] = {}
    yield [node.parent for node in made]
    yield [node.block.digest for node in made]
    yield [places.setdefault(node.place, len(places)) for node in made]
    yield list(places)


def _spelled(value: Any) -> Any:
    if isinstance(value, Number):
        return {"number": value.text}
    raise TypeError(type(value).__name__)


_encoder: Final = msgspec.msgpack.Encoder(enc_hook=_spelled)


def _version(book: Book, calls: int, labels: str) -> bytes:
    """What figures depend on beside the recording: the code, the facts about the models of the first `calls` calls, the
    label rules."""
    models = sorted({call.model for call in islice(book.session.calls.values(), calls)})
    return _hash("\0".join((_code(), labels, *(repr(book.card(model)) for model in models))).encode())


@cache
def _code() -> str:
    """The version of the code: name, size and time of every file of the floors that figures are worked out on."""
    root = Path(ctxtui.__file__).parent
    found = [ctxtui.__version__]
    for floor in _FLOORS:
        for place, folders, files in os.walk(root / floor):
            folders.sort()
            for name in sorted(files):
                if name.endswith(".py"):
                    status = os.stat(os.path.join(place, name))
                    found.append(f"{floor} {name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(found)
