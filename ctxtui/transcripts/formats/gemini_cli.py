"""Reads Gemini CLI's chats: one JSON with all messages, or newer versions' JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.block import Item
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_str
from ctxtui.core.session import CallSeen, Described, Event, Happened
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, KeyedMessages
from ctxtui.transcripts.kit.fields import as_dicts, as_time, get_path, one_line
from ctxtui.transcripts.kit.http_exchange import google
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import lines_reader
from ctxtui.transcripts.kit.records import RawRecord

NAME: Final = "gemini cli"
_CONTEXT: Final = "<session_context>"
"""Start of the client's message about folder and machine, before the person's first message."""


def sniff(head: bytes, name: str) -> float:
    records = file_head.parse_records(head)
    first = records[0] if records else {}
    if {"sessionId", "projectHash"} <= first.keys():
        return 0.95
    return 0.8 if first.get("type") == "gemini" and {"content", "timestamp"} <= first.keys() else 0.0


class _GeminiHandler:
    """Handles the records of a chat; each id is one message in its newest form.

    The client writes a message again under its id when it knows more of it, and all messages when it resumes a session.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._dialogue = Dialogue(tree)
        self._messages = KeyedMessages(self._dialogue)
        self._about = Described(source=NAME)
        self._title = ""
        self._calls: dict[str, Call] = {}
        self._tool_results: dict[str, Json] = {}
        """Tool results of the last answer, by call; newer versions also write them as a separate message."""
        self._results_key = ""
        self._answered_ids: set[str] = set()
        """Tool calls whose results are in separate messages."""

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        if "sessionId" in value:
            self._about = replace(self._about, id=as_str(value["sessionId"]), title=as_str(value.get("summary")))
        if "$rewindTo" in value:
            id_ = as_str(value["$rewindTo"])
            self._messages.remove_from(f"user {id_}")
            self._messages.remove_from(f"gemini {id_}")
            return
        history = as_dicts(get_path(value, "$set", "messages"))
        if history:
            self._messages.clear()
            self._answered_ids.clear()
        records = history or (as_dicts(value.get("messages")) if "type" not in value else [value])
        for n, message in enumerate(records):
            id_ = as_str(message.get("id")) or f"{source.line}.{n}"
            yield from self._handle_message(message, id_, source, is_history=bool(history))

    def state_events(self) -> Iterator[Event]:
        yield replace(self._about, title=self._about.title or self._title)
        yield self._dialogue.tip_event()

    def _handle_message(
        self, message: dict[str, Json], id_: str, source: RawRecord, is_history: bool
    ) -> Iterator[Event]:
        kind = as_str(message.get("type"))
        if kind == "user":
            self._add_user(id_, google.convert_parts(message.get("content")))
        elif kind == "gemini":
            items = _answer_items(message)
            yield from self._add_answer(message, id_, items, source, is_history)
            # Thought summaries are shown to the user; the client never sends them back.
            self._messages.put(f"gemini {id_}", [item for item in items if item.block.kind != "thinking"])
            results = [result for call in as_dicts(message.get("toolCalls")) for result in _tool_results(call)]
            self._tool_results = {
                key: result
                for n, result in enumerate(results)
                if (key := _answered_call_id(result) or f"{n}") not in self._answered_ids
            }
            self._put_results(id_)
        elif not is_history:
            text = " ".join(part for part in map(_text_of, google.convert_parts(message.get("content"))) if part)
            yield Happened(kind or "record", text, at=as_time(message.get("timestamp")))

    def _add_user(self, id_: str, parts: list[Json]) -> None:
        text = " ".join(filter(None, map(_text_of, parts)))
        is_context = text.startswith(_CONTEXT)
        if not is_context:
            self._title = self._title or one_line(text)
        call_ids = set(filter(None, map(_answered_call_id, parts)))
        self._answered_ids |= call_ids
        if call_ids & self._tool_results.keys():
            self._messages.remove_from(self._results_key)
            self._tool_results = {key: result for key, result in self._tool_results.items() if key not in call_ids}
        self._messages.put(f"user {id_}", make_message("user", *parts, mark="meta" if is_context else ""))
        if call_ids:
            self._put_results(id_)

    def _put_results(self, id_: str) -> None:
        if self._tool_results:
            self._results_key = f"results {id_}"
            self._messages.put(self._results_key, make_message("user", *self._tool_results.values()))

    def _add_answer(
        self, message: dict[str, Json], id_: str, items: list[Item], source: RawRecord, is_history: bool
    ) -> Iterator[Event]:
        used = usage(message.get("tokens"))
        earlier = self._calls.get(id_)
        if earlier is None and is_history and used is None:
            # The answer of another session's call.
            return
        if earlier is None:
            event = self._dialogue.add_call(items, self._make_call(message, used, source))
        else:
            head = earlier.response_head if is_history else self._tree.extend(earlier.raw_head, items)
            event = CallSeen(replace(earlier, response_head=head, usage=used or earlier.usage))
        self._calls[id_] = event.call
        yield event

    def _make_call(self, message: dict[str, Json], used: Usage | None, source: RawRecord) -> Call:
        return Call(
            as_str(message.get("id")),
            "",
            provider="google",
            model=as_str(message.get("model")),
            ended=as_time(message.get("timestamp")),
            usage=used,
            line=source.line,
        )


def _text_of(part: Json) -> str:
    return part if isinstance(part, str) else as_str(as_dict(part).get("text"))


def _answered_call_id(part: Json) -> str:
    """The id of the tool call that `part` is the result of; "" for any other part."""
    return as_str(as_dict(part).get("tool_use_id"))


def _answer_items(message: dict[str, Json]) -> list[Item]:
    thoughts = [messages.thinking(_thought_text(thought)) for thought in as_dicts(message.get("thoughts"))]
    texts = [part for part in google.convert_parts(message.get("content")) if part != ""]
    calls = [
        messages.tool_use(call.get("id"), call.get("name"), call.get("args"))
        for call in as_dicts(message.get("toolCalls"))
    ]
    return make_message("model", *thoughts, *texts, *calls)


def _thought_text(thought: dict[str, Json]) -> str:
    """Text of a thought summary as Google sends it: subject (in bold) and description."""
    subject, description = as_str(thought.get("subject")), as_str(thought.get("description"))
    return f"**{subject}**\n\n{description}" if subject else description


def _tool_results(call: dict[str, Json]) -> list[Json]:
    return [
        part if isinstance(part, dict) else messages.tool_result(call.get("id"), part)
        for part in google.convert_parts(call.get("result"))
    ]


def usage(report: Json) -> Usage | None:
    """Convert the usage of one answer: input includes cached tokens, output excludes thoughts.

    None without an input figure, or if all figures are zero: no call has an empty input.
    """
    figures = as_dict(report)
    if "input" not in figures or not any(as_count(tokens) for tokens in figures.values()):
        return None
    read, thoughts = as_count(figures.get("cached")), as_count(figures.get("thoughts"))
    fresh = max(0, as_count(figures.get("input")) + as_count(figures.get("tool")) - read)
    return Usage(fresh, read, output=as_count(figures.get("output")) + thoughts, reasoning=thoughts)


reader = lines_reader(_GeminiHandler)
