"""Strategies put markers where they say; solve finds what brute force finds."""

from __future__ import annotations

import random
from functools import partial
from itertools import pairwise, product
from typing import Any

import pytest

from ctxtui.cache.marker_placement import (
    STRATEGIES,
    KnownEnds,
    PlacementRequest,
    markable_at,
    memory_end,
    messages_back,
    static_end,
)
from ctxtui.cache.optimal_markers import MarkerRates, TimedPrompt, minimum_costs, relative_rates, simulate_cost, solve
from ctxtui.cache.prompt import CacheMarker
from ctxtui.cache.simulate import Simulator
from ctxtui.core.block import Place
from ctxtui.core.block import text as words
from ctxtui.core.tree import ROOT, Node, Tree
from tests.cache.bodies import Desk, assistant, rules_of, text, user
from tests.sampling import few

RATES = MarkerRates(1.0, 0.1, {300.0: 1.25, 3600.0: 2.0})


def talk(sizes: list[int]) -> list[Any]:
    """Messages of one text each, of so many tokens."""
    return [(assistant if n % 2 else user)(text(f"{n}#{size}")) for n, size in enumerate(sizes)]


def timed(desk: Desk, sessions: list[tuple[float, list[int]]]) -> list[TimedPrompt]:
    return [TimedPrompt(desk.prompt(talk(sizes))[0], at, RATES) for at, sizes in sessions]


def cheapest(calls: list[TimedPrompt]) -> float:
    """Every legal choice of markers at every call, through the simulator."""
    choices = []
    for call in calls:
        spots = list(call.prompt.last.back())[::-1]
        every = product((0.0, 300.0, 3600.0), repeat=len(spots))
        legal = []
        for lives in every:
            marks = tuple(CacheMarker(s, life) for s, life in zip(spots, lives, strict=True) if life)
            if len(marks) <= 4 and all(a.life >= b.life for a, b in pairwise(marks)):
                legal.append(marks)
        choices.append(legal)
    return _least(Simulator(), calls, choices, 0)


def _least(simulator: Simulator, calls: list[TimedPrompt], choices: list[Any], n: int) -> float:
    if n == len(calls):
        return 0.0
    best = float("inf")
    for marks in choices[n]:
        there = simulator.copy()
        outcome = there.send(calls[n].prompt._replace(markers=marks), calls[n].at)
        best = min(best, RATES.cost(outcome) + _least(there, calls, choices, n + 1))
    return best


@pytest.mark.parametrize("seed", few(range(24), 6))
def test_solve_is_as_good_as_brute_force(seed: int) -> None:
    chance = random.Random(seed)
    desk = Desk(minimum=chance.choice([0, 0, 512]))
    sizes: list[int] = [chance.choice([100, 600, 2000]) for _ in range(2)]
    sessions, at = [], 0.0
    for _ in range(3):
        sessions.append((at, list(sizes)))
        at += chance.choice([10, 200, 301, 1500, 3500, 4000])
        if chance.random() < 0.3:
            sizes = [*sizes[:1], chance.choice([101, 601])]
        else:
            sizes = [*sizes, chance.choice([100, 600, 2000])][:4]
    calls = timed(desk, sessions)
    plan = solve(calls)
    assert plan.exact
    assert plan.cost == pytest.approx(cheapest(calls))
    # What it promises is what the simulator charges.
    assert simulate_cost(calls, plan.marks)[0] == pytest.approx(plan.cost)
    assert sum(map(sum, minimum_costs(calls))) <= plan.cost + 1e-6


def growing(pauses: list[float]) -> list[tuple[float, list[int]]]:
    found, sizes, at = [], [3000], 0.0
    for pause in [0.0, *pauses]:
        at += pause
        sizes = [*sizes, 120, 900]
        found.append((at, list(sizes)))
    return found


def test_a_pause_of_half_an_hour_is_bridged_by_a_short_one_hour_write() -> None:
    calls = timed(Desk(), growing([20, 20, 1800, 20]))
    plan = solve(calls)
    total, outcomes = simulate_cost(calls, plan.marks)
    assert total == pytest.approx(plan.cost)
    # Before the pause something was written for an hour, and little: its entry holds all in front of it.
    long = sum(n for outcome in outcomes for life, n in outcome.writes if life == 3600.0)
    assert 0 < long <= 3000
    assert outcomes[3].read > 3000


def test_long_sessions_come_with_a_bound() -> None:
    calls = timed(Desk(), growing([20.0, 400.0] * 40))
    plan = solve(calls)
    assert not plan.exact and plan.bound <= plan.cost <= 1.2 * plan.bound


def test_one_call_needs_no_marker() -> None:
    calls = timed(Desk(), growing([]))
    assert solve(calls).marks == ((),)


def test_relative_rates() -> None:
    assert relative_rates(rules_of("claude-opus-5-5")) == MarkerRates(1.0, 0.05, {300.0: 1.25, 3600.0: 2.0})


# --- strategies -------------------------------------------------------------------------------------------------------


def placed(name: str) -> list[tuple[str, float]]:
    """What a strategy marks in a request with tools, system, memory, and three messages: texts and lifetimes."""
    desk = Desk()
    made, _ = desk.prompt([user(text("one"))], system=[text("sys")])
    tree, head = desk.prefixes.tree, made.last.node
    head = tree.child(head, words("memory"), Place("messages", "user", "memory"))
    for role, said in (("assistant", "two"), ("user", "three")):
        head = tree.child(head, *header(role))
        head = tree.child(head, words(said), Place("messages", role))
    strategy = next(s for s in STRATEGIES if s.name == name)
    marks = strategy.place(
        PlacementRequest(tree, head, rules_of("claude-opus-5"), partial(held, tree, head), lambda node: 100_000 + node)
    )
    return [(tree[node].block.value()["text"], life) for node, life in marks]


def held(tree: Any, head: int, life: float) -> int:
    """Everything but the last two messages is cached for five minutes."""
    return messages_back(tree, head, 2) if life <= 300.0 else ROOT


def header(role: str) -> tuple[Any, Place]:
    from ctxtui.core.block import header as made

    return made(role), Place("messages", role)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("none", []),
        ("automatic", [("three", 300)]),
        ("static prefix", [("sys", 300)]),
        ("moving tail", [("two", 300), ("three", 300)]),
        ("static + tail", [("sys", 300), ("three", 300)]),
        ("2 messages back", [("memory", 300)]),
        ("memory-aware", [("sys", 300), ("memory", 300), ("three", 300)]),
        ("anchored", [("sys", 3600), ("two", 3600), ("three", 300)]),
    ],
)
def test_where_strategies_put_their_markers(name: str, where: list[tuple[str, float]]) -> None:
    assert placed(name) == where


def test_no_strategy_marks_what_is_refused() -> None:
    desk = Desk()
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    made, _ = desk.prompt([user(text("one")), assistant(text("a"), thought)])
    tree = desk.prefixes.tree
    node = markable_at(tree, made.last.node)
    assert tree[node].block.kind == "text" and node != ROOT
    for strategy in STRATEGIES:
        marks = strategy.place(PlacementRequest(tree, made.last.node, rules_of("claude-opus-5")))
        assert len(marks) <= 4 and all(a[1] >= b[1] for a, b in pairwise(marks))
        assert all(tree[n].block.kind not in ("thinking", "header") for n, _ in marks)


def test_each_call_has_its_own_rates() -> None:
    calls = timed(Desk(), growing([20, 20]))
    dear = calls[1]._replace(rates=MarkerRates(10.0, 1.0, {300.0: 12.5, 3600.0: 20.0}))
    plan = solve([calls[0], dear, calls[2]])
    total, outcomes = simulate_cost([calls[0], dear, calls[2]], plan.marks)
    assert total == pytest.approx(plan.cost)
    # At ten times the price nothing that one more call reads is worth writing.
    assert outcomes[1].written == 0 and outcomes[0].written > 0


def test_ends_that_are_known_of_other_contexts_are_those_that_a_walk_finds() -> None:
    draw, tree, known = random.Random(3), Desk().prefixes.tree, KnownEnds()
    heads = [tree.child(ROOT, words("sys"), Place("system"))]
    for n in range(600):
        # Mostly on from the last one, sometimes another way from an earlier one; the first without anything in front.
        head = ROOT if n == 300 else heads[-1] if draw.random() < 0.9 else draw.choice(heads)
        mark = draw.choice(("", "", "", "", "", "", "", "", "memory", "summary"))
        role = draw.choice(("user", "assistant"))
        head = tree.child(tree.child(head, *header(role)), words(f"words {n}"), Place("messages", role, mark))
        heads.append(head)
        if draw.random() < 0.5:
            assert memory_end(tree, head, known) == memory_end(tree, head)
            assert static_end(tree, head, known) == static_end(tree, head)
    assert len({memory_end(tree, head) for head in heads}) > 9 and len({static_end(tree, head) for head in heads}) == 2


def test_a_context_that_grows_is_not_walked_to_its_beginning_again() -> None:
    tree, known = CountingTree(), KnownEnds()
    head = tree.child(ROOT, words("sys"), Place("system"))
    for n in range(500):
        head = tree.child(head, words(f"words {n}"), Place("messages", "assistant"))
        before = tree.looks
        assert memory_end(tree, head, known) == ROOT
        assert tree.looks - before < 8


class CountingTree(Tree):
    looks = 0

    def __getitem__(self, node: int) -> Node:
        self.looks += 1
        return super().__getitem__(node)
