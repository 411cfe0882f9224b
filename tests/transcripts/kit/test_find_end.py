"""Where a path ends in a session that has no lines, as a plain search finds it."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.block import Block, Item, Place
from ctxtui.transcripts.kit.resume import ResumeEntry, find_end


def result(id_: str, words: str) -> Block:
    return block.from_part({"type": "tool_result", "tool_use_id": id_, "content": words})


def items(blocks: Sequence[Block]) -> list[Item]:
    return [Item(one, Place("messages", "user")) for one in blocks]


def search(path: Sequence[str], held: Sequence[str]) -> int:
    """The plain search: for each place, compare backwards."""
    best, end = 0, len(held)
    for last in range(len(held)):
        count = 0
        while count < min(len(path), last + 1) and path[-1 - count] == held[last - count]:
            count += 1
        if count > best or 0 < count == best < len(path):
            best, end = count, last + 1
    return end


@given(st.text("abc", max_size=8), st.text("abc", max_size=12))
def test_it_is_where_most_blocks_match(path: str, held: str) -> None:
    entries = [ResumeEntry(digests=[block.text(one).digest]) for one in held]
    assert find_end(items([block.text(one) for one in path]), entries) == search(path, held)


def test_a_shortened_result_is_found_by_its_call() -> None:
    texts = [ResumeEntry(digests=[block.text("go on").digest]) for _ in range(3)]
    whole = ResumeEntry(digests=[result("a", "long").digest], answers={0: "a"})
    unread = ResumeEntry(digests=[""], answers={0: "b"})
    entries = [texts[0], whole, texts[1], unread, texts[2]]
    assert find_end(items([block.text("go on"), result("a", "short")]), entries) == 2
    assert find_end(items([block.text("go on"), result("b", "short")]), entries) == 4
    assert find_end(items([result("c", "short")]), entries) == 5, "none has it"


def test_ten_thousand_equal_blocks_are_no_matter() -> None:
    entries = [ResumeEntry(digests=[block.text("go on").digest])] * 10_000
    assert find_end(items([block.text("go on")] * 5_000), entries) == 5_000
