"""The database of simonw/llm: the store of messages by hash, and the tables of older versions (facts §11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.block import Item
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, Described, Event, ThreadSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import plain_messages
from ctxtui.transcripts.kit.chat_messages import spoken
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import at, count, moment, obj, word
from ctxtui.transcripts.kit.rows import Row, Tables, decoded, rows_reader, tables_in

NAME: Final = "llm"


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins the rows of llm's database."""
    tables = tables_in(head)
    return 0.95 if {"turns", "parts"} <= tables or {"conversations", "responses"} <= tables else 0.0


def _told(tables: Tables, tree: Tree) -> Iterator[Event]:
    turns = sorted(tables.get("turns", []), key=_when)
    known = {word(turn.get("id")) for turn in turns}
    # For a while both generations were written.
    old = [row for row in sorted(tables.get("responses", []), key=_when) if word(row.get("id")) not in known]
    labels = {word(r.get("id")): r for r in [*tables.get("conversations", []), *tables.get("threads", [])]}
    roots = [row for row in [*turns, *old] if word(labels.get(_thread_of(row), {}).get("forked_from")) not in labels]
    main = _thread_of(max(roots or [*turns, *old], key=_when, default={}))
    ids = Ids()
    threads: dict[str, Dialogue] = {}
    store = _Store(tables)
    yield Described(main, _name(labels, main), NAME, client="llm")
    for row in sorted([*turns, *old], key=lambda row: (_thread_of(row) != main, _when(row))):
        name = _thread_of(row)
        if name not in threads:
            threads[name] = Dialogue(tree, MAIN if name == main else name, ids)
            origin = word(labels.get(name, {}).get("forked_from"))
            parent = (MAIN if origin == main else origin) if origin in labels and origin != name else ""
            yield ThreadSeen(threads[name].thread, _name(labels, name), parent)
        yield from store.turn(threads[name], row) if "tip_message_hash" in row else store.response(threads[name], row)
    yield from (dialogue.tip() for dialogue in threads.values())


def _name(labels: dict[str, Row], id_: str) -> str:
    return word(labels.get(id_, {}).get("name"))


def _when(row: Row) -> tuple[str, str]:
    return word(row.get("datetime_utc")), word(row.get("id"))


def _thread_of(row: Row) -> str:
    return word(row.get("thread_id")) or word(row.get("conversation_id")) or word(row.get("id"))


class _Store:
    """The rows by what they are asked for with."""

    def __init__(self, tables: Tables) -> None:
        self._messages = {word(row.get("hash")): row for row in tables.get("messages", [])}
        self._parts = _by(sorted(tables.get("parts", []), key=lambda r: count(r.get("position"))), "message_hash")
        self._calls = _by(tables.get("tool_calls", []), "response_id")
        self._results = _by(tables.get("tool_results", []), "response_id")

    def turn(self, dialogue: Dialogue, row: Row) -> Iterator[Event]:
        """A turn of the store: the chain of messages up to its tip, of which the last is the answer."""
        chain = self._chain(word(row.get("tip_message_hash")))
        answers = bool(chain) and chain[-1].get("role") == "assistant"
        head = ROOT
        for message in chain[:-1] if answers else chain:
            head = dialogue.tree.extend(head, self._items(message))
        yield dialogue.answer(self._items(chain[-1]) if answers else [], _call(row), after=head)

    def _chain(self, tip: str) -> list[Row]:
        found: list[Row] = []
        seen: set[str] = set()
        while tip in self._messages and tip not in seen:
            seen.add(tip)
            found.append(self._messages[tip])
            tip = word(self._messages[tip].get("parent_hash"))
        return found[::-1]

    def _items(self, message: Row) -> list[Item]:
        parts = [_part(row) for row in self._parts.get(word(message.get("hash")), [])]
        return spoken(word(message.get("role")) or "user", *parts)

    def response(self, dialogue: Dialogue, row: Row) -> Iterator[Event]:
        """A response of the older tables: what it adds to the conversation, and its answer."""
        id_ = word(row.get("id"))
        results = [
            plain_messages.tool_result(r.get("tool_call_id"), word(r.get("output"))) for r in self._results.get(id_, [])
        ]
        if word(row.get("system")) and dialogue.calls == 0:
            dialogue.say(spoken("system", word(row["system"])))
        if results:
            dialogue.say(spoken("user", *results))
        if word(row.get("prompt")):
            dialogue.say(spoken("user", word(row["prompt"])))
        calls = [
            plain_messages.tool_use(r.get("tool_call_id"), r.get("name"), decoded(r.get("arguments")))
            for r in self._calls.get(id_, [])
        ]
        thought = [plain_messages.thinking(word(row["reasoning"]))] if word(row.get("reasoning")) else []
        said = [word(row["response"])] if word(row.get("response")) else []
        yield dialogue.answer(spoken("assistant", *thought, *said, *calls), _call(row))


def _by(rows: list[Row], key: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(word(row.get(key)), []).append(row)
    return found


def _part(row: Row) -> Json:
    """A stored part in the common spelling."""
    payload = obj(decoded(row.get("payload")))
    id_ = payload.get("tool_call_id", payload.get("id"))
    match row.get("type"):
        case "text":
            return plain_messages.text(word(row.get("text")))
        case "reasoning":
            return plain_messages.thinking(word(row.get("text")), **payload)
        case "tool_call":
            return plain_messages.tool_use(
                id_, row.get("tool_name"), payload.get("arguments", payload.get("input", {}))
            )
        case "tool_result":
            output = payload.get("output", row.get("text"))
            return plain_messages.tool_result(id_, output if output is not None else "", name=row.get("tool_name"))
    return {"type": word(row.get("type")) or "part", "text": row.get("text"), **payload}


def _call(row: Row) -> Call:
    began, lasted = moment(row.get("datetime_utc")), count(row.get("duration_ms"))
    return Call(
        word(row.get("id")),
        "",
        model=word(row.get("resolved_model")) or word(row.get("model")),
        started=began,
        ended=began + lasted / 1000 if began is not None and lasted else None,
        usage=_usage(row),
        extra={"options": decoded(row["options_json"])} if row.get("options_json") else {},
    )


def _usage(row: Row) -> Usage | None:
    """Usage as llm notes it: the provider's two figures, and the rest of its report as JSON."""
    if row.get("input_tokens") is None:
        return None
    details = obj(decoded(row.get("token_details")))
    given, output = count(row.get("input_tokens")), count(row.get("output_tokens"))
    inside = count(at(details, "prompt_tokens_details", "cached_tokens"))
    inside = inside or count(at(details, "input_tokens_details", "cached_tokens"))
    beside = count(details.get("cache_read_input_tokens"))
    return Usage(
        fresh=max(0, given - inside),
        cache_read=inside or beside,
        write_5m=count(details.get("cache_creation_input_tokens")),
        output=output,
        has_cache=any("cache" in key or "details" in key for key in details),
    )


reader = rows_reader(_told)
