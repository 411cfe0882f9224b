"""A provider that reports nothing, zero or nonsense as usage: the screen goes on, and says no figure that is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.start import make_app
from tests.sampling import few
from tests.services.chatting import MODEL, config, provider, sse
from tests.tui.test_chat import chatting, say, shown, until

USAGES: list[Any] = [
    None,
    {},
    {"input_tokens": 0, "output_tokens": 0},
    {"input_tokens": "many", "output_tokens": []},
    {"input_tokens": -5, "output_tokens": -1},
    {"input_tokens": None, "output_tokens": None},
    {"input_tokens": 10**15, "output_tokens": 10**15},
    {"input_tokens": 1.5, "output_tokens": True, "cache_read_input_tokens": {"a": 1}},
    "none",
    [1],
]
SIZES = [(80, 24), (120, 40)]


def told(usage: Any) -> bytes:
    """An answer that reports `usage`, at its beginning and at its end."""
    message = {"id": "m1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}
    piece = {"type": "text_delta", "text": "all the same"}
    return sse(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": piece},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    )


@pytest.mark.parametrize("usage", few(USAGES, 2), ids=str)
async def test_a_chat_goes_on_whatever_is_reported(tmp_path: Path, usage: Any) -> None:
    async with provider([told(usage), told(usage)]) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "hi")
        await until(pilot, lambda: "all the same" in shown(screen))
        await say(screen, pilot, "and again")
        await until(pilot, lambda: len(server.bodies) >= 2 and not screen.state.is_running)
        assert "nan" not in shown(screen).lower().split() and screen.app.is_running


@pytest.mark.parametrize("size", few(SIZES))
@pytest.mark.parametrize("usage", few(USAGES[:7], 2), ids=str)
async def test_a_recording_opens_whatever_is_reported(tmp_path: Path, usage: Any, size: tuple[int, int]) -> None:
    if isinstance(usage, dict):
        spelled = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
        usage = {new: usage[old] for new, old in spelled.items() if old in usage} | (
            {"total_tokens": 0} if usage else {}
        )
    pair = {
        "request": {"model": "gpt-5.4", "messages": [{"role": "user", "content": "what is the port?"}]},
        "response": {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": "gpt-5.4",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "8080"}, "finish_reason": "stop"}],
            "usage": usage,
        },
    }
    path = tmp_path / "pair.json"
    path.write_text(json.dumps(pair))
    app = make_app(str(path), config(tmp_path))
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await until(pilot, lambda: "8080" in shown(screen))  # type: ignore[arg-type]
        for key in ("up", "enter", "end", "home"):
            await pilot.press(key)
        assert app.is_running
