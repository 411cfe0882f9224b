"""Goose's database: sessions, their messages, and usage sums.

Only a session's last call has usage of its own; that of the others is in the session's sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.block import Item
from ctxtui.core.call import COPIED_BY, ESTIMATED_INPUT, MAKER, Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.core.session import Described, Event, ThreadSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids, emit_sum
from ctxtui.transcripts.kit.fields import as_dicts, as_time, get_path
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import Row, Tables, decode_column, rows_reader, tables_in

_NOTES: Final = frozenset({"systemNotification", "toolConfirmationRequest", "actionRequired"})
"""Parts shown to the user that no model reads."""


def convert_part(part: dict[str, Json]) -> Json:
    """Convert a part of a message to Anthropic's spelling; None if no model reads it."""
    kind = as_str(part.get("type"))
    if kind in _NOTES:
        return None
    if kind == "image":
        return messages.image(as_str(part.get("mimeType")), part.get("data"))
    if kind == "thinking":
        return messages.thinking(as_str(part.get("thinking")), part.get("signature"))
    if kind == "reasoning":
        return messages.thinking(as_str(part.get("text")))
    if kind == "redactedThinking":
        return {"type": "redacted_thinking", "data": part.get("data")}
    if kind in ("toolRequest", "frontendToolRequest"):
        call = as_dict(get_path(part, "toolCall", "value"))
        # A call that could not be parsed is an error instead.
        tool_input = call.get("arguments") if call else get_path(part, "toolCall", "error")
        return messages.tool_use(part.get("id"), call.get("name") or "", tool_input)
    if kind == "toolResponse":
        return _convert_result(part)
    return part


def _convert_result(part: dict[str, Json]) -> Json:
    result = as_dict(part.get("toolResult"))
    value = result.get("value")
    # Until 1.20 the value was the content itself.
    content = as_dict(value).get("content") if isinstance(value, dict) else value
    failed = result.get("status") == "error" or as_dict(value).get("isError") is True
    content_parts: list[Json] = [convert_part(part) for part in as_dicts(content)]
    return messages.tool_result(
        part.get("id"), content_parts if as_list(content) else result.get("error") or "", failed
    )


NAME: Final = "goose"
COPY_PREFIX: Final = "ctxtui:"
"""Begins the ids of messages that ctxtui copied into a session for Goose to import; nothing else passes an import."""
EXTENSION: Final = "ctxtui.v0"
"""ctxtui's member of a session's ``extension_data``."""
ESTIMATED: Final = "estimated"
"""Member of that: the session's tokens are an estimate, until its first own call."""
_TABLES: Final = frozenset({"sessions", "messages", "schema_version"})


def sniff(head: bytes, name: str) -> float:
    return 0.9 if tables_in(head) >= _TABLES else 0.0


def read_tables(tables: Tables, tree: Tree) -> Iterator[Event]:
    """Yield the events of the sessions in `tables`; the last updated is the main thread."""
    rows = sorted(tables.get("sessions", []), key=lambda row: as_str(row.get("updated_at")), reverse=True)
    ids = Ids()
    rows_by_session = sort_messages(tables)
    for number, row in enumerate(rows):
        session_rows = rows_by_session.get(as_str(row.get("id")), [])
        thread = Dialogue(tree, ids=ids) if number == 0 else Dialogue(tree, as_str(row.get("id")), ids)
        if number:
            yield ThreadSeen(thread.thread, session_title(row))
        yield from _read_session(thread, ids, row, session_rows)
        if number == 0:
            cwd = as_str(row.get("working_dir"))
            yield Described(as_str(row.get("id")), session_title(row) or thread.title, NAME, cwd=cwd, client=NAME)


def sort_messages(tables: Tables) -> dict[str, list[Row]]:
    """Group the rows of messages by their session's id, in the order of writing."""
    rows_by_session: dict[str, list[Row]] = {}
    for message_row in sorted(tables.get("messages", []), key=lambda message_row: as_count(message_row.get("id"))):
        rows_by_session.setdefault(as_str(message_row.get("session_id")), []).append(message_row)
    return rows_by_session


def session_title(row: Row) -> str:
    return as_str(row.get("name")) or as_str(row.get("description"))


def _read_session(dialogue: Dialogue, ids: Ids, row: Row, rows: list[Row]) -> Iterator[Event]:
    model = as_str(get_path(decode_column(row.get("model_config_json")), "model_name"))
    base_call = Call("", "", model=model, provider=as_str(row.get("provider_name")))
    spans = _group_messages(rows)
    last = max((number for number, (_, rows_) in enumerate(spans) if _is_answer(rows_[0])), default=-1)
    reported, total = _read_usage(row, ""), _read_usage(row, "accumulated_")
    extensions = decode_column(row.get("extension_data"))
    was_removed, read = False, list[Item]()
    for number, (role, rows_) in enumerate(spans):
        items = make_message(role, *(part for row in rows_ for part in _message_parts(row)))
        stays = _is_visible(rows_[0])
        if was_removed and stays:
            # Hidden messages are still shown to the user; the model continues without them.
            dialogue.restart(EpochStart.COMPACTION, head=dialogue.tree.extend(ROOT, read))
        was_removed = not stays
        read += items if stays else []
        if _is_answer(rows_[0]):
            usage = reported if number == last else None
            ended, id_ = as_time(rows_[-1].get("created_timestamp")), as_str(rows_[0].get("message_id"))
            call_extra: dict[str, Json] = {COPIED_BY: MAKER} if id_.startswith(COPY_PREFIX) else {}
            if call_extra and usage is not None and get_path(extensions, EXTENSION, ESTIMATED) is True:
                call_extra[ESTIMATED_INPUT], usage = usage.input, None
            call = replace(base_call, id=id_.removeprefix(COPY_PREFIX), ended=ended, usage=usage, extra=call_extra)
            yield dialogue.add_call(items, call)
        else:
            dialogue.add(items)
    yield dialogue.tip_event()
    unreported_calls = [call for call in dialogue.unreported if not call.is_copy]
    if total is not None and unreported_calls:
        used = reported or Usage()
        unreported = replace(total, fresh=max(0, total.fresh - used.fresh), output=max(0, total.output - used.output))
        thread = f"totals {as_str(row.get('id'))}"
        yield from emit_sum(
            dialogue.tree, ids, replace(base_call, usage=unreported), unreported_calls, thread, dialogue.thread
        )


def _group_messages(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    """Group the rows of each message, with its role: an answer may have several rows."""
    spans: list[tuple[str, list[Row]]] = []
    for row in rows:
        role = as_str(row.get("role")) or "user"
        if not _message_parts(row):
            continue
        before = spans[-1][1][0] if spans else {}
        if _is_answer(row) and _is_answer(before) and _is_visible(before) == _is_visible(row):
            spans[-1][1].append(row)
        else:
            spans.append((role, [row]))
    return spans


def _is_answer(row: Row) -> bool:
    """Whether the model generated a message; the client's own are not shown to the user."""
    shown = as_dict(decode_column(row.get("metadata_json"))).get("userVisible") is not False
    return row.get("role") == "assistant" and (shown or not _is_visible(row))


def _is_visible(row: Row) -> bool:
    """Whether the model still reads a message."""
    return as_dict(decode_column(row.get("metadata_json"))).get("agentVisible") is not False


def _read_usage(row: Row, sums: str) -> Usage | None:
    """Usage from the columns with the prefix `sums`; cache figures are not recorded."""
    fresh, output = (row.get(f"{sums}{side}_tokens") for side in ("input", "output"))
    return (
        None if fresh is None and output is None else Usage(as_count(fresh), output=as_count(output), has_cache=False)
    )


def _message_parts(row: Row) -> list[Json]:
    return [
        new_part
        for part in as_dicts(decode_column(row.get("content_json")))
        if (new_part := convert_part(part)) is not None
    ]


reader = rows_reader(read_tables)
