"""A key stages what makes a block smaller; else it says why not."""

from __future__ import annotations

from ctxtui.core import block
from ctxtui.core.edit import make
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation import manual_edits
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.manual_edits import edits_for_key
from tests.curation.test_edits_from_selection import at, message, nothing, result, use


def made() -> Context:
    tree = Tree()
    items = [
        *message("user", block.text("lets go")),
        *message("assistant", use("t1", "Read", file_path="src/cart.py")),
        *message("user", result("t1", "x = 1\n" * 400)),
        *message("assistant", block.text("Done.")),
        *message("user", block.text("thanks")),
    ]
    return Context(tree, tree.extend(ROOT, items))


def test_what_gains_nothing_is_not_staged_and_the_reason_is_said() -> None:
    context = made()
    plain, go, long = apply(context, []), at(context, "lets go"), at(context, "x = 1")
    kept: list[str] = []
    for kind, position, why in (
        ("truncate", go, manual_edits.SHORT),
        ("externalize", go, manual_edits.LONGER),
        ("externalize", at(context, "file_path"), manual_edits.NO_TEXT),
        ("strip", go, manual_edits.NOTHING_TO_STRIP),
        ("summarize", long, manual_edits.NOTHING_TO_DRAW),
        ("summarize", go, manual_edits.LONGER),
    ):
        found = edits_for_key(plain, kind, [position], lambda name, data: kept.append(name))
        assert (found.edits, found.why, found.left) == ([], why, 1), (kind, position)
    assert not kept, "nothing is kept for what is not staged"
    assert edits_for_key(apply(context, [make("drop", [context.target(long)])]), "truncate", [long], nothing).why == (
        manual_edits.OUT
    )


def test_of_several_blocks_those_that_gain_are_staged_and_the_rest_is_counted() -> None:
    context = made()
    plain, go, long = apply(context, []), at(context, "lets go"), at(context, "x = 1")
    found = edits_for_key(plain, "truncate", [go, long], nothing)
    assert [edit.targets for edit in found.edits] == [(context.target(long),)] and found.left == 1
    kept: dict[str, bytes] = {}
    outside = edits_for_key(plain, "externalize", [go, long], kept.__setitem__)
    assert len(outside.edits) == 1 and list(kept.values()) == [("x = 1\n" * 400).encode()]
    assert len(edits_for_key(plain, "drop", [go, long], nothing).edits) == 2
    assert edits_for_key(plain, "summarize", list(range(len(context))), nothing).edits, (
        "a whole conversation says something"
    )
