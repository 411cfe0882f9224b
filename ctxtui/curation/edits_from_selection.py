"""Makes the edits that a key or ``ctxtui edits stage`` stages for blocks. Nothing is staged here."""

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
from ctxtui.curation.context import Context
from ctxtui.curation.policies.context_spans import format_range
from ctxtui.curation.record_summary import length_for, summarize
from ctxtui.wire.grammar import RESPONSES

HEAD_CHARS, TAIL_CHARS = 800, 400
"""Characters that truncating keeps at the beginning and at the end of a text."""
MAX_LINE_CHARS: Final = 120
"""Maximum characters of the line that describes externalized content."""

Keep = Callable[[str, bytes], None]
"""Stores externalized text under a name."""


def blocks_between(context: Context, first: int, last: int) -> list[int]:
    """The blocks between two positions, both included, in either order; without headers."""
    return [
        position
        for position in range(min(first, last), max(first, last) + 1)
        if context.items[position].block.kind != HEADER
    ]


def widen_selection(context: Context, position: int, chosen: frozenset[int]) -> tuple[list[int], str]:
    """The next wider selection around `position` after `chosen`, and its name.

    In order: the block, its message, its turn, the results of its tool, its category; then the block alone again.
    """
    circles: dict[frozenset[int], str] = {frozenset([position]): "this block"}
    for name, wider in _wider_selections(context, position):
        circles.setdefault(frozenset(wider), name)
    order = list(circles)
    after = order[(order.index(chosen) + 1) % len(order)] if chosen in circles else order[0]
    return sorted(after), circles[after]


def _wider_selections(context: Context, position: int) -> Iterable[tuple[str, list[int]]]:
    message = context.message_at(position)
    if message is not None:
        yield "this message", blocks_between(context, message.start, message.stop - 1)
    turn = context.tree[context.nodes[position]].turn
    yield f"turn {turn}", [p for p in _blocks_without_headers(context) if context.tree[context.nodes[p]].turn == turn]
    if name := _tool_name(context, position):
        yield f"all results of {name}", [p for p in _blocks_without_headers(context) if _tool_name(context, p) == name]
    category = context.tree[context.nodes[position]].category
    yield (
        "all of its category",
        [p for p in _blocks_without_headers(context) if context.tree[context.nodes[p]].category == category],
    )


def _blocks_without_headers(context: Context) -> Iterable[int]:
    return (p for p, item in enumerate(context.items) if item.block.kind != HEADER)


def _tool_name(context: Context, position: int) -> str:
    call = context.answered_call(position)
    return context.reading(call).name if call is not None else ""


def covering_edits(context: Context, in_force: Sequence[Edit], kind: str, positions: Sequence[int]) -> list[Edit]:
    """The user's edits of `kind` that cover all of `positions`; [] if some are not covered."""
    edit_at: dict[int, Edit] = {}
    wanted_positions = set(positions)
    targets = [context.target(position) for position in wanted_positions]
    # Edits of other blocks are skipped without a lookup.
    digests, ids = {target.digest for target in targets}, {target.id for target in targets if target.id}
    for edit in in_force:
        if edit.kind == kind and edit.author == USER:
            for target in edit.targets:
                if target.digest in digests or target.id in ids:
                    position = context.find(target)
                    if position in wanted_positions:
                        edit_at[position] = edit
    if set(edit_at) != wanted_positions:
        return []
    return list({edit.id: edit for edit in edit_at.values()}.values())


def make_edits(context: Context, kind: str, positions: Sequence[int], keep: Keep) -> list[Edit]:
    """Make edits of `kind` for the blocks at `positions`. Those that it cannot change are left out.

    `keep` stores externalized content. Raises `ValueError` for a kind that needs more than the blocks.
    """
    match kind:
        case "externalize":
            return [edit for position in positions if (edit := _externalize_block(context, position, keep)) is not None]
        case "truncate":
            params = {"head": HEAD_CHARS, "tail": TAIL_CHARS}
            return [
                make(TRUNCATE, [context.target(position)], params)
                for position in positions
                if _is_long(context, position)
            ]
    if kind == STRIP or (kind in KINDS and not KINDS[kind].payload):
        return [make(kind, [context.target(position)]) for position in positions]
    raise ValueError(f"no key stages {kind!r}")


def runs(context: Context, positions: Sequence[int]) -> list[list[int]]:
    """Split `positions` at blocks between them that are not in it; headers do not count."""
    result: list[list[int]] = [[positions[0]]] if positions else []
    for previous, position in pairwise(positions):
        gap = any(context.items[p].block.kind != HEADER for p in range(previous + 1, position))
        if gap:
            result.append([])
        result[-1].append(position)
    return result


class SummaryTerms(NamedTuple):
    """Terms of a summary that is made without a model.

    - `count`: gives the tokens of a block.
    - `length`: the limit in tokens; 0: by the size of the summarized blocks.
    - `keep`: gives texts of the blocks at some positions that the summary should include.
    """

    count: Callable[[Block], int] = lambda block: len(block.body) // 4
    length: int = 0
    keep: Callable[[Sequence[int]], Sequence[str]] = lambda positions: ()


def summarize_run(context: Context, run: Sequence[int], terms: SummaryTerms) -> Edit | None:
    """Summarize a run of blocks; None if no useful text is shorter than they are."""
    turns = [context.tree[context.nodes[position]].turn for position in run]
    stretch = range(run[0], run[-1] + 1)
    size = sum(
        terms.count(context.items[position].block)
        for position in stretch
        if context.items[position].block.kind != HEADER
    )
    stretch_name = format_range("turn", min(turns), max(turns)) if min(turns) else ""
    text = summarize(context, stretch, length_for(size, terms.length), terms.count, stretch_name, terms.keep(stretch))
    return make(SUMMARIZE, context.targets(stretch), {"text": text}) if text else None


def _externalize_block(context: Context, position: int, keep: Keep) -> Edit | None:
    block = context.items[position].block
    text = block_text(block)
    if not is_changeable(block) or not text.strip():
        return None
    content = context.reading(position)
    subject = content.name or _tool_name(context, position) or category_of(block, context.items[position].place)
    name = safe_name(f"{subject}_{block.digest[:8]}")
    line = " ".join(text[: MAX_LINE_CHARS * 4].split())[:MAX_LINE_CHARS]
    keep(name, text.encode("utf-8", "replace"))
    return make(EXTERNALIZE, [context.target(position)], {"name": name, "line": line})


def _is_long(context: Context, position: int) -> bool:
    content = context.reading(position)
    return len(content.text) + len(content.arguments) > HEAD_CHARS + TAIL_CHARS


def _last_edit_at(context: Context, in_force: Sequence[Edit], position: int, *kinds: str) -> Edit | None:
    at_position = (edit for edit in in_force if edit.kind in kinds and position in map(context.find, edit.targets))
    return next(reversed([*at_position]), None)


def breakpoint_steps(context: Context, in_force: Sequence[Edit], position: int) -> list[Edit]:
    """Edits for the next states of the breakpoint at `position`. The first that is possible counts.

    The states are the provider's lifetimes, the shortest first, then no breakpoint.
    """
    lives, now = LIFETIMES.get(context.dialect, LIFETIMES[RESPONSES])[1:], ""
    if (edit := _last_edit_at(context, in_force, position, BREAKPOINT)) is not None:
        now = str(edit.params.get("ttl") or lives[0]) if edit.params.get("on", True) else ""
    longer = lives[lives.index(now) + 1 :] if now in lives else () if now else lives[:1]
    states: list[dict[str, Json]] = [{"on": True, "ttl": ttl} for ttl in longer] + ([{"on": False}] if now else [])
    return [make(BREAKPOINT, [context.target(position)], params) for params in states]


def text_at(context: Context, in_force: Sequence[Edit], position: int) -> str | None:
    """The text of the last summary or replacement at `position`, else of the block.

    None if it has no editable text.
    """
    edit = _last_edit_at(context, in_force, position, SUMMARIZE, REPLACE)
    if edit is not None and "value" not in edit.params:
        return str(edit.params.get("text") or "")
    block = context.items[position].block
    return (block_text(block) or None) if is_changeable(block) and has_editable_text(block) else None


def rewrite_text(context: Context, in_force: Sequence[Edit], position: int, text: str) -> Edit:
    """Replace the text of the block at `position`, or of the summary in its place."""
    if (edit := _last_edit_at(context, in_force, position, SUMMARIZE)) is not None:
        return make(SUMMARIZE, edit.targets, {**edit.params, "text": text})
    return make(REPLACE, [context.target(position)], {"text": text})


def reword_insertion(edit: Edit, text: str) -> Edit | None:
    """Make the summary or note of `edit` with another `text`; None for other kinds."""
    if edit.kind not in (SUMMARIZE, NOTE):
        return None
    return make(edit.kind, edit.targets, {**edit.params, "text": text})


def edits_of_insertion(in_force: Sequence[Edit], edit: Edit) -> list[Edit]:
    """The edits to revert to remove the insertion of `edit`: it, and earlier wordings."""
    return [
        active
        for active in in_force
        if active.id == edit.id or (active.kind == edit.kind == SUMMARIZE and active.targets == edit.targets)
    ]


def make_note(context: Context, position: int, text: str) -> Edit:
    return make(NOTE, [context.target(position)], {"text": text, "where": "after"})


def keep_literal(context: Context, in_force: Sequence[Edit], literal: str) -> Edit | None:
    """Add `literal` to the newest summary that lacks it and replaces a block with it, if any."""
    for edit in reversed(in_force):
        if edit.kind != SUMMARIZE or literal in str(edit.params.get("text") or ""):
            continue
        covered = (context.find(target) for target in edit.targets)
        if any(position is not None and literal in _text_and_arguments(context, position) for position in covered):
            text = str(edit.params.get("text") or "").rstrip("\n")
            return make(SUMMARIZE, edit.targets, {**edit.params, "text": f"{text}\n- kept: {literal}"})
    return None


def _text_and_arguments(context: Context, position: int) -> str:
    content = context.reading(position)
    return f"{content.text}\n{content.arguments}"


def annotate_summary(
    context: Context, in_force: Sequence[Edit], position: int, rating: str, text: str = ""
) -> Edit | None:
    """Rate or remark on the summary at `position`; None if there is none."""
    edit = _last_edit_at(context, in_force, position, SUMMARIZE)
    return make(ANNOTATE, edit.targets, {"rating": rating, "text": text, "of": edit.id}) if edit is not None else None
