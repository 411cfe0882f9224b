"""Google's generateContent: requests, answers, streams, with blocks in Anthropic's spelling."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.call import TOOL_USE_INPUT
from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import messages
from ctxtui.transcripts.kit.fields import at, count, listed, obj, objects, word
from ctxtui.transcripts.kit.messages import spoken
from ctxtui.wire.request import Response
from ctxtui.wire.stream import error_text
from ctxtui.wire.usage import extra_usage

NAME: Final = "google"
CONTEXT: Final = frozenset(
    {"contents", "tools", "systemInstruction", "system_instruction", "cachedContent", "cached_content"}
)
"""Members of a request that are context; all others are parameters."""


def request_items(body: dict[str, Json]) -> list[Item]:
    """Convert a request to items: tools, system, contents."""
    made = [Item(blocks.make(TOOL, tool), Place("tools")) for tool in _tools(body)]
    system = body.get("systemInstruction", body.get("system_instruction"))
    said = system if isinstance(system, str) else obj(system).get("parts")
    made += [Item(blocks.from_part(part), Place("system")) for part in parts(said)]
    contents = body.get("contents")
    for content in [contents] if isinstance(contents, str | dict) else listed(contents):
        made += _message(content)
    return made


def _tools(body: dict[str, Json]) -> list[Json]:
    found: list[Json] = []
    for tool in objects(body.get("tools")):
        declared = listed(tool.get("functionDeclarations", tool.get("function_declarations")))
        rest = {key: item for key, item in tool.items() if item is not None and not key.startswith("function")}
        found += [*declared, *([rest] if rest else [])]
    return found


def _message(content: Json) -> list[Item]:
    if isinstance(content, str):
        return spoken("user", content)
    held = obj(content)
    return spoken(word(held.get("role")) or "user", *parts(held.get("parts")))


def parts(content: Json) -> list[Json]:
    """Convert content in any of its forms (a string, a part, a list of parts) to parts in Anthropic's spelling."""
    found = [content] if isinstance(content, str | dict) else listed(content)
    return [_typed(part) for part in found]


def _typed(part: Json) -> Json:
    """Convert a part, which has no type member, to Anthropic's spelling."""
    if not isinstance(part, dict):
        return part
    rest = {key: item for key, item in part.items() if item is not None}
    words = rest.pop("text", None)
    if isinstance(words, str):
        thought = rest.pop("thought", False) is True
        signature = rest.pop("thoughtSignature", None) if thought else None
        return messages.thinking(words, signature, **rest) if thought else messages.text(words, **rest)
    call = obj(_pop(rest, "functionCall", "function_call"))
    if call:
        return messages.tool_use(call.get("id") or call.get("name"), call.get("name"), call.get("args", {}), **rest)
    answer = obj(_pop(rest, "functionResponse", "function_response"))
    if answer:
        id_ = answer.get("id") or answer.get("name")
        return messages.tool_result(id_, answer.get("response"), name=answer.get("name"), **rest)
    data = obj(_pop(rest, "inlineData", "inline_data"))
    if data:
        return _media(word(data.get("mimeType", data.get("mime_type"))), {"data": data.get("data")}, rest)
    file = obj(_pop(rest, "fileData", "file_data"))
    if file:
        kind = word(file.get("mimeType", file.get("mime_type")))
        return _media(kind, {"url": file.get("fileUri", file.get("file_uri"))}, rest)
    return {"type": next(iter(rest), "part"), **rest}


def _pop(rest: dict[str, Json], *keys: str) -> Json:
    found = [rest.pop(key) for key in keys if key in rest]
    return found[0] if found else None


def _media(kind: str, where: dict[str, Json], rest: dict[str, Json]) -> Json:
    source = {"type": "base64" if "data" in where else "url", "media_type": kind, **where}
    return {"type": "image" if kind.startswith("image/") else "document", "source": source, **rest}


def usage(report: Json) -> Usage | None:
    """Convert the usage of one answer: the prompt includes cached tokens, the candidates exclude thoughts (facts §12).

    Zeros are left out of the report, so a missing figure is zero.
    """
    if not isinstance(report, dict) or "promptTokenCount" not in report:
        return None
    read, thoughts = count(report.get("cachedContentTokenCount")), count(report.get("thoughtsTokenCount"))
    prompt = count(report.get("promptTokenCount")) + count(report.get("toolUsePromptTokenCount"))
    return Usage(
        fresh=max(0, prompt - read),
        cache_read=read,
        output=count(report.get("candidatesTokenCount")) + thoughts,
        reasoning=thoughts,
    )


def answer(chunks: Iterable[Json]) -> Response:
    """Assemble the answer of `chunks` (one if it was not streamed)."""
    whole: dict[str, Json] = {}
    said: list[Json] = []
    reason = ""
    for chunk in map(obj, chunks):
        whole |= {key: item for key, item in chunk.items() if item is not None}
        first = at(chunk, "candidates", 0)
        reason = word(at(first, "finishReason")) or reason
        for part in listed(at(first, "content", "parts")):
            _add(said, part)
    error = error_text(whole) if "error" in whole else word(at(whole, "promptFeedback", "blockReason"))
    told = ("candidates", "usageMetadata", "modelVersion", "responseId", "error")
    return Response(
        items=tuple(spoken("model", *map(_typed, said))) if said else (),
        usage=usage(whole.get("usageMetadata")),
        id=word(whole.get("responseId")),
        model=word(whole.get("modelVersion")),
        stop_reason=reason,
        error=error,
        complete=bool(reason or error),
        extra={key: item for key, item in whole.items() if key not in told}
        | _by_tools(whole)
        | extra_usage(whole.get("usageMetadata")),
    )


def _by_tools(whole: dict[str, Json]) -> dict[str, Json]:
    """Input that the provider's own tools added, which the report counts separately."""
    brought = count(at(whole, "usageMetadata", "toolUsePromptTokenCount"))
    return {TOOL_USE_INPUT: brought} if brought else {}


def _add(said: list[Json], part: Json) -> None:
    """Append a streamed part, joining consecutive texts."""
    last = obj(said[-1]) if said else {}
    news = obj(part)
    joins = "text" in last and "text" in news and "thoughtSignature" not in last
    if joins and last.get("thought") == news.get("thought"):
        said[-1] = {**last, **news, "text": word(last["text"]) + word(news["text"])}
    else:
        said.append(part)
