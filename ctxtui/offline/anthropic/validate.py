"""Validates requests as the Anthropic Messages API does (facts §1, §2).

It is written from the documentation. It is deliberately independent of `curation.legality.legality`: tests compare the
two.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.anthropic.context_edits import edit_refusals
from ctxtui.offline.anthropic.fields import (
    BETA,
    BETA_BLOCKS,
    BLOCKS,
    COUNTED,
    CREATED,
    INSIDE_RESULT,
    SAMPLING,
    SOURCES,
    breakpoint_refusals,
    field_refusals,
    format_choices,
    format_path,
    refusal_at,
    tag_refusal,
    typed_refusals,
)
from ctxtui.offline.anthropic.models import EFFORTS, Claude, claude
from ctxtui.offline.anthropic.thinking import CONTROLS, blocks, check_thinking, is_user_text
from ctxtui.offline.anthropic.validate_turns import turn_refusals
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import Fields, Path, ShapeField, fields
from ctxtui.tokens.image import image_size, stated_pages

NEW_VERSION: Final = "2026-10-21"
OLD_VERSION: Final = "2023-06-01"
VERSIONS: Final = (NEW_VERSION, OLD_VERSION)
MAX_BYTES: Final = 32 * 1024 * 1024
"""Larger requests get a 413."""
MAX_MESSAGES: Final = 100_000
ROLES: Final = ("user", "assistant", "system")
SAFEGUARD: Final = "dangerous_tool_use"
"""The only known value of ``safeguards``, which needs a beta header."""
_SAFEGUARDS: Final = {SAFEGUARD: fields("type! string, classifier_context! object")}
_MESSAGE: Final = fields("role string, content! string|array")
Body = Mapping[str, Json]
Parts = Sequence[tuple[Path, Body]]
"""The blocks of all messages with their paths; the blocks inside a tool result precede it."""


def refusals(
    body: Json, *, version: str = NEW_VERSION, betas: Collection[str] = (), counting: bool = False, strict: bool = True
) -> list[Refusal]:
    """All reasons to refuse `body`, a request's JSON value; empty if it is valid.

    `version` is the ``anthropic-version`` header, `betas` are the names in ``anthropic-beta``. `counting`: the request
    is for a token count. The provider reports only the first reason of the list. If fields are wrong, nothing else is
    checked. Without `strict` any model and any ``max_tokens`` are accepted.
    """
    if not isinstance(body, dict):
        return [Refusal("Input should be a valid dictionary", rule="wrong type")]
    model = claude(str(body.get("model")), strict)
    errors = list(_shape_refusals(body, version, betas, counting, model))
    if errors:
        return errors
    if model is None:
        return [Refusal(f"model: {body['model']}", 404, "not_found_error", rule="unknown model")]
    errors = [*_message_refusals(body, bool(betas)), *_system_refusals(body)]
    if errors:
        return errors
    parts = list(_iter_parts(body))
    return [
        *_number_refusals(body, model, counting),
        *turn_refusals(as_list(body["messages"]), model),
        *(_document_refusals(body) if version == NEW_VERSION else ()),
        *_compaction_refusals(parts),
        *_safeguard_refusals(body),
        *_all_breakpoint_refusals(body, parts),
        *_tools_refusals(body, model),
        *edit_refusals(body),
        *_thinking_refusals(body, model, betas),
        *_media_refusals(parts, model.images),
        *check_thinking(body, model, betas).refusals,
    ]


def _shape_refusals(
    body: Body, version: str, betas: Collection[str], counting: bool, model: Claude | None
) -> Iterator[Refusal]:
    known_fields: dict[str, ShapeField] = dict(COUNTED if counting else CREATED)
    known_fields |= {
        key: ShapeField() for key, names in BETA.items() if any(b.startswith(n) for b in betas for n in names)
    }
    known_fields |= fields("safeguards array") if "safeguards" in known_fields else {}
    if version == OLD_VERSION:
        known_fields |= SAMPLING
        for key in SAMPLING:
            # The default value is accepted: llm always sends it (facts §13.3).
            is_default = key == "temperature" and body.get(key) == 1
            if body.get(key) is not None and not is_default and model is not None and not model.sampling:
                yield Refusal(f"`{key}` is deprecated for this model.", rule="sampling")
    yield from field_refusals(body, known_fields)


def _message_refusals(body: Body, beta: bool) -> Iterator[Refusal]:
    messages = as_list(body["messages"])
    if len(messages) > MAX_MESSAGES:
        yield Refusal(f"messages: at most {MAX_MESSAGES} messages are allowed", rule="too many messages")
    for n, message in enumerate(messages):
        path: Path = ("messages", n)
        if not isinstance(message, dict):
            yield refusal_at(path, "Input should be a valid dictionary", "wrong type")
            continue
        role, content = message.get("role"), message.get("content")
        if role not in ROLES:
            reason = "Field required" if role is None else f"Input should be {format_choices(ROLES)}"
            yield refusal_at((*path, "role"), reason, "role")
        known_fields = _MESSAGE | (fields("clear_at string, output_config") if role == "system" and beta else {})
        yield from field_refusals(message, known_fields, path)
        if isinstance(content, str) and content and not content.strip():
            yield Refusal("messages: text content blocks must contain non-whitespace text", rule="empty text")
        for m, block in enumerate(as_list(content)):
            yield from _block_refusals(block, (*path, "content", m), BLOCKS | BETA_BLOCKS if beta else BLOCKS)


def _system_refusals(body: Body) -> Iterator[Refusal]:
    for n, block in enumerate(as_list(body.get("system"))):
        yield from _block_refusals(block, ("system", n), {"text": BLOCKS["text"]})


def _block_refusals(block: Json, path: Path, known_types: Mapping[str, Fields]) -> Iterator[Refusal]:
    yield from typed_refusals(block, path, known_types)
    value = as_dict(block)
    kind = str(value.get("type"))
    inner = (*path, kind)
    if kind not in known_types:
        return
    if kind == "text":
        yield from _text_refusals(value, path)
    elif kind == "tool_result":
        parts = as_list(value.get("content"))
        for n, part in enumerate(parts):
            yield from _block_refusals(part, (*inner, "content", n), INSIDE_RESULT)
        if value.get("is_error") is True and any(as_dict(part).get("type") != "text" for part in parts):
            yield refusal_at(inner, "all content must be type `text` if `is_error` is true", "error result not text")
    elif kind in ("image", "document"):
        yield from _source_refusals(kind, value.get("source"), (*inner, "source"))
    elif kind == "search_result":
        for n, part in enumerate(as_list(value.get("content"))):
            yield from typed_refusals(part, (*inner, "content", n), {"text": BLOCKS["text"]})
    elif kind == "compaction" and value.get("content") == "":
        yield refusal_at((*inner, "content"), "content must be non-empty", "empty text")


def _text_refusals(value: Body, path: Path) -> Iterator[Refusal]:
    """Refusals of a text that is empty or white space, and of a breakpoint on it."""
    text = value.get("text")
    if isinstance(text, str) and not text.strip():
        if value.get("cache_control") is not None:
            yield refusal_at(path, "cache_control cannot be set for empty text blocks", "cache on empty")
        problem = "must contain non-whitespace text" if text else "must be non-empty"
        yield refusal_at(path[:1], f"text content blocks {problem}", "empty text")


def _iter_parts(body: Body) -> Iterator[tuple[Path, Body]]:
    for n, message in enumerate(as_list(body["messages"])):
        for m, block in enumerate(as_list(message["content"])):
            path = ("messages", n, "content", m)
            if block["type"] == "tool_result":
                for k, part in enumerate(as_list(block.get("content"))):
                    yield (*path, "tool_result", "content", k), part
            yield path, block


def _number_refusals(body: Body, model: Claude, counting: bool) -> Iterator[Refusal]:
    max_tokens = body.get("max_tokens")
    if not counting and isinstance(max_tokens, int) and max_tokens > model.max_output:
        message = f"which is the maximum allowed number of output tokens for {body['model']}"
        yield Refusal(f"max_tokens: {max_tokens} > {model.max_output}, {message}", rule="max_tokens")
    if max_tokens == 0:
        # A request that only fills the cache has no settings of an answer.
        clashes = {
            "stream": body.get("stream") is True,
            "thinking": as_dict(body.get("thinking")).get("type") == "enabled",
            "output_config.format": as_dict(body.get("output_config")).get("format") is not None,
            "tool_choice": as_dict(body.get("tool_choice")).get("type") in ("any", "tool"),
        }
        for name in (name for name, clash in clashes.items() if clash):
            yield Refusal(f"max_tokens: 0 cannot be combined with `{name}`", rule="pre-warm")
    for n, stop in enumerate(as_list(body.get("stop_sequences"))):
        if not isinstance(stop, str):
            yield refusal_at(("stop_sequences", n), "Input should be a valid string", "wrong type")
        elif not stop.strip():
            yield Refusal("stop_sequences: each stop sequence must contain non-whitespace", rule="stop sequence")


def _document_refusals(body: Body) -> Iterator[Refusal]:
    """Restrictions of version 2026-10-21: documents by the assistant, citations by the user."""
    for n, message in enumerate(as_list(body["messages"])):
        for m, block in enumerate(as_list(message["content"])):
            kind, path = block["type"], ("messages", n, "content", m)
            if kind == "document" and message["role"] == "assistant":
                reason = "`document` blocks are not permitted directly in an `assistant` message"
                yield refusal_at(path, reason, "assistant document")
            texts = {"text": [block], "search_result": as_list(block.get("content"))}.get(kind, [])
            if message["role"] == "user" and any(as_dict(part).get("citations") for part in texts):
                reason = "`citations` are not permitted on `text` blocks in a `user` message"
                yield refusal_at((*path, "text", "citations"), reason, "user citations")


def _safeguard_refusals(body: Body) -> Iterator[Refusal]:
    """Requested checks of an answer (facts §13.3)."""
    for n, check in enumerate(as_list(body.get("safeguards"))):
        yield from typed_refusals(check, ("safeguards", n), _SAFEGUARDS)


def _compaction_refusals(parts: Parts) -> Iterator[Refusal]:
    """Only one compaction block may be signed, and it must be the first block."""
    places = [path for path, block in parts if block["type"] == "compaction" and block.get("signature")]
    if len(places) > 1:
        message = "messages: only one signed `compaction` block is allowed"
        yield Refusal(message, code="compaction_block_ambiguous", rule="compaction")
    elif places and places[0] != ("messages", 0, "content", 0):
        message = f"{format_path(places[0])}: a `compaction` block must come first in `messages`"
        yield Refusal(message, code="compaction_block_misplaced", rule="compaction")


MAX_BREAKPOINTS: Final = 4
"""Maximum breakpoints of a request, the automatic one included."""


def _all_breakpoint_refusals(body: Body, parts: Parts) -> Iterator[Refusal]:
    automatic = body.get("cache_control")
    yield from breakpoint_refusals(automatic, ("cache_control",))
    front_blocks = [
        ((key, n), as_dict(value)) for key in ("tools", "system") for n, value in enumerate(as_list(body.get(key)))
    ]
    marks = [
        ((*path, "cache_control"), _lifetime(value)) for path, value in [*front_blocks, *parts] if _lifetime(value)
    ]
    limit = MAX_BREAKPOINTS
    if isinstance(automatic, dict):
        lifetime = str(automatic.get("ttl") or "5m")
        own_lifetime = _lifetime(_last_block(body))
        if own_lifetime and own_lifetime != lifetime:
            message = "cache_control: the last block already carries a cache_control with a different ttl"
            yield Refusal(message, rule="automatic ttl")
        elif not own_lifetime:
            if len(marks) == limit:
                message = (
                    f"cache_control: all {limit} cache breakpoints are used by blocks; none is left for the request"
                )
                yield Refusal(message, rule="too many markers")
            marks.append((("cache_control",), lifetime))
            # If only the automatic breakpoint is too many, that is refused above already.
            limit += len(marks) == limit + 1
    if len(marks) > limit:
        message = f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {len(marks)}."
        yield Refusal(message, rule="too many markers")
    first_short = next((n for n, (_, lifetime) in enumerate(marks) if lifetime == "5m"), len(marks))
    for path in [path for path, lifetime in marks[first_short:] if lifetime == "1h"][:1]:
        message = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
        order = "Note that blocks are processed in the following order: `tools`, `system`, `messages`."
        yield refusal_at((*path, "ttl"), f"{message} {order}", "ttl order")


def _lifetime(block: Body) -> str:
    """The TTL of a block's cache breakpoint; "" without one."""
    marker = block.get("cache_control")
    return str(marker.get("ttl") or "5m") if isinstance(marker, dict) else ""


def _last_block(body: Body) -> Body:
    """The last block that may carry a breakpoint: automatic caching uses it."""
    for message in reversed(as_list(body["messages"])):
        for block in reversed(blocks(message["content"])):
            if block["type"] not in ("thinking", "redacted_thinking"):
                return as_dict(block)
    return {}


_NAME_PATTERN: Final = r"^[a-zA-Z0-9_-]{1,128}$"
_CUSTOM: Final = fields(
    "name! string, input_schema! object, type string, description string, cache_control object, defer_loading boolean, "
    "strict boolean, input_examples array, eager_input_streaming boolean, allowed_callers array"
)
_TYPED: Final = re.compile(
    r"(bash|text_editor|memory|web_search|web_fetch|code_execution|computer|advisor|tool_search_tool_(regex|bm25))"
    r"_20\d{6}|(computer|browser)_toolset_20\d{6}|mcp_toolset"
)
"""Types of the provider's own tools."""
_CHOICES: Final = {
    "auto": fields("type! string, disable_parallel_tool_use boolean"),
    "any": fields("type! string, disable_parallel_tool_use boolean"),
    "tool": fields("type! string, disable_parallel_tool_use boolean, name! string"),
    "none": fields("type! string"),
}


def _tools_refusals(body: Body, model: Claude) -> Iterator[Refusal]:
    tools = as_list(body.get("tools"))
    for n, tool in enumerate(tools):
        yield from _tool_refusals(tool, ("tools", n))
    named = [str(as_dict(tool)["name"]) for tool in tools if "name" in as_dict(tool)]
    if len(set(named)) < len(named):
        yield Refusal("tools: Tool names must be unique.", rule="tool names unique")
    if tools and all(as_dict(tool).get("defer_loading") for tool in tools):
        yield Refusal("tools: at least one tool must not have `defer_loading` set", rule="all tools deferred")
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        yield from _choice_refusals(choice, named, bool(tools), as_dict(body.get("thinking")), model)


def _tool_refusals(tool: Json, path: Path) -> Iterator[Refusal]:
    if not isinstance(tool, dict):
        yield refusal_at(path, "Input should be a valid dictionary", "wrong type")
        return
    kind, name, schema = tool.get("type"), tool.get("name"), tool.get("input_schema")
    if kind not in (None, "custom"):
        if not isinstance(kind, str) or not _TYPED.fullmatch(kind):
            message = f"Input tag '{kind}' found using 'type' does not match any of the expected tags"
            yield refusal_at(path, message, "unknown tool type")
        elif kind.startswith("tool_search_tool_") and tool.get("defer_loading"):
            yield refusal_at(path, "the tool search tool cannot be deferred", "search deferred")
    else:
        path = (*path, "custom")
        yield from field_refusals(tool, _CUSTOM, path)
        if isinstance(name, str) and not re.fullmatch(_NAME_PATTERN, name):
            yield refusal_at((*path, "name"), f"String should match pattern '{_NAME_PATTERN}'", "tool name")
        if isinstance(schema, dict) and schema.get("type") != "object":
            message = "Field required" if "type" not in schema else "Input should be 'object'"
            yield refusal_at((*path, "input_schema", "type"), message, "input schema")
    yield from breakpoint_refusals(tool.get("cache_control"), (*path, "cache_control"))


def _choice_refusals(
    choice: Body, named: Sequence[str], tools: bool, thinking: Body, model: Claude
) -> Iterator[Refusal]:
    kind = choice.get("type")
    if not isinstance(kind, str) or kind not in _CHOICES:
        yield Refusal(f"tool_choice.type: Input should be {format_choices([*_CHOICES])}", rule="wrong value")
        return
    yield from field_refusals(choice, _CHOICES[kind], ("tool_choice", kind))
    if not tools and kind != "none":
        yield Refusal("tool_choice: tool_choice may only be specified while providing tools", rule="no tools")
    elif tools and kind == "tool" and choice.get("name") not in named:
        message = f"Tool '{choice.get('name')}' not found in provided tools"
        yield Refusal(f"tool_choice: {message}", rule="unknown tool")
    if kind in ("any", "tool"):
        if thinking.get("type") == "enabled":
            message = "Thinking may not be enabled when tool_choice forces tool use."
            yield Refusal(message, rule="forced call while thinking")
        elif not model.forced_calls:
            yield Refusal(f"tool_choice: '{kind}' is not supported on this model", rule="forced call")


_DISPLAY: Final = "type! string, display =summarized|omitted|updates"
_THINKING: Final = {
    "adaptive": fields(_DISPLAY),
    "between_tools": fields("type! string"),
    "disabled": fields("type! string"),
    "enabled": fields(f"{_DISPLAY}, budget_tokens! integer >=1024"),
}
_UNSUPPORTED: Final = {
    "adaptive": "adaptive thinking is not supported on this model",
    "enabled": '"thinking.type.enabled" is not supported for this model. '
    'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
}
_OUTPUT: Final = fields(f"effort ={'|'.join(EFFORTS)}, format object, task_budget object")


def _thinking_refusals(body: Body, model: Claude, betas: Collection[str]) -> Iterator[Refusal]:
    config, thinking = as_dict(body.get("output_config")), body.get("thinking")
    yield from _output_refusals(config, model)
    if not isinstance(thinking, dict):
        return
    kind, effort = thinking.get("type"), config.get("effort")
    if not isinstance(kind, str) or kind not in _THINKING:
        missing = Refusal("thinking.type: Field required", rule="thinking type")
        yield tag_refusal(kind, _THINKING, ("thinking",), "thinking type") if kind else missing
        return
    known_fields = _THINKING[kind] | (fields("block_binding object") if CONTROLS in betas else {})
    yield from field_refusals(thinking, known_fields, ("thinking", kind))
    if kind not in model.thinking:
        message = _UNSUPPORTED.get(kind, f'"thinking.type.{kind}" is not supported for this model.')
        yield Refusal(message, rule="thinking type")
    elif kind == "enabled":
        budget, most = thinking.get("budget_tokens"), body.get("max_tokens")
        if isinstance(budget, int) and isinstance(most, int) and budget >= most > 0:
            yield Refusal("`max_tokens` must be greater than `thinking.budget_tokens`.", rule="thinking budget")
        yield from _opening_refusals(as_list(body["messages"]))
    thinks_hard = effort in ("xhigh", "max") and model.line in ("opus", "haiku") and model.version >= (5, 0)
    if kind == "disabled" and thinks_hard:
        yield Refusal(f"thinking.type: 'disabled' is not supported at effort '{effort}'", rule="thinking off")


def _output_refusals(config: Body, model: Claude) -> Iterator[Refusal]:
    yield from field_refusals(config, _OUTPUT, ("output_config",))
    effort, form = config.get("effort"), config.get("format")
    if effort in EFFORTS and not model.efforts:
        yield Refusal("This model does not support the effort parameter.", rule="effort")
    elif effort in EFFORTS and effort not in model.efforts:
        levels = ", ".join(sorted(model.efforts))
        message = f"This model does not support effort level '{effort}'. Supported levels: {levels}."
        yield Refusal(message, rule="effort")
    if isinstance(form, dict) and (form.get("type") != "json_schema" or not isinstance(form.get("schema"), dict)):
        yield Refusal("output_config.format.schema: Field required", rule="output format")


def _opening_refusals(messages: Sequence[Json]) -> Iterator[Refusal]:
    """In a tool loop, the turn's first answer must begin with its thinking."""
    start = next((n + 1 for n in range(len(messages) - 1, -1, -1) if is_user_text(messages[n])), len(messages))
    content = blocks(messages[start]["content"]) if start < len(messages) else []
    if content and content[0]["type"] not in ("thinking", "redacted_thinking"):
        kind = content[0]["type"]
        message = (
            f"Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final "
            "`assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` "
            "and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
            "requirement, disable `thinking`."
        )
        yield refusal_at(("messages", start, "content", 0, "type"), message, "thinking first")


_MAX_IMAGE: Final = 10 * 1024 * 1024
"""Base64 characters of one image."""
_MAX_EDGE: Final = 8000
"""Pixels of an image's longer side."""
_MANY_IMAGES: Final = 20
"""With more images, each may only have `_MANY_EDGE` pixels."""
_MANY_EDGE: Final = 2000
_HEAD_BYTES: Final = 512 * 1024
"""Bytes of an image in which its format and size are looked for."""
_IMAGES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
_SOURCES: Final = {
    "image": {name: SOURCES[name] for name in ("base64", "url", "file")},
    "document": SOURCES,
}


def _source_refusals(kind: str, source: Json, path: Path) -> Iterator[Refusal]:
    yield from typed_refusals(source, path, _SOURCES[kind])
    value = as_dict(source)
    data, media_type = value.get("data"), value.get("media_type")
    if value.get("type") != "base64" or not isinstance(data, str):
        return
    path = (*path, "base64")
    allowed = _IMAGES if kind == "image" else ("application/pdf",)
    if media_type not in allowed:
        yield refusal_at((*path, "media_type"), f"Input should be {format_choices(allowed)}", "wrong value")
    elif kind == "image" and len(data) > _MAX_IMAGE:
        message = f"image exceeds 10 MB maximum: {len(data)} bytes > {_MAX_IMAGE} bytes"
        yield refusal_at(path, message, "image size")
    elif kind == "image":
        yield from _image_refusals(data, str(media_type), path)
    elif b"%PDF-" not in (_decode_base64(data) or b"")[:1024]:
        yield refusal_at((*path, "data"), "The PDF specified was not valid.", "document unreadable")


def _image_refusals(data: str, media_type: str, path: Path) -> Iterator[Refusal]:
    head = _decode_base64(data)
    size = image_size(head[:_HEAD_BYTES]) if head is not None else None
    if head is None:
        yield refusal_at((*path, "data"), "invalid base64 data", "base64")
    elif size is None:
        yield Refusal("Could not process image", rule="image unreadable")
    elif f"image/{size.format}" != media_type:
        message = f"The image was specified using the {media_type} media type, but the image appears to be "
        yield refusal_at(path, f"{message}a image/{size.format} image", "media type")
    elif max(size.width, size.height) > _MAX_EDGE:
        message = f"At least one of the image dimensions exceed max allowed size: {_MAX_EDGE} pixels"
        yield refusal_at((*path, "data"), message, "image size")


def _media_refusals(parts: Parts, limit: int) -> Iterator[Refusal]:
    """Refusals of all images and documents together.

    `limit` is that of images, and of PDF pages.
    """
    edges: list[tuple[Path, int]] = []
    pages = 0
    for path, block in parts:
        source = as_dict(block.get("source"))
        if block["type"] == "image":
            size = image_size(_decode_base64(source.get("data")) or b"")
            edges.append((path, max(size.width, size.height) if size else 0))
        elif block["type"] == "document" and source.get("media_type") == "application/pdf":
            pages += stated_pages(_decode_base64(source.get("data")) or b"")
    if len(edges) > limit:
        yield Refusal(f"messages: Too many images: {len(edges)} > {limit} maximum", rule="too many images")
    if pages > limit:
        yield Refusal(f"A maximum of {limit} PDF pages may be provided.", rule="too many pages")
    for path in [path for path, edge in edges if edge > _MANY_EDGE and len(edges) > _MANY_IMAGES]:
        message = "At least one of the image dimensions exceed max allowed size for many-image requests"
        where = (*path, "image", "source", "base64", "data")
        yield refusal_at(where, f"{message}: {_MANY_EDGE} pixels", "image size")


def _decode_base64(data: Json) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except ValueError:
        return None
