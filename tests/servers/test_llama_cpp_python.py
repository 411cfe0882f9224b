"""A chat with llama-cpp-python's own server: found, talked to through the real SDK, interrupted, refused, continued."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ctxtui.agent import events as ev
from ctxtui.agent import progress as mo
from ctxtui.core.session import MAIN
from ctxtui.offline.openai.validate_chat import refusals
from ctxtui.providers.local_servers import find_servers, identify_server
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.model_choice import choose_model
from ctxtui.wire import registry
from ctxtui.wire.request import Request
from tests.servers.conftest import llama_cpp_python
from tests.services.chatting import Chat, config, hosted

pytestmark = pytest.mark.slow


@asynccontextmanager
async def talking(url: str, tmp_path: Path, name: str = "", **settings: object):  # type: ignore[no-untyped-def]
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    async with hosted(Host(ModelChoice(base_url=url, name=name), config(tmp_path, **settings), work)) as made:
        yield made


def bodies(chat: Chat) -> list[bytes]:
    session = chat.host.session
    return [
        registry.encode(Request(tuple(session.tree.items(call.sent_head)), call.skeleton))
        for call in session.thread_calls(MAIN)
        if call.skeleton is not None
    ]


async def test_it_is_found_and_named(model: Path, tmp_path: Path) -> None:
    with llama_cpp_python(model, 4096) as url:
        found = await identify_server(url, {})
        assert found is not None and found.endpoint.kind == "llama-cpp-python" and found.models[0].id == "tiny"
        (same,) = await find_servers({}, [("vllm", url[:-3]), ("llama-cpp-python", url[:-3])])
        assert same == found, "it is told from the others on its port"
        partner = await choose_model(ModelChoice(base_url=url), config(tmp_path), {})
        assert (partner.window, partner.origin) == (4096, "assumed: the server does not report it")


async def test_two_turns_an_interrupt_and_going_on(model: Path, tmp_path: Path) -> None:
    with llama_cpp_python(model, 8192) as url:
        async with talking(url, tmp_path, answer_tokens=64) as chat:
            await chat.say("hello")
            await chat.say("and again, 你好 👋")
            calls = chat.host.session.thread_calls(MAIN)
            assert [call.stop_reason for call in calls] == ["length", "length"] and not any(c.error for c in calls)
            assert all(not refusals({**json.loads(body), "model": "gpt-4o"}) for body in bodies(chat)), (
                "what left is legal"
            )
        async with talking(url, tmp_path, answer_tokens=4000) as chat:
            chat.host.feed(ev.UserSaid("go on for long"))
            await chat.until(lambda: len(chat.moments(mo.PieceReceived)) > 20)
            chat.host.feed(ev.Interrupted())
            await chat.rest()
            (ended,) = chat.moments(mo.CallEnded)
            assert ended.cut and ended.call.error == "interrupted"
            said = b"".join(i.block.body for i in chat.host.session.tree.items(ended.head))
            assert len(said) > 20
            name = chat.host.session.about.id
        async with talking(url, tmp_path, name, answer_tokens=64) as chat:
            await chat.say("you were interrupted")
            assert chat.moments(mo.CallEnded)[-1].call.error == ""


async def test_a_prompt_that_does_not_fit_tells_the_window_and_the_way_out(model: Path, tmp_path: Path) -> None:
    with llama_cpp_python(model, 2048) as url:
        async with talking(url, tmp_path) as chat:
            assert chat.host.chat_model is not None and chat.host.chat_model.window == 4096
            await chat.say("x" * 3000)
            told = chat.moments(mo.Notice)[-1]
            assert told.kind == "error" and "maximum context length is 2048" in told.text
            assert "start it with --n_ctx" in told.text
            assert (chat.host.chat_model.window, chat.host.chat_model.origin) == (2048, "the server's refusal")
            assert chat.host.session.about.window == 2048
            await chat.say("and now?")
            assert json.loads(chat.moments(mo.RequestDrafted)[-1].draft.body)["max_tokens"] == 2048 // 4, (
                "what fits from now on"
            )
