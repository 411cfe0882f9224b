"""Amazon Bedrock's Converse: requests and answers, with blocks in Anthropic's spelling."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import messages
from ctxtui.transcripts.kit.fields import as_dicts, get_path
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.wire.request import Response
from ctxtui.wire.sse import ServerEvent

CONTEXT: Final = frozenset({"messages", "system", "toolConfig"})
"""Members of a request that hold its context; the others are parameters."""
_MARKER: Final = "cachePoint"
_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
_DOCUMENT_TYPES: Final = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": f"{_OFFICE}.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    "html": "text/html",
    "md": "text/markdown",
    "txt": "text/plain",
}
"""The media type of each ``format`` of a document."""


def request_items(body: dict[str, Json]) -> list[Item]:
    """Convert a request to items (tools, system, messages), without cache points."""
    tools = as_dicts(get_path(body, "toolConfig", "tools"))
    items = [Item(blocks.make(TOOL, _convert_tool(tool)), Place("tools")) for tool in tools if _MARKER not in tool]
    items += [Item(blocks.from_part(part), Place("system")) for part in _convert_parts(body.get("system"))]
    for message in as_dicts(body.get("messages")):
        items += make_message(as_str(message.get("role")), *_convert_parts(message.get("content")))
    return items


def _convert_tool(tool: dict[str, Json]) -> dict[str, Json]:
    spec = as_dict(tool.get("toolSpec"))
    if "inputSchema" not in spec:
        return spec or tool
    other_members = {key: item for key, item in spec.items() if key != "inputSchema"}
    return {**other_members, "input_schema": get_path(spec, "inputSchema", "json")}


def _convert_parts(content: Json) -> list[Json]:
    parts = [content] if isinstance(content, str) else as_list(content)
    return [_convert_part(part) for part in parts if not (isinstance(part, dict) and _MARKER in part)]


def _convert_part(part: Json) -> Json:
    """Convert a part, whose only key is its kind, to Anthropic's spelling."""
    if not isinstance(part, dict):
        return part
    kind, value = next(iter(part.items()), ("part", None))
    inner = as_dict(value)
    match kind:
        case "text":
            return messages.text(value)
        case "json":
            return messages.text(canonical.dump_text(value))
        case "toolUse":
            other_members = {k: v for k, v in inner.items() if k not in ("toolUseId", "name", "input")}
            return messages.tool_use(inner.get("toolUseId"), inner.get("name"), inner.get("input"), **other_members)
        case "toolResult":
            content = _convert_parts(inner.get("content"))
            return messages.tool_result(inner.get("toolUseId"), content, inner.get("status") == "error")
        case "reasoningContent" if "reasoningText" in inner:
            reasoning = as_dict(inner["reasoningText"])
            return messages.thinking(as_str(reasoning.get("text")), reasoning.get("signature"))
        case "reasoningContent":
            return {"type": "redacted_thinking", "data": inner.get("redactedContent")}
        case "image" | "document":
            return _convert_media(kind, inner)
        case "citationsContent":
            words = "".join(as_str(generated.get("text")) for generated in as_dicts(inner.get("content")))
            citations = as_list(inner.get("citations"))
            return messages.text(words, citations=citations) if citations else messages.text(words)
        case "searchResult":
            return {**inner, "type": "search_result", "content": _convert_parts(inner.get("content"))}
        case "guardContent" if "text" in inner:
            return messages.text(get_path(inner, "text", "text"))
    return {"type": kind, **part}


def _convert_media(kind: str, inner: dict[str, Json]) -> dict[str, Json]:
    format_ = as_str(inner.get("format")) or ("pdf" if kind == "document" else "png")
    media_type = _DOCUMENT_TYPES.get(format_, f"application/{format_}") if kind == "document" else f"image/{format_}"
    title = {"title": as_str(inner.get("name"))} if kind == "document" else {}
    other_members = {key: item for key, item in inner.items() if key not in ("format", "name", "source")}
    return {"type": kind, "source": _convert_source(inner, media_type), **title, **other_members}


def _convert_source(media: dict[str, Json], media_type: str) -> dict[str, Json]:
    source = as_dict(media.get("source"))
    if "bytes" in source:
        return {"type": "base64", "media_type": media_type, "data": source["bytes"]}
    if "text" in source:
        return {"type": "text", "media_type": "text/plain", "data": source["text"]}
    if "s3Location" in source:
        location = as_dict(source["s3Location"])
        return {**location, "type": "url", "url": location.get("uri"), "media_type": media_type}
    if "content" in source:
        return {"type": "content", "content": _convert_parts(source["content"])}
    return {"media_type": media_type, **source}


def parse_usage(report: Json) -> Usage | None:
    """Convert the usage of one answer, whose input excludes the cache (facts §12)."""
    if not isinstance(report, dict) or "inputTokens" not in report:
        return None
    read_key, write_key = "cacheReadInputTokens", "cacheWriteInputTokens"
    write_1h = sum(
        as_count(detail.get("inputTokens"))
        for detail in as_dicts(report.get("cacheDetails"))
        if detail.get("ttl") == "1h"
    )
    return Usage(
        fresh=as_count(report.get("inputTokens")),
        cache_read=as_count(report.get(read_key)),
        write_5m=max(0, as_count(report.get(write_key)) - write_1h),
        write_1h=write_1h,
        output=as_count(report.get("outputTokens")),
        has_cache=read_key in report or write_key in report,
    )


def decode_answer(body: dict[str, Json]) -> Response:
    """Decode a complete Converse answer; one without ``output`` is an error."""
    if "output" not in body:
        error = as_str(body.get("message")) or as_str(body.get("Message")) or "an answer without output"
        return Response(error=error, extra=body)
    message = as_dict(get_path(body, "output", "message"))
    return Response(
        items=tuple(make_message(as_str(message.get("role")) or "assistant", *_convert_parts(message.get("content")))),
        usage=parse_usage(body.get("usage")),
        stop_reason=as_str(body.get("stopReason")),
        extra={key: item for key, item in body.items() if key not in ("output", "usage", "stopReason")},
    )


def decode_stream(events: Iterable[ServerEvent]) -> Response:
    """Assemble the answer of ConverseStream's events.

    Without a stop reason, or with an error, it is marked as interrupted.
    """
    parts_by_index: dict[int, dict[str, Json]] = {}
    role: Json = "assistant"
    body: dict[str, Json] = {}
    error = ""
    for event in events:
        value = as_dict(event.value())
        index = as_count(value.get("contentBlockIndex"))
        match event.name:
            case "messageStart":
                role = value.get("role", role)
            case "contentBlockStart":
                start = as_dict(value.get("start"))
                parts_by_index[index] = {kind: {**as_dict(inner)} for kind, inner in start.items()}
            case "contentBlockDelta":
                _add_delta(parts_by_index.setdefault(index, {}), as_dict(value.get("delta")))
            case "messageStop" | "metadata":
                body |= value
            case name if name.endswith(("Exception", "Error")):
                error = f"{name}: {as_str(value.get('message'))}"
    content = [_finish_block(parts_by_index[index]) for index in sorted(parts_by_index)]
    message: dict[str, Json] = {"role": role, "content": content}
    # Events carry ``p``, padding that is no part of the answer.
    answer = decode_answer({**{key: item for key, item in body.items() if key != "p"}, "output": {"message": message}})
    return answer if "stopReason" in body and not error else answer.as_interrupted(error)


def _add_delta(block: dict[str, Json], delta: dict[str, Json]) -> None:
    for kind, news in delta.items():
        if isinstance(news, str):
            block[kind] = as_str(block.get(kind)) + news
        elif kind == "toolUse":
            call = {**as_dict(block.get(kind))}
            block[kind] = {**call, "input": as_str(call.get("input")) + as_str(as_dict(news).get("input"))}
        elif kind == "toolResult":
            result = as_dict(block.get(kind))
            block[kind] = {**result, "content": _join_texts([*as_list(result.get("content")), *as_list(news)])}
        elif kind == "citation":
            block["citations"] = [*as_list(block.get("citations")), news]
        elif kind == "image":
            _add_image(block, as_dict(news))
        elif kind == "reasoningContent":
            _add_reasoning(block, as_dict(news))


def _join_texts(content: list[Json]) -> list[Json]:
    """The parts of a result, with the pieces of a text as one part."""
    joined: list[Json] = []
    for part in content:
        last = joined[-1] if joined else None
        if isinstance(part, dict) and isinstance(last, dict) and part.keys() == last.keys() == {"text"}:
            joined[-1] = {"text": as_str(last["text"]) + as_str(part["text"])}
        else:
            joined.append(part)
    return joined


def _add_image(block: dict[str, Json], news: dict[str, Json]) -> None:
    """Add to an image; the base64 of each event may end with padding."""
    image = as_dict(block.get("image"))
    before, piece = (as_str(as_dict(each.get("source")).get("bytes")) for each in (image, news))
    if before and piece:
        try:
            whole = base64.b64encode(base64.b64decode(before) + base64.b64decode(piece)).decode()
        except ValueError:
            whole = before + piece
        news = {**news, "source": {"bytes": whole}}
    block["image"] = {**image, **news}


def _add_reasoning(block: dict[str, Json], news: dict[str, Json]) -> None:
    content = {**as_dict(block.get("reasoningContent"))}
    if "redactedContent" in news:
        content["redactedContent"] = as_str(content.get("redactedContent")) + as_str(news["redactedContent"])
    else:
        text = {**as_dict(content.get("reasoningText"))}
        for key in ("text", "signature"):
            if key in news:
                text[key] = as_str(text.get(key)) + as_str(news[key])
        content["reasoningText"] = text
    block["reasoningContent"] = content


def _finish_block(block: dict[str, Json]) -> Json:
    """Parse the JSON of a tool call's input, and join a text and its citations.

    JSON that is cut stays a string.
    """
    if "citations" in block:
        return {"citationsContent": {"content": [{"text": block.get("text")}], "citations": block["citations"]}}
    call = as_dict(block.get("toolUse"))
    text = call.get("input", "")
    if not call or not isinstance(text, str):
        return block
    try:
        return {**block, "toolUse": {**call, "input": canonical.loads(text) if text else {}}}
    except (ValueError, RecursionError):
        return block
