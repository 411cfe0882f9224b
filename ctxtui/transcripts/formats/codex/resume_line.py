"""Lines of a Codex rollout as a resumed one has them: kept as they are, changed, or new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from ctxtui.core import block, canonical
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.errors import CtxtuiError
from ctxtui.transcripts.formats.codex import items
from ctxtui.transcripts.formats.codex.records import COPIED_LINES, EVENT, ITEM, META, decode
from ctxtui.transcripts.kit.record_pieces import FoundObject
from ctxtui.transcripts.kit.resume import added, spliced
from ctxtui.wire.grammar import join_item
from ctxtui.wire.parts import Piece

_SPOKEN: Final = {"assistant": "output_text"}
_BESIDE: Final = frozenset({"replacement_history_metadata", "retained_context", "latest_token_usage_record"})


class Slot(Struct, eq=False):
    """One item of a context in the file: its JSON, the digests of its blocks, and what is put in before it.

    `pieces` are its header and its parts, which edits take out; none for an item that is one block. An item without
    `value` is taken out.
    """

    value: Any
    digests: list[str]
    pieces: list[Piece | None] = field(default_factory=list)
    changed: bool = False
    before: list[Any] = field(default_factory=list)

    @property
    def removed(self) -> bool:
        """Whether the item is taken out."""
        return self.value is None

    def change(self, part: int, new: Block | None) -> None:
        """Let its 0-based `part` be the block `new`; None leaves it out. An item that loses all its parts goes."""
        self.changed = True
        if not self.pieces:
            self.value = new.value() if new is not None else None
            return
        head = self.pieces[0]
        role = str(head[1].get("role")) if head is not None else ""
        self.pieces[part + 1] = (new.kind, _spoken(new.value(), role)) if new is not None else None
        left = [piece for piece in self.pieces if piece is not None]
        self.value = self._told(join_item(left)) if len(left) > 1 else None

    def _told(self, value: Any) -> Any:
        """`value` with what the client says of each part only for those that are left (facts §13)."""
        told = value.get(items.PASSTHROUGH)
        if not isinstance(told, dict):
            return value
        stands = [piece is not None for piece in self.pieces[1:]]
        beside = {
            key: [one for one, stays in zip(said, stands, strict=True) if stays]
            for key, said in told.items()
            if key.startswith("content_item_") and isinstance(said, list) and len(said) == len(stands)
        }
        return {**value, items.PASSTHROUGH: {**told, **beside}}


class RolloutLine(Struct, kw_only=True):
    """One line: its bytes, its type, the items it holds (a compaction holds many), the `kind` of event that it is, and
    what stands behind it."""

    raw: bytes
    type: str
    timestamp: str
    slots: list[Slot]
    bare: bool
    kind: str = ""
    behind: list[Any] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether an edit touches the line or puts something in beside it."""
        return bool(self.behind) or any(slot.changed or slot.before for slot in self.slots)


def lines_of(raw: bytes, piece: FoundObject) -> RolloutLine:
    """The line `raw`. Raises `CtxtuiError` where it holds a whole session, as the first rollouts did."""
    records = decode(piece.raw, False)
    if len(records) != 1:
        raise CtxtuiError(
            "a rollout of the first format, which no client resumes",
            place=f"line {piece.line}",
            way_out="export it as a request body instead",
        )
    (record,) = records
    bare = record.payload == piece.raw
    payload = record.value()
    kind = payload.get("type") if record.type == EVENT else None
    return RolloutLine(
        raw=raw,
        type=record.type,
        timestamp=record.timestamp,
        slots=list(_slots(record.type, payload)),
        bare=bare,
        kind=kind if isinstance(kind, str) else "",
    )


def _slots(type_: str, payload: dict[str, Any]) -> Iterator[Slot]:
    if type_ == ITEM:
        yield _slot(payload)
    elif type_ == "compacted":
        replacement = payload.get("replacement_history")
        if isinstance(replacement, list):
            yield from map(_slot, replacement)
        elif isinstance(payload.get("message"), str):
            yield Slot(payload["message"], [block.text(payload["message"]).digest])
    elif type_ == META:
        base = payload.get("base_instructions")
        words = base.get("text") if isinstance(base, dict) else base
        if isinstance(words, str) and words:
            yield Slot(words, [block.text(words).digest])


def _slot(value: Any) -> Slot:
    found = [item.block for item in items.of_value(value).items]
    digests = [one.digest for one in found if one.kind != HEADER]
    pieces: list[Piece | None] = [(one.kind, one.value()) for one in found] if found and found[0].kind == HEADER else []
    return Slot(value, digests, pieces)


def made_item(new: Iterable[Item]) -> list[Any]:
    """The items that new blocks make: texts as messages of their role, everything else as it is."""
    made: list[Any] = []
    for role, group in groupby(new, lambda item: item.place.role):
        for item in group:
            value = item.block.value()
            if item.block.kind in ("text", "input_text", "output_text", "input_image", "image"):
                made.append({"type": "message", "role": role, "content": [_spoken(value, role)]})
            else:
                made.append(value)
    return made


def _spoken(part: Any, role: str) -> Any:
    """A text as the Responses API spells it."""
    if isinstance(part, dict) and part.get("type") == "text":
        return {**part, "type": _SPOKEN.get(role, "input_text")}
    return part


def written(lines: Sequence[RolloutLine], session_id: str) -> Iterator[bytes]:
    """The lines of the new rollout, each with its line end; its id is `session_id`.

    Where the client numbers its lines (facts §13), they are numbered anew: it refuses a file with a gap.
    """
    made = list(_lines(lines, session_id))
    about = next((n for n, line in enumerate(made) if decode(line, False)[0].type == META), None)
    if about is not None:
        made[about] = _copied(made[about], len(made))
    found = iter(made)
    first = next(found, b"")
    yield first
    number = _number(first)
    for line in found:
        number = number + 1 if number is not None else None
        yield line if number is None else _numbered(line, number)


def _copied(line: bytes, lines: int) -> bytes:
    """The `line` about the session, which says that so many lines are copied from another one."""
    record, told = decode(line, False)[0], str(lines).encode()
    own = record.payload
    payload = spliced(own, {COPIED_LINES: told}) if COPIED_LINES in record.value() else added(own, COPIED_LINES, told)
    return payload if own == line else spliced(line, {"payload": payload})


class _Ordinal(msgspec.Struct):
    ordinal: int | None = None


_ordinal: Final = msgspec.json.Decoder(_Ordinal)


def _number(line: bytes) -> int | None:
    """The number that the client gave a line; None where it gave none."""
    try:
        return _ordinal.decode(line).ordinal
    except msgspec.MsgspecError:
        return None


def _numbered(line: bytes, number: int) -> bytes:
    own = _number(line)
    if own == number:
        return line
    if own is not None:
        return spliced(line, {"ordinal": str(number).encode()})
    value = canonical.loads(line)
    return canonical.dumps({"timestamp": value.pop("timestamp", ""), "ordinal": number, **value}) + b"\n"


def _lines(lines: Sequence[RolloutLine], session_id: str) -> Iterator[bytes]:
    old = next((_payload_of(line).get("id") for line in lines if line.type == META), None)
    named = False
    for line in lines:
        if line.type == ITEM:
            for slot in line.slots:
                yield from (_item_line(line, value) for value in slot.before)
                if not slot.removed:
                    changed = _payload(line, slot.value) if slot.changed else line.raw
                    yield changed + b"\n"
        elif line.type == META and (not named or _payload_of(line).get("id") == old):
            # From 0.137 on the client repeats its own record with every turn.
            named = True
            yield _named(line, session_id) + b"\n"
        elif line.type == "compacted":
            yield _compacted(line) + b"\n"
        else:
            yield line.raw + b"\n"
        yield from (_item_line(line, value) for value in line.behind)


def _payload(line: RolloutLine, value: Any) -> bytes:
    new = canonical.dumps(value)
    return new if line.bare else spliced(line.raw, {"payload": new})


def _item_line(line: RolloutLine, value: Any) -> bytes:
    item = {"timestamp": line.timestamp, "type": ITEM, "payload": value}
    return canonical.dumps(value if line.bare else item) + b"\n"


def _payload_of(line: RolloutLine) -> dict[str, Any]:
    value: dict[str, Any] = canonical.loads(line.raw)
    payload = value if line.bare else value.get("payload")
    return payload if isinstance(payload, dict) else {}


def _named(line: RolloutLine, session_id: str) -> bytes:
    payload = _payload_of(line)
    new: dict[str, Any] = {key: session_id for key in ("id", "session_id") if isinstance(payload.get(key), str)}
    for slot in line.slots:
        if slot.changed:
            value = slot.value if isinstance(slot.value, str) else _text(slot.value)
            base = payload.get("base_instructions")
            new["base_instructions"] = {**base, "text": value} if isinstance(base, dict) else value
    return _payload(line, {**payload, **new})


def _compacted(line: RolloutLine) -> bytes:
    if not any(slot.changed or slot.before for slot in line.slots):
        return line.raw
    # What the client notes beside the history tells of the one that was (facts §13).
    payload = {key: value for key, value in _payload_of(line).items() if key not in _BESIDE}
    if not isinstance(payload.get("replacement_history"), list):
        return _payload(line, {**payload, "message": _text(line.slots[0].value)})
    history: list[Any] = []
    for slot in line.slots:
        history += [*slot.before, *([] if slot.removed else [slot.value])]
    return _payload(line, {**payload, "replacement_history": history})


def _text(value: Any) -> str:
    return str(value.get("text") or "") if isinstance(value, dict) else str(value or "")
