"""A new column of Home: one entry, and its figure in the summary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.cli.manage.sessions import _rows, _table
from ctxtui.tui.home.screen import NextSort
from ctxtui.views.home import columns
from ctxtui.views.text.span import Span, plain
from tests.tui.home.test_home import HomeApp, Shelf, glimpse, until
from tests.views.home.test_home import NOW, one, sorted_by

AGENTS = columns.HomeColumn(
    "agents", 6, lambda row, _: Span(f"{row.summary.subagents:,}", "ink"), gap=1, from_width=columns.WIDE,
    sort=lambda row: row.summary.subagents, field="subagents", value=lambda s: s.subagents,
    printed=11, text=lambda s: f"{s.subagents} agents",
)  # fmt: skip


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "TABLE", replace(columns.TABLE, columns=(*columns.TABLE.columns, AGENTS)))


@pytest.mark.usefixtures("added")
def test_rows_heads_sorting_help_and_the_command_line_have_a_new_column() -> None:
    few, many, unread = one("few", subagents=2), one("many", subagents=31), one("unread", known=False)
    assert "agents" in plain(columns.heads(160, "age")) and "agents" not in plain(columns.heads(159, "age"))
    assert plain(columns.row(many, 160, NOW)).rstrip().endswith("31")
    assert plain(columns.row(unread, 160, NOW)).rstrip().endswith("·")
    assert sorted_by("agents", unread, few, many) == ["many", "few", "unread"]
    assert "title, agents" in NextSort.help()
    ids = {"many": "id-1"}
    assert plain(_table(ids, NOW).draw(many, 0)).endswith("  31 agents  ")
    assert _rows([many], ids)[0]["subagents"] == 31


@pytest.mark.usefixtures("added")
async def test_home_paints_it_and_a_click_on_its_head_sorts_by_it() -> None:
    app = HomeApp(Shelf([glimpse("few"), glimpse("many")]))
    async with app.run_test(size=(200, 30)) as pilot:
        await until(pilot, app, "agents")
        at = plain(columns.heads(200, "")).index("agents")
        await pilot.click("Heads", offset=(at + 1, 0))
        await until(pilot, app, "sort: agents ↓")


def test_which_modules_a_column_touches() -> None:
    # Home's column of misses: its figure in `summary`, filled by the reading of a session, and its entry.
    views = Path(columns.__file__).parents[1]
    naming = [p for p in views.rglob("*.py") if re.search(r"\bsummary\.misses\b|HomeColumn\(", p.read_text("utf-8"))]
    assert [p.name for p in naming] == ["columns.py"]
    assert not [p for p in views.parent.rglob("*.py") if re.search(r"import .*\bSORTS\b", p.read_text("utf-8"))]
