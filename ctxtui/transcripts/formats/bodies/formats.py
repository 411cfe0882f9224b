"""Plain bodies as formats: one per dialect, told apart by their shape."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.bodies import pairs
from ctxtui.transcripts.formats.bodies.reader import BodiesReader
from ctxtui.transcripts.formats.bodies.values import Text, walked
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.http_exchange.shapes import BodyShape, answer_dialect, dialect, listed_messages, sort_of
from ctxtui.wire.grammar import ANTHROPIC, CHAT, RESPONSES
from ctxtui.wire.translate.turns import tool_home

NAMES: Final = {ANTHROPIC: "anthropic", CHAT: "openai chat", RESPONSES: "openai responses"}
"""The format's name of each dialect."""


_SURE: Final = {BodyShape.REQUEST: 0.85, BodyShape.ANSWER: 0.8, BodyShape.MESSAGES: 0.6, BodyShape.MESSAGE: 0.55}
_PAIR: Final = 0.8
_LOG: Final = 0.7
_OTHERS: Final = frozenset({"kwargs", "backing_model"})
_LOOKED_AT: Final = 8
_SURE_OF_TOOLS: Final = 0.5
_TALK: Final = frozenset({"messages", "input", "contents", "prompt"})
"""Members under which a request's conversation stands."""
_BEFORE_SYSTEM: Final = frozenset({"system", "max_tokens", "stream", "temperature", "metadata", "thinking"})
_BEFORE_INPUT: Final = frozenset({"input", "model", "instructions", "stream", "store", "temperature", "metadata"})
"""Members that may stand with a long text before anything else tells that it is a request's."""
_DEFINES: Final = frozenset({"input_schema", "parameters", "function", "custom"})
"""Members of which a tool's definition has one."""


def sniff_as(name: str, head: bytes, file_name: str) -> float:
    """How sure the format of dialect `name` is of a head."""
    spoken, sure = _told(head[: file_head.HEAD_BYTES])
    return sure if spoken == name else 0.0


def open_as(name: str, tree: Tree) -> BodiesReader:
    """A reader of a file whose head speaks dialect `name`."""
    return BodiesReader(tree, name)


@lru_cache(maxsize=4)
def _told(head: bytes) -> tuple[str, float]:
    """The dialect of a head and how sure that is; three formats ask in turn."""
    found = file_head.values(head)[:_LOOKED_AT]
    lists = [value for value in found if isinstance(value, list) and sort_of(value) == BodyShape.OTHER]
    found += [item for value in lists for item in value[:_LOOKED_AT]]
    best = _begun(found[-1]) if found and len(head) >= file_head.HEAD_BYTES else ("", 0.0)
    lines = [value for value in found if sort_of(value) == BodyShape.MESSAGE]
    for value in found:
        try:
            spoken, sure = _one(value, lines)
        except (Malformed, RecursionError):
            continue
        if sure > best[1]:
            best = spoken, sure
    return best


def _begun(value: Json) -> tuple[str, float]:
    """What a request that is longer than the head says before its messages: a long system prompt, many tools. A pair
    is told by its request."""
    if not isinstance(value, dict):
        return "", 0.0
    if isinstance(value.get("request"), dict) and "response" not in value:
        return _begun(value["request"])
    if isinstance(value.get("input"), str) and value.keys() <= _BEFORE_INPUT:
        # The text itself is what is long; what comes behind it tells whether it is an embedding's.
        return RESPONSES, _SURE_OF_TOOLS
    if value.keys() & _TALK:
        return "", 0.0
    tools = value.get("tools")
    defined = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    # The last one may be cut.
    if defined and all(tool.keys() & _DEFINES for tool in defined[:-1]):
        if defined[:-1] or defined[0].keys() & _DEFINES:
            return tool_home(defined[0]), _SURE_OF_TOOLS
        if isinstance(defined[0].get("description"), str) and "name" in defined[0]:
            return (RESPONSES if "type" in defined[0] else ANTHROPIC), _SURE_OF_TOOLS
    if isinstance(value.get("system"), str | list) and ("model" in value or value.keys() <= _BEFORE_SYSTEM):
        return ANTHROPIC, _SURE_OF_TOOLS
    return (RESPONSES, _SURE_OF_TOOLS) if isinstance(value.get("instructions"), str) and "model" in value else ("", 0.0)


def _one(value: Json, lines: list[Json]) -> tuple[str, float]:
    sort = sort_of(value)
    sure = _SURE.get(sort, 0.0)
    if sort == BodyShape.REQUEST and value.keys() & _OTHERS:
        # A gateway's own log, which has a reader that knows the rest of it too.
        sure = _LOG
    match sort:
        case BodyShape.REQUEST:
            return dialect(value), sure
        case BodyShape.ANSWER:
            return answer_dialect(value), sure
        case BodyShape.MESSAGES:
            return dialect(listed_messages(value)), sure
        case BodyShape.MESSAGE:
            return dialect(lines), sure
    pair = pairs.find(_text(value)) if isinstance(value, dict) else None
    if pair is None:
        return "", 0.0
    if pair.request is not None:
        return dialect(pair.request.value()), _PAIR
    if pair.messages is not None:
        return dialect(pair.messages), _PAIR
    return (answer_dialect(pair.answer) if isinstance(pair.answer, dict) else CHAT), _PAIR


def _text(value: Json) -> Text:
    return walked(canonical.text_of(value))
