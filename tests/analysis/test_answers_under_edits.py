"""What a call that left under edits was answered: everything that asks for an answer gets that, and no history."""

from __future__ import annotations

import pytest

from ctxtui.analysis.content.block_lifetimes import Stays
from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call
from ctxtui.core.session import MAIN, CallSeen, Session, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.services.chat.offline_provider import playback_of

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
    stays = Stays(session.tree)
    stays.advance([call])
    assert [session.tree[node].block for node in stays.answers()] == [one.block for one in SAID]
    said = playback_of(session)._answers
    assert [[part.text for part in one.parts] for one in said] == [["four", "five"]]
