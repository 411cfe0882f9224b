"""The rules of the loop of `examples/evolve`, each against the offline provider."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxtui.api import agent_run
from ctxtui.offline import Provider, Server, offline
from ctxtui.offline.script import parse_script
from ctxtui.services.sandbox.confinement import find_confinement
from examples.evolve import script, texts
from examples.evolve.packing import Evaluator
from examples.evolve.search import Flow, Search
from examples.kit import Failed
from tests.cli.conftest import home

__all__ = ["home"]

Line = dict[str, Any]
PROGRAM = "```python\ndef construct_packing():\n    return [], [], 0\n```"


def block(code: str) -> str:
    return f"```repl\n{code}\n```"


def children(count: int) -> str:
    return f"spawn_children_parallel([{{'prompt': f'Child {{n}}: pack.'}} for n in range({count})])"


def say(when: str, text: str, *, again: bool = False) -> Line:
    return {"when": when, "text": text, "again": again}


async def searched(
    tmp_path: Path, lines: Sequence[Line], *, generations: int = 1, flow: Flow | None = None
) -> tuple[Search, list[dict[str, Any]]]:
    """A search of at most three children a generation, and the root's log."""
    said = [*lines, say("Child ", f"A plan.\n\n{PROGRAM}", again=True)]
    playback = parse_script("\n".join(map(json.dumps, said)))
    log = tmp_path / "log"
    log.mkdir()
    with offline(Server(Provider(playback=playback))) as running:
        run = agent_run(
            provider="anthropic",
            model="claude-sonnet-4-6",
            base_url=running.url,
            cwd=tmp_path,
            system=(texts.static(generations, 3), ""),
            rounds=0,
            messages=0,
            length=0,
            settings={"tools": "none"},
        )
        async with run:
            judge = Evaluator(unconfined=not find_confinement())
            one = Search(run, flow or Flow(), judge, log, name="e", generations=generations, children=3)
            await one.go()
    return one, [json.loads(line) for line in (log / "root_llm_log.jsonl").read_text().splitlines()]


def told(log: list[dict[str, Any]]) -> list[str]:
    return [line["content"] for line in log if line["role"] == "user"]


async def test_a_reply_of_two_blocks_or_of_none_runs_nothing_and_is_asked_again(home: Path, tmp_path: Path) -> None:
    lines = [
        say("Begin generation 0", block(children(1)) + "\n" + block(children(2))),
        say("2 `repl` blocks", "Words alone."),
        say("no `repl` block", block(children(3))),
        say("Select 2-5", script.selection(0, 3)),
    ]
    one, log = await searched(tmp_path, lines)
    assert len(one.evolution.now.trials) == 3, "of the first reply no block was run"
    assert "exactly one `repl` block" in told(log)[1] and len(one.evolution.now.selected_trial_ids) >= 2
    assert [line["code_executed"] for line in log if line["code_executed"]] == [children(3) + "\n"]


async def test_what_fails_in_a_block_comes_back_and_the_generation_waits_for_children(
    home: Path, tmp_path: Path
) -> None:
    lines = [
        say("Begin generation 0", block("print('so far')\n" + children(9))),
        say("at most 3 children", block(children(2))),
        say("Select 2-5", script.selection(0, 2)),
    ]
    one, log = await searched(tmp_path, lines)
    assert "so far" in told(log)[1] and "ValueError: at most 3 children in a generation" in told(log)[1]
    assert "does not advance" in told(log)[1] and len(one.evolution.now.trials) == 2


async def test_a_generation_without_children_never_advances(home: Path, tmp_path: Path) -> None:
    lines = [say("", block("print('only words')"), again=True)]
    with pytest.raises(Failed, match="generation 0: the root spawned no children in 3 replies"):
        await searched(tmp_path, lines, generations=2)


async def test_single_children_count_and_their_results_are_told(home: Path, tmp_path: Path) -> None:
    code = (
        "one = spawn_child_llm('Child a: pack.')\n"
        "print(sorted(one), one['success'], one['error'])\n"
        "two = spawn_child_llm('Child b: take {{CODE_TRIAL_0_0}} on.', parent_id=one['trial_id'])\n"
        "print(two['trial_id'], evaluate_program('x = 1')['error'][:30])\n" + children(2)
    )
    lines = [say("Begin generation 0", block(code)), say("Select 2-5", script.selection(0, 2))]
    one, log = await searched(tmp_path, lines)
    printed = told(log)[1]
    assert "['error', 'metrics', 'success', 'trial_id'] False " in printed and "trial_0_1 " in printed
    assert "at most 3 children in a generation; there are 2 already" in printed, "single ones count"
    first, second = one.evolution.now.trials
    assert second.parent_id == first.trial_id and "def construct_packing" in second.prompt and "{{" not in second.prompt


async def test_the_root_may_end_the_search(home: Path, tmp_path: Path) -> None:
    code = children(2) + "\nterminate_evolution('good enough', best_program='{{CODE_TRIAL_0_1}}')"
    one, _ = await searched(tmp_path, [say("Begin generation 0", block(code))], generations=5)
    assert one.evolution.ended == "good enough" and len(one.evolution.generations) == 1
    assert one.evolution.best_program.startswith("def construct_packing") and one.calls == 1


async def test_a_generation_that_stands_alone_is_asked_again_by_itself(home: Path, tmp_path: Path) -> None:
    lines = [
        say("exactly one `repl` block", block(children(2))),
        say("Begin generation 0", "Words alone."),
        say("## Generation 0 Complete", script.selection(0, 2)),
        say("## Generation 1 Complete", script.selection(1, 2)),
        say("Begin generation 1", block(children(2))),
    ]
    one, log = await searched(tmp_path, lines, generations=2, flow=Flow(alone=True))
    first, again, select, second, *_ = told(log)
    assert again.startswith(first) and again != first, "the whole request once more, with what was wrong"
    assert "Historical Summary - Generations 0 to 0" in second and "Begin generation 0" not in second
    assert len(one.evolution.generations) == 2 and "Select 2-5" in select


def test_the_prompt_says_the_limits_of_the_configuration() -> None:
    text = texts.static(7, 4)
    assert "7" in text and "4" in text and "{max_" not in text
    assert "at most 4 children" in texts.dynamic("e", 0, 7, 4, 0.0).lower()
