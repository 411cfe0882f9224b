"""Texts of lists: what they say holds, and it is safe to draw."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.analysis.content.agreement import NextStep, ToolCall, Trial
from ctxtui.analysis.content.compactions import DECISION, FILE, LITERAL, Compaction, Fact, Recovery
from ctxtui.analysis.content.duplicates import EDITED, REREAD, Duplicate
from ctxtui.analysis.money.bill import FIRST, Bill, ResidualSum
from ctxtui.analysis.money.spending import CONVERSATION, SpendingRow
from ctxtui.analysis.money.statement import Statement, StatementBlock
from ctxtui.core.category import INDEX
from ctxtui.views.lists import compactions, duplicates, resend, suggestions
from ctxtui.views.lists.costs import bill, stats
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import plain


@pytest.mark.parametrize(("usd", "least"), [(0.5, "$0.010"), (4.0, "$0.040")])
def test_the_savings_that_were_not_found_are_those_that_are_looked_for(usd: float, least: str) -> None:
    priced = Bill(priced=1)
    priced.add(FIRST, usd, 1000)
    (line,) = bill.saving_lines(Statement(bill=priced))
    assert f"Nothing found that would have saved {least} or more." in plain(line.spans)
    assert line.sum.startswith(f"{least} of ")


def test_the_shortest_residual_has_both_sides_and_whole_counts() -> None:
    both = Bill(beyond=ResidualSum(0.02, 3_400, 1_200), short=ResidualSum(0.01, 900, 1))
    assert bill.residual_texts(both)[-1] == "+3.4k in 1,200 calls; −900 in 1 call"


def test_a_block_says_how_often_it_was_sent() -> None:
    block = StatementBlock(category="user", label="", about="one", tokens=100, usd=0.5, calls=65)
    (line,) = bill.block_lines(Statement(heaviest=[block]), 80)
    assert "65 times" in plain(line.spans) and line.sum.startswith("100 tokens × 65 times = 6,500.")


@pytest.mark.parametrize("name", ["user", "image", "document", "read_file"])
def test_a_tool_has_the_sign_of_tools_whatever_its_name(name: str) -> None:
    rows = [SpendingRow(name, 0.5), SpendingRow(CONVERSATION, 0.4)]
    tool, rest = [bill.spending_table(rows, 1.0).draw(row, 100) for row in rows]
    sign = CATEGORY[INDEX["tool_call"]]
    assert plain(tool).strip().startswith(sign.glyph) and sign.glyph not in plain(rest)


def test_an_answer_of_a_model_is_drawn_without_escapes() -> None:
    step = NextStep((ToolCall("f", '{"a":"\u202eb"}'),), "one\x1b[31m\n\nthree")
    drawn = [
        plain(line)
        for line in resend.side_by_side(Trial(variant="v", number=1, recorded=step, new=None, error="\x1b]0;x"), 80)
    ]
    assert len(drawn) == 6 and not any(char in line for line in drawn for char in "\x1b\u202e")


def test_a_change_of_a_file_is_not_called_a_copy() -> None:
    def said(kind: str) -> str:
        return duplicates._explain_location(duplicates.Repeated(Duplicate(3, kind, 7, path="a"), 9, 0, 2, 5))

    assert said(EDITED) == "Changed by: turn 2, block 5." and said(REREAD) == "Other copy: turn 2, block 5."


def test_a_block_that_grows_has_more_tokens_not_fewer() -> None:
    row = suggestions.ChangedBlock(0, 0, "summary", 0, 500)
    assert suggestions.explain_block(row) == "500 then = 0 now + 500 more."


def test_the_empty_summary_names_a_command_that_exists() -> None:
    assert "`ctxtui import`" in stats.NONE_YET


def test_facts_are_counted_as_they_are_listed() -> None:
    """A file that the summary names and that was read again is in both lists; kept literals are only counted."""
    again = Recovery(how=REREAD, call=4, node=9, tokens=300)
    facts = tuple(
        Fact(kind=kind, text=f"{n}", node=n, times=1, is_kept=kept, recoveries=more)
        for n, (kind, kept, more) in enumerate(
            [(FILE, True, (again,)), (FILE, True, ()), (DECISION, False, ()), (LITERAL, False, ())]
        )
    )
    unused: Any = None
    made = Compaction(
        thread="main", number=2, trigger="", at=None, before=unused, after=unused, summary=(),
        summary_tokens=0, kept_nodes=(), kept_tokens=0, replaced=4, sealed=False, facts=facts, literals=(9, 2),
    )  # fmt: skip
    assert plain(compactions.listed_counts(made, compactions.LOST)) == "1 file, 1 decision, 7 literals"
    assert plain(compactions.listed_counts(made, compactions.KEPT)) == "2 files, 0 decisions, 2 literals"
