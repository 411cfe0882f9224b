"""Editing a context on the screen: mark, stage, apply, take back."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import pytest
from textual.pilot import Pilot

from ctxtui.core.session import Session
from ctxtui.curation import edits_from_selection
from ctxtui.services.study.study import Study
from ctxtui.tui.inspector.controllers.summaries import SummariesController
from ctxtui.tui.inspector.loader import Complete, Worked
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.breaks import BreaksScreen
from ctxtui.tui.lists.edit_log import EditLogScreen
from ctxtui.views.text.span import plain
from tests.cases.sessions import Story, every_category, long_session, use
from tests.tui.inspector.test_inspector import app_on, opened, text, until
from tests.tui.waiting import do


def session() -> Session:
    story = Story(hidden_tokens=0)
    story.user("first question about src/shop/cart.py")
    story.call(use("t1", "Read", path="src/shop/cart.py"))
    story.results(("t1", "line of code\n" * 400))
    story.call("The cart is fine.")
    story.user("second question")
    story.call("Yes.")
    story.user("third question").tip()
    return story.session


def at(screen: InspectorScreen, words: str) -> None:
    """Put the cursor on the first row that says `words`."""
    rows = screen.panels.transcript.data
    assert rows is not None and rows.scene is not None
    tree = rows.scene.session.tree
    for index in range(rows.count):
        entry = rows.entry(index)
        if entry > 0 and words in tree[entry].block.body.decode():
            screen.panels.transcript.move_to(index)
            return
    raise AssertionError(f"no row says {words}")


async def test_what_dropping_gains_is_said_however_long_the_answer_is() -> None:
    """An answer, which is in no request yet, is named in as few words as any other block."""
    story = Story(hidden_tokens=0)
    story.user("a question").call("An answer that goes on and on, \x1b[31m after line after line. " * 20)
    async with opened(story.session, (80, 24)) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "goes on and on")
        await pilot.press("d")
        await until(pilot, lambda: "dropped" in text(screen))
        assert "dropped: An answer that goes on and on, ␛[31m af…  −" in text(screen)


async def test_a_dropped_result_takes_its_call_along_and_everything_tells_of_it() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        before = screen.panels.scene.figures.context_tokens if screen.panels.scene else 0
        at(screen, "line of code")
        await pilot.press("d")
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        staging = screen.panels.staging
        assert staging is not None and staging.freed > 1000 and staging.repairs == 1
        shown = text(screen)
        assert "prefix ends here" in shown and "frees" in shown and "accept" in shown and "1 more" in shown
        assert "1 edit" in shown and "edits only" not in shown and "→" in shown.splitlines()[0]
        assert f"−{(staging.freed) / 1000:.1f}k" in shown
        await pilot.press("d")
        assert screen.panels.staging is None, "the same key takes it back"
        assert screen.panels.scene is not None and screen.panels.scene.figures.context_tokens == before


async def test_what_the_provider_does_not_read_breaks_nothing() -> None:
    async with opened(every_category()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "Let me run the demo script first.")
        await pilot.press("d")
        await until(
            pilot, lambda: screen.panels.staged.content is not None and bool(screen.panels.staged.content.moments)
        )
        shown = text(screen)
        assert "breaks nothing of the prefix" in shown and "prefix ends" not in shown
        at(screen, "Let me look.")
        await pilot.press("d")
        await until(pilot, lambda: "prefix ends here" in text(screen))


async def test_keys_edit_before_anything_is_counted_and_figures_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    may, count = threading.Event(), Study.count

    def held_back(study: Study) -> bool:
        may.wait()
        return count(study)

    monkeypatch.setattr(Study, "count", held_back)
    monkeypatch.setattr(Study, "count_new", lambda study: False)
    app = app_on(session())
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            screen = app.screen
            assert isinstance(screen, InspectorScreen)
            await until(pilot, lambda: screen.edits.staging_area is not None and screen.panels.scene is not None)
            overlay, scene = screen.edits.overlay, screen.panels.scene
            assert overlay is not None and scene is not None and not scene.counted
            line = "line of code"
            for words, keys, kind in (
                ("The cart is fine", "p", "pin"), (line, "t", "truncate"), ("second question", "d", "drop"),
                (line, "x", "externalize"), ("Yes.", "d", "drop"), ("first question", "b", "breakpoint"),
            ):  # fmt: skip
                at(screen, words)
                await pilot.press(*keys)
                assert overlay.staged and overlay.staged[-1].kind == kind, (keys, text(screen).splitlines()[-2])
            await pilot.press("u", "ctrl+r", "u")
            assert "undone: breakpoint" in text(screen)
            at(screen, "first question")
            await pilot.press("space")
            at(screen, "The cart is fine")
            await pilot.press("v")
            assert "■ 4 marked" in text(screen) and "0→" not in text(screen), "tokens are not known yet"
            await pilot.press("escape", "a")
            assert len(overlay.applied) == 5 and not overlay.staged and "5 applied" in text(screen)
            at(screen, "first question")
            await pilot.press("d")
            told = text(screen).splitlines()[-2]
            assert "dropped: first question" in told and told.rstrip().endswith("·")
            assert not screen.panels.scene.counted
            may.set()
            await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
            await until(pilot, lambda: "shop/cart.py  −" in text(screen))
    finally:
        may.set()


async def test_a_long_context_is_read_behind_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxtui.services.editing.staging.MAX_INLINE_NEW_BLOCKS", 2)
    async with opened(long_session(40)) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        desk, scene, asked = screen.edits.staging_area, screen.panels.scene, []
        assert desk is not None and scene is not None
        desk._context = None
        assert not desk.is_ready(scene, asked.append) and not desk.is_ready(scene, asked.append)
        assert len(asked) == 1, "it is asked for once"
        asked[0]()
        assert desk.is_ready(scene, asked.append) and desk.context(scene).head == scene.tip
        desk._context = None
        await pilot.press("d")
        assert [edit.kind for edit in screen.edits.overlay.staged] == ["drop"], "a key waits for no worker"


async def test_the_next_request_of_a_long_context_is_worked_out_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ctxtui.services.editing.staging.MAX_INLINE_NEW_BLOCKS", 2)
    monkeypatch.setattr("ctxtui.services.editing.next_request_cache.LONG_CONTEXT_BLOCKS", 2)
    async with opened(long_session(40)) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        desk = screen.edits.staging_area
        assert desk is not None
        await until(pilot, lambda: screen.edits.is_editable())
        screen.state.show()
        assert desk._context is None and desk._reading is None and screen.panels.next_call is None
        screen.edits.toggle_next_call()
        await until(pilot, lambda: screen.panels.next_call is not None)


async def test_undo_redo_discard_apply_and_the_log() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        overlay = screen.edits.overlay
        assert overlay is not None
        at(screen, "second question")
        await pilot.press("p")
        at(screen, "The cart is fine")
        await pilot.press("d")
        assert [edit.kind for edit in overlay.staged] == ["pin", "drop"]
        await pilot.press("u")
        assert [edit.kind for edit in overlay.staged] == ["pin"]
        await pilot.press("ctrl+r")
        assert [edit.kind for edit in overlay.staged] == ["pin", "drop"]
        await pilot.press("X")
        assert overlay.staged == () and screen.panels.staging is None
        await pilot.press("u", "a")
        assert [edit.kind for edit in overlay.applied] == ["pin", "drop"] and overlay.staged == ()
        assert "applied" in text(screen)
        await pilot.press("E")
        log = pilot.app.screen
        assert isinstance(log, EditLogScreen)
        await pilot.pause(0.1)
        assert log.pane.row_count == len(overlay.log)
        row = next(n for n, one in enumerate(log.pane.rows) if one.edit.kind == "drop" and one.state == "applied")
        log.pane.move_to(row)
        await pilot.press("enter")
        assert [edit.kind for edit in overlay.applied] == ["pin"]


async def test_marked_blocks_become_one_summary_and_escape_discards_nothing() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        overlay = screen.edits.overlay
        assert overlay is not None
        at(screen, "first question")
        await pilot.press("space")
        at(screen, "The cart is fine")
        await pilot.press("v")
        assert len(screen.state.marks) == 4
        await pilot.press("s")
        assert [edit.kind for edit in overlay.staged] == ["summarize"] and not screen.state.marks
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        staging = screen.panels.staging
        assert staging is not None and len(staging.inserted) == 1
        assert "src/shop/cart.py" in str(overlay.staged[0].params["text"])
        assert "summary" in text(screen)
        await pilot.press("escape")
        assert overlay.staged, "esc never takes staged edits back"


async def test_widening_goes_from_the_block_to_its_category() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "line of code")
        seen = []
        for _ in range(4):
            await do(pilot, "Widen")
            seen.append(len(screen.state.marks))
        assert seen == [4, 1, 4, 1], "the turn (question, call, result, answer), then the block again"


async def test_a_refused_edit_says_why_and_stages_nothing() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        overlay = screen.edits.overlay
        assert overlay is not None
        at(screen, "first question")
        await pilot.press("space")
        at(screen, "third question")
        await pilot.press("v", "d", "a")
        assert not overlay.applied and "refused" in text(screen), "nothing would be left to send"


async def test_a_breakpoint_goes_from_five_minutes_to_an_hour_to_none() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        overlay = screen.edits.overlay
        assert overlay is not None
        seen = []
        at(screen, "second question")
        for _ in range(3):
            await pilot.press("b")
            seen.append(dict(overlay.staged[-1].params))
        assert seen == [{"on": True, "ttl": "5m"}, {"on": True, "ttl": "1h"}, {"on": False}]


async def test_a_note_is_typed_at_the_prompt() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "second question")
        await do(pilot, "PutNote")
        await pilot.press(*"mind", "enter")
        overlay = screen.edits.overlay
        assert overlay is not None and [edit.params["text"] for edit in overlay.staged] == ["mind"]
        assert "mind" in text(screen)


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (60, 16), (100, 30)])
async def test_every_size_shows_what_is_staged(size: tuple[int, int]) -> None:
    async with opened(session(), size) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "line of code")
        await pilot.press("t")
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        shown = text(screen)
        assert all(len(line) <= size[0] for line in shown.splitlines())
        assert size[0] <= 60 or "frees" in shown


@pytest.mark.slow
async def test_ten_thousand_blocks_are_staged_at_once() -> None:
    long = long_session(2500)  # four blocks a round
    assert len(long.tree) >= 10_000
    async with opened(long) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        await pilot.press("d")
        assert screen.panels.staging is not None
        await pilot.press("z", "z", "u")
        assert screen.panels.staging is None


async def test_a_literal_that_a_summary_lost_is_kept_by_one_key() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        overlay, desk = screen.edits.overlay, screen.edits.staging_area
        assert overlay is not None and desk is not None
        at(screen, "first question")
        await pilot.press("space")
        at(screen, "The cart is fine")
        await pilot.press("v", "s")
        scene = screen.panels.scene
        assert scene is not None
        context = screen.edits.context_of(scene)
        edit = edits_from_selection.keep_literal(context, overlay.in_force, "line of code")
        assert edit is not None and str(edit.params["text"]).endswith("- kept: line of code")
        await until(pilot, lambda: desk.next_call(scene, screen.state.loader.request_load) is not None)
        await pilot.press("l")
        assert "No later block quotes dropped text" in text(screen)
        at(screen, "first question")
        screen.owner(SummariesController).rate("good")
        assert [one.kind for one in overlay.staged][-1] == "annotate"


async def test_a_literal_that_no_summary_lost_leaves_its_list_open() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        overlay, area, scene = screen.edits.overlay, screen.edits.staging_area, screen.panels.scene
        assert overlay is not None and area is not None and scene is not None
        at(screen, "first question")
        await pilot.press("d")
        await until(pilot, lambda: area.next_call(scene, screen.state.loader.request_load) is not None)
        await pilot.press("l")
        await until(pilot, lambda: isinstance(screen.app.screen, BreaksScreen))
        page = screen.app.screen
        assert isinstance(page, BreaksScreen) and page.rows[0].literal == "src/shop/cart.py"
        await pilot.press("enter")
        assert screen.app.screen is page and "No summary removed this" in plain(page.message_line.message)
        assert [edit.kind for edit in overlay.staged] == ["drop"]


def to_summary(screen: InspectorScreen) -> None:
    """Put the cursor on the summary that an edit puts in."""
    rows = screen.panels.transcript.data
    assert rows is not None
    screen.panels.transcript.move_to(next(index for index in range(rows.count) if rows.insert_at(index) is not None))
    assert screen.panels.transcript.place.new is not None


async def summarized(screen: InspectorScreen, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: screen.edits.staging_area is not None)
    at(screen, "first question")
    await pilot.press("space")
    at(screen, "The cart is fine")
    await pilot.press("v", "s")
    await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)


async def test_a_summary_is_reached_by_the_cursor_and_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(session()) as (screen, pilot):
        await summarized(screen, pilot)
        overlay = screen.edits.overlay
        assert overlay is not None
        to_summary(screen)
        told: list[str] = []

        def edited_text(text: str) -> str:
            told.append(text)
            return "what I say of it"

        monkeypatch.setattr("ctxtui.tui.inspector.controllers.rewriting.edit_text", edited_text)
        monkeypatch.setattr(pilot.app, "suspend", nullcontext)
        await pilot.press("R")
        assert told == [str(overlay.staged[0].params["text"])]
        assert overlay.in_force[-1].params["text"] == "what I say of it"
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        staging = screen.panels.staging
        assert staging is not None and len(staging.inserted) == 1 and "what I say of it" in text(screen)
        new = screen.panels.transcript.place.new
        assert new is not None and new.edit == overlay.in_force[-1], "the cursor stays on it"
        await pilot.press("z")
        assert screen.panels.transcript.place.new is not None, "also where other rows are shown"
        await pilot.press("d")
        assert not overlay.in_force, "every wording of it is taken back"


async def test_a_summary_is_rated_copied_and_taken_back_on_its_own_row() -> None:
    async with opened(session()) as (screen, pilot):
        await summarized(screen, pilot)
        overlay = screen.edits.overlay
        assert overlay is not None
        to_summary(screen)
        screen.owner(SummariesController).rate("poor")
        assert [edit.kind for edit in overlay.staged] == ["summarize", "annotate"]
        await pilot.press("y")
        assert pilot.app.clipboard == str(overlay.staged[0].params["text"])
        await pilot.press("enter", "space", "e", "r")
        await do(pilot, "OpenTurn")
        await pilot.press("t")
        assert [edit.kind for edit in overlay.staged] == ["summarize", "annotate"], "no key of a block acts on it"
        to_summary(screen)
        await pilot.press("d")
        assert [edit.kind for edit in overlay.in_force] == ["annotate"], "d takes it back"


async def test_a_note_is_written_anew_and_stands_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "second question")
        await do(pilot, "PutNote")
        await pilot.press(*"mind", "enter")
        to_summary(screen)
        monkeypatch.setattr("ctxtui.tui.inspector.controllers.rewriting.edit_text", lambda text: f"{text} the gap")
        monkeypatch.setattr(pilot.app, "suspend", nullcontext)
        await pilot.press("R")
        overlay = screen.edits.overlay
        assert overlay is not None and [edit.params["text"] for edit in overlay.in_force] == ["mind the gap"]


async def test_leaving_with_staged_edits_is_asked_once() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        assert screen.may_quit(screen.app.exit), "nothing is staged"
        at(screen, "The cart is fine")
        await pilot.press("d")
        assert not screen.may_quit(screen.app.exit) and "1 staged edit is not applied" in text(screen)
        assert screen.may_quit(screen.app.exit), "the same key again leaves"
        await pilot.press("u")
        assert screen.may_quit(screen.app.exit)


async def test_the_price_comes_by_itself_also_where_a_repair_puts_a_message_in() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "first question")
        await pilot.press("d")
        await until(
            pilot, lambda: screen.panels.staged.content is not None and bool(screen.panels.staged.content.moments)
        )
        assert screen.panels.staging is not None and screen.panels.staging.inserted


async def test_figures_that_come_before_the_recording_is_placed_do_not_hold_the_view() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        screen.state.complete = screen.state._has_position = False
        screen.state.index = 0
        screen.state.on.loader.emit(Worked(done=True))
        assert screen.panels.transcript.row_count and screen.state.index == 0
        screen.state.on.loader.emit(Complete())
        await until(pilot, lambda: screen.state.complete)
        assert screen.state.index == screen.state.count - 1


async def test_every_key_that_edits_answers_and_what_gains_nothing_is_not_staged() -> None:
    def told(screen: InspectorScreen) -> str:
        return "".join(span.text for span in screen.prompt.hint)

    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        overlay = screen.edits.overlay
        assert overlay is not None
        for key, why in (
            *((key, "No edit is staged") for key in "aXwl"),
            ("u", "Nothing to undo"),
            ("ctrl+r", "Nothing to redo"),
            ("E", "log is empty"),
            ("z", "No edit touches"),
        ):
            await pilot.press(key)
            assert why in told(screen), key
        at(screen, "second question")
        for key, why in (("t", "already short: "), ("x", "its replacement would be longer: "), ("s", "longer: ")):
            await pilot.press(key)
            assert why in told(screen) and "tokens" in told(screen) and not overlay.log, key
        assert "^s" in told(screen), "a model may write the summary"
        at(screen, "line of code")
        await pilot.press("t")
        await until(pilot, lambda: " → " in told(screen))
        assert told(screen).startswith("✓ truncated: Read src/shop/cart.py  1.4k → ")
        await pilot.press("t")
        assert told(screen).startswith("taken back: truncate of ")
        at(screen, "second question")
        await pilot.press("d", "a")
        assert "1 applied" in told(screen) and "takes it back" in told(screen)
        await pilot.press("u")
        assert "undone: apply of 1" in told(screen) and "u next: drop of second question" in told(screen)
        assert [edit.kind for edit in overlay.staged] == ["drop"]


async def test_a_summary_is_read_before_it_is_applied_and_what_another_run_did_is_asked_for() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        overlay, rows = screen.edits.overlay, screen.panels.transcript.data
        assert overlay is not None and rows is not None
        at(screen, "first question")
        await pilot.press("space")
        at(screen, "The cart is fine")
        await pilot.press("v", "s")
        row = screen.panels.transcript.cursor
        assert screen.panels.transcript.place.new is not None and rows.open_state(row) is not None
        assert "Files read" in text(screen), "it is open"
        await pilot.press("enter")
        assert rows.open_state(row) is None
        rows.read.clear()
        await pilot.press("a")
        assert not overlay.applied and rows.open_state(row) is not None and "Read the summary" in text(screen)
        await pilot.press("a")
        assert len(overlay.applied) == 1
        overlay._earlier = {entry.id for entry in overlay.log}
        await pilot.press("u")
        assert "Not made in this run: apply of 1" in text(screen) and len(overlay.applied) == 1
        await pilot.press("u")
        assert not overlay.applied
