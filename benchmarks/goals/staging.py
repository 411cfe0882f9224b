"""Staging on a context of 10,000 blocks: one more edit applied and priced anew, a policy run again, and a key (p95).

The conversation is a tool loop of a coding agent under a marker behind the system prompt and one at the end. Each step
stages one more edit (truncate, drop, pin, summarise) somewhere and asks for the whole result and price tag, as the
screen does at a key. A policy is run again on its own result, which the
screen has; the search tries all of them. Times are processor time. Last the
program itself in a terminal: from pressing the key that drops a block to the last byte of the frame in which everything
tells of it, edit after edit; that is elapsed time.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any, Final

from benchmarks.measure import Result
from benchmarks.sessions import MARK, home, session
from benchmarks.subject import RequestCount, body_sums, policy_search, replace, unless_lacking, wanted
from benchmarks.terminal import CTXTUI, PAGE_UP, Terminal
from ctxtui.cache.prefix_key import Prefixes, RequestEnds
from ctxtui.cache.prefix_seed import seed
from ctxtui.cache.prompt import CachedPrompt, prompt
from ctxtui.cache.requests import Summed
from ctxtui.cache.simulate import Simulator
from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, Block, Item, Place
from ctxtui.core.edit import Edit, make
from ctxtui.core.edit_kinds import DROP, PIN, SUMMARIZE, TRUNCATE
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.policies.policy import Step, run
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.dependence import Literals
from ctxtui.curation.price.price_tag import PriceQuestion, price_tag
from ctxtui.curation.provider_rules import ProviderRules, rules_for
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import Features
from ctxtui.tokens.weights import prior

BLOCKS: Final = 10_000
MODEL: Final = "claude-opus-4-8"
STAGED: Final = 200
MESSAGES: Final = 3270
"""Messages of a generated session with 10,000 blocks."""
BYTES: Final = 3_300_000
KEYS: Final = 60
BEFORE: Final = 100
"""Edits that are staged before the key is timed."""
OTHERS: Final = 12
OTHER_KEYS: Final = (("undoes an edit", b"u", False), ("does it again", b"\x12", False), ("pins a block", b"p", True))
"""What else is timed then, so many times each: what it does, its key, and whether it goes a page up before."""
SEARCH: Final = "search over policies and pairs, p95"
RERUN: Final = ("truncate_results", "clear_tool_results", "dedupe_reads", "sliding_window", "externalize_large")


def conversation(*, varied: bool = False) -> tuple[Tree, int]:
    """Turns of twelve rounds each: a text, a call, its result. `varied`: each eighth result is twenty times as long,
    each fifth round reads a file again that was read before: every policy finds what it is for."""
    tree, head, n = Tree(), ROOT, 0
    user, assistant = Place("messages", "user"), Place("messages", "assistant")
    head = tree.child(head, blocks.text("rules " * 500), Place("system"))
    while tree[head].depth < BLOCKS:
        n += 1
        if n % 12 == 1:
            head = tree.extend(head, [_head("user"), Item(blocks.text(f"Please look at src/part_{n}.py"), user)])
        of = n - 4 if varied and n % 5 == 0 else n
        call = {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"file_path": f"src/part_{of}.py"}}
        lines = 800 if varied and of % 8 == 0 else 40
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"value_{of} = {of * 7}\n" * lines}
        said = [Item(blocks.text(f"Reading part {n}."), assistant), Item(blocks.of(call), assistant)]
        head = tree.extend(head, [_head("assistant"), *said, _head("user"), Item(blocks.of(result), user)])
    return tree, head


def _head(role: str) -> Item:
    return Item(blocks.make(HEADER, {"role": role, "content": "list"}), Place("messages", role))


def count(block: Block) -> int:
    """Four characters a token."""
    return 0 if block.kind == HEADER else 1 + len(block.body) // 4


def features(block: Block) -> Features:
    """The same as raw features."""
    return Features(text=count(block))


def charge(usage: Usage, at: float) -> float | None:
    """USD at $5 a million, reads a tenth, writes a quarter more."""
    return (usage.fresh * 5 + usage.cache_read * 0.5 + usage.cache_write * 6.25 + usage.output * 25) / 1e6


def asked(context: Context) -> PriceQuestion:
    """The next request, the one before it being cached."""
    rules = cache_rules().rules(model_table().card(MODEL))
    prefixes, tokens, life = Prefixes(context.tree), Summed(context.tree, count), rules.seconds("5m")
    start = seed(rules, "anthropic", model=MODEL)

    def at(position: int) -> CachedPrompt:
        nodes = context.nodes
        marks = [(nodes[0], life), (nodes[position], life)]
        return prompt(prefixes, rules, start, nodes[position], tokens, marks)

    simulator = Simulator()
    simulator.send(at(len(context) - 6), 0.0)
    place = RequestEnds(prefixes, start, rules.strips)
    return PriceQuestion(simulator, at(len(context) - 1), charge, 30.0, place=place)


def _edit(rng: Random, context: Context, n: int) -> Edit:
    here = rng.randrange(1, len(context) - 40)
    while context.items[here].block.kind == HEADER:
        here += 1
    kind = rng.choice([TRUNCATE, TRUNCATE, DROP, PIN, SUMMARIZE])
    chosen = range(here, here + 12) if kind == SUMMARIZE else [here]
    given = {TRUNCATE: {"head": 100, "tail": 50}, SUMMARIZE: {"text": f"Summary {n}."}}.get(kind, {})
    return make(kind, context.targets(chosen), given, id=f"e{n}")


def results(folder: Path, runs: int) -> Iterator[Result]:
    """p95 of staging and repricing, of running policies again, of the search, and of the key that drops a block."""
    recorded = conversation()
    context = Context(*recorded)
    rules = rules_for("anthropic", model_table().card(MODEL))
    yield _staged(context, rules)
    sizes = [count(item.block) for item in context.items]
    other = Context(*conversation(varied=True))
    lengths = [count(item.block) for item in other.items]
    for name in RERUN:
        step = Step(POLICIES[name])
        made = tuple(run(step, _situation(other, lengths)))
        known = apply(other, made, rules)
        assert made, f"{name} finds nothing to do: its time would be that of looking"

        def again(step: Step = step, made: tuple[Edit, ...] = made, known: Applied = known) -> None:
            run(step, replace(_situation(other, lengths), log=made, known=known))

        took = _p95(again, 5 * runs)
        yield Result("staging", f"{name} run again, p95", "", took, 33.0, "ms", f"{len(made)} edits")
    yield from unless_lacking("staging", SEARCH, _searched(recorded, sizes, runs))
    yield from _keys(folder)


def _staged(context: Context, rules: ProviderRules) -> Result:
    """One more edit, applied with all before it, and the whole tag."""
    literals, question = Literals(context), asked(context)
    literals.advance()
    plain = apply(context, (), rules)
    counted = _counted(context, plain)
    rng, log = Random(7), list[Edit]()

    def stage() -> None:
        log.append(_edit(rng, context, len(log)))
        applied = apply(context, log, rules)
        price_tag(plain, applied, question, count, *counted(applied), literals=literals)

    name = "stage one more edit and price all, 10,000 blocks, p95"
    return Result("staging", name, "", _p95(stage, STAGED), 16.0, "ms", f"{STAGED} edits")


def _counted(context: Context, plain: Applied) -> Callable[[Applied], tuple[Any, ...]]:
    """What a price tag takes beside the prompts: the requests counted whole, without and under edits; nothing in a
    checkout whose tag counts prompts alone."""
    if body_sums is None:
        return lambda applied: ()
    counts, weights = Cumulated(context.tree, features), prior(model_table().card(MODEL))
    counts.advance()

    def sized(applied: Applied) -> Any:
        return RequestCount(sum(body_sums(applied, counts, weights, features, strips=False)))

    without = sized(plain)
    return lambda applied: ((without, sized(applied)),)


def _searched(recorded: tuple[Tree, int], sizes: list[int], runs: int) -> Iterator[Result]:
    wanted(policy_search=policy_search)
    rest = [policy for policy in POLICIES.values() if policy.name != "budget"]

    def searched() -> None:
        # A context of its own: what was read of the blocks is not known yet.
        list(policy_search(_situation(Context(*recorded), sizes), rest))

    yield Result("staging", SEARCH, "", _p95(searched, max(runs, 2)) / 1000, 2.0, "s", f"{BLOCKS:,} blocks")


def _situation(context: Context, sizes: list[int]) -> PolicyContext:
    rules = rules_for("anthropic", model_table().card(MODEL))
    return PolicyContext(
        context=context, log=(), tokens=sizes.__getitem__, count=count, usable=100_000, rules=rules
    )  # fmt: skip


def _keys(folder: Path) -> Iterator[Result]:
    """Drop block after block of a recorded session; the first price waits until the session is read and counted. Then
    take some of that back, do it again, and pin blocks."""
    with Terminal([*CTXTUI, str(session(folder, MESSAGES, BYTES))], env=home(folder / "home")) as run:
        run.until_text(MARK.encode())
        run.rest()
        run.press(b"d", quiet=1.0)
        for _ in range(BEFORE):
            run.press(PAGE_UP, quiet=0.02)
            run.press(b"d", quiet=0.02)
        run.settle(1.0)
        staged = f"{BEFORE} edits staged, to its frame"
        took = _timed(run, b"d", KEYS, move=True)
        note = f"p50 {median(took):.1f}, {len(took)} of {KEYS} keys"
        name = f"the key that drops a block, {staged}, p95"
        yield Result("staging", name, "", quantiles(took, n=20)[-1], 12.0, "ms", note)
        for does, key, move in OTHER_KEYS:
            took = _timed(run, key, OTHERS, move=move)
            name = f"the key that {does}, {staged}, median"
            yield Result("staging", name, "", median(took), unit="ms", note=f"{len(took)} of {OTHERS} keys")


def _timed(run: Terminal, key: bytes, times: int, *, move: bool) -> list[float]:
    """Milliseconds from `key` to the last byte of its frame, each time; with `move` a page further up each time."""
    took: list[float] = []
    for _ in range(times):
        if move:
            run.press(PAGE_UP, quiet=0.25)
        spent = run.press(key, quiet=0.25)
        took += [spent * 1000] if spent is not None else []
    return took


def _p95(work: Callable[[], None], times: int) -> float:
    took: list[float] = []
    gc.collect()
    for _ in range(times):
        start = time.thread_time()
        work()
        took.append((time.thread_time() - start) * 1000)
    return quantiles(took, n=20)[-1]
