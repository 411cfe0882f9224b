"""Makes the new content of a single block from an edit.

`rewrite` is called for each block that an edit changes in place. The functions are pure: equal edits of equal blocks
give equal blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import TOOL, Block
from ctxtui.core.block_content import FUNCTION_CALL, SCHEMA_MEMBERS, unwrap_tool
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import COMPACT_JSON, DEDUPLICATE, EXTERNALIZE, HOIST, MINIMISE, REPLACE, STRIP, TRUNCATE
from ctxtui.curation.apply import references
from ctxtui.curation.apply.block_text import block_text, clean, has_editable_text, is_changeable, with_text
from ctxtui.curation.apply.compact_json import compact
from ctxtui.curation.context import IMAGES, THINKING, is_call, is_result

MAX_LINE_SHIFT_CHARS: Final = 80
"""Maximum distance in characters by which a cut moves to the end of a line."""


def cut(text: str, head: int, tail: int) -> str:
    """Keep the first `head` and last `tail` characters of `text`, with a note between them.

    The note tells how much was cut. A part is shortened to whole lines if a line ends within `MAX_LINE_SHIFT_CHARS`
    of the cut. Unchanged if the result would not be shorter.
    """
    if len(text) <= head + tail:
        return text
    start, stop = _line_end(text, head), _line_start(text, len(text) - tail)
    omitted = stop - start
    if omitted <= 0:
        return text
    lines = text.count("\n", start, stop)
    more = f" ({lines:,} lines)" if lines > 1 else ""
    note = f"[… {omitted:,} characters{more} cut …]"
    shortened = "\n".join(part for part in (text[:start].rstrip("\n"), note, text[stop:].lstrip("\n")) if part)
    return shortened if len(shortened) < len(text) else text


def _line_end(text: str, offset: int) -> int:
    newline = text.rfind("\n", max(0, offset - MAX_LINE_SHIFT_CHARS), offset)
    return newline + 1 if newline >= 0 else offset


def _line_start(text: str, offset: int) -> int:
    newline = text.find("\n", offset, min(len(text), offset + MAX_LINE_SHIFT_CHARS))
    return newline + 1 if newline >= 0 else offset


def cut_call(block: Block, head: int, tail: int) -> Block:
    """Cut the long strings in a tool call's input; its JSON stays valid.

    An input that is nested too deeply is not cut.
    """
    value = block.value()
    if not isinstance(value, dict) or canonical.is_deep(value):
        return block
    member = next((key for key in ("function", *FUNCTION_CALL) if isinstance(value.get(key), dict)), "")
    inner = value[member] if member else value
    for key in ("input", "arguments", "args"):
        call_input = inner.get(key)
        if isinstance(call_input, dict):
            return _with_member(block, value, member, key, _cut_strings(call_input, head, tail))
        if isinstance(call_input, str):
            try:
                parsed = canonical.loads(call_input)
            except (ValueError, RecursionError):
                return block
            if canonical.is_deep(parsed):
                return block
            return _with_member(block, value, member, key, canonical.dump_text(_cut_strings(parsed, head, tail)))
    return block


def _with_member(block: Block, value: dict[str, Json], member: str, key: str, content: Json) -> Block:
    """Return `block` with `content` under `key`, inside `member` unless that is ""."""
    inner = value[member] if member else value
    if content == inner[key]:
        return block
    changed = {**inner, key: content}
    return blocks.make(block.kind, {**value, member: changed} if member else changed)


def _cut_strings(value: Json, head: int, tail: int) -> Json:
    if isinstance(value, str):
        return cut(value, head, tail)
    if isinstance(value, list):
        return [_cut_strings(item, head, tail) for item in value]
    if isinstance(value, dict):
        return {key: _cut_strings(item, head, tail) for key, item in value.items()}
    return value


_TEXTS: Final = frozenset({"description", "title", "examples", "$comment"})
"""Members of a schema that only describe it, and are removed."""
_DATA: Final = frozenset({"enum", "const", "default", "required"})
"""Members of a schema whose values are data, and stay as they are."""


def minimise_tool(tool: Json, params: Mapping[str, Json]) -> Json:
    """Cut the description of `tool`, and remove the texts of its schema.

    The description keeps ``description`` characters (default 100). With ``properties`` true, the texts of the schema
    stay. Names, types and required members always stay, and so does a tool that is nested too deeply.
    """
    if not isinstance(tool, dict) or canonical.is_deep(tool):
        return tool
    inner = tool.get("function")
    if isinstance(inner, dict):
        return {**tool, "function": minimise_tool(inner, params)}
    if unwrap_tool(tool) is not tool:
        return {**tool, "tools": [minimise_tool(unwrap_tool(tool), params)]}
    limit = params.get("description", 100)
    smaller = dict(tool)
    description = tool.get("description")
    if isinstance(description, str) and isinstance(limit, int) and len(description) > limit:
        smaller["description"] = _shorten(description, limit)
    if params.get("properties") is not True:
        for key in SCHEMA_MEMBERS:
            if isinstance(tool.get(key), dict):
                smaller[key] = _strip_schema(tool[key], False)
    return smaller


def _shorten(text: str, limit: int) -> str:
    return text[: limit - 1].rstrip() + "…" if limit > 1 else ""


def _strip_schema(schema: Json, are_property_names: bool) -> Json:
    """Remove the texts of a schema.

    `are_property_names`: the keys of this object are names of properties, which must stay even if one is called
    ``title``.
    """
    if isinstance(schema, list):
        return [_strip_schema(item, False) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _strip_member(key, value, are_property_names)
        for key, value in schema.items()
        if are_property_names or key not in _TEXTS
    }


def _strip_member(key: str, value: Json, are_property_names: bool) -> Json:
    return (
        value
        if key in _DATA and not are_property_names
        else _strip_schema(value, _holds_property_names(key, are_property_names))
    )


def _holds_property_names(key: str, are_property_names: bool) -> bool:
    return not are_property_names and key in ("properties", "$defs", "definitions", "patternProperties")


Params = Mapping[str, Json]
ALL_BUT_TEXT: Final = "all but text"
"""Value of ``what`` in a ``strip`` edit: parts of a result that may hold text alone."""

REFUSED_CHARACTERS: Final = "refused characters"
"""Value of ``what`` in a ``strip`` edit: refused characters in any string are replaced; thinking is removed."""

TOOL_REFERENCES: Final = "tool references"
"""Value of ``what`` in a ``strip`` edit: references to the missing tool ``name``."""


def rewrite(block: Block, edit: Edit) -> Block | None:
    """Rewrite `block` as `edit` says.

    None if nothing of it is left, the same block if there is nothing to do.
    """
    return _rewrite(block, edit.kind, edit.payload)


@lru_cache(maxsize=20_000)
def _rewrite(block: Block, kind: str, payload: str) -> Block | None:
    params = canonical.loads(payload)
    # A block signed by its provider can be removed, but not changed.
    if not isinstance(params, dict) or (kind != STRIP and not is_changeable(block)):
        return block
    return REWRITERS[kind](block, params)


def _replace(block: Block, params: Params) -> Block | None:
    value = params.get("value")
    if isinstance(value, dict) and (block.kind == TOOL or is_call(block.kind)):
        return blocks.make(block.kind, blocks.without_markers(value))
    text = params.get("text")
    if not isinstance(text, str) or not has_editable_text(block):
        return block
    return with_text(block, text) if text.strip() or is_result(block.kind) else None


def _truncate(block: Block, params: Params) -> Block:
    head, tail = _number(params.get("head"), 500), _number(params.get("tail"), 500)
    if is_call(block.kind):
        return cut_call(block, head, tail)
    return with_text(block, cut(block_text(block), head, tail))


def _number(value: Json, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _deduplicate(block: Block, params: Params) -> Block:
    text = params.get("text")
    replacement = text if isinstance(text, str) else "[the same text is elsewhere in this conversation]"
    # If a client that clears results has put in a shorter line since, that one stays.
    return with_text(block, replacement) if len(replacement) < len(block_text(block)) else block


def _hoist(block: Block, params: Params) -> Block | None:
    static = params.get("text")
    if not isinstance(static, str) or not static:
        return block
    text = block_text(block)
    if static not in text or not has_editable_text(block):
        return block
    remaining_text = text.replace(static, "", 1)
    return with_text(block, remaining_text) if remaining_text.strip() else None


DOCUMENTS: Final = frozenset({"document"})


def _strip(block: Block, params: Params) -> Block | None:
    what = params.get("what")
    if block.kind in THINKING and what in (None, "thinking", REFUSED_CHARACTERS):
        return None
    if what == REFUSED_CHARACTERS:
        value = block.value()
        return block if (cleaned := _clean(value)) == value else blocks.make(block.kind, cleaned)
    if what == TOOL_REFERENCES:
        return _without_references(block, params.get("name"))
    if what == "documents" and is_result(block.kind) and isinstance(params.get("parts"), list):
        return _replace_parts(block, params["parts"], DOCUMENTS)
    if what in (None, "images"):
        if block.kind in IMAGES:
            return None
        if is_result(block.kind):
            parts = params.get("parts")
            return (
                _replace_parts(block, parts, IMAGES)
                if isinstance(parts, list)
                else _remove_parts(block, lambda kind: str(kind) in IMAGES, "image")
            )
    if what == ALL_BUT_TEXT and is_result(block.kind):
        return _remove_parts(block, lambda kind: kind not in ("text", "input_text", "output_text"), "part")
    return block


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return {clean(key): _clean(item) for key, item in value.items()} if isinstance(value, dict) else value


def _without_references(block: Block, name: Json) -> Block | None:
    """Remove references to the tool `name`; a result that becomes empty says so."""

    def stays(part: Json) -> bool:
        return not isinstance(part, dict) or (part.get("type"), part.get("tool_name")) != ("tool_reference", name)

    value = block.value()
    if not isinstance(value, dict) or not stays(value):
        return None
    content = value.get("content")
    if isinstance(content, list):
        notice = {"type": "text", "text": f"[the tool {name} is not there any more]"}
        content = [part for part in content if stays(part)] or [notice]
    elif isinstance(content, dict) and isinstance(content.get("tool_references"), list):
        content = {**content, "tool_references": [part for part in content["tool_references"] if stays(part)]}
    return block if content == value.get("content") else blocks.make(block.kind, {**value, "content": content})


def _parts(block: Block) -> tuple[str, dict[str, Json], list[Json] | None]:
    """The member of a result with its parts, the result, and the parts (None: it has none)."""
    value = block.value()
    key = "output" if isinstance(value, dict) and "output" in value else "content"
    content = value.get(key) if isinstance(value, dict) else None
    return key, value, content if isinstance(content, list) else None


def _replace_parts(block: Block, parts: list[Json], kinds: Collection[str]) -> Block:
    """Replace the images or documents (`kinds`) at the indexes `parts` of a result by a line.

    Other parts thus keep their index.
    """
    key, value, content = _parts(block)
    line = "[image removed]" if kinds is IMAGES else "[document removed]"
    note = {"type": "input_text" if key == "output" else "text", "text": line}
    replaced = {n for n in parts if isinstance(n, int)}
    new_parts = [
        note if n in replaced and isinstance(p, dict) and str(p.get("type")) in kinds else p
        for n, p in enumerate(content or ())
    ]
    return block if content is None or new_parts == content else blocks.make(block.kind, {**value, key: new_parts})


def _remove_parts(block: Block, is_removed: Callable[[object], bool], name: str) -> Block:
    """Remove the parts of a result whose type `is_removed`, and add a line with their number."""
    key, value, content = _parts(block)
    if content is None:
        return block
    remaining = [part for part in content if not (isinstance(part, dict) and is_removed(part.get("type")))]
    if len(remaining) == len(content):
        return block
    kind = "input_text" if key == "output" else "text"
    note = {"type": kind, "text": f"[{len(content) - len(remaining)} {name}(s) removed]"}
    return blocks.make(block.kind, {**value, key: [*remaining, note]})


def _compact(block: Block, params: Params) -> Block:
    if is_call(block.kind):
        return block
    return with_text(block, compact(block_text(block), params))


def _externalize(block: Block, params: Params) -> Block:
    return with_text(block, references.externalize(block_text(block), params))


def _minimise(block: Block, params: Params) -> Block:
    return blocks.make(TOOL, minimise_tool(block.value(), params)) if block.kind == TOOL else block


REWRITERS: Final[dict[str, Callable[[Block, Params], Block | None]]] = {
    REPLACE: _replace,
    TRUNCATE: _truncate,
    DEDUPLICATE: _deduplicate,
    HOIST: _hoist,
    EXTERNALIZE: _externalize,
    COMPACT_JSON: _compact,
    MINIMISE: _minimise,
    STRIP: _strip,
}
"""For each kind of edit that changes a block in place: makes the new block (None: nothing is left)."""
