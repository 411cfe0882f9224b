"""A Claude Code session file that the client can resume, with an edited context (facts §11).

The client rebuilds the context from the chain of records (`parentUuid`), which stays unbroken: what is dropped is taken
out of it, and what followed hangs on what stood before. The new session's id is the file's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.call import MAKER
from ctxtui.transcripts.formats.claude_code.resume.figures import cut_behind, settle
from ctxtui.transcripts.formats.claude_code.resume.record import COPIED, SourceRecord, made_record, read
from ctxtui.transcripts.formats.claude_code.resume.record_positions import Places, places
from ctxtui.transcripts.kit.resume import (
    UNHELD,
    ResumedFile,
    ResumeOrder,
    ResumePlan,
    added,
    fresh_ids,
    losses,
    plan,
    spliced,
    told,
)

_OWN = "the client writes its system prompt and tools itself: as it has them"


def resume(order: ResumeOrder) -> ResumedFile:
    """A session's main file, so that a client that resumes it has the context that is asked for.

    The new file must be named after its session's id. Subagents' own files are not part of it.
    """
    records, lost = read(order.source, order.until)
    where = places(records, order.path)
    found = where.found
    stop = _stop(found, order)
    wanted = plan(order.path, [one for one in order.sent if order.end is None or one.at is None or one.at < order.end])
    lost += _change(records, order.path[: order.end], where, wanted)
    if stop is not None:
        lost += cut_behind(records, stop)
    chain = ResumeChain(records)
    new = fresh_ids(order.ids, chain.known)
    session_id = next(new)
    for at, items in sorted(wanted.after.items()):
        _put_in(chain, found, at, items, new)
    settle(records, chain.first_change, order)
    return ResumedFile(b"".join(chain.lines(session_id)), losses(lost), session_id, f"{session_id}.jsonl")


def _stop(found: dict[int, tuple[int, int]], order: ResumeOrder) -> int | None:
    """The number of the last record that is part of the session; None where the whole file is."""
    if order.end is None:
        return None
    return max((found[at][0] for at in found if at < order.end), default=None)


def _change(records: list[SourceRecord], path: Sequence[Item], where: Places, wanted: ResumePlan) -> Iterator[str]:
    """Drop and replace in `records` what `wanted` does; gives what could not be done."""
    for at, item in told(enumerate(path)):
        stands = wanted.stands.get(at)
        if stands is not None and stands.block.digest == item.block.digest:
            continue
        if at not in where.found:
            yield UNHELD if item.place.section == "messages" else _OWN
            continue
        number, part = where.found[at]
        for beside in where.beside.get(at, ()):
            records[beside].removed = True
        if not records[number].change(part, stands.block.value() if stands else None):
            # What the client writes around a message is no message: another stands in its place.
            records[number].removed = True
            if stands is not None:
                wanted.put(at, [stands])


def _put_in(
    chain: ResumeChain, found: dict[int, tuple[int, int]], at: int, items: Sequence[Item], new: Iterator[str]
) -> None:
    """New records for `items`, just before the next record of the path that stays."""
    later = (found[n][0] for n in sorted(found) if n > at)
    above = found[at][0] if at in found else -1
    follower = next((n for n in later if n != above and not chain.records[n].removed), None)
    before = [found[n][0] for n in sorted(found) if n <= at and not chain.records[found[n][0]].removed]
    for role, group in groupby(items, lambda item: "assistant" if item.place.role == "assistant" else "user"):
        like = chain.records[follower if follower is not None else before[-1] if before else 0].value
        parts: list[Any] = [canonical.loads(item.block.body) for item in group]
        chain.put(made_record(like, role, parts, next(new)), follower, before[-1] if before else None)


REFERENCES: Final = ("parentUuid", "logicalParentUuid", "leafUuid", "sourceToolAssistantUUID")
"""Members of a record that name another one."""


class ResumeChain:
    """The records of a session with what is put in before them. `known` are the uuids in use."""

    def __init__(self, records: list[SourceRecord]) -> None:
        self.records = records
        self.known = {str(one.value["uuid"]) for one in records if one.value.get("uuid")}
        self._by_id = {str(one.value["uuid"]): one for one in reversed(records) if one.value.get("uuid")}
        self._numbers = {id(one): number for number, one in enumerate(records)}
        self._before: dict[int, list[dict[str, Any]]] = {}
        self._last: list[dict[str, Any]] = []

    def put(self, record: dict[str, Any], follower: int | None, above: int | None) -> None:
        """Put `record` in just before the record number `follower`, or at the end, behind the record number `above`
        (both 0-based)."""
        if follower is None:
            parent = self._last[-1]["uuid"] if self._last else self._stays(self._uuid(above))
            self._last.append({**record, "parentUuid": parent})
            return
        waiting = self._before.setdefault(follower, [])
        parent = waiting[-1]["uuid"] if waiting else self._stays(self.records[follower].value.get("parentUuid"))
        waiting.append({**record, "parentUuid": parent})

    def lines(self, session_id: str) -> Iterator[bytes]:
        """The lines of the session, whose id is now `session_id`, each with its line end."""
        own = canonical.dumps(session_id)
        for number, record in enumerate(self.records):
            before = self._before.get(number, [])
            yield from (_line({**one, "sessionId": session_id}) for one in before)
            if not record.removed and not self._of_removed(record):
                changes = record.members | self._references(record, before)
                if isinstance(record.value.get("sessionId"), str):
                    changes["sessionId"] = own
                line = spliced(record.raw, changes)
                if record.value.get("type") == "assistant" and COPIED not in record.value:
                    line = added(line, COPIED, canonical.dumps(MAKER))
                yield line + b"\n"
        yield from (_line({**one, "sessionId": session_id}) for one in self._last)

    @property
    def first_change(self) -> int:
        """The number of the first record that says something else than it said, or has something new behind it."""
        touched = [number for number, record in enumerate(self.records) if record.touched]
        return min([*touched, *(number - 1 for number in self._before), len(self.records)])

    def _uuid(self, number: int | None) -> Any:
        return None if number is None else self.records[number].value.get("uuid")

    def _stays(self, uuid: Any) -> Any:
        """The nearest record from `uuid` upwards that stays; None where there is none."""
        while isinstance(uuid, str) and uuid in self._by_id and self._by_id[uuid].removed:
            above = self._by_id[uuid].value
            uuid = above.get("parentUuid") or above.get("logicalParentUuid")
        return uuid

    def _references(self, record: SourceRecord, before: list[dict[str, Any]]) -> dict[str, bytes | None]:
        changes: dict[str, bytes | None] = {}
        for key in REFERENCES:
            named = record.value.get(key)
            stays = self._stays(named)
            if key == "parentUuid" and before:
                stays = before[-1]["uuid"]
            if stays != named:
                changes[key] = canonical.dumps(stays)
        metadata = record.value.get("compactMetadata")
        if isinstance(metadata, dict):
            kept = self._kept(metadata)
            if kept != metadata:
                changes["compactMetadata"] = canonical.dumps(kept)
        return changes

    def _kept(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """What a compaction says of the messages that it left standing, with what became of them: the client takes none
        of them where one that it names is missing."""
        kept = dict(metadata)
        segment, listed = kept.get("preservedSegment"), kept.get("preservedMessages")
        if isinstance(segment, dict):
            left = self._left(self._stretch(segment.get("headUuid"), segment.get("tailUuid")))
            if left:
                kept["preservedSegment"] = {**segment, **self._anchored(segment)}
                kept["preservedSegment"] |= {"headUuid": left[0], "tailUuid": left[-1]}
            elif self._by_id.keys() >= {segment.get("headUuid"), segment.get("tailUuid")}:
                del kept["preservedSegment"]
        if isinstance(listed, dict):
            names = {key: self._left(value) for key, value in listed.items() if isinstance(value, list)}
            kept["preservedMessages"] = {**listed, **self._anchored(listed), **names}
            if names and not any(names.values()):
                del kept["preservedMessages"]
        return kept

    def _anchored(self, named: dict[str, Any]) -> dict[str, Any]:
        return {"anchorUuid": self._stays(named["anchorUuid"])} if "anchorUuid" in named else {}

    def _stretch(self, head: Any, tail: Any) -> list[Any]:
        """The uuids from `head` to `tail` along the chain; none where `tail` does not stand below `head`."""
        found: list[Any] = []
        at = tail
        while isinstance(at, str) and at in self._by_id and at not in found:
            found.append(at)
            if at == head:
                return found[::-1]
            at = self._by_id[at].value.get("parentUuid")
        return []

    def _left(self, uuids: list[Any]) -> list[Any]:
        """`uuids` with what was put in before them and without those that are taken out."""
        left: list[Any] = []
        for uuid in uuids:
            record = self._by_id.get(uuid) if isinstance(uuid, str) else None
            if record is None:
                left.append(uuid)
                continue
            left += [one["uuid"] for one in self._before.get(self._numbers[id(record)], [])]
            left += [] if record.removed else [uuid]
        return left

    def _of_removed(self, record: SourceRecord) -> bool:
        """Whether `record` only serves one that is taken out: the files as they stood when it was said."""
        owner = self._by_id.get(str(record.value.get("messageId")))
        return record.value.get("type") == "file-history-snapshot" and owner is not None and owner.removed


def _line(record: dict[str, Any]) -> bytes:
    return canonical.dumps(record) + b"\n"
