"""Items read as dialect-independent turns: adjacent parts (text, calls ...) of one role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.block_content import (
    FUNCTION_CALL,
    FUNCTION_RESPONSE,
    MEDIA_MEMBERS,
    BlockContent,
    Media,
    arguments_value,
    read,
    read_value,
)
from ctxtui.core.canonical import Json
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, MESSAGE_PARTS, OLLAMA, RESPONSES, join_item
from ctxtui.wire.input_items import AGENT_ITEM, NAMESPACE, TOOLS_ITEM
from ctxtui.wire.parts import Piece

# Categories of parts.
TEXT: Final = "text"
THINKING: Final = "thinking"
CALL: Final = "call"
RESULT: Final = "result"
MEDIA: Final = "media"
OTHER: Final = "other"

# Sides of a conversation.
ASSISTANT: Final = "assistant"
USER: Final = "user"
TOOL: Final = "tool"
SYSTEM: Final = frozenset({"system", "developer"})
"""Roles of system texts, which count as the user's side."""

_SIDES: Final = {"assistant": ASSISTANT, "model": ASSISTANT, "tool": TOOL, "function": TOOL}
_KINDS: Final = {
    **dict.fromkeys("text input_text output_text refusal".split(), TEXT),
    **dict.fromkeys("thinking redacted_thinking reasoning".split(), THINKING),
    **dict.fromkeys("image image_url input_image document file input_file input_audio".split(), MEDIA),
    **dict.fromkeys(
        "tool_use tool_call function_call custom_tool_call local_shell_call shell_call apply_patch_call".split(), CALL
    ),
    **dict.fromkeys(
        "tool_result function_call_output custom_tool_call_output local_shell_call_output shell_call_output "
        "apply_patch_call_output function_response".split(),
        RESULT,
    ),
}
"""The category of each kind of block; others are `OTHER`."""
NO_THINKING: Final = "thinking, which this dialect does not take back"
_READABLE: Final = frozenset({"compaction", "compaction_summary", AGENT_ITEM})
"""Provider-specific kinds whose text makes sense elsewhere."""
_WHOLE_ITEMS: Final = frozenset({TOOLS_ITEM, AGENT_ITEM})
"""Items of the Responses API whose blocks have no meaning apart from each other."""
_DIALECT_KINDS: Final = {
    ANTHROPIC: frozenset("tool_use tool_result thinking redacted_thinking image document server_tool_use".split()),
    CHAT: frozenset("tool_call image_url".split()),
    RESPONSES: frozenset(
        "input_text output_text function_call function_call_output custom_tool_call custom_tool_call_output "
        "input_image input_file".split()
    ),
}
"""Kinds of blocks that vote for a dialect; the other dialects are told apart by members."""

_GOOGLE_SCHEMAS: Final = frozenset({"parametersJsonSchema", "parameters_json_schema"})
"""Members of a tool definition that only Google has."""
_GOOGLE_MEMBERS: Final = frozenset({*FUNCTION_CALL, *FUNCTION_RESPONSE, *MEDIA_MEMBERS})


class TurnPart(NamedTuple):
    """A part of a turn: one block, or several that form one item of the Responses API.

    `value` is its JSON, `reading` its neutral content. A ``tool message`` of Chat is one part, whose `value` is the
    list of its blocks.
    """

    category: str
    kind: str
    value: Json
    reading: BlockContent

    @property
    def id(self) -> str:
        return self.reading.call_id


class Turn(Struct):
    """Consecutive parts of one `role`, as the source names it."""

    role: str
    parts: list[TurnPart] = field(default_factory=list)

    @property
    def side(self) -> str:
        """Assistant, user (also system and developer) or tool."""
        return _SIDES.get(self.role, USER)


class Losses:
    """Counts what a translation could not express, by reason."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def note(self, reason: str, count: int = 1) -> None:
        if count:
            self._counts[reason] += count

    def lines(self) -> list[str]:
        return [f"{reason} ({count})" for reason, count in self._counts.items()]


def detect_dialect(items: Iterable[Item]) -> str:
    """The dialect that `items` were recorded in, by their kinds and members.

    "" if all are only text.
    """
    votes: Counter[str] = Counter()
    for block, place in items:
        if _is_ollama_only(block):
            return OLLAMA
        if _is_google(block):
            votes[GOOGLE] += 1
            continue
        for name, kinds in _DIALECT_KINDS.items():
            votes[name] += block.kind in kinds
        if block.kind == "function_call" and b'"call_id"' not in block.body:
            votes[RESPONSES] -= 1
            votes[CHAT] += 1
        votes[CHAT] += place.role == TOOL and block.kind == HEADER
        if block.kind == "tool":
            votes[tool_dialect(block.value())] += 1
    best = votes.most_common(1)
    return best[0][0] if best and best[0][1] > 0 else ""


def _is_ollama_only(block: Block) -> bool:
    """Whether it is a call with an object as arguments, a tool's header, or a bare image."""
    if block.kind == "tool_call" and b'"arguments":{' in block.body:
        value = block.value()
        inner = value.get("function") if isinstance(value, dict) else None
        return isinstance(inner, dict) and isinstance(inner.get("arguments"), dict)
    if block.kind == HEADER:
        return b'"tool_name":' in block.body
    return block.kind == "image" and block.body.startswith(b'"')


def _is_google(block: Block) -> bool:
    """Whether it is a header that names parts, or a call, result or medium without a type."""
    if block.kind == HEADER:
        return b'"parts":' in block.body
    if block.kind in ("function_call", "function_response", "image", "document"):
        value = block.value()
        return isinstance(value, dict) and bool(value.keys() & _GOOGLE_MEMBERS)
    return False


def tool_dialect(value: Json) -> str:
    """The dialect of a tool definition, by its members; Anthropic's if none tells."""
    if not isinstance(value, dict) or "input_schema" in value:
        return ANTHROPIC
    if value.keys() & _GOOGLE_SCHEMAS or not value.keys() & {"name", "type", "function", "custom"}:
        return GOOGLE
    if isinstance(value.get("function"), dict) or isinstance(value.get("custom"), dict):
        return CHAT
    return RESPONSES if "parameters" in value or value.get("type") in ("function", "custom", NAMESPACE) else ANTHROPIC


def to_turns(items: Sequence[Item]) -> list[Turn]:
    """Convert items of messages to turns; neighbours are not merged."""
    turns: list[Turn] = []
    answers: Json = None
    item_pieces: list[Piece] = []
    for block, place in items:
        if item_pieces and block.kind in MESSAGE_PARTS:
            item_pieces.append((block.kind, block.value()))
            turns[-1].parts[-1] = _item_part(item_pieces)
            continue
        item_pieces = []
        if block.kind == HEADER:
            head = header if isinstance(header := block.value(), dict) else {}
            if str(head.get("type")) in _WHOLE_ITEMS:
                item_pieces = [(HEADER, head)]
                turns.append(Turn(place.role, [_item_part(item_pieces)]))
                continue
            answers = head if place.role in (TOOL, "function") else None
            turns.append(Turn(place.role))
            if answers is not None:
                turns[-1].parts.append(_chat_result(answers, []))
        elif answers is not None and place.role in (TOOL, "function") and _KINDS.get(block.kind) != RESULT:
            result = turns[-1].parts[0]
            turns[-1].parts[0] = _chat_result(answers, [*result.value, block])
        else:
            answers = None
            if not turns or (turns[-1].role != place.role and _KINDS.get(block.kind) in (CALL, RESULT, THINKING)):
                turns.append(Turn(place.role))
            turns[-1].parts.append(to_part(block))
    return _with_call_ids(turns)


def _with_call_ids(turns: list[Turn]) -> list[Turn]:
    """Give Google's results that name only their tool the id of its first call without a result."""
    open_calls: list[TurnPart] = []
    for turn in turns:
        for n, part in enumerate(turn.parts):
            if part.category == CALL:
                open_calls.append(part)
            elif part.category == RESULT:
                same = [call for call in open_calls if call.id == part.id]
                if not same and part.kind == "function_response":
                    same = [call for call in open_calls if call.reading.name == part.id]
                if same:
                    open_calls.remove(same[0])
                    reading = replace(part.reading, call_id=same[0].id)
                    turn.parts[n] = part._replace(reading=reading)
    return turns


def _item_part(pieces: Sequence[Piece]) -> TurnPart:
    value = join_item(pieces)
    inner = [read_value(kind, part) for kind, part in pieces[1:]]
    reading = BlockContent(
        text="\n".join(content.text for content in inner if content.text),
        hidden=sum(content.hidden for content in inner),
        media=tuple(media for content in inner for media in content.media),
    )
    return TurnPart(OTHER, str(value["type"]), value, reading)


def arguments_object(part: TurnPart, losses: Losses) -> dict[str, Json]:
    """The input of a call as an object."""
    arguments = arguments_value(part.reading)
    if isinstance(arguments, dict):
        return arguments
    if arguments in ("", None):
        return {}
    losses.note('call inputs that are not a JSON object: wrapped as {"input": ...}')
    return {"input": arguments}


def to_part(block: Block) -> TurnPart:
    """Read one block as a part of a turn."""
    value = block.value()
    reading = read_value(block.kind, value)
    # Legacy function calls, and Ollama's calls without id, are paired by the function's name.
    if block.kind in ("function_call", "tool_call") and not reading.call_id:
        reading = replace(reading, call_id=reading.name)
    category = _KINDS.get(block.kind, OTHER)
    if category in (CALL, RESULT, MEDIA) and not isinstance(value, dict) and not reading.media:
        # A damaged record without a call, result or picture: its text is kept.
        category = TEXT
    return TurnPart(category, block.kind, value, reading)


def readable_text(part: TurnPart, losses: Losses) -> str:
    """The text of a provider-specific block if it makes sense elsewhere; else ""."""
    if part.kind not in _READABLE or not part.reading.text:
        return ""
    if part.reading.media or part.reading.hidden:
        losses.note(f"parts other than text in {part.kind}")
    return part.reading.text


def is_free_text(part: TurnPart) -> bool:
    """Whether a call's input is free text for a custom tool, not the arguments of a function.

    A function's arguments may be cut off, and are then no JSON object.
    """
    value = part.value if isinstance(part.value, dict) else {}
    if "function" in value or value.get("type") == "function_call":
        return False
    if value.get("type") in ("custom", "custom_tool_call"):
        return True
    return bool(part.reading.arguments) and not isinstance(arguments_value(part.reading), dict)


def _chat_result(head: dict[str, Json], blocks: list[Block]) -> TurnPart:
    """A Chat tool message with header `head`: its call id is the header's, else the tool's name."""
    readings = [read(block) for block in blocks]
    media: tuple[Media, ...] = tuple(medium for reading in readings for medium in reading.media)
    text = "\n".join(reading.text for reading in readings if reading.text)
    id_ = head.get("tool_call_id") or head.get("name") or head.get("tool_name") or ""
    return TurnPart(RESULT, "tool message", blocks, BlockContent(text=text, call_id=str(id_), media=media))
