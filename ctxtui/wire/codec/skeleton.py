"""Skeletons: what is left of a body when its blocks are taken out, and the body built again from both (law 1).

The JSON of a skeleton (`Skeleton.parts`):

- ``frame``: the body's members, text for text, null where a section stands (`frame.Frame`);
- ``styles``: the spellings met, the dominant one first (`style.Style` as a list); absent where the body is minified;
- ``sections``: by key, what a section has beyond the usual: ``form`` (``list`` unless ``string``, ``object`` for one
  element without a list, or ``raw``), ``text`` of a string that no style gives back, ``gaps`` (texts before, between
  and after elements), ``odd`` (`element.Odd` by element number);
- ``marks``: cache markers as ``[item, inner, key, at, value]``, `item` counting over the whole request;
- ``carried``: ``[first, count]`` of items on the call's path that the body itself does not hold
  (``previous_response_id``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from ctxtui.core.block import HEADER, Item
from ctxtui.core.canonical import Json
from ctxtui.wire.codec.element import Odd, oddity, pieces_of
from ctxtui.wire.codec.element import write as write_element
from ctxtui.wire.codec.memo import Element
from ctxtui.wire.codec.style import COMPACT, Style
from ctxtui.wire.grammar import Section
from ctxtui.wire.parts import Piece, WireMarker, WirePart, marked

LIST: Final = "list"
STRING: Final = "string"
OBJECT: Final = "object"
RAW: Final = "raw"

Marked = dict[int, tuple[WireMarker, ...]]
"""Cache markers by item."""


def styles_of(parts: Json) -> list[Style]:
    """The styles of a skeleton, the dominant one first."""
    return [_style(*fields) for fields in parts.get("styles", ())] or [COMPACT]


def _style(comma: str, colon: str, indent: str, newline: str, ascii_: bool, upper: bool, swaps: Json) -> Style:
    return Style(
        comma=comma,
        colon=colon,
        indent=indent,
        newline=newline,
        ascii=ascii_,
        upper=upper,
        swaps=tuple((plain, escape) for plain, escape in swaps),
    )


def styles_json(styles: Sequence[Style]) -> list[Json]:
    """The inverse of `styles_of`."""
    return [[s.comma, s.colon, s.indent, s.newline, s.ascii, s.upper, [list(x) for x in s.swaps]] for s in styles]


def marks_of(parts: Json) -> Marked:
    """The cache markers of a skeleton, by item."""
    found: Marked = {}
    for item, *mark in parts.get("marks", ()):
        found[item] = (*found.get(item, ()), WireMarker(*mark))
    return found


def marks_json(marks: Marked) -> list[Json]:
    """The inverse of `marks_of`."""
    return [[item, *mark] for item in sorted(marks) for mark in marks[item]]


def section_json(
    section: Section, elements: Sequence[Element], gaps: Sequence[str], styles: list[Style]
) -> dict[str, Json]:
    """The skeleton of a section that is a list, with `gaps` the texts around its elements."""
    odd: dict[str, Odd] = {}
    kinds = [part.item.block.kind for element in elements for part in element.parts]
    at = 0
    for n, element in enumerate(elements):
        size = len(element.parts)
        found = None
        if element.style != styles[0]:
            found = oddity(section, element.parts, element.raw, styles)
            element.style = None if found else styles[0]
        if found is None and size_at(section, kinds, at) != size:
            found = {"size": size}
        if found:
            odd[str(n)] = found
        at += size
    made: dict[str, Json] = {}
    if list(gaps) != usual_gaps(len(elements), styles[0], section):
        made["gaps"] = list(gaps)
    if odd:
        made["odd"] = odd
    return made


def string_json(raw: str, parts: Sequence[WirePart], style: Style) -> dict[str, Json]:
    """The skeleton of a section that is one string."""
    made: dict[str, Json] = {"form": STRING}
    if style.write(_words(pieces_of(parts))) != raw:
        made["text"] = raw
    return made


def _words(pieces: Sequence[Piece]) -> Json:
    return pieces[-1][1]["text"]


def usual_gaps(count: int, style: Style, section: Section) -> list[str]:
    """The texts around `count` elements of `section` as `style` writes them."""
    inner = style.gap(section.depth)
    start, end = "[" + inner, style.gap(section.depth - 1) + "]"
    if section.inside:
        start = "{" + style.gap(section.depth - 1) + style.write(section.inside) + style.colon + start
        end += style.gap(section.depth - 2) + "}"
    return [start, *[style.comma + inner] * (count - 1), end]


def size_at(section: Section, kinds: Sequence[str], at: int) -> int:
    """How many of the blocks from `at` on make one element, as far as their kinds tell."""
    if section.merged:
        return len(kinds) - at
    end = at + 1
    if kinds[at] == HEADER:
        while end < len(kinds) and not section.bare(kinds[end]):
            end += 1
    return end - at


def group(section: Section, kinds: Sequence[str], odd: dict[str, Odd]) -> list[range]:
    """The elements that blocks of `kinds` make, as ranges of their indexes."""
    found: list[range] = []
    at = 0
    while at < len(kinds):
        size = odd.get(str(len(found)), {}).get("size") or size_at(section, kinds, at)
        found.append(range(at, min(at + size, len(kinds))))
        at = found[-1].stop
    return found


def pieces_at(items: Iterable[tuple[int, Item]], marks: Marked) -> list[Piece]:
    """What items (numbered over the whole request) are written from."""
    return [(item.block.kind, marked(item.block.value(), marks.get(n, ()))) for n, item in items]


def write_section(section: Section, items: Sequence[tuple[int, Item]], parts: Json, styles: Sequence[Style]) -> str:
    """The text of a section: its `items` (numbered over the whole request) under the skeleton `parts`."""
    own = parts.get("sections", {}).get(section.key, {})
    pieces = pieces_at(items, marks_of(parts))
    if own.get("form") == STRING:
        return str(own["text"]) if "text" in own else styles[0].write(_words(pieces))
    odd = own.get("odd", {})
    elements = group(section, [kind for kind, _ in pieces], odd)
    texts = [write_element(section, pieces[r.start : r.stop], odd.get(str(n)), styles) for n, r in enumerate(elements)]
    gaps = _gaps(own.get("gaps"), len(texts), styles[0], section)
    return "".join(part for pair in zip(gaps, [*texts, ""], strict=True) for part in pair)


def _gaps(recorded: list[str] | None, count: int, style: Style, section: Section) -> list[str]:
    if not count:
        return ["[]"]
    if not recorded:
        return usual_gaps(count, style, section)
    if len(recorded) == count + 1:
        return recorded
    # After an edit: the separator seen most often.
    between = Counter(recorded[1:-1]).most_common(1)
    usual = usual_gaps(2, style, section)[1]
    return [recorded[0], *[between[0][0] if between else usual] * (count - 1), recorded[-1]]
