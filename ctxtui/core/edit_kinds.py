"""Every kind of edit: what it does to a context, what its payload holds, how it is shown.

What one kind does that no other does is written where it is done, by the kind's name in a table: `curation.apply` has
one of those that change a block in its place and one of those that put something in.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

PIN: Final = "pin"
DROP: Final = "drop"
SUMMARIZE: Final = "summarize"
TRUNCATE: Final = "truncate"
REPLACE: Final = "replace"
HOIST: Final = "hoist"
EXTERNALIZE: Final = "externalize"
DEDUPLICATE: Final = "deduplicate"
STRIP: Final = "strip"
COMPACT_JSON: Final = "compact_json"
MINIMISE: Final = "minimise"
NOTE: Final = "note"
MOVE: Final = "move"
BREAKPOINT: Final = "breakpoint"
ANNOTATE: Final = "annotate"
"""Remembers a rating or remark; changes no context."""


class EditKind(Struct, frozen=True, kw_only=True):
    """One kind of edit.

    `payload` names the members that its payload may have (their meaning is in `docs/json.md`). `words` is its name as
    people read it ("": its name), `done` what its blocks then are ("": its name), `mark` the name of the sign of what
    it changed, `lead` the word in front of what it puts in. It may do several things: `rewrites` a block in its place,
    `removes` blocks, `moves` them elsewhere, `adds` something new (where it removes or moves as well, that stands for
    them), `pins` them, `marks_cache` behind them. `needs_text`: it does nothing until its payload has a text.
    """

    name: str
    payload: tuple[str, ...] = ()
    words: str = ""
    done: str = ""
    mark: str = "edit"
    lead: str = ""
    rewrites: bool = False
    removes: bool = False
    moves: bool = False
    adds: bool = False
    pins: bool = False
    marks_cache: bool = False
    needs_text: bool = False

    @property
    def takes_away(self) -> bool:
        """Whether its blocks do not stand any more where they stood."""
        return self.removes or self.moves

    @property
    def stands_for(self) -> bool:
        """Whether what it puts in is said instead of its blocks, all of which must be there then."""
        return self.removes and self.adds

    @property
    def shown(self) -> str:
        """Its name as people read it."""
        return self.words or self.name


KINDS: Final = {
    kind.name: kind
    for kind in (
        EditKind(name=PIN, done="pinned", pins=True),
        EditKind(name=DROP, done="dropped", mark="dropped", removes=True),
        EditKind(
            name=SUMMARIZE,
            done="summarized",
            payload=("text", "by"),
            mark="summary",
            lead="summary",
            removes=True,
            adds=True,
            needs_text=True,
        ),
        EditKind(name=TRUNCATE, done="truncated", payload=("head", "tail"), mark="truncated", rewrites=True),
        EditKind(name=REPLACE, done="replaced", payload=("text",), mark="replaced", rewrites=True),
        EditKind(
            name=HOIST,
            done="hoisted",
            payload=("text", "to"),
            mark="replaced",
            rewrites=True,
            adds=True,
            needs_text=True,
        ),
        EditKind(
            name=EXTERNALIZE, done="externalized", payload=("name", "line", "parts"), mark="externalized", rewrites=True
        ),
        EditKind(name=DEDUPLICATE, done="deduplicated", payload=("text",), mark="deduplicated", rewrites=True),
        EditKind(name=STRIP, done="stripped", payload=("what", "parts", "name"), mark="dropped", rewrites=True),
        EditKind(
            name=COMPACT_JSON,
            done="compacted",
            payload=("drop", "rename", "flatten"),
            words="compact JSON",
            mark="truncated",
            rewrites=True,
        ),
        EditKind(
            name=MINIMISE, done="minimised", payload=("description", "properties"), mark="truncated", rewrites=True
        ),
        EditKind(name=NOTE, done="given a note", payload=("text", "where"), lead="note", adds=True, needs_text=True),
        EditKind(name=MOVE, done="moved", payload=("to",), mark="replaced", moves=True, adds=True),
        EditKind(
            name=BREAKPOINT, done="given a breakpoint", payload=("on", "ttl"), mark="breakpoint", marks_cache=True
        ),
        EditKind(name=ANNOTATE, done="rated", payload=("rating", "text", "of")),
    )
}
"""Every kind of edit by its name."""


def kind_of(name: str) -> EditKind:
    """The kind called `name`; one that does nothing where there is none, as for entries that take others back."""
    return KINDS.get(name) or EditKind(name=name)
