"""The trials of an evolutionary search, as its document prints them and as others spell them: read, put outside, summed
up, and asked about in a table."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.canonical import Json
from ctxtui.core.edit import REVERT, Edit
from ctxtui.curation import trials as found_trials
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.apply.references import expand, externalized_content
from ctxtui.curation.policies.policy import run
from ctxtui.curation.policies.profile import make_step
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.curation.trials import parse_trials
from tests.cases import systems
from tests.cases.systems import OVERLAP, PROGRAM, REASONING, SPELLINGS
from tests.curation.conversations import context_of
from tests.curation.policies.test_policies import policy_context_of

WITH_PROGRAMS = [spelling for spelling in SPELLINGS if spelling != "referenced"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_a_message_tells_of_its_trials(spelling: str) -> None:
    text = systems.listed(spelling)
    found = parse_trials(text)
    assert [one.name for one in found] == [f"trial_0_{n}" for n in range(15)]
    assert [one.valid for one in found] == [n != 2 for n in range(15)]
    assert [one.score for one in found] == [0.0 if n == 2 else pytest.approx(2.4 + n / 1000) for n in range(15)]
    assert found[13].token == "CODE_TRIAL_0_13"
    if spelling != "referenced":
        for one in found:
            assert one.code is not None and text[one.code.start : one.code.stop].strip() == PROGRAM
        assert found[0].reasoning == REASONING.strip()
        assert found[2].error.strip() == OVERLAP.strip() and not found[0].error
    assert all(before.stop <= after.start for before, after in pairwise(found))


def test_a_question_with_trials_ends_where_the_form_of_the_answer_begins() -> None:
    text = systems.asked_to_select()
    found = parse_trials(text)
    assert len(found) == 15 and found[13].score == 2.413 and found[2].valid is False
    assert text[found[-1].stop :].strip().startswith("Select 2-5 trials.")
    assert not any(one.code for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "In trial 3 the rows were staggered.\n- trial 4 did worse\n- trial 5 as well",
        "- trial_0_1\n- trial_0_2\n",
        "program 7\n\nIt prints nothing.",
        "# Child 2\n\n\n\n\n```python\nx = 1\n```",
        "",
    ],
)
def test_what_only_mentions_a_trial_lists_none(text: str) -> None:
    assert parse_trials(text) == []


def body(*texts: str) -> Json:
    """A conversation whose user says `texts`, each answered."""
    messages: list[Any] = []
    for text in texts:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "Go on."}]
    return {"model": "claude-opus-4-8", "max_tokens": 9, "messages": messages[:-1]}


def sent(given: Json, policy: str, **settings: Json) -> tuple[list[str], dict[str, str]]:
    """The texts of the request under `policy`, and what stands outside."""
    context, _ = context_of(given, "anthropic")
    made = run(make_step(policy, POLICIES, settings), policy_context_of(context))
    texts = [item.block.value().get("text", "") for item in apply(context, made).sent if item.block.kind == "text"]
    return texts, externalized_content(context, made)


@pytest.mark.parametrize("spelling", WITH_PROGRAMS)
def test_programs_stand_outside_as_the_search_calls_them(spelling: str) -> None:
    (text,), outside = sent(body(systems.listed(spelling)), "externalize_large", code=100)
    assert "construct_packing" not in text and text.count("{{CODE_TRIAL_0_") == 15
    assert text.count("[valid]") == 14 and text.count("[INVALID]") == 1
    assert "Score: 2.4130" in text and f"Approach: {REASONING[:150]}...\n" in text
    assert f"Error: {OVERLAP[:100]}\n" in text and OVERLAP[:101] not in text
    assert outside["CODE_TRIAL_0_13"].strip() == PROGRAM
    assert expand("Improve {{CODE_TRIAL_0_13}} please", outside).count("construct_packing") == 2
    assert expand("{{CODE_TRIAL_9_9}} {{other}}", outside) == "{{CODE_TRIAL_9_9}} {{other}}"


def test_the_message_that_the_document_prints() -> None:
    (text,), _ = sent(body(systems.listed("printed")), "externalize_large", code=100)
    assert text.split("\n\n")[1:4] == [
        "Results:\n  - **trial_0_0** [valid]\n    Score: 2.4000\n    Code reference: {{CODE_TRIAL_0_0}}\n"
        f"    Approach: {REASONING[:150]}...",
        "  - **trial_0_1** [valid]\n    Score: 2.4010\n    Code reference: {{CODE_TRIAL_0_1}}\n"
        f"    Approach: {REASONING[:150]}...",
        "  - **trial_0_2** [INVALID]\n    Score: 0.0000\n    Code reference: {{CODE_TRIAL_0_2}}\n"
        f"    Approach: {REASONING[:150]}...\n    Error: {OVERLAP[:100]}",
    ]


LONG = 'import numpy as np\n\n\ndef pack():\n    """Reasoning: none."""\n\n    return 0\n' + "x = [1, 2]\n" * 60
ANSWERS = {
    "cut off": f"```python\n{LONG}",
    "closed": f"```python\n{LONG}```\n",
    "without a fence": LONG,
    "on the next line": f"\n{LONG}",
    "behind words": f"I pack rows.\n```py\n{LONG}```\nIt may fail.\n",
    "words alone": "I would pack rows. " * 60 + "\n",
}
"""What a trial's answer looks like that no program could be made of: it stands where the reasoning would."""


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("tail", ["", "\n\nSpawn the next children now, please.\nEach needs a prompt.\n"])
@pytest.mark.parametrize("count", [2, 7])
def test_a_failed_trial_keeps_no_program_in_its_reasoning(answer: str, tail: str, count: int) -> None:
    good = f"  - candidate 4.0:\n    Code: {LONG}    Metrics: {{'valid': True, 'score': 1.5}}\n    Reasoning: \n"
    failed = [
        f"  - candidate 4.{n}:\n    Code: \n    Metrics: {{}}\n    Reasoning: {ANSWERS[answer]}"
        for n in range(1, count)
    ]
    (text,), outside = sent(body(f"Generation 4.\n\nResults:\n{good}{''.join(failed)}{tail}"), "externalize_large")
    assert len(text) < 300 * count + len(tail) + 40 and text.rstrip().endswith(tail.strip() or "")
    assert text.count("candidate 4.") == count and "[1, 2]" not in text
    if answer != "words alone":
        assert all(outside[f"CODE_CANDIDATE_4_{n}"].strip() == LONG.strip() for n in range(count))


def generations(spelling: str, count: int) -> Json:
    """A search of so many generations."""
    messages: list[Any] = [{"role": "user", "content": "Begin generation 0."}]
    for g in range(count):
        messages += [
            {"role": "assistant", "content": "```repl\nspawn_children_parallel(children)\n```"},
            {"role": "user", "content": "REPL execution result"},
            {"role": "user", "content": systems.asked_to_select(generation=g)},
            {"role": "assistant", "content": systems.selected([f"trial_{g}_13", f"trial_{g}_4"])},
            {"role": "user", "content": systems.listed(spelling, generation=g)},
        ]
    return {"model": "claude-opus-4-8", "max_tokens": 9, "messages": messages}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_older_generations_are_one_message(spelling: str) -> None:
    texts, _ = sent(generations(spelling, 5), "generation_window", n=2)
    assert texts[0] == "Begin generation 0."
    assert texts[1] == "\n".join(
        [
            "[Historical Summary - Generations 0 to 2]",
            *(
                f"Gen {g}: 15 trials, best=2.4140 (trial_{g}_14), top: trial_{g}_14, trial_{g}_13, trial_{g}_12, "
                f"selected: trial_{g}_13, trial_{g}_4"
                for g in range(3)
            ),
            "",
            "[Detailed history continues from generation 3]",
        ]
    )
    assert len(texts) == 2 + 2 * 5


def test_generations_that_grow_old_join_the_summary() -> None:
    log: list[Edit] = []
    for count in (4, 5, 6):
        context, _ = context_of(generations("printed", count), "anthropic")
        log += run(make_step("generation_window", POLICIES, {"n": 2}), policy_context_of(context, log))
        texts = [item.block.value()["text"] for item in apply(context, log).sent if item.block.kind == "text"]
        (summary,) = (text for text in texts if "Historical Summary" in text)
        assert summary.startswith(f"[Historical Summary - Generations 0 to {count - 3}]\nGen 0: 15 trials")
        assert summary.count("\nGen ") == count - 2 and len(texts) == 2 + 2 * 5
    taken_back = [Edit(f"r{n}", REVERT, reverts=edit.id) for n, edit in enumerate(log)]
    assert (
        run(make_step("generation_window", POLICIES, {"n": 2}), policy_context_of(context, [*log, *taken_back])) == []
    )


def test_summaries_are_summed_up_by_levels() -> None:
    told = []
    log: list[Edit] = []
    for turns in (4, 10, 12):
        texts = [
            f"Question {n}: what stands in file_{n}.py, and what would have to change in it?" for n in range(turns)
        ]
        context, _ = context_of(body(*[text * 20 for text in texts]), "anthropic")
        log += run(
            make_step("summarize_every", POLICIES, {"k": 2, "keep": 1, "levels": 3}), policy_context_of(context, log)
        )
        kept = [item.block.value()["text"] for item in apply(context, log).sent if item.block.kind == "text"]
        told.append([text.split("\n")[0] for text in kept if text.startswith("[Summary")])
    assert [[re.findall(r"\d+-\d+", line) for line in lines] for lines in told] == [
        [["1-2"]],
        [["1-8"]],
        [["1-8"], ["9-10"]],
    ]


def test_a_table_asks_for_a_selection() -> None:
    given = body(systems.asked_to_select())
    (text,), _ = sent(given, "tabulate_trials")
    rows = text.split("\n")
    assert rows[:5] == [
        "Generation 0 complete. 15 children spawned. Select trials to carry forward.",
        "",
        "Trials:",
        "| Rank | Trial | Score | Status |",
        "|------|-------|-------|--------|",
    ]
    assert rows[5] == "| 1 | trial_0_14 | 2.4140 | ✓ |" and rows[19] == "| 15 | trial_0_2 | 2.4020 | ✗ |"
    assert text.endswith(systems.asked_to_select().partition("Select 2-5")[2])
    assert len(text) < 0.7 * len(systems.asked_to_select())
    (kept,), _ = sent(body(systems.listed("printed")), "tabulate_trials")
    assert kept == systems.listed("printed"), "programs are not put into a table"


def test_unknown_scores_come_after_known_ones() -> None:
    listing = "Select one.\n\n" + "\n\n".join(
        f"### Trial {number}\nscore: {score}\nstatus: {status}\nreasoning: {'a longer explanation ' * 8}"
        for number, score, status in (
            (1, "-3.0", "valid"),
            (2, "n/a", "valid"),
            (3, "-1.0", "valid"),
            (4, 9, "invalid"),
        )
    )
    (text,), _ = sent(body(listing), "tabulate_trials")
    assert [row.split("|")[2].strip() for row in text.splitlines() if row.startswith("| ")][1:] == [
        "trial_3", "trial_1", "trial_2", "trial_4",
    ]  # fmt: skip


LINES = [
    "### Trial 1",
    "- **candidate_2**: ok",
    "  3. Program 3_1 `x`",
    "words",
    "",
    "score: 0.5",
    "trial 4",
    "# Trial 5" + "x" * 40,
]


@given(st.lists(st.sampled_from(LINES), max_size=12), st.integers(1, 30))
def test_headings_are_found_in_pieces_as_in_the_whole(lines: list[str], piece: int) -> None:
    text = "\n".join(lines)
    with patch.object(found_trials, "_SEARCH_STEP_CHARS", piece):
        assert [one.span() for one in found_trials._headings(text)] == [
            one.span() for one in found_trials.HEADING.finditer(text)
        ]
