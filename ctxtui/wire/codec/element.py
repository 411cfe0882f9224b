"""Spelling of one element of a request: in the body's style, in another style, or piece by piece.

An element that the body's style reproduces needs no record. Any other has an *oddity*, a JSON object with

- ``size``: the number of its blocks,
- ``style``: the number of the style that reproduces it, or
- ``pieces``: its text, literal strings around slots; a slot ``[block, style, depth]`` is that block (0-based inside
  the element) in a style at an indent, ``[block, style, depth, key]`` one string of it, ``[block, text]`` verbatim,
- ``spell``: after an edit, the slots of those blocks that keep a spelling of their own, by block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.wire.codec.spans import members
from ctxtui.wire.codec.style import Style, detect
from ctxtui.wire.grammar import Section
from ctxtui.wire.parts import Piece, Spot, WirePart, marked

DEPTH: Final = 2
"""Indent steps of an element: a body's members are one step in, the elements of their lists two."""

MOST_STYLES: Final = 8
"""Styles that one skeleton names; elements that none of them reproduces are kept verbatim."""

Odd = dict[str, Json]
Slot = list[Json]


def pieces_of(parts: Sequence[WirePart]) -> list[Piece]:
    """Convert parts to the pieces that elements are joined from, with cache breakpoints restored."""
    return [(p.item.block.kind, marked(p.value, p.marks)) for p in parts]


def oddity(section: Section, parts: Sequence[WirePart], raw: str, styles: list[Style]) -> Odd | None:
    """Record what `write` needs to reproduce `raw`; None if the first of `styles` reproduces it.

    New styles found on the way are added to `styles`.
    """
    value = section.join(pieces_of(parts))
    if spells(styles[0], value, DEPTH, raw):
        return None
    for style in (*styles[1:], detect(raw, 0, DEPTH)):
        if spells(style, value, DEPTH, raw):
            number = _number(style, styles)
            if number is not None:
                return {"size": len(parts), "style": number}
    return {"size": len(parts), "pieces": list(_pieces(parts, raw, styles))}


def spells(style: Style, value: Json, depth: int, raw: str) -> bool:
    """Whether `style` writes `value` as `raw`."""
    try:
        return style.write(value, depth) == raw
    except RecursionError:
        return False


def _number(style: Style, styles: list[Style]) -> int | None:
    if style in styles:
        return styles.index(style)
    if len(styles) >= MOST_STYLES:
        return None
    styles.append(style)
    return len(styles) - 1


def _pieces(parts: Sequence[WirePart], raw: str, styles: list[Style]) -> Iterator[str | Slot]:
    places = _places(raw, [part.spot for part in parts if part.spot is not None])
    found = sorted((*places[p.spot], n) for n, p in enumerate(parts) if p.spot is not None and p.spot in places)
    at = 0
    for start, end, n in found:
        yield raw[at:start]
        yield _slot(n, parts[n], raw[start:end], styles)
        at = end
    yield raw[at:]


def _places(raw: str, spots: Sequence[Spot]) -> dict[Spot, tuple[int, int]]:
    """Map each position to its character range in `raw`; the last of duplicate keys counts, as in the decoded value."""
    found: dict[Spot, tuple[int, int]] = {(): (0, len(raw))}
    if raw[:1] == "{" and any(spots):
        into = frozenset(str(spot[0]) for spot in spots if len(spot) == 2)
        for member in members(raw, 0, into):
            found[(member.key,)] = (member.start, member.end)
            for n, item in enumerate(member.items or ()):
                found[member.key, n] = (item.start, item.end)
    return found


def _slot(n: int, part: WirePart, raw: str, styles: list[Style]) -> Slot:
    value = marked(part.value, part.marks)
    depth = DEPTH + len(part.spot or ())
    inside = _inside(value) if raw[:1] == '"' else []
    value = value[inside[0]] if inside else value
    for style in (*styles, detect(raw, 0, depth)):
        if spells(style, value, depth, raw):
            number = _number(style, styles)
            if number is not None:
                return [n, number, depth, *inside]
    return [n, raw]


def _inside(value: Json) -> list[str]:
    """Key of the text in a block that was written as a plain string; empty if it has none."""
    if not isinstance(value, dict):
        return []
    return [key for key in value if key != "type" and isinstance(value[key], str)][:1]


def write(section: Section, pieces: Sequence[Piece], odd: Odd | None, styles: Sequence[Style]) -> str:
    """Write the element made of `pieces`, spelled as its oddity says."""
    if odd and "pieces" in odd:
        return "".join(p if isinstance(p, str) else slot_text(p, pieces, styles) for p in odd["pieces"])
    style = styles[odd.get("style", 0) if odd else 0]
    if odd and odd.get("spell"):
        return _with_spelled(section, pieces, odd["spell"], styles)
    return style.write(section.join(pieces), DEPTH)


def slot_text(slot: Slot, pieces: Sequence[Piece], styles: Sequence[Style]) -> str:
    """Write the text of a slot."""
    if isinstance(slot[1], str):
        return slot[1]
    n, style, depth, *inside = slot
    value = pieces[n][1]
    return styles[style].write(value[inside[0]] if inside else value, depth)


def _with_spelled(section: Section, pieces: Sequence[Piece], spell: Json, styles: Sequence[Style]) -> str:
    """Write the element in the body's style except for the blocks in `spell`, which placeholders stand in for first."""
    style = styles[0]
    held = list(pieces)
    texts = {int(n): slot_text(slot, pieces, styles) for n, slot in spell.items()}
    plain = "".join([style.write(section.join(pieces), DEPTH), *texts.values()])
    token = "slot "
    while token in plain:
        token = f"<{token}>"
    for n, text in texts.items():
        kind, value = pieces[n]
        inside = _inside(value) if text[:1] == '"' else []
        held[n] = (kind, {**value, inside[0]: f"{token}{n}."} if inside else f"{token}{n}.")
    joined = style.write(section.join(held), DEPTH)
    for n, text in texts.items():
        joined = joined.replace(style.write(f"{token}{n}."), text)
    return joined
