"""A provider that counts by fixed weights, and sessions reported by it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from ctxtui.analysis.audit import AuditedCall, audit_calls
from ctxtui.analysis.book import Book
from ctxtui.core import block
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.session import CallSeen
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from tests.analysis.sessions import Script, book, words

OPUS45, OPUS4, CODEX = "claude-opus-4-5-20251101", "claude-opus-4-20250514", "gpt-5.4"
UNSEEN = 12_000
"""System prompt and tools, which no transcript holds."""


def tool(name: str, text: str, id_: str = "t") -> Block:
    return block.from_part({"type": "tool_use", "id": id_, "name": name, "input": {"command": text}})


def result(text: str, id_: str = "t") -> Block:
    return block.from_part({"type": "tool_result", "tool_use_id": id_, "content": text})


def speech(dice: random.Random, least: int, most: int) -> str:
    return " ".join(dice.choice(["alpha", "beta", "gamma", "delta"]) for _ in range(dice.randrange(least, most)))


@dataclass
class Provider:
    """Reports what a session's blocks come to at `ratio` tokens a word, 40 for what surrounds a call, 20 a result."""

    ratio: float = 1.3

    def tokens(self, script: Script, head: int) -> int:
        total = float(UNSEEN)
        for node in script.session.tree.path(head):
            one = script.session.tree[node].block
            kind = one.kind
            total += self.ratio * words(str(one.value())) if kind != "header" else 3
            total += {"tool_use": 40, "tool_result": 20}.get(kind, 0)
        return round(total)


def report(script: Script, call: Call, usage: Usage) -> Call:
    """Put `usage` on `call`."""
    made = replace(call, usage=usage)
    script.session.apply(CallSeen(made))
    return made


def loop(
    script: Script, rounds: int, final: bool = True, seed: int = 1, extra: Callable[[int], int] = lambda n: 0
) -> list[Call]:
    """One turn with `rounds` tool rounds, reported by a provider; `extra(n)` tokens enter unseen before round n."""
    dice, provider, hidden, made = random.Random(seed), Provider(), 0, []
    script.hear(block.text(speech(dice, 10, 40)))
    for n in range(rounds):
        hidden += extra(n)
        answer = [block.text(speech(dice, 3, 30)), tool("Bash", speech(dice, 3, 60), f"t{n}")]
        call = script.call(*answer)
        total = provider.tokens(script, call.sent_head) + hidden
        output = provider.tokens(script, call.response_head) - provider.tokens(script, call.sent_head)
        usage = Usage(fresh=total, output=output if final else 1, output_final=final, has_cache=False)
        made.append(report(script, call, usage))
        script.hear(result(speech(dice, 20, 900), f"t{n}"))
    return made


def counted(script: Script) -> Book:
    return book(script.session, model_table())


def rows(script: Script) -> list[AuditedCall]:
    return audit_calls(counted(script))


def start(script: Script) -> Script:
    """Let the next call begin an empty context."""
    script.head = ROOT
    return script
