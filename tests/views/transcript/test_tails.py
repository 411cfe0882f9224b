"""What stands behind a context that left under edits: the answer and what came since, once each."""

from __future__ import annotations

import pytest

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call
from ctxtui.core.session import MAIN, CallSeen, Described, Session, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.views.text.span import plain
from ctxtui.views.transcript.rows import TranscriptRow
from tests.cases.scenes import rows_of, study_of

USER, ASSISTANT = Place("messages", "user"), Place("messages", "assistant")
ASKED = [Item(block.text(words), USER) for words in ("one", "two", "three")]
SAID = [Item(block.text(words), ASSISTANT) for words in ("four", "five")]
NEXT = [Item(block.text("six"), USER)]
MORE = [Item(block.text(f"new {n}"), USER) for n in range(6)]


@pytest.mark.parametrize("left", [ASKED, ASKED[1:], ASKED[:2], [*MORE, *ASKED], [MORE[0], *ASKED[1:]], MORE[:1]])
@pytest.mark.parametrize("since", [[], NEXT])
def test_an_answer_stands_behind_whatever_left(left: list[Item], since: list[Item]) -> None:
    tree = Tree()
    raw, sent = tree.extend(ROOT, ASKED), tree.extend(ROOT, left)
    answer = tree.extend(raw, SAID)
    tip = tree.extend(answer, since)
    session = Session(tree).fold([CallSeen(Call("a", MAIN, raw, sent, answer, model="m")), TipMoved(MAIN, tip)])
    rows = rows_of(study_of(session))
    told = [rule.kind if (rule := rows.rule_at(n)) else tree[rows.entry(n)].block for n in range(rows.count)]
    wanted = [*left, "answer", *SAID, *(["since", *since] if since else [])]
    assert told == [one.block if isinstance(one, Item) else one for one in wanted]
    assert rows.blocks == len(left)
    shown = [rows.entry(n) for n in range(rows.count) if not rows.rule_at(n)]
    for node in shown:
        assert rows.holds(node) and rows.entry(rows.index_of(node)) == node
    assert not any(rows.holds(node) for node in set(tree.path(raw)) - set(shown))


def test_a_held_request_after_an_edited_one_shows_as_unsent_only_what_is_new() -> None:
    tree, head = Tree(), Item(block.header("user"), USER)
    edited = [head, MORE[0], *ASKED[1:]]
    raw, sent = tree.extend(ROOT, [head, *ASKED]), tree.extend(ROOT, edited)
    answer = tree.extend(sent, SAID)
    again = [Item(block.text("four, five"), ASSISTANT), *NEXT]
    tip = tree.extend(raw, again)
    for own, first in ((raw, ASKED), (ROOT, [])):
        call = Call("a", MAIN, own, sent, answer, model="m")
        events = [Described(source="attached"), CallSeen(call), TipMoved(MAIN, tip)]
        rows = rows_of(study_of(Session(tree).fold(events)))
        shown = [rule.kind if (rule := rows.rule_at(n)) else tree[rows.entry(n)].block for n in range(rows.count)]
        rest = again if first else [*ASKED, *again]
        assert shown == [*(one.block for one in first), "since", *(one.block for one in rest)]


def test_an_answer_after_inserted_blocks_was_not_charged_as_input() -> None:
    tree = Tree()
    raw, sent = tree.extend(ROOT, ASKED), tree.extend(ROOT, [*MORE, *ASKED])
    answer = tree.extend(raw, SAID)
    usage = Usage(fresh=5, cache_read=10, write_5m=20, output=10)
    call = Call("a", MAIN, raw, sent, answer, provider="anthropic", model="claude-opus-4-5", usage=usage)
    rows = rows_of(study_of(Session(tree).fold([CallSeen(call), TipMoved(MAIN, answer)])))
    gutters = [row.gutter.text for n in range(rows.count) if isinstance(row := rows.row(n), TranscriptRow)]
    assert " " not in gutters[:-2] and gutters[-2:] == [" ", " "]


def test_encrypted_reasoning_of_an_answer_after_inserted_blocks_is_counted_once() -> None:
    sealed = Item(block.from_part({"type": "reasoning", "summary": [], "encrypted_content": "x" * 40}), ASSISTANT)
    tree = Tree()
    raw, sent = tree.extend(ROOT, ASKED), tree.extend(ROOT, [*MORE, *ASKED])
    answer = tree.extend(raw, [sealed, *SAID])
    next_sent = tree.extend(sent, [sealed, *SAID, *NEXT])
    end = tree.extend(next_sent, SAID)
    calls = [
        Call("a", MAIN, raw, sent, answer, provider="openai", model="gpt-5"),
        Call("b", MAIN, tree.extend(answer, NEXT), next_sent, end, provider="openai", model="gpt-5"),
    ]
    study = study_of(Session(tree).fold([*map(CallSeen, calls), TipMoved(MAIN, end)]))
    rows, known = rows_of(study, 0), study.thread(MAIN)
    for index in (1, 0, 1):
        rows.show(study.scene(MAIN, index), known.boundaries, known.ledger, rows.shown)
        found = [rows.row(n) for n in range(rows.count)]
        [row] = [row for row in found if isinstance(row, TranscriptRow) and "encrypted" in plain(row.words)]
        assert "blocks" not in plain(row.words)
