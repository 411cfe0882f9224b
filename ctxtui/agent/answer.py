"""An answer as it goes into the context: whole, or the part of one that broke off, made legal to send back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import arguments_value, read
from ctxtui.core.canonical import Json
from ctxtui.wire.translate.turns import CALL, TEXT, THINKING, TurnPart, part_of


class AnswerCall(NamedTuple):
    """A call that an answer asks for. `input` is its decoded JSON, or the text where it is no JSON."""

    id: str
    name: str
    input: Json


class Settled(NamedTuple):
    """What of an answer goes into the context: its `items` (none where nothing of it can stand), and its calls."""

    items: tuple[Item, ...]
    calls: tuple[AnswerCall, ...]


def settle(items: Sequence[Item], used: set[str], *, cut: bool, names: bool = True) -> Settled:
    """The answer `items` as it can be sent back (facts §1, §4).

    Left out are empty texts, thinking that the provider has not sealed, thinking with nothing after it, and calls whose
    input is not whole; with `cut` the answer broke off, so its last part may be any of these. A call without id, or
    with one of `used`, gets one of its own; the ids of the answer are added to `used`. Without `names` (Ollama, whose
    calls have none) the ids are told and not written.
    """
    kept: list[tuple[Item, TurnPart | None]] = []
    for item in items:
        part = None if item.block.kind == HEADER else part_of(item.block)
        if part is None or _stands(part, cut):
            kept.append((item, part))
    _trim(kept)
    calls: list[AnswerCall] = []
    made: list[Item] = []
    for item, part in kept:
        if part is not None and part.what == CALL:
            told = read(item.block).call_id
            id_ = _own_id(told, used)
            if id_ != told and names:
                item = _with_id(item, id_)
            calls.append(
                AnswerCall(id_, part.reading.name, arguments_value(part.reading) if part.reading.arguments else {})
            )
        made.append(_ended(item) if cut and part is None else item)
    return Settled(tuple(made), tuple(calls))


def _stands(part: TurnPart, cut: bool) -> bool:
    if part.what == TEXT:
        return bool(part.reading.text.strip())
    if part.what == THINKING:
        # Anthropic seals thinking with a signature, which comes last; visible reasoning of other servers has none.
        value = part.value if isinstance(part.value, dict) else {}
        return bool(value.get("signature") or value.get("data")) or "signature" not in value
    if part.what == CALL:
        whole = isinstance(arguments_value(part.reading), dict) if part.reading.arguments else not cut
        return bool(part.reading.name) and (whole or (not cut and part.kind != "tool_use"))
    return True


def _trim(kept: list[tuple[Item, TurnPart | None]]) -> None:
    """Take off what nothing follows: thinking at the end, headers without content."""
    while kept and ((part := kept[-1][1]) is None or part.what == THINKING):
        kept.pop()
    for at in range(len(kept) - 2, -1, -1):
        if kept[at][1] is None and kept[at + 1][1] is None:
            del kept[at]


def _own_id(id_: str, used: set[str]) -> str:
    number = len(used)
    while not id_ or id_ in used:
        number += 1
        id_ = f"call_{number}"
    used.add(id_)
    return id_


def _with_id(item: Item, id_: str) -> Item:
    value = item.block.value()
    key = (
        "call_id"
        if "call_id" in value or (item.block.kind.endswith("_call") and item.block.kind != "tool_call")
        else "id"
    )
    return Item(blocks.make(item.block.kind, {**value, key: id_}), item.place)


def _ended(header: Item) -> Item:
    """The header of a message that broke off, which must not say that it is still being written."""
    value = header.block.value()
    if not isinstance(value, dict) or value.get("status") != "in_progress":
        return header
    return Item(blocks.make(HEADER, {**value, "status": "incomplete"}), header.place)
