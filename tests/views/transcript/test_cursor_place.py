"""Where the cursor stood is found again among other rows."""

from __future__ import annotations

from ctxtui.core.edit_kinds import SUMMARIZE
from ctxtui.core.session import MAIN
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.transcript.context_rows import HIDDEN, LINE, ContextRows
from ctxtui.views.transcript.cursor_place import CursorPlace, position_of_row
from tests.cases.sessions import compacted, every_category
from tests.services.editing.test_staging import Table
from tests.views.transcript.test_kept_rows import shown


def of_call(table: Table, call: int, rows: ContextRows, how: tuple[str, ...] = (LINE,) * 11) -> ContextRows:
    table.call, known = call, table.study.thread(MAIN)
    rows.show(table.scene, known.boundaries, known.ledger, how)
    return rows


def test_every_row_is_found_where_it_is_and_in_every_later_call() -> None:
    table = Table(every_category())
    rows, last = (ContextRows(Readings(table.study.session, table.study.book.names)) for _ in range(2))
    calls = len(table.study.thread(MAIN).calls)
    of_call(table, calls - 1, last)
    for call in range(calls):
        of_call(table, call, rows)
        for row in range(rows.count):
            rule = rows.rule_at(row)
            place = position_of_row(rows, row, rule)
            assert place.row_in(rows) == row
            if place.node is not None and last.holds(place.node):
                found = place.row_in(last)
                assert found is not None and last.entry(found) == place.node


def test_nowhere_is_nowhere() -> None:
    assert position_of_row(None, 3) == CursorPlace()
    table = Table(compacted())
    rows = ContextRows(Readings(table.study.session, table.study.book.names))
    assert position_of_row(rows, 0) == CursorPlace()
    of_call(table, 0, rows)
    assert CursorPlace().row_in(rows) is None
    assert position_of_row(rows, rows.count + 5) == position_of_row(rows, rows.count - 1), (
        "the last row where there are fewer"
    )
    last = len(table.study.thread(MAIN).calls) - 1
    gone = [position_of_row(rows, row) for row in range(rows.count) if rows.entry(row) > 0]
    of_call(table, last, rows)
    assert None in [place.row_in(rows) for place in gone], "a compaction took it"


def test_a_rule_that_came_under_the_cursor_is_not_where_anybody_went() -> None:
    table = Table(compacted())
    rows = of_call(
        table,
        len(table.study.thread(MAIN).calls) - 1,
        ContextRows(Readings(table.study.session, table.study.book.names)),
    )
    at = next(row for row in range(rows.count) if rows.rule_at(row) is not None)
    assert position_of_row(rows, at) == CursorPlace()
    rule = rows.rule_at(at)
    assert position_of_row(rows, at, rule).rule == rule and position_of_row(rows, at + 1, rule).rule is None


def test_a_rule_of_which_more_is_known_is_the_same_one() -> None:
    table = Table(every_category())
    rows = of_call(table, 0, ContextRows(Readings(table.study.session, table.study.book.names)))
    at, rule = next((row, rule) for row in range(rows.count) if (rule := rows.rule_at(row)) is not None)
    assert rule.kind == "answer" and position_of_row(rows, at, rule._replace(text="54 tokens")).rule == rule
    assert position_of_row(rows, at, rule).row_in(rows) == at, "what it stands before has no row of its own"


def test_a_hidden_block_is_the_nearest_row_above_it() -> None:
    table = Table(every_category())
    last = len(table.study.thread(MAIN).calls) - 1
    rows = of_call(table, last, ContextRows(Readings(table.study.session, table.study.book.names)))
    places = [position_of_row(rows, row) for row in range(rows.count)]
    of_call(table, last, rows, (HIDDEN,) * 11)
    found = [place.row_in(rows) for place in places if place.node]
    assert found and all(row is not None and row < rows.count for row in found)
    assert found == sorted(found, key=lambda row: row or 0)


def test_what_an_edit_puts_in_no_more_is_the_block_in_its_place() -> None:
    table = Table(every_category())
    rows = ContextRows(Readings(table.study.session, table.study.book.names))
    node = table.results()[0]
    table.stage(SUMMARIZE, node, text="short")
    table.work()
    shown(rows, table, frozenset())
    at, new = rows.inserts[0]
    place = position_of_row(rows, at)
    assert place.new == new and place.row_in(rows) == at
    rows.staging = None
    of_call(table, table.call, rows)
    row = place.row_in(rows)
    assert row == rows.index_of(rows.path[new.at])
