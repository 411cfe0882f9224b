"""A diff by category and by size."""

from __future__ import annotations

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.content.diff import Change, DiffSide, compare_contexts
from ctxtui.views.lists.diff import DiffList, by_category
from ctxtui.views.text.span import plain
from tests.cases.sessions import book_of, compacted


def test_sums_by_category_and_the_largest_first() -> None:
    session = compacted()
    book = book_of(session)
    found = compare_contexts(*(DiffSide(book, choose_call(session, "main", number)) for number in (3, 4)))
    [line] = map(plain, by_category(found))
    assert "tool result −" in line and "summary +" in line
    assert line.index("tool result") < line.index("summary"), "the largest first"
    rows = DiffList(found, ())

    def changes() -> list[Change]:
        return [row for row in rows.rows if isinstance(row, Change)]

    before = changes()
    rows.sort()
    sizes = [max(change.tokens_before or 0, change.tokens_after or 0) for change in changes()]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) == len(before)
    rows.sort()
    assert changes() == before


def test_what_both_share_is_said_whole_in_a_narrow_window() -> None:
    session = compacted()
    book = book_of(session)
    found = compare_contexts(*(DiffSide(book, choose_call(session, "main", number)) for number in (3, 4)))
    rows = DiffList(found, ())
    heads = [number for number in range(len(rows.rows)) if not rows.selectable(number)]
    for number in heads:
        whole = plain(rows.rows[number])  # type: ignore[arg-type]
        lines = [plain(rows.line(number, line, 40, here=False)) for line in range(rows.height(number, 40))]
        assert " ".join("".join(lines).split()) == " ".join(whole.split()), number
        assert all(len(line) <= 40 for line in lines), lines
    assert set(heads) <= rows.opened, "so that the pane asks for their height"
