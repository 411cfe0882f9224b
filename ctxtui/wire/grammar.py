"""What a codec needs to know of a dialect: which members of a body are context, and how their elements are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from ctxtui.core.block import HEADER, Place
from ctxtui.core.canonical import Json
from ctxtui.wire.parts import Piece, WirePart, content_part, part, shape, unreadable, words

TOOLS = Place("tools")
SYSTEM = Place("system")


class Splitter(Protocol):
    """Takes one element apart; `path` is its JSON path."""

    def __call__(self, value: Json, path: str) -> list[WirePart]:
        """The element's parts in prompt order."""


class Section(Struct, frozen=True):
    """One member of a body that holds context: `name` is its place, `key` its JSON key.

    `split` and `join` are inverse for elements of the usual shapes. `string` reads the section written as one string
    (None where the dialect has no such form), `is_string` says whether pieces may be written so again. `bare` tells
    which kinds are elements of their own, outside messages.
    """

    name: str
    key: str
    split: Splitter
    join: Callable[[Sequence[Piece]], Json]
    string: Callable[[str], list[WirePart]] | None = None
    is_string: Callable[[Sequence[Piece]], bool] | None = None
    bare: Callable[[str], bool] = lambda kind: True
    required: bool = False


class Grammar(Struct, frozen=True):
    """A dialect's sections, in prompt order."""

    dialect: str
    sections: tuple[Section, ...]

    @property
    def keys(self) -> frozenset[str]:
        """The JSON keys of all sections."""
        return frozenset(section.key for section in self.sections)


def split_tool(value: Json, path: str) -> list[WirePart]:
    """A tool definition: one block, the provider's JSON verbatim."""
    if not isinstance(value, dict):
        return [unreadable(path, f"a tool is {shape(value)}, not an object", TOOLS, ())]
    return [part("tool", value, TOOLS, ())]


def split_system(value: Json, path: str) -> list[WirePart]:
    """One text of a system prompt that is a list."""
    return [content_part(value, path, SYSTEM, ())]


def system_string(text: str) -> list[WirePart]:
    """A system prompt that is one string."""
    return [words(text, SYSTEM, ())] if text else []


def one(pieces: Sequence[Piece]) -> Json:
    """An element that is one block."""
    return pieces[0][1]


def in_messages(kind: str) -> bool:
    """For dialects whose messages hold everything: only a header begins an element."""
    return kind == HEADER
