"""Cache simulation against one pass of canonical form and hash over the same context (goal G16).

1,000 calls over a context of a million tokens: a conversation of 4.3 MB that grows call by call, with a marker behind
the system prompt and one at the end. The first figure is that pass, the chain of keys and every call simulated,
from a loaded tree; the second is all calls under other rules (one-hour markers), from keys that are known.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.measure import Result, ratio
from ctxtui.cache.prefix_key import Prefixes
from ctxtui.cache.prefix_seed import Seed, seed
from ctxtui.cache.prompt import CachedPrompt, prompt
from ctxtui.cache.simulate import Simulator
from ctxtui.core import block, canonical
from ctxtui.core.block import HEADER, Place
from ctxtui.core.tree import ROOT, Tree
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules

CALLS: Final = 1000
BYTES: Final = 4_300_000
MODEL: Final = "claude-opus-5"
PASS: Final = "one canonical and hash pass"
PAUSE: Final = 20.0
"""Seconds between calls."""

_CODE: Final = (
    '    def read(self, path: Path) -> str:\n        """What stands in the file."""\n'
    '        return path.read_text(encoding="utf-8")  # \u2192 see docs/reading.md:{n}\n\n'
    "{n:6}\t    found = [one for one in rows if one.name == 'main' and one.depth <= {n}]\n"
)


def values() -> list[tuple[Place, str, Any]]:
    """The parts of the conversation with their kinds: for each call a text, a tool call, and its result."""
    talk = ("messages", "assistant"), ("messages", "user")
    assistant, user = Place(*talk[0]), Place(*talk[1])
    found: list[tuple[Place, str, Any]] = [(Place("system"), "text", {"type": "text", "text": _CODE * 40})]
    for n in range(CALLS):
        code = "".join(_CODE.format(n=n * 16 + k) for k in range(BYTES // CALLS // len(_CODE)))
        said = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"path": f"src/{n}.py", "lines": [1, n]}}
        found += [
            (assistant, HEADER, {"role": "assistant", "content": "list"}),
            (assistant, "text", {"type": "text", "text": f"Reading file {n} next."}),
            (assistant, "tool_use", said),
            (user, HEADER, {"role": "user", "content": "list"}),
            (user, "tool_result", {"type": "tool_result", "tool_use_id": f"t{n}", "content": code}),
        ]
    return found


class Session:
    """The calls of the conversation: the tree, as a loaded session has it, and what the simulator makes of it."""

    def __init__(self, parts: list[tuple[Place, str, Any]]) -> None:
        self.tree = Tree()
        self.heads: list[int] = []
        self.prefixes = Prefixes(self.tree)
        self.lengths = [0]
        self.sent = 0
        head = ROOT
        for place, kind, value in parts:
            made = block.make(kind, value)
            head = self.tree.child(head, made, place)
            self.lengths.append(self.lengths[-1] + len(made.body) // 4)
            if kind == "tool_result":
                self.heads.append(head)
                self.sent += self.lengths[head]

    def simulate(self, life: float, base: Seed) -> int:
        """Every call in turn; returns the tokens read in all."""
        rules = cache_rules().rules(model_table().card(MODEL))
        simulator, tokens, front = Simulator(), self.lengths.__getitem__, 1
        read = 0
        for n, head in enumerate(self.heads):
            made: CachedPrompt = prompt(self.prefixes, rules, base, head, tokens, ((front, life), (head, life)))
            read += simulator.send(made, n * PAUSE).read
        return read


def results(folder: Path, runs: int) -> list[Result]:
    """The figures of G16. `folder` is not used."""
    parts = values()
    rules = cache_rules().rules(model_table().card(MODEL))
    base = seed(rules, "anthropic", provider="anthropic", model=MODEL)
    known = Session(parts)
    read = known.simulate(300.0, base)
    tokens = known.lengths[-1]

    def one_pass() -> float:
        return timed(lambda: [canonical.digest(canonical.dumps(value)) for _, _, value in parts])

    def first() -> float:
        session = Session(parts)
        return timed(lambda: session.simulate(300.0, base))

    def again() -> float:
        return timed(lambda: known.simulate(3600.0, base))

    def chained() -> float:
        # What another front or policy asks for: the keys of all that follows it, from digests that are known.
        keys = Prefixes(known.tree).chain(base, known.heads[-1])
        return timed(lambda: keys.spot(known.heads[-1], known.heads[-1]))

    each_message = median(chained() for _ in range(max(5, runs))) / (2 * CALLS)
    # The pass itself is part of the first figure; measuring it twice would only add its noise.
    beyond, _, floor = ratio(first, one_pass, runs)
    more, rerun, _ = ratio(again, one_pass, runs)
    note = (
        f"{CALLS} calls, {tokens / 1e6:.2f}M tokens, {1000 * floor:.0f} ms a pass, {100 * read / known.sent:.0f} % read"
    )
    each = f"{1e6 * rerun / CALLS:.1f} us a call"
    return [
        Result("G16", "the pass and every call simulated", PASS, 1 + beyond, 1.5, "x", note),
        Result("G16", "the same calls under other rules", PASS, more, 0.2, "x", each),
        Result("G16", "keys of a context made anew from digests, for each message", "", 1e6 * each_message, 1.0, "us"),
    ]


def timed(work: Callable[[], object]) -> float:
    """Seconds of CPU that `work` takes, the collector off as in timeit."""
    gc.collect()
    gc.disable()
    start = time.process_time()
    work()
    spent = time.process_time() - start
    gc.enable()
    return spent
