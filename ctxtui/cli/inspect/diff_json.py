"""`ctxtui diff --json`: the diff of two contexts as data that outside programs rely on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ctxtui.analysis.content.diff import CHANGED, ENTERED, LEFT, RESPELLED, Change, Diff, DiffSide, since
from ctxtui.analysis.content.normalized import words_of
from ctxtui.analysis.content.volatile import Unsteady
from ctxtui.analysis.content.word_diff import word_diff
from ctxtui.cli.output import members
from ctxtui.core.category import CATEGORIES
from ctxtui.services.recordings.recording import Loaded

Since = Callable[[int], int]


def as_fields(
    found: Diff, steady: Sequence[tuple[DiffSide, Sequence[Unsteady]]], loaded: tuple[Loaded, Loaded]
) -> dict[str, Any]:
    """The fields of ``diff --json``; `loaded` are the recordings of both sides."""
    first, begun = found.first, (since(found.a), since(found.b))
    return {
        "a": _side(found.a, loaded[0]),
        "b": _side(found.b, loaded[1]),
        "same": found.same,
        "shared": {
            "blocks": found.shared,
            "tokens": found.shared_tokens,
            "parts_at_token": None if found.same else found.token,
        },
        "kept": {"blocks": found.kept, "tokens": found.kept_tokens},
        **{kind: _total(found, kind) for kind in (ENTERED, LEFT, CHANGED, RESPELLED)},
        "first": {**_change(found, first, begun), "words": _words(found, first)} if first is not None else None,
        "changes": [_change(found, change, begun) for change in found.changes],
        "unsteady": [_unsteady(side, one) for side, some in steady for one in some],
    }


def _side(side: DiffSide, loaded: Loaded) -> dict[str, Any]:
    about, chosen = side.book.session.about, side.chosen
    return {
        "id": about.id or loaded.name,
        "title": about.title or loaded.name,
        **members(chosen, "thread call=number model=call.model"),
        "context_tokens": side.context_tokens,
    }


def _total(found: Diff, kind: str) -> dict[str, int]:
    blocks, before, after = found.total(kind)
    return {"blocks": blocks, "tokens_before": before, "tokens_after": after}


def _change(found: Diff, change: Change, begun: tuple[Since, Since]) -> dict[str, Any]:
    side, node = (found.a, change.before) if change.after is None else (found.b, change.after)
    assert node is not None
    here = side.tree[node]
    return {
        "kind": change.kind,
        "at": change.at,
        "category": CATEGORIES[side.category(node)],
        "label": side.book.names.label(here),
        "role": here.place.role,
        "why": found.why(change),
        "digests": [_digest(found.a, change.before), _digest(found.b, change.after)],
        "tokens": [change.tokens_before, change.tokens_after],
        "since_call": [
            begun[0](change.before) if change.before is not None else None,
            begun[1](change.after) if change.after is not None else None,
        ],
    }


def _digest(side: DiffSide, node: int | None) -> str | None:
    return side.tree[node].block.digest if node is not None else None


def _words(found: Diff, change: Change) -> list[list[str]]:
    """The word diff of one change: pairs of ``same``, ``removed`` or ``added`` and the text."""
    before = words_of(found.a.tree[change.before]) if change.before is not None else ""
    after = words_of(found.b.tree[change.after]) if change.after is not None else ""
    return [list(piece) for piece in word_diff(before, after)]


def _unsteady(side: DiffSide, one: Unsteady) -> dict[str, Any]:
    node = side.tree[one.nodes[-1]]
    return {
        "thread": side.chosen.thread,
        "category": CATEGORIES[side.category(one.nodes[-1])],
        "label": side.book.names.label(node),
        "changes": one.changes,
        "calls": list(one.calls),
        "digests": [side.tree[n].block.digest for n in one.nodes],
        "tokens": side.tokens(one.nodes[-1]),
        "last_words": [
            list(piece) for piece in word_diff(words_of(side.tree[one.nodes[-2]]), words_of(side.tree[one.nodes[-1]]))
        ],
    }
