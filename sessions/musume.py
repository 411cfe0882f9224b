"""Sample 2, LLuMa Musume: a vision agent that reads a whole screen as JSON every turn and keeps all of it."""

from __future__ import annotations

from typing import Any, Final

from examples.musume.screens import metadata, screen, spelled
from sessions import musume_texts as texts
from sessions.dice import Dice, exactly
from sessions.picture import screenshot
from sessions.prompt_cache import PromptCache, characters
from sessions.recording import CHARS_PER_TOKEN, Exchange, Json, Recording, moment, tokens

MODEL: Final = "claude-haiku-4-5-20251001"
SYSTEM: Final = 9200
TOOLS: Final = 6000
TURNS: Final = range(4, 15)
"""Turn ids: the agent was started again in the middle of a career, its files and its count of turns remain."""
LEARNT: Final = "ui_knowledge.md"
MEMORY: Final = {"player.yaml": 2600, "run.yaml": 3800, LEARNT: 8000, "todo.md": 900}
"""Characters of the memory files; `LEARNT` is made as long as the measured turn wants it."""
TODO: Final = "todo.md"
HISTORY: Final = 20
"""Messages kept; older ones are dropped whole."""
MEASURED: Final = (6, 24479, 595)
"""The turn that the authors measured: its number, input and output tokens. It has two screenshots."""


def _text(words: str) -> Json:
    return {"type": "text", "text": words}


class _Game:
    """The conversation as the agent's harness keeps it, with `learnt` characters in the file `LEARNT`, and `more` than
    usual in the first thought."""

    def __init__(self, learnt: int, more: int) -> None:
        self.more = more
        self.dice = Dice("musume")
        self.messages: list[Json] = []
        self.pictures = [screenshot(boxes) for boxes in texts.screens()]
        self.results: list[Json] = []
        sizes = {**MEMORY, LEARNT: learnt}
        self.files = {name: texts.memory_file(name, 1, size) for name, size in sizes.items()}

    def user(self, turn: int, seen: Json) -> Json:
        """The turn's message: results, metadata, screen, screenshots, memory files at the end."""
        two = turn == MEASURED[0] or seen["menu_state"]["selected_tab"] == "Menu"
        shown = self.pictures[: 2 if two else 1]
        images = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": d}} for d in shown]
        memory = [_text(texts.shown(name, content)) for name, content in self.files.items()]
        told = [_text(metadata(turn)), _text(spelled(seen))]
        return {"role": "user", "content": [*self.results, *told, *images, *memory]}

    def history(self) -> list[Json]:
        """Messages of earlier turns without their pictures, the last `HISTORY` of them; the first has no results."""
        kept = self.messages[-HISTORY + 1 :] if len(self.messages) >= HISTORY else self.messages
        if kept and kept[0]["role"] == "assistant":
            kept = kept[1:]
        bare = [{**m, "content": [b for b in m["content"] if b["type"] != "image"]} for m in kept]
        if bare:
            bare[0]["content"] = [b for b in bare[0]["content"] if b["type"] != "tool_result"]
        return bare

    def answer(self, turn: int, seen: Json, output: int) -> list[Json]:
        """Thinking and tool calls of exactly `output` tokens."""
        name = self.dice.pick([button["name"] for button in seen["buttons"]])
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
        size = max(1000, output * CHARS_PER_TOKEN - sum(map(characters, calls)))
        if turn == TURNS[0]:
            size += self.more
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
    """The sample: eleven turns, no cache marker anywhere; the measured turn has its tokens exactly."""
    before = TURNS.index(MEASURED[0])
    found = _played(MEMORY[LEARNT])
    short = MEASURED[1] - found.exchanges[before].response["usage"]["input_tokens"]
    # Every turn up to the measured one shows the file.
    return _played(*divmod(MEMORY[LEARNT] * (before + 1) + short * CHARS_PER_TOKEN, before + 1))


def _played(learnt: int, more: int = 0) -> Recording:
    """The turns, with `learnt` characters in the file `LEARNT`, and `more` than usual in the first thought."""
    recording = Recording("2-lluma-musume", "LLuMa Musume: vision turns with memory files", "anthropic", "anthropic")
    game, cache, at = _Game(learnt, more), PromptCache(), moment("2025-11-01 18:14:22")
    system = exactly(texts.SYSTEM, SYSTEM, texts.advice(Dice("musume system")))
    fixed: dict[str, Any] = {"model": MODEL, "max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    fixed |= {"system": system, "tools": texts.tools(TOOLS)}
    for turn in TURNS:
        seen = screen(turn)
        earlier, message = game.history(), game.user(turn, seen)
        request = {**fixed, "messages": [*earlier, message]}
        output = MEASURED[2] if turn == MEASURED[0] else game.dice.between(490, 590)
        content = game.answer(turn, seen, output)
        first = round(at + game.dice.real(0.8, 1.6), 3)
        end = round(first + output / 110, 3)
        usage = cache.usage(request, at, first, tokens(sum(map(characters, content))))
        recording.exchanges.append(Exchange(request, _message(game.dice, content, usage), at, first, end))
        game.messages += [message, {"role": "assistant", "content": content}]
        # A turn a minute, as their ids and times say.
        at = round(moment("2025-11-01 18:10:22") + 60 * (turn + 1) + game.dice.real(0.0, 0.9), 3)
    return recording
