"""Goose's database: sessions, their messages, and usage sums.

Only a session's last call has usage of its own; that of the others is in the session's sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.block import Item
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.session import Described, Event, ThreadSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids, in_all
from ctxtui.transcripts.kit.fields import at, count, listed, moment, obj, objects, word
from ctxtui.transcripts.kit.messages import spoken
from ctxtui.transcripts.kit.readers import Row, Tables, decoded, rows_reader, tables_in

_NOTES: Final = frozenset({"systemNotification", "toolConfirmationRequest", "actionRequired"})
"""Parts shown to the user that no model reads."""


def part_of(part: dict[str, Json]) -> Json:
    """Convert a part of a message to Anthropic's spelling; None if no model reads it."""
    kind = part.get("type")
    if kind in _NOTES:
        return None
    if kind == "image":
        return messages.image(word(part.get("mimeType")), part.get("data"))
    if kind == "thinking":
        return messages.thinking(word(part.get("thinking")), part.get("signature"))
    if kind == "reasoning":
        return messages.thinking(word(part.get("text")))
    if kind == "redactedThinking":
        return {"type": "redacted_thinking", "data": part.get("data")}
    if kind in ("toolRequest", "frontendToolRequest"):
        call = obj(at(part, "toolCall", "value"))
        # A call that could not be parsed is an error instead.
        given = call.get("arguments") if call else at(part, "toolCall", "error")
        return messages.tool_use(part.get("id"), call.get("name") or "", given)
    if kind == "toolResponse":
        return _result(part)
    return part


def _result(part: dict[str, Json]) -> Json:
    result = obj(part.get("toolResult"))
    value = result.get("value")
    # Until 1.20 the value was the content itself.
    content = obj(value).get("content") if isinstance(value, dict) else value
    failed = result.get("status") == "error" or obj(value).get("isError") is True
    said: list[Json] = [part_of(one) for one in objects(content)]
    return messages.tool_result(part.get("id"), said if listed(content) else result.get("error") or "", failed)


NAME: Final = "goose"
_TABLES: Final = frozenset({"sessions", "messages", "schema_version"})


def sniff(head: bytes, name: str) -> float:
    """Confidence that `head` begins the rows of Goose's database."""
    return 0.9 if tables_in(head) >= _TABLES else 0.0


def take(tables: Tables, tree: Tree) -> Iterator[Event]:
    """Yield the events of the sessions in `tables`: the newest is the main thread, the others are further threads."""
    rows = sorted(tables.get("sessions", []), key=lambda row: word(row.get("updated_at")), reverse=True)
    ids = Ids()
    talks: dict[str, list[Row]] = {}
    for one in sorted(tables.get("messages", []), key=lambda one: count(one.get("id"))):
        talks.setdefault(word(one.get("session_id")), []).append(one)
    for number, row in enumerate(rows):
        said = talks.get(word(row.get("id")), [])
        thread = Dialogue(tree, ids=ids) if number == 0 else Dialogue(tree, word(row.get("id")), ids)
        if number:
            yield ThreadSeen(thread.thread, _title(row))
        yield from _session(thread, ids, row, said)
        if number == 0:
            cwd = word(row.get("working_dir"))
            yield Described(word(row.get("id")), _title(row) or thread.title, NAME, cwd=cwd, client=NAME)


def _title(row: Row) -> str:
    return word(row.get("name")) or word(row.get("description"))


def _session(dialogue: Dialogue, ids: Ids, row: Row, rows: list[Row]) -> Iterator[Event]:
    model = word(at(decoded(row.get("model_config_json")), "model_name"))
    known = Call("", "", model=model, provider=word(row.get("provider_name")))
    spans = _spans(rows)
    last = max((number for number, (role, _) in enumerate(spans) if role == "assistant"), default=-1)
    reported, whole = _usage(row, ""), _usage(row, "accumulated_")
    left, read = False, list[Item]()
    for number, (role, of) in enumerate(spans):
        items = spoken(role, *(part for one in of for part in _parts(one)))
        stays = _stays(of[0])
        if left and stays:
            # Hidden messages are still shown to the user; the model continues without them.
            dialogue.restart(EpochStart.COMPACTION, head=dialogue.tree.extend(ROOT, read))
        left = not stays
        read += items if stays else []
        if role == "assistant":
            usage = reported if number == last else None
            ended, id_ = moment(of[-1].get("created_timestamp")), word(of[0].get("message_id"))
            yield dialogue.answer(items, replace(known, id=id_, ended=ended, usage=usage))
        else:
            dialogue.say(items)
    yield dialogue.tip()
    if whole is not None and dialogue.unreported:
        used = reported or Usage()
        rest = replace(whole, fresh=max(0, whole.fresh - used.fresh), output=max(0, whole.output - used.output))
        thread = f"totals {word(row.get('id'))}"
        yield from in_all(dialogue.tree, ids, replace(known, usage=rest), dialogue.unreported, thread, dialogue.thread)


def _spans(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    """Group the rows of each message, with its role: an answer of several parts has several rows."""
    found: list[tuple[str, list[Row]]] = []
    for row in rows:
        role = word(row.get("role")) or "user"
        if not _parts(row):
            continue
        if role == "assistant" and found and found[-1][0] == role and _stays(found[-1][1][0]) == _stays(row):
            found[-1][1].append(row)
        else:
            found.append((role, [row]))
    return found


def _stays(row: Row) -> bool:
    """Whether the model still reads a message."""
    return obj(decoded(row.get("metadata_json"))).get("agentVisible") is not False


def _usage(row: Row, sums: str) -> Usage | None:
    """Usage from the columns with the prefix `sums`; cache figures are not recorded."""
    fresh, output = (row.get(f"{sums}{side}_tokens") for side in ("input", "output"))
    return None if fresh is None and output is None else Usage(count(fresh), output=count(output), has_cache=False)


def _parts(row: Row) -> list[Json]:
    return [made for part in objects(decoded(row.get("content_json"))) if (made := part_of(part)) is not None]


reader = rows_reader(take)
