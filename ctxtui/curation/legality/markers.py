"""Checks cache breakpoints: number, positions, and order of lifetimes (facts §2, §4).

A function is named after the dialect whose request bodies it checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_list
from ctxtui.curation.legality.violation import MARKERS, Violation
from ctxtui.curation.provider_rules import MAX_MARKERS

_KEY: Final = "cache_control"
_TTLS: Final = ("5m", "1h")
_UNMARKED: Final = frozenset({"thinking", "redacted_thinking", "tool_reference"})

_Found = tuple[str, dict[str, Json]]


def anthropic(body: dict[str, Json]) -> Iterator[Violation]:
    marked = [(path, block) for path, block in _markable_blocks(body) if _KEY in block]
    short = ""
    for path, block in marked:
        if block[_KEY] is None:
            continue
        ttl = block[_KEY].get("ttl", "5m") if isinstance(block[_KEY], dict) else None
        if ttl not in _TTLS:
            yield Violation(f"{path}.{_KEY}", "ttl must be 5m or 1h", MARKERS)
        elif ttl == "1h" and short:
            yield Violation(f"{path}.{_KEY}", f"a marker of 1h must not follow one of 5m ({short})", MARKERS)
        short = short or (path if ttl == "5m" else "")
        if str(block.get("type")) in _UNMARKED:
            yield Violation(f"{path}.{_KEY}", f"{block['type']} takes no marker", MARKERS)
        elif block.get("type") == "text" and not str(block.get("text") or "").strip():
            yield Violation(f"{path}.{_KEY}", "an empty text takes no marker", MARKERS)
    count = sum(block[_KEY] is not None for _, block in marked) + (body.get(_KEY) is not None)
    if count > MAX_MARKERS:
        yield Violation("$", f"{count} cache markers, the most is {MAX_MARKERS}", MARKERS)


def _markable_blocks(body: dict[str, Json]) -> Iterator[_Found]:
    for key in ("tools", "system"):
        for n, block in enumerate(as_list(body.get(key))):
            if isinstance(block, dict):
                yield f"$.{key}[{n}]", block
    for n, message in enumerate(as_list(body.get("messages"))):
        for m, part in enumerate(as_list(message.get("content") if isinstance(message, dict) else None)):
            if not isinstance(part, dict):
                continue
            path = f"$.messages[{n}].content[{m}]"
            if part.get("type") == "tool_result":
                for k, inner in enumerate(as_list(part.get("content"))):
                    if isinstance(inner, dict):
                        yield f"{path}.content[{k}]", inner
            yield path, part


def openai(body: dict[str, Json]) -> Iterator[Violation]:
    for key in ("messages", "input"):
        for n, message in enumerate(as_list(body.get(key))):
            if not isinstance(message, dict) or message.get("role") != "assistant":
                continue
            for m, part in enumerate(as_list(message.get("content"))):
                if isinstance(part, dict) and "prompt_cache_breakpoint" in part:
                    yield Violation(f"$.{key}[{n}].content[{m}]", "the assistant's text takes no breakpoint")
