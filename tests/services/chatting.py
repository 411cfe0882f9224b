"""A scripted provider in Anthropic's dialect, and a chat with it: what hosting is tested with."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from ctxtui.agent import events as ev
from ctxtui.agent import progress as mo
from ctxtui.agent.turn import TurnPhase
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.legality.legality import check
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.chat_news import ChatNews
from ctxtui.services.chat.host import Host
from ctxtui.services.config.config import Config, load
from tests.providers.served import Served, served

MODEL = "claude-opus-5-5"
Reply = bytes | int | Callable[[web.Request], Any]
"""What the provider does: an event stream, an HTTP status, or a handler."""


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def answer(
    id_: str, *blocks: dict[str, Any], stop: str = "", tokens: int = 100, output: int = 9, model: str = MODEL
) -> bytes:
    """A streamed message with `blocks`, words in small pieces."""
    usage = {"input_tokens": tokens, "output_tokens": 1}
    message = {
        "id": id_,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "usage": usage,
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for n, block in enumerate(blocks):
        kind = block["type"]
        empty = {**block, "text": ""} if kind == "text" else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": n, "content_block": empty})
        words = block["text"] if kind == "text" else json.dumps(block["input"])
        key, delta = ("text", "text_delta") if kind == "text" else ("partial_json", "input_json_delta")
        for at in range(0, len(words), 7):
            piece = {"type": delta, key: words[at : at + 7]}
            events.append({"type": "content_block_delta", "index": n, "delta": piece})
        events.append({"type": "content_block_stop", "index": n})
    calls = any(block["type"] == "tool_use" for block in blocks)
    reason = stop or ("tool_use" if calls else "end_turn")
    return sse(
        *events,
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": output}},
        {"type": "message_stop"},
    )


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(id_: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


@asynccontextmanager
async def provider(script: Sequence[Reply]) -> AsyncIterator[Served]:
    """Answers request n with `script[n]`; refuses what is not legal."""
    left = list(script)

    async def messages(request: web.Request) -> web.StreamResponse:
        wrong = check("anthropic", await request.read())
        if wrong:
            return web.json_response({"error": {"type": "invalid_request_error", "message": str(wrong)}}, status=400)
        reply = left.pop(0)
        if isinstance(reply, int):
            return web.json_response({"error": {"type": "some_error", "message": "no"}}, status=reply)
        if callable(reply):
            done: web.StreamResponse = await reply(request)
            return done
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for at in range(0, len(reply), 200):
            await response.write(reply[at : at + 200])
        await response.write_eof()
        return response

    async with served({"/v1/messages": messages}) as server:
        yield server


def config(tmp_path: Path, **values: Any) -> Config:
    flags = [f"data_dir={tmp_path / 'home'}", *(f"{name}={value}" for name, value in values.items())]
    return load(flags, cwd=tmp_path, env={})


class Chat:
    """A host with everything that it told."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.news: list[ChatNews] = []

    def heard(self, news: ChatNews) -> None:
        self.news.append(news)
        self.host.session.fold(news.events)

    def moments(self, kind: type[Any]) -> list[Any]:
        return [one.moment for one in self.news if isinstance(one.moment, kind)]

    async def say(self, words: str) -> None:
        self.host.feed(ev.UserSaid(words))
        await self.rest()

    async def rest(self) -> None:
        await self.until(lambda: not self.running)

    @property
    def running(self) -> bool:
        assert self.host.runner is not None
        return self.host.runner.state.is_running

    @property
    def phase(self) -> TurnPhase:
        assert self.host.runner is not None
        return self.host.runner.state.phase

    async def until(self, there: Callable[[], bool]) -> None:
        # A chat of several rounds takes 1 s, and 20 on a machine that does seven other things.
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if there():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"it did not come: {self.news[-3:]}")


@asynccontextmanager
async def chat(server: Served, tmp_path: Path, wish: ModelChoice | None = None, **settings: Any) -> AsyncIterator[Chat]:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    base = ModelChoice(provider="anthropic", base_url=server.root, model=MODEL)
    wanted = (
        base
        if wish is None
        else ModelChoice(base.provider, base.model, base.base_url, wish.session, wish.call, wish.thread)
    )
    async with hosted(Host(wanted, config(tmp_path, **settings), work)) as made:
        yield made


@asynccontextmanager
async def hosted(host: Host) -> AsyncIterator[Chat]:
    """A chat of `host` that has begun."""
    await asyncio.to_thread(host.open)
    made = Chat(host)
    await host.begin(made.heard, lambda call: None, lambda: None)
    try:
        yield made
    finally:
        assert await host.close()


__all__ = ["CtxtuiError", "mo"]
