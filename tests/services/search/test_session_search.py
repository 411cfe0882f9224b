"""Searching an open session: what a replaced search left out is searched by the next one."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core import block as blocks
from ctxtui.core.block import Item, Place
from ctxtui.core.tree import ROOT, Tree
from ctxtui.services.search.pattern import Pattern
from ctxtui.services.search.session_search import SessionHits, SessionSearcher


def test_a_narrower_pattern_after_an_aborted_search_finds_newer_blocks() -> None:
    tree = Tree()

    def add(text: str) -> None:
        tree.extend(ROOT, [Item(blocks.text(text), Place("messages", "user"))])

    class Replaced(Pattern):
        """A pattern that the next one replaces during its search."""

        def spans(self, text: str) -> Iterator[tuple[int, int]]:
            searcher.search_for(narrower)
            return super().spans(text)

    wide, narrower = Pattern("need"), Pattern("needle")
    results: list[SessionHits] = []

    def post(hits: SessionHits) -> None:
        results.append(hits)
        if hits.pattern is wide:
            add("a newer needle")
            searcher.search_for(Replaced("e"))
        else:
            searcher.close()

    searcher = SessionSearcher(tree, post)
    add("an older needle")
    searcher.search_for(wide)
    searcher.run()
    assert [hits.pattern for hits in results] == [wide, narrower] and results[-1].done
    assert set(results[-1].spans) == set(tree.blocks) and len(tree.blocks) == 2


def test_a_narrower_pattern_searches_only_the_blocks_with_hits() -> None:
    tree = Tree()
    for text in ("a needle", "nothing", "a need"):
        tree.extend(ROOT, [Item(blocks.text(text), Place("messages", "user"))])
    searched: list[str] = []

    class Noted(Pattern):
        def spans(self, text: str) -> Iterator[tuple[int, int]]:
            searched.append(text)
            return super().spans(text)

    wide, narrower = Pattern("need"), Noted("need")

    def post(hits: SessionHits) -> None:
        searcher.search_for(narrower) if hits.pattern is wide else searcher.close()

    searcher = SessionSearcher(tree, post)
    searcher.search_for(wide)
    searcher.run()
    assert searched == ["a needle", "a need"]
