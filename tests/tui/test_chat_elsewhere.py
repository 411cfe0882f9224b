"""A chat that is open elsewhere, on the screen: who has it is said, and one key makes a branch."""

from __future__ import annotations

import os
from pathlib import Path

from textual.screen import Screen

from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.config.mcp_servers import load_servers
from ctxtui.store import leases
from ctxtui.store.host_process import begin_hosting, end_hosting
from ctxtui.store.writer import InFlight, SessionResumed, Writer
from ctxtui.tui.chat.screen import ChatScreen
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.start import make_app, make_chat
from tests.services.chat.test_host import database
from tests.services.chatting import answer, chat, config, provider, text
from tests.tui.test_chat import until


def painted(screen: Screen[None]) -> str:
    return "\n".join(strip.text for strip in screen._compositor.render_strips())


async def test_going_on_with_a_chat_that_is_open_shows_it_and_offers_a_branch(tmp_path: Path) -> None:
    async with provider([answer("m1", text("one answer"))]) as server, chat(server, tmp_path) as made:
        await made.say("first")
        id_ = made.host.session.about.id
    host = begin_hosting(0.0)
    leases.claim(database(tmp_path), id_, host)
    app = make_chat(ModelChoice(session=id_), config(tmp_path), tmp_path / "work")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, InspectorScreen))
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await until(pilot, lambda: f"This chat is open in this program, process {os.getpid()} since" in painted(screen))
        assert "f starts a branch" in painted(screen) and "one answer" in painted(screen)
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen) and app.screen.state.host.runner is not None)
        branch = app.screen
        assert isinstance(branch, ChatScreen)
        assert branch.state.host.session.about.id != id_ and branch.state.host.choice.call == 1
        assert "one answer" in painted(branch)
    end_hosting(host)


async def test_a_chat_with_nothing_answered_yet_has_no_branch(tmp_path: Path) -> None:
    async with provider([answer("m1", text("one answer"))]) as server, chat(server, tmp_path) as made:
        writer = made.host.writer
        assert writer is not None and writer.wait(5)
        id_ = made.host.session.about.id
        app = make_app(id_, config(tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            screen = app.screen
            assert isinstance(screen, InspectorScreen)
            await until(pilot, lambda: "This chat is open in this program" in painted(screen))
            assert "starts a branch" not in painted(screen)
            await pilot.press("f")
            await pilot.pause(0.3)
            assert app.screen is screen


async def test_a_chat_that_ended_in_a_turn_goes_on_when_nobody_has_it(tmp_path: Path) -> None:
    async with provider([answer("m1", text("one answer"))]) as server:
        async with chat(server, tmp_path) as made:
            await made.say("first")
            id_ = made.host.session.about.id
        writer = Writer(database(tmp_path), made.host.session.tree)
        writer.put(SessionResumed(id_))
        writer.put(InFlight("", 1.0, "said", "and then"))
        assert writer.close()
        (tmp_path / "ctxtui.toml").write_text('[mcp]\nsearch = { command = "a-program-of-the-project" }\n')
        app = make_app(id_, config(tmp_path))
        async with app.run_test(size=(80, 24)) as pilot:
            screen = app.screen
            assert isinstance(screen, InspectorScreen)
            await until(pilot, lambda: "This chat ended during a turn; f continues it" in painted(screen))
            await pilot.press("f")
            await until(pilot, lambda: isinstance(app.screen, ChatScreen))
            assert isinstance(app.screen, ChatScreen)
            chatting = app.screen
            await until(pilot, lambda: chatting.state.host.runner is not None)
            assert chatting.state.host.session.about.id == id_
            (server_,) = load_servers(chatting.state.host.config, tmp_path)
            assert server_.project == str(tmp_path), "it needs the user's permission"
