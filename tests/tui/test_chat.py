"""A chat as one uses it: talking, holding, leave for tools, interrupting, branching, leaving, trouble."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.events import Paste
from textual.pilot import Pilot

from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import SUMMARIZE
from ctxtui.curation.policies.profile import parse_profile
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.offline.http.hosting import serving
from ctxtui.offline.http.server import SeenRequest
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.chat_news import ChatNews
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.chat import turn
from ctxtui.tui.chat.figures import FiguresController
from ctxtui.tui.chat.model import ModelController
from ctxtui.tui.chat.screen import ChatScreen
from ctxtui.tui.chat.turn import TurnController
from ctxtui.tui.dialogs.command_palette import PaletteScreen
from ctxtui.tui.inspector.controllers.notes import NotesController
from ctxtui.tui.inspector.controllers.why import WhyController
from ctxtui.tui.lists.resend import ResendScreen
from ctxtui.tui.start import make_chat
from ctxtui.views.text.span import Spans
from tests.cli.money.test_count import png
from tests.providers.served import Served, served, streaming
from tests.sampling import few
from tests.services.chat.test_host import PART, hanging
from tests.services.chatting import MODEL, answer, config, provider, text, use
from tests.tui.waiting import do, until

Opened = tuple[ChatScreen, Pilot[None]]


@asynccontextmanager
async def chatting(
    tmp_path: Path, server: Served | None, size: tuple[int, int] = (120, 40), **more: Any
) -> AsyncIterator[Opened]:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    wish = ModelChoice("offline") if server is None else ModelChoice("anthropic", MODEL, server.root)
    app = make_chat(wish, config(tmp_path, **more), work)
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        await until(pilot, lambda: screen.state.host.runner is not None or bool(screen.alarm.words))
        yield screen, pilot


async def say(screen: ChatScreen, pilot: Pilot[None], words: str, *, wait: bool = True) -> None:
    screen.prompt.set_text(words)
    await pilot.press("enter")
    if wait:
        await until(pilot, lambda: not screen.state.is_running)


async def asked_for_leave(screen: ChatScreen, pilot: Pilot[None]) -> None:
    """What a tool would write is on the screen."""

    def there() -> bool:
        data = screen.approval.data
        return screen.talk.approval is not None and data is not None and data.tool in shown(screen)

    await until(pilot, there)


async def reply(screen: ChatScreen, pilot: Pilot[None], key: str) -> None:
    """Answer as one does who has read the question."""
    await until(pilot, lambda: screen.talk.approval is not None and screen.approval.data is not None)
    await until(pilot, lambda: screen.prompt.is_ready)
    await pilot.press(key)


def shown(screen: ChatScreen) -> str:
    return "\n".join(strip.text for strip in screen._compositor.render_strips())


def words(spans: Spans) -> str:
    return "".join(span.text for span in spans)


async def test_without_a_key_the_offline_provider_answers_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.txt").write_text("forty-two is the answer\n")
    async with chatting(tmp_path, None) as (screen, pilot):
        assert "offline provider answers; no model is running" in shown(screen)
        assert "nothing leaves this machine" in shown(screen) and "free: it runs" in shown(screen)
        await say(screen, pilot, "read notes.txt")
        await until(pilot, lambda: len(screen.state.host.session.calls) == 2)
        await until(pilot, lambda: "forty-two" in shown(screen))
        assert "call 2" in shown(screen) and "● live" in shown(screen)


async def test_only_a_message_of_the_user_is_edited_and_sent_again(tmp_path: Path) -> None:
    async with chatting(tmp_path, None) as (screen, pilot):
        await pilot.press("escape")
        screen.panels.transcript.move_to(0)
        await pilot.press("U")
        assert not screen.talk.is_talking and "This is not a message of yours." in words(screen.prompt.hint)


async def test_an_answer_comes_in_and_stays_open(tmp_path: Path) -> None:
    words = "# A head\n\n" + "".join(f"line {n} of **many**\n" for n in range(6))
    async with provider([answer("m1", text(words))]) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "tell me")
        await until(pilot, lambda: "line 5 of" in shown(screen) and "end turn" in shown(screen))
        assert screen.state.rows is not None and screen.state.rows.answer is None
        assert "A head" in shown(screen)


async def test_the_last_words_of_an_answer_are_painted_before_its_block_is_laid_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No frame in between: what came is painted when the answer ends.
    monkeypatch.setattr("ctxtui.tui.chat.turn.FRAME_SECONDS", 1000.0)
    told: list[tuple[str, bool]] = []
    hear = TurnController._handle

    def heard(self: TurnController, news: ChatNews) -> None:
        if news.moment is not None:
            told.append((type(news.moment).__name__, "the very last words" in shown(screen)))
        hear(self, news)

    monkeypatch.setattr(TurnController, "_handle", heard)
    async with (
        provider([answer("m1", text("these are the very last words"))]) as server,
        chatting(tmp_path, server) as (screen, pilot),
    ):
        await say(screen, pilot, "tell me")
        await until(pilot, lambda: told[-1][0] == "TurnEnded")
        kinds = [kind for kind, _ in told]
        assert kinds.index("PieceReceived") < kinds.index("CallEnded") < kinds.index("TurnEnded")
        assert dict(told)["CallEnded"], "painted while the answer still came in"
        await until(pilot, lambda: "end turn" in shown(screen) and "the very last words" in shown(screen))
        assert screen.state.rows is not None and screen.state.rows.answer is None


async def test_what_shows_an_answer_is_loaded_before_it_comes_where_no_frame_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = threading.Event()
    threads: list[threading.Thread] = []

    def load() -> None:
        threads.append(threading.current_thread())
        real()
        loaded.set()

    real = turn._import_views
    monkeypatch.setattr(turn, "_import_views", load)
    async with (
        provider([hanging(PART[: PART.index(b"tool_use")])]) as server,
        chatting(tmp_path, server) as (screen, pilot),
    ):
        await say(screen, pilot, "tell", wait=False)
        await until(pilot, loaded.is_set)
        assert threads and threading.main_thread() not in threads
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not screen.state.is_running)


async def test_the_live_tail_grows_and_is_counted(tmp_path: Path) -> None:
    async with (
        provider([hanging(PART[: PART.index(b"tool_use")])]) as server,
        chatting(tmp_path, server) as (screen, pilot),
    ):
        await say(screen, pilot, "tell", wait=False)
        await until(pilot, lambda: "▍" in shown(screen) and "≈" in shown(screen))
        assert "┊" in shown(screen) and "a long story" in shown(screen)
        await until(pilot, lambda: sum(screen.figures.incoming.values()) > 3)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not screen.state.is_running)
        assert "interrupted" in shown(screen)
        assert screen.state.host.session.calls["m1"].error == "interrupted"


async def test_an_answer_is_followed_when_figures_come_in_the_middle_of_it(tmp_path: Path) -> None:
    told = answer("m1", text("\n\n".join(f"line {n}" for n in range(90))), use("t1", "read_file", path="a.txt"))
    long = told[: told.index(b"tool_use")]
    async with provider([hanging(long)]) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "tell", wait=False)
        await until(pilot, lambda: "line 89" in shown(screen))
        assert screen.panels.transcript.viewport.at_end
        # As figures do that are known only now.
        screen.state.show()
        assert screen.panels.transcript.viewport.at_end
        await until(pilot, lambda: "line 89" in shown(screen))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not screen.state.is_running)


async def test_hold_and_release(tmp_path: Path) -> None:
    async with provider([answer("m1", text("ok"))]) as server, chatting(tmp_path, server) as (screen, pilot):
        await pilot.press("ctrl+o")
        await say(screen, pilot, "hi", wait=False)
        await until(pilot, lambda: "‖ held" in shown(screen))
        assert not server.bodies and "held before sending: you asked for it" in shown(screen)
        assert "⏎ send as is  x cancel it" in shown(screen) and "esc edit it first" in shown(screen)
        await until(pilot, lambda: screen.prompt.is_ready)
        await pilot.press("escape")
        await until(pilot, lambda: "edit it in the panes" in shown(screen) and not screen.line.is_asking)
        assert "send held" in shown(screen), shown(screen)[-400:]
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "m1" in screen.state.host.session.calls and not screen.state.is_running)
        assert len(server.bodies) == 1


async def test_what_comes_in_is_shown_after_the_last_call_only(tmp_path: Path) -> None:
    script = [answer(f"m{n}", text(f"answer {n}")) for n in (1, 2, 3)]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        for words in ("one", "two"):
            await say(screen, pilot, words)
        await until(pilot, lambda: screen.state.count == 2)
        await pilot.press("escape", "ctrl+o", "i")
        await say(screen, pilot, "three", wait=False)
        await until(pilot, lambda: "held before sending" in shown(screen))
        await pilot.press("escape", "left_square_bracket")
        await until(pilot, lambda: "call 1" in shown(screen) and "held before sending" not in shown(screen))
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "held before sending" in shown(screen))


async def test_what_is_held_is_sent_or_taken_back_with_a_key(tmp_path: Path) -> None:
    async with provider([answer("m1", text("ok"))]) as server, chatting(tmp_path, server) as (screen, pilot):
        for key, status in (("x", "taken back"), ("enter", "sent")):
            await pilot.press("ctrl+o")
            await say(screen, pilot, "hi", wait=False)
            await until(pilot, lambda: "cancel it" in shown(screen) and screen.prompt.is_ready)
            await pilot.press(key)
            await until(pilot, lambda: not screen.state.is_running)
            assert len(server.bodies) == (status == "sent"), status
            assert screen.talk.is_talking, "the prompt takes what is said next"


async def test_a_held_request_waits_until_a_staged_summary_is_read(tmp_path: Path) -> None:
    script = [answer(f"m{n}", text(f"answer {n}")) for n in (1, 2)]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "one")
        await until(
            pilot, lambda: screen.edits.is_editable() and bool(screen.panels.scene and screen.panels.scene.counted)
        )
        assert screen.panels.scene is not None and screen.edits.overlay is not None
        context = screen.edits.context_of(screen.panels.scene)
        places = [n for n, item in enumerate(context.items) if item.place.section == "messages"]
        summary = make(SUMMARIZE, context.targets(range(places[0], places[-1] + 1)), {"text": "a summary"})
        screen.edits.overlay.stage_all([summary])
        screen.edits.changed()
        await pilot.press("ctrl+o")
        await say(screen, pilot, "two", wait=False)
        await until(pilot, lambda: "apply 1 edit and send" in shown(screen) and screen.prompt.is_ready)
        await pilot.press("a")
        await until(
            pilot, lambda: "Read the summary before you apply it" in shown(screen) and not screen.line.is_asking
        )
        await pilot.press("a")
        await until(pilot, lambda: not screen.edits.overlay.staged)  # type: ignore[union-attr]
        assert "^o sends the held request" in shown(screen)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: not screen.state.is_running and len(server.bodies) == 2)
        assert "a summary" in str(server.bodies[1])


async def test_before_the_first_word_it_says_who_answers_and_what_leaves_the_machine(tmp_path: Path) -> None:
    async with provider([answer("m1", text("ok"))]) as server, chatting(tmp_path, server) as (screen, pilot):
        await until(pilot, lambda: f"{MODEL} of anthropic answers" in shown(screen) and "list price" in shown(screen))
        there = shown(screen)
        assert "on this machine; whether it forwards data is not known" in there and "nothing leaves" not in there
        await until(pilot, lambda: "new chat" in shown(screen) and "$0.000" in shown(screen))
        assert "counting tokens" not in there and "transcript" not in there
        await say(screen, pilot, "hi")
        await until(pilot, lambda: "transcript" in shown(screen))


async def test_a_rule_holds_what_is_too_large(tmp_path: Path) -> None:
    async with (
        provider([answer("m1", text("ok"))]) as server,
        chatting(tmp_path, server, hold_over_tokens=100) as (screen, pilot),
    ):
        await say(screen, pilot, "hi", wait=False)
        await until(pilot, lambda: "are over 100" in shown(screen))


async def test_a_tool_that_writes_asks(tmp_path: Path) -> None:
    script = [answer("m1", use("t1", "write_file", path="new.txt", content="x")), answer("m2", text("done"))]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "write", wait=False)
        await until(pilot, lambda: screen.talk.waiting_call is not None)
        await asked_for_leave(screen, pilot)
        assert "write_file new.txt" in shown(screen) and "once" in shown(screen)
        await reply(screen, pilot, "y")
        await until(pilot, lambda: not screen.state.is_running)
        assert (tmp_path / "work" / "new.txt").read_text() == "x"


async def test_an_earlier_message_is_edited_and_sent_anew(tmp_path: Path) -> None:
    script = [answer(f"m{n}", text(f"answer {n}")) for n in (1, 2)]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "one")
        await until(pilot, lambda: "answer 1" in shown(screen))
        await pilot.press("escape")
        pane = screen.panels.transcript
        data = pane.data
        assert data is not None
        pane.move_to(next(row for row in range(data.count) if data.is_user_row(row)))
        await pilot.press("U")
        assert screen.prompt.text == "one"
        await say(screen, pilot, "one, but better")
        last = json.loads(server.bodies[1])["messages"]
        assert [message["content"][0]["text"] for message in last] == ["one, but better"]


async def test_quitting_a_running_turn_asks_and_keeps_the_draft(tmp_path: Path) -> None:
    async with provider([hanging(PART[:600])]) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "tell", wait=False)
        await until(pilot, lambda: screen.state.is_running and bool(server.bodies))
        screen.prompt.set_text("half a thou")
        await pilot.press("ctrl+q")
        assert "End it and leave?" in shown(screen)
        await pilot.press("n")
        assert screen.state.is_running and screen.prompt.text == "half a thou"
        await pilot.press("escape")
        for key in ("U", "f"):
            screen.line.show_message(())
            await pilot.press(key)
            await until(pilot, lambda: "A turn is running: esc ends it" in shown(screen))
        assert screen.state.is_running
        await pilot.press("ctrl+q", "y")
        await asyncio.sleep(0.3)
    app_id = screen.state.host.session.about.id
    host = screen.state.host
    assert host.writer is not None and not host.writer.pending
    from ctxtui.store.sessions.in_flight import pending_events

    kept = {event.kind: event.data for event in pending_events(tmp_path / "home" / "ctxtui.db", app_id)}
    assert kept["draft"] == "half a thou"


async def test_what_cannot_be_recorded_is_an_alarm_and_the_chat_goes_on(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    async with provider([answer("m1", text("all the same"))]) as server, chatting(tmp_path, server) as (screen, pilot):
        await until(pilot, lambda: "not recorded" in shown(screen))
        await say(screen, pilot, "hi")
        await until(pilot, lambda: "all the same" in shown(screen))
        app = pilot.app
    assert isinstance(app, CtxtuiApp) and "not recorded" in app.farewell


@pytest.mark.parametrize("size", few([(120, 40), (80, 24), (60, 12)]), ids=["wide", "usual", "small"])
async def test_no_other_alarm_hides_what_is_not_recorded(tmp_path: Path, size: tuple[int, int]) -> None:
    home = tmp_path / "home"
    home.write_text("a file where the folder should be")
    script = [answer("m1", text("all the same"))]
    async with provider(script) as server, chatting(tmp_path, server, size) as (screen, pilot):
        await until(pilot, lambda: "not recorded" in shown(screen))
        screen.state.chat_signals.alarm.emit("and cut the rest")
        await say(screen, pilot, "hi")
        screen.owner(FiguresController).dismiss_alarm()
        screen.state.chat_signals.alarm.emit("and cut the rest")
        await pilot.pause(0.2)
        assert "not recorded" in shown(screen) and "and cut the rest" not in shown(screen)
        home.unlink()
        screen.state.host.keep_draft("")
        await until(pilot, lambda: "not recorded" not in shown(screen))
        if size[1] >= 16:
            assert "and cut the rest" in shown(screen), "the other one was not forgotten"
            screen.owner(FiguresController).dismiss_alarm()
            await until(pilot, lambda: "and cut the rest" not in shown(screen))
    app = pilot.app
    assert isinstance(app, CtxtuiApp) and app.farewell == ""


async def test_no_partner_is_said(tmp_path: Path) -> None:
    app = make_chat(ModelChoice("vllm"), config(tmp_path), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        await until(pilot, lambda: "vllm does not answer" in shown(screen))


async def test_on_a_small_screen(tmp_path: Path) -> None:
    async with (
        provider([answer("m1", text("hello"))]) as server,
        chatting(tmp_path, server, (80, 24)) as (screen, pilot),
    ):
        await say(screen, pilot, "hi")
        await until(pilot, lambda: "hello" in shown(screen))


async def test_another_model_from_now_on(tmp_path: Path) -> None:
    script = [answer("m1", text("one")), answer("m2", text("two"))]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "hi")
        screen.owner(ModelController).use_model("claude-haiku-5-5")
        await say(screen, pilot, "again")
        assert [json.loads(body)["model"] for body in server.bodies] == [MODEL, "claude-haiku-5-5"]
        assert [call.epoch.number for call in screen.state.host.session.calls.values()] == [1, 2]


async def test_a_model_chosen_during_a_turn_is_refused_and_not_announced(tmp_path: Path) -> None:
    async with provider([hanging(PART)]) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "hi", wait=False)
        await until(pilot, lambda: len(server.bodies) == 1)
        screen.owner(ModelController).use_model("claude-haiku-5-5")
        await until(pilot, lambda: "cannot be changed during a turn" in shown(screen))
        partner = screen.state.host.chat_model
        assert partner is not None and partner.model == MODEL and "next request" not in shown(screen)


async def test_a_call_is_sent_again_to_the_chats_own_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    script = [answer("m1", text("one")), answer("m2", text("two"))]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "hi")
        await until(pilot, lambda: screen.state.complete and screen.edits.check_ready(counted=True))
        await pilot.press("escape")
        await do(pilot, "SendAgain")
        await until(pilot, lambda: "again to" in shown(screen))
        await pilot.press("enter")
        await until(pilot, lambda: "send?" in shown(screen))
        await pilot.press("y")
        await until(pilot, lambda: isinstance(screen.app.screen, ResendScreen))
        assert [json.loads(body)["model"] for body in server.bodies] == [MODEL, MODEL]


@pytest.mark.parametrize("command", ["ShowRequest", "ShowRendered"])
async def test_a_look_at_the_next_request_stages_no_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "large.txt").write_text("".join(f"line {n} of a large file\n" for n in range(900)))
    policies = parse_profile('armed = true\n[[policy]]\nuse = "truncate_results"\nlimit = 50\n', POLICIES)
    seen = tmp_path / "seen"
    async with chatting(tmp_path, None, pager=f"sh -c 'cp \"$1\" {seen}' x") as (screen, pilot):
        monkeypatch.setattr(screen.app, "suspend", nullcontext)
        await say(screen, pilot, "read large.txt")
        host, overlay = screen.state.host, screen.edits.overlay
        assert host.runner is not None and overlay is not None
        host.profile = lambda window: policies
        host.with_edits(host.runner.conversation)
        await do(pilot, command)
        await until(pilot, lambda: seen.exists() if command == "ShowRequest" else bool(screen.prompt.hint))
        assert not overlay.log
        if command == "ShowRequest":
            assert "line 800 of a large file" in seen.read_text()


async def test_the_models_to_choose_from_are_the_providers_and_the_price_lists(tmp_path: Path) -> None:
    async with provider([]) as server, chatting(tmp_path, server) as (screen, pilot):
        partner = screen.state.host.chat_model
        assert partner is not None
        hosted = replace(
            partner, endpoint=dataclasses.replace(partner.endpoint, local=False), models={"mystery-1": 0, MODEL: 0}
        )
        screen.state.host.chat_model = hosted
        await screen.owner(ModelController).choose_model()
        await until(pilot, lambda: isinstance(screen.app.screen, PaletteScreen))
        rows = {each.name: each.help() for each in screen.app.screen.pane.all_commands}
        assert next(iter(rows)) == MODEL, "the present one comes first"
        assert "from the price list" not in rows["mystery-1"] and "window unknown" in rows["mystery-1"]
        other = rows["claude-haiku-4-5"]
        assert "200.0k window" in other and "$1.00 in, $5.00 out" in other and "from the price list" in other
        await pilot.press(*"haiku-4-5", "enter")
        assert (
            screen.state.host.chat_model.model == "claude-haiku-4-5" and screen.state.host.chat_model.window == 200_000
        )


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'id': 'c1', 'model': 'tiny', 'choices': [choice], **more})}\n\n".encode()


async def test_a_local_server_that_cut_the_prompt_raises_an_alarm(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 300, "completion_tokens": 2, "total_tokens": 302}
    pieces = (chunk({"role": "assistant", "content": "ok"}), chunk({}, "stop", usage=usage), b"data: [DONE]\n\n")
    routes = {
        "/props": {"default_generation_settings": {"n_ctx": 16384}},
        "/v1/models": {"data": [{"id": "tiny", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}}]},
        "/v1/chat/completions": streaming(*pieces),
    }
    async with served(routes) as server:
        work = tmp_path / "work"
        work.mkdir()
        app = make_chat(ModelChoice("", "", f"{server.root}/v1"), config(tmp_path, answer_tokens=512), work)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = app.screen
            assert isinstance(screen, ChatScreen)
            await until(pilot, lambda: screen.state.host.runner is not None)
            partner = screen.state.host.chat_model
            assert partner is not None and (partner.model, partner.window) == ("tiny", 16384)
            await say(screen, pilot, "the quick brown fox jumps over the lazy dog " * 60)
            await until(pilot, lambda: "and cut the rest" in shown(screen))
            assert "llama-server with -c" in screen.alarm.words
            assert screen.state.rows is not None and screen.state.rows.unseen
            # What is shown as the context is what was read of it, not 819.8 % of it; its parts follow a moment later.

            def shares_out() -> bool:
                got = screen.panels.scene.figures if screen.panels.scene is not None else None
                assert got is not None and got.context_tokens == 300
                assert got.residual >= 0 and sum(got.categories.values()) <= 300, "not for a moment"
                return got.counted

            await until(pilot, shares_out)
            await pilot.press("escape")
            await screen.run_action("command('DismissAlarm')")
            await pilot.pause(0.1)
            assert "and cut the rest" not in shown(screen)


async def test_thresholds_in_tokens_warn_too(tmp_path: Path) -> None:
    script = [answer("m1", text("ok"), tokens=2500), answer("m2", text("ok"), tokens=5800)]
    async with provider(script) as server, chatting(tmp_path, server, warn_tokens=2400, critical_tokens=5500) as (
        screen, pilot,
    ):  # fmt: skip
        await say(screen, pilot, "hi")
        await until(pilot, lambda: "tokens; your limit is 2,400" in shown(screen) and not screen.alarm.words)
        await say(screen, pilot, "the quick brown fox jumps over the lazy dog " * 90)
        await until(pilot, lambda: "tokens; your limit is 5,500" in screen.alarm.words)


async def test_thresholds_warn_and_then_raise_an_alarm(tmp_path: Path) -> None:
    # What a chat begins with is below the first threshold.
    script = [answer("m1", text("ok"), tokens=2500), answer("m2", text("ok"), tokens=5800)]
    flags = {"windows": "{'claude-opus-5-5' = 8000}", "answer_tokens": 100, "warn_share": 0.3, "critical_share": 0.9}
    async with provider(script) as server, chatting(tmp_path, server, **flags) as (screen, pilot):
        await say(screen, pilot, "hi")
        await until(pilot, lambda: "% of the usable 6,000 tokens" in shown(screen) and not screen.alarm.words)
        await say(screen, pilot, "the quick brown fox jumps over the lazy dog " * 90)
        await until(pilot, lambda: "% of the usable 6,000 tokens" in screen.alarm.words)


async def test_a_search_in_a_chat_finds_what_was_said_and_says_how_often(tmp_path: Path) -> None:
    async with chatting(tmp_path, None) as (screen, pilot):
        await say(screen, pilot, "the quokka and the other quokka")
        await until(pilot, lambda: len(screen.state.host.session.calls) == 1 and "quokka" in shown(screen))
        await pilot.press("escape", "slash", *"quokka")
        await until(pilot, lambda: "hit" in words(screen.prompt.right) or " of " in words(screen.prompt.right))
        found = re.match(r"1 of (\d+) ", words(screen.prompt.right))
        assert found and int(found[1]) >= 2, words(screen.prompt.right)
        await pilot.press("enter", "n")
        assert f"quokka  2 of {found[1]} " in shown(screen)


@asynccontextmanager
async def talking(tmp_path: Path) -> AsyncIterator[tuple[ChatScreen, Pilot[None], list[SeenRequest]]]:
    """A chat in which "hello" was said to the offline provider; the cursor is on it, the prompt is open. What the
    provider receives."""
    async with serving() as running:
        server = Served()
        server.root = running.url
        async with chatting(tmp_path, server) as (screen, pilot):
            await say(screen, pilot, "hello")
            await until(pilot, lambda: screen.edits.is_editable() and on_user_row(screen))
            assert screen.panels.transcript.node and screen.prompt.has_focus
            yield screen, pilot, running.server.seen


def on_user_row(screen: ChatScreen) -> bool:
    """Go to the first message of the user, if it is there."""
    pane = screen.panels.transcript
    rows = [row for row in range(pane.row_count) if pane.data is not None and pane.data.is_user_row(row)]
    if rows:
        pane.move_to(rows[0])
    return bool(rows)


def received(seen: list[SeenRequest]) -> list[str]:
    """What was said last in each request, less those that only count."""
    bodies = [json.loads(one.body) for one in seen if one.path == "/v1/messages"]
    return [body["messages"][-1]["content"][-1]["text"] for body in bodies]


def notes(screen: ChatScreen) -> list[object]:
    assert screen.edits.overlay is not None
    return [edit.params.get("text") for edit in screen.edits.overlay.staged if edit.kind == "note"]


async def test_a_note_asked_for_while_typing_stays_private_and_the_draft_comes_back(tmp_path: Path) -> None:
    async with talking(tmp_path) as (screen, pilot, seen):
        await pilot.press(*"half a")
        await do(pilot, "PutNote")
        assert "note ›" in shown(screen) and not screen.prompt.text
        await pilot.press(*"mine", "enter")
        await pilot.pause(0.2)
        assert notes(screen) == ["mine"]
        assert screen.prompt.text == "half a" and screen.prompt.has_focus
        await do(pilot, "PutNote")
        await pilot.press(*"no", "escape")
        assert notes(screen) == ["mine"]
        assert screen.prompt.text == "half a" and screen.prompt.has_focus
        assert received(seen) == ["hello"] and not screen.state.is_running
        await pilot.press(*" thought", "enter")
        await until(pilot, lambda: len(received(seen)) == 2 and not screen.state.is_running)
        assert received(seen) == ["hello", "half a thought"], "no note was applied, none was said"


@pytest.mark.parametrize("command", few(["WriteNote", "WriteOnCall", "NamePhase"]))
async def test_other_questions_while_typing_leave_the_draft_alone(tmp_path: Path, command: str) -> None:
    async with talking(tmp_path) as (screen, pilot, seen):
        await pilot.press(*"half a")
        await screen.run_action(f"command('{command}')")
        assert "✎" in words(screen.prompt.lead)
        await pilot.press(*"mine")
        await screen.run_action("command('PutNote')")
        assert screen.prompt.text.endswith("mine"), "one question at a time"
        await pilot.press("enter")
        await until(pilot, lambda: screen.owner(NotesController).facts())
        assert screen.prompt.text == "half a" and screen.prompt.has_focus and not notes(screen)
        assert received(seen) == ["hello"] and not screen.state.is_running


async def test_quitting_from_a_question_keeps_the_draft(tmp_path: Path) -> None:
    async with talking(tmp_path) as (screen, pilot, seen):
        await do(pilot, "PutNote")
        await pilot.press(*"mine", "enter")
        await until(pilot, lambda: notes(screen) == ["mine"])
        await pilot.press(*"half a")
        await do(pilot, "PutNote")
        await pilot.press(*"nev", "ctrl+q")
        assert "Leave?" in shown(screen)
        await pilot.press("n")
        assert screen.prompt.text == "half a" and screen.talk.is_talking
        await pilot.press("escape")
        await pilot.press("g", "1", "enter")
        await pilot.pause(0.1)
        assert notes(screen) == ["mine"] and received(seen) == ["hello"]


async def test_the_draft_waits_while_an_earlier_message_is_edited(tmp_path: Path) -> None:
    async with talking(tmp_path) as (screen, pilot, seen):
        await pilot.press(*"half a", "escape", "U")
        assert screen.prompt.text == "hello"
        await pilot.press("escape", "i")
        assert screen.prompt.text == "half a"
        assert "a branch" not in shown(screen)
        await pilot.press("escape", "U", *" there")
        await do(pilot, "PutNote")
        await pilot.press("escape")
        assert screen.prompt.text == "hello there"
        assert "starts a branch here" in shown(screen), "what Enter will do is said again after the question"
        await pilot.press("enter")
        assert screen.prompt.text == "half a" and "a branch here" not in shown(screen)
        await until(pilot, lambda: len(received(seen)) == 2 and not screen.state.is_running)
        assert received(seen) == ["hello", "hello there"]
        assert len(json.loads(seen[-1].body)["messages"]) == 1, "a branch: it stands in place of the first"


async def test_an_empty_draft_waits_too(tmp_path: Path) -> None:
    async with talking(tmp_path) as (screen, pilot, _):
        await pilot.press("escape", "U")
        assert screen.prompt.text == "hello"
        await pilot.press("escape", "i")
        assert screen.prompt.text == "", "Enter would send the old message again, at the end"


async def test_a_tool_that_asks_takes_no_question_away(tmp_path: Path) -> None:
    script = [answer("m1", use("t1", "write_file", path="new.txt", content="x")), answer("m2", text("done"))]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        await pilot.press("ctrl+o")
        await say(screen, pilot, "write", wait=False)
        await until(pilot, lambda: "‖ held" in shown(screen) and screen.edits.is_editable() and on_user_row(screen))
        await do(pilot, "PutNote")
        await pilot.press(*"so", "ctrl+o")
        await until(pilot, lambda: screen.talk.waiting_call is not None)
        assert screen.prompt.text == "so"
        await pilot.press("enter")
        await asked_for_leave(screen, pilot)
        await until(pilot, lambda: "once" in shown(screen))
        assert screen.talk.waiting_call is not None
        await reply(screen, pilot, "N")
        await until(pilot, lambda: not screen.state.is_running)
        assert not (tmp_path / "work" / "new.txt").exists()


async def test_the_cost_of_a_picture_stands_there_before_it_is_sent(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "shot.png").write_bytes(png(1000, 1000))
    (work / "a.bin").write_bytes(b"\0\1")
    async with provider([answer("m1", text("a cat"))]) as server, chatting(tmp_path, server) as (screen, pilot):
        screen.prompt.set_text("what is")
        screen.prompt.post_message(Paste(f"'{work / 'shot.png'}'"))
        await until(pilot, lambda: "shot.png 1,296 tokens" in shown(screen))
        assert "@/" in screen.prompt.text
        await say(screen, pilot, "look at @a.bin", wait=False)
        await until(pilot, lambda: "is a binary file: no model reads it" in shown(screen))
        assert screen.prompt.text == "look at @a.bin" and server.bodies == []
        await say(screen, pilot, "what is @shot.png?")
        await until(pilot, lambda: "a cat" in shown(screen))
        assert b'"media_type":"image/png"' in server.bodies[0] and "1,296 tokens" not in words(screen.prompt.right)


async def test_a_chat_says_why_its_context_is_so_big_and_the_cut_is_staged(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.txt").write_text("forty-two is the answer, once more\n" * 2_000)
    async with chatting(tmp_path, None) as (screen, pilot):
        await say(screen, pilot, "read notes.txt")
        await until(pilot, lambda: len(screen.state.host.session.calls) == 2 and screen.edits.is_editable())
        reasons, owner = screen.panels.reasons, screen.owner(WhyController)
        await pilot.press("escape")
        await until(pilot, lambda: owner._search() or reasons.groups is not None)  # type: ignore[func-returns-value]
        await until(pilot, lambda: reasons.subject is not None and reasons.subject == owner._subject)
        await until(pilot, lambda: "results" in shown(screen).splitlines()[1])
        assert reasons.cut is not None and " ! " in shown(screen).splitlines()[1], shown(screen)[:400]
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: "what it does" in shown(pilot.app.screen) and "safe" in shown(pilot.app.screen))
        await pilot.press("enter", "enter")
        await until(pilot, lambda: bool(screen.edits.overlay and screen.edits.overlay.staged))


async def test_an_answer_to_a_context_that_left_under_edits_is_shown(tmp_path: Path) -> None:
    async with chatting(tmp_path, None) as (screen, pilot):
        for said in ("the first words", "the second"):
            await say(screen, pilot, said)
        await until(pilot, lambda: len(screen.state.host.session.calls) == 2 and screen.edits.is_editable())
        await pilot.press("escape")
        rows = screen.panels.transcript.data
        assert rows is not None
        first = next(node for node in rows.entries if node > 0 and "the first words" in rows.readings.words(node))
        screen.panels.transcript.move_to(rows.index_of(first))
        await pilot.press("d")
        await until(pilot, lambda: bool(screen.edits.overlay and screen.edits.overlay.staged))
        await pilot.press("a")
        await until(pilot, lambda: bool(screen.edits.overlay and not screen.edits.overlay.staged))
        await pilot.press("i")
        await say(screen, pilot, "the third")
        call = list(screen.state.host.session.calls.values())[-1]
        assert call.sent_head != call.raw_head
        await until(pilot, lambda: screen.state.index == 2 and "╌╌ answer" in shown(screen))
        below = shown(screen).split("╌╌ answer")[1]
        assert "offline provider" in below and "the first words" not in below and "not sent yet" not in below
