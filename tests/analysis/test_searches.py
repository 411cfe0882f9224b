"""What a search of the provider brought is in no record: it is inferred from the reports, until it is gone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import (
    BlockFigure,
    block_figures,
    figures,
    missing_block,
    name_missing,
    not_recorded_tokens,
)
from ctxtui.analysis.read.searches import LINKED, SEARCHED, SUMMARY, describe_additions
from ctxtui.core import block
from ctxtui.core.block import Block, Item, Place
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Session
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from ctxtui.services.recordings.open import load
from tests.analysis.sessions import Script, book, said
from tests.corpus import need_corpus

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
            head = made.tree.extend(head, [Item(block.from_part(SEARCH), Place("messages", "assistant"))])
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
    lacking = [not_recorded_tokens(known, call) or 0 for call in calls]
    assert lacking[0] == lacking[1] and 7_900 < lacking[2] - lacking[1] < 8_100
    assert lacking[3] == lacking[2], "it is read again"
    assert abs(lacking[4] - lacking[0]) < 60, "until the provider drops it"
    for call in calls:
        got = figures(known, call)
        assert abs(got.residual) < 60
        assert sum(got.categories.values()) + (got.not_recorded or 0) + got.residual == got.context_tokens
    assert "search results" in missing_block(known, calls[3], lacking[3]).block.value()["what"]
    named = [name_missing(known, calls[3], has) for has in ((), ("system",), ("system", "tools"))]
    assert named == ["system prompt, tools and search results", "tools and search results", "search results"]


def test_without_a_search_growth_is_residual() -> None:
    made, calls = session(1_000, 1_012, 9_024, search_at=9)
    known = book(made, model_table())
    assert not_recorded_tokens(known, calls[2]) == not_recorded_tokens(known, calls[0])
    assert figures(known, calls[2]).residual > 7_900
    named = [name_missing(known, calls[2], has) for has in ((), ("tools",), ("system", "tools"))]
    assert named == ["system prompt and tools", "system prompt", "what the client adds"]
    assert name_missing(*wire(block.text("ok")), ()) == "what the provider adds"


# Whole requests: what the provider put in has a row that says what it is.


def wire(*answer: Block, asked: tuple[Block, ...] = (), report: int = 9_000) -> tuple[Book, Call]:
    script = Script("gpt-5", Fidelity.WIRE, "openai")
    call = script.hear(block.text("what is new"), *asked).call(*answer, usage=Usage(fresh=report))
    return book(script.session, model_table()), call


def row_of(counted: Book, call: Call) -> BlockFigure:
    (row,) = [one for one in block_figures(counted, call) if not one.node]
    return row


RAN = block.from_part({"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "news"}})
LINK = block.from_part({"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}})
FOLDED = block.from_part({"type": "compaction", "content": "what was said before"})


@pytest.mark.parametrize(
    ("answer", "asked", "words"),
    [
        ((RAN, block.text("much")), (), SEARCHED),
        (
            (block.from_part({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}),),
            (),
            SEARCHED,
        ),
        ((block.text("read it"),), (LINK,), LINKED),
        (
            (block.text("read it"),),
            (block.from_part({"type": "input_file", "file_url": "https://e.com/a.pdf"}),),
            LINKED,
        ),
        ((FOLDED, block.text("go on")), (), SUMMARY),
        ((RAN, block.text("both")), (LINK,), f"{LINKED}; {SEARCHED}"),
    ],
)
def test_what_the_provider_put_into_a_request_says_what_it_is(
    answer: tuple[Block, ...], asked: tuple[Block, ...], words: str
) -> None:
    counted, call = wire(*answer, asked=asked)
    got, row = figures(counted, call), row_of(counted, call)
    assert got.residual == 0 and got.not_recorded == row.tokens > 8_000
    assert (row.category, row.method) == ("not_recorded", "inferred")
    assert read(row.block).text == f"{words}, not in the recording"


def test_a_request_without_any_of_that_has_no_such_row() -> None:
    inside = block.from_part(
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a b c"}}
    )
    for answer, asked in (((block.text("ok"),), ()), ((block.text("ok"),), (inside,))):
        counted, call = wire(*answer, asked=asked)
        got = figures(counted, call)
        assert got.not_recorded is None and got.residual > 8_000
        assert all(one.node for one in block_figures(counted, call))


def test_what_a_search_brought_does_not_stay_where_the_next_report_is_without_it() -> None:
    script = Script("gpt-5", Fidelity.WIRE, "openai")
    script.hear(block.text("what is new")).call(RAN, block.text("much"), usage=Usage(fresh=9_000))
    later = script.hear(block.text("thanks")).call(block.text("bye"), usage=Usage(fresh=60))
    linked = script.hear(LINK).call(block.text("read it"), usage=Usage(fresh=7_000))
    again = script.hear(block.text("more")).call(block.text("no"), usage=Usage(fresh=7_100))
    counted = book(script.session, model_table())
    assert (figures(counted, later).not_recorded or 0) < 60 and figures(counted, later).residual <= 60
    for call in (linked, again):
        assert (figures(counted, call).not_recorded or 0) > 5_000 and figures(counted, call).residual == 0


def test_a_call_before_the_search_has_nothing_of_it() -> None:
    script = Script("gpt-5", Fidelity.WIRE, "openai")
    before = script.hear(block.text("hello")).call(block.text("hi"), usage=Usage(fresh=60))
    searched = script.hear(block.text("what is new")).call(RAN, block.text("much"), usage=Usage(fresh=9_000))
    after = script.hear(block.text("thanks")).call(block.text("bye"), usage=Usage(fresh=9_100))
    counted = book(script.session, model_table())
    calls = (before, searched, after, replace(after, id=""))  # the last one is not sent yet
    described = [describe_additions(counted.searches, script.session.tree, call) for call in calls]
    assert described == ["", SEARCHED, SEARCHED, SEARCHED]


def test_recorded_passes_of_the_provider_say_what_they_are() -> None:
    files = [*need_corpus("vcr", "*web_search_tool_stream*"), *need_corpus("vcr", "*web_fetch_tool_stream*")]
    for path in [*files, *need_corpus("vcr", "*compaction_usage*")]:
        session = load(path).session
        counted = book(session, model_table())
        for call in session.calls.values():
            got = figures(counted, call)
            assert got.residual == 0 and got.not_recorded == row_of(counted, call).tokens, path.name


def test_what_was_put_in_is_no_more_than_a_request_that_is_on_record_leaves_room_for() -> None:
    """The last pass read the answer's own beginning, too; in the next request that is on record."""
    script = Script("gpt-5", Fidelity.WIRE, "openai")
    said_ = block.text("What was found, told at length. " * 40)
    script.hear(block.text("what is new")).call(block.from_part(SEARCH), said_, usage=Usage(fresh=3_000))
    call = script.hear(block.text("and now")).call(block.text("ok"), usage=Usage(fresh=3_020))
    got = figures(book(script.session, model_table()), call)
    assert got.residual == 0 and got.context_tokens == 3_020 and (got.not_recorded or 0) > 2_000
