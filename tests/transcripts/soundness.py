"""Free tests of a reader: facts that hold for real requests; a rebuilt context that breaks one is rebuilt wrongly."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.core.tree import Tree


@dataclass
class Soundness:
    """Figures of one session; `exceptions` name each call that breaks a rule."""

    calls: int = 0
    pairs: int = 0
    cache_hits: int = 0
    cache_explained: int = 0
    steps: int = 0
    append_only: int = 0
    exceptions: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        read = f"{self.cache_hits}/{self.pairs}"
        return f"calls {self.calls}, next read = read + write {read}, append-only {self.append_only}/{self.steps}"


def soundness(session: Session) -> Soundness:
    """Hold every call of `session` against the rules."""
    found = Soundness(calls=len(session.calls))
    for thread in session.order:
        before: Call | None = None
        totals: set[int] = set()
        for call in session.thread_calls(thread):
            if call.provider == "anthropic":
                for fault in faults(session.tree, call.raw_head):
                    found.exceptions.append(f"{thread} {call.id} line {call.line}: {fault}")
            if before is not None:
                _step(session.tree, before, call, found)
                if before.usage and call.usage:
                    found.pairs += 1
                    found.cache_hits += call.usage.cache_read == before.usage.cache_read + before.usage.cache_write
                    found.cache_explained += call.usage.cache_read in totals
            if call.usage:
                totals.add(call.usage.cache_read + call.usage.cache_write)
            before = call
    return found


def _step(tree: Tree, before: Call, call: Call, found: Soundness) -> None:
    if before.epoch != call.epoch:
        return
    found.steps += 1
    if tree.holds(call.raw_head, before.response_head):
        found.append_only += 1
    else:
        found.exceptions.append(f"{call.thread} {call.id} line {call.line}: not below the answer before it")


def faults(tree: Tree, head: int) -> list[str]:
    """What the provider would refuse in the context `head` (facts §1): first message, pairs of calls and results."""
    found: list[str] = []
    messages: list[tuple[str, list[tuple[str, dict[str, object]]]]] = []
    for block, place in tree.items(head):
        if block.kind == HEADER:
            messages.append((place.role, []))
        elif place.section == "messages":
            messages[-1][1].append((block.kind, block.value()))
    if messages and messages[0][0] != "user":
        found.append(f"begins with {messages[0][0]}")
    seen: Counter[object] = Counter()
    for n, (role, blocks) in enumerate(messages):
        made = [value.get("id") for kind, value in blocks if kind == "tool_use"]
        following = messages[n + 1] if n + 1 < len(messages) else ("", [])
        answered = [value.get("tool_use_id") for kind, value in following[1] if kind == "tool_result"]
        lead = [kind for kind, _ in following[1]][: len(answered)]
        found += [f"call {one} without result" for one in made if one not in answered]
        found += [f"result {one} without call" for one in answered if one not in made]
        if any(kind != "tool_result" for kind in lead):
            found.append("results do not come first in their message")
        seen.update(made)
        if n and role == messages[n - 1][0]:
            found.append(f"two {role} messages in a row")
    found += [f"call {one} stands {count} times" for one, count in seen.items() if count > 1]
    return found
