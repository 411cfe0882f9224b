"""Writes a pi session file that the client resumes, with an edited context.

The client walks from the last entry up (`parentId`). Dropped entries are therefore removed from that chain, and
inserted ones are linked into it. The client's meter and compaction use the usage of the last answer, zeros included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import Block, Item
from ctxtui.core.call import MAKER
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.transcripts.formats.pi.session import convert_part
from ctxtui.transcripts.kit.fields import COPIED, ESTIMATED_BY
from ctxtui.transcripts.kit.messages import RESULT
from ctxtui.transcripts.kit.resume import (
    LinkedEntry,
    ResumedFile,
    ResumeOrder,
    active_chain,
    add_member,
    apply_edits,
    count_losses,
    find_call_name,
    format_time,
    fresh_ids,
    is_answer,
    link_entries,
    name_losses,
    new_blocks,
    outdated_reports,
    read_block_text,
    read_source,
    remove_left_branches,
    replace_members,
)

_COSTS: Final = ("input", "output", "cacheRead", "cacheWrite", "total")
_LINKS: Final = {"id_key": "id", "parent_key": "parentId"}
_ID_DIGITS: Final = 8
"""Hex digits of an entry's id."""
_SUMMARIES: Final = ("compaction", "branch_summary", "branchSummary", "compactionSummary")
_EMPTY: Final = (
    "a dropped summary of a compaction is kept empty: without it, everything that it replaced would come back"
)


def resume(order: ResumeOrder) -> ResumedFile:
    """Write a copy of the session with the requested context, under a new id."""
    pieces, lost = read_source(order)
    entries = [_make_source_entry(raw, canonical.loads(piece.raw)) for raw, piece in pieces]
    chain = active_chain(entries, len(entries) - 1, **_LINKS)
    for number in set(range(len(entries))) - chain:
        entries[number].digests, entries[number].answers = [], {}
    edits = apply_edits(order, entries, cut=order.end is not None or bool(order.until))
    remove_left_branches(entries, chain, _LINKS["parent_key"])
    lost += [*edits.lost, *name_losses(new_blocks(entries, edits.appended), ("tool_use", "image"))]
    lost += [_EMPTY for entry in entries if entry.is_compaction and None in entry.changes.values()]
    _update_usage(entries, order)
    new = fresh_ids(
        (id_.replace("-", "")[:_ID_DIGITS] for id_ in order.ids), (as_str(entry.value.get("id")) for entry in entries)
    )
    before = {
        n: [_make_entry(entries, entry, items, new, order) for items in _split_results(entry.before)]
        for n, entry in enumerate(entries)
    }
    appended = [_make_entry(entries, entries[-1], items, new, order) for items in _split_results(edits.appended)]
    id_, time_text = next(order.ids), format_time(order.now)
    name = f"{time_text.replace(':', '-').replace('.', '-')}_{id_}.jsonl"
    return ResumedFile(b"".join(_iter_lines(entries, before, appended, id_)), count_losses(lost), id_, name)


class _PiEntry(LinkedEntry):
    """One entry, and its new usage (None: unchanged)."""

    usage: dict[str, Any] | None = None

    @property
    def message(self) -> dict[str, Any]:
        return as_dict(self.value.get("message"))

    @property
    def is_model_answer(self) -> bool:
        return self.value.get("type") == "message" and self.message.get("role") == "assistant"

    @property
    def is_compaction(self) -> bool:
        """Whether it is a compaction, which cannot be removed: everything it replaced would return."""
        return self.value.get("type") == "compaction"

    def change(self, part: int, block: Block | None) -> bool:
        if self.is_compaction:
            self.changes[part] = block
            return True
        # A damaged entry may have another role than its id suggests.
        return part < len(self.digests) and LinkedEntry.change(self, part, block)

    def line(self, **members: Any) -> bytes:
        if self.changes:
            members |= self._changed_members(next(iter(self.changes.values())))
        if self.usage is not None:
            members["message"] = {**self.message, **members.get("message", {}), "usage": self.usage}
        line = replace_members(self.raw, {key: canonical.dumps(value) for key, value in members.items()})
        copied = self.is_model_answer and COPIED not in self.value
        return (add_member(line, COPIED, canonical.dumps(MAKER)) if copied else line) + b"\n"

    def _changed_members(self, only: Block | None) -> dict[str, Any]:
        """Changed members; `only` is the new content of an entry of one block."""
        role, message = self.message.get("role"), self.message
        text = read_block_text(only) if only is not None else ""
        if _is_summary(self.value):
            return {"message": {**message, "summary": text}} if message else {"summary": text}
        if role == "toolResult" and only is not None:
            return {"message": {**message, "content": _convert_content(only)}}
        if role == "bashExecution":
            return {"message": {"role": "user", "content": [_make_text(text)], "timestamp": message.get("timestamp")}}
        parts = self.changed_parts((message or self.value).get("content"), _to_pi_part)
        content = [part if isinstance(part, dict) else _make_text(str(part)) for part in parts]
        return {"message": {**message, "content": content}} if message else {"content": content}


def _is_summary(value: dict[str, Any]) -> bool:
    return value.get("type") in _SUMMARIES or as_dict(value.get("message")).get("role") in _SUMMARIES


def _make_source_entry(raw: bytes, value: dict[str, Any]) -> _PiEntry:
    entry = _PiEntry(raw=raw, value=value, ends_with_session=value.get("type") != "session_info")
    message = entry.message or value
    role = message.get("role")
    content = message.get("content")
    if _is_summary(value):
        texts: list[Any] = [as_str(message.get("summary"))]
    elif role == "bashExecution":
        texts = [f"Ran `{as_str(message.get('command'))}`\n```\n{as_str(message.get('output'))}\n```"]
    elif role == "toolResult":
        # Matched by the call that it answers.
        entry.digests, entry.answers, texts = [""], {0: as_str(message.get("toolCallId"))}, []
    elif value.get("type") not in ("message", "custom_message"):
        texts = []
    else:
        texts = [content] if isinstance(content, str) else [convert_part(part) for part in as_list(content)]
    entry.digests += [(blocks.text(text) if isinstance(text, str) else blocks.from_part(text)).digest for text in texts]
    return entry


def _split_results(groups: Iterable[Iterable[Item]]) -> Iterator[list[Item]]:
    """Split `groups` so that each result has a group of its own, as in pi's messages."""
    for group in groups:
        for is_result, items in groupby(group, lambda item: item.block.kind == RESULT):
            members = list(items)
            yield from ([item] for item in members) if is_result else [members]


def _make_entry(
    entries: Sequence[_PiEntry], near: _PiEntry, items: Sequence[Item], new: Iterator[str], order: ResumeOrder
) -> dict[str, Any]:
    """Make an entry from inserted items, with the times of the entry `near`."""
    role = "assistant" if is_answer(items[0]) else "user"
    message: dict[str, Any] = {"role": role, "content": [_to_pi_part(item.block) for item in items]}
    more = {}
    if role == "assistant":
        template = next((entry.message for entry in reversed(entries) if entry.is_model_answer), {})
        api_members: dict[str, Any] = {key: template[key] for key in ("api", "provider", "model") if key in template}
        message |= {**api_members, "usage": _make_usage(0, 0), "stopReason": "stop"}
        more = {COPIED: MAKER}
    elif items[0].block.kind == RESULT:
        message = _make_result(items[0].block, order)
    message["timestamp"] = near.message.get("timestamp") or round(order.now * 1000)
    time = near.value.get("timestamp")
    return {"type": "message", "id": next(new), "timestamp": time, "message": message, **more}


def _make_result(block: Block, order: ResumeOrder) -> dict[str, Any]:
    value = as_dict(block.value())
    id_ = value.get("tool_use_id")
    about = {"toolCallId": id_, "toolName": find_call_name(order, id_), "isError": value.get("is_error") is True}
    return {"role": "toolResult", **about, "content": _convert_content(block)}


def _update_usage(entries: Sequence[_PiEntry], order: ResumeOrder) -> None:
    """Set outdated usage reports to zero, but the last answer's to the computed size, if known."""
    answers = [n for n, entry in enumerate(entries) if entry.is_model_answer and not entry.removed]
    for n, size in outdated_reports(entries, answers, order):
        entry, reported = entries[n], as_dict(entries[n].message.get("usage"))
        if reported:
            output = order.answer_tokens if entry.changes else as_count(reported.get("output"))
            entry.usage = _make_usage(0, 0) if size is None else {**_make_usage(size, output), ESTIMATED_BY: "ctxtui"}


def _iter_lines(
    entries: Sequence[_PiEntry], before: dict[int, list[dict[str, Any]]], appended: list[dict[str, Any]], id_: str
) -> Iterator[bytes]:
    """Yield the lines of the session under its new id `id_`, with inserted ones."""
    is_tree = any("parentId" in entry.value for entry in entries)
    for entry, parent in link_entries(entries, before, appended, **_LINKS):
        if isinstance(entry, dict):
            own = {key: value for key, value in entry.items() if key != "id"}
            yield canonical.dumps({**entry, "parentId": parent} if is_tree else own) + b"\n"
        elif entry is entries[0] and entry.value.get("type") == "session":
            yield entry.line(id=id_)
        else:
            more = {"parentId": parent} if "parentId" in entry.value and parent != entry.value["parentId"] else {}
            yield entry.line(**more, **_update_kept_start(entries, before, entry))


def _update_kept_start(
    entries: Sequence[_PiEntry], before: dict[int, list[dict[str, Any]]], compaction: _PiEntry
) -> dict[str, Any]:
    """Update where the entries that a compaction kept begin."""
    value = compaction.value
    if isinstance(index := value.get("firstKeptEntryIndex"), int):
        moved = sum(len(entry.before) - entry.removed for entry in entries[:index])
        return {"firstKeptEntryIndex": index + moved} if moved else {}
    named = value.get("firstKeptEntryId")
    first = next((n for n, entry in enumerate(entries) if named and entry.value.get("id") == named), None)
    if first is None:
        return {}
    number = next((n for n in range(first, len(entries)) if entries[n] is compaction or not entries[n].removed), first)
    stays = entries[number]
    name = before[number][0]["id"] if before[number] and stays is not compaction else stays.value.get("id")
    return {"firstKeptEntryId": name} if name != named else {}


def _make_usage(input_: int, output: int) -> dict[str, Any]:
    flat = {"input": input_, "output": output, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input_ + output}
    return {**flat, "cost": dict.fromkeys(_COSTS, 0)}


def _make_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _to_pi_part(block: Block) -> dict[str, Any]:
    value = as_dict(block.value())
    source = as_dict(value.get("source"))
    match value.get("type"):
        case "tool_use":
            other_members = {key: member for key, member in value.items() if key not in ("type", "id", "name", "input")}
            call = {"id": value.get("id"), "name": value.get("name"), "arguments": value.get("input")}
            return {"type": "toolCall", **call, **other_members}
        case "image" if "data" in source:
            return {"type": "image", "data": source["data"], "mimeType": source.get("media_type")}
    return _make_text(read_block_text(block))


def _convert_content(block: Block) -> list[Any]:
    content = as_dict(block.value()).get("content")
    if not isinstance(content, list):
        return [_make_text(read_block_text(block))]
    return [
        _to_pi_part(blocks.from_part(part)) if isinstance(part, dict) else _make_text(str(part)) for part in content
    ]
