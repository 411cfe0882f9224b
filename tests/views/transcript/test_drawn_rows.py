"""Lines that were drawn before are those that would be drawn now."""

from __future__ import annotations

import pytest

from ctxtui.core.edit_kinds import DROP, PIN, TRUNCATE
from ctxtui.core.session import MAIN
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.span import Span
from ctxtui.views.transcript.context_rows import LINE, ContextRows
from tests.cases.sessions import every_category
from tests.services.editing.test_staging import Table


def shown(rows: ContextRows, table: Table, marked: frozenset[int]) -> list[list[Span]]:
    """Every line of the scene under its edits."""
    scene, known = table.scene, table.study.thread(MAIN)
    staged = table.desk.has_edits(MAIN)
    rows.staging = table.desk.staging(scene, marked) if staged else None
    rows.marked = marked
    rows.show(scene, known.boundaries, known.ledger, (LINE,) * 11)
    grid = Grid.of(70, 120, staged=staged)
    return [list(rows.line(index, 0, grid, "▸" if index == 2 else " ")) for index in range(rows.count)]


@pytest.mark.parametrize("kinds", [(DROP, TRUNCATE, PIN), (PIN, DROP, TRUNCATE), (TRUNCATE, PIN, DROP)])
def test_what_was_drawn_before_is_what_would_be_drawn_now(kinds: tuple[str, ...]) -> None:
    table = Table(every_category())
    kept = ContextRows(Readings(table.study.session, table.study.book.names))
    seen = []
    for n, kind in enumerate(("", *kinds)):
        if kind:
            table.stage(kind, table.results()[n % 2], **({"head": 5, "tail": 0} if kind == TRUNCATE else {}))
            table.work()
        marked = frozenset(table.desk.context(table.scene).nodes[n : n + 1])
        fresh = ContextRows(Readings(table.study.session, table.study.book.names))
        seen.append(shown(kept, table, marked))
        assert seen[-1] == shown(fresh, table, marked)
    assert len({repr(one) for one in seen}) == len(seen), "every step shows something else"
