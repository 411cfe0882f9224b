"""A pi session file that the client resumes, with an edited context.

The client walks from the last entry up (`parentId`), so what is dropped is taken out of that chain, and what is put in
becomes a link of it. Its meter and its compaction go by the usage of the last answer, zeros included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final

from msgspec import Struct, field

from ctxtui.core import block as blocks
from ctxtui.core import block_content, canonical
from ctxtui.core.block import Block, Item
from ctxtui.core.call import MAKER
from ctxtui.transcripts.formats.pi.session import COPIED, ESTIMATED_BY, part_of
from ctxtui.transcripts.kit.fields import count, listed, obj, word
from ctxtui.transcripts.kit.record_pieces import FoundObject
from ctxtui.transcripts.kit.records import RecordStream
from ctxtui.transcripts.kit.resume import (
    UNANSWERED,
    UNHELD,
    ResumedFile,
    ResumeOrder,
    ResumePlan,
    added,
    fresh_ids,
    losses,
    matched,
    plan,
    spliced,
    told,
)

_COSTS: Final = ("input", "output", "cacheRead", "cacheWrite", "total")
_ID: Final = 8
"""Hex digits of an entry's id."""
_SUMMARIES: Final = ("compaction", "branch_summary")
_EMPTY: Final = "a compaction's summary that was dropped stands empty: without it all that it replaced would be back"


def resume(order: ResumeOrder) -> ResumedFile:
    """A session file, so that the client that resumes it has the context that is asked for."""
    entries, lost = _read(order)
    draft = _Draft(entries, order)
    lost += draft.change()
    lost += draft.cut()
    draft.put_in()
    draft.settle()
    id_, at = next(order.ids), datetime.fromtimestamp(order.now, UTC).isoformat(timespec="milliseconds")
    stamp = at.removesuffix("+00:00") + "Z"
    name = f"{stamp.replace(':', '-').replace('.', '-')}_{id_}.jsonl"
    return ResumedFile(b"".join(draft.lines(id_)), losses(lost), id_, name)


class PiEntry(Struct, eq=False):
    """One entry: its bytes and value, the digests of its blocks, the new value of its message or summary (None: as it
    is), what is put in before it, whether it goes."""

    raw: bytes
    value: dict[str, Any]
    digests: list[str] = field(default_factory=list)
    parts: list[Any] | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    before: list[dict[str, Any]] = field(default_factory=list)
    removed: bool = False

    @property
    def message(self) -> dict[str, Any]:
        """What it says, {} where it is no message."""
        return obj(self.value.get("message"))

    @property
    def answers(self) -> bool:
        """Whether it is the model's."""
        return self.value.get("type") == "message" and self.message.get("role") == "assistant"

    @property
    def touched(self) -> bool:
        """Whether it does not say what it said."""
        return self.removed or self.parts is not None or bool(self.changes)

    def change(self, part: int, block: Block | None) -> Iterator[str]:
        """Let its 0-based `part` say what `block` says (None: leave it out); gives what is lost by that."""
        role = self.message.get("role")
        if self.value.get("type") in _SUMMARIES or role in ("branchSummary", "compactionSummary"):
            if block is None and self.value.get("type") == "branch_summary":
                self.removed = True
                return
            if block is None:
                yield _EMPTY
            self.changes["summary"] = _words(block) if block is not None else ""
        elif role == "toolResult":
            self.parts = None if block is None else _content(block)
            self.removed = block is None
        elif role == "bashExecution":
            self.removed = block is None
            if block is not None:
                self.changes["message"] = {**_said(_words(block)), "timestamp": self.message.get("timestamp")}
        else:
            content = self.message.get("content") if self.message else self.value.get("content")
            self.parts = self.parts or (list(content) if isinstance(content, list) else [content])
            if part >= len(self.parts):  # a damaged entry, of another role than what its id says
                yield "a changed block stands in the file in another form: as recorded"
                return
            self.parts[part] = None if block is None else _spelled(block)
            self.removed = all(one is None for one in self.parts)

    def line(self, **more: Any) -> bytes:
        """Its line, with the members of `more` and what was changed."""
        changes = {**self.changes, **more}
        if self.parts is not None:
            left = [one if isinstance(one, dict) else _text(str(one)) for one in self.parts if one is not None]
            if self.message:
                changes["message"] = {**self.message, **obj(changes.get("message")), "content": left}
            else:
                changes["content"] = left
        line = spliced(self.raw, {key: canonical.dumps(value) for key, value in changes.items()})
        copied = self.answers and COPIED not in self.value
        return (added(line, COPIED, canonical.dumps(MAKER)) if copied else line) + b"\n"


def _read(order: ResumeOrder) -> tuple[list[PiEntry], list[str]]:
    stream = RecordStream()
    entries: list[PiEntry] = []
    lost: list[str] = []
    for piece in [*stream.feed(order.source), *stream.settle()]:
        if order.until and piece.line >= order.until:
            break
        if isinstance(piece, FoundObject):
            raw = order.source[piece.start : piece.end]
            raw = piece.raw if piece.note or b"\n" in raw else raw
            value = obj(canonical.loads(piece.raw))
            entries.append(PiEntry(raw, value, digests=_digests(value)))
        else:
            lost.append(f"line {piece.line}: {piece.reason}")
    if stream.tail is not None and not order.until:
        lost.append(f"line {stream.tail.line}: {stream.tail.reason}")
    return entries, lost


def _digests(value: dict[str, Any]) -> list[str]:
    """The digests of an entry's blocks, as the reader makes them; results are found by the call that they answer."""
    message = obj(value.get("message")) or value
    role = message.get("role")
    if value.get("type") in _SUMMARIES or role in ("branchSummary", "compactionSummary"):
        return [blocks.text(word(message.get("summary"))).digest]
    if role == "bashExecution":
        ran = f"Ran `{word(message.get('command'))}`\n```\n{word(message.get('output'))}\n```"
        return [blocks.text(ran).digest]
    if value.get("type") not in ("message", "custom_message") or role == "toolResult":
        return []
    content = message.get("content")
    if isinstance(content, str):
        return [blocks.text(content).digest]
    made = [part_of(part) for part in listed(content)]
    return [(blocks.text(one) if isinstance(one, str) else blocks.of(one)).digest for one in made]


class _Draft:
    """The entries on their way to the new context."""

    def __init__(self, entries: list[PiEntry], order: ResumeOrder) -> None:
        self._entries, self._order = entries, order
        self._found = matched(order.path, [one.digests for one in entries])
        results = {word(one.message.get("toolCallId")): n for n, one in enumerate(entries) if one.message}
        for at, item in told(enumerate(order.path)):
            place = results.get(_answered(item.block))
            if place is not None and item.block.kind.endswith(("_result", "_output")):
                self._found[at] = (place, 0)
        kept = [one for one in order.sent if order.end is None or one.at is None or one.at < order.end]
        self._wanted: ResumePlan = plan(order.path, kept)
        self._behind: list[dict[str, Any]] = []
        short = (one.replace("-", "")[:_ID] for one in order.ids)
        self._new = fresh_ids(short, (word(one.value.get("id")) for one in entries))

    def change(self) -> Iterator[str]:
        """Drop and replace what is asked for; gives what could not be done."""
        for at, item in told(enumerate(self._order.path[: self._order.end])):
            stands = self._wanted.stands.get(at)
            if stands is not None and stands.block.digest == item.block.digest:
                continue
            if at not in self._found:
                yield UNHELD
                continue
            number, part = self._found[at]
            yield from self._entries[number].change(part, stands.block if stands is not None else None)

    def cut(self) -> Iterator[str]:
        """Take out what follows the end of the path."""
        inside = [n for at, (n, _) in self._found.items() if self._order.end is None or at < self._order.end]
        if not inside or (self._order.end is None and not self._order.until):
            return
        for entry in self._entries[max(inside) + 1 :]:
            if entry.value.get("type") != "session_info":
                entry.removed = True
            if entry.message.get("role") == "user" and self._order.end is not None:
                yield UNANSWERED

    def put_in(self) -> None:
        """New entries for what edits made."""
        for at, items in sorted(self._wanted.after.items()):
            above = self._found[at][0] if at in self._found else -1
            later = (self._found[n][0] for n in sorted(self._found) if n > at)
            follower = next((n for n in later if n != above and not self._entries[n].removed), None)
            place = self._behind if follower is None else self._entries[follower].before
            near = self._entries[follower if follower is not None else -1]
            for role, group in groupby(items, lambda item: "assistant" if item.place.role == "assistant" else "user"):
                place.append(self._made(near, role, list(group)))

    def _made(self, near: PiEntry, role: str, items: Sequence[Item]) -> dict[str, Any]:
        content = [_spelled(item.block) for item in items]
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            like = next((one.message for one in reversed(self._entries) if one.answers), {})
            known: dict[str, Any] = {key: like[key] for key in ("api", "provider", "model") if key in like}
            message |= {**known, "usage": _usage(0, 0), "stopReason": "stop"}
        more = {COPIED: MAKER} if role == "assistant" else {}
        message["timestamp"] = near.message.get("timestamp") or round(self._order.now * 1000)
        id_ = next(self._new)
        return {"type": "message", "id": id_, "timestamp": near.value.get("timestamp"), "message": message, **more}

    def settle(self) -> None:
        """Take reports out that are not true of the new context; the last answer gets the size that was worked out."""
        changed = [n for n, one in enumerate(self._entries) if one.touched]
        changed += [n - 1 for n, one in enumerate(self._entries) if one.before]
        first = min(changed, default=len(self._entries))
        answers = [n for n, one in enumerate(self._entries) if one.answers and not one.removed]
        for n in answers:
            entry, known = self._entries[n], obj(self._entries[n].message.get("usage"))
            size = self._order.input_tokens if n == answers[-1] else None
            if known and (n > first or (n == first and size is not None)):
                rewritten = count(known.get("output")) if entry.parts is None else self._order.answer_tokens
                made = _usage(0, 0) if size is None else {**_usage(size, rewritten), ESTIMATED_BY: "ctxtui"}
                entry.changes["message"] = {**entry.message, **obj(entry.changes.get("message")), "usage": made}

    def lines(self, id_: str) -> Iterator[bytes]:
        """The lines of the session, whose id is now `id_`."""
        above: dict[str, Any] = {}
        tip: Any = None
        for number, entry in enumerate(self._entries):
            own = entry.value.get("id")
            if not number and entry.value.get("type") == "session":
                yield entry.line(id=id_)
                continue
            parent = above.get(word(entry.value.get("parentId")), entry.value.get("parentId"))
            for made in entry.before:
                yield canonical.dumps({**made, "parentId": parent} if own else _bare(made)) + b"\n"
                parent = made["id"]
            if entry.removed:
                above[word(own)] = parent
                continue
            tip = own or tip
            more = {"parentId": parent} if "parentId" in entry.value and parent != entry.value["parentId"] else {}
            yield entry.line(**more, **self._kept(entry))
        for made in self._behind:
            yield canonical.dumps({**made, "parentId": tip} if tip else _bare(made)) + b"\n"
            tip = made["id"] if tip else None

    def _kept(self, entry: PiEntry) -> dict[str, Any]:
        """Where what a compaction left standing begins now."""
        value = entry.value
        if isinstance(value.get("firstKeptEntryIndex"), int):
            gone = [n for n, one in enumerate(self._entries) if one.removed and n < value["firstKeptEntryIndex"]]
            new = sum(len(one.before) for one in self._entries[: value["firstKeptEntryIndex"]])
            return {"firstKeptEntryIndex": value["firstKeptEntryIndex"] - len(gone) + new} if gone or new else {}
        named = value.get("firstKeptEntryId")
        first = next((n for n, one in enumerate(self._entries) if named and one.value.get("id") == named), None)
        if first is None:
            return {}
        stays = next((one for one in self._entries[first:] if one is entry or not one.removed), entry)
        name = stays.before[0]["id"] if stays.before and stays is not entry else stays.value.get("id")
        return {"firstKeptEntryId": name} if name != named else {}


def _bare(made: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in made.items() if key != "id"}


def _answered(block: Block) -> str:
    value = obj(block.value())
    return word(value.get("tool_use_id")) or word(value.get("call_id")) or word(value.get("tool_call_id"))


def _usage(input_: int, output: int) -> dict[str, Any]:
    flat = {"input": input_, "output": output, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input_ + output}
    return {**flat, "cost": dict.fromkeys(_COSTS, 0)}


def _said(words: str) -> dict[str, Any]:
    return {"role": "user", "content": [_text(words)]}


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _words(block: Block) -> str:
    return block_content.read(block).text


def _spelled(block: Block) -> dict[str, Any]:
    """A block as pi spells a content part."""
    value = obj(block.value())
    source = obj(value.get("source"))
    match value.get("type"):
        case "tool_use":
            rest = {key: one for key, one in value.items() if key not in ("type", "id", "name", "input")}
            call = {"id": value.get("id"), "name": value.get("name"), "arguments": value.get("input")}
            return {"type": "toolCall", **call, **rest}
        case "image" if "data" in source:
            return {"type": "image", "data": source["data"], "mimeType": source.get("media_type")}
    return _text(_words(block))


def _content(block: Block) -> list[Any]:
    """A result's content as pi spells it."""
    content = obj(block.value()).get("content")
    if not isinstance(content, list):
        return [_text(_words(block))]
    return [_spelled(blocks.of(one)) if isinstance(one, dict) else _text(str(one)) for one in content]
