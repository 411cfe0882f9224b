"""A way of caching is one file and one line: nothing else asks for an engine by its name."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import ClassVar

import pytest

import ctxtui
from ctxtui.cache.markers import read_markers
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prefix_key import PrefixChains, PrefixEnd
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.requests import SummedTokens, prompt_from_request
from ctxtui.cache.rule_table import RuleDataError, parse_rules
from ctxtui.cache.rules import CacheRules, Mechanism
from ctxtui.cache.simulate import ENGINES, Simulator
from ctxtui.core.tree import Tree
from ctxtui.services.config.package_data import model_table
from ctxtui.wire.registry import DIALECTS
from tests.cache.bodies import count, text, user

PACKAGE = Path(ctxtui.__file__).parent
DATA = """
[sources]
here = "made up for this test"

[[rule]]
models = ["*"]
source = "here"
engine = "whole"
minimum = 100
lives = { "5m" = 300.0 }
life = "5m"
"""


class Whole:
    """Holds whole requests of one scope: one that begins with all of the last one reads that."""

    mechanism: ClassVar[Mechanism] = Mechanism(keeps_every_prefix=True, takes_breakpoints=True)

    def __init__(self, last: PrefixEnd | None = None) -> None:
        self.last = last

    def predict(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        found = self.deepest_cached(prompt, at)
        return CacheOutcome(prompt, at, prompt.tokens(found.node) if found else 0)

    def record(self, outcome: CacheOutcome, began: float) -> None:
        self.last = outcome.prompt.last

    def deepest_cached(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> PrefixEnd | None:
        last = self.last
        return next((spot for spot in prompt.last.back() if last is not None and spot.key == last.key), None)

    def copy(self) -> Whole:
        return Whole(self.last)


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> CacheRules:
    monkeypatch.setitem(ENGINES, "whole", Whole)
    return parse_rules(DATA).for_model(model_table().card("gpt-5.4"))


def test_another_engine_is_a_class_and_a_line_of_the_registry(rules: CacheRules) -> None:
    assert rules.engine == "whole" and rules.is_known and rules.mechanism is Whole.mechanism
    prefixes, simulator = PrefixChains(Tree()), Simulator()
    tokens = SummedTokens(prefixes.tree, count)

    def send(*words: str) -> tuple[int, int]:
        body = {"model": "gpt-5.4", "messages": [user(*map(text, words))]}
        made, refused = prompt_from_request(
            prefixes, DIALECTS["openai_chat"].decode_request(json.dumps(body).encode(), None), rules, tokens
        )
        outcome = simulator.send(made, 0.0)
        assert not refused
        return outcome.read, outcome.total

    assert send("a#300", "b#200") == (0, 500)
    assert send("a#300", "b#200", "c#50") == (500, 550)
    assert send("a#300") == (0, 300)
    twin = simulator.copy()
    assert send("a#300", "b#200") == (300, 500)
    assert isinstance(twin._engines["whole"], Whole) and twin._engines["whole"] is not simulator._engines["whole"]


def test_its_mechanism_says_what_the_rest_asks_for(rules: CacheRules) -> None:
    body = {"model": "gpt-5.4", "messages": [user({**text("a#300"), "prompt_cache_breakpoint": {"type": "ephemeral"}})]}
    request = DIALECTS["openai_chat"].decode_request(json.dumps(body).encode(), None)
    assert [mark.item for mark in read_markers(request, rules).valid] == [len(request.items) - 1]


def test_an_engine_that_there_is_not_is_an_error_of_the_data() -> None:
    with pytest.raises(RuleDataError, match=r"rule 1 \(\*\): engine = 'whole' is none of anthropic, automatic"):
        parse_rules(DATA)


def test_nothing_else_compares_the_name_of_an_engine() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_relative_to(PACKAGE / "cache"):
            continue
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if ".engine" in text else ():
            if isinstance(node, ast.Attribute) and node.attr == "engine":
                found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert found == []
