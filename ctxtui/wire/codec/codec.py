"""Decode bodies into items (blocks) and a skeleton (the rest), and encode them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctxtui.core.block import Item, Place
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.wire.codec.check_skeleton import malformed_on_mismatch
from ctxtui.wire.codec.element import Oddity
from ctxtui.wire.codec.frame import Frame, build_frame, walk
from ctxtui.wire.codec.memo import Element, Memo
from ctxtui.wire.codec.skeleton import (
    LIST,
    OBJECT,
    RAW,
    STRING,
    markers_json,
    read_styles,
    section_json,
    string_json,
    styles_json,
    write_section,
)
from ctxtui.wire.codec.spans import Member, Value
from ctxtui.wire.codec.spans import members as members_of
from ctxtui.wire.codec.style import COMPACT, Style, detect
from ctxtui.wire.grammar import Grammar, Section
from ctxtui.wire.parts import json_type_name, unreadable_part
from ctxtui.wire.request import Request


class _SectionText(NamedTuple):
    """A section of a body as it is written.

    `member`: its index among the body's members; `elements`: its messages, tools or texts (one if it is a string);
    `gaps`: the texts around them; `form`: as in `codec.skeleton`.
    """

    section: Section
    member: int
    elements: list[Element]
    gaps: list[str]
    form: str


def decode(body: bytes, grammar: Grammar, memo: Memo | None = None) -> Request:
    """Decode `body` into a request.

    `memo` caches the elements of earlier bodies of the same conversation. Raises `Malformed`, with a JSON path or line
    and column, if `body` is not one JSON object, or lacks the list of messages that its dialect requires. Other values
    of the wrong type become unreadable blocks.
    """
    text = body.decode("utf-8", "surrogateescape")
    return decode_walked(text, *walk(text, grammar.keys), grammar, memo)


def decode_walked(
    text: str, members: Sequence[Member], start: int, grammar: Grammar, memo: Memo | None = None
) -> Request:
    """Like `decode`, for a body whose object at character `start` is walked already.

    The walk must have entered at least the grammar's keys.
    """
    memo = memo or Memo()
    try:
        section_texts = _find_sections(grammar, text, members, memo)
    except RecursionError:
        raise Malformed("JSON is nested too deeply", place="$") from None
    slots = frozenset(f.member for f in section_texts if f.form != RAW)
    best: tuple[int, list[Style], dict[str, Json]] | None = None
    detected = detect(text, start)
    for style in dict.fromkeys((detected, _layout_only(detected), COMPACT)):
        styles, sections, count = _make_skeletons(section_texts, style)
        if best is None or count < best[0]:
            best = count, styles, sections
        if not count:
            break
    assert best is not None
    memo.end_body()
    return _make_request(grammar.dialect, build_frame(text, members, slots), section_texts, best[1], best[2])


def _layout_only(style: Style) -> Style:
    return Style(comma=style.comma, colon=style.colon, indent=style.indent, newline=style.newline)


def _find_sections(grammar: Grammar, text: str, members: Sequence[Member], memo: Memo) -> list[_SectionText]:
    sections: list[_SectionText] = []
    for section in grammar.sections:
        # Of two keys for one place (tools and functions), the second stays a parameter.
        if all(other_section.section.name != section.name for other_section in sections):
            section_text = _find_section(section, text, members, memo)
            sections += [section_text] if section_text else []
    return sections


def _find_section(section: Section, text: str, members: Sequence[Member], memo: Memo) -> _SectionText | None:
    index = max((n for n, m in enumerate(members) if m.key == section.key), default=None)
    if index is None:
        if section.required:
            raise Malformed(f"{section.key} is missing", place="$", way_out="is this a request of another dialect?")
        return None
    member = members[index]
    path = f"$.{section.key}"
    elements, form = _find_elements(section, text, member)
    if elements is not None:
        return _read_list(section, text, member, index, memo, elements, form) if elements else None
    raw = text[member.start : member.end]
    if isinstance(member.value, str) and section.string is not None:
        parts = section.string(member.value)
        return _SectionText(section, index, [Element(raw, parts)], [], STRING) if parts else None
    if section.required:
        raise Malformed(f"{section.key} is {json_type_name(member.value)}, not a list", place=path)
    if member.value is None:
        return None
    wrong = unreadable_part(path, f"{section.key} is {json_type_name(member.value)}", Place(section.name), ())
    return _SectionText(section, index, [Element(raw, [wrong])], [], RAW)


def _find_elements(section: Section, text: str, member: Member) -> tuple[Sequence[Value] | None, str]:
    """The elements of a section, and whether they are a list (`LIST`) or one object (`OBJECT`).

    None and `RAW` if it holds neither.
    """
    if member.items is not None:
        return member.items, LIST
    if not isinstance(member.value, dict):
        return None, RAW
    if section.inside:
        all_members = members_of(text, member.start, frozenset({section.inside}))
        # Of duplicate keys the last one counts.
        inner = max(
            (member for member in all_members if member.key == section.inside),
            key=lambda member: member.start,
            default=None,
        )
        if inner is None or inner.items is not None:
            return (None if inner is None else inner.items), LIST
        member = inner
    if isinstance(member.value, dict) and (section.inside or section.takes_object):
        return [Value(member.value, member.start, member.end)], OBJECT
    return None, RAW


def _read_list(
    section: Section, text: str, member: Member, index: int, memo: Memo, items: Sequence[Value], form: str
) -> _SectionText:
    elements: list[Element] = []
    gaps: list[str] = []
    end = member.start
    for n, item in enumerate(items):
        elements.append(memo.element(section, text[item.start : item.end], item.value, f"$.{section.key}[{n}]"))
        gaps.append(text[end : item.start])
        end = item.end
    return _SectionText(section, index, elements, [*gaps, text[end : member.end]], form)


def _make_skeletons(section_texts: Sequence[_SectionText], style: Style) -> tuple[list[Style], dict[str, Json], int]:
    """Build the section skeletons for a dominant style.

    Also return all styles, and how many elements, strings and gaps of lists `style` does not reproduce.
    """
    styles = [style]
    sections: dict[str, Json] = {}
    count = 0
    for section_text in section_texts:
        if section_text.form in (LIST, OBJECT):
            section_parts = section_json(section_text.section, section_text.elements, section_text.gaps, styles)
            section_parts |= {"form": OBJECT} if section_text.form == OBJECT else {}
            odd: dict[str, Oddity] = section_parts.get("odd", {})
            count += sum("style" in o or "pieces" in o for o in odd.values())
            count += "gaps" in section_parts and not section_text.section.inside
        elif section_text.form == STRING:
            section_parts = string_json(section_text.elements[0].raw, section_text.elements[0].parts, style)
            count += "text" in section_parts
        else:
            section_parts = {"form": RAW}
        if section_parts:
            sections[section_text.section.key] = section_parts
    return styles, sections, count


def _make_request(
    dialect: str,
    frame: Frame,
    section_texts: Sequence[_SectionText],
    styles: Sequence[Style],
    sections: dict[str, Json],
) -> Request:
    parts = [part for section_text in section_texts for element in section_text.elements for part in element.parts]
    parts_json: dict[str, Json] = {"frame": frame.to_json()}
    if list(styles) != [COMPACT]:
        parts_json["styles"] = styles_json(styles)
    if sections:
        parts_json["sections"] = sections
    markers = markers_json({n: part.marks for n, part in enumerate(parts) if part.marks})
    if markers:
        parts_json["marks"] = markers
    return Request(tuple(part.item for part in parts), Skeleton(dialect, parts_json))


def encode(request: Request, grammar: Grammar) -> bytes:
    """Encode `request` as a body, byte for byte the decoded one if nothing changed.

    Raises `ValueError` if the skeleton belongs to another dialect, `Malformed` if it belongs to other blocks.
    """
    if request.skeleton.dialect != grammar.dialect:
        raise ValueError(f"a {request.skeleton.dialect} skeleton cannot be written as {grammar.dialect}")
    with malformed_on_mismatch():
        return _write_body(request, grammar).encode("utf-8", "surrogateescape")


def _write_body(request: Request, grammar: Grammar) -> str:
    parts = request.skeleton.parts
    styles = read_styles(parts)
    frame = Frame.from_json(parts["frame"])
    numbered = own_items(request)
    texts = []
    for entry in frame.entries:
        value = entry.raw
        if value is None:
            section = next(s for s in grammar.sections if s.key == entry.name)
            value = write_section(section, [i for i in numbered if i[1].place.section == section.name], parts, styles)
        texts.append(f"{entry.before}{entry.key}{entry.colon}{value}")
    return "".join([*texts, frame.after])


def own_items(request: Request) -> list[tuple[int, Item]]:
    """The items in the body itself, without those that the provider keeps, numbered from 0."""
    first, count = request.skeleton.parts.get("carried", (0, 0))
    return list(enumerate((*request.items[:first], *request.items[first + count :])))
