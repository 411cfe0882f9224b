"""A block that label rules count elsewhere than its place says is shown in that category by every list and command."""

from __future__ import annotations

import json
from collections import Counter as Sum
from collections import defaultdict
from pathlib import Path

import pytest

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.content.diff import DiffSide, compare_contexts
from ctxtui.analysis.figures import figures
from ctxtui.core.category import CATEGORIES
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, LocalCounts, count_all
from ctxtui.services.counting.labels import Labels
from ctxtui.services.recordings.open import load
from tests.faults.fuzzing import ran
from tests.one_truth.commands import said

MUSUME = Path(__file__).parents[2] / "sessions/2-lluma-musume.jsonl"


@pytest.fixture(scope="module")
def shown() -> dict[str, set[str]]:
    """The categories of `show --json` by digest, of blocks that are whole in one."""
    found = defaultdict(list)
    for block in said("show", str(MUSUME))["blocks"]:
        found[block["digest"]].append(block["category"])
    return {digest: set(names) for digest, names in found.items() if digest and len(set(names)) == 1}


def test_lists_say_the_category_of_the_blocks(shown: dict[str, set[str]]) -> None:
    lists = said("show", str(MUSUME), "--heaviest", "--repeats")
    rows = [*lists["heaviest"], *lists["repeats"]["blocks"]]
    rows = [row for row in rows if row["digest"] in shown]
    assert sum(row["category"] == "memory" for row in rows) > 4, "the sample has memory files in the user's messages"
    assert [row for row in rows if {row["category"]} != shown[row["digest"]]] == []


def test_a_diff_says_it_too(shown: dict[str, set[str]]) -> None:
    found = json.loads(ran(["diff", f"{MUSUME}@10", f"{MUSUME}@11", "--json"]).out)
    entered = [one for one in found["changes"] if one["digests"][1] in shown]
    assert any(one["category"] == "memory" for one in entered)
    assert [one for one in entered if {one["category"]} != shown[one["digests"][1]]] == []


def test_what_a_diff_adds_up_by_category_is_what_the_contexts_differ_by() -> None:
    settings, here = Settings(), LocalCounts()
    counter = Counter(here, labels=Labels(settings.labels, here))
    book = book_for(load(MUSUME).session, counter, settings)
    count_all(book, counter)
    calls = book.session.thread_calls("main")
    found = compare_contexts(*(DiffSide(book, choose_call(book.session, "main", number)) for number in (10, 11)))
    net: Sum[str] = Sum()
    for change in found.changes:
        for side, sign, node in ((found.a, -1, change.before), (found.b, 1, change.after)):
            for category, tokens in (side.by_category(node) if node is not None else {}).items():
                net[CATEGORIES[category]] += sign * tokens
    before, after = (figures(book, call).categories for call in calls[9:11])
    grown = {name: after.get(name, 0) - before.get(name, 0) for name in CATEGORIES}
    assert "memory" in net
    # A block's whole tokens are what a rounded sum grows by: the same block has one more or less at another place.
    assert {name: grown[name] - n for name, n in net.items() if abs(grown[name] - n) > 5} == {}
    assert not any(grown[name] for name in CATEGORIES if name not in net)


def test_the_dearest_blocks_of_the_bill_say_it() -> None:
    dear = said("why", str(MUSUME))["heaviest"]
    files = [one for one in dear if one["about"].startswith(("<ui_knowledge.md>", "<run.yaml>", "<player.yaml>"))]
    assert len(files) > 2 and {one["category"] for one in files} == {"memory"}
