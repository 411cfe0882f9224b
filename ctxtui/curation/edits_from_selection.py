"""Makes the edits that a key stages for the selected blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, Block
from ctxtui.core.canonical import Json
from ctxtui.core.category import category_of
from ctxtui.core.edit import USER, Edit, make
from ctxtui.core.edit_kinds import (
    ANNOTATE,
    BREAKPOINT,
    EXTERNALIZE,
    KINDS,
    NOTE,
    REPLACE,
    STRIP,
    SUMMARIZE,
    TRUNCATE,
)
from ctxtui.curation.apply.block_text import block_text, has_editable_text, is_changeable
from ctxtui.curation.apply.marker_limits import LIFETIMES
from ctxtui.curation.apply.references import safe_name
from ctxtui.curation.context import Context, is_result
from ctxtui.curation.policies.context_spans import format_range
from ctxtui.curation.record_summary import length_for, summarize
from ctxtui.wire.grammar import RESPONSES

HEAD_CHARS, TAIL_CHARS = 800, 400
"""Characters that a truncation keeps of a long text."""
MAX_LINE_CHARS: Final = 120
"""Characters of the line that describes externalized content."""

Keep = Callable[[str, bytes], None]
"""Stores an artifact under a name."""


def blocks_between(context: Context, first: int, last: int) -> list[int]:
    """The blocks between two positions in either order, both included; headers of messages are left out."""
    return [at for at in range(min(first, last), max(first, last) + 1) if context.items[at].block.kind != HEADER]


def widen_selection(context: Context, at: int, chosen: frozenset[int]) -> tuple[list[int], str]:
    """The next wider selection around position `at` after `chosen`, and its name.

    In order: the block, its message, its turn, the results of its tool, its category; then the block alone again.
    """
    circles: dict[frozenset[int], str] = {frozenset([at]): "this block"}
    for name, wider in _circles(context, at):
        circles.setdefault(frozenset(wider), name)
    order = list(circles)
    after = order[(order.index(chosen) + 1) % len(order)] if chosen in circles else order[0]
    return sorted(after), circles[after]


def _circles(context: Context, at: int) -> Iterable[tuple[str, list[int]]]:
    message = context.message_at(at)
    if message is not None:
        yield "this message", blocks_between(context, message.start, message.stop - 1)
    turn = context.tree[context.nodes[at]].turn
    yield f"turn {turn}", [p for p in _blocks(context) if context.tree[context.nodes[p]].turn == turn]
    name = context.reading(at).name or _tool(context, at)
    if name and is_result(context.items[at].block.kind):
        results = [p for p in _blocks(context) if is_result(context.items[p].block.kind) and _tool(context, p) == name]
        yield f"all results of {name}", results
    category = context.tree[context.nodes[at]].category
    yield "all of its category", [p for p in _blocks(context) if context.tree[context.nodes[p]].category == category]


def _blocks(context: Context) -> Iterable[int]:
    return (p for p, item in enumerate(context.items) if item.block.kind != HEADER)


def _tool(context: Context, at: int) -> str:
    partners = context.partners.get(at, ())
    return context.reading(partners[0]).name if partners and is_result(context.items[at].block.kind) else ""


def covering_edits(context: Context, in_force: Sequence[Edit], kind: str, positions: Sequence[int]) -> list[Edit]:
    """The user's edits of `kind` that already cover all of `positions`: the key reverts them."""
    edit_at: dict[int, Edit] = {}
    wanted_positions = set(positions)
    targets = [context.target(at) for at in wanted_positions]
    # Edits of other blocks are skipped without a lookup.
    digests, ids = {target.digest for target in targets}, {target.id for target in targets if target.id}
    for edit in in_force:
        if edit.kind == kind and edit.author == USER:
            for target in edit.targets:
                if target.digest in digests or target.id in ids:
                    at = context.find(target)
                    if at in wanted_positions:
                        edit_at[at] = edit
    if set(edit_at) != wanted_positions:
        return []
    return list({edit.id: edit for edit in edit_at.values()}.values())


def make_edits(context: Context, kind: str, positions: Sequence[int], keep: Keep) -> list[Edit]:
    """Make one action of `kind` on the blocks at `positions` (in order).

    `keep` stores externalized content. Raises `ValueError` for a kind that needs more than the blocks.
    """
    match kind:
        case "externalize":
            return [edit for at in positions if (edit := _externalize(context, at, keep)) is not None]
        case "truncate":
            params = {"head": HEAD_CHARS, "tail": TAIL_CHARS}
            return [make(TRUNCATE, [context.target(at)], params) for at in positions if _is_long(context, at)]
    if kind == STRIP or (kind in KINDS and not KINDS[kind].payload):
        return [make(kind, [context.target(at)]) for at in positions]
    raise ValueError(f"no key stages {kind!r}")


def runs(context: Context, positions: Sequence[int]) -> list[list[int]]:
    """Split `positions` where a block between them is not selected; headers of messages do not count."""
    result: list[list[int]] = [[positions[0]]] if positions else []
    for before, at in pairwise(positions):
        gap = any(context.items[p].block.kind != HEADER for p in range(before + 1, at))
        if gap:
            result.append([])
        result[-1].append(at)
    return result


class SummaryTerms(NamedTuple):
    """Terms of a summary without a model.

    `length` is its limit in tokens as `count` counts them (0: by the size of the blocks), `keep` gives texts of the
    blocks at some positions that it should include.
    """

    count: Callable[[Block], int] = lambda block: len(block.body) // 4
    length: int = 0
    keep: Callable[[Sequence[int]], Sequence[str]] = lambda positions: ()


def summarize_run(context: Context, run: Sequence[int], terms: SummaryTerms) -> Edit | None:
    """Summarize a run of blocks, shorter than they are; None if there is nothing to say."""
    turns = [context.tree[context.nodes[at]].turn for at in run]
    whole = range(run[0], run[-1] + 1)
    size = sum(terms.count(context.items[at].block) for at in whole if context.items[at].block.kind != HEADER)
    what = format_range("turn", min(turns), max(turns)) if min(turns) else ""
    text = summarize(context, whole, length_for(size, terms.length), terms.count, what, terms.keep(whole))
    return make(SUMMARIZE, context.targets(whole), {"text": text}) if text else None


def _externalize(context: Context, at: int, keep: Keep) -> Edit | None:
    block = context.items[at].block
    text = block_text(block)
    if not is_changeable(block) or not text.strip():
        return None
    got = context.reading(at)
    name = safe_name(
        f"{got.name or _tool(context, at) or category_of(block, context.items[at].place)}_{block.digest[:8]}"
    )
    line = " ".join(text[: MAX_LINE_CHARS * 4].split())[:MAX_LINE_CHARS]
    keep(name, text.encode("utf-8", "replace"))
    return make(EXTERNALIZE, [context.target(at)], {"name": name, "line": line})


def _is_long(context: Context, at: int) -> bool:
    got = context.reading(at)
    return len(got.text) + len(got.arguments) > HEAD_CHARS + TAIL_CHARS


def breakpoint_steps(context: Context, in_force: Sequence[Edit], at: int) -> list[Edit]:
    """The next states of the breakpoint after position `at`; the first possible one is used.

    The lifetimes that the provider offers, the shortest first, then none.
    """
    lives, now = LIFETIMES.get(context.dialect, LIFETIMES[RESPONSES])[1:], ""
    for edit in in_force:
        if edit.kind == BREAKPOINT and any(context.find(target) == at for target in edit.targets):
            now = str(edit.params.get("ttl") or lives[0]) if edit.params.get("on", True) else ""
    longer = lives[lives.index(now) + 1 :] if now in lives else () if now else lives[:1]
    states: list[dict[str, Json]] = [{"on": True, "ttl": ttl} for ttl in longer] + ([{"on": False}] if now else [])
    return [make(BREAKPOINT, [context.target(at)], params) for params in states]


def text_at(context: Context, in_force: Sequence[Edit], at: int) -> tuple[int | None, str, str]:
    """The editable text at position `at`: its position, the text to be sent, and the kind of edit that changes it.

    (None, "", "") if there is none.
    """
    for edit in reversed(in_force):
        if edit.kind == SUMMARIZE and any(context.find(target) == at for target in edit.targets):
            return at, str(edit.params.get("text") or ""), SUMMARIZE
        if edit.kind == REPLACE and any(context.find(target) == at for target in edit.targets):
            return at, str(edit.params.get("text") or ""), REPLACE
    block = context.items[at].block
    words = block_text(block)
    return (at, words, REPLACE) if is_changeable(block) and has_editable_text(block) and words else (None, "", "")


def rewrite_text(context: Context, in_force: Sequence[Edit], at: int, text: str) -> Edit:
    """Make the edit that puts `text` at position `at`: in place of the summary there, else of the block."""
    for edit in reversed(in_force):
        if edit.kind == SUMMARIZE and any(context.find(target) == at for target in edit.targets):
            return make(SUMMARIZE, edit.targets, {**edit.params, "text": text})
    return make(REPLACE, [context.target(at)], {"text": text})


def reword_insertion(edit: Edit, text: str) -> Edit | None:
    """Make the summary or note of `edit` with another `text`; None for other kinds."""
    if edit.kind not in (SUMMARIZE, NOTE):
        return None
    return make(edit.kind, edit.targets, {**edit.params, "text": text})


def edits_of_insertion(in_force: Sequence[Edit], edit: Edit) -> list[Edit]:
    """The edits to revert to remove the insertion of `edit`: it, and its earlier wordings."""
    return [
        other
        for other in in_force
        if other.id == edit.id or (other.kind == edit.kind == SUMMARIZE and other.targets == edit.targets)
    ]


def make_note(context: Context, at: int, text: str) -> Edit:
    """Make the edit that inserts a note after position `at`."""
    return make(NOTE, [context.target(at)], {"text": text, "where": "after"})


def keep_literal(context: Context, in_force: Sequence[Edit], literal: str) -> Edit | None:
    """Add `literal` verbatim to the summary that lost it; None if no summary did."""
    for edit in reversed(in_force):
        if edit.kind != SUMMARIZE or literal in str(edit.params.get("text") or ""):
            continue
        covered = (context.find(target) for target in edit.targets)
        if any(at is not None and literal in _said(context, at) for at in covered):
            text = str(edit.params.get("text") or "").rstrip("\n")
            return make(SUMMARIZE, edit.targets, {**edit.params, "text": f"{text}\n- kept: {literal}"})
    return None


def _said(context: Context, at: int) -> str:
    got = context.reading(at)
    return f"{got.text}\n{got.arguments}"


def annotate_summary(context: Context, in_force: Sequence[Edit], at: int, rating: str, text: str = "") -> Edit | None:
    """Rate or remark on the summary at position `at`; None if there is none."""
    for edit in reversed(in_force):
        if edit.kind == SUMMARIZE and any(context.find(target) == at for target in edit.targets):
            return make(ANNOTATE, edit.targets, {"rating": rating, "text": text, "of": edit.id})
    return None
