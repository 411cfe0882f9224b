"""Chats through both real SDKs with the strict offline provider, in every dialect, and with the servers it plays."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.agent import events as ev
from ctxtui.agent import progress as mo
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import BREAKPOINT, REPLACE
from ctxtui.core.session import MAIN
from ctxtui.curation.context import Context
from ctxtui.offline import Server, offline
from ctxtui.offline.http.hosting import RunningProvider
from ctxtui.offline.local import LocalModel, LocalServer
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.wire import registry
from ctxtui.wire.request import Request
from tests.services.chatting import Chat, config


async def held(host: Host, words: str) -> Chat:
    """A chat in which `words` were said and answered."""
    await asyncio.to_thread(host.open)
    made = Chat(host)
    await host.begin(made.heard, lambda call: None, lambda: None)
    await made.say(words)
    await made.say("list .")
    assert await host.close()
    return made


def desk(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("the magic word is xyzzy\n")
    return work


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-chat"])
async def test_every_dialect_through_its_sdk(tmp_path: Path, provider: str) -> None:
    with offline() as running:
        url = running.url if provider == "anthropic" else running.openai_url
        wish = ModelChoice(provider, "offline", url)
        made = await held(Host(wish, config(tmp_path), desk(tmp_path)), "read a.txt and list .")
        session = made.host.session
        calls = session.thread_calls(MAIN)
        assert len(calls) == 4 and all(call.usage is not None for call in calls)
        posted = [seen for seen in running.server.seen if seen.status == 200 and seen.body]
        assert [seen.rule for seen in running.server.seen if seen.rule] == [], "nothing was refused"
        bodies = [seen.body for seen in posted if b'"messages"' in seen.body or b'"input"' in seen.body]
        spelled = [
            registry.encode(Request(tuple(session.tree.items(call.sent_head)), call.skeleton))
            for call in calls
            if call.skeleton is not None
        ]
        assert bodies == spelled
        answers = b"".join(item.block.body for item in session.tree.items(session.threads[MAIN].tip))
        assert b"xyzzy" in answers


@pytest.mark.parametrize("kind", ["ollama", "llama.cpp", "vllm", "lm studio"])
async def test_local_servers(tmp_path: Path, kind: str) -> None:
    with offline(Server(local=LocalServer(kind, (LocalModel(window=8192),)))) as running:
        wish = ModelChoice("", "", running.url if kind == "ollama" else running.openai_url)
        host = Host(wish, config(tmp_path, answer_tokens=512), desk(tmp_path))
        made = await held(host, "read a.txt")
        partner = host.chat_model
        assert partner is not None and partner.window == 8192 and partner.endpoint.kind == kind
        assert partner.endpoint.dialect == ("ollama_chat" if kind == "ollama" else "openai_chat")
        answers = b"".join(i.block.body for i in made.host.session.tree.items(made.host.session.threads[MAIN].tip))
        assert b"xyzzy" in answers


async def test_another_model_of_a_local_server_has_the_window_that_the_server_reports(tmp_path: Path) -> None:
    models = (LocalModel("small", window=8192), LocalModel("large", window=32_768))
    with offline(Server(local=LocalServer("lm studio", models))) as running:
        host = Host(ModelChoice("", "small", running.openai_url), config(tmp_path), desk(tmp_path))
        await held(host, "read a.txt")
        host.change_model("large")
        model = host.chat_model
    assert model is not None and (model.model, model.window, model.origin) == ("large", 32_768, "lm studio")


async def editable(running: RunningProvider, tmp_path: Path) -> tuple[Chat, ThreadEdits]:
    """A chat that has read a file, and its edits."""
    host = Host(ModelChoice("anthropic", "offline", running.url), config(tmp_path), desk(tmp_path))
    await asyncio.to_thread(host.open)
    made, overlay = Chat(host), ThreadEdits()
    host.overlay = lambda: overlay
    await host.begin(made.heard, lambda call: None, lambda: None)
    await made.say("read a.txt")
    return made, overlay


async def test_applied_edits_are_what_leaves_and_the_originals_stay(tmp_path: Path) -> None:
    with offline() as running:
        made, overlay = await editable(running, tmp_path)
        host = made.host
        session = host.session
        context = Context(session.tree, session.threads[MAIN].tip, "anthropic")
        result = next(n for n, item in enumerate(context.items) if item.block.kind == "tool_result")
        tools = [n for n, item in enumerate(context.items) if item.place.section == "tools"]
        overlay.stage_all([make(REPLACE, [context.target(result)], {"text": "(gone)"})])
        overlay.stage_all([make(BREAKPOINT, [context.target(tools[-1])], {"on": True, "ttl": "1h"})])
        await made.say("still staged")
        assert b"xyzzy" in bodies(running)[-1] and b'"ttl":"1h"' not in bodies(running)[-1]
        overlay.apply()
        await made.say("and now?")
        assert [one.text for one in made.moments(mo.Notice)] == []
        sent = bodies(running)[-1]
        last = session.thread_calls(MAIN)[-1]
        assert b'"content":"(gone)"' in sent and b"1\\tthe magic word" not in sent.partition(b"(gone)")[0]
        assert b'"ttl":"1h"' in sent
        assert last.sent_head != last.raw_head
        raw = b"".join(item.block.body for item in session.tree.items(last.raw_head))
        assert b"xyzzy" in raw
        assert last.skeleton is not None
        assert registry.encode(Request(tuple(session.tree.items(last.sent_head)), last.skeleton)) == sent
        assert await host.close()


def bodies(running: RunningProvider) -> list[bytes]:
    """The requests so far."""
    return [seen.body for seen in running.server.seen if seen.status == 200 and b'"stream"' in seen.body]


async def test_armed_policies_work_before_each_request_and_externalized_content_comes_back(tmp_path: Path) -> None:
    work = desk(tmp_path)
    (work / "large.txt").write_text("".join(f"line {n} of a large file\n" for n in range(900)))
    (work / "lean.toml").write_text('armed = true\n[[policy]]\nuse = "externalize_large"\nsize = 2000\n')
    with offline() as running:
        settings = config(tmp_path)
        changed = replace(settings, settings=dataclasses.replace(settings.settings, profile="lean.toml"))
        host = Host(ModelChoice("anthropic", "offline", running.url), changed, work)
        overlay = ThreadEdits()
        host.overlay = lambda: overlay
        await held(host, "read large.txt")
        assert [seen.rule for seen in running.server.seen if seen.rule] == [], "nothing was refused"
        assert {edit.author for edit in overlay.applied} == {"externalize_large"}
        last = [seen.body for seen in running.server.seen if b'"messages"' in seen.body][-1]
        assert b"{{REF:" in last and b"line 899" not in last and b'"recall"' in last
        (content,) = host._external_content().values()
        assert "line 899 of a large file" in content


async def test_what_is_applied_while_a_request_is_held_leaves_with_it(tmp_path: Path) -> None:
    with offline() as running:
        made, overlay = await editable(running, tmp_path)
        host = made.host
        host.feed(ev.HoldNext())
        host.feed(ev.UserSaid("and now?"))
        await made.until(lambda: bool(made.moments(mo.DraftHeld)))
        session = host.session
        context = Context(session.tree, session.threads[MAIN].tip, "anthropic")
        result = next(n for n, item in enumerate(context.items) if item.block.kind == "tool_result")
        overlay.stage_all([make(REPLACE, [context.target(result)], {"text": "(gone)"})])
        overlay.apply()
        host.feed(ev.Released())
        await made.rest()
        sent = bodies(running)[-1]
        assert b"(gone)" in sent
        assert await host.close()


async def test_a_chat_does_not_ask_the_provider_of_the_settings_for_another_ones_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "o")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a")
    for provider, name, model in (
        ("openai", "openai", "gpt-6.1-terra"),
        ("", "anthropic", "claude-sonnet-4-5-20250929"),
    ):
        host = Host(ModelChoice(session=str(sample_paths()[0])), config(tmp_path, provider=provider), tmp_path)
        await asyncio.to_thread(host.open)
        chosen = await host._choose_model()
        assert (chosen.endpoint.name, chosen.model) == (name, model)
