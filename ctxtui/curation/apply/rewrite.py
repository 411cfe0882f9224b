"""What the edits that change one block make of it: pure functions of the block and the edit's payload.

The payload holds the rule, not the outcome, so that the same rule applied to the same block is the same block.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import TOOL, Block
from ctxtui.core.block_content import unwrap_tool
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import COMPACT_JSON, DEDUPLICATE, EXTERNALIZE, HOIST, MINIMISE, REPLACE, STRIP, TRUNCATE
from ctxtui.curation.apply import references
from ctxtui.curation.apply.block_text import changeable, clean, has_words, with_words, words_of
from ctxtui.curation.apply.compact_json import compacted
from ctxtui.curation.context import IMAGES, THINKING, is_call, is_result

NEAR: Final = 80
"""How far a cut moves to the end of a line, in characters."""


def cut(text: str, head: int, tail: int) -> str:
    """`text` with its first `head` and last `tail` characters kept, and a line between them that says what went.

    The text itself where that would not be shorter.
    """
    if len(text) <= head + tail:
        return text
    start, stop = _line_end(text, head), _line_start(text, len(text) - tail)
    gone = stop - start
    if gone <= 0:
        return text
    lines = text.count("\n", start, stop)
    more = f" ({lines:,} lines)" if lines > 1 else ""
    note = f"[… {gone:,} characters{more} cut …]"
    made = "\n".join(part for part in (text[:start].rstrip("\n"), note, text[stop:].lstrip("\n")) if part)
    return made if len(made) < len(text) else text


def _line_end(text: str, at: int) -> int:
    found = text.rfind("\n", max(0, at - NEAR), at)
    return found + 1 if found >= 0 else at


def _line_start(text: str, at: int) -> int:
    found = text.find("\n", at, min(len(text), at + NEAR))
    return found + 1 if found >= 0 else at


def cut_call(block: Block, head: int, tail: int) -> Block:
    """A tool call whose input's long strings are cut; its JSON stays JSON."""
    value = block.value()
    if not isinstance(value, dict):
        return block
    wrapped = value.get("function")
    inner = wrapped if isinstance(wrapped, dict) else value
    for key in ("input", "arguments"):
        given = inner.get(key)
        if isinstance(given, dict):
            return _put(block, value, inner, key, _cut_strings(given, head, tail))
        if isinstance(given, str):
            try:
                parsed = canonical.loads(given)
            except (ValueError, RecursionError):
                return block
            return _put(block, value, inner, key, canonical.dump_text(_cut_strings(parsed, head, tail)))
    return block


def _put(block: Block, value: dict[str, Json], inner: dict[str, Json], key: str, made: Json) -> Block:
    if made == inner[key]:
        return block
    if inner is value:
        return blocks.make(block.kind, {**value, key: made})
    return blocks.make(block.kind, {**value, "function": {**inner, key: made}})


def _cut_strings(value: Json, head: int, tail: int) -> Json:
    if isinstance(value, str):
        return cut(value, head, tail)
    if isinstance(value, list):
        return [_cut_strings(item, head, tail) for item in value]
    if isinstance(value, dict):
        return {key: _cut_strings(item, head, tail) for key, item in value.items()}
    return value


_SCHEMAS: Final = ("input_schema", "parameters", "inputSchema")
_TEXTS: Final = frozenset({"description", "title", "examples", "$comment"})
_DATA: Final = frozenset({"enum", "const", "default", "required"})


def minimised(tool: Json, given: Mapping[str, Json]) -> Json:
    """`tool` with its description cut to ``description`` characters (default 100) and, unless ``properties`` is true,
    the words of its schema's properties left out. Names, types and what is required stay."""
    if not isinstance(tool, dict):
        return tool
    inner = tool.get("function")
    if isinstance(inner, dict):
        return {**tool, "function": minimised(inner, given)}
    if unwrap_tool(tool) is not tool:
        return {**tool, "tools": [minimised(unwrap_tool(tool), given)]}
    limit = given.get("description", 100)
    made = dict(tool)
    words = tool.get("description")
    if isinstance(words, str) and isinstance(limit, int) and len(words) > limit:
        made["description"] = _first(words, limit)
    if given.get("properties") is not True:
        for key in _SCHEMAS:
            if isinstance(tool.get(key), dict):
                made[key] = _bare(tool[key], False)
    return made


def _first(words: str, limit: int) -> str:
    if limit <= 1:
        return ""
    return words[: limit - 1].rstrip() + "…"


def _bare(schema: Json, names: bool) -> Json:
    """A schema without words; `names` says that the keys are the properties' own names and not the schema's."""
    if isinstance(schema, list):
        return [_bare(item, False) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _part(key, value, names) for key, value in schema.items() if names or key not in _TEXTS}


def _part(key: str, value: Json, names: bool) -> Json:
    return value if key in _DATA and not names else _bare(value, _names(key, names))


def _names(key: str, names: bool) -> bool:
    return not names and key in ("properties", "$defs", "definitions", "patternProperties")


Given = Mapping[str, Json]
ALL_BUT_TEXT: Final = "all but text"
"""What a ``strip`` edit takes out of a result that may hold text alone."""

REFUSED_CHARACTERS: Final = "refused characters"
"""What a ``strip`` edit puts a sign in place of, in every string of a block; a signed block goes."""

TOOL_REFERENCES: Final = "tool references"
"""What a ``strip`` edit takes out that names a tool which is not there (`name`)."""


def rewritten(block: Block, edit: Edit) -> Block | None:
    """`block` as `edit` changes it; None where nothing of it is left, the block itself where there is nothing to do."""
    return _rewritten(block, edit.kind, edit.payload)


@lru_cache(maxsize=20_000)
def _rewritten(block: Block, kind: str, payload: str) -> Block | None:
    given = canonical.loads(payload)
    # What its provider signed can go, but not change.
    if not isinstance(given, dict) or (kind != STRIP and not changeable(block)):
        return block
    return REWRITERS[kind](block, given)


def _replace(block: Block, given: Given) -> Block | None:
    value = given.get("value")
    if isinstance(value, dict) and (block.kind == TOOL or is_call(block.kind)):
        return blocks.make(block.kind, blocks.without_markers(value))
    text = given.get("text")
    if not isinstance(text, str) or not has_words(block):
        return block
    return with_words(block, text) if text.strip() or is_result(block.kind) else None


def _truncate(block: Block, given: Given) -> Block:
    head, tail = _number(given.get("head"), 500), _number(given.get("tail"), 500)
    if is_call(block.kind):
        return cut_call(block, head, tail)
    return with_words(block, cut(words_of(block), head, tail))


def _number(value: Json, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _deduplicate(block: Block, given: Given) -> Block:
    told = given.get("text")
    said = told if isinstance(told, str) else "[the same text stands elsewhere in this conversation]"
    # Where somebody has put a shorter line in its place since (a client that clears results), that one stays.
    return with_words(block, said) if len(said) < len(words_of(block)) else block


def _hoist(block: Block, given: Given) -> Block | None:
    static = given.get("text")
    if not isinstance(static, str) or not static:
        return block
    words = words_of(block)
    if static not in words or not has_words(block):
        return block
    rest = words.replace(static, "", 1)
    return with_words(block, rest) if rest.strip() else None


DOCUMENTS: Final = frozenset({"document"})


def _strip(block: Block, given: Given) -> Block | None:
    what = given.get("what")
    if block.kind in THINKING and what in (None, "thinking", REFUSED_CHARACTERS):
        return None
    if what == REFUSED_CHARACTERS:
        value = block.value()
        return block if (cleaned := _cleaned(value)) == value else blocks.make(block.kind, cleaned)
    if what == TOOL_REFERENCES:
        return _without_references(block, given.get("name"))
    if what == "documents" and is_result(block.kind) and isinstance(given.get("parts"), list):
        return _emptied(block, given["parts"], DOCUMENTS)
    if what in (None, "images"):
        if block.kind in IMAGES:
            return None
        if is_result(block.kind):
            parts = given.get("parts")
            return (
                _emptied(block, parts, IMAGES)
                if isinstance(parts, list)
                else _left_out(block, lambda kind: str(kind) in IMAGES, "image")
            )
    if what == ALL_BUT_TEXT and is_result(block.kind):
        return _left_out(block, lambda kind: kind not in ("text", "input_text", "output_text"), "part")
    return block


def _cleaned(value: Json) -> Json:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    return {clean(key): _cleaned(one) for key, one in value.items()} if isinstance(value, dict) else value


def _without_references(block: Block, name: Json) -> Block | None:
    """A block without its references to the tool `name`; a result says so where nothing else is in it."""

    def stays(part: Json) -> bool:
        return not isinstance(part, dict) or (part.get("type"), part.get("tool_name")) != ("tool_reference", name)

    value = block.value()
    if not isinstance(value, dict) or not stays(value):
        return None
    content = value.get("content")
    if isinstance(content, list):
        told = {"type": "text", "text": f"[the tool {name} is not there any more]"}
        content = [part for part in content if stays(part)] or [told]
    elif isinstance(content, dict) and isinstance(content.get("tool_references"), list):
        content = {**content, "tool_references": [part for part in content["tool_references"] if stays(part)]}
    return block if content == value.get("content") else blocks.make(block.kind, {**value, "content": content})


def _parts(block: Block) -> tuple[str, dict[str, Json], list[Json] | None]:
    """The member of a result that holds its parts, the result, and the parts (None: it has none)."""
    value = block.value()
    key = "output" if isinstance(value, dict) and "output" in value else "content"
    content = value.get(key) if isinstance(value, dict) else None
    return key, value, content if isinstance(content, list) else None


def _emptied(block: Block, parts: list[Json], kinds: Collection[str]) -> Block:
    """A result with a line in the place of the images or documents (`kinds`) at `parts`, so that its other parts stay
    where they are."""
    key, value, content = _parts(block)
    said = "[image removed]" if kinds is IMAGES else "[document removed]"
    note = {"type": "input_text" if key == "output" else "text", "text": said}
    gone = {n for n in parts if isinstance(n, int)}
    made = [
        note if n in gone and isinstance(p, dict) and str(p.get("type")) in kinds else p
        for n, p in enumerate(content or ())
    ]
    return block if content is None or made == content else blocks.make(block.kind, {**value, key: made})


def _left_out(block: Block, goes: Callable[[object], bool], name: str) -> Block:
    """A result without the parts whose kind `goes`; how many there were is said in their place."""
    key, value, content = _parts(block)
    if content is None:
        return block
    kept = [part for part in content if not (isinstance(part, dict) and goes(part.get("type")))]
    if len(kept) == len(content):
        return block
    kind = "input_text" if key == "output" else "text"
    note = {"type": kind, "text": f"[{len(content) - len(kept)} {name}(s) removed]"}
    return blocks.make(block.kind, {**value, key: [*kept, note]})


def _compact(block: Block, given: Given) -> Block:
    if is_call(block.kind):
        return block
    return with_words(block, compacted(words_of(block), given))


def _externalize(block: Block, given: Given) -> Block:
    return with_words(block, references.externalized(words_of(block), given))


def _minimise(block: Block, given: Given) -> Block:
    return blocks.make(TOOL, minimised(block.value(), given)) if block.kind == TOOL else block


REWRITERS: Final[dict[str, Callable[[Block, Given], Block | None]]] = {
    REPLACE: _replace,
    TRUNCATE: _truncate,
    DEDUPLICATE: _deduplicate,
    HOIST: _hoist,
    EXTERNALIZE: _externalize,
    COMPACT_JSON: _compact,
    MINIMISE: _minimise,
    STRIP: _strip,
}
"""What each kind of edit that changes a block in its place makes of it (None: nothing is left)."""
