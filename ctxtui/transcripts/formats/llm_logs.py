"""Reads the database of simonw/llm.

Since mid-2026 it stores messages by hash, each with its parent's hash, so that conversations share their common
messages; a turn names the message that its answer ends with. Older versions store responses, each with what it added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.core.session import MAIN, Described, Event, ThreadSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import as_dicts, as_time, get_path
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import Row, Tables, decode_column, rows_reader, tables_in


def _group_by(rows: list[Row], key: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_as_key(row.get(key)), []).append(row)
    return groups


def _as_key(value: Json) -> str:
    """Convert a column's value to a key; numbers are row ids."""
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _tool_item(row: Row) -> Item:
    definition = {"name": row.get("name"), "description": row.get("description")}
    return Item(
        blocks.make(TOOL, {**definition, "input_schema": decode_column(row.get("input_schema"))}), Place("tools")
    )


def _convert_attachment(row: Row) -> dict[str, Json]:
    """Convert an attached picture or document; one named only by path or URL stays a reference."""
    mime, data = as_str(row.get("type")), get_path(row.get("content"), "base64")
    if mime.startswith("image/") and isinstance(data, str):
        return messages.image(mime, data)
    source: dict[str, Json] = {"type": "base64", "media_type": mime, "data": data}
    if not isinstance(data, str):
        source = {key: row[key] for key in ("url", "path") if row.get(key)}
        source = {"type": next(iter(source), "none"), **source, "media_type": mime}
    return {"type": "image" if mime.startswith("image/") else "document", "source": source}


def _to_call(row: Row) -> Call:
    began, lasted = as_time(row.get("datetime_utc")), as_count(row.get("duration_ms"))
    answer = as_dict(decode_column(row.get("response_json")))
    call_extra: dict[str, Json] = {}
    if row.get("options_json") and decode_column(row["options_json"]):
        call_extra["options"] = decode_column(row["options_json"])
    call_extra |= {key: row[key] for key in ("schema_id",) if row.get(key)}
    if answer.get("id"):
        call_extra["response_id"] = answer["id"]
    model = as_str(row.get("model"))
    return Call(
        as_str(row.get("id")),
        "",
        provider=model.partition("/")[0] if "/" in model else "",
        model=as_str(row.get("resolved_model")) or model,
        started=began,
        ended=began + lasted / 1000 if began is not None and lasted else None,
        usage=usage(row, answer),
        stop_reason=as_str(answer.get("finish_reason")) or as_str(answer.get("stop_reason")),
        extra=call_extra,
    )


def usage(row: Row, answer: dict[str, Json]) -> Usage | None:
    """Convert usage as llm stores it; None if both figures are missing.

    llm stores the provider's two figures, and the rest of its report as JSON without zeros.
    """
    if row.get("input_tokens") is None and row.get("output_tokens") is None:
        return None
    details = as_dict(decode_column(row.get("token_details")))
    input_tokens, output = as_count(row.get("input_tokens")), as_count(row.get("output_tokens"))
    inputs = [as_dict(details.get(name)) for name in ("prompt_tokens_details", "input_tokens_details")]
    cached = max(as_count(report.get("cached_tokens")) for report in inputs)
    written = max(as_count(report.get("cache_write_tokens")) for report in inputs)
    beside = as_count(details.get("cache_read_input_tokens"))
    outputs = [as_dict(details.get(name)) for name in ("completion_tokens_details", "output_tokens_details")]
    thought = sum(as_count(report.get(key)) for report in outputs for key in ("reasoning_tokens", "thinking_tokens"))
    report = {**as_dict(answer.get("usage")), **details}
    return Usage(
        fresh=max(0, input_tokens - cached - written),
        cache_read=cached or beside,
        write_5m=as_count(details.get("cache_creation_input_tokens")),
        write_30m=written,
        output=output,
        reasoning=min(output, thought),
        has_cache=any("cache" in key or key in ("prompt_tokens_details", "input_tokens_details") for key in report),
    )


class _MessageStore:
    """Lookup tables of the current schema's rows."""

    def __init__(self, tables: Tables) -> None:
        self._messages = {as_str(row.get("hash")): row for row in tables.get("messages", [])}
        self._parts = _group_by(
            sorted(tables.get("parts", []), key=lambda r: as_count(r.get("position"))), "message_hash"
        )
        self._fragments = {_as_key(row.get("id")): as_str(row.get("content")) for row in tables.get("fragments", [])}
        self._attachments = {as_str(row.get("id")): row for row in tables.get("attachments", [])}
        tools = {_as_key(row.get("id")): _tool_item(row) for row in tables.get("tools", [])}
        self._tools = {
            turn: [tools[id_] for row in rows if (id_ := _as_key(row.get("tool_id"))) in tools]
            for turn, rows in _group_by(tables.get("turn_tools", []), "turn_id").items()
        }

    def add_turn(self, dialogue: Dialogue, row: Row) -> Iterator[Event]:
        """Add the call of a turn.

        Its context ends with the turn's parent message, and the rest of the chain is its answer. If the parent is not
        in the chain, only a last message of the assistant is the answer.
        """
        chain = self._message_chain(as_str(row.get("tip_message_hash")))
        hashes = [as_str(message.get("hash")) for message in chain]
        parent = as_str(row.get("parent_message_hash"))
        if parent in hashes:
            request_length = hashes.index(parent) + 1
        else:
            request_length = len(chain) - 1 if chain and chain[-1].get("role") == "assistant" else len(chain)
        head = dialogue.tree.extend(ROOT, self._tools.get(as_str(row.get("id")), []))
        for message in chain[:request_length]:
            head = dialogue.tree.extend(head, self._message_items(message))
        answer_items = [item for message in chain[request_length:] for item in self._message_items(message)]
        yield dialogue.add_call(answer_items, _to_call(row), after=head)

    def extend(self, dialogue: Dialogue, tip: str) -> None:
        """Set the conversation to the messages up to `tip`, which may be after its last turn."""
        chain = self._message_chain(tip)
        if not chain:
            return
        items = [item for message in chain for item in self._message_items(message)]
        tree = dialogue.tree
        recorded = [item for item in tree.items(dialogue.head) if item.place.section != "tools"]
        if items != recorded:
            dialogue.head = ROOT
            dialogue.add(items)

    def _message_chain(self, tip: str) -> list[Row]:
        """List the messages up to `tip`, the first one first."""
        chain: list[Row] = []
        visited: set[str] = set()
        while tip in self._messages and tip not in visited:
            visited.add(tip)
            chain.append(self._messages[tip])
            tip = as_str(self._messages[tip].get("parent_hash"))
        return chain[::-1]

    def _message_items(self, message: Row) -> list[Item]:
        parts = [self._convert_part(row) for row in self._parts.get(as_str(message.get("hash")), [])]
        return make_message(as_str(message.get("role")) or "user", *parts)

    def _convert_part(self, row: Row) -> Json:
        """Convert a stored part to Anthropic's spelling, redacted reasoning to OpenAI's."""
        payload = as_dict(decode_column(row.get("payload")))
        if "text_ref" in payload:
            payload = {**payload, "text": self._join_pieces(payload["text_ref"])}
        text = as_str(row.get("text")) or as_str(payload.get("text"))
        id_ = payload.get("tool_call_id", payload.get("id"))
        name = row.get("tool_name") or payload.get("name")
        match row.get("type"):
            case "text":
                return {**_other_members(payload), **messages.text(text)}
            case "reasoning":
                if not text and payload.get("redacted") is True:
                    # Marks that the model thought; the text is neither stored nor sent.
                    return {**_other_members(payload), "type": "reasoning", "summary": []}
                signature = get_path(payload, "provider_metadata", "anthropic", "signature")
                return {**_other_members(payload), **messages.thinking(text, signature)}
            case "tool_call":
                tool_input = payload.get("arguments", payload.get("input", {}))
                return {**_other_members(payload), **messages.tool_use(id_, name, tool_input)}
            case "tool_result":
                output = payload.get("output", row.get("text"))
                files = [self._find_attachment(attachment) for attachment in as_dicts(payload.get("attachments"))]
                text_output = output if output is not None else ""
                content = [messages.text(text_output), *files] if files else text_output
                failed = bool(payload.get("exception"))
                return {**_other_members(payload), **messages.tool_result(id_, content, failed, name=name)}
            case "attachment":
                return {**_other_members(payload), **self._find_attachment(as_dict(payload.get("attachment")))}
        return {**payload, "type": as_str(row.get("type")) or "part", **({"text": text} if text else {})}

    def _find_attachment(self, ref: dict[str, Json]) -> dict[str, Json]:
        return _convert_attachment(self._attachments.get(as_str(ref.get("id")), ref))

    def _join_pieces(self, pieces: Json) -> str:
        """Join a text stored in pieces, also in fragments that other texts share."""
        return "".join(
            as_str(piece["literal"]) if "literal" in piece else self._fragments.get(_as_key(piece.get("fragment")), "")
            for piece in map(as_dict, as_list(pieces))
        )


# Members of a stored part that `_MessageStore` converts; the others keep their names.
_SPELLED = ("type", "text", "text_ref", "name", "arguments", "input", "tool_call_id", "id", "output", "attachments",
            "attachment")  # fmt: skip


def _other_members(payload: dict[str, Json]) -> dict[str, Json]:
    return {key: item for key, item in payload.items() if key not in _SPELLED}


class _Responses:
    """Lookup tables of the older schema's rows."""

    def __init__(self, tables: Tables) -> None:
        self._calls = _group_by(tables.get("tool_calls", []), "response_id")
        self._results = _group_by(tables.get("tool_results", []), "response_id")
        self._tools = {_as_key(row.get("id")): _tool_item(row) for row in tables.get("tools", [])}
        self._offered = _group_by(tables.get("tool_responses", []), "response_id")
        self._fragments = {_as_key(row.get("id")): as_str(row.get("content")) for row in tables.get("fragments", [])}
        self._attachments = {as_str(row.get("id")): row for row in tables.get("attachments", [])}
        self._rows_by_response = {
            name: _group_by(sorted(tables.get(name, []), key=lambda row: as_count(row.get("order"))), "response_id")
            for name in ("prompt_fragments", "system_fragments", "prompt_attachments")
        }

    def add_response(self, dialogue: Dialogue, row: Row) -> Iterator[Event]:
        """Add a response: its additions to the conversation, and its answer."""
        id_ = as_str(row.get("id"))
        if dialogue.calls == 0:
            tool_ids = [_as_key(offered.get("tool_id")) for offered in self._offered.get(id_, [])]
            dialogue.add(self._tools[tool_id] for tool_id in tool_ids if tool_id in self._tools)
            system = "\n\n".join(
                filter(None, [*self._fragment_texts("system_fragments", id_), as_str(row.get("system"))])
            )
            dialogue.add(make_message("system", system) if system else [])
        results = [
            messages.tool_result(r.get("tool_call_id"), as_str(r.get("output")), bool(r.get("exception")))
            for r in self._results.get(id_, [])
        ]
        dialogue.add(make_message("user", *results) if results else [])
        prompt = "\n".join(filter(None, [*self._fragment_texts("prompt_fragments", id_), as_str(row.get("prompt"))]))
        refs = [as_str(ref.get("attachment_id")) for ref in self._rows_by_response["prompt_attachments"].get(id_, [])]
        files = [_convert_attachment(self._attachments[ref]) for ref in refs if ref in self._attachments]
        parts = [*([prompt] if prompt else []), *files]
        dialogue.add(make_message("user", *parts) if parts else [])
        calls = [
            messages.tool_use(r.get("tool_call_id"), r.get("name"), decode_column(r.get("arguments")))
            for r in self._calls.get(id_, [])
        ]
        thought = [messages.thinking(as_str(row["reasoning"]))] if as_str(row.get("reasoning")) else []
        texts = [as_str(row["response"])] if as_str(row.get("response")) else []
        yield dialogue.add_call(make_message("assistant", *thought, *texts, *calls), _to_call(row))

    def _fragment_texts(self, table: str, id_: str) -> list[str]:
        return [
            self._fragments.get(_as_key(ref.get("fragment_id")), "")
            for ref in self._rows_by_response[table].get(id_, [])
        ]


NAME: Final = "llm"


def sniff(head: bytes, name: str) -> float:
    tables = tables_in(head)
    return 0.95 if {"turns", "parts"} <= tables or {"conversations", "responses"} <= tables else 0.0


def _read_tables(tables: Tables, tree: Tree) -> Iterator[Event]:
    turns = sorted(tables.get("turns", []), key=_sort_key)
    turn_ids = {as_str(turn.get("id")) for turn in turns}
    # For a while both schemas were written.
    old = [row for row in sorted(tables.get("responses", []), key=_sort_key) if as_str(row.get("id")) not in turn_ids]
    threads = {as_str(r.get("id")): r for r in [*tables.get("conversations", []), *tables.get("threads", [])]}
    thread_ids = list(dict.fromkeys(_thread_id(row) for row in [*turns, *old]))
    # A fork without a turn of its own still has its history.
    thread_ids += [id_ for id_, row in threads.items() if id_ not in thread_ids and row.get("tip_message_hash")]
    roots = [
        id_ for id_ in thread_ids if as_str(threads.get(id_, {}).get("forked_from")) not in thread_ids
    ] or thread_ids
    latest = {_thread_id(row): _sort_key(row) for row in sorted([*turns, *old], key=_sort_key)}
    main = max(roots, key=lambda id_: latest.get(id_, ("", "")), default="")
    ids, store, responses = Ids(), _MessageStore(tables), _Responses(tables)
    yield Described(main, as_str(threads.get(main, {}).get("name")), NAME, client="llm")
    for name in sorted(thread_ids, key=lambda id_: (id_ != main, latest.get(id_, ("", "")), id_)):
        row = threads.get(name, {})
        dialogue = Dialogue(tree, MAIN if name == main else name, ids)
        origin = as_str(row.get("forked_from"))
        parent = (MAIN if origin == main else origin) if origin in thread_ids and origin != name else ""
        yield ThreadSeen(dialogue.thread, as_str(row.get("name")), parent)
        for row_ in (row_ for row_ in [*old, *turns] if _thread_id(row_) == name):
            yield from (
                store.add_turn(dialogue, row_) if "tip_message_hash" in row_ else responses.add_response(dialogue, row_)
            )
        store.extend(dialogue, as_str(row.get("tip_message_hash")))
        yield dialogue.tip_event()


def _sort_key(row: Row) -> tuple[str, str]:
    return as_str(row.get("datetime_utc")), as_str(row.get("id"))


def _thread_id(row: Row) -> str:
    return as_str(row.get("thread_id")) or as_str(row.get("conversation_id")) or as_str(row.get("id"))


reader = rows_reader(_read_tables)
