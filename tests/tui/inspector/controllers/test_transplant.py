"""Blocks copied in one session and put into another on the screen: priced, applied, undone."""

from __future__ import annotations

from ctxtui.core import canonical
from ctxtui.core.block import HEADER
from ctxtui.core.session import Session
from ctxtui.curation.legality.legality import check
from ctxtui.services.editing.edited_context import build_request_body
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.edit_log import EditLogScreen
from ctxtui.tui.messages import Open
from tests.cases.inspect import HandMade
from tests.cases.sessions import Story, thinking, use
from tests.tui.inspector.controllers.test_staging import at, session
from tests.tui.inspector.test_inspector import app_on, settled, text, until


def other() -> Session:
    story = Story(hidden_tokens=0)
    story.user("where is the database address set?")
    story.call(thinking("Look into the settings."), use("t1", "Read", path="settings.toml"))
    story.results(("t1", "database = 'db.internal'\n" * 40))
    story.call("It is in settings.toml.").user("thanks").tip()
    return story.session


def two_sessions() -> tuple[CtxtuiApp, dict[str, HandMade]]:
    sources = {"a": HandMade(other()), "b": HandMade(session())}
    return CtxtuiApp(lambda: InspectorScreen(sources["a"]), lambda name: InspectorScreen(sources[name]), "a"), sources


def body(screen: InspectorScreen, *, staged: bool) -> bytes:
    area, scene = screen.edits.staging_area, screen.panels.scene
    assert area is not None and scene is not None
    return build_request_body(area.to_edited_context(scene, staged=staged)).body


async def test_blocks_of_one_session_go_into_another_and_come_out_again() -> None:
    app, _ = two_sessions()
    async with app.run_test(size=(120, 40)) as pilot:
        first = app.screen
        assert isinstance(first, InspectorScreen)
        await settled(first, pilot)
        await until(pilot, lambda: first.edits.staging_area is not None)
        at(first, "db.internal")
        await pilot.press("space")
        at(first, "Look into the settings")
        await pilot.press("space", "y")
        await until(pilot, lambda: "puts in, here or in another session" in text(first))
        assert "and 2 blocks: )" in text(first) and "left out: thinking" in text(first)

        first.post_message(Open("b").sent_from(first))
        await until(pilot, lambda: app.screen is not first and isinstance(app.screen, InspectorScreen))
        second = app.screen
        assert isinstance(second, InspectorScreen)
        await settled(second, pilot)
        await until(pilot, lambda: second.edits.staging_area is not None)
        plain = body(second, staged=True)
        at(second, "line of code")
        await pilot.press("right_parenthesis")
        await until(pilot, lambda: second.panels.staging is not None and second.panels.staging.counted)
        staging = second.panels.staging
        assert staging is not None and staging.freed < -100, "it adds tokens"
        kinds = [new.item.block.kind for new in staging.inserted]
        assert kinds == ["tool_use", "tool_result"], "the call came with its result, thinking did not"
        shown = text(second)
        assert "copied Read" in shown and "db.internal" in shown and "put in copied blocks after: Read" in shown

        put_in = body(second, staged=True)
        assert not check("anthropic", put_in) and b"db.internal" in put_in
        values = canonical.loads(put_in)["messages"]
        uses = [part["id"] for message in values for part in message["content"] if part["type"] == "tool_use"]
        assert len(set(uses)) == 2, "both sessions call t1: one is renamed"
        assert body(second, staged=False) == plain
        await pilot.press("a")
        await until(pilot, lambda: body(second, staged=False) == put_in)
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.screen, EditLogScreen))
        log = app.screen
        assert isinstance(log, EditLogScreen)
        await until(pilot, lambda: log.pane.row_count == 2)
        assert [(row.edit.kind, row.state) for row in log.pane.rows] == [("apply", ""), ("transplant", "applied")]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is second)
        await pilot.press("u", "u")
        await until(pilot, lambda: body(second, staged=True) == plain)


async def test_what_cannot_be_put_in_says_why() -> None:
    app = app_on(other())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await settled(screen, pilot)
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "It is in settings")
        await pilot.press("right_parenthesis")
        await until(pilot, lambda: "No blocks are copied" in text(screen))
        at(screen, "Look into the settings")
        await pilot.press("y")
        await until(pilot, lambda: "left out: thinking" in text(screen))
        await pilot.press("right_parenthesis")
        await until(pilot, lambda: "Not put in: nothing of it can be copied" in text(screen))
        assert screen.panels.staging is None


async def test_an_inserted_call_is_taken_back_like_any_insertion() -> None:
    app = app_on(other())
    async with app.run_test(size=(80, 24)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await settled(screen, pilot)
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "It is in settings")
        await pilot.press("y", "right_parenthesis")
        await until(pilot, lambda: screen.panels.staging is not None)
        staging = screen.panels.staging
        assert staging is not None
        assert all(item.block.kind != HEADER for new in staging.inserted for item in [new.item])
        assert screen.panels.transcript.place.new is not None, "the cursor is on it"
        await pilot.press("d")
        await until(pilot, lambda: screen.panels.staging is None)
