"""The frame of a body: its members verbatim, with a slot for each section of context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.wire.codec.spans import Member, close, malformed, members, read, skip
from ctxtui.wire.codec.style import Style
from ctxtui.wire.parts import json_type_name

BOM: Final = "\ufeff"


class MemberText(Struct, frozen=True):
    """One member as it is written.

    `before`: the text since the member before; `key`: with quotes; `colon`: the text around the colon; `raw`: its
    value's text (None for a section).
    """

    before: str
    key: str
    colon: str
    raw: str | None

    @property
    def name(self) -> str:
        return str(canonical.loads(self.key))


class Frame(Struct, frozen=True):
    """Every member of a body, and the text after the last one (the whole text without any)."""

    entries: tuple[MemberText, ...]
    after: str

    def index(self, key: str) -> int | None:
        """Index of the slot of section `key`.

        None if the body has none (it may have `key` as a plain member).
        """
        return next((n for n, e in enumerate(self.entries) if e.raw is None and e.name == key), None)

    def params(self) -> dict[str, Json]:
        """Decode the members that are not sections; the last of duplicate keys wins."""
        return {entry.name: canonical.loads(entry.raw) for entry in self.entries if entry.raw is not None}

    def value(self) -> Json:
        """The body with null for each section. Raises `ValueError` if it is not JSON."""
        texts = [f"{e.before}{e.key}{e.colon}{'null' if e.raw is None else e.raw}" for e in self.entries]
        return canonical.loads("".join([*texts, self.after]).removeprefix(BOM))

    def without(self, key: str) -> Frame:
        """Remove every member named `key`, section or not."""
        index = next((n for n, entry in enumerate(self.entries) if entry.name == key), None)
        if index is None:
            return self
        entries = list(self.entries)
        removed = entries.pop(index)
        if index == 0 and entries:
            entries[0] = replace(entries[0], before=removed.before)
        # An object that lost its only member keeps its opening bracket.
        after = self.after if entries else removed.before + self.after
        return Frame(tuple(entries), after).without(key)

    def with_section(self, key: str, style: Style, index: int) -> Frame:
        """Insert a slot for the section `key` at `index` among the members."""
        quoted = style.write(key)
        first = MemberText("{" + style.gap(1), quoted, style.colon, None)
        if not self.entries:
            start = self.after.index("{") if "{" in self.after else 0
            return Frame((replace(first, before=self.after[:start] + first.before),), style.gap(0) + "}")
        entries = list(self.entries)
        added = replace(first, before=style.comma + style.gap(1))
        if index == 0:
            added, entries[0] = replace(added, before=entries[0].before), replace(entries[0], before=added.before)
        return Frame((*entries[:index], added, *entries[index:]), self.after)

    def to_json(self) -> list[Json]:
        """``[[before, key, colon, raw or null], ..., after]``."""
        return [*([e.before, e.key, e.colon, e.raw] for e in self.entries), self.after]

    @staticmethod
    def from_json(value: Json) -> Frame:
        """Raises `ValueError` or `TypeError` for anything but the output of `to_json`."""
        *entries, after = value
        if not isinstance(after, str):
            raise ValueError("a frame must end in a text")
        return Frame(tuple(_parse_entry(*entry) for entry in entries), after)


def _parse_entry(before: Json, key: Json, colon: Json, raw: Json) -> MemberText:
    if not (isinstance(before, str) and isinstance(key, str) and isinstance(colon, str)):
        raise ValueError("a member of a frame must be of texts")
    if raw is not None and not isinstance(raw, str):
        raise ValueError("a member of a frame must have its value's text or null")
    return MemberText(before, key, colon, raw)


def walk(text: str, sections: frozenset[str]) -> tuple[list[Member], int]:
    """The members of the body `text`, with the items of `sections`, and where its object starts.

    Raises `Malformed` if the text is not one JSON object.
    """
    start = skip(text, 1 if text[:1] == BOM else 0)
    if text[start : start + 1] != "{":
        raise _not_an_object(text, start)
    body_members = list(members(text, start, sections))
    end = close(text, body_members[-1].end if body_members else start + 1)
    rest = skip(text, end)
    if rest != len(text):
        raise malformed("there is text after the body", text, rest)
    return body_members, start


def _not_an_object(text: str, start: int) -> Malformed:
    if start == len(text):
        return Malformed("the body is empty", place="$")
    kind = json_type_name(read(text, start).value)
    return Malformed(f"the body is {kind}, not an object", place="$", way_out="give one request body")


def build_frame(text: str, body_members: Sequence[Member], slots: frozenset[int]) -> Frame:
    """The frame of `text`, with sections at the member indexes in `slots`."""
    entries, at = [], 0
    for n, member in enumerate(body_members):
        raw = None if n in slots else text[member.start : member.end]
        key, colon = text[member.key_start : member.key_end], text[member.key_end : member.start]
        entries.append(MemberText(text[at : member.key_start], key, colon, raw))
        at = member.end
    return Frame(tuple(entries), text[at:])
