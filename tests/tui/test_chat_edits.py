"""A chat that is edited, goes on, and is edited again: with real keys, the offline provider and what it received."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from ctxtui.agent.child import AGENT
from ctxtui.analysis.cache.next_call import NextCallForecast
from ctxtui.core.block import HEADER, Block
from ctxtui.core.block_content import read
from ctxtui.core.category import INDEX
from ctxtui.offline import Provider, RunningProvider, Server, SetClock, serving
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.tui.chat.screen import ChatScreen
from ctxtui.tui.dialogs.text_editor import TextEditor
from ctxtui.tui.start import make_chat
from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.wire.registry import DIALECTS
from tests.services.chat import test_children as children
from tests.services.chatting import MODEL, answer, config, text, use
from tests.tui.test_chat import asked_for_leave, reply, shown
from tests.tui.test_chat import say as said
from tests.tui.waiting import do, until

RESULT, CALL, ANSWER = INDEX["tool_result"], INDEX["tool_call"], INDEX["assistant"]
SPOKEN = {"anthropic": ("anthropic", "/v1/messages"), "openai": ("openai_responses", "/v1/responses")}
SPOKEN["openai-chat"] = ("openai_chat", "/v1/chat/completions")


class Asked(NamedTuple):
    """A provider as a chat names it, and its model."""

    provider: str
    model: str


class EditedChat:
    """A chat on its screen, with the provider that answers it."""

    def __init__(self, screen: ChatScreen, pilot: Pilot[None], running: RunningProvider, asked: Asked) -> None:
        self.screen, self.pilot, self._running = screen, pilot, running
        self._dialect, self._path = SPOKEN[asked.provider]

    @property
    def overlay(self) -> ThreadEdits:
        found = self.screen.edits.overlay
        assert found is not None
        return found

    @property
    def data(self) -> ContextRows:
        found = self.screen.panels.transcript.data
        assert found is not None
        return found

    @property
    def answered(self) -> str:
        """What the prompt's line says."""
        return "".join(span.text for span in self.screen.line.edit.hint)

    @property
    def bodies(self) -> list[bytes]:
        """What the provider took, in order."""
        return [one.body for one in self._running.server.seen if one.path == self._path and one.status == 200]

    @property
    def refused(self) -> list[object]:
        return [one.answer for one in self._running.server.seen if one.path == self._path and one.status != 200]

    async def wait(self, there: Callable[[], bool]) -> None:
        await until(self.pilot, there)

    def is_on_record(self) -> bool:
        desk, writer = self.screen.edits.staging_area, self.screen.state.host.writer
        return desk is not None and not desk.unsaved and writer is not None and not writer.pending

    async def settle(self) -> None:
        """Wait until the last call is shown, counted and priced."""
        panels, state = self.screen.panels, self.screen.state

        def there() -> bool:
            scene, staging, study = panels.scene, panels.staging, state.study
            counted = scene is not None and scene.last and scene.counted and (staging is None or staging.counted)
            return counted and not state.is_running and study is not None and study.progress[0] == study.progress[1]

        await self.wait(there)

    async def say(self, words: str) -> None:
        self.screen.enter_prompt()
        await self.pilot.pause()
        before = len(self.screen.state.host.session.calls)
        await said(self.screen, self.pilot, words, wait=False)
        state = self.screen.state
        await self.wait(lambda: not state.is_running and len(state.host.session.calls) > before)
        await self.settle()
        await self.pilot.press("escape")

    # Rows

    def rows(self, category: int | None = None) -> list[int]:
        """The nodes of the rows of blocks (of a category) that leave with the next request."""
        staging, nodes = self.screen.panels.staging, [self.data.entry(row) for row in range(self.data.count)]
        fates = {node: staging.fate(node) if staging is not None else None for node in nodes if node > 0}
        tree = self.data.readings.tree
        return [
            node
            for node, fate in fates.items()
            if (fate is None or not fate.out) and category in (None, tree[node].category)
        ]

    def largest(self, category: int) -> int:
        tree = self.data.readings.tree
        return max(self.rows(category), key=lambda node: len(tree[node].block.body))

    def go(self, node: int) -> None:
        self.screen.panels.transcript.move_to(self.data.index_of(node))
        assert self.screen.panels.transcript.node == node

    def said_to_leave(self) -> list[Block]:
        """The blocks of the next request as the rows have them, in their order."""
        data, staging, found = self.data, self.screen.panels.staging, list[Block]()
        # Reasoning that only its provider can read has one row for all.
        sealed = list(data._rows.withheld) if data._rows is not None else []
        for row in range(data.count):
            entry, new = data.entry(row), data.insert_at(row)
            if new is not None:
                found.append(new.item.block)
            for node in sealed if sealed[:1] == [entry] else [entry] if entry > 0 else []:
                fate, at = (staging.fate(node), staging.position(node)) if staging is not None else (None, None)
                change = staging.applied.changes.get(at) if staging is not None and at is not None else None
                block = change.after if change is not None else data.readings.tree[node].block
                if block is not None and block.kind != HEADER and (fate is None or not fate.out):
                    found.append(block)
        return found

    def left(self, body: bytes) -> list[Block]:
        """The blocks of a request."""
        items = DIALECTS[self._dialect].decode_request(body, None).items
        return [item.block for item in items if item.block.kind != HEADER]

    async def foretold(self) -> NextCallForecast | None:
        """The next call; None where the last one told of no cache."""
        scene, panels = self.screen.panels.scene, self.screen.panels
        assert scene is not None and scene.call.usage is not None
        if not scene.call.usage.has_cache:
            return None
        await self.wait(lambda: panels.next_call is not None and not panels.next_call.outdated)
        return panels.next_call


def spelled(blocks: list[Block]) -> tuple[list[object], list[str]]:
    """What blocks say, in order; and the sealed reasoning among them, whose rows say nothing of its place."""
    words = [(got.text, got.arguments, got.name) for b in blocks if b.kind != "reasoning" for got in [read(b)]]
    return [*words], sorted(block.digest for block in blocks if block.kind == "reasoning")


@asynccontextmanager
async def opened(
    tmp_path: Path, running: RunningProvider, clock: SetClock, asked: Asked, name: str = "", home: str = "home"
) -> AsyncIterator[EditedChat]:
    url = running.url if asked.provider == "anthropic" else running.openai_url
    wish = ModelChoice(asked.provider, asked.model, url, name)
    app = make_chat(wish, config(tmp_path, data_dir=tmp_path / home), tmp_path / "work", clock)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        chat = EditedChat(screen, pilot, running, asked)
        await chat.wait(lambda: screen.state.host.runner is not None and screen.edits.overlay is not None)
        yield chat


def write_files(tmp_path: Path, *, memory: bool = False) -> None:
    work = tmp_path / "work"
    work.mkdir()
    if memory:
        (work / "AGENTS.md").write_text("Be brief. Prefer lists.\n" * 20)
    (work / "large.txt").write_text("".join(f"line {n} of a large file\n" for n in range(900)))
    (work / "notes.txt").write_text("forty-two is the answer, said the mouse\n" * 60)
    (work / "app.py").write_text("def f():\n    return 1\n")


async def test_every_block_can_be_edited_after_edits_were_sent(tmp_path: Path) -> None:
    write_files(tmp_path)
    clock = SetClock()
    async with (
        serving(Server(Provider(clock=clock))) as running,
        opened(tmp_path, running, clock, Asked("anthropic", "offline")) as chat,
    ):
        pilot, screen, overlay = chat.pilot, chat.screen, chat.overlay
        await chat.say("read the file app.py")
        await chat.say("list the files")
        chat.go(chat.rows(CALL)[0])
        await pilot.press("d", "a")
        await chat.say("thank you")
        assert screen.panels.scene is not None and screen.panels.scene.call.is_edited
        nodes = [chat.data.entry(row) for row in range(chat.data.count) if chat.data.entry(row) > 0]
        for node in nodes:
            chat.go(node)
            assert screen.edits.require_positions(), chat.answered
        assert len(set(screen.edits.blocks_of(nodes))) == len(nodes) > 18
        await pilot.press("left_square_bracket", "right_square_bracket")
        for node, keys in ((nodes[8], "pb"), (nodes[9], "pd"), (nodes[-5], "pd"), (nodes[-1], "pd")):
            for key in keys:
                chat.go(node)
                await pilot.press(key)
                assert overlay.staged and not chat.answered.startswith("✗"), (node, key, chat.answered)
                await pilot.press("X")
        chat.go(chat.rows(RESULT)[-1])
        await pilot.press("d")
        assert "dropped: list_dir ." in chat.answered and " ⊗ " in shown(screen)
        while overlay.in_force:
            await pilot.press("u")
        for node in nodes:
            chat.go(node)
            assert screen.edits.require_positions(), chat.answered


async def test_the_edits_of_the_main_thread_are_sent_while_a_sub_agent_is_shown(tmp_path: Path) -> None:
    write_files(tmp_path)
    clock = SetClock()
    async with (
        serving(Server(Provider(clock=clock))) as running,
        opened(tmp_path, running, clock, Asked("anthropic", "offline")) as chat,
    ):
        await chat.say("read the file app.py")
        chat.go(chat.rows(CALL)[0])
        await chat.pilot.press("d", "a")
        chat.screen.state.thread = "a sub-agent"
        draft = chat.screen.state.host.draft_next()
        assert draft is not None and b"return 1" not in draft.body


async def test_edits_of_a_running_sub_agent_are_sent_with_its_next_request(tmp_path: Path) -> None:
    write_files(tmp_path)
    asked, edited, bodies = asyncio.Event(), asyncio.Event(), list[dict[str, Any]]()

    def replies(body: dict[str, Any]) -> Any:
        if children.asked(body) != "look":
            talk = [use("t0", AGENT, task="look")] if len(body["messages"]) == 1 else [text("done")]
            return answer(f"m{len(body['messages'])}", *talk)
        bodies.append(body)

        async def of_child() -> bytes:
            if len(bodies) == 2:
                asked.set()
                await edited.wait()
            names = ["app.py", "notes.txt"][len(bodies) - 1 : len(bodies)]
            said = [use(f"r{name}", "read_file", path=name) for name in names] or [text("yes")]
            return answer(f"c{len(bodies)}", *said)

        return of_child()

    async with children.provider(replies) as server:
        wish = ModelChoice("anthropic", MODEL, server.root)
        app = make_chat(wish, config(tmp_path, agents=True), tmp_path / "work", SetClock())
        async with app.run_test(size=(120, 40)) as pilot:
            screen = app.screen
            assert isinstance(screen, ChatScreen)
            host, panels, edits = screen.state.host, screen.panels, screen.edits
            await until(pilot, lambda: host.runner is not None and edits.overlay is not None)
            await said(screen, pilot, "go", wait=False)
            await asked_for_leave(screen, pilot)
            await reply(screen, pilot, "y")
            await until(pilot, asked.is_set)
            screen.state.to_thread("agent-1")
            await until(pilot, lambda: panels.scene is not None and panels.scene.call.thread == "agent-1")
            data = panels.transcript.data
            assert data is not None
            result = next(n for n in map(data.entry, range(data.count)) if data.readings.tree[n].category == RESULT)
            await pilot.press("escape")
            panels.transcript.move_to(data.index_of(result))
            await pilot.press("d", "a")
            assert edits.overlay is not None and edits.overlay.applied
            edited.set()
            await until(pilot, lambda: not screen.state.is_running and len(host.session.calls) == 5)
        assert ["return 1" in json.dumps(body["messages"]) for body in bodies] == [False, True, False]


# Twelve turns, after each of which something else is edited


async def pin(chat: EditedChat) -> None:
    chat.go(chat.rows()[-1])
    await chat.pilot.press("p")


async def drop(chat: EditedChat) -> None:
    chat.go(chat.rows(CALL)[0])
    await chat.pilot.press("d")


async def mark(chat: EditedChat, first: int, last: int) -> None:
    chat.go(first)
    await chat.pilot.press("space")
    chat.go(last)
    await chat.pilot.press("v")


async def drop_range(chat: EditedChat) -> None:
    rows = chat.rows()
    await mark(chat, rows[12], rows[15])
    await chat.pilot.press("d")


async def summarize(chat: EditedChat) -> None:
    rows = chat.rows()
    await mark(chat, rows[14], rows[-3])
    await chat.pilot.press("s")


async def truncate(chat: EditedChat) -> None:
    chat.go(chat.largest(RESULT))
    await chat.pilot.press("t")


async def replace(chat: EditedChat) -> None:
    chat.go(chat.rows(ANSWER)[-1])
    await do(chat.pilot, "EditInPlace")
    await chat.wait(lambda: isinstance(chat.pilot.app.screen, TextEditor))
    chat.pilot.app.screen.query_one("#text", TextArea).text = f"short answer {len(chat.overlay.log)}"
    await chat.pilot.press("ctrl+s")
    await chat.wait(lambda: chat.pilot.app.screen is chat.screen)


async def externalize(chat: EditedChat) -> None:
    chat.go(chat.largest(RESULT))
    await chat.pilot.press("x")


async def breakpoint_on(chat: EditedChat) -> None:
    chat.go(chat.rows(INDEX["user"])[-1])
    await chat.pilot.press("b")


async def breakpoint_off(chat: EditedChat) -> None:
    """On the block that has one already."""
    staging = chat.screen.panels.staging
    assert staging is not None
    chat.go(next(node for node in reversed(chat.rows()) if staging.mark(node) == "breakpoint"))
    await chat.pilot.press("b")
    if not chat.answered.startswith("✓ no breakpoint"):
        await chat.pilot.press("b")


async def undo(chat: EditedChat) -> None:
    await chat.pilot.press("u", "u")
    if "again undoes it" in chat.answered:
        await chat.pilot.press("u")


async def wait_for_expiry(chat: EditedChat) -> None:
    staged = chat.screen.panels.staged
    chat.go(chat.rows(CALL)[-1])
    await chat.pilot.press("d")
    await chat.wait(lambda: staged.content is not None and len(staged.content.moments) > 1)
    await chat.pilot.press("w")


async def drop_newest(chat: EditedChat) -> None:
    chat.go(chat.rows(RESULT)[-1])
    await chat.pilot.press("d")


class Turn(NamedTuple):
    """What is edited, how the line begins that answers it, and what is said then."""

    edit: Callable[[EditedChat], Awaitable[None]]
    answer: str
    words: str


TURNS = (
    Turn(pin, "✓ pinned", "list the files"),
    Turn(drop, "✓ dropped", "read the file app.py"),
    Turn(drop_range, "✓ dropped", "read notes.txt"),
    Turn(summarize, "✓ summarized", "read large.txt"),
    Turn(truncate, "✓ truncated", "read notes.txt"),
    Turn(replace, "✓ replaced", "what is in app.py?"),
    Turn(externalize, "✓ externalized", "read large.txt"),
    Turn(breakpoint_on, "✓ breakpoint of", "list the files"),
    Turn(breakpoint_off, "✓ no breakpoint", "hello again"),
    Turn(undo, "undone", "find app"),
    Turn(wait_for_expiry, "1 waits for expiry", "read notes.txt"),
    Turn(drop_newest, "✓ dropped", "fine"),
)


async def edit_and_say(chat: EditedChat, turn: Turn, clock: SetClock) -> None:
    """Edit the chat, and go on with it: what the screen says of the next request is what leaves and is reported."""
    staged, version = chat.screen.panels.staged, chat.overlay.version
    await turn.edit(chat)
    await chat.settle()
    assert chat.answered.strip().startswith(turn.answer), (turn, chat.answered)
    assert chat.overlay.version > version, (turn, chat.answered)
    while chat.overlay.ready:
        # A summary is shown once before it is applied.
        await chat.pilot.press("a")
    if chat.overlay.waiting:
        assert staged.content is not None and staged.content.waits[0].left
        clock.advance(staged.content.waits[0].left + 1)
        chat.screen._tick()
    await chat.settle()
    words, sealed = spelled(chat.said_to_leave())
    coming, calls, sent = await chat.foretold(), len(chat.screen.state.host.session.calls), len(chat.bodies)
    staging = chat.screen.panels.staging
    # What waited leaves with this request, and the next call is that without it.
    freed = staging.freed if staging is not None and chat.overlay.waiting else 0
    await chat.say(turn.words)
    assert not chat.refused
    left, still_sealed = spelled(chat.left(chat.bodies[sent]))
    assert left == [*words, (turn.words, "", "")] and still_sealed == sealed, turn
    usage = list(chat.screen.state.host.session.calls.values())[calls].usage
    assert usage is not None
    if coming is not None:
        foretold = coming.input - freed
        assert abs(foretold - usage.input) <= max(20, usage.input // 50), (turn, foretold, usage.input)


def copy_data(home: Path, copy: Path) -> None:
    """Copy the data of a running chat, for what a killed one leaves: the copy has no host.

    SQLite copies its databases: to read one as a file would drop this process's locks on it (`live_database`).
    """
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("*.db", "*.db-*"))
    for database in home.glob("*.db"):
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy / database.name)) as target:
            source.backup(target)


async def edited_twelve_times(tmp_path: Path, asked: Asked, rounds: int, killed_after: int) -> None:
    """Twelve turns, `rounds` times; killed after so many turns, and continued."""
    write_files(tmp_path, memory=rounds > 1)
    clock, home, name, turns = SetClock(), "home", "", TURNS * rounds
    async with serving(Server(Provider(clock=clock))) as running:
        for start in range(0, len(turns), killed_after):
            async with opened(tmp_path, running, clock, asked, name, home) as chat:
                if not start:
                    await chat.say("read the file app.py")
                    await chat.say("list the files")
                await chat.settle()
                await chat.pilot.press("escape")
                for turn in turns[start : start + killed_after]:
                    await edit_and_say(chat, turn, clock)
                await chat.wait(chat.is_on_record)
                name = chat.screen.state.host.session.about.id
                copy_data(tmp_path / home, tmp_path / f"home{start}")
                home = f"home{start}"


async def test_a_chat_is_edited_after_every_turn_killed_and_continued(tmp_path: Path) -> None:
    await edited_twelve_times(tmp_path, Asked("anthropic", "offline"), 1, 6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [Asked("anthropic", "offline"), Asked("anthropic", "claude-opus-5-5"), Asked("openai", "gpt-6.1-terra"),
     Asked("openai-chat", "gpt-6.1-terra")],
    ids=lambda asked: f"{asked.provider}-{asked.model}",
)  # fmt: skip
async def test_a_chat_is_edited_twice_over_with_every_provider(tmp_path: Path, asked: Asked) -> None:
    await edited_twelve_times(tmp_path, asked, 2, 7)
