"""Applies a set of label rules to a block's text.

A label rule names parts of a text, for instance a reminder that the client put into a user's message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Final

from ctxtui.analysis.labels.match import Match, find_matches
from ctxtui.analysis.labels.rules import LabelRule
from ctxtui.analysis.labels.segments import LabelledSpan, cut_text
from ctxtui.core import canonical
from ctxtui.core.block_content import BlockContent
from ctxtui.core.category import INDEX

_PIECE_BYTES: Final = 1 << 18
"""Bytes of a long body that `may_split` searches in one step."""

Attempt = Callable[[LabelRule, Callable[[], list[Match]]], list[Match]]
"""Runs a rule's search; may end it early (a time limit) with no result."""


def without_limit(rule: LabelRule, search: Callable[[], list[Match]]) -> list[Match]:
    return search()


class Labelling:
    """Rules in force, in the order in which they are tried; spans refer to them by index.

    `idle` are rules that never run, because no rule that can run gives the label that they search inside.
    """

    def __init__(self, rules: Iterable[LabelRule]) -> None:
        self.rules, self.idle = _order_rules(list(rules))
        self._by_category: dict[str, list[int]] = {
            name: [n for n, rule in enumerate(self.rules) if name in rule.within] for name in INDEX
        }
        self._needles = {name: self._needles_of(numbers) for name, numbers in self._by_category.items()}

    @cached_property
    def digest(self) -> str:
        """Identifies the rules: results of one set are invalid for another."""
        spelled = [[*map(str, (r.label, r.category, r.inside, *r.between, r.regex, r.beside)), *r.pointers,
                    *sorted(r.within), *map(str, r.needles)] for r in self.rules]  # fmt: skip
        return canonical.digest(canonical.dumps(spelled))

    def may_split(self, category: str, body: bytes) -> bool:
        """Whether any rule may match in a block of `category` with the JSON `body`."""
        needles = self._needles[category]
        if len(body) > _PIECE_BYTES:
            return needles is None or any(_contains(body, needle) for needle in needles)
        return needles is None or any(needle in body for needle in needles)

    def _needles_of(self, numbers: list[int]) -> tuple[bytes, ...] | None:
        """Byte strings without which none of the rules `numbers` can match a block.

        None if a rule has none.
        """
        rules = [self.rules[n] for n in numbers if not self.rules[n].inside]
        if not all(rule.needles for rule in rules):
            return None
        return tuple(dict.fromkeys(needle for rule in rules for needle in rule.needles))

    def cut(self, category: str, body: bytes, text: str, attempt: Attempt = without_limit) -> list[LabelledSpan]:
        """Cut a block's `text` into labelled spans; empty if no rule matched."""
        matches_: list[Match] = []
        for n in self._by_category[category]:
            rule = self.rules[n]
            if rule.applies(category, body):
                earlier = [(self.rules[match.rule].label, match.start, match.end) for match in matches_]
                matches_ += attempt(rule, partial(find_matches, n, rule, text, earlier))
        return cut_text(len(text), matches_)


def _contains(body: bytes, needle: bytes) -> bool:
    """Whether a long `body` contains `needle`.

    It searches piece by piece, because a search blocks all other threads.
    """
    beyond = _PIECE_BYTES + len(needle) - 1
    return any(body.find(needle, at, at + beyond) >= 0 for at in range(0, len(body), _PIECE_BYTES))


def searched_text(content: BlockContent) -> str:
    """Text of a block that rules search: its text, or the JSON of a call's input."""
    return content.text or content.arguments


def _order_rules(rules: list[LabelRule]) -> tuple[tuple[LabelRule, ...], tuple[LabelRule, ...]]:
    """Split `rules` into those that can run, in order, and the others.

    Each rule follows those whose label it searches inside.
    """
    done = [rule for rule in rules if not rule.inside]
    inner_rules = [rule for rule in rules if rule.inside]
    while runnable := [rule for rule in inner_rules if any(other.label == rule.inside for other in done)]:
        ready = [
            rule
            for rule in runnable
            if not any(other.label == rule.inside for other in inner_rules if other is not rule)
        ]
        ready = ready or runnable[:1]
        done += ready
        inner_rules = [rule for rule in inner_rules if rule not in ready]
    return tuple(done), tuple(inner_rules)
