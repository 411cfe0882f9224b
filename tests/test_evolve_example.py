"""The evolutionary search of `examples/evolve`: its judge, its sandboxed block, the rules of its loop, its figures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctxtui.api import Usage
from ctxtui.services.sandbox.confinement import find_confinement
from examples.evolve import caching, figures, packing, repl, script, texts
from examples.evolve.trials import Evolution, Generation, Trial, UnknownTrial
from tests.cli.conftest import Run, ctxtui, home
from tests.test_examples import Quick, ours, quick

__all__ = ["ctxtui", "home", "quick"]

GRID = [(0.1 + 0.2 * i, 0.1 + 0.2 * j) for i in range(5) for j in range(5)]
SMALL = 0.1 * (math.sqrt(2) - 1)


def test_known_packings_are_judged() -> None:
    centres, radii = [*GRID, (0.2, 0.2)], [*([0.1] * 25), SMALL]
    metrics, wrong = packing.judged([centres, radii])
    assert not wrong and metrics["valid"] and metrics["sum_radii"] == pytest.approx(2.5 + SMALL)
    assert metrics["target_ratio"] == pytest.approx((2.5 + SMALL) / 2.635)


@pytest.mark.parametrize(
    ("centres", "radii", "why"),
    [
        (GRID, [0.1] * 25, "25 centres"),
        ([*GRID, (0.2, 0.2)], [0.1] * 26, "overlap"),
        ([*GRID, (0.99, 0.5)], [*([0.1] * 25), 0.02], "leaves the square"),
        ([*GRID, (0.2, 0.2)], [*([0.1] * 25), math.nan], "is no circle"),
        ([*GRID, (0.2, 0.2)], [*([0.1] * 25), -0.1], "is no circle"),
        ("no", "packing", "not a packing"),
    ],
)
def test_an_invalid_packing_scores_nothing(centres: Any, radii: Any, why: str) -> None:
    metrics, wrong = packing.judged([centres, radii])
    assert why in wrong and metrics["sum_radii"] == 0.0 and not metrics["valid"]


async def test_programs_are_run_where_they_reach_nothing(tmp_path: Path) -> None:
    good = f"def construct_packing():\n    return {[*GRID, (0.2, 0.2)]}, {[*([0.1] * 25), SMALL]}, 0\n"
    slow = "def construct_packing():\n    raise RuntimeError('a slip')\n"
    evaluator = packing.Evaluator(unconfined=not find_confinement())
    found = await evaluator.evaluate([good, slow, "x = 1", good])
    assert [one["valid"] for one, _ in found] == [True, False, False, True]
    assert "a slip" in found[1][1] and "construct_packing" in found[2][1] and evaluator.ran == 3


async def test_a_block_calls_out_of_its_sandbox_and_its_error_comes_back() -> None:
    async def spawn(given: Mapping[str, Any]) -> Any:
        if not given.get("children"):
            raise ValueError("children is a list")
        return [{"trial_id": f"trial_0_{n}"} for n, _ in enumerate(given["children"])]

    functions = {"spawn_children_parallel": (("children",), spawn)}
    unconfined = not find_confinement()
    code = "print([one['trial_id'] for one in spawn_children_parallel([1, 2])])"
    assert await repl.run(code, functions, unconfined=unconfined) == repl.Ran("['trial_0_0', 'trial_0_1']", False)
    failed = await repl.run("print('so far')\nspawn_children_parallel([])", functions, unconfined=unconfined)
    assert failed.failed and failed.output.startswith("so far") and "children is a list" in failed.output


def test_a_reply_without_a_block_or_with_several_is_reminded_of_it() -> None:
    one = "words\n```repl\nx = 1\n```\n"
    assert repl.blocks(one) == ["x = 1\n"] and len(repl.blocks(one * 2)) == 2 and not repl.blocks("```python\nx\n```")
    assert "no `repl` block" in texts.no_block(0, 3) and "2 `repl` blocks" in texts.no_block(2, 3)


def test_the_system_prompt_is_filled_and_its_end_changes() -> None:
    state = texts.dynamic("e", 3, 10, 15, 2.5)
    assert "At most 15 children" in state and "generation 3 of at most 10" in state and 130 < len(state) < 300
    assert "{max_" not in texts.static(10, 15) and "advance_generation()" in texts.static(10, 15, 30)
    assert 6_000 < len(texts.static(10, 15)) < 8_000


def test_a_provider_that_caches_nothing_has_no_ratio_of_reads() -> None:
    search: Any = SimpleNamespace(feedbacks=["a"], evolution=Evolution())
    one = figures.Searched(
        session="",
        search=search,
        root=[Usage(fresh=10)],
        children=[],
        usd=0,
        root_usd=0,
        misses=0,
        state_misses=0,
        sent=[],
    )
    assert figures.searched("old", one, None)["read for each token that is written, old"] == "nothing written"


def test_tokens_become_programs_again() -> None:
    made = Evolution(
        [Generation(number=0, trials=[Trial(trial_id="trial_0_1", generation=0, prompt="p", code="x = 1")])]
    )
    assert made.expanded("take {{CODE_TRIAL_0_1}} on") == "take x = 1 on"
    with pytest.raises(UnknownTrial, match="no trial 0_7"):
        made.expanded("{{CODE_TRIAL_0_7}}")


def test_a_selection_is_two_to_five_trials_with_a_category() -> None:
    trials = [Trial(trial_id=f"trial_0_{n}", generation=0, prompt="") for n in range(6)]
    ids, summary = texts.selected(script.selection(0, 6), trials)
    assert 2 <= len(ids) <= 5 and "Generation 0" in summary
    for wrong, why in (
        ("nothing", "no `selection` fence"),
        (_fence(["trial_0_0"]), "2 to 5"),
        (_fence(["trial_0_0", "trial_9_9"]), "no trial_9_9"),
        (_fence(["trial_0_0", "trial_0_1"], "beauty"), "no category beauty"),
    ):
        with pytest.raises(ValueError, match=why):
            texts.selected(wrong, trials)


def _fence(ids: list[str], category: str = "performance") -> str:
    told = {"selections": [{"trial_id": id_, "reasoning": "r", "category": category} for id_ in ids], "summary": "s"}
    return f"```selection\n{json.dumps(told)}\n```"


@pytest.mark.slow
def test_the_old_flow_and_the_cured_one(
    quick: Quick, tmp_path: Path, ctxtui: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr("examples.evolve.__main__.tell", said.append)
    options = ["--warn-tokens", "5000", "--critical-tokens", "9000"] + ([] if find_confinement() else ["--unconfined"])
    found = quick("evolve", "--generations", "3", "--children", "3", "--under", "old", "new", *options)
    assert any("warning: " in line for line in said) and any("critical: " in line for line in said)
    assert int(ours(found, "context that the cured feedback saves in ten generations").split(" ")[0]) > 50
    assert int(ours(found, "a feedback message becomes shorter by").split(" ")[0]) > 80
    lines = (tmp_path / "work-evolve/new/experiment/root_llm_log.jsonl").read_text().splitlines()
    told = [json.loads(line)["content"] for line in lines if json.loads(line)["role"] == "user"]
    assert any("`repl` block" in words for words in told), "generation 2 first forgets it"
    feedback = next(words for words in told if words.startswith("Generation 0 complete"))
    read = {name: float(ours(found, f"{name}, old (alone)").split(" %")[0]) for name in caching.LAYOUTS}
    assert read["marker on the first message"] < read["moving marker"] < read["state behind the messages"]
    assert "{{CODE_TRIAL_0_1}}" in feedback and "def walls" not in feedback and len(feedback) < 10_000
    old = ctxtui("show", found["sessions"]["old"], "--json").json
    assert old["session"]["calls"] == len(told) + 9, "the root's and nine children's, each a thread"
    assert old["session"]["threads"] == 10
    experiment = ctxtui("show", tmp_path / "work-evolve/new/experiment", "--json").json["session"]
    assert experiment["threads"] >= 10 and experiment["source"].startswith("root")


@pytest.mark.slow
def test_generations_that_stand_alone_and_those_of_several_calls(quick: Quick) -> None:
    options = [] if find_confinement() else ["--unconfined"]
    found = quick("evolve", "--generations", "3", "--children", "3", "--under", "stateless", "iterative", *options)
    assert ours(found, "root calls of all generations, stateless") == "6"
    assert ours(found, "root calls of all generations, iterative") == "9"
