"""What the prompt's line answers to a key that edits: what was done and what it gained, what was undone, or why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core.edit import APPLY, REVERT, USER, Edit, Target
from ctxtui.core.edit_kinds import ANNOTATE, BREAKPOINT, HOIST, KINDS, MOVE, NOTE, PIN, REPLACE, SUMMARIZE, kind_of
from ctxtui.core.edit_log import DISCARD, REDO, EditsInForce
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span

FREE: Final = frozenset({PIN, NOTE, BREAKPOINT, MOVE, HOIST, REPLACE, ANNOTATE})
"""Kinds that need not make a context smaller: they say what a person wants said, or where something stands."""
NAME: Final = 40
"""Cells of a block's name in an answer."""


_LISTS: Final = Span(" lists", "dim")


class Blocks(NamedTuple):
    """What the targets of edits are: the `name` of one in a few words, and whether it `is_block`, not the header of a
    message, which no row shows."""

    name: Callable[[Target], str]
    is_block: Callable[[Target], bool]

    def words(self, edits: Sequence[Edit]) -> str:
        """The block that `edits` are about, or how many there are."""
        targets = list(dict.fromkeys(target for edit in edits for target in edit.targets))
        found = [target for target in targets if self.is_block(target)] or targets
        return self.name(found[0]) if len(found) == 1 else f"{len(found):,} blocks"


class StagedEdits(Struct, frozen=True, kw_only=True):
    """What a key staged: the edits `made`, the tokens that their blocks had `before` and that the request is smaller by
    (`gained`; None while it is being counted), how many other blocks the provider makes go with them (`repairs`), and
    how many were `left` as they are, with the reason (`why`). `keyed`: a model can be asked for a summary."""

    made: Sequence[Edit]
    before: int
    gained: int | None
    repairs: int = 0
    left: int = 0
    why: str = ""
    keyed: bool = False

    @property
    def needless(self) -> bool:
        """Whether it frees nothing, though that is what its kind is for."""
        free = any(edit.kind in FREE or edit.kind == "drop" or edit.author != USER for edit in self.made)
        return not free and self.gained is not None and self.gained <= 0


def staged(what: StagedEdits, blocks: Blocks) -> list[Span]:
    """``✓ truncated: Read README.md 2.8k → 400``."""
    done = _done(what.made)
    told = [Span(MARK["ok"].glyph + " ", "ok"), Span(f"{done}: {blocks.words(what.made)}")]
    if any(edit.kind not in FREE or edit.kind in (NOTE, REPLACE, HOIST) for edit in what.made):
        told.append(Span("  " + _gain(what), "ink bold"))
    if what.repairs:
        told.append(Span(f", {what.repairs:,} more with {'it' if len(what.made) == 1 else 'them'}", "dim"))
    if what.left:
        told.append(Span(f"; {what.left:,} left: {what.why}", "dim"))
    if all(edit.kind == SUMMARIZE and "by" not in edit.params for edit in what.made):
        told += [Span("  ^s", "accent bold"), Span(" has a model write it", "dim")] if what.keyed else []
        told += [Span("  no model; ", "dim"), Span("s", "accent bold"), Span(" sets its length", "dim")]
    return told


def nothing_new(edits: Sequence[Edit], standing: EditsInForce) -> str:
    """Why staging `edits` made none: ``already staged: a applies it, u takes it back``."""

    def among(those: Sequence[Edit]) -> bool:
        known = {(edit.kind, edit.targets, edit.payload) for edit in those}
        return all((edit.kind, edit.targets, edit.payload) in known for edit in edits)

    it = "it" if len(edits) == 1 else "them"
    if among(standing.staged):
        return f"already staged: a applies {it}, u takes {it} back"
    if among((*standing.applied, *standing.staged)):
        return f"already applied: u takes {it} back"
    return "these edits stand already, or were taken back: u and E have them"


def _gain(what: StagedEdits) -> str:
    if what.gained is None:
        return numbers.NONE
    if not what.gained and all(edit.kind == "drop" for edit in what.made):
        return "frees nothing in this request"  # an answer, which goes into the next one
    after = what.before - what.gained
    if after <= 0 or not what.before:
        return numbers.signed(-what.gained)
    return f"{numbers.tokens(what.before)} → {numbers.tokens(after)}"


def needless(what: StagedEdits, blocks: Blocks) -> list[Span]:
    """Why it was not done: ``✗ not put outside: "lets go" has 3 tokens, 14 would stand there``."""
    assert what.gained is not None
    after = what.before - what.gained
    told = f"not {_done(what.made)}: {blocks.words(what.made)} "
    told += f"{numbers.tokens(what.before)} → {numbers.tokens(after)}, nothing is gained"
    return [Span(MARK["error"].glyph + " ", "crit"), Span(told, "crit")]


def refused(why: str, tokens: int | None, left: int) -> list[Span]:
    """Why nothing is done: ``✗ already short: 53 tokens``."""
    told = why if tokens is None else f"{why}: {numbers.tokens(tokens)} tokens"
    told += f" ({left:,} blocks)" if left > 1 else ""
    return [Span(MARK["error"].glyph + " ", "crit"), Span(told, "crit")]


def taken_back(edits: Sequence[Edit], blocks: Blocks, freed: int | None) -> list[Span]:
    """``taken back: drop of Read README.md  +4.6k``."""
    return [Span(f"taken back: {action(edits, {}, blocks)}"), *_change(freed)]


def from_elsewhere(new: Sequence[Edit], blocks: Blocks) -> list[Span]:
    """What another program did meanwhile: ``agent staged drop of Read README.md · a applies, E lists``."""
    made = [edit for edit in new if edit.kind in KINDS]
    if not made:
        return [Span("another program changed which edits stand · "), Span("E", "accent bold"), _LISTS]
    author = "another program" if made[0].author == USER else safe_text.one_line(made[0].author, 30)
    kinds = {edit.kind for edit in made}
    what = kind_of(made[0].kind).label if len(kinds) == 1 else "edits"
    told = Span(f"{author} staged {what} of {blocks.words(made)} · ")
    return [told, Span("a", "accent bold"), Span(" applies, ", "dim"), Span("E", "accent bold"), _LISTS]


def undone(
    entries: Sequence[Edit],
    by_id: Mapping[str, Edit],
    blocks: Blocks,
    freed: int | None,
    then: Sequence[Edit],
    key: str,
) -> list[Span]:
    """``undone: drop of Read README.md (+4.6k) · u next: apply of 2``: `freed` are the tokens that it freed now
    (negative: they are back), `then` what `key` takes next."""
    word = "undone" if key == "u" else "done again"
    told = [Span(f"{word}: {action(entries, by_id, blocks)}"), *_change(freed)]
    if not then:
        return [*told, Span(f" · nothing more to {'undo' if key == 'u' else 'do again'}", "dim")]
    return [*told, Span(" · ", "dim"), Span(key, "accent bold"), Span(f" next: {action(then, by_id, blocks)}", "dim")]


def _change(freed: int | None) -> list[Span]:
    return [Span(f"  {numbers.signed(-freed)}", "ink bold")] if freed else []


def action(entries: Sequence[Edit], by_id: Mapping[str, Edit], blocks: Blocks) -> str:
    """An action of the log in a few words: ``drop of Read README.md``, ``apply of 2``, ``discard of 3``."""
    first = entries[0]
    if first.kind == APPLY:
        return f"apply of {len(first.params.get('ids') or ()):,}"
    if first.kind == REVERT:
        meant = [by_id[entry.reverts] for entry in entries if entry.reverts in by_id]
        why = str(first.params.get("as") or "")
        if why == REDO or not meant:
            return f"take-back of {len(entries):,}"
        verb = "discard" if why == DISCARD else "take-back"
        return f"{verb} of {len(meant):,}" if len(meant) > 1 else f"{verb}: {action(meant, by_id, blocks)}"
    author = "" if first.author == USER else f"{safe_text.one_line(first.author, 30)}: "
    kinds = {entry.kind for entry in entries}
    what = kind_of(first.kind).label if len(kinds) == 1 else "edits"
    return f"{author}{what} of {blocks.words(entries)}"


def _done(made: Sequence[Edit]) -> str:
    author = "" if made[0].author == USER else f"{safe_text.one_line(made[0].author, 30)}: "
    first = made[0]
    if first.kind == BREAKPOINT:
        lives = {"5m": "5 minutes", "1h": "an hour", "30m": "30 minutes", "12h": "12 hours", "": "5 minutes"}
        ttl = str(first.params.get("ttl") or "")
        return f"breakpoint of {lives.get(ttl, ttl)} behind" if first.params.get("on", True) else "no breakpoint behind"
    done = {kind_of(edit.kind).done or edit.kind for edit in made}
    return author + (done.pop() if len(done) == 1 else "changed")
