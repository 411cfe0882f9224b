"""Write a Continue session that the client resumes, with an edited context.

``cn --fork ID`` begins a session with the history of ``ID.json`` in its folder. The client counts tokens itself, and
takes its cost from the session's ``usage``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import Block, Item
from ctxtui.core.call import MAKER
from ctxtui.core.json_values import as_dict, as_str
from ctxtui.transcripts.formats.continue_cli.session import CALLS, CONTENT, RESULTS, SUMMARY, ItemPart, item_parts
from ctxtui.transcripts.kit.fields import COPIED, as_dicts
from ctxtui.transcripts.kit.readers import parse_json
from ctxtui.transcripts.kit.resume import (
    ResumedFile,
    ResumeEntry,
    ResumeOrder,
    apply_edits,
    count_losses,
    find_blocks,
    find_end,
    first_change,
    is_answer,
    name_losses,
    new_blocks,
    read_block_text,
)

_OUTPUT: Final = {"name": "Tool Result", "description": "Tool execution result"}
_SUPPORTED_KINDS: Final = ("tool_use", "image_url")
"""Kinds of blocks besides texts that an item can hold."""


def resume(order: ResumeOrder) -> ResumedFile:
    """Write a copy of the session with the requested context, under a new id."""
    value, damage = parse_json(order.source)
    session = as_dict(value)
    recorded = as_dicts(session.get("history"))
    items = [_HistoryItem.from_value(item, is_last=item is recorded[-1]) for item in recorded]
    positions = find_blocks(order.path, items[: find_end(order.path, items)])
    edits = apply_edits(order, items, positions, cut=True)
    # A summary replaces what is before it.
    start = max((n for n, item in enumerate(items[: (edits.last or 0) + 1]) if SUMMARY in item.value), default=0)
    first = first_change(items)
    history: list[Any] = []
    for number, item in enumerate(items[start:], start):
        history += _make_items(item.before)
        history += [] if item.removed else [item.write(has_report=number <= first)]
    history += _make_items(edits.appended)
    id_ = next(order.ids)
    # The sums are of the session's own calls: the copy has made none.
    members = {key: member for key, member in session.items() if key != "usage"}
    data = canonical.dumps({**members, "sessionId": id_, "history": history})
    lost = [f"line {damage.line}: {damage.reason}"] if damage is not None else []
    lost += [*edits.lost, *name_losses(new_blocks(items, edits.appended), _SUPPORTED_KINDS)]
    return ResumedFile(data + b"\n", count_losses(lost), id_, f"{id_}.json")


class _HistoryItem(ResumeEntry):
    """An item of the session's history, with its parts that a model reads."""

    value: dict[str, Any]
    parts: list[ItemPart]

    @classmethod
    def from_value(cls, value: dict[str, Any], *, is_last: bool) -> _HistoryItem:
        parts = list(item_parts(value, is_last=is_last))
        results = {n: as_str(as_dict(part.value).get("tool_use_id")) for n, part in enumerate(parts)}
        return cls(
            value=value,
            parts=parts,
            digests=[blocks.from_part(part.value).digest for part in parts],
            answers={n: call_id for n, call_id in results.items() if call_id},
        )

    def write(self, *, has_report: bool) -> dict[str, Any]:
        """Apply the changes; an answer is marked as a copy, with usage only if `has_report`."""
        item, message = dict(self.value), dict(as_dict(self.value.get("message")))
        for member in dict.fromkeys(self.parts[n].member for n in self.changes):
            new = {self.parts[n].position: block for n, block in self.changes.items() if self.parts[n].member == member}
            holder = message if member in (CONTENT, CALLS) else item
            holder[member] = _change_member(member, holder.get(member), new)
        if "editorState" in item and self.changes:
            item["editorState"] = message.get(CONTENT)
        if SUMMARY in item:
            message[CONTENT] = item[SUMMARY]
        if message.get("role") == "assistant":
            item[COPIED] = MAKER
            report = as_dict(message.get("usage"))
            if report and not has_report:
                message["usage"] = {"model": report.get("model")}
        return {**item, "message": message}


def _change_member(member: str, value: Any, new: dict[int, Block | None]) -> Any:
    """Replace the parts of a member at the keys of `new`; None removes one."""
    if not isinstance(value, list):
        block = new[0]
        return read_block_text(block) if block is not None else ""
    changed = []
    for n, part in enumerate(value):
        block = new.get(n)
        if block is not None:
            changed.append(_change_part(member, as_dict(part), block))
        elif n not in new:
            changed.append(part)
    return changed


def _change_part(member: str, part: dict[str, Any], block: Block) -> dict[str, Any]:
    text, value = read_block_text(block), as_dict(block.value())
    if member == CONTENT:
        return _make_content(block)
    if member == RESULTS:
        output = next(iter(as_dicts(part.get("output"))), _OUTPUT)
        return {**part, "output": [{**output, "content": text}]}
    if member == CALLS:
        return {**part, "function": {**as_dict(part.get("function")), **_make_function(value)}}
    return {**part, "content": text}


def _make_content(block: Block) -> dict[str, Any]:
    value = as_dict(block.value())
    if value.get("type") == "image_url":
        return {"type": "imageUrl", "imageUrl": value.get("image_url")}
    return {"type": "text", "text": read_block_text(block)}


def _make_function(call: dict[str, Any]) -> dict[str, Any]:
    return {"name": call.get("name"), "arguments": canonical.dump_text(call.get("input"))}


def _make_items(groups: Sequence[Sequence[Item]]) -> list[dict[str, Any]]:
    """Make items of the history; a result becomes part of the item with its call."""
    items: list[dict[str, Any]] = []
    for group in groups:
        rest = [item for item in group if not (items and _add_result(items[-1], item.block))]
        if rest:
            items.append(_make_item(rest))
    return items


def _add_result(answer: dict[str, Any], block: Block) -> bool:
    """Add a result to the item with its call; False if it is no result of that."""
    value = as_dict(block.value())
    id_ = value.get("tool_use_id")
    call = next((call for call in as_dicts(answer["message"].get(CALLS)) if id_ and call["id"] == id_), None)
    if call is None:
        return False
    state = {
        "toolCallId": id_,
        "toolCall": call,
        "status": "errored" if value.get("is_error") is True else "done",
        "parsedArgs": canonical.loads(call["function"]["arguments"]),
        "output": [{**_OUTPUT, "content": read_block_text(block)}],
    }
    answer.setdefault(RESULTS, []).append(state)
    return True


def _make_item(group: Sequence[Item]) -> dict[str, Any]:
    values = [as_dict(item.block.value()) for item in group]
    calls = [
        {"id": value.get("id"), "type": "function", "function": _make_function(value)}
        for value in values
        if value.get("type") == "tool_use"
    ]
    content = [_make_content(item.block) for item in group if item.block.kind != "tool_use"]
    is_text = len(content) == 1 and "text" in content[0]
    message = {
        "role": "assistant" if is_answer(group[0]) else "user",
        CONTENT: content[0]["text"] if is_text else content or "",
        **({CALLS: calls} if calls else {}),
    }
    return {"message": message, "contextItems": [], **({COPIED: MAKER} if is_answer(group[0]) else {})}
