"""Labelled segments in figures: a block's segments sum to the block, categories to the total, however it came."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import block_figures, figures
from ctxtui.analysis.labels.figures import label_figures, segment_figures, segments_of, session_labels
from ctxtui.analysis.labels.labelling import Labelling, searched_text
from ctxtui.analysis.labels.rules import parse_rule
from ctxtui.analysis.labels.segments import UNLABELLED, Segment
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core import block
from ctxtui.core.block import Block
from ctxtui.core.block_content import read
from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.core.tree import Node
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import label_tables, model_table
from ctxtui.tokens.models import ModelCard
from tests.analysis.sessions import Script
from tests.cases import systems
from tests.cases.sessions import MODEL, quick_measure

RULES = Labelling(parse_rule(name, table) for name, table in label_tables().items())
TEXTS = [
    systems.reminder(2),
    systems.screen(3),
    systems.feedback(2),
    systems.memory_text(),
    systems.facts(),
    "a plain question",
    systems.reminder(1) + systems.screen(2),
]


def labels(card: ModelCard):  # type: ignore[no-untyped-def]
    def split(node: Node) -> list[Segment]:
        text, category = searched_text(read(node.block)), CATEGORIES[node.category]
        found = []
        for start, end, rule, begins in RULES.cut(category, node.block.body, text):
            label, counts = ("", node.category)
            if rule != UNLABELLED:
                label, counts = RULES.rules[rule].label, INDEX[RULES.rules[rule].category or category]
            found.append(Segment(start, end, label, counts, begins, end - start))
        return found

    return split


def book_of(script: Script, *, labelled: bool = True) -> Book:
    return Book(script.session, model_table(), quick_measure, labels if labelled else None)


def told(texts: list[str], results: list[str]) -> Script:
    script = Script(MODEL)
    for number, text in enumerate(texts):
        script.hear(block.text(text)).call(block.text("on it"), usage=Usage(fresh=5000 + 3000 * number, output=9))
        for result in results:
            script.hear(_result(result))
    script.call(block.text("done"))
    return script


def _result(text: str) -> Block:
    return block.from_part({"type": "tool_result", "tool_use_id": "toolu_1", "content": text})


SCRIPTS = st.builds(
    told, st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4), st.lists(st.sampled_from(TEXTS), max_size=2)
)


@given(SCRIPTS, st.integers(1, 9))
def test_segments_sum_to_blocks_and_categories_to_the_total(script: Script, step: int) -> None:
    book, whole, plain = book_of(script), book_of(script), book_of(script, labelled=False)
    while book.advance(step)[0] < len(script.session.tree):
        pass
    whole.advance()
    plain.advance()
    running = RunningTotals(book, MODEL)
    running.advance()
    for call in script.session.thread_calls():
        got = figures(book, call)
        rows = list(block_figures(book, call))
        assert got == figures(whole, call)
        rows = [row for row in rows if row.read]
        assert sum(row.tokens for row in rows) + got.residual == got.context_tokens
        assert sum(got.categories.values()) + (got.not_recorded or 0) == sum(row.tokens for row in rows)
        by_category = dict.fromkeys(CATEGORIES, 0)
        for row in rows:
            if row.gone:
                by_category[row.category] += row.tokens
                continue
            parts = segment_figures(book, call.model, row.node) if row.node else []
            assert not parts or sum(part.tokens for part in parts) == row.tokens == running.block_tokens(row.node)
            assert not row.node or row.tokens == running.block_tokens(row.node)
            assert not row.node or row.tokens == sum(book.block_tokens_by_category(call.model, row.node).values())
            for name, tokens in [(p.category, p.tokens) for p in parts] or [(row.category, row.tokens)]:
                by_category[name if name in by_category else "system"] += tokens if row.node else 0
        assert {name: n for name, n in by_category.items() if n} == got.categories
        # What rules call a block moves tokens between categories; it makes none, and no forecast sees it.
        before = figures(plain, call)
        assert abs(sum(got.categories.values()) - sum(before.categories.values())) <= len(CATEGORIES)
        assert (got.context_tokens, book.forecast(call)) == (before.context_tokens, plain.forecast(call))


def test_memory_inside_a_users_message_counts_as_memory() -> None:
    script = told([systems.reminder(2, lines=40) + "Mend the test."], [])
    book = book_of(script)
    book.advance()
    (call, _) = script.session.thread_calls()
    got = figures(book, call)
    assert got.categories["memory"] > 6 * got.categories["user"] > 0
    told_ = {one.label: one.count for one in label_figures(segments_of(book, MODEL, block_figures(book, call)))}
    assert told_ == {"reminder": 1, "memory file": 2}


def test_labels_of_a_session_count_each_block_once() -> None:
    script = told([systems.screen(28), systems.screen(28), systems.screen(9)], [])
    book = book_of(script)
    book.advance()
    assert {one.label: one.count for one in session_labels(book)} == {"button": 37, "scrollbar": 2, "menu": 2}
    call = script.session.thread_calls()[-1]
    parts = segments_of(book, MODEL, block_figures(book, call))
    assert label_figures(parts)[0].count == 65
