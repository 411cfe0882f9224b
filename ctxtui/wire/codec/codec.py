"""Decode bodies into items and skeleton, and encode them again, for any dialect given its grammar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctxtui.core.block import Item, Place
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.wire.codec.check_skeleton import fitting
from ctxtui.wire.codec.element import Odd
from ctxtui.wire.codec.frame import Frame, build, walk
from ctxtui.wire.codec.memo import Element, Memo
from ctxtui.wire.codec.skeleton import (
    LIST,
    RAW,
    STRING,
    marks_json,
    section_json,
    string_json,
    styles_json,
    styles_of,
    write_section,
)
from ctxtui.wire.codec.spans import Member
from ctxtui.wire.codec.style import COMPACT, Style, detect
from ctxtui.wire.grammar import Grammar, Section
from ctxtui.wire.parts import shape, unreadable
from ctxtui.wire.request import Request


class _Found(NamedTuple):
    """A section of a body: its member's index, its elements (one for a string) and the texts around them."""

    section: Section
    member: int
    elements: list[Element]
    gaps: list[str]
    form: str


def decode(body: bytes, grammar: Grammar, memo: Memo | None = None) -> Request:
    """Decode `body` into a request. `memo` caches the elements of earlier bodies of the same conversation.

    Raises `Malformed`, with a JSON path or line and column, if `body` is not one JSON object with the dialect's
    messages. An error within one element makes that element an unreadable block.
    """
    text = body.decode("utf-8", "surrogateescape")
    return decode_walked(text, *walk(text, grammar.keys), grammar, memo)


def decode_walked(
    text: str, members: Sequence[Member], start: int, grammar: Grammar, memo: Memo | None = None
) -> Request:
    """Like `decode`, for a body whose object starts at character `start` and is already walked into `members`.

    The walk must have entered at least the grammar's keys.
    """
    memo = memo or Memo()
    try:
        found = _sections(grammar, text, members, memo)
    except RecursionError:
        raise Malformed("JSON is nested too deeply", place="$") from None
    slots = frozenset(f.member for f in found if f.form != RAW)
    best: tuple[int, list[Style], dict[str, Json]] | None = None
    seen = detect(text, start)
    for style in dict.fromkeys((seen, _plain(seen), COMPACT)):
        styles, sections, count = _spell(found, style)
        if best is None or count < best[0]:
            best = count, styles, sections
        if not count:
            break
    assert best is not None
    memo.forget()
    return _request(grammar.dialect, build(text, members, slots), found, best[1], best[2])


def _plain(style: Style) -> Style:
    return Style(comma=style.comma, colon=style.colon, indent=style.indent, newline=style.newline)


def _sections(grammar: Grammar, text: str, members: Sequence[Member], memo: Memo) -> list[_Found]:
    found: list[_Found] = []
    for section in grammar.sections:
        # Of two keys for one place (tools and functions), the second stays a parameter.
        if all(one.section.name != section.name for one in found):
            made = _section(section, text, members, memo)
            found += [made] if made else []
    return found


def _section(section: Section, text: str, members: Sequence[Member], memo: Memo) -> _Found | None:
    index = max((n for n, m in enumerate(members) if m.key == section.key), default=None)
    if index is None:
        if section.required:
            raise Malformed(f"{section.key} is missing", place="$", way_out="is this a request of another dialect?")
        return None
    member = members[index]
    path = f"$.{section.key}"
    if member.items is not None:
        return _list(section, text, member, index, memo) if member.items else None
    raw = text[member.start : member.end]
    if isinstance(member.value, str) and section.string is not None:
        parts = section.string(member.value)
        return _Found(section, index, [Element(raw, parts)], [], STRING) if parts else None
    if section.required:
        raise Malformed(f"{section.key} is {shape(member.value)}, not a list", place=path)
    if member.value is None:
        return None
    wrong = unreadable(path, f"{section.key} is {shape(member.value)}", Place(section.name), ())
    return _Found(section, index, [Element(raw, [wrong])], [], RAW)


def _list(section: Section, text: str, member: Member, index: int, memo: Memo) -> _Found:
    elements: list[Element] = []
    gaps: list[str] = []
    at = member.start
    for n, item in enumerate(member.items or ()):
        elements.append(memo.element(section, text[item.start : item.end], item.value, f"$.{section.key}[{n}]"))
        gaps.append(text[at : item.start])
        at = item.end
    return _Found(section, index, elements, [*gaps, text[at : member.end]], LIST)


def _spell(found: Sequence[_Found], style: Style) -> tuple[list[Style], dict[str, Json], int]:
    """Build the section skeletons for a dominant style; also returns all styles and the count of misspelled elements."""
    styles = [style]
    sections: dict[str, Json] = {}
    count = 0
    for one in found:
        if one.form == LIST:
            made = section_json(one.section, one.elements, one.gaps, styles)
            odd: dict[str, Odd] = made.get("odd", {})
            count += sum("style" in o or "pieces" in o for o in odd.values()) + ("gaps" in made)
        elif one.form == STRING:
            made = string_json(one.elements[0].raw, one.elements[0].parts, style)
            count += "text" in made
        else:
            made = {"form": RAW}
        if made:
            sections[one.section.key] = made
    return styles, sections, count


def _request(
    dialect: str, frame: Frame, found: Sequence[_Found], styles: Sequence[Style], sections: dict[str, Json]
) -> Request:
    parts = [part for one in found for element in one.elements for part in element.parts]
    made: dict[str, Json] = {"frame": frame.to_json()}
    if list(styles) != [COMPACT]:
        made["styles"] = styles_json(styles)
    if sections:
        made["sections"] = sections
    marks = marks_json({n: part.marks for n, part in enumerate(parts) if part.marks})
    if marks:
        made["marks"] = marks
    return Request(tuple(part.item for part in parts), Skeleton(dialect, made))


def encode(request: Request, grammar: Grammar) -> bytes:
    """Encode `request` as a body, byte for byte the decoded one if nothing changed.

    Raises `ValueError` if the skeleton belongs to another dialect, `Malformed` if it belongs to other blocks.
    """
    if request.skeleton.dialect != grammar.dialect:
        raise ValueError(f"a {request.skeleton.dialect} skeleton cannot be written as {grammar.dialect}")
    with fitting():
        return _body(request, grammar).encode("utf-8", "surrogateescape")


def _body(request: Request, grammar: Grammar) -> str:
    parts = request.skeleton.parts
    styles = styles_of(parts)
    frame = Frame.from_json(parts["frame"])
    held = own_items(request)
    texts = []
    for entry in frame.entries:
        value = entry.raw
        if value is None:
            section = next(s for s in grammar.sections if s.key == entry.name)
            value = write_section(section, [i for i in held if i[1].place.section == section.name], parts, styles)
        texts.append(f"{entry.before}{entry.key}{entry.colon}{value}")
    return "".join([*texts, frame.after])


def own_items(request: Request) -> list[tuple[int, Item]]:
    """List the items that the body itself holds, numbered within the body."""
    first, count = request.skeleton.parts.get("carried", (0, 0))
    return list(enumerate((*request.items[:first], *request.items[first + count :])))
