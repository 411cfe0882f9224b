"""What a search of the provider brought is in no record: it is inferred from the reports, until it is gone."""

from __future__ import annotations

from ctxtui.analysis.figures import figures, missing_block, not_recorded
from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Session
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from tests.analysis.sessions import book, said

MODEL = "gpt-5.6-sol"
SEARCH = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}}


def session(*inputs: int, search_at: int) -> tuple[Session, list[Call]]:
    """Calls with these inputs; in the answer of the one numbered `search_at` a search ran."""
    made = Session()
    head = made.tree.extend(ROOT, said("user", block.text("look it up")))
    calls = []
    for number, tokens in enumerate(inputs):
        before = head
        if number == search_at:
            head = made.tree.extend(head, [Item(block.of(SEARCH), Place("messages", "assistant"))])
        head = made.tree.extend(head, said("assistant", block.text("ok")))
        usage = Usage(fresh=tokens, output=5)
        id_ = f"call {number}"
        calls.append(Call(id_, MAIN, before, before, head, model=MODEL, usage=usage, fidelity=Fidelity.TRANSCRIPT))
        made.apply(CallSeen(calls[-1]))
        head = made.tree.extend(head, said("user", block.text("on")))
    return made, calls


def test_what_a_search_brought_is_not_recorded_and_no_residual() -> None:
    made, calls = session(1_000, 1_012, 9_024, 9_060, 1_072, search_at=2)
    known = book(made, model_table())
    lacking = [not_recorded(known, call) or 0 for call in calls]
    assert lacking[0] == lacking[1] and 7_900 < lacking[2] - lacking[1] < 8_100
    assert lacking[3] == lacking[2], "it is read again"
    assert abs(lacking[4] - lacking[0]) < 60, "until the provider drops it"
    for call in calls:
        got = figures(known, call)
        assert abs(got.residual) < 60
        assert sum(got.categories.values()) + (got.not_recorded or 0) + got.residual == got.context_tokens
    assert "searches" in missing_block(known, calls[3], lacking[3]).block.value()["what"]


def test_without_a_search_growth_is_residual() -> None:
    made, calls = session(1_000, 1_012, 9_024, search_at=9)
    known = book(made, model_table())
    assert not_recorded(known, calls[2]) == not_recorded(known, calls[0])
    assert figures(known, calls[2]).residual > 7_900
