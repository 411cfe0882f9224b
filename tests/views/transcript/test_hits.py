"""Hits in lines, in wrapped bodies, in lists."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.tree import ROOT, Tree
from ctxtui.views.blocks.body import Body
from ctxtui.views.text.span import Span, plain
from ctxtui.views.transcript.hits import (
    CURRENT_HIT_STYLE,
    HIT_STYLE,
    HitAt,
    HitList,
    describe_progress,
    highlight_ranges,
)

TEXT = st.text(st.sampled_from("ab 数\u0301"), max_size=60)


def find(text: str) -> Iterable[tuple[int, int]]:
    return [one.span() for one in re.finditer("ab", text)]


@given(st.lists(TEXT, max_size=5), st.integers(0, 3))
def test_marking_changes_no_text(parts: list[str], here: int) -> None:
    spans = [Span(part, style) for part, style in zip(parts, ["ink", "dim"] * 3, strict=False)]
    made = highlight_ranges(spans, list(find(plain(spans))), here)
    assert plain(made) == plain(spans)
    count = len(list(find(plain(spans))))
    assert plain(span for span in made if span.style in (HIT_STYLE, CURRENT_HIT_STYLE)) == "ab" * count
    assert plain(span for span in made if span.style == CURRENT_HIT_STYLE) == ("ab" if here < count else "")


@given(st.lists(TEXT, max_size=6), st.integers(1, 30), st.integers(0, 4))
def test_every_hit_of_a_body_is_on_its_wrapped_line(lines: list[str], room: int, hang: int) -> None:
    body = Body(iter([[Span(line)] for line in lines]), room, hang=hang, find=find)
    count = sum(len(list(find(line))) for line in lines)
    shown = body.height(10_000)
    for nth in range(count):
        spot = body.hit(nth, 10_000)
        assert spot is not None and spot.line < shown
        assert plain(body.line(spot.line) or ())[spot.start : spot.end] in ("ab", "a", "b")
    assert body.hit(count, 10_000) is None
    letters = sum(end - start for line in range(shown) for start, end in body.hits_in(line))
    assert letters == 2 * count


def test_a_far_hit_is_not_looked_for() -> None:
    taken = []

    def source() -> Iterable[list[Span]]:
        for number in range(10_000):
            taken.append(number)
            yield [Span("ab" if number == 9_000 else "x")]

    assert Body(iter(source()), 20, find=find).hit(0, 50) is None
    assert len(taken) <= 51


@given(st.lists(st.sampled_from(["none", "ab", "ab ab ab", "abab"]), max_size=8), st.integers(0, 9))
def test_the_list_is_all_hits_in_order(texts: list[str], row: int) -> None:
    tree = Tree()
    head, nodes = ROOT, [0, -1]
    for text in texts:
        head = tree.extend(head, [Item(block.text(text), Place("messages", "user"))])
        nodes.append(head)
    spots = {block.text(text).digest: found for text in texts if (found := list(find(text)))}
    made = HitList(tree, nodes, spots)
    wanted = [
        HitAt(node, nth, start)
        for node, text in zip(nodes[2:], texts, strict=True)
        for nth, (start, _) in enumerate(find(text))
    ]
    assert made[:] == wanted
    assert [made.index_of(hit) for hit in wanted] == list(range(len(wanted)))
    assert made.index_of(HitAt(999, 0, 0)) is None
    first = made.first_from(row, nodes.index)
    assert first == next((at for at, hit in enumerate(wanted) if nodes.index(hit.node) >= row), 0)
    assert made.blocks == len({text for text in texts if text != "none"})


def test_what_is_told() -> None:
    assert describe_progress(2, 17, 0, True, False) == "3 of 17"
    assert describe_progress(None, 20_000, 3, False, True) == "20,000+ hits, 3 blocks in other calls or hidden ·"
    assert describe_progress(None, 0, 1, True, False) == "no hit here, 1 block in other calls or hidden"
    assert describe_progress(None, 0, 0, True, False) == "no hit"
