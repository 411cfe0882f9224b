"""What side panes keep from one showing to the next is what they would show anew."""

from __future__ import annotations

from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.core.session import MAIN
from ctxtui.tui.inspector.side_panels import Sides
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.transcript.context_rows import ContextRows
from tests.services.editing.test_next_request_of_a_growing_context import say
from tests.services.editing.test_staging import Table, talk


def test_what_blocks_have_cost_is_worked_out_anew_when_a_call_is_entered_or_taken_back() -> None:
    table = talk(8)
    known = table.study.thread(MAIN)
    kept, rows = Sides(table.study.session.tree), ContextRows(Readings(table.study.session, table.study.book.names))
    ledger = CostLedger(table.study.book, table.scene.running, BlockLifetimes(table.study.session.tree))
    known.ledger = ledger
    seen = set()
    for done in (1, 2, 3, 8, 2, 5, 8):
        if done < ledger.done:
            ledger.truncate(done)
            ledger.lifetimes.truncate(done)
        ledger.advance(known.calls, table.study.costs, done - ledger.done)
        assert ledger.done == done
        for call in (3, 7):
            table.call = call
            _same(kept, rows, table, seen)
        say(table, f"after {done}")
        _same(kept, rows, table, seen)
    assert len(seen) > 10, "costs are not all the same"


def _same(kept: Sides, rows: ContextRows, table: Table, seen: set[float | None]) -> None:
    scene, known = table.scene, table.study.thread(MAIN)
    fresh = Sides(table.study.session.tree)
    for node in table.study.session.tree.path(scene.head):
        row = kept.heavy(rows, known, scene, node)
        assert row == fresh.heavy(rows, known, scene, node) == kept.heavy(rows, known, scene, node)
        seen.add(row.usd)
    assert kept.legend(known, 60) == fresh.legend(known, 60)
