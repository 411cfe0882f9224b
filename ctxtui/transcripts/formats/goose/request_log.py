"""Goose's logs of its newest requests (``llm_request.N.jsonl``): the body as sent, then its answer in chunks.

The chunks are in Goose's own spelling; they are assembled to the answer that the request's API would have sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.session import Described, Event
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.goose.database import part_of
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import count, moment, obj, objects, word
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.pair import Exchange
from ctxtui.transcripts.kit.readers import LinesReader
from ctxtui.transcripts.kit.records import FoundObject

NAME: Final = "goose request log"


def sniff(head: bytes, name: str) -> float:
    """Confidence that `head` begins such a log."""
    first = obj(next(iter(file_head.values(head)), None))
    begins = b'{"model_config":' in head[:100] and b'"input":' in head
    return 0.96 if begins or {"model_config", "input"} <= first.keys() else 0.0


class _Log:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._body: dict[str, Json] = {}
        self._messages: list[dict[str, Json]] = []
        self._usage: dict[str, Json] = {}

    def record(self, value: dict[str, Json], found: FoundObject) -> Iterator[Event]:
        self._body = obj(value.get("input")) or self._body
        self._messages += [data] if (data := obj(value.get("data"))) else []
        self._usage = obj(value.get("usage")) or self._usage
        return iter(())

    def standing(self) -> Iterator[Event]:
        if not self._body:
            return
        exchanges = Exchanges(self._tree)
        yield Described(source=NAME, client="goose")
        answer = canonical.dumps(self._answer()) if self._messages else b""
        ended = moment(self._messages[-1].get("created")) if self._messages else None
        yield from exchanges.take(Exchange(canonical.dumps(self._body), answer, ended=ended))
        yield Described(title=exchanges.threads.title)

    def _answer(self) -> dict[str, Json]:
        parts = _joined([obj(part_of(part)) for one in self._messages for part in objects(one.get("content"))])
        base: dict[str, Json] = {"id": self._messages[0].get("id"), "model": self._body.get("model")}
        used = {name: count(self._usage.get(f"{name}_tokens")) for name in ("input", "output")}
        read = count(self._usage.get("cache_read_input_tokens"))
        written = count(self._usage.get("cache_write_input_tokens"))
        if is_anthropic(self._body):
            cached: dict[str, Json] = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
            usage: dict[str, Json] = {"input_tokens": max(0, used["input"] - read - written)}
            usage |= {"output_tokens": used["output"], **(cached if read or written else {})}
            said = {"type": "message", "role": "assistant", "content": parts}
            return base | said | ({"usage": usage} if self._usage else {})
        calls: list[Json] = [
            {"id": part.get("id"), "type": "function",
             "function": {"name": part.get("name"), "arguments": canonical.dump_text(part.get("input"))}}
            for part in parts if part.get("type") == "tool_use"
        ]  # fmt: skip
        text = "".join(word(part.get("text")) for part in parts)
        thoughts = "".join(word(part.get("thinking")) for part in parts)
        message: dict[str, Json] = {"role": "assistant", "content": text}
        message |= ({"reasoning_content": thoughts} if thoughts else {}) | ({"tool_calls": calls} if calls else {})
        usage = {"prompt_tokens": used["input"], "completion_tokens": used["output"],
                 **({"prompt_tokens_details": {"cached_tokens": read}} if read else {})}  # fmt: skip
        choices: list[Json] = [{"index": 0, "message": message}]
        return base | {"object": "chat.completion", "choices": choices} | ({"usage": usage} if self._usage else {})


def is_anthropic(body: dict[str, Json]) -> bool:
    """Whether a body with messages is for Anthropic's API: no tool has `function`, no message is the system's."""
    roles = {word(one.get("role")) for one in objects(body.get("messages"))}
    functions = any("function" in one for one in objects(body.get("tools")))
    return not functions and not roles & {"system", "developer", "tool"}


def _joined(parts: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Join the chunks of a text, or of thinking, to one part."""
    found: list[dict[str, Json]] = []
    for part in parts:
        key = word(part.get("type"))
        if found and key in ("text", "thinking") and found[-1].get("type") == key:
            found[-1] = {**found[-1], **part, key: word(found[-1].get(key)) + word(part.get(key))}
        elif part:
            found.append(part)
    return found


def reader(tree: Tree) -> LinesReader:
    """Make a reader of one log."""
    return LinesReader(_Log(tree))
