"""`ctrl+o` in the inspector of a session whose program runs under ctxtui: a real SDK, a relay, the offline provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import pytest
from textual.pilot import Pilot

from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.config.config import load as load_config
from ctxtui.services.config.paths import database
from ctxtui.tui.commands.situation import ATTACHED
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.start import make_app
from ctxtui.views.inspector.this_call import this_call
from tests.attach.holding import HoldingRun, holding
from tests.tui.inspector.test_inspector import settled, text, until
from tests.tui.waiting import do

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
FIRST, SECOND = "a stale listing, " * 60, "and what now?"


@dataclass
class Program:
    """An agent that asks, and says everything again with each request."""

    client: anthropic.AsyncAnthropic
    said: list[Any]

    async def ask(self, words: str) -> str:
        self.said.append({"role": "user", "content": words})
        asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": self.said}
        async with self.client.messages.stream(**asked, cache_control={"type": "ephemeral"}) as coming:
            message = await coming.get_final_message()
        self.said.append({"role": "assistant", "content": message.content[0].text})  # type: ignore[union-attr]
        return message.content[0].text  # type: ignore[union-attr]


Opened = tuple[HoldingRun, Program, InspectorScreen, Pilot[None]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTXTUI_DB", raising=False)
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))


@asynccontextmanager
async def attached(tmp_path: Path, size: tuple[int, int]) -> AsyncIterator[Opened]:
    """A program that has asked once, and its session on the screen."""
    config = load_config(cwd=tmp_path)
    async with (
        holding(tmp_path, HoldRules(), database(config.settings.data_dir)) as run,
        anthropic.AsyncAnthropic(api_key="k", base_url=run.url, max_retries=0) as client,
    ):
        program = Program(client, [])
        await program.ask(FIRST)
        await run.written()
        app = make_app(str(run.path), config)
        async with app.run_test(size=size) as pilot:
            screen = app.screen
            assert isinstance(screen, InspectorScreen)
            await settled(screen, pilot)
            await until(pilot, lambda: ATTACHED in screen._command_context().facts)
            yield run, program, screen, pilot


async def hold(run: HoldingRun, program: Program, screen: InspectorScreen, pilot: Pilot[None]) -> asyncio.Task[str]:
    """The next request is wanted held, comes, and is asked about."""
    sent = len(run.provider.server.seen)
    await pilot.press("ctrl+o")
    assert "The next request will be held" in text(screen)
    await run.until(lambda: run.gate.next == {"s"})
    told = asyncio.ensure_future(program.ask(SECOND))
    await until(pilot, lambda: screen.line.is_asking and SECOND in text(screen))
    assert not run.gate.next and len(run.provider.server.seen) == sent
    return told


SIZES = [(80, 24), (120, 40)]


@pytest.mark.parametrize("size", SIZES)
async def test_it_stands_as_the_next_call_with_its_forecast_and_leaves_as_it_is(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with attached(tmp_path, size) as (run, program, screen, pilot):
        told = await hold(run, program, screen, pilot)
        await until(pilot, lambda: screen.panels.next_call is not None and "next call" in text(screen))
        seen = text(screen)
        assert (
            "call 2" in seen
            and "‖ held 9:5" in seen
            and "not sent yet" in seen
            and "⏎ release" in seen
            and "m more" in seen
        )
        await pilot.press("enter")
        assert "offline provider" in await told
        await until(pilot, lambda: "sent unchanged" in text(screen))
        await until(pilot, lambda: screen.state.count == 2 and "held" not in text(screen).splitlines()[0])


async def test_edits_are_applied_and_it_leaves_under_them(tmp_path: Path) -> None:
    async with attached(tmp_path, (80, 24)) as (run, program, screen, pilot):
        told = await hold(run, program, screen, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "d drop, " in text(screen))
        data = screen.panels.transcript.data
        assert data is not None and screen.state.study is not None
        tree = screen.state.study.session.tree
        rows = [n for n in range(data.count) if data.entry(n) > 0 and b"stale" in tree[data.entry(n)].block.body]
        screen.panels.transcript.move_to(rows[0])
        await until(pilot, screen.edits.is_editable)
        await pilot.press("d")
        await until(pilot, lambda: screen.edits.overlay is not None and bool(screen.edits.overlay.staged))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "apply 1 edit" in text(screen))
        # What leaves without the edits says so, and it is the next call still.
        assert "⏎ without" in text(screen) and "call 2" in text(screen).splitlines()[0]
        # The header has the request that waits, as its program sends it and as it leaves: not the call before it.
        staging, coming = screen.panels.staging, screen.panels.header.content
        assert staging is not None and coming is not None and coming.used is not None
        assert staging.after and coming.after == staging.after and coming.used - coming.after == staging.freed
        await pilot.press("a")
        assert await told
        await until(pilot, lambda: "sent with the applied edits" in text(screen))
        first, second = (one.body for one in run.provider.server.seen)
        assert FIRST.encode() in first and b"stale" not in second and SECOND.encode() in second
        # It goes on with every later request, without another key.
        assert await program.ask("once more")
        assert b"stale" not in run.provider.server.seen[-1].body
        # The proof: what became of the edits, and what the program believes to have sent.
        await until(pilot, lambda: screen.state.count == 3)
        await pilot.press("end")
        scene = screen.panels.scene
        assert scene is not None
        await until(pilot, lambda: scene.running.is_counted(scene.call.raw_head))
        first, *rest = this_call(scene).facts
        assert first == "edits: 1 applied" and rest[0].startswith("program ") and " → sent " in rest[0]
        # On the screen, too, though the pane of what is applied stands in the place of the call's.
        await until(pilot, lambda: "edits: 1 applied" in text(screen) and rest[0] in text(screen))


async def test_without_edits_none_are_offered_and_the_key_says_so(tmp_path: Path) -> None:
    async with attached(tmp_path, (80, 24)) as (run, program, screen, pilot):
        told = await hold(run, program, screen, pilot)
        assert " a " not in text(screen).splitlines()[-2] and "⏎ release" in text(screen)
        await pilot.press("a")
        await until(pilot, lambda: "held: no edit to send it with" in text(screen))
        assert len(run.provider.server.seen) == 1
        await pilot.press("ctrl+o", "enter")
        await told


async def test_the_question_is_about_the_thread_that_is_held(tmp_path: Path) -> None:
    async with attached(tmp_path, (120, 40)) as (run, program, screen, pilot):
        await Program(program.client, []).ask("another agent with another task, " * 60)
        await until(pilot, lambda: screen.state.study is not None and len(screen.state.study.session.threads) == 2)
        told = await hold(run, program, screen, pilot)
        held_thread = screen.state.thread
        await pilot.press("escape", "ctrl+t")
        assert screen.state.thread != held_thread
        await until(pilot, screen.edits.is_editable)
        screen.panels.transcript.move_to(0)
        await pilot.press("d")
        await until(pilot, lambda: screen.edits.overlay is not None and bool(screen.edits.overlay.staged))
        await pilot.press("ctrl+o")
        assert screen.state.thread == held_thread and "apply 1 edit" not in text(screen)
        await pilot.press("enter")
        assert await told


async def test_one_answers_in_the_models_place_or_refuses(tmp_path: Path) -> None:
    async with attached(tmp_path, (120, 40)) as (run, program, screen, pilot):
        told = await hold(run, program, screen, pilot)
        await pilot.press("w", *"I say so", "enter")
        assert await told == "I say so" and len(run.provider.server.seen) == 1
        await until(pilot, lambda: "I say so" in text(screen) and screen.state.count == 2)
        told = asyncio.ensure_future(program.ask("more"))
        await told
        await pilot.press("ctrl+o")
        await run.until(lambda: bool(run.gate.next))
        told = asyncio.ensure_future(program.ask("and more"))
        await until(pilot, lambda: screen.line.is_asking)
        await pilot.press("x")
        with pytest.raises(anthropic.UnprocessableEntityError):
            await told
        await until(pilot, lambda: "the program got an error" in text(screen))


async def test_decided_elsewhere_nothing_is_asked_any_more(tmp_path: Path) -> None:
    async with attached(tmp_path, (120, 40)) as (run, program, screen, pilot):
        told = await hold(run, program, screen, pilot)
        run.gate.release("", "release")
        await told
        await until(pilot, lambda: not screen.line.is_asking and screen.state.held_countdown is None)


async def test_rules_are_set_on_the_screen_and_the_program_can_be_forked_from_a_call(tmp_path: Path) -> None:
    async with attached(tmp_path, (80, 24)) as (run, program, screen, pilot):
        await do(pilot, "HoldByRules")
        await until(pilot, lambda: screen.line.is_asking)
        await pilot.press(*"over $9, over 1", "enter")
        await until(pilot, lambda: "held from now on: over 1 tokens, over $9" in text(screen))
        told = asyncio.ensure_future(program.ask(SECOND))
        await until(pilot, lambda: screen.line.is_asking and "‖" in text(screen))
        await pilot.press("enter")
        assert await told
        await until(pilot, lambda: screen.state.count == 2 and not screen.line.is_asking)
        await do(pilot, "HoldByRules")
        await until(pilot, lambda: screen.line.is_asking)
        await pilot.press("ctrl+u", *"now and then", "enter")
        await until(pilot, lambda: "is not a rule" in text(screen))
        await do(pilot, "HoldByRules")
        await until(pilot, lambda: screen.line.is_asking)
        await pilot.press("ctrl+u", *"off", "enter")
        await until(pilot, lambda: "no rule holds them" in text(screen) and not run.gate.rules)
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: screen.state.index == 0)
        await do(pilot, "ForkProgram")
        await until(pilot, lambda: "ctxtui exec --fork s:1 -- " in text(screen))


async def test_what_is_not_recorded_is_said_while_the_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with attached(tmp_path, (120, 40)) as (_, program, screen, pilot):
        assert "not everything is recorded" not in text(screen)

        def full(file: int, data: bytes) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("ctxtui.attach.tape.os.write", full)
        assert await program.ask("and more")
        await until(pilot, lambda: "not everything is recorded: No space left on device" in text(screen))
