"""What a call that left under edits was answered: everything that asks for an answer gets that, and no history."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.analysis.cache.marker_trials import learnt_prompts
from ctxtui.analysis.content.agreement import extract_step
from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.analysis.content.dead_results import find_dead_results
from ctxtui.analysis.read.reported_thinking import ReportedThinking
from ctxtui.analysis.read.searches import is_compacted
from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call
from ctxtui.core.session import MAIN, CallSeen, Session, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.services.chat.offline_provider import build_playback
from ctxtui.services.chat.resending import recorded_step
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules_by_call
from tests.analysis.sessions import book

USER, ASSISTANT = Place("messages", "user"), Place("messages", "assistant")
ASKED = [Item(block.text(words), USER) for words in ("one", "two", "three")]
SAID = [Item(block.text(words), ASSISTANT) for words in ("four", "five")]


def edited(left: list[Item]) -> tuple[Session, Call]:
    tree = Tree()
    raw, sent = tree.extend(ROOT, ASKED), tree.extend(ROOT, left)
    call = Call("a", MAIN, raw, sent, tree.extend(raw, SAID), model="m", provider="anthropic")
    return Session(tree).fold([CallSeen(call), TipMoved(MAIN, call.response_head)]), call


@pytest.mark.parametrize("left", [ASKED, ASKED[1:], ASKED[:2], [Item(block.text("short"), USER)]])
def test_the_answer_is_what_was_said(left: list[Item]) -> None:
    session, call = edited(left)
    stays = BlockLifetimes(session.tree)
    stays.advance([call])
    assert [session.tree[node].block for node in stays.answer_nodes()] == [one.block for one in SAID]
    said = build_playback(session)._answers
    assert [[part.text for part in one.parts] for one in said] == [["four", "five"]]


def test_what_edits_left_out_is_taken_for_no_answer() -> None:
    tree = Tree()
    thought = Item(block.from_part({"type": "reasoning", "encrypted_content": "hm " * 40}), ASSISTANT)
    summed_up = Item(block.from_part({"type": "compaction", "content": "all of it"}), ASSISTANT)
    raw, sent = tree.extend(ROOT, [*ASKED, thought, summed_up]), tree.extend(ROOT, ASKED)
    answer = tree.extend(raw, [thought, *SAID])
    call = Call("a", MAIN, raw, sent, answer, model="m", usage=Usage(fresh=10, output=60, reasoning=50))
    known = ReportedThinking(Session(tree).fold([CallSeen(call)]))
    known.advance()
    assert list(known.tokens) == [tree.path(answer, raw)[0]]
    assert not is_compacted(tree, call)


@pytest.mark.parametrize("left", [ASKED, ASKED[1:], ASKED[:2]])
def test_what_is_sent_again_is_held_against_what_was_said(left: list[Item]) -> None:
    session, call = edited(left)
    assert recorded_step(session, call) == extract_step(SAID)
    assert recorded_step(session, replace(call, response_head=call.raw_head)) is None


@pytest.mark.parametrize("left", [ASKED, ASKED[1:], ASKED[:2]])
def test_what_an_answer_quotes_is_quoted_whatever_left(left: list[Item]) -> None:
    place = Place("messages", "user")
    read = {"type": "tool_result", "tool_use_id": "t", "content": "see /srv/silver/ledger-7731.txt " + "row " * 900}
    tree, taken, calls = Tree(), Item(block.from_part(read), place), []
    raw, sent = tree.extend(ROOT, [*ASKED, taken]), tree.extend(ROOT, [*left, taken])
    quote = Item(block.text("It is in /srv/silver/ledger-7731.txt."), ASSISTANT)
    for number in range(4):
        head, gone = tree.extend(raw, SAID[:1] * number), tree.extend(sent, SAID[:1] * number)
        calls.append(Call(str(number), MAIN, head, gone, tree.extend(head, [quote if number == 3 else SAID[0]])))
    stays = BlockLifetimes(tree)
    stays.advance(calls)
    found = find_dead_results(tree, calls, stays, lambda node: len(tree[node].block.body))
    assert found.judged == 1 and found.dead == ()


@pytest.mark.parametrize(("left", "held"), [(ASKED, True), (ASKED[1:], False), (ASKED[:2], False)])
def test_a_cache_holds_no_answer_to_another_context_than_the_one_that_left(left: list[Item], held: bool) -> None:
    session, call = edited(left)
    made = book(session, model_table())
    asked = learnt_prompts(made, cache_rules_by_call(made)).prompt(
        replace(call, model="claude-opus-4-5-20251101"), 100, "", answered=True
    )
    assert (asked.answer is not None) == held
