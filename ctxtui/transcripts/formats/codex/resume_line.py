"""Lines of a Codex rollout as a resumed one has them: kept as they are, changed, or new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from ctxtui.core import block, canonical
from ctxtui.core.block import HEADER, Item
from ctxtui.core.errors import CtxtuiError
from ctxtui.transcripts.formats.codex import items
from ctxtui.transcripts.formats.codex.records import ITEM, META, decode
from ctxtui.transcripts.kit.record_pieces import FoundObject
from ctxtui.transcripts.kit.resume import spliced

_SPOKEN: Final = {"assistant": "output_text"}


@dataclass(slots=True, eq=False)
class Slot:
    """One item of a context in the file: its JSON, the digests of its blocks, and what is put in before it.

    `parts` is what its content is to be, None where nothing changed; `whole` says that the item is one block, which
    has no content of parts. An item without `value` is taken out.
    """

    value: Any
    digests: list[str]
    whole: bool
    parts: list[Any] | None = None
    changed: bool = False
    before: list[Any] = field(default_factory=list)

    @property
    def removed(self) -> bool:
        """Whether the item is taken out."""
        return self.value is None

    def change(self, part: int, value: Any) -> None:
        """Let its 0-based `part` be `value`; None leaves it out."""
        self.changed = True
        if self.whole:
            self.value = value
            return
        if self.parts is None:
            content = self.value.get("content")
            self.parts = list(content) if isinstance(content, list) else [content]
        self.parts[part] = value
        left = [one for one in self.parts if one is not None]
        self.value = {**self.value, "content": left} if left else None
        if left and isinstance(left[0], dict) and left[0].get("type") == "text" and not part:
            self.value["content"] = [_spoken(one, str(self.value.get("role"))) for one in left]


@dataclass(slots=True)
class RolloutLine:
    """One line: its bytes, its type, the items it holds (a compaction holds many), and what stands behind it."""

    raw: bytes
    type: str
    timestamp: str
    slots: list[Slot]
    bare: bool
    behind: list[Any] = field(default_factory=list)


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
    return RolloutLine(raw, record.type, record.timestamp, list(_slots(record.type, record.value())), bare)


def _slots(type_: str, payload: dict[str, Any]) -> Iterator[Slot]:
    if type_ == ITEM:
        yield _slot(payload)
    elif type_ == "compacted":
        replacement = payload.get("replacement_history")
        if isinstance(replacement, list):
            yield from map(_slot, replacement)
        elif isinstance(payload.get("message"), str):
            yield Slot(payload["message"], [block.text(payload["message"]).digest], True)
    elif type_ == META:
        base = payload.get("base_instructions")
        words = base.get("text") if isinstance(base, dict) else base
        if isinstance(words, str) and words:
            yield Slot(words, [block.text(words).digest], True)


def _slot(value: Any) -> Slot:
    found = items.of_value(value).items
    whole = not found or found[0].block.kind != HEADER
    return Slot(value, [item.block.digest for item in found if item.block.kind != HEADER], whole)


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
    """The lines of the new rollout, each with its line end; its id is `session_id`."""
    named = False
    for line in lines:
        if line.type == ITEM:
            for slot in line.slots:
                yield from (_item_line(line, value) for value in slot.before)
                if not slot.removed:
                    changed = _payload(line, slot.value) if slot.changed else line.raw
                    yield changed + b"\n"
        elif line.type == META and not named:
            named = True
            yield _named(line, session_id) + b"\n"
        else:
            yield _compacted(line) + b"\n"
        yield from (_item_line(line, value) for value in line.behind)


def _payload(line: RolloutLine, value: Any) -> bytes:
    new = canonical.dumps(value)
    return new if line.bare else spliced(line.raw, {"payload": new})


def _item_line(line: RolloutLine, value: Any) -> bytes:
    item = {"timestamp": line.timestamp, "type": ITEM, "payload": value}
    return canonical.dumps(value if line.bare else item) + b"\n"


def _payload_of(line: RolloutLine) -> dict[str, Any]:
    value: dict[str, Any] = canonical.loads(line.raw)
    return value if line.bare else value["payload"]


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
    payload = _payload_of(line)
    if not isinstance(payload.get("replacement_history"), list):
        return _payload(line, {**payload, "message": _text(line.slots[0].value)})
    history: list[Any] = []
    for slot in line.slots:
        history += [*slot.before, *([] if slot.removed else [slot.value])]
    return _payload(line, {**payload, "replacement_history": history})


def _text(value: Any) -> str:
    return str(value.get("text") or "") if isinstance(value, dict) else str(value or "")
