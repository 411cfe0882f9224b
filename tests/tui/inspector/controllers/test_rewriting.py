"""Writing blocks anew on the screen: in place, hoisted, deduplicated, compacted, minimised, moved."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from ctxtui.core.edit import Edit, make
from ctxtui.core.session import Session
from ctxtui.curation.manual_edits import NO_JSON
from ctxtui.services.external_editor import NoEditor
from ctxtui.services.recordings.open import load
from ctxtui.tui.commands.situation import TOOLS
from ctxtui.tui.dialogs.text_editor import TextEditor
from ctxtui.tui.inspector.controllers.rewriting import Minimise, RewritingController
from ctxtui.tui.inspector.screen import InspectorScreen
from tests.cases.sessions import Story, use
from tests.tui.inspector.controllers.test_staging import at, session, summarized, to_summary
from tests.tui.inspector.test_inspector import opened, text, until
from tests.tui.waiting import do

RULES = "".join(f"Rule {n}: do the right thing, and leave the wrong one alone.\n" for n in range(5))
SCREEN = '{"buttons":[{"name":"back","bounds":[1,2,3,4]},{"name":"next","bounds":[5,6,7,8]}], "end": 1}'
SAMPLE = Path(__file__).parents[4] / "sessions" / "2-lluma-musume.jsonl"


def talk() -> Session:
    story = Story(hidden_tokens=0)
    story.user(f"{RULES}Now the first task.")
    story.call(use("t1", "Read", path="src/a.py"))
    story.results(("t1", "line of code\n" * 40))
    story.call(use("t2", "Read", path="src/b.py"))
    story.results(("t2", "line of code\n" * 40))
    story.call("All is fine.")
    story.user(f"{RULES}Now the second task.")
    story.call("Yes.")
    story.user(SCREEN).tip()
    return story.session


async def editing(screen: InspectorScreen, pilot: Pilot[None], words: str) -> TextEditor:
    """The editor of the block that says `words`."""
    await until(pilot, lambda: screen.edits.staging_area is not None)
    at(screen, words)
    await do(pilot, "EditInPlace")
    return await editor(pilot)


async def editor(pilot: Pilot[None]) -> TextEditor:
    await until(pilot, lambda: isinstance(pilot.app.screen, TextEditor))
    found = pilot.app.screen
    assert isinstance(found, TextEditor)
    await pilot.pause()
    return found


def staged(screen: InspectorScreen) -> list[Edit]:
    assert screen.edits.overlay is not None
    return list(screen.edits.overlay.staged)


async def test_a_text_is_edited_in_place_and_staged() -> None:
    async with opened(session()) as (screen, pilot):
        here = await editing(screen, pilot, "The cart is fine")
        assert here.area.text == "The cart is fine."
        await pilot.press(*"So: ", "q", "?", "enter", "ctrl+s")
        (edit,) = staged(screen)
        assert (edit.kind, edit.params["text"]) == ("replace", "So: q?\nThe cart is fine.")
        again = await editing(screen, pilot, "The cart is fine")
        assert again.area.text == "So: q?\nThe cart is fine.", "as it would be sent"
        await pilot.press("escape")
        await pilot.press("u")
        assert not staged(screen)


async def test_a_text_that_is_refused_is_copied() -> None:
    async with opened(session()) as (screen, pilot):
        await summarized(screen, pilot)
        to_summary(screen)
        await do(pilot, "EditInPlace")
        here, before = await editor(pilot), staged(screen)
        at(screen, "line of code")
        screen.edits.stage([make("pin", before[0].targets[2:3])])
        here.area.text = "long work"
        await pilot.press("ctrl+s")
        assert [edit.kind for edit in staged(screen)] == ["summarize", "pin"]
        assert "the text is copied" in text(screen) and pilot.app.clipboard == "long work"


async def test_escapes_are_never_drawn_and_are_kept() -> None:
    story = Story(hidden_tokens=0)
    story.user("red \x1b[31m text")
    story.call("Yes.")
    story.user("go on").tip()
    async with opened(story.session) as (screen, pilot):
        here = await editing(screen, pilot, "red")
        pilot.app.post_message(events.Paste("\x1b]0;x\x07"))
        await pilot.pause()
        drawn = text(here)  # type: ignore[arg-type]
        assert "red" in drawn and "]0;x" in drawn and "\x1b" not in drawn and "\x07" not in drawn
        await pilot.press("ctrl+s")
        assert [edit.params["text"] for edit in staged(screen)] == ["\x1b]0;x\x07red \x1b[31m text"]


async def test_nothing_is_staged_where_nothing_was_changed_or_it_was_left() -> None:
    async with opened(session()) as (screen, pilot):
        await editing(screen, pilot, "The cart is fine")
        await pilot.press("ctrl+s")
        assert pilot.app.screen is screen and not staged(screen)
        await editing(screen, pilot, "The cart is fine")
        await pilot.press("x", "escape")
        assert pilot.app.screen is screen and not staged(screen)
        at(screen, '"tool_use"')
        await do(pilot, "EditInPlace")
        assert pilot.app.screen is screen and "no text that can be replaced" in text(screen), "a call has no words"
    async with opened(load(SAMPLE).session) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, '"name":"back"')
        await do(pilot, "EditInPlace")
        assert pilot.app.screen is screen and not staged(screen), "an edit of a definition would change nothing"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 12)])
async def test_the_editor_names_its_keys_at_every_size(size: tuple[int, int]) -> None:
    async with opened(session(), size) as (screen, pilot):
        await editing(screen, pilot, "The cart is fine")
        shown = text(pilot.app.screen).splitlines()  # type: ignore[arg-type]
        assert "^s use this text" in shown[-1] and "esc leave" in shown[-1] and "edit text in place" in shown[0]
        assert "The cart is fine." in shown[1] and len(shown) == size[1]


async def test_what_would_be_slow_on_the_screen_goes_to_an_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(hidden_tokens=0)
    story.user("x" * 50_000)
    story.call("Yes.")
    story.user("go on").tip()
    async with opened(story.session) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "xxxx")
        await do(pilot, "EditInPlace")
        assert pilot.app.screen is screen and "R opens it in $EDITOR" in text(screen)
        monkeypatch.setenv("VISUAL", "/none")
        monkeypatch.setattr(pilot.app, "suspend", nullcontext)
        await pilot.press("R")
        await pilot.pause()
        assert "/none" in text(screen) and "R opens it" not in text(screen), "it is the editor that does not start"


async def test_a_summary_and_a_note_are_edited_in_place() -> None:
    async with opened(session()) as (screen, pilot):
        await summarized(screen, pilot)
        to_summary(screen)
        await do(pilot, "EditInPlace")
        here = await editor(pilot)
        assert here.area.text == staged(screen)[0].params["text"]
        here.area.text = "what I say of it"
        await pilot.press("ctrl+s")
        assert [edit.params["text"] for edit in staged(screen)][-1] == "what I say of it"
        at(screen, "third question")
        await do(pilot, "PutNote")
        await pilot.press(*"mind", "enter")
        rows = screen.panels.transcript.data
        assert rows is not None
        note = next(n for n in range(rows.count) if (new := rows.insert_at(n)) is not None and new.edit.kind == "note")
        screen.panels.transcript.move_to(note)
        await do(pilot, "EditInPlace")
        (await editor(pilot)).area.text = "mind the gap"
        await pilot.press("ctrl+s")
        notes = [edit.params["text"] for edit in screen.edits.overlay.in_force if edit.kind == "note"]
        assert notes == ["mind the gap"], "it stands once"


async def test_without_an_editor_the_screens_own_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*words: Any, **more: Any) -> str:
        raise NoEditor("cannot start vi")

    monkeypatch.setattr("ctxtui.tui.inspector.controllers.rewriting.edit_text", missing)
    async with opened(session()) as (screen, pilot):
        monkeypatch.setattr(pilot.app, "suspend", nullcontext)
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "The cart is fine")
        await pilot.press("R")
        await pilot.pause()
        assert isinstance(pilot.app.screen, TextEditor)


async def test_an_editor_that_fails_changes_nothing_and_opens_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """`:cq` in vim, for example."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "false")
    async with opened(session()) as (screen, pilot):
        monkeypatch.setattr(pilot.app, "suspend", nullcontext)
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "The cart is fine")
        await pilot.press("R")
        await pilot.pause()
        assert pilot.app.screen is screen and not staged(screen)
        assert "false ended with exit code 1; nothing was changed" in text(screen)


async def test_the_static_part_is_offered_and_hoisted() -> None:
    async with opened(talk()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "first task")
        screen.owner(RewritingController).hoist()
        here = await editor(pilot)
        assert here.area.text == RULES and "1 other message has too" in text(here)  # type: ignore[arg-type]
        await pilot.press("ctrl+s")
        (edit,) = staged(screen)
        assert (edit.kind, dict(edit.params)) == ("hoist", {"text": RULES, "to": "system"})
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        assert screen.panels.staging is not None and len(screen.panels.staging.inserted) == 1


async def test_marked_messages_give_up_what_they_share_and_one_alone_is_cut_down() -> None:
    async with opened(talk()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "first task")
        await pilot.press("space")
        at(screen, "second task")
        await pilot.press("space")
        screen.owner(RewritingController).hoist()
        assert (await editor(pilot)).area.text == RULES
        await pilot.press("ctrl+s")
        assert [len(edit.targets) for edit in staged(screen)] == [2] and not screen.state.marks
        await pilot.press("u")
        at(screen, "buttons")
        screen.owner(RewritingController).hoist()
        here = await editor(pilot)
        assert here.area.text == SCREEN and "cut it down" in text(here)  # type: ignore[arg-type]
        here.area.text = "not in it"
        await pilot.press("ctrl+s")
        assert not staged(screen) and "shorten it, do not rewrite" in text(screen)
        at(screen, "All is fine")
        screen.owner(RewritingController).hoist()
        assert pilot.app.screen is screen and "can be hoisted" in text(screen)


async def test_a_repeated_result_becomes_a_reference_or_it_is_said_why_not() -> None:
    async with opened(talk()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "All is fine")
        screen.owner(RewritingController).deduplicate()
        await pilot.pause()
        assert not staged(screen) and "only results of tools" in text(screen)
        at(screen, "line of code")
        screen.owner(RewritingController).deduplicate()
        (edit,) = staged(screen)
        assert edit.params["text"] == "[The same as the later result of Read src/b.py, unchanged.]"


async def test_rules_for_json_are_asked_for() -> None:
    async with opened(talk()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "All is fine")
        screen.owner(RewritingController).compact()
        await pilot.pause()
        assert not screen.line.is_asking and NO_JSON in text(screen)
        at(screen, "buttons")
        screen.owner(RewritingController).compact()
        await pilot.press(*"drop=bounds rename=name:n", "enter")
        (edit,) = staged(screen)
        assert edit.kind == "compact_json"
        assert dict(edit.params) == {"drop": ["bounds"], "rename": {"name": "n"}, "flatten": []}
        screen.owner(RewritingController).compact()
        await pilot.press(*"drop=bounds", "enter")
        assert len(staged(screen)) == 1 and "make nothing in it smaller" in text(screen)
        screen.owner(RewritingController).compact()
        await pilot.press(*"least=3", "enter")
        assert len(staged(screen)) == 1 and "no setting 'least'" in text(screen)
        screen.owner(RewritingController).compact()
        await pilot.press(*"drop=name", "escape")
        assert len(staged(screen)) == 1 and not screen.line.is_asking
        await pilot.press("u")
        at(screen, "buttons")
        screen.owner(RewritingController).compact()
        await pilot.press("enter")
        assert [dict(edit.params) for edit in staged(screen)] == [{"drop": [], "rename": {}, "flatten": []}]


async def test_a_block_is_moved_to_three_places_and_back() -> None:
    async with opened(talk()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        for to in ("start", "system", "end"):
            at(screen, "second task")
            screen.owner(RewritingController).move(to)
            await pilot.pause()
        assert [edit.params["to"] for edit in staged(screen)] == ["start", "system", "end"]
        await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
        assert screen.panels.staging is not None and len(screen.panels.staging.inserted) == 1, "it stands once"
        at(screen, "second task")
        screen.owner(RewritingController).move("end")
        assert [edit.params["to"] for edit in staged(screen)] == ["start", "system"]
        at(screen, "All is fine")
        screen.owner(RewritingController).move("end")
        await pilot.pause()
        assert len(staged(screen)) == 2 and "only the user's texts can be moved" in text(screen)


async def test_a_definition_of_a_tool_is_minimised() -> None:
    async with opened(load(SAMPLE).session) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        assert Minimise not in screen.commands_now() and TOOLS not in screen.edits.facts()
        screen.owner(RewritingController).minimise()
        await pilot.pause()
        assert not staged(screen) and "only definitions of tools" in text(screen)
        at(screen, '"name":"back"')
        assert Minimise in screen.commands_now()
        screen.owner(RewritingController).minimise()
        assert [edit.kind for edit in staged(screen)] == ["minimise"]
        at(screen, '"name":"back"')
        screen.owner(RewritingController).minimise()
        await pilot.pause()
        assert len(staged(screen)) == 1 and "as small as it gets" in text(screen)
