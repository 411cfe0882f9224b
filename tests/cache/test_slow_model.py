"""The engines against slow, obviously right models of the same rules, on sessions that Hypothesis makes up.

The models compare whole prefixes as lists and remember everything; they know no keys, trees or chains.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.wire.registry import DIALECTS, encode
from tests.cache.bodies import Desk, figures

Block = tuple[str, str, int]
"""Section, role, tokens: two blocks of one size are the same block."""
SIZES = (40, 200, 700)
LIVES = {"5m": 300, "1h": 3600}


@dataclass
class Ask:
    """One made-up request: a conversation with markers, sent `after` seconds later, whose answer takes `wait`."""

    after: int
    wait: int
    system: list[int]
    turns: list[list[int]]
    marks: list[tuple[int, str]]
    effort: str

    def blocks(self) -> list[Block]:
        talk = [("messages", role(n), size) for n, turn in enumerate(self.turns) for size in turn]
        return [("system", "", size) for size in self.system] + talk

    def legal(self) -> list[tuple[int, str]]:
        """The markers by block, at most four, 1h before 5m."""
        size = len(self.blocks())
        places = {place % size: life for place, life in self.marks}
        chosen = sorted(places.items())[:4]
        long = max((i for i, (_, life) in enumerate(chosen) if life == "1h"), default=-1)
        return [(place, "1h" if i <= long else "5m") for i, (place, _) in enumerate(chosen)]

    def body(self, marked: bool = True) -> dict[str, Any]:
        texts = [{"type": "text", "text": f"x#{size}"} for _, _, size in self.blocks()]
        for place, life in self.legal() if marked else ():
            texts[place]["cache_control"] = {"type": "ephemeral", "ttl": life}  # type: ignore[assignment]
        rest = iter(texts[len(self.system) :])
        messages = [
            {"role": role(n), "content": [next(rest) for _ in turn]} for n, turn in enumerate(self.turns) if turn
        ]
        members: dict[str, Any] = {"system": texts[: len(self.system)]} if self.system else {}
        return {**members, "messages": messages, "output_config": {"effort": self.effort}}


def role(turn: int) -> str:
    return "assistant" if turn % 2 else "user"


@st.composite
def sessions(draw: st.DrawFn) -> list[Ask]:
    """Requests that mostly grow, sometimes go back, change something early, or begin anew."""
    size = st.sampled_from(SIZES)
    turn = st.lists(size, min_size=1, max_size=draw(st.sampled_from([2, 2, 12])))
    asks: list[Ask] = []
    system = draw(st.lists(size, max_size=2))
    turns = draw(st.lists(turn, min_size=1, max_size=3))
    for _ in range(draw(st.integers(1, 8))):
        match draw(st.sampled_from(["grow", "grow", "leap", "leap", "same", "back", "system", "early"])):
            case "grow":
                turns = [*turns, *draw(st.lists(turn, min_size=1, max_size=3))]
            case "leap":
                turns = [*turns, [40] * draw(st.integers(16, 22))]
            case "back":
                turns = turns[: max(1, len(turns) // 2)]
            case "system":
                system = draw(st.lists(size, max_size=2))
            case "early":
                turns = [draw(turn), *turns[1:]]
        marks = draw(st.lists(st.tuples(st.integers(0, 99), st.sampled_from(["5m", "1h"])), max_size=4))
        tail = len(system) + sum(map(len, turns)) - 1
        marks = [*marks[: draw(st.integers(0, 4))], (tail, "5m")] if draw(st.booleans()) else marks
        after = draw(st.sampled_from([0, 1, 30, 299, 300, 301, 3599, 3601]))
        wait = draw(st.sampled_from([0, 0, 2, 40]))
        effort = draw(st.sampled_from(["high", "high", "low"]))
        asks.append(Ask(after, wait, system, turns, marks, effort))
    return asks


@dataclass
class Slow:
    """Anthropic's rules, word for word: every entry is a whole prefix."""

    minimum: int
    entries: list[dict[str, Any]] = field(default_factory=list)

    def send(self, ask: Ask, now: int) -> tuple[int, dict[str, int], int]:
        blocks = [(*block, ask.effort if block[0] == "messages" else "") for block in ask.blocks()]
        marks = ask.legal()
        hit = 0
        for place, _ in reversed(marks):
            window = [end for end in range(place + 1, place + 1 - 20, -1) if end > 0]
            hit = next((end for end in window if self.live(blocks[:end], now)), 0)
            if hit:
                break
        read = tokens(blocks[:hit])
        behind = [(p + 1, life) for p, life in marks if p + 1 > hit and tokens(blocks[: p + 1]) >= self.minimum]
        b = max((end for end, life in behind if life == "1h"), default=hit)
        c = max((end for end, _ in behind), default=hit)
        writes = {"1h": tokens(blocks[hit:b]), "5m": tokens(blocks[b:c])}
        for end in {hit, *(p + 1 for p, _ in marks)}:
            for entry in self.entries:
                if end <= hit and entry["prefix"] == blocks[:end] and entry["ready"] <= now <= entry["until"]:
                    entry["until"] = max(entry["until"], now + entry["life"])
        for end, life in behind:
            self.write(blocks[:end], LIVES[life], now, now + ask.wait)
        return read, {life: n for life, n in writes.items() if n}, tokens(blocks[c:])

    def live(self, prefix: list[Any], now: int) -> bool:
        return any(e["prefix"] == prefix and e["ready"] <= now <= e["until"] for e in self.entries)

    def write(self, prefix: list[Any], life: int, now: int, ready: int) -> None:
        for entry in self.entries:
            if entry["prefix"] == prefix and entry["until"] >= now:
                # Written twice before the first answer began: one entry.
                entry["until"], entry["ready"] = max(entry["until"], now + life), min(entry["ready"], ready)
                return
        self.entries.append({"prefix": prefix, "until": now + life, "ready": ready, "life": life})


def tokens(blocks: list[Any]) -> int:
    return sum(block[2] for block in blocks)


@given(sessions())
def test_anthropic(asks: list[Ask]) -> None:
    desk, slow, now = Desk(), Slow(512), 0
    for ask in asks:
        now += ask.after
        body = ask.body()
        made = desk.send(now, body.pop("messages"), began=now + ask.wait, **body)
        read, writes, fresh = slow.send(ask, now)
        assert figures(made) == (read, sum(writes.values()), fresh)
        assert dict(made.writes) == {float(LIVES[life]): n for life, n in writes.items()}


@given(sessions(), st.sampled_from(["openai", "vllm"]))
def test_automatic(asks: list[Ask], provider: str) -> None:
    retention = 600
    desk = Desk("openai_chat", "gpt-4o" if provider == "openai" else "qwen", provider, retention=float(retention))
    step, least, spare = (128, 1024, 0) if provider == "openai" else (16, 16, 1)
    past: list[tuple[list[Any], int, int]] = []
    now = 0
    for ask in asks:
        now += ask.after
        messages = spoken(ask)
        made = desk.send(now, messages, began=now + ask.wait)
        shared = [common(messages, old) for old, at, ready in past if ready <= now <= at + retention]
        held = min(max(shared, default=0), size(messages) - spare)
        assert made.read == (held // step * step if held >= max(least, 1) else 0)
        past.append((messages, now, now + ask.wait))


@pytest.mark.slow
@given(sessions())
def test_slots(asks: list[Ask]) -> None:
    desk = Desk("openai_chat", "qwen", "llama.cpp")
    before: list[Any] = []
    for now, ask in enumerate(asks):
        messages = spoken(ask)
        assert desk.send(now, messages).read == min(common(messages, before), size(messages) - 1)
        before = messages


def spoken(ask: Ask) -> list[dict[str, Any]]:
    """A chat of single texts."""
    return [{"role": who or "system", "content": f"x#{n}"} for _, who, n in ask.blocks()]


def size(messages: list[Any]) -> int:
    return sum(int(m["content"][2:]) for m in messages)


def common(a: list[Any], b: list[Any]) -> int:
    """Tokens of the messages that both begin with."""
    end = 0
    while end < min(len(a), len(b)) and a[end] == b[end]:
        end += 1
    return size(a[:end])


@given(sessions(), st.data())
def test_forecast_of_a_path_is_the_simulation_of_its_bytes(asks: list[Ask], data: st.DataObject) -> None:
    """Law 8: what the staged path foretells is what the encoded bytes get, decoded afresh, at that time."""
    desk, now = Desk(), 0
    for ask in asks:
        now += ask.after
        request = DIALECTS["anthropic"].decode_request(json.dumps({"model": desk.model, **ask.body()}).encode())
        texts = [n for n, item in enumerate(request.items) if item.block.kind == "text"]
        gone = set(data.draw(st.lists(st.sampled_from(texts), max_size=2))) if len(texts) > 3 else set()
        staged = request.with_items([item for n, item in enumerate(request.items) if n not in gone])
        forecast = desk.simulator.predict(desk.of(staged)[0], now)
        # A tree of its own, which knows nothing but these bytes.
        alone = Desk()
        made, refused = alone.of(DIALECTS["anthropic"].decode_request(encode(staged)))
        assert not refused
        assert figures(desk.simulator.send(made, now, now + ask.wait)) == figures(forecast)


@given(sessions())
def test_breakpoints(asks: list[Ask]) -> None:
    desk, now = Desk("openai_chat", "gpt-5.6-sol", "openai"), 0
    entries: dict[str, tuple[int, int]] = {}
    for ask in asks:
        now += ask.after
        messages = spoken(ask)
        made = desk.send(now, messages, began=now + ask.wait)
        last = [n + 1 for n, m in enumerate(messages) if ends(messages, n)]
        found = [end for end in last[-21:] if (at := entries.get(json.dumps(messages[:end]))) and at[0] <= now <= at[1]]
        read = size(messages[: max(found, default=0)])
        whole = size(messages[: last[-1]]) if last else 0
        written = whole - read if whole >= 1024 and whole > read else 0
        assert figures(made) == (read, written, size(messages) - read - written)
        for end in found:
            entries[json.dumps(messages[:end])] = (entries[json.dumps(messages[:end])][0], now + 1800)
        if written:
            name = json.dumps(messages[: last[-1]])
            old = entries.get(name)
            ready = min(old[0], now + ask.wait) if old and old[1] >= now else now + ask.wait
            entries[name] = (ready, now + 1800)


def ends(messages: list[Any], n: int) -> bool:
    """Whether message `n` is the end of a user's message or of the system messages at the start."""
    after = messages[n + 1]["role"] if n + 1 < len(messages) else ""
    who = messages[n]["role"]
    return who == "user" or (who == "system" and after != "system")
