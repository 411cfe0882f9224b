"""Validate skeletons from recordings, which may be damaged or malicious.

An oddity tells how to write an element that the body's style does not reproduce; a slot in it stands for a block. All
members are described in `codec.skeleton`, those of oddities in `codec.element`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.wire.codec.frame import Frame
from ctxtui.wire.codec.skeleton import LIST, OBJECT, RAW, STRING, read_styles
from ctxtui.wire.grammar import Grammar

_FORMS: Final = (None, LIST, STRING, OBJECT, RAW)
_MAX_DEPTH: Final = 8
"""Above the deepest slot's indent: `Section.depth` is at most 3, and a part is at most 2 deeper."""
_MAX_MEMBERS: Final = 1 << 31
"""More members than any body has."""


def check_skeleton(parts: Json, grammar: Grammar, blocks: int) -> None:
    """Check that `parts` is a valid skeleton in `grammar` for a context of `blocks` blocks.

    Raises `ValueError`, `TypeError`, `LookupError`, `AttributeError` or `RecursionError`; the reader reports any
    of them as a damaged line.
    """
    frame = Frame.from_json(parts["frame"])
    frame.params()  # raises if a member's text is not JSON
    if not all(isinstance(e.name, str) and (e.raw is not None or e.name in grammar.keys) for e in frame.entries):
        raise ValueError("a member of a frame must have a name and a value, or be a section")
    _require(isinstance(frame.value(), dict), "a frame must be an object's")
    styles = read_styles(parts)
    for style in styles:
        spelled = (
            style.comma,
            style.colon,
            style.indent,
            style.newline,
            *(text for swap in style.swaps for text in swap),
        )
        _require(all(isinstance(text, str) for text in spelled), "the separators of a style must be strings")
    # A breakpoint: the item, the block in it (-1: the item itself), its key, its position among the members, its value.
    for item, inner, key, at, _ in parts.get("marks", ()):
        in_range = (
            _is_index(item, blocks) and (inner == -1 or _is_index(inner, _MAX_MEMBERS)) and _is_index(at, _MAX_MEMBERS)
        )
        _require(in_range and isinstance(key, str), "a cache marker must be on a block of the context")
    # Items on the call's path that the body itself does not hold.
    first, count = parts.get("carried", (0, 0))
    _require(
        _is_index(first, blocks + 1) and _is_index(count, blocks - first + 1), "carried items must be in the context"
    )
    for key, section in parts.get("sections", {}).items():
        _require(key in grammar.keys and section.get("form") in _FORMS, "a section must be one of the dialect's")
        _require(isinstance(section.get("text", ""), str), "a section's text must be a string")
        gaps = section.get("gaps", ("",))
        _require(len(gaps) > 0 and all(isinstance(gap, str) for gap in gaps), "gaps must be strings")
        for number, odd in section.get("odd", {}).items():
            _require(number.isdecimal(), "an element must be numbered")
            _check_oddity(odd, len(styles))


def _check_oddity(odd: Json, styles: int) -> None:
    """`styles` is the number of styles."""
    size = odd.get("size", 1)
    _require(isinstance(size, int) and size > 0, "an element must have blocks")
    _require(_is_index(odd.get("style", 0), styles), "an element's style must be one of the body's")
    slots = [piece for piece in odd.get("pieces", ()) if not isinstance(piece, str)]
    for slot in (*slots, *odd.get("spell", {}).values()):
        if isinstance(slot[1], str):
            continue  # a block's text verbatim
        block, style, depth, *keys = slot
        _require(
            _is_index(block, size) and _is_index(style, styles) and _is_index(depth, _MAX_DEPTH),
            "a slot must name a block, a style and a depth",
        )
        _require(all(isinstance(key, str) for key in keys), "a slot's key must be a string")
    _require(all(number.isdecimal() for number in odd.get("spell", {})), "a block must be numbered")


def _is_index(value: Json, end: int) -> bool:
    return isinstance(value, int) and 0 <= value < end


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


@contextmanager
def malformed_on_mismatch() -> Iterator[None]:
    """Turn the errors of a skeleton that does not match its blocks into `Malformed`."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, StopIteration) as error:
        raise Malformed(
            "this call's recorded JSON layout does not fit its blocks",
            place="$",
            way_out="the recording is damaged here: choose another call",
        ) from error
