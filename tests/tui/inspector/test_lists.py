"""The lists over the Inspector: threads and tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.services.config.settings import Settings
from ctxtui.tui.inspector.controllers.notes import NotesController
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.blocks import HeaviestScreen, RepeatsScreen, StaleScreen, ToolsScreen
from ctxtui.tui.widgets.keyline import KeyLine
from ctxtui.views.text.span import plain
from tests.cases.growing import rounds
from tests.cases.inspect import HandMade, app_of
from tests.cases.sessions import Story, every_category, long_session, use, with_subagents
from tests.sampling import few
from tests.tui.inspector.controllers.test_staging import session
from tests.tui.inspector.test_inspector import opened, settled, text, until
from tests.tui.waiting import do, from_palette


def seen(screen) -> str:  # type: ignore[no-untyped-def]
    return text(screen.app.screen)


@pytest.mark.parametrize("size", few([(80, 24), (120, 40), (200, 60)]))
async def test_threads_are_listed_with_their_figures_and_one_goes_there_and_back(size: tuple[int, int]) -> None:
    async with opened(with_subagents(), size) as (screen, pilot):
        await pilot.press("home")
        await from_palette(pilot, "threads")
        await until(pilot, lambda: "$" in seen(screen))
        shown = seen(screen)
        assert all(word in shown for word in ("threads", "peak", "cost", "├ ○ Find", "└ ○ Upda", "● main"))
        await pilot.press("down", "enter")
        assert screen.state.thread == "find" and screen.app.screen is screen
        await pilot.press("home")
        await from_palette(pilot, "threads")
        assert "● Find" in seen(screen)
        # The cursor stands where one came from: back to the very call.
        await pilot.press("enter")
        assert screen.state.thread == "main" and screen.state.index == 0
        await from_palette(pilot, "threads")
        await pilot.press("escape")
        assert screen.app.screen is screen and screen.state.thread == "main"


async def test_tools_are_listed_by_server() -> None:
    async with opened(every_category(), (80, 24)) as (screen, pilot):
        await from_palette(pilot, "tools by server")
        await until(pilot, lambda: "mcp" in seen(screen))
        shown = seen(screen)
        assert "built-in" in shown and "mcp puppeteer" in shown and "Bash" in shown
        await pilot.press("down", "q")
        assert screen.app.screen is screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_blocks_are_listed_by_carry_tokens_and_cost(size: tuple[int, int]) -> None:
    async with opened(long_session(40, text="word " * 50), size) as (screen, pilot):
        await pilot.press("W")
        await until(pilot, lambda: "carried in all" in seen(screen))
        assert "carry ↓" in seen(screen) and "high" in seen(screen)
        await pilot.press("S")
        assert "tokens ↓" in seen(screen)
        await pilot.press("S")
        assert "cost ↓" in seen(screen), "the column of the order is seen at any width"
        await pilot.press("S", "S", "down", "enter")
        node = screen.panels.transcript.node
        assert screen.app.screen is screen and node is not None
        await pilot.press("home", "end", "W")
        await until(pilot, lambda: "carried in all" in seen(screen))
        listed = screen.app.screen
        assert isinstance(listed, HeaviestScreen) and "tokens ↓" in seen(screen)
        assert listed.pane.row is not None and listed.node(listed.pane.row) == node


@pytest.mark.parametrize("key", ["dollar_sign", "percent_sign", "W", "c", "exclamation_mark"])
@pytest.mark.parametrize("width", [80, 120])
async def test_every_list_names_its_way_out(key: str, width: int) -> None:
    async with opened(every_category(), (width, 24)) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        await pilot.press(key)
        await until(pilot, lambda: screen.app.screen is not screen)
        assert "  esc close " in seen(screen).splitlines()[-1]
        line = screen.app.screen.query_one(KeyLine)
        await pilot.click(line, offset=(line.render_line(0).text.index("esc"), 0))
        await until(pilot, lambda: screen.app.screen is screen)


async def test_rows_of_a_list_are_marked_and_dropped_and_the_list_stays() -> None:
    async with opened(long_session(40, text="word " * 50), (80, 24)) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        await pilot.press("W")
        await until(pilot, lambda: "carried in all" in seen(screen))
        assert "⏎ go to it  ← → tab  space mark  d drop  S order  esc close" in seen(screen)
        listed = screen.app.screen
        assert isinstance(listed, HeaviestScreen)
        await pilot.press("home", "down", "down", "space", "space")
        assert len(screen.state.marks) == 2 and seen(screen).count("■") == 3 and "■ 2 marked" in seen(screen)
        at, marked = listed.pane.cursor, screen.state.marks
        await pilot.press("d")
        await until(pilot, lambda: "dropped: 2 blocks" in seen(screen))
        staging = screen.panels.staging
        assert staging is not None and all(node in staging.fates for node in marked) and screen.state.marks == ()
        assert screen.app.screen is listed and listed.pane.cursor == at and seen(screen).count("⊗") >= 2
        row = listed.pane.row
        assert row is not None
        await pilot.press("d")
        await until(pilot, lambda: listed.sign(row).text == "⊗")
        await until(pilot, lambda: screen.edits.staging_area is not None and not screen.edits.staging_area.unsaved)
        await pilot.press("R")
        assert "not in this list. ⏎ goes to the block" in seen(screen), "a key that edits elsewhere says so"
        await pilot.press("X")
        assert "not in this list. press esc first" in seen(screen)
        await pilot.press("d")
        await until(pilot, lambda: listed.sign(row).text == " ")


async def test_a_list_without_blocks_says_why_a_key_that_edits_does_nothing() -> None:
    async with opened(every_category(), (80, 24)) as (screen, pilot):
        await from_palette(pilot, "tools by server")
        await until(pilot, lambda: "mcp" in seen(screen))
        await pilot.press("d")
        assert "d drop block: not in this list" in seen(screen)


async def test_repeats_are_listed_and_both_blocks_can_be_shown() -> None:
    story = Story().user("go")
    text = "\n".join(f"line {n} says something of its own" for n in range(30))
    for id_ in ("t1", "t2"):
        story.call(use(id_, "Read", file_path="/w/a.py")).results((id_, text))
        if id_ == "t1":
            first = story.head
    second = story.head
    story.call("done")
    async with opened(story.session, (120, 40)) as (screen, pilot):
        for key, node in (("enter", first), ("o", second)):
            await from_palette(pilot, "repeats")
            await until(pilot, lambda: "could go" in seen(screen))
            assert "read again later" in seen(screen)
            await pilot.press(key)
            assert screen.app.screen is screen and screen.panels.transcript.node == node


async def test_nothing_twice_is_said() -> None:
    async with opened(every_category()) as (screen, pilot):
        await from_palette(pilot, "same content elsewhere")
        await until(pilot, lambda: "No block in this context" in seen(screen))


async def test_phases_are_listed_and_one_can_be_named(tmp_path: Path) -> None:
    source = HandMade(rounds(6))
    source.settings = Settings(data_dir=str(tmp_path), phases="call")
    async with app_of(source).run_test(size=(120, 40)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        await settled(screen, pilot)
        await until(pilot, lambda: screen.state.complete)
        await pilot.press("g", "3", "enter")
        await do(pilot, "Phases")
        await until(pilot, lambda: "~424 a phase" in seen(screen))
        assert "● call 3" in seen(screen) and "+424" in seen(screen)
        await pilot.press("number_sign")
        await pilot.press(*"tidying", "enter")
        await until(pilot, lambda: bool(screen.owner(NotesController).facts()))
        await do(pilot, "Phases")
        await until(pilot, lambda: "● tidying" in seen(screen))
        await pilot.press("home", "enter")
        assert screen.state.index == 0


async def test_a_rule_that_is_no_expression_is_named() -> None:
    source = HandMade(rounds(3))
    source.settings = Settings(phases="(")
    async with app_of(source).run_test(size=(120, 40)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        await settled(screen, pilot)
        await do(pilot, "Phases")
        await until(pilot, lambda: "not a regular expression" in seen(screen))


async def test_stale_results_are_named_and_ordered_and_edits_are_applied_and_undone_in_the_list() -> None:
    async with opened(session(), (120, 40)) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        await pilot.press("W")
        page = screen.app.screen
        assert isinstance(page, HeaviestScreen)
        await until(pilot, lambda: any(row.stale for row in page.rows))
        while page.order != "stale":
            await pilot.press("S")
        assert page.pane.row is not None and page.pane.row.stale
        await until(pilot, lambda: "earlier turn" in seen(screen))
        await pilot.press("d")
        overlay = screen.edits.overlay
        assert overlay is not None
        await until(pilot, lambda: bool(overlay.staged))
        await pilot.press("a")
        await until(pilot, lambda: bool(overlay.applied) and "applied" in seen(screen))
        await pilot.press("u")
        await until(pilot, lambda: not overlay.applied)
        assert screen.app.screen is page, "the list stays open"


TABS = (HeaviestScreen, StaleScreen, RepeatsScreen, ToolsScreen)


@pytest.mark.parametrize("size", few([(80, 24), (120, 40), (200, 60)]))
async def test_blocks_are_one_list_whose_tabs_go_round_and_keep_their_place(size: tuple[int, int]) -> None:
    async with opened(session(), size) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        await pilot.press("W")
        for kind in (*TABS, TABS[0]):
            await until(pilot, lambda kind=kind: type(screen.app.screen) is kind)  # type: ignore[misc]
            assert seen(screen).splitlines()[0].split() == "blocks heaviest stale duplicates by tool".split()
            assert len(screen.app.screen_stack) == 2 + (screen.app.screen_stack[0] is not screen) * 1
            await pilot.press("tab")
        await until(pilot, lambda: type(screen.app.screen) is StaleScreen)
        await pilot.press("left")
        await until(pilot, lambda: type(screen.app.screen) is HeaviestScreen)
        page = screen.app.screen
        assert isinstance(page, HeaviestScreen)
        await until(pilot, lambda: len(page.rows) > 2)
        await pilot.press("down", "down")
        here = page.pane.row
        await pilot.press("right", "left")
        await until(pilot, lambda: type(screen.app.screen) is HeaviestScreen and screen.app.screen is not page)
        again = screen.app.screen
        assert isinstance(again, HeaviestScreen) and here is not None
        await until(pilot, lambda: again.pane.row is not None and again.node(again.pane.row) == page.node(here))
        await pilot.click("#tabs", offset=(seen(screen).splitlines()[0].index("duplicates") + 1, 0))
        await until(pilot, lambda: type(screen.app.screen) is RepeatsScreen)
        await pilot.press("escape")
        assert screen.app.screen is screen


async def test_enter_in_any_tab_goes_to_the_block() -> None:
    async with opened(session(), (120, 40)) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        await pilot.press("W", "tab")
        await until(pilot, lambda: isinstance(screen.app.screen, StaleScreen) and bool(screen.app.screen.rows))
        page = screen.app.screen
        assert isinstance(page, StaleScreen)
        assert all(row.stale for row in page.rows) and page.pane.row is not None
        tokens = [row.weight.tokens for row in page.pane.rows or ()]
        assert tokens == sorted(tokens, reverse=True)
        node = page.node(page.pane.row)
        await pilot.press("enter")
        await until(pilot, lambda: screen.app.screen is screen)
        assert screen.panels.transcript.node == node


async def test_a_filter_shows_what_has_its_words_and_no_hit_is_said() -> None:
    async with opened(long_session(40, text="word " * 50), (80, 24)) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        await pilot.press("W")
        await until(pilot, lambda: "carried in all" in seen(screen))
        page = screen.app.screen
        assert isinstance(page, HeaviestScreen)
        every, wanted = len(page.pane.rows or ()), plain(page.pane.table.draw(page.rows[3], 200))  # type: ignore[union-attr]
        word = max(wanted.split(), key=len)
        await pilot.press("slash", *word)
        await until(pilot, lambda: page.pane.filter_text == word)
        rows = page.pane.rows or ()
        assert 0 < len(rows) <= every and f"{len(rows):,} with “{word}”" in seen(screen)
        await pilot.press("enter")
        assert screen.app.focused is page.pane and page.pane.filter_text == word, "the keys are those of the list again"
        await pilot.press("slash", *"qqqq")
        await until(pilot, lambda: "No row contains “" in seen(screen))
        await pilot.press("escape")
        assert screen.app.screen is page and len(page.pane.rows or ()) == every, "esc shows all, and stays"
        await pilot.press("slash", *"qqqq", "enter", "escape")
        assert screen.app.screen is page and len(page.pane.rows or ()) == every
        await pilot.press("escape")
        assert screen.app.screen is screen


@pytest.mark.parametrize("key", few(["W", "exclamation_mark", "dollar_sign", "O"]))
async def test_the_key_that_opened_a_list_closes_it(key: str) -> None:
    async with opened(every_category(), (80, 24)) as (screen, pilot):
        await pilot.press(key)
        await until(pilot, lambda: screen.app.screen is not screen)
        await pilot.press(key)
        await until(pilot, lambda: screen.app.screen is screen)
