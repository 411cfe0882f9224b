"""The agent: one request a turn, its history, memory and cache breakpoints, a log of each turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anthropic import Anthropic, APIError

from ctxtui.api import curator
from examples.kit import Failed
from examples.musume.game import Game
from examples.musume.prompts import SUMMARIZE, SYSTEM, TOOLS
from examples.musume.screens import metadata, screen, screenshot, spelled, turn_id

Json = dict[str, Any]
MARKER = {"type": "ephemeral"}
NO_MARKER = ("thinking", "redacted_thinking")


@dataclass(frozen=True)
class Manner:
    """How the context is laid out: under which `policies` (TOML files), with which `breakpoints` ("": none;
    ``written``: the authors' three, ``static``, ``memory``, ``history``: one of these alone; ``layout``: memory in
    front of the talk, and one at the end of what stays), how many messages of history are kept, and from how many input
    tokens the talk is summed up: of all, or where `fresh_alone` of those that are not cached (``input_tokens``)."""

    policies: tuple[Path, ...] = ()
    breakpoints: str = ""
    history: int = 20
    summarize_at: int = 180_000
    fresh_alone: bool = False


class Agent:
    """Plays `game` with `model` on a `day` of its own, so that no run reads what another one wrote to the cache. In the
    folder `here`, ``logs`` has the turns' logs and ``turns.jsonl`` every request with its answer: ``ctxtui open`` shows
    it."""

    def __init__(self, client: Anthropic, model: str, game: Game, manner: Manner, here: Path, day: int = 0) -> None:
        self.client = client
        self.model = model
        self.game = game
        self.manner = manner
        self.curate = curator(manner.policies) if manner.policies else None
        self.log = here / "logs"
        self.session = here / "turns.jsonl"
        self.day = day
        self.history: list[Json] = []
        self.results: list[Json] = []
        self.summaries: list[Json] = []

    def turn(self, number: int) -> Json:
        """Play one turn; its log."""
        seen = self.game.seen = screen(number)
        memory = [_text(f"<{name}>\n{text}\n</{name}>") for name, text in self.game.memory.texts().items()]
        pictures = [_picture(number)] * (2 if number % 3 == 2 else 1)
        told = [*self.results, _text(metadata(number, self.day)), _text(spelled(seen))]
        in_front = self.manner.breakpoints == "layout"
        message = {"role": "user", "content": [*told, *pictures, *([] if in_front else memory)]}
        request = self._request([*self.history, message], memory if in_front else [])
        answer = self._ask(request)
        self._remember({"role": "user", "content": [*told, *([] if in_front else memory)]}, answer)
        self.results = [_result(call["id"], self.game.do(call["name"], call["input"])) for call in _calls(answer)]
        logged = self._logged(number, seen, memory, request, answer)
        fresh, *cached = _input(answer["usage"])
        if fresh + (0 if self.manner.fresh_alone else sum(cached)) > self.manner.summarize_at:
            self._summarize(answer)
        return logged

    def _request(self, messages: Sequence[Json], in_front: Sequence[Json]) -> Json:
        request = {
            "model": self.model,
            "max_tokens": 4096,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "system": [_text(SYSTEM), *in_front],
            "tools": TOOLS,
            "messages": list(messages),
        }
        if self.curate is not None:
            request = self.curate(request)
        marked(request, self.manner.breakpoints)
        return request

    def _ask(self, request: Json) -> Json:
        try:
            answer: Json = self.client.messages.create(**request).model_dump(mode="json", exclude_none=True)
        except APIError as error:
            raise Failed(f"{self.client.base_url} did not answer: {error}") from None
        with self.session.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"request": request, "response": answer}) + "\n")
        return answer

    def _remember(self, message: Json, answer: Json) -> None:
        """The turn without its pictures; the newest `history` messages, from a message of the user's on."""
        self.history += [message, {"role": "assistant", "content": answer["content"]}]
        while len(self.history) >= self.manner.history:
            self.history = self.history[2:]
            first = self.history[0]
            kept = [block for block in first["content"] if block["type"] != "tool_result"]
            self.history[0] = {**first, "content": kept}

    def _summarize(self, answer: Json) -> None:
        """Ask for a summary, which takes the place of the history; memory files stay."""
        before = sum(_input(answer["usage"]))
        asked = [*self.results, _text("The context is nearly full: call summarizeContext.")]
        request = self._request([*self.history, {"role": "user", "content": asked}], [])
        # Thinking and a forced tool exclude each other.
        request |= {"tools": [*TOOLS, SUMMARIZE], "tool_choice": {"type": "tool", "name": SUMMARIZE["name"]}}
        del request["thinking"]
        told = _calls(self._ask(request))[0]["input"]
        words = "\n\n".join(f"{name.capitalize()}: {text}" for name, text in told.items())
        self.history = [{"role": "user", "content": [_text(f"What happened so far.\n\n{words}")]}]
        self.history.append({"role": "assistant", "content": [_text("I go on from there.")]})
        self.results = []
        turn = len([*self.log.iterdir()])
        sizes = {"tokens_before": before, "tokens_after": len(words) // 4}
        self.summaries.append({"timestamp": _now(), "turn": turn, **sizes})

    def _logged(self, number: int, seen: Json, memory: Sequence[Json], request: Json, answer: Json) -> Json:
        """The turn's log, in the authors' fields, written to ``TURN.json``."""
        usage = answer["usage"]
        fresh, written, read = _input(usage)
        logged = {
            "turn_id": turn_id(number),
            "timestamp": _now(),
            "model": answer["model"],
            "usage": {
                "input_tokens": fresh,
                "output_tokens": usage["output_tokens"],
                "cache_creation_input_tokens": written,
                "cache_read_input_tokens": read,
            },
            "composition": {
                "buttons": len(seen["buttons"]),
                "memory_files": len(memory),
                "memory_tokens": sum(len(block["text"]) // 4 for block in memory),
                "history_messages": len(request["messages"]) - 1,
            },
            "cache_hit_rate": round(read / (fresh + written + read), 4),
            "summarizations": [*self.summaries],
        }
        path = self.log / f"{turn_id(number)}.json"
        path.write_text(json.dumps(logged, indent=2) + "\n", encoding="utf-8")
        return logged


def marked(request: Json, manner: str) -> None:
    """Put the cache breakpoints of a manner into `request`; the history stays without them."""
    system, messages = list(request["system"]), list(request["messages"])
    request["system"], request["messages"] = system, messages
    if manner in ("static", "written", "layout"):
        # 1. Tools and system prompt.
        system[0] = {**system[0], "cache_control": MARKER}
    if manner in ("memory", "written"):
        # 2. The memory files, at the end of the newest message.
        messages[-1] = _marked(messages[-1])
    if manner in ("history", "written") and len(messages) > 5:
        # 3. What is older than the newest five messages.
        messages[-6] = _marked(messages[-6])
    if manner == "layout":
        # 2. The memory files, in front of the talk. 3. The end of the turns that are four lines by now.
        system[-1] = {**system[-1], "cache_control": MARKER}
        if len(messages) > 1:
            messages[-2] = _marked(messages[-2])


def _marked(message: Json) -> Json:
    """`message` with a breakpoint on its last block that may bear one."""
    blocks = list(message["content"])
    at = max(n for n, block in enumerate(blocks) if block["type"] not in NO_MARKER)
    blocks[at] = {**blocks[at], "cache_control": MARKER}
    return {**message, "content": blocks}


def _input(usage: Mapping[str, Any]) -> tuple[int, int, int]:
    """Tokens of the input: fresh, written, read."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    fresh, written, read = (int(usage.get(name) or 0) for name in names)
    return fresh, written, read


def _calls(answer: Json) -> list[Json]:
    return [block for block in answer["content"] if block["type"] == "tool_use"]


def _result(id_: str, text: str) -> Json:
    return {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": text.startswith("Error")}


def _text(words: str) -> Json:
    return {"type": "text", "text": words}


def _picture(turn: int) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": screenshot(turn)}}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
