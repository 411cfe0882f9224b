"""What the Anthropic Messages API refuses, written from its documentation alone (facts §1, §2).

Independent of `curation.legality.legality` on purpose: what that lets through is held against this."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ctxtui.core.canonical import Json
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
    WORDS_OR_BLOCKS,
    dotted,
    listed,
    mark_refusals,
    typed_refusals,
    worded,
)
from ctxtui.offline.anthropic.models import Claude, claude
from ctxtui.offline.anthropic.thinking import CONTROLS, blocks, check_thinking
from ctxtui.offline.anthropic.validate_turns import turn_refusals
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import (
    FLAG,
    INTEGER,
    MAP,
    OBJECT,
    ROWS,
    STRING,
    TEXT,
    Fields,
    Path,
    ShapeField,
    faults,
    members,
    needed,
    rows,
)
from ctxtui.tokens.image import image_size, pdf_pages

MAX_IMAGE_BYTES: Final = 10 * 1024 * 1024
"""Base64 characters of one image."""

MAX_EDGE: Final = 8000
"""Pixels of an image's longer side."""

MANY: Final = 20
"""Images from which on each may only have `MANY_EDGE` pixels."""

MANY_EDGE: Final = 2000
_IMAGES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
_FOR: Final = {"image": ("base64", "url", "file"), "document": ("base64", "url", "file", "text", "content")}
_HEAD: Final = 512 * 1024


class Picture(NamedTuple):
    """An image of a request: where it stands and its longer side in pixels (0: not known)."""

    path: Path
    edge: int


def source_refusals(block: Mapping[str, Json], path: Path) -> Iterator[Refusal]:
    """What is wrong with the source of an image or document block whose path ends in its type."""
    kind = str(block.get("type"))
    source = block.get("source")
    where = (*path, "source")
    yield from typed_refusals(source, where, {name: SOURCES[name] for name in _FOR[kind]})
    value = members(source)
    if value.get("type") != "base64" or not isinstance(value.get("data"), str):
        return
    spot = dotted((*where, "base64"))
    if kind == "document":
        if value.get("media_type") != "application/pdf":
            yield Refusal(f"{spot}.media_type: Input should be 'application/pdf'", rule="wrong value")
        return
    if value.get("media_type") not in _IMAGES:
        names = ", ".join(f"'{name}'" for name in _IMAGES[:-1])
        yield Refusal(f"{spot}.media_type: Input should be {names} or '{_IMAGES[-1]}'", rule="wrong value")
    elif len(value["data"]) > MAX_IMAGE_BYTES:
        size = len(value["data"])
        yield Refusal(f"{spot}: image exceeds 10 MB maximum: {size} bytes > {MAX_IMAGE_BYTES} bytes", rule="image size")
    else:
        yield from _image(value, spot)


def _image(source: Mapping[str, Json], spot: str) -> Iterator[Refusal]:
    data = source["data"]
    try:
        head = base64.b64decode(data, validate=True)[:_HEAD]
    except (binascii.Error, ValueError):
        yield Refusal(f"{spot}.data: invalid base64 data", rule="base64")
        return
    size = image_size(head)
    if size is None:
        yield Refusal("Could not process image", rule="image unreadable")
    elif f"image/{size.format}" != source["media_type"]:
        told = f"The image was specified using the {source['media_type']} media type, but the image appears to be "
        yield Refusal(f"{spot}: {told}a image/{size.format} image", rule="media type")
    elif max(size.width, size.height) > MAX_EDGE:
        message = f"{spot}.data: At least one of the image dimensions exceed max allowed size: {MAX_EDGE} pixels"
        yield Refusal(message, rule="image size")


def media_refusals(body: Mapping[str, Json], most: int) -> Iterator[Refusal]:
    """What is wrong with all images and documents together: at most `most` images, smaller ones where there are many,
    and as many PDF pages."""
    pictures: list[Picture] = []
    pages = 0
    for path, block in _media(body):
        if block.get("type") == "image":
            pictures.append(Picture(path, _edge(members(block.get("source")))))
        else:
            pages += _pages(members(block.get("source")))
    if len(pictures) > most:
        yield Refusal(f"messages: Too many images: {len(pictures)} > {most} maximum", rule="too many images")
    if pages > most:
        yield Refusal(f"A maximum of {most} PDF pages may be provided.", rule="too many pages")
    if len(pictures) > MANY:
        for picture in pictures:
            if picture.edge > MANY_EDGE:
                spot = ".".join(map(str, picture.path))
                told = "At least one of the image dimensions exceed max allowed size for many-image requests"
                yield Refusal(f"{spot}.image.source.base64.data: {told}: {MANY_EDGE} pixels", rule="image size")


def _media(body: Mapping[str, Json]) -> Iterator[tuple[Path, Mapping[str, Json]]]:
    for n, message in enumerate(rows(body.get("messages"))):
        for m, block in enumerate(rows(members(message).get("content"))):
            value = members(block)
            if value.get("type") in ("image", "document"):
                yield ("messages", n, "content", m), value
            elif value.get("type") == "tool_result":
                for k, part in enumerate(rows(value.get("content"))):
                    if members(part).get("type") in ("image", "document"):
                        yield ("messages", n, "content", m, "tool_result", "content", k), part


def _edge(source: Mapping[str, Json]) -> int:
    size = image_size(_decoded(source))
    return max(size.width, size.height) if size else 0


def _pages(source: Mapping[str, Json]) -> int:
    return pdf_pages(_decoded(source)) if source.get("media_type") == "application/pdf" else 0


def _decoded(source: Mapping[str, Json]) -> bytes:
    data = source.get("data")
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        return b""


def block_refusals(block: Json, path: Path, beta: bool, strict_text: bool) -> Iterator[Refusal]:
    """What is wrong with one block of a message at `path`. `strict_text`: an empty text is refused."""
    known: Mapping[str, Fields] = BLOCKS | BETA_BLOCKS if beta else BLOCKS
    yield from typed_refusals(block, path, known)
    value = members(block)
    kind = value.get("type")
    if kind == "text":
        yield from text_refusals(value, path, strict_text)
    elif kind == "tool_result":
        yield from _inside(value.get("content"), (*path, "tool_result", "content"))
        yield from _error_only_text(value, path)
    elif kind in ("image", "document"):
        yield from source_refusals(value, (*path, kind))
    elif kind == "search_result":
        for n, part in enumerate(rows(value.get("content"))):
            yield from typed_refusals(part, (*path, kind, "content", n), {"text": BLOCKS["text"]})
    elif kind == "compaction" and value.get("content") == "":
        yield Refusal(f"{dotted(path)}.compaction.content: content must be non-empty", rule="empty text")


def text_refusals(value: Mapping[str, Json], path: Path, strict: bool) -> Iterator[Refusal]:
    """An empty text, or one of white space only, and a marker on it."""
    text = value.get("text")
    if not isinstance(text, str) or text.strip():
        return
    if value.get("cache_control") is not None:
        yield Refusal(f"{dotted(path)}: cache_control cannot be set for empty text blocks", rule="cache on empty")
    if strict:
        what = "must contain non-whitespace text" if text else "must be non-empty"
        yield Refusal(f"{path[0]}: text content blocks {what}", rule="empty text")


def _inside(content: Json, path: Path) -> Iterator[Refusal]:
    for n, part in enumerate(rows(content)):
        yield from typed_refusals(part, (*path, n), INSIDE_RESULT)
        value = members(part)
        if value.get("type") == "text":
            yield from text_refusals(value, (*path, n), True)
        elif value.get("type") in ("image", "document"):
            yield from source_refusals(value, (*path, n, str(value["type"])))


def _error_only_text(value: Mapping[str, Json], path: Path) -> Iterator[Refusal]:
    kinds = {str(members(part).get("type")) for part in rows(value.get("content"))}
    if value.get("is_error") is True and kinds - {"text"}:
        message = f"{dotted(path)}.tool_result: all content must be type `text` if `is_error` is true"
        yield Refusal(message, rule="error result not text")


MOST: Final = 4
"""Markers of one request, the automatic one included."""

_UNMARKED: Final = frozenset({"thinking", "redacted_thinking"})
_ORDER: Final = "Note that blocks are processed in the following order: `tools`, `system`, `messages`."


class MarkedPath(NamedTuple):
    """A block that carries a marker: its path and the marker's TTL."""

    path: str
    ttl: str


def cache_refusals(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """What is wrong with all markers of a request together."""
    yield from mark_refusals(body.get("cache_control"), ("cache_control",))
    marks = list(marked(body))
    automatic = body.get("cache_control")
    if isinstance(automatic, dict):
        ttl = str(automatic.get("ttl") or "5m")
        last = _last_block(body)
        own = members(last.get("cache_control")) if last is not None else {}
        if own and str(own.get("ttl") or "5m") != ttl:
            told = "cache_control: the last block already carries a cache_control with a different ttl"
            yield Refusal(told, rule="automatic ttl")
        elif not own:
            if len(marks) == MOST:
                told = f"cache_control: all {MOST} cache breakpoints are used by blocks; none is left for the request"
                yield Refusal(told, rule="too many markers")
            marks.append(MarkedPath("cache_control", ttl))
    if len(marks) > MOST and not (len(marks) == MOST + 1 and marks[-1].path == "cache_control"):
        told = f"A maximum of {MOST} blocks with cache_control may be provided. Found {len(marks)}."
        yield Refusal(told, rule="too many markers")
    yield from _order(marks)


def _order(marks: list[MarkedPath]) -> Iterator[Refusal]:
    short = False
    for mark in marks:
        if mark.ttl == "1h" and short:
            where = f"{mark.path}.ttl" if mark.path == "cache_control" else f"{mark.path}.cache_control.ttl"
            told = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
            yield Refusal(f"{where}: {told} {_ORDER}", rule="ttl order")
            return
        short = short or mark.ttl == "5m"


def marked(body: Mapping[str, Json]) -> Iterator[MarkedPath]:
    """The blocks that carry a marker, in prompt order."""
    for n, tool in enumerate(rows(body.get("tools"))):
        yield from _mark(tool, f"tools.{n}")
    for n, text in enumerate(rows(body.get("system"))):
        yield from _mark(text, f"system.{n}")
    for n, message in enumerate(rows(body.get("messages"))):
        for m, block in enumerate(rows(members(message).get("content"))):
            path = f"messages.{n}.content.{m}"
            if members(block).get("type") == "tool_result":
                for k, part in enumerate(rows(block.get("content"))):
                    yield from _mark(part, f"{path}.tool_result.content.{k}")
            yield from _mark(block, path)


def _mark(block: Json, path: str) -> Iterator[MarkedPath]:
    mark = members(block).get("cache_control")
    if isinstance(mark, dict):
        yield MarkedPath(path, str(mark.get("ttl") or "5m"))


def _last_block(body: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """The last block that a marker may stand on: where automatic caching puts its own."""
    for message in reversed(rows(body.get("messages"))):
        for block in reversed(rows(members(message).get("content"))):
            if members(block).get("type") not in _UNMARKED:
                return members(block)
        if isinstance(members(message).get("content"), str):
            return {}
    return None


NAME: Final = r"^[a-zA-Z0-9_-]{1,128}$"
_CUSTOM: Final = {
    "name": needed(STRING),
    "input_schema": needed("object"),
    "type": TEXT,
    "description": TEXT,
    "cache_control": MAP,
    "defer_loading": FLAG,
    "strict": FLAG,
    "input_examples": ROWS,
    "eager_input_streaming": FLAG,
    "allowed_callers": ROWS,
}
_TYPED: Final = re.compile(
    r"(bash|text_editor|memory|web_search|web_fetch|code_execution|computer|advisor|tool_search_tool_(regex|bm25))"
    r"_20\d{6}$|(computer|browser)_toolset_20\d{6}$|mcp_toolset$"
)
_SEARCH: Final = "tool_search_tool_"
_CHOICES: Final = ("auto", "any", "tool", "none")


def tool_refusals(body: Mapping[str, Json], model: Claude) -> Iterator[Refusal]:
    """What is wrong with ``tools`` and ``tool_choice``."""
    tools = rows(body.get("tools"))
    for n, tool in enumerate(tools):
        yield from _tool(tool, n)
    named = [str(members(tool)["name"]) for tool in tools if "name" in members(tool)]
    if len(set(named)) < len(named):
        yield Refusal("tools: Tool names must be unique.", rule="tool names unique")
    if tools and all(members(tool).get("defer_loading") for tool in tools):
        yield Refusal("tools: at least one tool must not have `defer_loading` set", rule="all tools deferred")
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        yield from _choice(choice, named, bool(tools), members(body.get("thinking")), model)


def _tool(tool: Json, n: int) -> Iterator[Refusal]:
    if not isinstance(tool, dict):
        yield Refusal(f"tools.{n}: Input should be a valid dictionary", rule="wrong type")
        return
    kind = tool.get("type")
    if kind not in (None, "custom"):
        if not isinstance(kind, str) or not _TYPED.match(kind):
            told = f"Input tag '{kind}' found using 'type' does not match any of the expected tags"
            yield Refusal(f"tools.{n}: {told}", rule="unknown tool type")
        elif kind.startswith(_SEARCH) and tool.get("defer_loading"):
            yield Refusal(f"tools.{n}: the tool search tool cannot be deferred", rule="search deferred")
        yield from mark_refusals(tool.get("cache_control"), ("tools", n, "cache_control"))
        return
    path = ("tools", n, "custom")
    yield from (worded(fault) for fault in faults(tool, _CUSTOM, path))
    name, schema = tool.get("name"), tool.get("input_schema")
    if isinstance(name, str) and not re.match(NAME, name):
        yield Refusal(f"tools.{n}.custom.name: String should match pattern '{NAME}'", rule="tool name")
    if isinstance(schema, dict) and schema.get("type") != "object":
        told = "Field required" if "type" not in schema else "Input should be 'object'"
        yield Refusal(f"tools.{n}.custom.input_schema.type: {told}", rule="input schema")
    yield from mark_refusals(tool.get("cache_control"), (*path, "cache_control"))


def _choice(
    choice: Mapping[str, Json], named: list[str], tools: bool, thinking: Mapping[str, Json], model: Claude
) -> Iterator[Refusal]:
    kind = choice.get("type")
    if kind not in _CHOICES:
        yield Refusal(f"tool_choice.type: Input should be {listed(_CHOICES)}", rule="wrong value")
        return
    fields = {"type": needed(STRING)} | ({} if kind == "none" else {"disable_parallel_tool_use": FLAG})
    fields |= {"name": needed(STRING)} if kind == "tool" else {}
    yield from (worded(fault) for fault in faults(choice, fields, ("tool_choice", str(kind))))
    if not tools:
        if kind != "none":
            yield Refusal("tool_choice: tool_choice may only be specified while providing tools", rule="no tools")
    elif kind == "tool" and choice.get("name") not in named:
        told = f"Tool '{choice.get('name')}' not found in provided tools"
        yield Refusal(f"tool_choice: {told}", rule="unknown tool")
    if kind in ("any", "tool"):
        if thinking.get("type") == "enabled":
            told = "Thinking may not be enabled when tool_choice forces tool use."
            yield Refusal(told, rule="forced call while thinking")
        elif not model.forced_calls:
            yield Refusal(f"tool_choice: '{kind}' is not supported on this model", rule="forced call")


_TYPES: Final = ("adaptive", "between_tools", "disabled", "enabled")
_DISPLAYS: Final = ShapeField((STRING,), choices=("summarized", "omitted", "updates"))
_BUDGET: Final = needed(INTEGER, at_least=1024)
_OFF_EFFORTS: Final = ("xhigh", "max")
_ENABLED_ELSEWHERE: Final = (
    '"thinking.type.enabled" is not supported for this model. '
    'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
)
_LEVELS: Final = ("low", "medium", "high", "xhigh", "max")


def thinking_refusals(body: Mapping[str, Json], model: Claude, betas: Collection[str]) -> Iterator[Refusal]:
    """What is wrong with ``thinking`` and ``output_config``."""
    yield from _output(body, model)
    thinking = body.get("thinking")
    if not isinstance(thinking, dict):
        return
    kind = thinking.get("type")
    if kind not in _TYPES:
        tags = ", ".join(f"'{name}'" for name in _TYPES)
        told = f"Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
        yield Refusal(f"thinking: {told}" if kind else "thinking.type: Field required", rule="thinking type")
        return
    yield from (worded(fault) for fault in faults(thinking, _thinking_fields(kind, betas), ("thinking", str(kind))))
    if kind not in model.thinking:
        yield Refusal(_unsupported(str(kind)), rule="thinking type")
    elif kind == "enabled":
        yield from _enabled(body, thinking)
    effort = members(body.get("output_config")).get("effort")
    if kind == "disabled" and effort in _OFF_EFFORTS and model.line in ("opus", "haiku") and model.version >= (5, 0):
        yield Refusal(f"thinking.type: 'disabled' is not supported at effort '{effort}'", rule="thinking off")


def _thinking_fields(kind: Json, betas: Collection[str]) -> dict[str, ShapeField]:
    fields = {"type": needed(STRING)}
    if kind in ("enabled", "adaptive"):
        fields["display"] = _DISPLAYS
    if kind == "enabled":
        fields["budget_tokens"] = _BUDGET
    if CONTROLS in betas:
        fields["block_binding"] = MAP
    return fields


def _unsupported(kind: str) -> str:
    if kind == "enabled":
        return _ENABLED_ELSEWHERE
    if kind == "adaptive":
        return "adaptive thinking is not supported on this model"
    return f'"thinking.type.{kind}" is not supported for this model.'


def _enabled(body: Mapping[str, Json], thinking: Mapping[str, Json]) -> Iterator[Refusal]:
    budget, most = thinking.get("budget_tokens"), body.get("max_tokens")
    if isinstance(budget, int) and isinstance(most, int) and budget >= most > 0:
        yield Refusal("`max_tokens` must be greater than `thinking.budget_tokens`.", rule="thinking budget")
    yield from _opening(rows(body.get("messages")))


def _opening(messages: Sequence[Json]) -> Iterator[Refusal]:
    """In a tool loop, the turn's first answer must begin with its thinking."""
    start = next((n + 1 for n in range(len(messages) - 1, -1, -1) if _person(messages[n])), len(messages))
    content = blocks(members(messages[start]).get("content")) if start < len(messages) else []
    if not content:
        return
    kind = members(content[0]).get("type")
    if kind not in ("thinking", "redacted_thinking"):
        told = (
            f"Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final "
            "`assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
            "`tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
            "requirement, disable `thinking`."
        )
        yield Refusal(f"messages.{start}.content.0.type: {told}", rule="thinking first")


def _person(message: Json) -> bool:
    value = members(message)
    kinds = {str(members(block).get("type")) for block in blocks(value.get("content"))}
    return value.get("role") == "user" and bool(kinds - {"tool_result"})


def _output(body: Mapping[str, Json], model: Claude) -> Iterator[Refusal]:
    config = body.get("output_config")
    if not isinstance(config, dict):
        return
    fields = {"effort": ShapeField((STRING,), choices=_LEVELS), "format": MAP, "task_budget": MAP}
    yield from (worded(fault) for fault in faults(config, fields, ("output_config",)))
    effort = config.get("effort")
    if effort in _LEVELS and not model.efforts:
        yield Refusal("This model does not support the effort parameter.", rule="effort")
    elif effort in _LEVELS and effort not in model.efforts:
        levels = ", ".join(sorted(model.efforts))
        told = f"This model does not support effort level '{effort}'. Supported levels: {levels}."
        yield Refusal(told, rule="effort")
    form = config.get("format")
    if isinstance(form, dict) and (form.get("type") != "json_schema" or not isinstance(form.get("schema"), dict)):
        yield Refusal("output_config.format.schema: Field required", rule="output format")


NEW_VERSION: Final = "2026-10-21"
OLD_VERSION: Final = "2023-06-01"
VERSIONS: Final = (NEW_VERSION, OLD_VERSION)

MOST_BYTES: Final = 32 * 1024 * 1024
"""A larger request is answered with 413."""

MOST_MESSAGES: Final = 100_000

ROLES: Final = ("user", "assistant", "system")

SAFEGUARD: Final = "dangerous_tool_use"
"""The one check that is known, under its beta header."""


def refusals(
    body: Json, *, version: str = NEW_VERSION, betas: Collection[str] = (), counting: bool = False
) -> list[Refusal]:
    """Everything in `body`, a request's JSON value, that the API would refuse; empty where it takes it.

    `version` is the ``anthropic-version`` header, `betas` the names in ``anthropic-beta``; `counting` means that it is
    a request for a count. The provider says only the first one. Where the fields themselves are wrong, nothing further
    is looked at.
    """
    if not isinstance(body, dict):
        return [Refusal("Input should be a valid dictionary", rule="wrong type")]
    model = claude(str(body.get("model")))
    found = list(_fields(body, version, betas, counting, model))
    if found:
        return found
    if model is None:
        return [Refusal(f"model: {body['model']}", 404, "not_found_error", rule="unknown model")]
    found = [*_messages(body, bool(betas)), *_system(body)]
    if found:
        return found
    messages = rows(body["messages"])
    return [
        *_numbers(body, model, counting),
        *turn_refusals(messages, model),
        *(_documents(body) if version == NEW_VERSION else ()),
        *_compaction(body),
        *_safeguards(body),
        *cache_refusals(body),
        *tool_refusals(body, model),
        *edit_refusals(body),
        *thinking_refusals(body, model, betas),
        *media_refusals(body, model.images),
        *check_thinking(body, model, betas).refusals,
    ]


def _fields(
    body: Mapping[str, Json], version: str, betas: Collection[str], counting: bool, model: Claude | None
) -> Iterator[Refusal]:
    known: dict[str, ShapeField] = dict(COUNTED if counting else CREATED)
    known |= {key: ShapeField() for key, names in BETA.items() if any(b.startswith(n) for b in betas for n in names)}
    known |= {"safeguards": ROWS} if "safeguards" in known else {}
    if version == OLD_VERSION:
        known |= SAMPLING
        for key in SAMPLING:
            # The value that holds anyway is taken: llm always says it (facts §13.3).
            usual = key == "temperature" and body.get(key) == 1
            if body.get(key) is not None and not usual and model is not None and not model.sampling:
                yield Refusal(f"`{key}` is deprecated for this model.", rule="sampling")
    yield from (worded(fault) for fault in faults(body, known))


def _messages(body: Mapping[str, Json], beta: bool) -> Iterator[Refusal]:
    messages = rows(body["messages"])
    if len(messages) > MOST_MESSAGES:
        yield Refusal(f"messages: at most {MOST_MESSAGES} messages are allowed", rule="too many messages")
    for n, message in enumerate(messages):
        if not isinstance(message, dict):
            yield Refusal(f"messages.{n}: Input should be a valid dictionary", rule="wrong type")
            continue
        role = message.get("role")
        if role not in ROLES:
            told = "Field required" if role is None else "Input should be 'user', 'assistant' or 'system'"
            yield Refusal(f"messages.{n}.role: {told}", rule="role")
        fields = {"role": ShapeField((STRING,)), "content": WORDS_OR_BLOCKS}
        if role == "system" and beta:
            fields |= {"clear_at": ShapeField((STRING,)), "output_config": ShapeField()}
        yield from (worded(fault) for fault in faults(message, fields, ("messages", n)))
        content = message.get("content")
        if isinstance(content, str) and content and not content.strip():
            yield Refusal("messages: text content blocks must contain non-whitespace text", rule="empty text")
        for m, block in enumerate(rows(content)):
            yield from block_refusals(block, ("messages", n, "content", m), beta, True)


def _system(body: Mapping[str, Json]) -> Iterator[Refusal]:
    for n, block in enumerate(rows(body.get("system"))):
        yield from typed_refusals(block, ("system", n), {"text": BLOCKS["text"]})
        yield from text_refusals(members(block), ("system", n), True)


def _numbers(body: Mapping[str, Json], model: Claude, counting: bool) -> Iterator[Refusal]:
    most = body.get("max_tokens")
    if not counting and isinstance(most, int) and most > model.max_output:
        told = f"which is the maximum allowed number of output tokens for {body['model']}"
        yield Refusal(f"max_tokens: {most} > {model.max_output}, {told}", rule="max_tokens")
    if most == 0:
        yield from _warming(body)
    for stop in rows(body.get("stop_sequences")):
        if not isinstance(stop, str):
            yield Refusal("stop_sequences.0: Input should be a valid string", rule="wrong type")
        elif not stop.strip():
            told = "stop_sequences: each stop sequence must contain non-whitespace"
            yield Refusal(told, rule="stop sequence")


def _warming(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """A request that only fills the cache says nothing about an answer."""
    clashes = {
        "stream": body.get("stream") is True,
        "thinking": members(body.get("thinking")).get("type") == "enabled",
        "output_config.format": members(body.get("output_config")).get("format") is not None,
        "tool_choice": members(body.get("tool_choice")).get("type") in ("any", "tool"),
    }
    for name, clash in clashes.items():
        if clash:
            yield Refusal(f"max_tokens: 0 cannot be combined with `{name}`", rule="pre-warm")


def _documents(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """What version 2026-10-21 took away: documents said by the assistant, citations said by the user."""
    for n, message in enumerate(rows(body.get("messages"))):
        for m, block in enumerate(rows(message.get("content"))):
            kind, where = block.get("type"), f"messages.{n}.content.{m}"
            if kind == "document" and message["role"] == "assistant":
                told = "`document` blocks are not permitted directly in an `assistant` message"
                yield Refusal(f"{where}: {told}", rule="assistant document")
            texts = {"text": [block], "search_result": rows(block.get("content"))}.get(str(kind), [])
            if message["role"] == "user" and any(members(part).get("citations") for part in texts):
                told = "`citations` are not permitted on `text` blocks in a `user` message"
                yield Refusal(f"{where}.text.citations: {told}", rule="user citations")


def _safeguards(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """Checks of an answer that the client wants made (facts §13.3)."""
    for n, check in enumerate(rows(body.get("safeguards"))):
        known = {SAFEGUARD: {"type": needed(STRING), "classifier_context": needed(OBJECT)}}
        yield from typed_refusals(check, ("safeguards", n), known)


def _compaction(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """A signed compaction block opens the messages, alone of its kind."""
    places = [
        (n, m)
        for n, message in enumerate(rows(body.get("messages")))
        for m, block in enumerate(rows(message.get("content")))
        if block.get("type") == "compaction" and block.get("signature")
    ]
    if len(places) > 1:
        told = "messages: only one signed `compaction` block is allowed"
        yield Refusal(told, code="compaction_block_ambiguous", rule="compaction")
    elif places and places[0] != (0, 0):
        told = f"messages.{places[0][0]}.content.{places[0][1]}: a `compaction` block must come first in `messages`"
        yield Refusal(told, code="compaction_block_misplaced", rule="compaction")
