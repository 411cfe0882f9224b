"""Copies blocks out of one context, and makes the edit that puts them into another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from itertools import dropwhile
from typing import Final, NamedTuple

from ctxtui.core import block as blocks
from ctxtui.core.block import ASSISTANT, HEADER, Item
from ctxtui.core.block_content import FUNCTION_CALL, FUNCTION_RESPONSE, read
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit, make
from ctxtui.core.edit_kinds import TRANSPLANT
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.block_text import make_message
from ctxtui.curation.apply.copied_items import describe_items
from ctxtui.curation.apply.insertion import COPY_BEGINS
from ctxtui.curation.context import THINKING, Context, is_call, is_result
from ctxtui.curation.legality.violation import Violation
from ctxtui.wire.google_parts import SIGNATURES
from ctxtui.wire.grammar import ANTHROPIC
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.translate.encode import build_body
from ctxtui.wire.translate.turns import OTHER, TEXT, to_part

FRONT: Final = "system texts and tool definitions"
THOUGHTS: Final = "thinking, which only its own session may send back"
SEALED: Final = "content that its provider encrypted for that session"
HOSTED: Final = "blocks of the provider's own tools"
UNPAIRED: Final = "calls or results without their counterpart"
EMPTY: Final = "empty texts"
"""What is not copied, as users read it in `CopiedBlocks.left_out`."""
NOTHING_COPIED: Final = "nothing of it can be copied into another session"
UNTRANSLATABLE: Final = "nothing of it can be written for this provider"
NO_TOOLS: Final = "calls need a request that defines tools, and this one defines none"

_SYSTEM: Final = frozenset({"system", "developer"})
_TOOL: Final = frozenset({"tool", "function"})
_SEALED_MEMBERS: Final = frozenset(
    {"encrypted_content", "encrypted_index", "encrypted_stdout", "signature", "thinking_signature"}
)
_FREE_MEMBERS: Final = frozenset({"input", "arguments", "args", "response"})
"""Members that may have any names inside: those of a tool's input and output."""
_OWN_MEMBERS: Final = frozenset({"id", "audio", "reasoning_details", "thinking_blocks"})
"""Members of a message that name something of their own session, or hold its thinking."""


class CopiedBlocks(NamedTuple):
    """Blocks of `source` (its name and call) as whole messages in `dialect`.

    `block_count` is their number without headers; `left_out` has a reason for each kind of block that was not copied.
    """

    items: tuple[Item, ...]
    dialect: str
    source: str
    block_count: int
    left_out: tuple[str, ...] = ()


class Transplant(NamedTuple):
    """The `edit` that inserts copied blocks, and what translation `lost`.

    `edit` is None if it is refused: `why` is the reason.
    """

    edit: Edit | None
    why: str = ""
    lost: tuple[str, ...] = ()


def copy_blocks(context: Context, positions: Iterable[int], source: str = "") -> CopiedBlocks:
    """Copy the blocks at `positions`, calls with their results and results with their calls.

    The position of a header selects its whole message. Thinking, encrypted content, system texts and tool definitions
    are left out.
    """
    left: Counter[str] = Counter()
    chosen: set[int] = set()
    for position in _without_headers(context, positions):
        group = _with_counterpart(context, position)
        reasons = (
            [reason for position in group if (reason := _why_not_copied(context, position))] if group else [UNPAIRED]
        )
        if reasons:
            left[reasons[0]] += 1
        else:
            chosen |= group
    items: list[Item] = []
    for message in context.messages:
        here = [position for position in range(message.start, message.stop) if position in chosen]
        if not here:
            continue
        if context.items[message.start].block.kind == HEADER and message.start not in here:
            here.insert(0, message.start)
        items += [_copy_item(context.items[position]) for position in here]
    count = sum(item.block.kind != HEADER for item in items)
    return CopiedBlocks(
        tuple(items), context.dialect, source, count, tuple(f"{reason} ({n})" for reason, n in left.items())
    )


def _without_headers(context: Context, positions: Iterable[int]) -> list[int]:
    selected: set[int] = set()
    for position in positions:
        message = context.message_at(position)
        is_head = message is not None and message.start == position and message.has_header
        selected |= {*range(position + 1, message.stop)} if message is not None and is_head else {position}
    return sorted(selected)


def _with_counterpart(context: Context, position: int) -> set[int]:
    """The block with its call or result; empty if that is missing.

    The result of OpenAI's Chat is a whole message.
    """
    group = _result_message(context, position) or {position}
    kind = context.items[position].block.kind
    if not is_call(kind) and not is_result(kind) and context.items[position].place.role not in _TOOL:
        return group
    partners = {partner for position in group for partner in context.partners.get(position, ())}
    if not partners:
        return set()
    return group.union(partners, *(_result_message(context, partner) for partner in partners))


def _result_message(context: Context, position: int) -> set[int]:
    """All of the tool message at `position`; empty if it is in another message."""
    message = context.message_at(position)
    if message is None or message.role not in _TOOL or context.items[message.start].block.kind != HEADER:
        return set()
    return {*range(message.start, message.stop)}


def _why_not_copied(context: Context, position: int) -> str:
    block, place = context.items[position]
    if place.section != "messages" or place.role in _SYSTEM:
        return FRONT
    if block.kind == HEADER:
        return ""
    part = to_part(block)
    if block.kind in THINKING:
        return THOUGHTS
    caller = part.value.get("caller") if isinstance(part.value, dict) else None
    if part.category == OTHER or (isinstance(caller, dict) and "tool_id" in caller):
        return HOSTED
    if _is_sealed(part.value):
        return SEALED
    is_empty = part.category == TEXT and place.role not in _TOOL and not part.reading.text.strip()
    return EMPTY if is_empty else ""


def _is_sealed(value: Json) -> bool:
    """Whether `value` has a signed or encrypted member, except Google's signatures."""
    if isinstance(value, list):
        return any(map(_is_sealed, value))
    if not isinstance(value, dict):
        return False
    return any(
        key in _SEALED_MEMBERS or (key not in _FREE_MEMBERS and _is_sealed(member)) for key, member in value.items()
    )


def _copy_item(item: Item) -> Item:
    """The item without what refers to its own session: item ids, optional signatures."""
    value = item.block.value()
    if not isinstance(value, dict):
        return item
    gone: Collection[str] = SIGNATURES
    if item.block.kind == HEADER:
        gone = {*_OWN_MEMBERS, *(key for key in value if key in _SEALED_MEMBERS)}
    elif "call_id" in value:
        gone = {"id", *SIGNATURES}
    members = {key: member for key, member in value.items() if key not in gone}
    if len(members) == len(value):
        return item
    if members.keys() == {"text"}:
        # Google's signed text: without the signature it is the same block as in any dialect.
        return item._replace(block=blocks.text(members["text"]))
    return item._replace(block=blocks.make(item.block.kind, members))


def put_in(applied: Applied, position: int, copied: CopiedBlocks, *, is_whole: bool = False) -> Transplant:
    """Make the edit that puts `copied` after the block at `position` of the context under edits.

    Blocks of another dialect are translated. Calls get new ids. `is_whole`: the request is recorded as it was sent, so
    that tools which it does not define are not there. The result is not checked: `find_objection` compares
    what the provider would refuse before and after.
    """
    context = applied.context
    items, lost = copied.items, tuple[str, ...]()
    if items and copied.dialect != context.dialect:
        items, lost = _translate(copied, context.dialect)
    if not items:
        why = "; ".join((UNTRANSLATABLE, *lost) if copied.items else (NOTHING_COPIED, *copied.left_out))
        return Transplant(None, why, lost)
    has_calls = any(is_call(item.block.kind) for item in items)
    if is_whole and has_calls and context.dialect == ANTHROPIC and not context.tools and not context.partners:
        return Transplant(None, NO_TOOLS, lost)
    used_ids = {context.reading(p).call_id for p, item in enumerate(context.items) if is_call(item.block.kind)}
    used_ids |= {
        read(item.block).call_id for insert in applied.inserts for item in insert.items if is_call(item.block.kind)
    }
    renamed = rename_calls(items, used_ids, copied.source)
    payload: dict[str, Json] = {"blocks": describe_items(renamed), "dialect": context.dialect, "from": copied.source}
    return Transplant(make(TRANSPLANT, [context.target(position)], payload), lost=lost)


def _translate(copied: CopiedBlocks, dialect: str) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    begins_with_answer = copied.items[0].place.role in ASSISTANT
    # A conversation that begins with an answer would get a user message in front.
    lead = make_message(COPY_BEGINS, "user", copied.dialect) if begins_with_answer else ()
    body, lost = build_body(dialect, (*lead, *copied.items), model="none")
    items = [item for item in DIALECTS[dialect].decode_request(body, None).items if item.place.section == "messages"]
    if begins_with_answer:
        items = [*dropwhile(lambda item: item.place.role not in ASSISTANT, items)]
    # A translation to Google's API signs calls with a placeholder, which the user message after them makes needless.
    return tuple(map(_copy_item, items)), tuple(lost)


def rename_calls(items: Iterable[Item], used_ids: Collection[str], salt: str = "") -> list[Item]:
    """Give each call of `items` that has an id a new one, and its result too.

    The new ids are not in `used_ids`.
    """
    names: dict[str, str] = {}
    renamed: list[Item] = []
    for item in items:
        if is_call(item.block.kind) and (id_ := read(item.block).call_id):
            names[id_] = _new_id(id_, {*used_ids, *names.values()}, salt)
        value = item.block.value()
        changed = _with_ids(value, names)
        renamed.append(item if changed == value else item._replace(block=blocks.make(item.block.kind, changed)))
    return renamed


_ID_MEMBERS: Final = ("call_id", "tool_use_id", "tool_call_id", "id")


_MIN_ID_LETTERS, _MAX_ID_LETTERS = 8, 24


def _new_id(id_: str, used_ids: Collection[str], salt: str) -> str:
    prefix, _, rest = id_.rpartition("_")
    prefix = f"{prefix[:32]}_" if prefix else ""
    length = min(max(len(rest), _MIN_ID_LETTERS), _MAX_ID_LETTERS)
    attempt = 0
    while True:
        digest = blake2b(f"{salt} {id_} {attempt}".encode("utf-8", "replace"), digest_size=12).hexdigest()
        new = prefix + digest[:length]
        if new not in used_ids:
            return new
        attempt += 1


def _with_ids(value: Json, names: Mapping[str, str]) -> Json:
    """`value` with the ids in `names` replaced, in a block or inside Google's member of a part."""
    if not isinstance(value, dict):
        return value
    changed = dict(value)
    for key, member in value.items():
        if key in _ID_MEMBERS and isinstance(member, str):
            changed[key] = names.get(member, member)
        elif key in (*FUNCTION_CALL, *FUNCTION_RESPONSE) and isinstance(member, dict):
            changed[key] = _with_ids(member, names)
    return changed


def find_objection(before: Iterable[Violation], after: Iterable[Violation]) -> str:
    """The first of the violations `after` an edit that was not there `before`.

    "" if there is none.
    """
    old_messages = Counter(violation.message for violation in before)
    for violation in after:
        if not old_messages[violation.message]:
            return violation.message
        old_messages[violation.message] -= 1
    return ""
