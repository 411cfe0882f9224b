"""Skeletons: a body without its blocks, and the body rebuilt from both.

The JSON of a skeleton (`Skeleton.parts`):

- ``frame``: the body's members verbatim, null for a section (`frame.Frame`);
- ``styles``: the spellings used, the dominant one first (`style.Style` as a list); absent if the body is minified;
- ``sections``: by key, a section's deviations from the usual: ``form`` (``list`` unless ``string``, ``object`` for one
  element without a list, or ``raw`` for a value of the wrong type, which stays in the frame), ``text`` of a string that
  the dominant style does not reproduce, ``gaps`` (texts before, between and after elements), ``odd`` (`element.Oddity`
  by element number);
- ``marks``: cache breakpoints as ``[item, inner, key, at, value]`` (`parts.WireMarker`); ``item`` numbers the items
  that the body itself holds, in all its sections;
- ``carried``: ``[first, count]`` of the items that are on the call's path but not in the body, because the provider
  keeps them (``previous_response_id``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from ctxtui.core.block import HEADER, Item
from ctxtui.core.canonical import Json
from ctxtui.wire.codec.element import Oddity, find_oddity, to_pieces
from ctxtui.wire.codec.element import write as write_element
from ctxtui.wire.codec.memo import Element
from ctxtui.wire.codec.style import COMPACT, Style
from ctxtui.wire.grammar import Section
from ctxtui.wire.parts import Piece, WireMarker, WirePart, restore_markers

LIST: Final = "list"
STRING: Final = "string"
OBJECT: Final = "object"
RAW: Final = "raw"

MarkersByItem = dict[int, tuple[WireMarker, ...]]


def read_styles(parts: Json) -> list[Style]:
    return [_make_style(*fields) for fields in parts.get("styles", ())] or [COMPACT]


def _make_style(comma: str, colon: str, indent: str, newline: str, ascii_: bool, upper: bool, swaps: Json) -> Style:
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
    return [[s.comma, s.colon, s.indent, s.newline, s.ascii, s.upper, [list(x) for x in s.swaps]] for s in styles]


def read_markers(parts: Json) -> MarkersByItem:
    markers: MarkersByItem = {}
    for item, *marker in parts.get("marks", ()):
        markers[item] = (*markers.get(item, ()), WireMarker(*marker))
    return markers


def markers_json(markers: MarkersByItem) -> list[Json]:
    return [[item, *marker] for item in sorted(markers) for marker in markers[item]]


def section_json(
    section: Section, elements: Sequence[Element], gaps: Sequence[str], styles: list[Style]
) -> dict[str, Json]:
    """The skeleton of a section that is a list; `gaps` are the texts around its elements."""
    odd: dict[str, Oddity] = {}
    kinds = [part.item.block.kind for element in elements for part in element.parts]
    first_block = 0
    for n, element in enumerate(elements):
        size = len(element.parts)
        element_odd = None
        if element.style != styles[0]:
            element_odd = find_oddity(section, element.parts, element.raw, styles)
            element.style = None if element_odd else styles[0]
        if element_odd is None and element_size(section, kinds, first_block) != size:
            element_odd = {"size": size}
        if element_odd:
            odd[str(n)] = element_odd
        first_block += size
    section_parts: dict[str, Json] = {}
    if list(gaps) != usual_gaps(len(elements), styles[0], section):
        section_parts["gaps"] = list(gaps)
    if odd:
        section_parts["odd"] = odd
    return section_parts


def string_json(raw: str, parts: Sequence[WirePart], style: Style) -> dict[str, Json]:
    section_parts: dict[str, Json] = {"form": STRING}
    if style.write(_text_value(to_pieces(parts))) != raw:
        section_parts["text"] = raw
    return section_parts


def _text_value(pieces: Sequence[Piece]) -> Json:
    return pieces[-1][1]["text"]


def usual_gaps(count: int, style: Style, section: Section) -> list[str]:
    """The texts around `count` elements of `section` as `style` writes them."""
    inner = style.gap(section.depth)
    start, end = "[" + inner, style.gap(section.depth - 1) + "]"
    if section.inside:
        start = "{" + style.gap(section.depth - 1) + style.write(section.inside) + style.colon + start
        end += style.gap(section.depth - 2) + "}"
    return [start, *[style.comma + inner] * (count - 1), end]


def element_size(section: Section, kinds: Sequence[str], at: int) -> int:
    """Number of blocks from index `at` on that form one element, judged by their kinds."""
    if section.merged:
        return len(kinds) - at
    end = at + 1
    if kinds[at] == HEADER:
        while end < len(kinds) and not section.bare(kinds[end]):
            end += 1
    return end - at


def group_elements(section: Section, kinds: Sequence[str], odd: dict[str, Oddity]) -> list[range]:
    """Group blocks into elements, as ranges of their indexes."""
    ranges: list[range] = []
    first_block = 0
    while first_block < len(kinds):
        size = odd.get(str(len(ranges)), {}).get("size") or element_size(section, kinds, first_block)
        ranges.append(range(first_block, min(first_block + size, len(kinds))))
        first_block = ranges[-1].stop
    return ranges


def pieces_at(items: Iterable[tuple[int, Item]], markers: MarkersByItem) -> list[Piece]:
    return [(item.block.kind, restore_markers(item.block.value(), markers.get(n, ()))) for n, item in items]


def write_section(section: Section, items: Sequence[tuple[int, Item]], parts: Json, styles: Sequence[Style]) -> str:
    """Write the section with `items` (numbered over the whole body) under the skeleton `parts`."""
    section_parts = parts.get("sections", {}).get(section.key, {})
    pieces = pieces_at(items, read_markers(parts))
    if section_parts.get("form") == STRING:
        return str(section_parts["text"]) if "text" in section_parts else styles[0].write(_text_value(pieces))
    odd = section_parts.get("odd", {})
    elements = group_elements(section, [kind for kind, _ in pieces], odd)
    texts = [write_element(section, pieces[r.start : r.stop], odd.get(str(n)), styles) for n, r in enumerate(elements)]
    gaps = _recorded_gaps(section_parts.get("gaps"), len(texts), styles[0], section)
    return "".join(part for pair in zip(gaps, [*texts, ""], strict=True) for part in pair)


def _recorded_gaps(recorded: list[str] | None, count: int, style: Style, section: Section) -> list[str]:
    if not count:
        return ["[]"]
    if not recorded:
        return usual_gaps(count, style, section)
    if len(recorded) == count + 1:
        return recorded
    # After an edit: the most frequent separator.
    between = Counter(recorded[1:-1]).most_common(1)
    usual = usual_gaps(2, style, section)[1]
    return [recorded[0], *[between[0][0] if between else usual] * (count - 1), recorded[-1]]
