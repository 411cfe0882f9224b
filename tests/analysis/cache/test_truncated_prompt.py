"""Servers that cut prompts: told from servers whose tokenizer is another one."""

from __future__ import annotations

import pytest

from ctxtui.analysis.cache.truncated_prompt import cut_prompt, fix_for, is_cut
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Tree
from tests.cases.sessions import book_of


@pytest.mark.parametrize(
    "sent, slack, read, window, cut",
    [
        (10_000, 0.1, 9_500, 32_768, False),  # our count is off by less than it may be
        (10_000, 0.1, 4_096, 4_096, True),
        (10_000, 0.3, 6_900, 8_192, True),  # over the window, and less was read
        (10_000, 0.3, 8_000, 32_768, False),
        (10_000, 0.1, 8_500, 32_768, False),  # another tokenizer
        (10_000, 0.1, 0, 4_096, False),  # nothing was reported
    ],
)
def test_what_counts_as_cut(sent: int, slack: float, read: int, window: int, cut: bool) -> None:
    assert is_cut(sent, slack, read, window) is cut


def test_the_oldest_messages_go_first_and_the_system_prompt_stays() -> None:
    tree = Tree()
    words = "the quick brown fox jumps over the lazy dog " * 20
    items = [Item(block.text("you help"), Place("system"))]
    items += [Item(block.text(f"{n} {words}"), Place("messages", "user")) for n in range(10)]
    head = tree.extend(ROOT, items)
    book = book_of(Session(tree))
    running = RunningTotals(book, "m")
    running.advance()
    whole = running.read_tokens(head, head)
    found = cut_prompt(tree, head, running.block_tokens, whole, slack=0.1, read=whole // 2, window=4096)
    assert found is not None and found.sent == whole
    # The system prompt's own tokens make it one message more than half.
    assert found.unseen == tuple(tree.path(head)[1:7])
    assert cut_prompt(tree, head, running.block_tokens, whole, slack=0.1, read=whole, window=4096) is None


def test_the_fix_names_the_next_larger_window() -> None:
    assert "OLLAMA_CONTEXT_LENGTH=16384" in fix_for("ollama", 9_000)
    assert "-c 4096" in fix_for("llama.cpp", 500)
    assert "8192" in fix_for("", 5_000)


def test_where_not_even_the_system_prompt_was_read_whole_the_end_was() -> None:
    tree = Tree()
    words = "the quick brown fox jumps over the lazy dog " * 20
    items = [Item(block.text(words * 9), Place("system"))]
    items += [Item(block.text(f"{n} {words}"), Place("messages", "user")) for n in range(3)]
    head = tree.extend(ROOT, items)
    running = RunningTotals(book_of(Session(tree)), "m")
    running.advance()
    found = cut_prompt(
        tree,
        head,
        running.block_tokens,
        running.sent_tokens(head, head),
        slack=0.1,
        read=running.block_tokens(head) + 20,
        window=4096,
    )
    assert found is not None and found.unseen == tuple(tree.path(head)[:3])
