"""What the offline provider saw and answered: the truth that a session is held against."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_SECONDS = 10.0
_SAID = ("text", "thinking", "content", "output", "arguments", "input", "instructions", "summary", "function", "parts",
         "functionCall", "functionResponse", "response")  # fmt: skip
"""Members that hold what is said to a model or by it."""


class Tokens(NamedTuple):
    """Usage as the provider reported it, disjoint on the input side."""

    fresh: int
    read: int
    written: int
    output: int

    @property
    def input(self) -> int:
        return self.fresh + self.read + self.written


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request with its answer."""

    method: str
    path: str
    status: int
    request: dict[str, Any]
    answer: dict[str, Any]
    before: tuple[Any, ...] = ()
    """The items that the request names by `previous_response_id` instead of sending them again."""

    @property
    def accepted(self) -> bool:
        # 426: the client asks for a WebSocket, and takes HTTP instead.
        return 200 <= self.status < 300 or self.status in (101, 426)

    @property
    def asks(self) -> bool:
        """Whether it asks a model for an answer: it does not count tokens, look for models, or warm up."""
        counts = self.path.endswith(("/count_tokens", "/input_tokens", ":countTokens"))
        warms = self.request.get("generate") is False
        return self.method in ("POST", "WS") and not counts and not warms and 200 <= self.status < 300

    @property
    def model(self) -> str:
        return str(self.request.get("model", "")) or self.path.rpartition("/")[2].partition(":")[0]

    @property
    def tokens(self) -> Tokens:
        told = self.answer.get("usageMetadata")
        if told:
            read = told.get("cachedContentTokenCount", 0)
            output = told.get("candidatesTokenCount", 0) + told.get("thoughtsTokenCount", 0)
            return Tokens(told["promptTokenCount"] - read, read, 0, output)
        told = self.answer.get("usage") or {}
        if self.path.endswith("/messages"):
            written = told.get("cache_creation_input_tokens", 0)
            return Tokens(told["input_tokens"], told.get("cache_read_input_tokens", 0), written, told["output_tokens"])
        chat = "prompt_tokens" in told
        whole = told["prompt_tokens" if chat else "input_tokens"]
        details = told.get("prompt_tokens_details" if chat else "input_tokens_details") or {}
        read, written = details.get("cached_tokens", 0), details.get("cache_write_tokens", 0)
        return Tokens(whole - read - written, read, written, told["completion_tokens" if chat else "output_tokens"])

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The request's messages or items."""
        found = self.request.get("messages", self.request.get("input", self.request.get("contents", [])))
        return [*self.before, *(found if isinstance(found, list) else [{"role": "user", "content": found}])]

    @property
    def instructions(self) -> list[Any]:
        """What the request says outside its messages."""
        return [
            self.request[name] for name in ("system", "instructions", "systemInstruction") if self.request.get(name)
        ]

    @property
    def answered(self) -> list[dict[str, Any]]:
        """The answer's messages or items."""
        if "choices" in self.answer:
            return [choice["message"] for choice in self.answer["choices"]]
        if "output" in self.answer:
            return list(self.answer["output"])
        if "candidates" in self.answer:
            return [candidate["content"] for candidate in self.answer["candidates"]]
        return [{"role": "assistant", "content": self.answer.get("content", [])}]


def said(value: object) -> Iterator[str]:
    """Every text in a message, an item or a block, in order; what is JSON in a text as that JSON's texts."""
    if isinstance(value, str):
        inner = _decoded(value)
        if inner is None:
            if value.strip():
                yield value
        else:
            yield from _leaves(inner)
    elif isinstance(value, list):
        for part in value:
            yield from said(part)
    elif isinstance(value, Mapping):
        inputs = [value[name] for name in ("arguments", "input", "args") if isinstance(value.get(name), dict)]
        if inputs:
            yield from _leaves(inputs[0])
            return
        for name in _SAID:
            if name in value:
                yield from said(value[name])
        for call in value.get("tool_calls") or []:
            yield from said(call)


def _decoded(text: str) -> object:
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str):
        yield value
    else:
        yield json.dumps(value)


def _entries(log: Path) -> list[Any]:
    """What a log holds; one that is just being written to is read again."""
    until = time.monotonic() + _SECONDS
    while True:
        try:
            return list(json.loads(log.read_bytes())["log"]["entries"])
        except json.JSONDecodeError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def exchanges(folder: Path) -> list[Exchange]:
    """Everything that was asked so far, in order, out of the log of `ctxtui offline --log`."""
    found = []
    for log in sorted(folder.glob("*.har")):
        for entry in _entries(log):
            found += _exchanges(entry)
    kept: dict[str, tuple[Any, ...]] = {}
    for n, one in enumerate(found):
        earlier = kept.get(str(one.request.get("previous_response_id")), ())
        found[n] = replace(one, before=earlier)
        if one.answer.get("object") == "response":
            kept[str(one.answer.get("id"))] = (*found[n].messages, *one.answered)
    return found


def _exchanges(entry: dict[str, Any]) -> Iterator[Exchange]:
    """One over HTTP, one for each request over a WebSocket."""
    asked, told = entry["request"], entry["response"]
    path = urlsplit(asked["url"]).path
    frames = [(frame["type"], json.loads(frame["data"])) for frame in entry.get("_webSocketMessages", [])]
    for n, (way, request) in enumerate(frames):
        if way != "send":
            continue
        ends = [m for m, (other, _) in enumerate(frames) if other == "send" and m > n]
        events = [event for _, event in frames[n + 1 : ends[0] if ends else None]]
        status = 400 if any(event["type"] == "error" for event in events) else 200
        yield Exchange(method="WS", path=path, status=status, request=request, answer=_whole(events))
    if not frames:
        body = asked.get("postData", {}).get("text", "")
        yield Exchange(
            method=asked["method"],
            path=path,
            status=told["status"],
            request=json.loads(body) if body else {},
            answer=_answer(told["content"].get("text", ""), told["content"]["mimeType"]),
        )


def _answer(text: str, kind: str) -> dict[str, Any]:
    if "event-stream" in kind:
        data = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
        return _whole([json.loads(one) for one in data if one and one != "[DONE]"])
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {"text": text}
    return value if isinstance(value, dict) else {"value": value}


def _whole(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer that a stream gives in pieces, in any dialect."""
    if any("candidates" in event for event in events):
        return _of_candidates(events)
    if any("choices" in event for event in events):
        return _of_chunks(events)
    made: dict[str, Any] = {}
    for event in events:
        match event.get("type"):
            case "response.completed" | "response.incomplete" | "response.failed" | "error":
                return dict(event.get("response", event))
            case "message_start":
                made = event["message"]
            case "content_block_start":
                made["content"].append(event["content_block"])
            case "content_block_delta":
                _grow(made["content"][event["index"]], event["delta"])
            case "message_delta":
                made |= event["delta"]
                made["usage"] |= event["usage"]
    for part in made.get("content", []):
        if isinstance(part.get("input"), str):
            part["input"] = json.loads(part["input"] or "{}")
    return made


def _of_candidates(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    for part in (part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]):
        if parts and "text" in part and "text" in parts[-1] and part.get("thought") == parts[-1].get("thought"):
            parts[-1] = {**parts[-1], "text": parts[-1]["text"] + part["text"]}
        else:
            parts.append(part)
    return {**chunks[-1], "candidates": [{"content": {"role": "model", "parts": parts}}]}


def _grow(part: dict[str, Any], delta: dict[str, Any]) -> None:
    if delta["type"] == "input_json_delta":
        part["input"] = (part["input"] or "") + delta["partial_json"]
    else:
        for name, piece in delta.items():
            if name != "type" and isinstance(piece, str):
                part[name] = (part.get(name) or "") + piece


def _of_chunks(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: dict[int, dict[str, Any]] = {}
    usage = None
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            message["content"] += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls") or []:
                mine = calls.setdefault(call["index"], {"name": "", "arguments": ""})
                for name in mine:
                    mine[name] += call.get("function", {}).get(name) or ""
    whole = {"choices": [{"message": message | {"tool_calls": list(calls.values())}}], "usage": usage}
    return whole | {"id": chunks[0].get("id")}
