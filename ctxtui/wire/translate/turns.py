"""Dialect-independent turns of text, calls, results and pictures, read from items."""

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
    read,
    read_value,
)
from ctxtui.core.canonical import Json
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, MESSAGE_PARTS, OLLAMA, RESPONSES, join_item
from ctxtui.wire.input_items import AGENT_ITEM, NAMESPACE, TOOLS_ITEM
from ctxtui.wire.parts import Piece

TEXT: Final = "text"
"""Categories of parts."""
THINKING: Final = "thinking"
CALL: Final = "call"
RESULT: Final = "result"
MEDIA: Final = "media"
OTHER: Final = "other"

ASSISTANT: Final = "assistant"
"""Sides of a conversation."""
USER: Final = "user"
TOOL: Final = "tool"
SYSTEM: Final = frozenset({"system", "developer"})
"""Roles that count as the user's side and hold the system's texts."""

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
"""The category of each kind of block; other kinds are `OTHER`."""
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
"""Kinds of blocks that vote for a dialect. Others have some of them too, and are told apart by members."""

_GOOGLE_SCHEMAS: Final = frozenset({"parametersJsonSchema", "parameters_json_schema"})
"""Members of a tool definition that only Google has."""
_GOOGLE_MEMBERS: Final = frozenset({*FUNCTION_CALL, *FUNCTION_RESPONSE, *MEDIA_MEMBERS})


class TurnPart(NamedTuple):
    """One block of a turn: `category` is its dialect-independent class, `value` its own JSON.

    A ``tool message`` of Chat is one part, whose `value` is the list of its blocks.
    """

    category: str
    kind: str
    value: Json
    reading: BlockContent

    @property
    def id(self) -> str:
        """The id that pairs a call with its result."""
        return self.reading.call_id


class Turn(Struct):
    """Consecutive parts of one side: `role` as in the source, `side` is assistant, user or tool."""

    role: str
    parts: list[TurnPart] = field(default_factory=list)

    @property
    def side(self) -> str:
        """The side of the role; system and developer count as user."""
        return _SIDES.get(self.role, USER)


class Losses:
    """Counts of what a fresh body could not express, by reason."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def note(self, reason: str, count: int = 1) -> None:
        """Count `count` more losses for `reason`."""
        if count:
            self._counts[reason] += count

    def lines(self) -> list[str]:
        """Format each reason with its count: ``empty text (3)``."""
        return [f"{reason} ({count})" for reason, count in self._counts.items()]


def detect_dialect(items: Iterable[Item]) -> str:
    """Detect the dialect that `items` were recorded in, by their kinds and members.

    "" if all could be of any (only text).
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
    """Whether only Ollama writes a block so.

    Such are arguments as an object, a tool's name in a header, and bare base64 for a picture.
    """
    if block.kind == "tool_call" and b'"arguments":{' in block.body:
        value = block.value()
        inner = value.get("function") if isinstance(value, dict) else None
        return isinstance(inner, dict) and isinstance(inner.get("arguments"), dict)
    if block.kind == HEADER:
        return b'"tool_name":' in block.body
    return block.kind == "image" and block.body.startswith(b'"')


def _is_google(block: Block) -> bool:
    """Whether only Google writes a block so.

    Such are a header that names parts, and a call, a result or a medium without a type.
    """
    if block.kind == HEADER:
        return b'"parts":' in block.body
    if block.kind in ("function_call", "function_response", "image", "document"):
        value = block.value()
        return isinstance(value, dict) and bool(value.keys() & _GOOGLE_MEMBERS)
    return False


def tool_dialect(value: Json) -> str:
    """Return the dialect of a tool definition."""
    if not isinstance(value, dict) or "input_schema" in value:
        return ANTHROPIC
    if value.keys() & _GOOGLE_SCHEMAS or not value.keys() & {"name", "type", "function", "custom"}:
        return GOOGLE
    if isinstance(value.get("function"), dict) or isinstance(value.get("custom"), dict):
        return CHAT
    return RESPONSES if "parameters" in value or value.get("type") in ("function", "custom", NAMESPACE) else ANTHROPIC


def to_turns(items: Sequence[Item]) -> list[Turn]:
    """Convert `items`, all of them of messages, to turns; neighbours are not merged."""
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
    """Give results that name only their tool the id of its first call without a result.

    Google's may name only their tool.
    """
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
    """Join an item with all its blocks to one part."""
    value = join_item(pieces)
    inner = [read_value(kind, part) for kind, part in pieces[1:]]
    reading = BlockContent(
        text="\n".join(content.text for content in inner if content.text),
        hidden=sum(content.hidden for content in inner),
        media=tuple(media for content in inner for media in content.media),
    )
    return TurnPart(OTHER, str(value["type"]), value, reading)


def to_part(block: Block) -> TurnPart:
    """Convert a block to a part."""
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
    """Return the text of a provider-specific block if it makes sense elsewhere; "" otherwise."""
    if part.kind not in _READABLE or not part.reading.text:
        return ""
    if part.reading.media or part.reading.hidden:
        losses.note(f"parts other than text in {part.kind}")
    return part.reading.text


def _chat_result(head: dict[str, Json], blocks: list[Block]) -> TurnPart:
    """Make the part of a Chat tool message from its header `head` and its `blocks`.

    It has the header's call id, or else the tool's name. `blocks` are kept as its value.
    """
    readings = [read(block) for block in blocks]
    media: tuple[Media, ...] = tuple(medium for reading in readings for medium in reading.media)
    text = "\n".join(reading.text for reading in readings if reading.text)
    id_ = head.get("tool_call_id") or head.get("name") or head.get("tool_name") or ""
    return TurnPart(RESULT, "tool message", blocks, BlockContent(text=text, call_id=str(id_), media=media))
