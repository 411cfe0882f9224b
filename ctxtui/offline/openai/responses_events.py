"""A response as the stream of events that builds it (facts §4)."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import pieces

Event = dict[str, Json]


def events(response: dict[str, Json]) -> Iterator[Event]:
    """The events of `response`, numbered in order."""
    for number, event in enumerate(_all(response)):
        yield {**event, "sequence_number": number}


def _all(response: dict[str, Json]) -> Iterator[Event]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        where = {"output_index": index}
        yield {"type": "response.output_item.added", **where, "item": _opened(item)}
        yield from _inside(item, {**where, "item_id": item["id"]})
        yield {"type": "response.output_item.done", **where, "item": item}
    last = "response.incomplete" if response["status"] == "incomplete" else "response.completed"
    yield {"type": last, "response": response}


def _opened(item: Event) -> Event:
    empty: dict[str, Event] = {
        "message": {"content": [], "status": "in_progress"},
        "function_call": {"arguments": "", "status": "in_progress"},
        "custom_tool_call": {"input": "", "status": "in_progress"},
        "reasoning": {"summary": []},
        "compaction": {},
    }
    return {**item, **empty[item["type"]]}


def _inside(item: Event, where: Event) -> Iterator[Event]:
    if item["type"] == "function_call":
        for piece in pieces(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **where, "delta": piece}
        done = {"name": item["name"], "arguments": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **where, **done}
    elif item["type"] == "custom_tool_call":
        for piece in pieces(item["input"]):
            yield {"type": "response.custom_tool_call_input.delta", **where, "delta": piece}
        yield {"type": "response.custom_tool_call_input.done", **where, "input": item["input"]}
    elif item["type"] == "reasoning":
        for n, part in enumerate(item["summary"]):
            place = {**where, "summary_index": n}
            yield {"type": "response.reasoning_summary_part.added", **place, "part": {**part, "text": ""}}
            for piece in pieces(part["text"]):
                yield {"type": "response.reasoning_summary_text.delta", **place, "delta": piece}
            yield {"type": "response.reasoning_summary_text.done", **place, "text": part["text"]}
            yield {"type": "response.reasoning_summary_part.done", **place, "part": part}
    elif item["type"] == "message":
        for n, part in enumerate(item["content"]):
            place = {**where, "content_index": n}
            yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
            for piece in pieces(part["text"]):
                yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
            yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **place, "part": part}
