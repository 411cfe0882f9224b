"""From blocks that a person chose to the edits that a key asks for."""

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
from ctxtui.curation.apply.block_text import changeable, has_words, words_of
from ctxtui.curation.apply.marker_limits import LIFETIMES
from ctxtui.curation.apply.references import safe_name
from ctxtui.curation.context import Context, is_result
from ctxtui.curation.policies.context_spans import numbered
from ctxtui.curation.record_summary import length_for, summary
from ctxtui.wire.grammar import RESPONSES

HEAD, TAIL = 800, 400
"""Characters that a truncation keeps of a long text."""
LINE: Final = 120
"""Characters of the line that describes externalized content."""

Keep = Callable[[str, bytes], None]
"""Keeps an artifact under a name."""


def between(context: Context, first: int, last: int) -> list[int]:
    """The blocks from one position to another, both included, in either order; headers of messages are left out."""
    return [at for at in range(min(first, last), max(first, last) + 1) if context.items[at].block.kind != HEADER]


def widened(context: Context, at: int, chosen: frozenset[int]) -> tuple[list[int], str]:
    """The choice around position `at` that comes after `chosen`, and its name: the block, its message, its turn, the
    results of its tool, its category; then the block alone again."""
    circles: dict[frozenset[int], str] = {frozenset([at]): "this block"}
    for name, wider in _circles(context, at):
        circles.setdefault(frozenset(wider), name)
    order = list(circles)
    after = order[(order.index(chosen) + 1) % len(order)] if chosen in circles else order[0]
    return sorted(after), circles[after]


def _circles(context: Context, at: int) -> Iterable[tuple[str, list[int]]]:
    message = context.message_at(at)
    if message is not None:
        yield "this message", between(context, message.start, message.stop - 1)
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


def standing(context: Context, in_force: Sequence[Edit], kind: str, positions: Sequence[int]) -> list[Edit]:
    """The user's edits of `kind` that stand on all of `positions` already: the key takes them back."""
    found: dict[int, Edit] = {}
    wanted = set(positions)
    here = [context.target(at) for at in wanted]
    # What is about other blocks need not be looked for.
    digests, ids = {target.digest for target in here}, {target.id for target in here if target.id}
    for edit in in_force:
        if edit.kind == kind and edit.author == USER:
            for target in edit.targets:
                if target.digest in digests or target.id in ids:
                    at = context.find(target)
                    if at in wanted:
                        found[at] = edit
    if set(found) != wanted:
        return []
    return list({edit.id: edit for edit in found.values()}.values())


def edits(context: Context, kind: str, positions: Sequence[int], keep: Keep) -> list[Edit]:
    """One action of `kind` on the blocks at `positions` (in order): what is staged together. `keep` takes the content
    that goes outside. Raises `ValueError` for a kind that needs to be told more than the blocks."""
    match kind:
        case "externalize":
            return [edit for at in positions if (edit := _outside(context, at, keep)) is not None]
        case "truncate":
            given = {"head": HEAD, "tail": TAIL}
            return [make(TRUNCATE, [context.target(at)], given) for at in positions if _long(context, at)]
    if kind == STRIP or (kind in KINDS and not KINDS[kind].payload):
        return [make(kind, [context.target(at)]) for at in positions]
    raise ValueError(f"no key stages {kind!r}")


def runs(context: Context, positions: Sequence[int]) -> list[list[int]]:
    """`positions` cut where a block between them was not chosen; headers of messages do not count."""
    found: list[list[int]] = [[positions[0]]] if positions else []
    for before, at in pairwise(positions):
        gap = any(context.items[p].block.kind != HEADER for p in range(before + 1, at))
        if gap:
            found.append([])
        found[-1].append(at)
    return found


class SummaryTerms(NamedTuple):
    """How long a summary without a model may be (`length` tokens, 0: by what it replaces) as `count` counts it, and the
    words of the blocks at some positions that it should `keep`."""

    count: Callable[[Block], int] = lambda block: len(block.body) // 4
    length: int = 0
    keep: Callable[[Sequence[int]], Sequence[str]] = lambda positions: ()


def summary_of(context: Context, run: Sequence[int], terms: SummaryTerms) -> Edit | None:
    """The summary of a run of blocks, shorter than they are; None where there is nothing to say."""
    turns = [context.tree[context.nodes[at]].turn for at in run]
    whole = range(run[0], run[-1] + 1)
    size = sum(terms.count(context.items[at].block) for at in whole if context.items[at].block.kind != HEADER)
    what = numbered("turn", min(turns), max(turns)) if min(turns) else ""
    text = summary(context, whole, length_for(size, terms.length), terms.count, what, terms.keep(whole))
    return make(SUMMARIZE, context.targets(whole), {"text": text}) if text else None


def _outside(context: Context, at: int, keep: Keep) -> Edit | None:
    block = context.items[at].block
    text = words_of(block)
    if not changeable(block) or not text.strip():
        return None
    got = context.reading(at)
    name = safe_name(
        f"{got.name or _tool(context, at) or category_of(block, context.items[at].place)}_{block.digest[:8]}"
    )
    line = " ".join(text[: LINE * 4].split())[:LINE]
    keep(name, text.encode("utf-8", "replace"))
    return make(EXTERNALIZE, [context.target(at)], {"name": name, "line": line})


def _long(context: Context, at: int) -> bool:
    got = context.reading(at)
    return len(got.text) + len(got.arguments) > HEAD + TAIL


def breakpoint_steps(context: Context, in_force: Sequence[Edit], at: int) -> list[Edit]:
    """The next states of the breakpoint behind position `at`, the first of which is possible counts: the lifetimes that
    the provider offers, the shortest first, then none."""
    lives, now = LIFETIMES.get(context.dialect, LIFETIMES[RESPONSES])[1:], ""
    for edit in in_force:
        if edit.kind == BREAKPOINT and any(context.find(target) == at for target in edit.targets):
            now = str(edit.params.get("ttl") or lives[0]) if edit.params.get("on", True) else ""
    longer = lives[lives.index(now) + 1 :] if now in lives else () if now else lives[:1]
    states: list[dict[str, Json]] = [{"on": True, "ttl": ttl} for ttl in longer] + ([{"on": False}] if now else [])
    return [make(BREAKPOINT, [context.target(at)], given) for given in states]


def text_at(context: Context, in_force: Sequence[Edit], at: int) -> tuple[int | None, str, str]:
    """The text that can be written anew at position `at`: the position, the text as it would be sent, and the kind of
    the edit that would say so; (None, "", "") where there is none."""
    for edit in reversed(in_force):
        if edit.kind == SUMMARIZE and any(context.find(target) == at for target in edit.targets):
            return at, str(edit.params.get("text") or ""), SUMMARIZE
        if edit.kind == REPLACE and any(context.find(target) == at for target in edit.targets):
            return at, str(edit.params.get("text") or ""), REPLACE
    block = context.items[at].block
    words = words_of(block)
    return (at, words, REPLACE) if changeable(block) and has_words(block) and words else (None, "", "")


def reworded(context: Context, in_force: Sequence[Edit], at: int, text: str) -> Edit:
    """The edit that puts `text` at position `at`: in a summary's place where one stands there, else in the block's."""
    for edit in reversed(in_force):
        if edit.kind == SUMMARIZE and any(context.find(target) == at for target in edit.targets):
            return make(SUMMARIZE, edit.targets, {**edit.params, "text": text})
    return make(REPLACE, [context.target(at)], {"text": text})


def put_in_again(edit: Edit, text: str) -> Edit | None:
    """The summary or note that `edit` puts in, saying `text`; None where it puts in something else."""
    if edit.kind not in (SUMMARIZE, NOTE):
        return None
    return make(edit.kind, edit.targets, {**edit.params, "text": text})


def put_in_there(in_force: Sequence[Edit], edit: Edit) -> list[Edit]:
    """The edits to take back so that nothing stands where `edit` puts something in: it, and earlier wordings of it."""
    return [
        one
        for one in in_force
        if one.id == edit.id or (one.kind == edit.kind == SUMMARIZE and one.targets == edit.targets)
    ]


def note(context: Context, at: int, text: str) -> Edit:
    """The edit that puts a note in behind position `at`."""
    return make(NOTE, [context.target(at)], {"text": text, "where": "after"})


def keeping(context: Context, in_force: Sequence[Edit], literal: str) -> Edit | None:
    """The summary that took `literal` away, saying it word for word; None where no summary did."""
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


def annotated(context: Context, in_force: Sequence[Edit], at: int, rating: str, text: str = "") -> Edit | None:
    """A rating or remark about the summary that stands at position `at`; None where none does."""
    for edit in reversed(in_force):
        if edit.kind == SUMMARIZE and any(context.find(target) == at for target in edit.targets):
            return make(ANNOTATE, edit.targets, {"rating": rating, "text": text, "of": edit.id})
    return None
