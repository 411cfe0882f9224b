"""The label rules in force, and the labelled segments of blocks, each computed once.

A rule finds parts (segments) of a block's text and gives them a name, such as "environment".
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ctxtui.analysis.labels.labelling import Labelling
from ctxtui.analysis.labels.rules import LabelRule, parse_rule
from ctxtui.analysis.labels.segments import UNLABELLED, Segment
from ctxtui.core.block import Block
from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.core.errors import BadConfig
from ctxtui.core.tree import Node
from ctxtui.services.config import plugins
from ctxtui.services.config.package_data import label_tables
from ctxtui.services.config.plugins import LABELS
from ctxtui.services.counting.label_search import Cut
from ctxtui.tokens.models import ModelCard

Key = tuple[str, int]
"""A block's digest, and the index of its category."""
NUMBERS_PER_PIECE = 5


class LabelBench(Protocol):
    """Splits blocks, in this process or in another one."""

    def cuts(self, card: ModelCard, labelling: Labelling, blocks: Sequence[tuple[str, Block]]) -> list[Cut]:
        """Split each of `blocks`, given with its category, into pieces."""

    @property
    def slow(self) -> set[str]:
        """Names of the rules that were too slow and are skipped."""


class Labels:
    """Segments by block and category. A `Book` takes it as its `labels`.

    - `tables`: the user's own rules.
    - `bench`: splits blocks, in this process or in another one.
    - `recall`: returns cached segments; called once per category and batch.
    - `rules`: the rules in force; None: they are read for the first block.
    """

    def __init__(
        self,
        tables: Mapping[str, Any],
        bench: LabelBench,
        recall: Callable[[str, list[str]], Mapping[str, Cut]] | None = None,
        rules: Labelling | None = None,
    ) -> None:
        self._tables = tables
        self._bench = bench
        self._recall = recall
        self._labelling = rules
        self._read_segments: dict[str, dict[Key, tuple[Segment, ...]]] = {}
        self._new: dict[str, dict[str, Cut]] = {}
        self._lock = threading.Lock()
        """Protects `_new`: two threads search, and one stores their results."""

    @property
    def labelling(self) -> Labelling:
        if self._labelling is None:
            self._labelling = load_rules(self._tables)
        return self._labelling

    def __call__(self, card: ModelCard) -> Callable[[Node], tuple[Segment, ...]]:
        by_key = self._read_segments.setdefault(card.encoding, {})

        def segments(node: Node) -> tuple[Segment, ...]:
            key = node.block.digest, node.category
            node_segments = by_key.get(key)
            if node_segments is None:
                self.prefetch(card, [node])
                node_segments = by_key[key]
            return node_segments

        return segments

    def prefetch(self, card: ModelCard, nodes: Iterable[Node]) -> None:
        """Compute the missing segments of `nodes`, in one batch for each category."""
        by_key, labelling = self._read_segments.setdefault(card.encoding, {}), self.labelling
        to_search: dict[int, dict[str, Block]] = {}
        for node in nodes:
            key = node.block.digest, node.category
            if key in by_key:
                continue
            if labelling.may_split(CATEGORIES[node.category], node.block.body):
                to_search.setdefault(node.category, {})[node.block.digest] = node.block
            else:
                by_key[key] = ()
        for category, blocks in to_search.items():
            for digest, cut in self._cut_blocks(card, category, blocks).items():
                by_key[digest, category] = tuple(_read_segments(labelling, cut, category))

    def has_searched(self, card: ModelCard, nodes: Iterable[Node]) -> bool:
        by_key = self._read_segments.get(card.encoding, {})
        return all((node.block.digest, node.category) in by_key for node in nodes)

    def _cut_blocks(self, card: ModelCard, category: int, blocks: dict[str, Block]) -> dict[str, Cut]:
        name = f"labels|{self.labelling.digest}|{card.encoding}|{CATEGORIES[category]}"
        cuts = dict(self._recall(name, list(blocks))) if self._recall else {}
        missing = {digest: block for digest, block in blocks.items() if digest not in cuts}
        if missing:
            to_cut = [(CATEGORIES[category], block) for block in missing.values()]
            new_cuts = dict(zip(missing, self._bench.cuts(card, self.labelling, to_cut), strict=True))
            self._report_slow()
            if not self._bench.slow:
                with self._lock:
                    self._new.setdefault(name, {}).update(new_cuts)
            cuts |= new_cuts
        return cuts

    def _report_slow(self) -> None:
        for rule in self.labelling.rules:
            if rule.name in self._bench.slow:
                plugins.report_trouble(f"{rule.place}, label rule {rule.name}", "it takes too long")

    def unsaved(self) -> dict[str, dict[str, Cut]]:
        """Take the segments computed since the last call, by rules and digest, for the store."""
        with self._lock:
            new, self._new = self._new, {}
        return new


def _read_segments(labelling: Labelling, cut: Cut, category: int) -> Iterator[Segment]:
    for at in range(0, len(cut), NUMBERS_PER_PIECE):
        start, end, number, begins, weight = cut[at : at + NUMBERS_PER_PIECE]
        if number == UNLABELLED:
            yield Segment(int(start), int(end), "", category, 0, weight)
            continue
        rule = labelling.rules[int(number)]
        counts = INDEX[rule.category] if rule.category else category
        yield Segment(int(start), int(end), rule.label, counts, int(begins), weight)


def load_rules(tables: Mapping[str, Any]) -> Labelling:
    """Load the user's rules, then third-party rules, then ctxtui's.

    The first rule of a name counts. `False` switches one off. Invalid rules are skipped and reported
    (`plugins.troubles`).
    """
    placed: dict[str, tuple[Any, str]] = {name: (table, "the configuration") for name, table in tables.items()}
    for plugin in plugins.plugins(LABELS):
        for name, table in _rules_of_plugin(plugin).items():
            placed.setdefault(str(name), (table, plugin.place))
    for name, table in label_tables().items():
        placed.setdefault(name, (table, "shipped"))
    rules = [_make_rule(name, table, place) for name, (table, place) in placed.items() if table is not False]
    labelling = Labelling([rule for rule in rules if rule is not None])
    for rule in labelling.idle:
        plugins.report_trouble(
            f"{rule.place}, label rule {rule.name}", f"no rule that can run has the label of inside: {rule.inside!r}"
        )
    return labelling


def _rules_of_plugin(plugin: plugins.Plugin) -> Mapping[Any, Any]:
    """The rules of a plug-in: ``LABELS`` of a module, or an entry point's mapping."""
    if plugin.trouble:
        return {}
    value = getattr(plugin.value, "LABELS", plugin.value)
    if isinstance(value, Mapping):
        return value
    plugins.report_trouble(plugin.place, "label rules are a mapping LABELS of names and rules")
    return {}


def _make_rule(name: str, table: Any, place: str) -> LabelRule | None:
    try:
        return parse_rule(name, table, place)
    except BadConfig as error:
        plugins.report_trouble(error.place, error.message)
        return None
