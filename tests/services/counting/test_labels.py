"""Label rules in force, and the segments that come of them: worked out once, remembered, never in the way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxtui.analysis.labels.labelling import Labelling
from ctxtui.core import block
from ctxtui.core.block import Block, Place
from ctxtui.core.errors import BadConfig
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.services.config import plugins
from ctxtui.services.config.config import load
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.count_cache import CountCache
from ctxtui.services.counting.counting import Counter, LocalCounts
from ctxtui.services.counting.label_search import Cut
from ctxtui.services.counting.labels import Labels, load_rules
from ctxtui.services.workers.counting_worker import CountingWorker
from ctxtui.tokens.models import ModelCard
from tests.cases import systems
from tests.sampling import few

CARD = model_table().card("claude-opus-4-20250514")
FOREVER = {"regex": r"(a+)+$", "contains": "aaaa"}
MINE = {"mine": {"between": ["<m>", "</m>"]}}


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    monkeypatch.setattr(plugins, "_reported", {})
    plugins._load_group.cache_clear()
    yield
    plugins._load_group.cache_clear()


def nodes(*texts: str) -> list[Node]:
    tree = Tree()
    head = ROOT
    for text in texts:
        head = tree.child(head, block.text(text), Place("messages", "user"))
    return [tree[n] for n in tree.path(head)]


class Watched(LocalCounts):
    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def cuts(self, card: ModelCard, labelling: Labelling, blocks: Sequence[tuple[str, Block]]) -> list[Cut]:
        self.asked += len(blocks)
        return super().cuts(card, labelling, blocks)


def found(labels: Labels, node: Node) -> list[tuple[str, int]]:
    return [(one.label, one.begins) for one in labels(CARD)(node)]


def test_a_block_is_looked_into_once_and_most_never() -> None:
    bench = Watched()
    labels = Labels({}, bench)
    screen, words = nodes(systems.screen(3), "only words")
    labels.prefetch(CARD, [screen, words, screen])
    assert found(labels, screen).count(("button", 1)) == 3
    assert found(labels, words) == []
    assert bench.asked == 1


def test_weights_are_the_tokens_of_the_texts() -> None:
    text = systems.feedback(2)
    (node,) = nodes(text)
    parts = Labels({}, LocalCounts())(CARD)(node)
    assert parts[0].start == 0 and parts[-1].end == len(text)
    count = LocalCounts()._make_text_counter(CARD.encoding)
    assert [one.weight for one in parts] == [count(text[one.start : one.end]) for one in parts]


def test_another_process_finds_the_same() -> None:
    apart, here = CountingWorker(), LocalCounts()
    texts = [systems.screen(4), systems.reminder(2), "x" * 600_000 + systems.memory_text(), systems.feedback(3)]
    try:
        blocks = [("user", block.text(text)) for text in texts]
        rules = load_rules(MINE)
        assert apart.cuts(CARD, rules, blocks) == here.cuts(CARD, rules, blocks)
    finally:
        apart.close()


def test_what_was_found_is_remembered_until_the_rules_change(tmp_path: Path) -> None:
    memory = CountCache(tmp_path / "ctxtui.db", create=True)
    (node,) = nodes(f"<m>{systems.screen(2)}</m>")
    for tables, asked in ((MINE, 1), (MINE, 0), ({}, 1), ({}, 0)):
        bench = Watched()
        counter = Counter(bench, memory.counts, Labels(tables, bench, memory.numbers))
        assert counter.labels is not None
        assert ("mine" in dict(found(counter.labels, node))) == bool(tables)
        assert bench.asked == asked
        memory.store_counts(counter.unsaved())
    memory.close()


def test_the_users_rules_come_first_and_may_switch_ours_off(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "other.py").write_text("LABELS = {'theirs': {'regex': 'x'}, 'button': {'pointer': '/b'}}")
    rules = load_rules({"button": False, "reminder": {"regex": "r", "label": "mine"}})
    named = {rule.name: rule for rule in rules.rules}
    assert named["reminder"].place == "the configuration"
    assert named["theirs"].place == str(tmp_path / "labels" / "other.py")
    assert named["trial"].place == "shipped"
    assert "button" not in named
    assert plugins.troubles() == [
        ("shipped, label rule memory file", "no rule that can run has the label of inside: 'reminder'")
    ]


def test_a_broken_rule_of_a_third_party_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    place = tmp_path / "labels" / "other.py"
    place.write_text("LABELS = {'bad': {'regex': '('}, 'good': {'regex': 'x'}}")
    (tmp_path / "labels" / "worse.py").write_text("LABELS = 3")
    names = {rule.name for rule in load_rules({}).rules}
    assert "good" in names and "bad" not in names
    assert dict(plugins.troubles()) == {
        f"{place}, label rule bad": "not a regular expression: missing ), unterminated subpattern at position 0",
        str(tmp_path / "labels" / "worse.py"): "label rules are a mapping LABELS of names and rules",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[labels.x]\nregex = '('\n", "label rule x: not a regular expression: missing )"),
        ("[labels]\nx = 3\n", "label rule x: it must be a table"),
        ("labels = 3\n", "labels must be a table of rules by name"),
    ],
)
def test_a_wrong_rule_in_the_configuration_is_an_error_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'theme = "dark"\n{text}')
    with pytest.raises(BadConfig) as caught:
        load(env={}, cwd=tmp_path, user=file)
    assert caught.value.message.startswith(why)
    assert caught.value.place == f"{file}:2"


def test_rules_of_user_and_project_are_laid_over_one_another(tmp_path: Path) -> None:
    (tmp_path / "ctxtui.toml").write_text("[labels.one]\nregex = 'p'\n[labels]\nreminder = false\n")
    user = tmp_path / "user.toml"
    user.write_text("[labels.one]\nregex = 'u'\n[labels.two]\nregex = 'u'\n")
    found = load(env={}, cwd=tmp_path, user=user)
    assert found.settings.labels == {"one": {"regex": "p"}, "two": {"regex": "u"}, "reminder": False}


@pytest.mark.parametrize("bench", few([LocalCounts, CountingWorker]))
def test_a_pattern_that_takes_for_ever_is_left_out_and_named(bench: Any) -> None:
    searching = bench()
    labels = Labels({"forever": FOREVER, **MINE}, searching)
    hostile, other = nodes("a" * 40 + "!<m></m>", "aaaa<m></m>")
    started = time.process_time()
    try:
        labels.prefetch(CARD, [hostile])
        labels.prefetch(CARD, [other])
    finally:
        if bench is CountingWorker:
            searching.close()
    assert time.process_time() - started < 5
    assert found(labels, hostile)[-1] == ("mine", 1)
    assert found(labels, other)[-1] == ("mine", 1)
    assert plugins.troubles() == [("the configuration, label rule forever", "it takes too long")]
    assert labels.unsaved() == {}, "what a rule left out must not be remembered"


def test_where_nothing_can_stop_a_pattern_none_is_tried() -> None:
    told: list[list[tuple[str, int]]] = []
    (hostile,) = nodes("a" * 40 + "!<m></m>")

    def run() -> None:
        told.append(found(Labels({"forever": FOREVER, **MINE}, LocalCounts()), hostile))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert told == [[("", 0), ("mine", 1)]]


@pytest.mark.slow
def test_ten_megabytes_are_split_within_seconds() -> None:
    texts = [systems.feedback(1, code_lines=400_000), systems.reminder(3, lines=100_000), systems.screen(20_000)]
    texts += [
        "### Trial " * 1_000_000,
        "<system-reminder>" * 600_000,
        "{{CODE_TRIAL_" * 800_000,
        '{"buttons":[' * 300_000,
        f"<system-reminder>\nContents of {'/' * 1_000_000}</system-reminder>",
    ]
    for text in texts:
        started = time.process_time()
        body = block.text(text)
        pieces = load_rules({}).cut("user", body.body, text)
        assert time.process_time() - started < 8
        assert not pieces or pieces[-1].end == len(text)
