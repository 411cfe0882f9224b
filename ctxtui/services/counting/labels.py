"""Labels: which rules are in force, and the segments of blocks, each worked out once."""

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
"""A block's digest and the index of its category."""
_FIELDS = 5


class LabelBench(Protocol):
    """Where blocks are searched: in this process or in another one."""

    def cuts(self, card: ModelCard, labelling: Labelling, blocks: Sequence[tuple[str, Block]]) -> list[Cut]:
        """The pieces of each of `blocks`, which come with their categories."""

    @property
    def slow(self) -> set[str]:
        """Names of the rules that took too long and are left out."""


class Labels:
    """Segments by block and category. A `Book` takes it as its `labels`.

    `tables` are the user's own rules. `recall` is asked once per way of looking and batch for what is remembered,
    `unsaved` gives what is new. Rules are read when the first block comes, unless they are given.
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
        self._known: dict[str, dict[Key, tuple[Segment, ...]]] = {}
        self._new: dict[str, dict[str, Cut]] = {}
        self._changing = threading.Lock()
        """Held while `_new` is changed: two threads search, and one keeps what they found."""

    @property
    def labelling(self) -> Labelling:
        """The rules in force."""
        if self._labelling is None:
            self._labelling = rules_in_force(self._tables)
        return self._labelling

    @property
    def name(self) -> str | None:
        """What tells the rules in force from any others; None where one of them took too long and is left out."""
        return None if self._bench.slow else self.labelling.digest

    def __call__(self, card: ModelCard) -> Callable[[Node], tuple[Segment, ...]]:
        """The function that gives the segments of a node's block, counted as the model of `card` is."""
        known = self._known.setdefault(card.encoding, {})

        def segments(node: Node) -> tuple[Segment, ...]:
            key = node.block.digest, node.category
            found = known.get(key)
            if found is None:
                self.prefetch(card, [node])
                found = known[key]
            return found

        return segments

    def prefetch(self, card: ModelCard, nodes: Iterable[Node]) -> None:
        """Work out the segments of those of `nodes` that are not known yet, in one go."""
        known, labelling = self._known.setdefault(card.encoding, {}), self.labelling
        wanted: dict[int, dict[str, Block]] = {}
        for node in nodes:
            key = node.block.digest, node.category
            if key in known:
                continue
            if labelling.may_split(CATEGORIES[node.category], node.block.body):
                wanted.setdefault(node.category, {})[node.block.digest] = node.block
            else:
                known[key] = ()
        for category, blocks in wanted.items():
            for digest, cut in self._cuts(card, category, blocks).items():
                known[digest, category] = tuple(_segments(labelling, cut, category))

    def knows(self, card: ModelCard, nodes: Iterable[Node]) -> bool:
        """Whether the segments of all `nodes` are worked out."""
        known = self._known.get(card.encoding, {})
        return all((node.block.digest, node.category) in known for node in nodes)

    def _cuts(self, card: ModelCard, category: int, blocks: dict[str, Block]) -> dict[str, Cut]:
        name = f"labels|{self.labelling.digest}|{card.encoding}|{CATEGORIES[category]}"
        found = dict(self._recall(name, list(blocks))) if self._recall else {}
        missing = [block for digest, block in blocks.items() if digest not in found]
        if missing:
            asked = [(CATEGORIES[category], block) for block in missing]
            cuts = self._bench.cuts(card, self.labelling, asked)
            fresh = dict(zip((block.digest for block in missing), cuts, strict=True))
            self._name_slow()
            if not self._bench.slow:
                with self._changing:
                    self._new.setdefault(name, {}).update(fresh)
            found |= fresh
        return found

    def _name_slow(self) -> None:
        for rule in self.labelling.rules:
            if rule.name in self._bench.slow:
                plugins.blame(f"{rule.place}, label rule {rule.name}", "it takes too long")

    def unsaved(self) -> dict[str, dict[str, Cut]]:
        """What was worked out since the last call, by way of looking and digest: for the store to keep."""
        with self._changing:
            new, self._new = self._new, {}
        return new


def _segments(labelling: Labelling, cut: Cut, category: int) -> Iterator[Segment]:
    for at in range(0, len(cut), _FIELDS):
        start, end, number, begins, weight = cut[at : at + _FIELDS]
        if number == UNLABELLED:
            yield Segment(int(start), int(end), "", category, 0, weight)
            continue
        rule = labelling.rules[int(number)]
        counts = INDEX[rule.category] if rule.category else category
        yield Segment(int(start), int(end), rule.label, counts, int(begins), weight)


def rules_in_force(tables: Mapping[str, Any]) -> Labelling:
    """The user's own rules, then those of third parties, then ours; of two with one name the first counts, `False`
    switches one off. What is wrong with a rule is noted (`plugins.troubles`) and the rule left out."""
    named: dict[str, tuple[Any, str]] = {name: (table, "the configuration") for name, table in tables.items()}
    for part in plugins.plugins(LABELS):
        for name, table in _of(part).items():
            named.setdefault(str(name), (table, part.place))
    for name, table in label_tables().items():
        named.setdefault(name, (table, "shipped"))
    rules = [_rule(name, *found) for name, found in named.items() if found[0] is not False]
    labelling = Labelling([rule for rule in rules if rule is not None])
    for rule in labelling.idle:
        plugins.blame(f"{rule.place}, label rule {rule.name}", f"inside names no other label: {rule.inside!r}")
    return labelling


def _of(part: plugins.Plugin) -> Mapping[Any, Any]:
    """The rules of a third party: ``LABELS`` of a module, or the mapping that an entry point names."""
    if part.trouble:
        return {}
    value = getattr(part.value, "LABELS", part.value)
    if isinstance(value, Mapping):
        return value
    plugins.blame(part.place, "label rules are a mapping LABELS of names and rules")
    return {}


def _rule(name: str, table: Any, place: str) -> LabelRule | None:
    try:
        return parse_rule(name, table, place)
    except BadConfig as error:
        plugins.blame(error.place, error.message)
        return None
