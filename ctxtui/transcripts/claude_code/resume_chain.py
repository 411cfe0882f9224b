"""The chain of records in a resumed Claude Code session: unbroken, whatever was taken out of it or put in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ctxtui.core import canonical
from ctxtui.transcripts.claude_code.resume_record import Source
from ctxtui.transcripts.resume import spliced

REFERENCES: Final = ("parentUuid", "logicalParentUuid", "leafUuid", "sourceToolAssistantUUID")
"""Members of a record that name another one."""


class Chain:
    """The records of a session with what is put in before them. `known` are the uuids in use."""

    def __init__(self, records: list[Source]) -> None:
        self.records = records
        self.known = {str(one.value["uuid"]) for one in records if one.value.get("uuid")}
        self._by_id = {str(one.value["uuid"]): one for one in reversed(records) if one.value.get("uuid")}
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
                yield spliced(record.raw, changes) + b"\n"
        yield from (_line({**one, "sessionId": session_id}) for one in self._last)

    def _uuid(self, number: int | None) -> Any:
        return None if number is None else self.records[number].value.get("uuid")

    def _stays(self, uuid: Any) -> Any:
        """The nearest record from `uuid` upwards that stays; None where there is none."""
        while isinstance(uuid, str) and uuid in self._by_id and self._by_id[uuid].removed:
            above = self._by_id[uuid].value
            uuid = above.get("parentUuid") or above.get("logicalParentUuid")
        return uuid

    def _references(self, record: Source, before: list[dict[str, Any]]) -> dict[str, bytes]:
        changes = {}
        for key in REFERENCES:
            named = record.value.get(key)
            stays = self._stays(named)
            if key == "parentUuid" and before:
                stays = before[-1]["uuid"]
            if stays != named:
                changes[key] = canonical.dumps(stays)
        return changes

    def _of_removed(self, record: Source) -> bool:
        """Whether `record` only serves one that is taken out: the files as they stood when it was said."""
        owner = self._by_id.get(str(record.value.get("messageId")))
        return record.value.get("type") == "file-history-snapshot" and owner is not None and owner.removed


def _line(record: dict[str, Any]) -> bytes:
    return canonical.dumps(record) + b"\n"
