"""An answer of 20,000 tokens at 400 a second in a chat, in a real terminal."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from benchmarks.measure import Result
from benchmarks.sessions import home
from benchmarks.terminal import CTXTUI, Terminal

TOKENS, PACE, EACH = 20_000, 400, 4
"""Tokens in all, a second, and in one piece of the stream."""
_LOOK = 0.03
"""Seconds between looks whether a stream that pauses goes on."""
_LINE = "The **quick** brown fox `jumps` over the lazy dog, and tells of it here. "


def sse(*events: dict[str, Any]) -> bytes:
    """Events as a provider sends them."""
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


class Source:
    """A provider that streams at exactly its pace; while `pauses` is set it sends nothing, and then goes on from
    there."""

    def __init__(self) -> None:
        self.began = self.ended = 0.0
        self.pauses = threading.Event()
        self.sent: list[float] = []
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()
        self._ready.wait(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.run_forever()

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/messages", self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._ready.set()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        usage = {"input_tokens": 700, "output_tokens": 1}
        message = {"id": "m1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": []}
        block = {"type": "text", "text": ""}
        await response.write(sse({"type": "message_start", "message": {**message, "usage": usage}}))
        await response.write(sse({"type": "content_block_start", "index": 0, "content_block": block}))
        self.began = time.perf_counter()
        pieces = TOKENS // EACH
        words = "".join(_LINE + ("\n\n" if n % 9 == 8 else "") for n in range(TOKENS // 8))
        paused = 0.0
        for n in range(pieces):
            since = time.perf_counter()
            while self.pauses.is_set():
                await asyncio.sleep(_LOOK)
                paused += time.perf_counter() - since
                since = time.perf_counter()
            due = self.began + paused + n * EACH / PACE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            delta = {"type": "text_delta", "text": words[n * 16 : n * 16 + 16]}
            await response.write(sse({"type": "content_block_delta", "index": 0, "delta": delta}))
            self.sent.append(time.perf_counter())
        self.ended = time.perf_counter()
        stop = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": TOKENS}}
        await response.write(sse({"type": "content_block_stop", "index": 0}, stop, {"type": "message_stop"}))
        await response.write_eof()
        return response


def results(folder: Path, runs: int) -> Iterator[Result]:
    """One long answer, however many `runs` are asked for: it takes a minute."""
    source = Source()
    env = {**home(folder / "home"), "ANTHROPIC_API_KEY": "none"}
    command = [*CTXTUI, "chat", "--provider", "anthropic", "--base-url", source.url, "--model", "claude-opus-5-5"]
    with Terminal(command, env=env) as run:
        run.until_text(b" of 750k")  # the gauge: what the model may take
        run.settle(1.5)
        used = run.cpu()
        run.type(b"tell me\r")
        while not source.began:
            run.read(0.01)
        lags = _watch(run, source)
        run.forget()
        run.until_text(b"end turn", cap=300)
        finished = time.perf_counter()
        cpu = run.cpu() - used
    length = source.ended - source.began
    yield Result("stream", "stream of 20k tokens, finished", "the source", (finished - source.began) / length, 1.05)
    yield Result("stream", "from the source to the screen, worst", "", max(lags) * 1e3, 100, "ms")
    yield Result("stream", "processor time", "", 100 * cpu / length, unit="% of a core")


def _watch(run: Terminal, source: Source) -> list[float]:
    """Seconds from each piece that left the source to the next writing to the screen."""
    shown: list[float] = []
    while not source.ended:
        if run.read(0.2):
            shown.append(time.perf_counter())
            run.forget()
    return [shown[at] - sent for sent in source.sent if (at := bisect_left(shown, sent)) < len(shown)]
