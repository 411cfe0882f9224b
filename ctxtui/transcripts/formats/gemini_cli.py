"""Gemini CLI's chats: one JSON with all messages; in newer versions JSON lines, a header and a message each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.block import Item
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import Described, Event, Happened
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.dataclasses import replace
from ctxtui.transcripts.kit import file_head, plain_messages
from ctxtui.transcripts.kit.chat_messages import spoken
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import at, count, moment, obj, objects, word
from ctxtui.transcripts.kit.http_exchange import google
from ctxtui.transcripts.kit.linewise import lines_reader
from ctxtui.transcripts.kit.record_pieces import FoundObject

NAME: Final = "gemini cli"
_SPEAKERS: Final = frozenset({"user", "gemini", "info", "warning", "error"})


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins a chat."""
    records = file_head.records(head)
    first = records[0] if records else {}
    if {"sessionId", "projectHash"} <= first.keys():
        return 0.95
    return 0.8 if first.get("type") == "gemini" and {"content", "timestamp"} <= first.keys() else 0.0


class _Gemini:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._dialogue = Dialogue(tree)
        self._about = Described(source=NAME)
        self._messages: dict[str, int] = {}

    def record(self, value: dict[str, Json], found: FoundObject) -> Iterator[Event]:
        if "sessionId" in value:
            self._about = replace(self._about, id=word(value["sessionId"]), title=word(value.get("summary")))
        if "$rewindTo" in value:
            self._dialogue.head = self._messages.get(word(value["$rewindTo"]), self._dialogue.head)
            return
        said = objects(value.get("messages")) if "type" not in value else [value]
        said = said or objects(at(value, "$set", "messages"))
        for message in said:
            yield from self._message(message, found)

    def standing(self) -> Iterator[Event]:
        yield replace(self._about, title=self._about.title or self._dialogue.title)
        yield self._dialogue.tip()

    def _message(self, message: dict[str, Json], found: FoundObject) -> Iterator[Event]:
        kind, id_ = word(message.get("type")), word(message.get("id"))
        if id_ in self._messages and kind != "gemini":
            return
        if id_ in self._messages:
            # Written once more, with what has become known since.
            self._dialogue.head = self._messages[id_]
        else:
            self._messages[id_] = self._dialogue.head
        if kind == "user":
            self._dialogue.say(spoken("user", *google.parts(message.get("content"))))
        elif kind == "gemini":
            asked, said = self._dialogue.head, _said(message)
            yield self._dialogue.answer(said, self._call(message, found))
            # Summaries of thoughts are shown to the user; the client never sends them back.
            self._dialogue.head = self._tree.extend(asked, [i for i in said if i.block.kind != "thinking"])
            results = [result for call in objects(message.get("toolCalls")) for result in _results(call)]
            if results:
                self._dialogue.say(spoken("user", *results))
        else:
            words = " ".join(part for part in map(_text, google.parts(message.get("content"))) if part)
            yield Happened(kind or "record", words, at=moment(message.get("timestamp")))

    def _call(self, message: dict[str, Json], found: FoundObject) -> Call:
        return Call(
            "",
            "",
            provider="google",
            model=word(message.get("model")),
            ended=moment(message.get("timestamp")),
            usage=usage(message.get("tokens")),
            line=found.line,
            extra={"id": message["id"]} if "id" in message else {},
        )


def _text(part: Json) -> str:
    return part if isinstance(part, str) else word(obj(part).get("text"))


def _said(message: dict[str, Json]) -> list[Item]:
    """What the model said: thoughts, words, calls."""
    thoughts = [
        plain_messages.thinking(f"**{word(thought.get('subject'))}**\n{word(thought.get('description'))}")
        for thought in objects(message.get("thoughts"))
    ]
    words = [part for part in google.parts(message.get("content")) if part != ""]
    calls = [
        plain_messages.tool_use(call.get("id"), call.get("name"), call.get("args"))
        for call in objects(message.get("toolCalls"))
    ]
    return spoken("model", *thoughts, *words, *calls)


def _results(call: dict[str, Json]) -> list[Json]:
    """What a tool gave back, as it goes to the model with the next request."""
    found: list[Json] = []
    result = call.get("result")
    for part in google.parts(result):
        typed = part if isinstance(part, dict) else plain_messages.tool_result(call.get("id"), part)
        found.append(typed)
    return found


def usage(report: Json) -> Usage | None:
    """Usage of one answer: the input includes what the cache held, the output leaves thoughts out.

    None where nothing but zeros is reported: no call has an empty input.
    """
    held = obj(report)
    if "input" not in held or not any(count(tokens) for tokens in held.values()):
        return None
    read, thoughts = count(held.get("cached")), count(held.get("thoughts"))
    fresh = max(0, count(held.get("input")) + count(held.get("tool")) - read)
    return Usage(fresh, read, output=count(held.get("output")) + thoughts, reasoning=thoughts)


reader = lines_reader(_Gemini)
