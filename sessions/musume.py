"""Sample 2, LLuMa Musume: a vision agent that reads a whole screen as JSON every turn and keeps all of it."""

from __future__ import annotations

from typing import Final

from sessions import musume_texts as texts
from sessions.dice import Dice, exactly
from sessions.picture import screenshot
from sessions.prompt_cache import PromptCache, characters
from sessions.recording import Exchange, Json, Recording, moment, tokens

MODEL: Final = "claude-haiku-4-5-20251001"
SYSTEM: Final = 9200
TOOLS: Final = 6000
METADATA: Final = 200
VISION: Final = (18000, 18000, 15600, 19200, 12800, 17200, 18800, 16400, 14000, 18000, 13200)
"""Characters of each turn's vision JSON: 3,200 to 4,900 tokens."""
MEMORY: Final = {"player.yaml": 2600, "run.yaml": 3800, "ui_knowledge.md": 8400, "todo.md": 900}
"""Characters of each memory file."""
TODO: Final = "todo.md"
HISTORY: Final = 20
"""Messages kept; older ones are dropped whole."""
MEASURED: Final = (2, 24479, 595)
"""The turn that the authors measured: its number, input and output tokens."""


def _text(words: str) -> Json:
    return {"type": "text", "text": words}


class _Game:
    """The conversation as the agent's harness keeps it."""

    def __init__(self) -> None:
        self.dice = Dice("musume")
        self.messages: list[Json] = []
        self.pictures = [screenshot(boxes) for boxes in texts.screens()]
        self.results: list[Json] = []
        self.files = {name: texts.memory_file(name, 1, size) for name, size in MEMORY.items()}

    def user(self, turn: int, vision: int) -> tuple[Json, list[str]]:
        """The turn's message: results, metadata, screen, screenshots, memory files at the end."""
        note = f"turn {turn}, year 1, {('early', 'late')[turn % 2]} month {1 + turn // 2}, 2026-02-21 20:{turn:02}"
        words, names = texts.vision(turn, 24, vision, self.dice)
        picture = {"type": "base64", "media_type": "image/png", "data": self.pictures[turn % 2]}
        images = [{"type": "image", "source": picture} for _ in range(2 if turn == MEASURED[0] else 1)]
        memory = [_text(texts.shown(name, content)) for name, content in self.files.items()]
        note += ". " + "One input tool is expected; memory files may be written as well. " * 3
        return {
            "role": "user",
            "content": [*self.results, _text(note[:METADATA]), _text(words), *images, *memory],
        }, names

    def history(self) -> list[Json]:
        """Messages of earlier turns without their pictures, the last `HISTORY` of them; the first has no results."""
        kept = self.messages[-HISTORY + 1 :] if len(self.messages) >= HISTORY else self.messages
        if kept and kept[0]["role"] == "assistant":
            kept = kept[1:]
        bare = [{**m, "content": [b for b in m["content"] if b["type"] != "image"]} for m in kept]
        if bare:
            bare[0]["content"] = [b for b in bare[0]["content"] if b["type"] != "tool_result"]
        return bare

    def answer(self, turn: int, names: list[str], output: int) -> list[Json]:
        """Thinking and tool calls of exactly `output` tokens."""
        name = self.dice.pick(names)
        press = {
            "type": "tool_use",
            "id": f"toolu_01{self.dice.hex(22)}",
            "name": "pressButton",
            "input": {"name": name},
        }
        calls = [press]
        if turn % 2 == 0:
            self.files[TODO] = texts.memory_file(TODO, 1 + turn // 2, MEMORY[TODO])
            note = {"path": TODO, "content": self.files[TODO]}
            calls.insert(0, {**press, "id": f"toolu_01{self.dice.hex(22)}", "name": "writeMemoryFile", "input": note})
        size = max(1000, output * 4 - sum(map(characters, calls)))
        thought = texts.thinking(name, size, self.dice)
        sign = f"Er{self.dice.hex(62)}"
        self.results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": "pressed" if call is press else "written"}
            for call in calls
        ]
        return [{"type": "thinking", "thinking": thought, "signature": sign}, *calls]


def _message(dice: Dice, content: list[Json], usage: Json) -> Json:
    return {
        "id": f"msg_01{dice.hex(22)}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": content,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": usage,
    }


def record() -> Recording:
    """The sample: eleven turns, no cache marker anywhere."""
    recording = Recording("2-lluma-musume", "LLuMa Musume: vision turns with memory files", "anthropic", "anthropic")
    game, cache, at = _Game(), PromptCache(), moment("2026-02-21 20:01:00")
    system = exactly(texts.SYSTEM, SYSTEM, texts.advice(Dice("musume system")))
    fixed = {"model": MODEL, "max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    fixed |= {"system": system, "tools": texts.tools(TOOLS)}
    for turn, vision in enumerate(VISION, 1):
        earlier, revision = game.history(), game.dice.drawn
        message, names = game.user(turn, vision)
        request = {**fixed, "messages": [*earlier, message]}
        if turn == MEASURED[0]:
            missing = MEASURED[1] - cache.usage(request, at, at, 0)["input_tokens"]
            game.dice.drawn = revision
            message, names = game.user(turn, vision + 4 * missing)
            request["messages"] = [*earlier, message]
        output = MEASURED[2] if turn == MEASURED[0] else game.dice.between(490, 590)
        content = game.answer(turn, names, output)
        first = round(at + game.dice.real(0.8, 1.6), 3)
        end = round(first + output / 110, 3)
        usage = cache.usage(request, at, first, tokens(sum(map(characters, content))))
        recording.exchanges.append(Exchange(request, _message(game.dice, content, usage), at, first, end))
        game.messages += [message, {"role": "assistant", "content": content}]
        at = round(end + game.dice.real(4.0, 9.0), 3)
    return recording
