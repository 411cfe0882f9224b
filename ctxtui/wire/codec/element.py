"""Spelling of one element of a request: a message, a tool, a text of the system prompt.

The skeleton records nothing about an element that the body's style reproduces, if its blocks' kinds tell its size. Any
other element has an *oddity*, a JSON object with

- ``size``: the number of its blocks,
- ``style``: the number of the style that reproduces it,
- ``pieces``: its text if no style does, as a list of literal strings and slots. A slot ``[block, style, depth]`` is
  that block (0-based inside the element) in a style at an indent, ``[block, style, depth, key]`` one string of it,
  ``[block, text]`` a block's text verbatim,
- ``spell``: after an edit, the slots of the blocks that keep a spelling other than the body's style, by block.

The pieces of an oddity are not those that `to_pieces` makes, which are blocks as (kind, JSON value).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.wire.codec.spans import members
from ctxtui.wire.codec.style import Style, detect
from ctxtui.wire.grammar import Section
from ctxtui.wire.parts import Piece, Position, WirePart, restore_markers

MAX_STYLES: Final = 8
"""Styles that one skeleton may name; what none of them reproduces is kept verbatim."""

Oddity = dict[str, Json]
Slot = list[Json]


def to_pieces(parts: Sequence[WirePart]) -> list[Piece]:
    """The pieces of an element, with cache breakpoints restored."""
    return [(p.item.block.kind, restore_markers(p.value, p.marks)) for p in parts]


def find_oddity(section: Section, parts: Sequence[WirePart], raw: str, styles: list[Style]) -> Oddity | None:
    """The oddity with which `write` reproduces `raw`; None if the first of `styles` does.

    A style that is needed and not yet in `styles` is added to them, up to `MAX_STYLES`.
    """
    value, depth = section.join(to_pieces(parts)), section.depth
    if reproduces(styles[0], value, depth, raw):
        return None
    for style in (*styles[1:], detect(raw, 0, depth)):
        if reproduces(style, value, depth, raw):
            number = _style_number(style, styles)
            if number is not None:
                return {"size": len(parts), "style": number}
    return {"size": len(parts), "pieces": list(_split_pieces(section, parts, raw, styles))}


def reproduces(style: Style, value: Json, depth: int, raw: str) -> bool:
    try:
        return style.write(value, depth) == raw
    except RecursionError:
        return False


def _style_number(style: Style, styles: list[Style]) -> int | None:
    if style in styles:
        return styles.index(style)
    if len(styles) >= MAX_STYLES:
        return None
    styles.append(style)
    return len(styles) - 1


def _split_pieces(section: Section, parts: Sequence[WirePart], raw: str, styles: list[Style]) -> Iterator[str | Slot]:
    places = _find_positions(raw, [part.position for part in parts if part.position is not None])
    ranges = sorted(
        (*places[p.position], n) for n, p in enumerate(parts) if p.position is not None and p.position in places
    )
    end_of_last = 0
    for start, end, n in ranges:
        yield raw[end_of_last:start]
        yield _make_slot(n, parts[n], raw[start:end], styles, section.depth)
        end_of_last = end
    yield raw[end_of_last:]


def _find_positions(raw: str, positions: Sequence[Position]) -> dict[Position, tuple[int, int]]:
    """Map each position to its character range in `raw`.

    The last of duplicate keys counts, as in the decoded value.
    """
    ranges: dict[Position, tuple[int, int]] = {(): (0, len(raw))}
    if raw[:1] == "{" and any(positions):
        entered_keys = frozenset(str(position[0]) for position in positions if len(position) == 2)
        for member in members(raw, 0, entered_keys):
            ranges[(member.key,)] = (member.start, member.end)
            for n, item in enumerate(member.items or ()):
                ranges[member.key, n] = (item.start, item.end)
    return ranges


def _make_slot(n: int, part: WirePart, raw: str, styles: list[Style], depth: int) -> Slot:
    value = restore_markers(part.value, part.marks)
    depth += len(part.position or ())
    string_key = _string_key(value) if raw[:1] == '"' else []
    value = value[string_key[0]] if string_key else value
    for style in (*styles, detect(raw, 0, depth)):
        if reproduces(style, value, depth, raw):
            number = _style_number(style, styles)
            if number is not None:
                return [n, number, depth, *string_key]
    return [n, raw]


def _string_key(value: Json) -> list[str]:
    """A list with the key of the first string in a block besides its type; empty if none.

    For a plain string, it has the key of its text.
    """
    if not isinstance(value, dict):
        return []
    return [key for key in value if key != "type" and isinstance(value[key], str)][:1]


def write(section: Section, pieces: Sequence[Piece], odd: Oddity | None, styles: Sequence[Style]) -> str:
    """Write the element made of `pieces` as its oddity `odd` says.

    Without an oddity it is written in the first of `styles`, which is the body's.
    """
    if odd and "pieces" in odd:
        return "".join(p if isinstance(p, str) else write_slot(p, pieces, styles) for p in odd["pieces"])
    style = styles[odd.get("style", 0) if odd else 0]
    if odd and odd.get("spell"):
        return _write_spelled(section, pieces, odd["spell"], styles)
    return style.write(section.join(pieces), section.depth)


def write_slot(slot: Slot, pieces: Sequence[Piece], styles: Sequence[Style]) -> str:
    if isinstance(slot[1], str):
        return slot[1]
    n, style, depth, *inside = slot
    value = pieces[n][1]
    return styles[style].write(value[inside[0]] if inside else value, depth)


def _write_spelled(section: Section, pieces: Sequence[Piece], spell: Json, styles: Sequence[Style]) -> str:
    """Write the element in the body's style, but the blocks in `spell` as their slots say.

    Placeholders are written for these blocks and then replaced. If the result decodes to another value (the section's
    join may look into blocks), everything is written in the body's style.
    """
    style, whole = styles[0], section.join(pieces)
    placeholders = list(pieces)
    texts = {int(n): write_slot(slot, pieces, styles) for n, slot in spell.items()}
    plain = "".join([style.write(whole, section.depth), *texts.values()])
    token = "slot "
    while token in plain:
        token = f"<{token}>"
    for n, text in texts.items():
        kind, value = pieces[n]
        inside = _string_key(value) if text[:1] == '"' else []
        placeholders[n] = (kind, {**value, inside[0]: f"{token}{n}."} if inside else f"{token}{n}.")
    joined = style.write(section.join(placeholders), section.depth)
    for n, text in texts.items():
        joined = joined.replace(style.write(f"{token}{n}."), text)
    return joined if canonical.loads(joined) == whole else style.write(whole, section.depth)
