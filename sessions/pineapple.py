"""Sample 1, pineapple_evolve: five generations of an evolutionary search whose message list is never pruned."""

from __future__ import annotations

from typing import Final, NamedTuple

from sessions import pineapple_texts as texts
from sessions.dice import Dice
from sessions.prompt_cache import PromptCache
from sessions.recording import Exchange, Json, Recording, moment, tokens

MODEL: Final = "claude-sonnet-4-5-20250929"
SYSTEM: Final = 7000
STATE: Final = 200
CHILD_SYSTEM: Final = 4800


class Generation(NamedTuple):
    """Characters of one generation's messages; `musing` is a first reply without a repl block, 0 if there was none.
    `best` is the number of the best trial and its sum of radii, `evaluation` the seconds that the evaluation of the
    children took."""

    musing: int
    spawning: int
    request: int
    selection: int
    feedback: int
    best: tuple[int, float]
    evaluation: int


GENERATIONS: Final = (
    Generation(0, 9881, 1847, 3360, 85625, (13, 2.4412), 96),
    Generation(0, 10581, 2437, 3280, 138325, (4, 2.5207), 131),
    Generation(2950, 10847, 2277, 4738, 130529, (7, 2.5738), 548),
    Generation(3054, 11969, 3154, 4835, 171850, (2, 2.6119), 143),
    Generation(775, 11376, 2825, 4230, 141234, (11, 2.6291), 118),
)


class _Loop:
    """The root's conversation, and the clock."""

    def __init__(self) -> None:
        self.recording = Recording(
            "1-pineapple-evolve", "pineapple: five generations, never pruned", "anthropic", "anthropic"
        )
        self.cache = PromptCache()
        self.dice = Dice("pineapple")
        self.at = moment("2026-01-14 09:02:11")
        self.messages: list[Json] = []
        self.system = [{"type": "text", "text": texts.system(SYSTEM), "cache_control": {"type": "ephemeral"}}]
        self.generation(0)

    def generation(self, number: int) -> None:
        """The search advances: the end of the system prompt says so."""
        self.system = [self.system[0], {"type": "text", "text": texts.state(number, STATE)}]

    def hear(self, words: str) -> None:
        self.messages.append({"role": "user", "content": words})

    def ask(self, reply: str) -> None:
        """One call of the root, answered with `reply`. The marker stands on the last but one user message."""
        users = [i for i, message in enumerate(self.messages) if message["role"] == "user"]
        sent = list(self.messages)
        if len(users) > 1:
            marked = {"type": "text", "text": sent[users[-2]]["content"], "cache_control": {"type": "ephemeral"}}
            sent[users[-2]] = {"role": "user", "content": [marked]}
        request = {"model": MODEL, "max_tokens": 16000, "system": self.system, "messages": sent}
        self.at = self.call("main", request, reply, self.at)
        self.messages.append({"role": "assistant", "content": reply})

    def call(self, thread: str, request: Json, reply: str, at: float) -> float:
        """Record one call that starts at `at`; returns when it ended."""
        first = round(at + self.dice.real(0.9, 2.2), 3)
        end = round(first + tokens(len(reply)) / 75, 3)
        response = {
            "id": f"msg_01{self.dice.hex(22)}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [{"type": "text", "text": reply}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": self.cache.usage(request, at, first, tokens(len(reply))),
        }
        self.recording.exchanges.append(Exchange(request, response, at, first, end, thread, thread == "main"))
        return end

    def children(self, made: list[texts.Trial]) -> None:
        """The first child writes the entry of the shared system prompt; the others start after its first byte. Their
        programs stand in the feedback, so the recording keeps what they were asked and what they cost."""
        shared = [{"type": "text", "text": texts.child_system(CHILD_SYSTEM), "cache_control": {"type": "ephemeral"}}]
        for i, trial in enumerate(made):
            request = {
                "model": MODEL,
                "max_tokens": 8000,
                "system": shared,
                "messages": [{"role": "user", "content": trial.prompt}],
            }
            reply = f"{trial.reasoning}\n\n```python\n{trial.code}\n```"
            thread = f"child {trial.id.removeprefix('trial_')}"
            self.recording.threads[thread] = (trial.id.replace("_", " ", 1), "main")
            self.call(thread, request, reply, round(self.at + (0.4 if i == 0 else 3.0 + 0.05 * i), 3))


def record() -> Recording:
    """The sample. The children of generation 0 are recorded as threads, those of later ones are not."""
    loop = _Loop()
    dice = loop.dice
    loop.hear(texts.OPENING)
    parents: list[str] = []
    best: texts.Trial | None = None
    for number, g in enumerate(GENERATIONS):
        if g.musing:
            loop.ask(texts.musing(number, g.musing, dice))
            loop.hear(texts.NUDGE)
        children = texts.prompts(number, parents, dice)
        loop.ask(texts.spawning(number, children, g.spawning, dice))
        made, feedback = texts.trials(number, children, g.best, g.feedback, dice)
        if number == 0:
            loop.children(sorted(made, key=lambda trial: int(trial.id.rpartition("_")[2])))
        loop.at += g.evaluation
        loop.hear(texts.RAN)
        loop.hear(texts.selection_request(number, made, g.request, dice))
        parents, answer = texts.selection(made, g.selection, dice)
        loop.ask(answer)
        loop.at += 4.0
        loop.hear(feedback)
        loop.generation(number + 1)
        best = max([*made, *([best] if best else [])], key=lambda t: t.score)
    assert best is not None
    loop.ask(texts.farewell(best, dice))
    loop.recording.exchanges.sort(key=lambda e: e.started)
    return loop.recording
