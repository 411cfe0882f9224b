"""Repairs a context that its provider refuses.

`find_faults` encodes the context and places each violation at a block. `repair` makes edits for the violations and
checks the result again, for some rounds. ``ctxtui repair`` writes the session under these edits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.block import ASSISTANT, HEADER, NOT_RECORDED, UNREADABLE, Block
from ctxtui.core.canonical import Json
from ctxtui.core.edit import REPAIR, Edit, make
from ctxtui.core.edit_kinds import BREAKPOINT, DROP, NOTE, REPLACE, STRIP
from ctxtui.core.json_values import as_list
from ctxtui.curation.apply.applied import RAW, Applied, AppliedItem, Position
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.apply.block_text import clean, has_editable_text
from ctxtui.curation.apply.moved_markers import markers_under_edits
from ctxtui.curation.apply.rewrite import ALL_BUT_TEXT, REFUSED_CHARACTERS, TOOL_REFERENCES
from ctxtui.curation.context import OPAQUE, THINKING, Context, is_call, is_result
from ctxtui.curation.legality import violation
from ctxtui.curation.legality.legality import check
from ctxtui.curation.legality.tools import tool_references
from ctxtui.curation.legality.violation import PlacedViolation
from ctxtui.curation.provider_rules import MAX_MARKERS, ProviderRules
from ctxtui.tokens.models import UNKNOWN_LIMITS, RequestLimits
from ctxtui.wire.cache_markers import with_markers
from ctxtui.wire.google_parts import is_declaration
from ctxtui.wire.grammar import GOOGLE, MESSAGE_PARTS, RESPONSES
from ctxtui.wire.registry import DIALECTS, encode
from ctxtui.wire.request import Request

_PATH: Final = re.compile(
    r"^\$\.(messages|input|contents|tools|system)(?:\[(\d+)\](?:\.(?:content|parts)(?:\[(\d+)\])?)?)?"
)
"""The JSON path of a violation: the section, the index of the message or item, the index of the part."""
_CALL: Final = re.compile(r"^\$\.messages\[\d+\]\.tool_calls\[(\d+)\]")
_DECLARATION: Final = re.compile(r"^\$\.tools\[\d+\]\.functionDeclarations\[(\d+)\]")
_NO_MESSAGES: Final = ("at least one message", "at least one item", "at least one content")
_PARAMS: Final = ("tool_choice", "thinking")
"""Parameters that rules about blocks depend on."""

_EMPTY: Final = {
    "messages": b'{"model":"m","max_tokens":1,"messages":[]}',
    "contents": b'{"contents":[]}',
    "input": b'{"model":"m","input":[]}',
}
_BODY_KEYS: Final = {RESPONSES: "input", GOOGLE: "contents"}
"""``messages`` in all other dialects."""


def find_faults(applied: Applied, *, limits: RequestLimits = UNKNOWN_LIMITS) -> list[PlacedViolation]:
    """Find what the provider would refuse in the context under its edits (see `check`).

    The blocks are encoded in a new body, with the parameters in `_PARAMS`. Blocks that were not recorded or could not
    be read are left out; a body without messages is no fault here.
    """
    dialect = applied.context.dialect
    placed_items = zip(applied.positions, applied.items, strict=True)
    marked = [
        (edge, applied_item)
        for edge, applied_item in placed_items
        if applied_item.item.block.kind not in (NOT_RECORDED, UNREADABLE)
    ]
    remaining_items = [applied_item for _, applied_item in marked]
    body = _EMPTY[_BODY_KEYS.get(dialect, "messages")]
    plain = (
        DIALECTS[dialect].decode_request(body, None).with_items([applied_item.item for applied_item in remaining_items])
    )
    value = canonical.loads(encode(_with_markers(plain, applied, [edge for edge, _ in marked])))
    if isinstance(value, dict):
        value |= {
            key: value_of_param for key in _PARAMS if (value_of_param := applied.context.params.get(key)) is not None
        }
    violations = [v for v in check(dialect, value, limits=limits) if not v.message.startswith(_NO_MESSAGES)]
    places = _positions_by_section(applied, remaining_items)
    return [PlacedViolation(v, _position_of_path(v.path, places, applied.context)) for v in violations]


def _with_markers(plain: Request, applied: Applied, positions: Sequence[Position]) -> Request:
    had = {(position, RAW): ttl for position, ttl in applied.context.markers.items()}
    markers = markers_under_edits(applied, had)
    marks: dict[int, str | None] = {}
    for index, edge in enumerate(positions):
        edit = applied.marks.get(edge[0]) if edge[1] == RAW else None
        if edit is not None and edit.params.get("on") is not False:
            marks[index] = str(edit.params.get("ttl") or "")
        elif edge in markers:
            marks[index] = markers[edge]
    return with_markers(plain, marks) if marks else plain


def _positions_by_section(applied: Applied, remaining_items: Sequence[AppliedItem]) -> dict[str, list[list[int]]]:
    """The positions of every element of each section, header first; -1 for a new block."""
    groups_of: dict[str, list[list[int]]] = {"tools": [], "system": [], "messages": []}
    are_separate_items = applied.context.dialect == RESPONSES
    for applied_item in remaining_items:
        position = applied.context.position(applied_item.node) if applied_item.node >= 0 else -1
        section, kind = applied_item.item.place.section, applied_item.item.block.kind
        groups = groups_of[section]
        starts = section != "messages" or kind == HEADER or (are_separate_items and kind not in MESSAGE_PARTS)
        if starts or not groups:
            groups.append([])
        groups[-1].append(position)
    return groups_of


def _position_of_path(path: str, places: dict[str, list[list[int]]], context: Context) -> int:
    match = _PATH.match(path)
    if match is None or match[2] is None:
        return -1
    groups = places[match[1] if match[1] in places else "messages"]
    index = int(match[2])
    if declared := _DECLARATION.match(path):
        # All declarations were encoded in one object; Google's own tools are separate ones.
        groups = [group for group in groups if is_declaration(context.items[group[0]].block.value())]
        index = int(declared[1])
    if index >= len(groups):
        return -1
    group, part = groups[index], match[3]
    if call := _CALL.match(path):
        calls = [p for p in group if p >= 0 and is_call(context.items[p].block.kind)]
        return calls[int(call[1])] if int(call[1]) < len(calls) else group[0]
    if part is not None and int(part) + 1 < len(group):
        return group[int(part) + 1]
    if part is None and path.endswith(".content") and len(group) > 1:
        return group[1]
    return group[0]


GO_ON: Final = "Please continue."
"""User text added if the request must end with one."""
MAX_ROUNDS: Final = 12
"""Maximum rounds of repairing and checking the result."""

_PART: Final = re.compile(r"\.(?:content|output)\[(\d+)\]$")


class Repair(NamedTuple):
    """The `edits` that repair a context.

    `faults` are the violations before the edits, found here or reported by the provider; `left` those that remain.
    """

    edits: tuple[Edit, ...]
    faults: tuple[PlacedViolation, ...]
    left: tuple[PlacedViolation, ...]


def repair(
    context: Context,
    rules: ProviderRules,
    log: Sequence[Edit] = (),
    *,
    limits: RequestLimits = UNKNOWN_LIMITS,
    reported: Sequence[PlacedViolation] = (),
) -> Repair:
    """Repair what the provider would refuse in `context` under `log`, and `reported` faults."""
    edits: list[Edit] = []
    first: list[PlacedViolation] = list(reported)
    faults = find_faults(apply(context, log, rules), limits=limits)
    for fault in reported:
        # If a fault found here breaks the same rule, the provider's error is about that fault.
        if any(f.violation.rule == fault.violation.rule for f in faults):
            continue
        edits += [
            edit for edit in _repair_fault(apply(context, log, rules), fault) if edit.id not in {e.id for e in edits}
        ]
    for number in range(MAX_ROUNDS):
        applied = apply(context, [*log, *edits], rules)
        remaining = find_faults(applied, limits=limits)
        first += remaining if number == 0 else []
        edit_ids = {edit.id for edit in edits}
        repairs = [edit for fault in remaining for edit in _repair_fault(applied, fault)]
        more = {edit.id: edit for edit in _without_conflicts(repairs) if edit.id not in edit_ids}
        if not more:
            return Repair(tuple(edits), tuple(first), tuple(remaining))
        edits += more.values()
    return Repair(tuple(edits), tuple(first), tuple(find_faults(apply(context, [*log, *edits], rules), limits=limits)))


def _without_conflicts(repairs: Sequence[Edit]) -> Iterator[Edit]:
    removed_targets = {target for edit in repairs if edit.kind == DROP for target in edit.targets}
    for edit in repairs:
        if edit.kind not in (REPLACE, STRIP) or not removed_targets.intersection(edit.targets):
            yield edit


def _repair_fault(applied: Applied, violation: PlacedViolation) -> Iterable[Edit]:
    make_repairs = _REPAIRS.get(violation.violation.rule)
    return make_repairs(applied, violation) if make_repairs is not None else ()


def _make_edit(context: Context, kind: str, positions: Sequence[int], **params: object) -> Edit:
    return make(kind, context.targets(positions), params, author=REPAIR)


def _repair_pairs(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    """Remove calls and answers without counterpart.

    If there are none, text between a call and its answer is moved after the answer, and the call or answer at the
    violation is removed.
    """
    context, position = applied.context, violation.position
    lone = [p for p in range(len(context)) if _is_half(context, p) and p not in context.partners]
    lone = [p for p in lone if p not in applied.changes]
    for p in lone:
        yield _make_edit(context, DROP, [p])
    if lone:
        return
    for call, answers in context.partners.items():
        if answers and answers[0] > call and call not in applied.changes:
            yield from _move_texts_between(context, applied, call, answers[0])
    if position < 0 or position in applied.changes:
        return
    # A provider's own call may stay open after a pause: remove it only if the fault names it.
    if _is_half(context, position) or context.items[position].block.kind == "server_tool_use":
        yield _make_edit(context, DROP, [position])


def _is_half(context: Context, position: int) -> bool:
    item = context.items[position]
    if item.block.kind == HEADER:
        return item.place.role in ("tool", "function")
    if item.place.section != "messages" or item.block.kind.startswith("server_"):
        return False
    message_here = context.message_at(position)
    is_tool_message = (
        message_here is not None
        and context.items[message_here.start].place.role in ("tool", "function")
        and message_here.has_header
    )
    return (is_call(item.block.kind) or is_result(item.block.kind)) and not is_tool_message


def _move_texts_between(context: Context, applied: Applied, call: int, answer: int) -> Iterator[Edit]:
    first, last = context.message_of[call], context.message_of[answer]
    for message in context.messages[first + 1 : last]:
        texts = [p for p in range(message.start, message.stop) if context.items[p].block.kind != HEADER]
        if message.role in ASSISTANT or any(_is_half(context, p) for p in (message.start, *texts)):
            continue
        yield from _move_texts_after(context, applied, texts, answer)


def _move_texts_after(context: Context, applied: Applied, texts: Sequence[int], after: int) -> Iterator[Edit]:
    texts = [p for p in texts if p not in applied.changes]
    note = "\n".join(context.reading(p).text for p in texts).strip()
    if texts:
        yield _make_edit(context, DROP, texts)
    if note:
        yield _make_edit(context, NOTE, [after], text=clean(note), where="after")


def _repair_result_order(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    """Move user text before results, in the same message or an earlier one, after them."""
    context, position = applied.context, violation.position
    index = context.message_of[position]
    if index < 0:
        return
    start = index
    while start and context.messages[start - 1].role == context.messages[index].role:
        start -= 1
    parts = range(context.messages[start].start, context.messages[index].stop)
    last = max((p for p in parts if is_result(context.items[p].block.kind)), default=position)
    earlier_parts = [p for p in parts if p < last and context.items[p].block.kind != HEADER]
    yield from _move_texts_after(
        context, applied, [p for p in earlier_parts if not is_result(context.items[p].block.kind)], last
    )


def _repair_first_message(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    context = applied.context
    if context.messages:
        opening = "(The conversation continues from here.)"
        yield _make_edit(context, NOTE, [context.messages[0].start], text=opening, where="before")


def _repair_last_message(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    yield _make_edit(applied.context, NOTE, [len(applied.context) - 1], text=GO_ON, where="after")


def _drop_block(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    if violation.position >= 0:
        yield _make_edit(applied.context, DROP, [violation.position])


def _strip_thinking_block(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    if violation.position >= 0:
        yield _make_edit(applied.context, STRIP, [violation.position])


def _repair_markers(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    """Remove the invalid breakpoint; of too many, keep the first and the last ones."""
    context, position = applied.context, violation.position
    markers = [p for p in sorted(context.markers) if p not in applied.marks]
    wrong = [position] if position in context.markers else markers[1 : len(markers) - (MAX_MARKERS - 1)]
    for p in wrong:
        yield _make_edit(context, BREAKPOINT, [p], on=False)


def _repair_text(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    context, position = applied.context, violation.position
    if position < 0:
        return
    block = context.items[position].block
    if has_editable_text(block):
        yield _make_edit(context, REPLACE, [position], text=clean(context.reading(position).text))
    else:
        yield _make_edit(context, DROP, [position])


def _repair_characters(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    context, position = applied.context, violation.position
    if position < 0:
        return
    if context.items[position].block.kind in OPAQUE - THINKING:
        yield _make_edit(context, DROP, [position])
    else:
        yield _make_edit(context, STRIP, [position], what=REFUSED_CHARACTERS)


def _repair_images(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    context, position = applied.context, violation.position
    remaining_images = [p for p in context.images if p not in applied.changes]
    part_in_path = _PART.search(violation.violation.path)
    if position >= 0 and part_in_path is not None and is_result(context.items[position].block.kind):
        yield _make_edit(context, STRIP, [position], what="images", parts=[int(part_in_path[1])])
    elif position >= 0 and position not in context.images and part_in_path is not None:
        yield _make_edit(context, DROP, [position])
    else:
        for p in (
            [position] if position in remaining_images else remaining_images[: max(1, len(remaining_images) // 10)]
        ):
            yield _make_edit(context, STRIP, [p], what="images")


def _repair_documents(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    context, position = applied.context, violation.position
    blocks = [item.block for item in context.items]
    part_in_path = _PART.search(violation.violation.path)
    if position >= 0 and part_in_path is not None and is_result(blocks[position].kind):
        yield _make_edit(context, STRIP, [position], what="documents", parts=[int(part_in_path[1])])
        return
    positions = [position] if position >= 0 else [p for p in range(len(blocks)) if p not in applied.changes]
    for p in positions:
        if blocks[p].kind == "document":
            yield _make_edit(context, DROP, [p])
            return
        if is_result(blocks[p].kind) and (parts := _documents_in(blocks[p])):
            yield _make_edit(context, STRIP, [p], what="documents", parts=parts[:1])
            return


def _documents_in(block: Block) -> list[Json]:
    value = block.value()
    parts = value.get("content") if isinstance(value, dict) else None
    return [n for n, part in enumerate(as_list(parts)) if isinstance(part, dict) and part.get("type") == "document"]


def _repair_references(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    context, positions_of = applied.context, dict[str, list[int]]()
    for p, item in enumerate(context.items):
        if b"tool_reference" in item.block.body:
            for _, name in tool_references(item.block.value()):
                positions_of.setdefault(name, []).append(p)
    for name, positions in positions_of.items():
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", violation.violation.message):
            yield _make_edit(context, STRIP, positions, what=TOOL_REFERENCES, name=name)


def _repair_error_result(applied: Applied, violation: PlacedViolation) -> Iterator[Edit]:
    if violation.position >= 0:
        yield _make_edit(applied.context, STRIP, [violation.position], what=ALL_BUT_TEXT)


def strip_thinking(context: Context, start: int = 0) -> list[Edit]:
    """Edits that remove all thinking from the position `start` on, whose signatures are invalid."""
    return [make(STRIP, [context.target(p)], {}, author=REPAIR) for p in context.thinking if p >= start]


_REPAIRS: Final[dict[str, Callable[[Applied, PlacedViolation], Iterator[Edit]]]] = {
    violation.PAIR: _repair_pairs,
    violation.RESULTS_FIRST: _repair_result_order,
    violation.FIRST: _repair_first_message,
    violation.LAST: _repair_last_message,
    violation.EMPTY: _drop_block,
    violation.THINKING: _strip_thinking_block,
    violation.SYSTEM: _drop_block,
    violation.MARKERS: _repair_markers,
    violation.TOOL: _drop_block,
    violation.TEXT: _repair_text,
    violation.CHARACTERS: _repair_characters,
    violation.IMAGES: _repair_images,
    violation.DOCUMENTS: _repair_documents,
    violation.ERROR: _repair_error_result,
    violation.REASONING: _drop_block,
    violation.ENCRYPTED: _drop_block,
    violation.REFERENCE: _repair_references,
    # A new user text at the end begins a turn that has no answer yet.
    violation.THINKING_FIRST: _repair_last_message,
    violation.TWICE: _drop_block,
}
