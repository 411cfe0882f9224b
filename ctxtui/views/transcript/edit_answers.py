"""Answers in the prompt line to editing keys: what was done, gained, undone, or why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core.edit import APPLY, REVERT, USER, Edit, Target
from ctxtui.core.edit_kinds import (
    ANNOTATE,
    BREAKPOINT,
    DROP,
    HOIST,
    KINDS,
    MOVE,
    NOTE,
    PIN,
    REPLACE,
    SUMMARIZE,
    TRANSPLANT,
    kind_of,
)
from ctxtui.core.edit_log import DISCARD, REDO, EditsInForce
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span

_NEVER_NEEDLESS: Final = frozenset({PIN, NOTE, TRANSPLANT, BREAKPOINT, MOVE, HOIST, REPLACE, ANNOTATE, DROP})
"""Kinds that are staged even if they free nothing."""
_WITHOUT_SIZE: Final = frozenset({PIN, BREAKPOINT, MOVE, ANNOTATE})
"""Kinds whose answer has no tokens."""
_LISTS: Final = Span(" lists", "dim")


class Blocks(NamedTuple):
    """Descriptions of edit targets.

    - `name`: a few words for a target.
    - `is_block`: False for a message header, which has no row.
    """

    name: Callable[[Target], str]
    is_block: Callable[[Target], bool]

    def describe(self, edits: Sequence[Edit]) -> str:
        """The name of the block that `edits` change, or the number of blocks."""
        targets = list(dict.fromkeys(target for edit in edits for target in edit.targets))
        blocks = [target for target in targets if self.is_block(target)] or targets
        return self.name(blocks[0]) if len(blocks) == 1 else f"{len(blocks):,} blocks"


class StagedEdits(Struct, frozen=True, kw_only=True):
    """Result of a staging key.

    - `before`: tokens of the edited blocks without the `edits`.
    - `gained`: tokens by which the request is smaller (negative: larger); None: not counted yet.
    - `repairs`: number of repairs that they need.
    - `unchanged`: number of blocks that were not changed, for this `reason`.
    - `has_summary_model`: the environment has an API key for one.
    """

    edits: Sequence[Edit]
    before: int
    gained: int | None
    repairs: int = 0
    unchanged: int = 0
    reason: str = ""
    has_summary_model: bool = False

    @property
    def is_needless(self) -> bool:
        """Whether it frees nothing and should be refused; an edit by others than the user never is."""
        free = any(edit.kind in _NEVER_NEEDLESS or edit.author != USER for edit in self.edits)
        return not free and self.gained is not None and self.gained <= 0


def staged_answer(staged: StagedEdits, blocks: Blocks) -> list[Span]:
    """Answer to staging: ``✓ truncated: Read README.md  2.8k → 400``."""
    verb = _past_participle(staged.edits)
    spans = [Span(MARK["ok"].glyph + " ", "ok"), Span(f"{verb}: {blocks.describe(staged.edits)}")]
    if any(edit.kind not in _WITHOUT_SIZE for edit in staged.edits):
        spans.append(Span("  " + _gain(staged), "ink bold"))
    if staged.repairs:
        spans.append(Span(f", {staged.repairs:,} more with {'it' if len(staged.edits) == 1 else 'them'}", "dim"))
    if staged.unchanged:
        word = "left out" if staged.edits[0].kind == TRANSPLANT else "unchanged"
        spans.append(Span(f"; {staged.unchanged:,} {word}: {staged.reason}", "dim"))
    if all(edit.kind == SUMMARIZE and "by" not in edit.params for edit in staged.edits):
        by_model = [Span("  ^s", "accent bold"), Span(" lets a model write it; ", "dim")]
        spans += by_model if staged.has_summary_model else [Span("  no model; ", "dim")]
        spans += [Span("s", "accent bold"), Span(" sets its length", "dim")]
    return spans


def explain_no_change(edits: Sequence[Edit], in_force: EditsInForce) -> str:
    """Explain why staging `edits` had no effect: ``already applied: E takes it back``."""
    keys, staged, applied = (
        {(edit.kind, edit.targets, edit.payload) for edit in part}
        for part in (edits, in_force.staged, in_force.applied)
    )
    pronoun = "it" if len(edits) == 1 else "them"
    if keys <= staged:
        return f"already staged: a applies {pronoun}, E takes {pronoun} back"
    if keys <= staged | applied:
        return f"already {'' if keys <= applied else 'staged or '}applied: E takes {pronoun} back"
    return "these edits are active already, or were undone: E lists them"


def _gain(staged: StagedEdits) -> str:
    if staged.gained is None:
        return numbers.NONE
    if not staged.gained and all(edit.kind == DROP for edit in staged.edits):
        return "frees nothing in this request"  # an answer, which is sent with the next one
    after = staged.before - staged.gained
    if after <= 0 or not staged.before:
        return numbers.signed(-staged.gained)
    return f"{numbers.tokens(staged.before)} → {numbers.tokens(after)}"


def needless_answer(staged: StagedEdits, blocks: Blocks) -> list[Span]:
    """Refusal of an edit: ``✗ not externalized: "lets go" 3 → 14, nothing is gained``."""
    assert staged.gained is not None
    after = staged.before - staged.gained
    text = f"not {_past_participle(staged.edits)}: {blocks.describe(staged.edits)} "
    text += f"{numbers.tokens(staged.before)} → {numbers.tokens(after)}, nothing is gained"
    return [Span(MARK["error"].glyph + " ", "crit"), Span(text, "crit")]


def refused_answer(why: str, tokens: int | None, count: int) -> list[Span]:
    """The reason why nothing is done to `count` blocks: ``✗ already short: 53 tokens``."""
    text = why if tokens is None else f"{why}: {numbers.tokens(tokens)} tokens"
    text += f" ({count:,} blocks)" if count > 1 else ""
    return [Span(MARK["error"].glyph + " ", "crit"), Span(text, "crit")]


def revert_answer(edits: Sequence[Edit], blocks: Blocks, freed: int | None) -> list[Span]:
    """``taken back: drop of Read README.md  +4.6k``; `freed` as in `undo_answer`."""
    return [Span(f"taken back: {describe_action(edits, {}, blocks)}"), *_change_span(freed)]


def external_change_answer(new: Sequence[Edit], blocks: Blocks) -> list[Span]:
    """Answer to another program: ``agent staged drop of Read README.md · a applies, E lists``."""
    content_edits = [edit for edit in new if edit.kind in KINDS]
    if not content_edits:
        return [Span("another program changed the active edits · "), Span("E", "accent bold"), _LISTS]
    author = "another program" if content_edits[0].author == USER else safe_text.one_line(content_edits[0].author, 30)
    text = Span(f"{author} staged {_kind_name(content_edits)} of {blocks.describe(content_edits)} · ")
    return [text, Span("a", "accent bold"), Span(" applies, ", "dim"), Span("E", "accent bold"), _LISTS]


def undo_answer(
    entries: Sequence[Edit],
    by_id: Mapping[str, Edit],
    blocks: Blocks,
    freed: int | None,
    then: Sequence[Edit],
    key: str,
) -> list[Span]:
    """``undone: drop of Read README.md  +4.6k · u next: apply of 2``.

    `key` is ``u`` (undo) or the redo key. `freed` are the tokens freed by it (negative: added; None: unknown), `then`
    are the entries that `key` would act on next.
    """
    word = "undone" if key == "u" else "done again"
    spans = [Span(f"{word}: {describe_action(entries, by_id, blocks)}"), *_change_span(freed)]
    if not then:
        return [*spans, Span(f" · nothing more to {'undo' if key == 'u' else 'do again'}", "dim")]
    return [
        *spans,
        Span(" · ", "dim"),
        Span(key, "accent bold"),
        Span(f" next: {describe_action(then, by_id, blocks)}", "dim"),
    ]


def _change_span(freed: int | None) -> list[Span]:
    return [Span(f"  {numbers.signed(-freed)}", "ink bold")] if freed else []


def describe_action(entries: Sequence[Edit], by_id: Mapping[str, Edit], blocks: Blocks) -> str:
    """An action of the log in a few words: ``drop of Read README.md``, ``apply of 2``."""
    first = entries[0]
    if first.kind == APPLY:
        return f"apply of {len(first.params.get('ids') or ()):,}"
    if first.kind == REVERT:
        reverted = [by_id[entry.reverts] for entry in entries if entry.reverts in by_id]
        why = str(first.params.get("as") or "")
        if why == REDO or not reverted:
            return f"take-back of {len(entries):,}"
        verb = "discard" if why == DISCARD else "take-back"
        return (
            f"{verb} of {len(reverted):,}"
            if len(reverted) > 1
            else f"{verb}: {describe_action(reverted, by_id, blocks)}"
        )
    return f"{_author_prefix(first)}{_kind_name(entries)} of {blocks.describe(entries)}"


def _author_prefix(edit: Edit) -> str:
    return "" if edit.author == USER else f"{safe_text.one_line(edit.author, 30)}: "


def _kind_name(edits: Sequence[Edit]) -> str:
    return kind_of(edits[0].kind).label if len({edit.kind for edit in edits}) == 1 else "edits"


def _past_participle(edits: Sequence[Edit]) -> str:
    first = edits[0]
    author = _author_prefix(first)
    if first.kind == BREAKPOINT:
        lives = {"5m": "5 minutes", "1h": "an hour", "30m": "30 minutes", "12h": "12 hours", "": "5 minutes"}
        ttl = str(first.params.get("ttl") or "")
        is_on = first.params.get("on", True)
        return author + (f"breakpoint of {lives.get(ttl, ttl)} after" if is_on else "no breakpoint after")
    verbs = {kind_of(edit.kind).done or edit.kind for edit in edits}
    return author + (verbs.pop() if len(verbs) == 1 else "changed")
