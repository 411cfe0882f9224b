"""Goose's logs of its newest requests (``llm_request.N.jsonl``): body, answer in chunks.

The chunks, in Goose's own spelling, are assembled to the answer that the request's API would have sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_str
from ctxtui.core.session import Described, Event
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.goose.database import convert_part
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import as_dicts, as_time
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.pair import Exchange
from ctxtui.transcripts.kit.readers import lines_reader
from ctxtui.transcripts.kit.records import RawRecord

NAME: Final = "goose request log"


def sniff(head: bytes, name: str) -> float:
    first = as_dict(next(iter(file_head.parse_values(head)), None))
    begins = b'{"model_config":' in head[:100] and b'"input":' in head
    return 0.96 if begins or {"model_config", "input"} <= first.keys() else 0.0


class _LogHandler:
    """Collects the lines of one log: the body of the request, then the answer in chunks."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._body: dict[str, Json] = {}
        self._messages: list[dict[str, Json]] = []
        self._usage: dict[str, Json] = {}

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        self._body = as_dict(value.get("input")) or self._body
        self._messages += [data] if (data := as_dict(value.get("data"))) else []
        self._usage = as_dict(value.get("usage")) or self._usage
        return iter(())

    def state_events(self) -> Iterator[Event]:
        if not self._body:
            return
        exchanges = Exchanges(self._tree)
        yield Described(source=NAME, client="goose")
        answer = canonical.dumps(self._assemble_answer()) if self._messages else b""
        ended = as_time(self._messages[-1].get("created")) if self._messages else None
        yield from exchanges.add_exchange(Exchange(canonical.dumps(self._body), answer, ended=ended))
        yield Described(title=exchanges.threads.title)

    def _assemble_answer(self) -> dict[str, Json]:
        parts = _join_chunks(
            [as_dict(convert_part(part)) for message in self._messages for part in as_dicts(message.get("content"))]
        )
        base: dict[str, Json] = {"id": self._messages[0].get("id"), "model": self._body.get("model")}
        used = {name: as_count(self._usage.get(f"{name}_tokens")) for name in ("input", "output")}
        read = as_count(self._usage.get("cache_read_input_tokens"))
        written = as_count(self._usage.get("cache_write_input_tokens"))
        if _is_anthropic(self._body):
            cached: dict[str, Json] = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
            usage: dict[str, Json] = {"input_tokens": max(0, used["input"] - read - written)}
            usage |= {"output_tokens": used["output"], **(cached if read or written else {})}
            answer = {"type": "message", "role": "assistant", "content": parts}
            return base | answer | ({"usage": usage} if self._usage else {})
        calls: list[Json] = [
            {"id": part.get("id"), "type": "function",
             "function": {"name": part.get("name"), "arguments": canonical.dump_text(part.get("input"))}}
            for part in parts if part.get("type") == "tool_use"
        ]  # fmt: skip
        text = "".join(as_str(part.get("text")) for part in parts)
        thoughts = "".join(as_str(part.get("thinking")) for part in parts)
        message: dict[str, Json] = {"role": "assistant", "content": text}
        message |= ({"reasoning_content": thoughts} if thoughts else {}) | ({"tool_calls": calls} if calls else {})
        usage = {"prompt_tokens": used["input"], "completion_tokens": used["output"],
                 **({"prompt_tokens_details": {"cached_tokens": read}} if read else {})}  # fmt: skip
        choices: list[Json] = [{"index": 0, "message": message}]
        return base | {"object": "chat.completion", "choices": choices} | ({"usage": usage} if self._usage else {})


def _is_anthropic(body: dict[str, Json]) -> bool:
    """Whether a body with messages is for Anthropic's API.

    Then no tool has ``function``, and no message has the role of system, developer or tool.
    """
    roles = {as_str(message.get("role")) for message in as_dicts(body.get("messages"))}
    functions = any("function" in tool for tool in as_dicts(body.get("tools")))
    return not functions and not roles & {"system", "developer", "tool"}


def _join_chunks(parts: list[dict[str, Json]]) -> list[dict[str, Json]]:
    joined: list[dict[str, Json]] = []
    for part in parts:
        key = as_str(part.get("type"))
        if joined and key in ("text", "thinking") and joined[-1].get("type") == key:
            joined[-1] = {**joined[-1], **part, key: as_str(joined[-1].get(key)) + as_str(part.get(key))}
        elif part:
            joined.append(part)
    return joined


# The id of the call is in its answer.
reader = lines_reader(_LogHandler, rereads=True)
