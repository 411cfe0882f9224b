"""What the prompt's line answers to keys that edit."""

from __future__ import annotations

from collections.abc import Sequence

from ctxtui.core.edit import Edit, Target, make
from ctxtui.core.edit_log import EditsInForce, Stamp, apply_staged, discard_staged, last_action, undo_last
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.edit_answers import (
    Blocks,
    StagedEdits,
    describe_action,
    explain_no_change,
    needless_answer,
    refused_answer,
    staged_answer,
    undo_answer,
)

BLOCKS = Blocks(lambda target: f"Read {target.digest}", lambda target: target.digest != "header")


def words(spans: Sequence[Span]) -> str:
    return "".join(span.text for span in spans)


def edit(kind: str, *names: str, id: str = "", author: str = "user") -> Edit:
    return make(kind, [Target(name) for name in names], {}, id=id, author=author, batch=id)


def test_what_was_done_and_what_it_gained() -> None:
    cut = StagedEdits(edits=[edit("truncate", "a.md")], before=2800, gained=2400)
    assert words(staged_answer(cut, BLOCKS)) == "✓ truncated: Read a.md  2.8k → 400"
    drop = StagedEdits(edits=[edit("drop", "a.md")], before=4600, gained=4650, repairs=1)
    assert words(staged_answer(drop, BLOCKS)) == "✓ dropped: Read a.md  −4.7k, 1 more with it"
    answer = StagedEdits(edits=[edit("drop", "a.md")], before=314, gained=0)
    assert words(staged_answer(answer, BLOCKS)) == "✓ dropped: Read a.md  frees nothing in this request"
    many = StagedEdits(
        edits=[edit("truncate", "a"), edit("truncate", "b")],
        before=9000,
        gained=None,
        unchanged=3,
        reason="already short",
    )
    assert words(staged_answer(many, BLOCKS)) == "✓ truncated: 2 blocks  ·; 3 unchanged: already short"
    assert words(staged_answer(StagedEdits(edits=[edit("pin", "a")], before=5, gained=0), BLOCKS)) == "✓ pinned: Read a"
    whole = StagedEdits(edits=[edit("summarize", "header", "a")], before=900, gained=600)
    assert "Read a  900 → 300" in words(staged_answer(whole, BLOCKS)), "a message's header is no block"
    by_agent = StagedEdits(edits=[edit("breakpoint", "a", author="agent")], before=5, gained=0)
    assert words(staged_answer(by_agent, BLOCKS)) == "✓ agent: breakpoint of 5 minutes after: Read a"


def test_what_costs_more_is_needless_and_says_so() -> None:
    what = StagedEdits(edits=[edit("externalize", "a")], before=3, gained=-11)
    assert what.is_needless and words(needless_answer(what, BLOCKS)) == (
        "✗ not externalized: Read a 3 → 14, nothing is gained"
    )
    for kind in ("pin", "drop", "note", "breakpoint", "replace", "hoist"):
        assert not StagedEdits(edits=[edit(kind, "a")], before=3, gained=0).is_needless, kind
    assert not StagedEdits(edits=[edit("truncate", "a")], before=3, gained=None).is_needless
    assert words(refused_answer("already short", 53, 1)) == "✗ already short: 53 tokens"
    assert words(refused_answer("already short", 153, 3)) == "✗ already short: 153 tokens (3 blocks)"


def test_undo_names_what_it_undid_and_what_comes_next() -> None:
    log = [edit("drop", "a", id="1"), edit("truncate", "b", id="2"), edit("pin", "c", id="3")]
    log += apply_staged(log, Stamp("a", 1.0))
    by_id = {one.id: one for one in log}
    assert describe_action(last_action(log), by_id, BLOCKS) == "apply of 3", "one step"
    entries = last_action(log)
    log += undo_last(log, Stamp("u", 2.0))
    told = words(undo_answer(entries, by_id, BLOCKS, -4600, last_action(log), "u"))
    assert told == "undone: apply of 3  +4.6k · u next: pin of Read c"
    log += discard_staged(log, Stamp("x", 3.0))
    by_id = {one.id: one for one in log}
    assert describe_action(last_action(log), by_id, BLOCKS) == "discard of 3"
    assert words(undo_answer(last_action(log), by_id, BLOCKS, None, (), "^r")).endswith("nothing more to do again")
    assert describe_action([edit("drop", "a", id="9", author="budget")], {}, BLOCKS) == "budget: drop of Read a"


def test_edits_of_which_some_are_only_staged_are_not_called_applied() -> None:
    drop, pin = edit("drop", "a"), edit("pin", "b")
    assert explain_no_change([drop], EditsInForce((drop,), (pin,))) == "already applied: E takes it back"
    assert explain_no_change([pin], EditsInForce((drop,), (pin,))) == "already staged: a applies it, E takes it back"
    assert explain_no_change([drop, pin], EditsInForce((drop,), (pin,))) == (
        "already staged or applied: E takes them back"
    )
