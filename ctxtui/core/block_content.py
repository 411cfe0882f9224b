"""Reads a block of any dialect (an API's JSON) into one neutral form, `BlockContent`."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from typing import Final

from msgspec import Struct

from ctxtui.core import canonical
from ctxtui.core.block import HEADER, Block
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_list

_BLANK: Final = re.compile(r"\s")
_MIN_READABLE_BYTES: Final = 1 << 18
"""Size from which on a reasoning block is assumed to hold readable text and is not decoded."""


class Media(Struct, frozen=True):
    """An image or file in a block: base64 `data`, or a URL or a provider's file id in `url`."""

    media_type: str
    data: str = ""
    url: str = ""


class BlockContent(Struct, frozen=True, kw_only=True):
    """Content of a block, independent of the dialect.

    - `text`: what the model reads as text.
    - `name`: the tool's name; in a message's header, the role.
    - `call_id`: the id that pairs a call with its result; of a Google result without an id, the tool's name.
    - `arguments`: the JSON text of a call's input: verbatim if the provider sends it as a string, else minified.
    - `hidden`: number of characters of text that the recording withholds (a thinking signature, encrypted reasoning).
    - `media`: the images and files in it.
    - `is_error`: a result says that the call failed.
    """

    text: str = ""
    name: str = ""
    call_id: str = ""
    arguments: str = ""
    hidden: int = 0
    media: tuple[Media, ...] = ()
    is_error: bool = False

    @property
    def pairing_id(self) -> str:
        """The `call_id`, else the tool's name, by which results name a call without an id."""
        return self.call_id or self.name


FUNCTION_CALL: Final = ("functionCall", "function_call")
FUNCTION_RESPONSE: Final = ("functionResponse", "function_response")
MEDIA_MEMBERS: Final = ("inlineData", "inline_data", "fileData", "file_data")
MIME_TYPE: Final = ("mimeType", "mime_type")
"""Members of Google's parts, which take both spellings."""
RESPONSE_TEXTS: Final = ("output", "error", "result", "content")
"""Members of a function's response that hold its text; Google names the first two, clients the others."""
SCHEMA_MEMBERS: Final = ("input_schema", "parameters", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
"""Members that hold the schema of a tool's input, in the spellings of all dialects."""

_ARGUMENTS: Final = ("input", "arguments", "args", "action", "operation", "code", "queries")
"""Members that hold a call's input; the last four are those of OpenAI's own tools."""

_Reader = Callable[[dict[str, Json]], BlockContent]


def read(block: Block) -> BlockContent:
    """Read the content of `block`; unknown kinds are read as their JSON text."""
    return read_value(block.kind, block.value())


def is_sealed(block: Block) -> bool:
    """Whether a reasoning block can be read by its provider only."""
    return len(block.body) < _MIN_READABLE_BYTES and not read(block).text.strip()


def read_value(kind: str, value: Json) -> BlockContent:
    """Like `read`, for a block's JSON `value` of `kind`."""
    if isinstance(value, str):
        # Ollama's images are bare base64.
        return BlockContent(media=(Media("", value),)) if kind == "image" else BlockContent(text=value)
    if not isinstance(value, dict):
        return BlockContent(text=canonical.dump_text(value))
    reader = _READERS.get(kind) or _find_by_suffix(kind)
    return reader(value) if reader else BlockContent(text=canonical.dump_text(value))


def _find_by_suffix(kind: str) -> _Reader | None:
    if kind.endswith(("_output", "_result")):
        return _read_result
    if kind.endswith(("_use", "_call")):
        return _read_call
    return None


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else canonical.dump_text(value)


def _read_text(value: dict[str, Json]) -> BlockContent:
    for key in ("text", "refusal", "content"):
        if isinstance(value.get(key), str):
            return BlockContent(text=value[key])
    return BlockContent(text=canonical.dump_text(value))


def _read_thinking(value: dict[str, Json]) -> BlockContent:
    text = value.get("thinking") or value.get("text") or ""
    if not text:
        parts = [*as_list(value.get("summary")), *as_list(value.get("content"))]
        text = "\n".join(p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str))
    cipher = value.get("encrypted_content") or value.get("data") or ""
    hidden = len(cipher) if isinstance(cipher, str) else 0
    signature = value.get("signature", value.get("thoughtSignature"))
    if not text and isinstance(signature, str):
        hidden = len(signature)
    return BlockContent(text=_as_text(text), hidden=hidden)


def _inner_object(value: dict[str, Json]) -> dict[str, Json]:
    # OpenAI Chat wraps a function's name and arguments once more, and so those of a custom tool.
    inner = value.get("function", value.get("custom"))
    return inner if isinstance(inner, dict) else _member(value, FUNCTION_CALL) or value


def _member(value: dict[str, Json], keys: tuple[str, ...]) -> dict[str, Json]:
    """The first object under one of `keys`; empty for none."""
    return next((inner for key in keys if isinstance(inner := value.get(key), dict)), {})


def _read_call(value: dict[str, Json]) -> BlockContent:
    inner = _inner_object(value)
    arguments: Json = next((inner[key] for key in _ARGUMENTS if key in inner), {})
    return BlockContent(
        name=_as_text(inner.get("name")) or str(value.get("type", "")).removesuffix("_call"),
        call_id=_as_text(value.get("call_id") or value.get("id") or _member(value, FUNCTION_CALL).get("id")),
        arguments=arguments if isinstance(arguments, str) else canonical.dump_text(arguments),
    )


def response_text_key(response: Json) -> str:
    """Key of the only member of a function's response that is its text; "": all of it is."""
    members = response if isinstance(response, dict) else {}
    text_keys = [key for key in RESPONSE_TEXTS if isinstance(members.get(key), str)]
    # Some clients repeat the tool's name.
    return text_keys[0] if len(text_keys) == 1 and members.keys() <= {text_keys[0], "name"} else ""


def _read_response(value: dict[str, Json]) -> BlockContent:
    inner = _member(value, FUNCTION_RESPONSE)
    response = inner.get("response")
    key = response_text_key(response)
    media = (_read_media(part).media for part in as_list(inner.get("parts")) if isinstance(part, dict))
    return BlockContent(
        text=_as_text(response[key] if key and isinstance(response, dict) else response),
        name=_as_text(inner.get("name")),
        call_id=_as_text(inner.get("id") or inner.get("name")),
        media=tuple(chain.from_iterable(media)),
        is_error=isinstance(response, dict) and "error" in response and "output" not in response,
    )


def _read_result(value: dict[str, Json]) -> BlockContent:
    content = value.get("content", value.get("output"))
    texts: list[str] = []
    media: list[Media] = []
    for part in content if isinstance(content, list) else [content]:
        inner = part if isinstance(part, dict) else {"type": "text", "text": _as_text(part)}
        inner_content = read_value(str(inner.get("type", "text")), inner)
        texts.append(inner_content.text)
        media.extend(inner_content.media)
    return BlockContent(
        text="\n".join(t for t in texts if t),
        name=_as_text(value.get("name")),
        call_id=_as_text(value.get("tool_use_id") or value.get("tool_call_id") or value.get("call_id")),
        media=tuple(media),
        is_error=value.get("is_error") is True,
    )


def _read_media(value: dict[str, Json]) -> BlockContent:
    if medium := _member(value, MEDIA_MEMBERS):
        media_type = next((_as_text(medium[key]) for key in MIME_TYPE if key in medium), "")
        address = _as_text(medium.get("fileUri", medium.get("file_uri")))
        return BlockContent(media=(Media(media_type, _as_text(medium.get("data")), address),))
    source = value.get("source") or value.get("file") or value.get("input_audio")
    url = value.get("image_url", value.get("url"))
    if isinstance(url, dict):
        url = url.get("url")
    if isinstance(source, dict):
        if isinstance(source.get("data"), str) and source.get("type") == "text":
            return BlockContent(text=source["data"])
        if source.get("type") == "content":
            inner_content = _read_result(source)
            return BlockContent(text=inner_content.text, media=inner_content.media)
        data = _as_text(source.get("data") or source.get("file_data"))
        kind = _as_text(source.get("media_type") or source.get("format"))
        url = _as_text(source.get("url") or source.get("file_id") or url)
        media = _from_data_url(data) or Media(kind, data, url)
        return BlockContent(text=_as_text(value.get("title")), media=(media,))
    data, address = _as_text(value.get("file_data")), _as_text(url or value.get("file_id"))
    return BlockContent(media=(_from_data_url(address) or _from_data_url(data) or Media("", data, address),))


def _from_data_url(text: str) -> Media | None:
    """The media in a data URL; None for any other text."""
    if not text.startswith("data:") or ";base64," not in text:
        return None
    kind, _, data = text[5:].partition(";base64,")
    return Media(kind, data)


def _read_tool(value: dict[str, Json]) -> BlockContent:
    value = unwrap_tool(value)
    inner = _inner_object(value)
    server = inner.get("server_label") or inner.get("mcp_server_name")
    name = _as_text(inner.get("name") or server or value.get("type"))
    return BlockContent(text=canonical.dump_text(value), name=name)


def unwrap_tool(value: Json) -> Json:
    """Unwrap a namespace around a single tool (facts §13).

    Any other `value` is returned as it is.
    """
    inner = value.get("tools") if isinstance(value, dict) and value.get("type") == "namespace" else None
    return inner[0] if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], dict) else value


def _read_header(value: dict[str, Json]) -> BlockContent:
    # A header's content key only says how the content was spelled; the model reads role and name.
    return BlockContent(text=_as_text(value.get("name")), name=_as_text(value.get("role")))


def _read_not_recorded(value: dict[str, Json]) -> BlockContent:
    return BlockContent(text=_as_text(value.get("what")))


def _read_unreadable(value: dict[str, Json]) -> BlockContent:
    return BlockContent(text=f"{_as_text(value.get('place'))}: {_as_text(value.get('reason'))}")


def _read_encrypted(value: dict[str, Json]) -> BlockContent:
    # Messages between agents are encrypted for the model; text with white space is not encrypted.
    cipher = _as_text(value.get("encrypted_content"))
    return BlockContent(text=cipher) if _BLANK.search(cipher) else BlockContent(hidden=len(cipher))


def _read_compaction(value: dict[str, Json]) -> BlockContent:
    cipher = value.get("encrypted_content")
    text = _as_text(value.get("content"))
    return BlockContent(text=text, hidden=len(cipher) if isinstance(cipher, str) and not text else 0)


_READERS: Final[dict[str, _Reader]] = {
    "text": _read_text,
    "input_text": _read_text,
    "output_text": _read_text,
    "summary_text": _read_text,
    "reasoning_text": _read_text,
    "refusal": _read_text,
    "thinking": _read_thinking,
    "redacted_thinking": _read_thinking,
    "reasoning": _read_thinking,
    "tool_use": _read_call,
    "function": _read_call,
    "tool_call": _read_call,
    "function_response": _read_response,
    "image": _read_media,
    "image_url": _read_media,
    "input_image": _read_media,
    "document": _read_media,
    "file": _read_media,
    "input_file": _read_media,
    "input_audio": _read_media,
    "tool": _read_tool,
    HEADER: _read_header,
    "not_recorded": _read_not_recorded,
    "unreadable": _read_unreadable,
    "encrypted_content": _read_encrypted,
    "compaction": _read_compaction,
    "compaction_summary": _read_compaction,
}
"""The reader of each kind; for others, see `_find_by_suffix`."""


def arguments_value(content: BlockContent) -> Json:
    """Decode a call's input; the text itself if it is no JSON or is nested too deeply."""
    try:
        value = canonical.loads(content.arguments)
    except (RecursionError, ValueError):
        return content.arguments
    return content.arguments if canonical.is_deep(value) else value
