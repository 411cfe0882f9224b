"""What is counted of many blocks together is what is counted of them one after another."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from random import Random
from unittest.mock import patch

import numpy
import pytest

from ctxtui.core import block
from ctxtui.core.block import HEADER, Block, Place, message_place
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.tokens import cumulate
from ctxtui.tokens.cumulate import Cumulated, Parts
from ctxtui.tokens.feature_rows import FeatureRows
from ctxtui.tokens.features import Features
from tests.sampling import few

_PLACES = (message_place("user"), message_place("assistant"), message_place("user", "summary"), Place("system"))


def _measure(of: Block) -> Features:
    if of.kind == HEADER:
        return Features(text=1, messages=1)
    size = len(of.body)
    return Features(text=size / 7, result=size % 3, letters=size / 4, hidden=0.1 * size)


def _split(node: Node) -> Sequence[tuple[int, Features]]:
    if node.block.kind == HEADER or node.id % 7:
        return ()
    return [(INDEX["memory"], Features(text=0.7 * node.id)), (node.category, Features(text=0.3))]


def _tree(seed: int) -> Tree:
    """Contexts that mostly go on, sometimes from an earlier one; headers before some blocks, also two in a row."""
    random, tree, head = Random(seed), Tree(), ROOT
    for number in range(400):
        if random.random() < 0.03:
            head = random.randrange(len(tree))
        place = random.choice(_PLACES)
        if place.section == "messages" and random.random() < 0.4:
            head = tree.child(head, block.header(place.role, {"n": random.randrange(3)}), place)
        kind = random.choice(("text", "tool_use", "tool_result"))
        head = tree.child(
            head, block.make(kind, {"type": kind, "text": "x" * random.randrange(200), "n": number}), place
        )
    return tree


@pytest.mark.parametrize("parts", few([None, _split], 4), ids=["whole", "split"])
@pytest.mark.parametrize("seed", range(12))
def test_together_as_one_by_one(monkeypatch: pytest.MonkeyPatch, parts: Parts | None, seed: int) -> None:
    tree, reported = _tree(seed), {5: 17.0, 9: 3.5}
    alone, together = (Cumulated(tree, _measure, parts, reported) for _ in range(2))
    alone.advance()
    monkeypatch.setattr(cumulate, "_MANY", 2)
    monkeypatch.setitem(sys.modules, "numpy", numpy)
    with patch.object(FeatureRows, "grow_on", autospec=True, side_effect=FeatureRows.grow_on) as asked:
        while together.done < len(tree):
            together.advance(150)
    assert asked.call_count
    contexts = range(len(tree))
    assert [together.at(node) for node in contexts] == [alone.at(node) for node in contexts]
    assert [together.own(node) for node in contexts[1:]] == [alone.own(node) for node in contexts[1:]]
    assert together.split == alone.split
    # What was added up together is kept as ever, and gone on from.
    again = Cumulated(tree, _measure, parts, reported)
    again.take_over(together.kept())
    assert [again.at(node) for node in contexts] == [alone.at(node) for node in contexts]
    assert repr(together.kept()[1:]) == repr(alone.kept()[1:])
