from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from ctxtui.analysis.context_window import usable_tokens
from ctxtui.core import block
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.session import CallSeen, Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, table_for
from ctxtui.services.counting.count_cache import CountCache, cached_counter
from ctxtui.services.counting.counting import Counter, LocalCounts, count_all, count_step, counting_key
from ctxtui.services.worker import Worker
from ctxtui.services.workers.counting_worker import CountingWorker
from ctxtui.tokens.encode import TokenizerFailure
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard

CARD = model_table().card("claude-opus-4-20250514")
BLOCKS = [block.text(f"some words, number {n}") for n in range(20)]


def session_of(blocks: list[Block], model: str = "gpt-5") -> Session:
    tree = Tree()
    head = ROOT
    for one in blocks:
        head = tree.child(head, one, block.Place("messages", "user"))
    return Session(tree).fold([CallSeen(Call("c", "main", head, head, head, model=model))])


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Block]:
    """The blocks that go through the tokenizer."""
    found: list[Block] = []
    features = LocalCounts.features

    def counting(bench: LocalCounts, card: ModelCard, blocks: list[Block]) -> list[Features]:
        found.extend(blocks)
        return features(bench, card, blocks)

    monkeypatch.setattr(LocalCounts, "features", counting)
    return found


def test_a_block_is_counted_once_whoever_asks(counted: list[Block]) -> None:
    counter = Counter()
    measure = counter(CARD)
    assert measure(block.text("hello world")).text == 2
    assert measure(block.text("hello world")).text == 2
    counter.prefetch(CARD, [block.text("hello world"), block.text("new")])
    assert len(counted) == 2
    other = model_table().card("gpt-4")
    assert counting_key(other) != counting_key(CARD)
    counter(other)(block.text("new"))
    assert len(counted) == 3


def test_growing_counts_new_content_only(counted: list[Block]) -> None:
    session = session_of(BLOCKS)
    counter = Counter()
    book = book_for(session, counter, Settings())
    count_all(book, counter)
    assert len(counted) == 20
    head = session.calls["c"].raw_head
    new = session.tree.child(head, block.text("one more"), block.Place("messages", "user"))
    session.fold([CallSeen(Call("d", "main", new, new, new, model="gpt-5"))])
    count_all(book, counter)
    assert len(counted) == 21
    assert book.is_counted("gpt-5", new)


def test_counting_goes_in_slices() -> None:
    session = session_of(BLOCKS)
    counter = Counter()
    book = book_for(session, counter, Settings())
    steps = [count_step(book, counter, 7) for _ in range(3)]
    assert [done for done, _ in steps] == [8, 15, 21]
    assert {total for _, total in steps} == {21}


def test_apart_counts_as_here() -> None:
    apart = CountingWorker()
    try:
        assert apart.features(CARD, BLOCKS) == LocalCounts().features(CARD, BLOCKS)
        assert apart.features(model_table().card("gpt-4o"), BLOCKS) == LocalCounts().features(
            model_table().card("gpt-4o"), BLOCKS
        )
    finally:
        apart.close()


def test_a_child_that_dies_is_replaced_by_counting_here() -> None:
    apart = CountingWorker()
    try:
        apart.features(CARD, BLOCKS[:1])
        process = apart._worker.child._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert apart.features(CARD, BLOCKS) == LocalCounts().features(CARD, BLOCKS)
    finally:
        apart.close()


def test_a_child_that_cannot_start_says_so(cold_children: None) -> None:
    child = ChildProcess("ctxtui.services.nowhere:make")
    with pytest.raises(ChildGone):
        child.ask(1)


def test_a_child_ends_with_its_pipe(cold_children: None) -> None:
    worker = Worker(LocalCounts)
    worker.call(LocalCounts.features, CARD, [])
    process = worker.child._process
    assert process is not None and process.stdin is not None
    process.stdin.close()
    assert process.wait(10) == 0
    worker.close()


def test_the_counting_of_a_monster_leaves_the_process_alone() -> None:
    """While a child counts 10 MB, this process has next to nothing to do."""
    apart = CountingWorker()
    monster = block.text("wide " * 2_000_000)
    begun = time.process_time()
    try:
        (found,) = apart.features(CARD, [monster])
    finally:
        apart.close()
    assert found.text == 2_000_001
    assert time.process_time() - begun < 0.25


def test_a_text_on_which_the_tokenizer_gives_up_is_counted_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def panics(encoding: object, text: str) -> int:
        raise TokenizerFailure("gave up")

    monkeypatch.setattr("ctxtui.services.counting.counting.count_text", panics)
    assert LocalCounts().features(CARD, [block.text("é" * 10)]) == [Features(text=5, letters=2.5)]


def test_counts_are_remembered_between_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[Block]
) -> None:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    settings = Settings()
    with cached_counter(settings) as counter:
        counter.prefetch(CARD, BLOCKS)
    assert not (tmp_path / "ctxtui.db").exists(), "looking makes no database"
    CountCache(tmp_path / "ctxtui.db", create=True).counts("any", [])
    for wanted in (20, 0):
        with cached_counter(settings) as counter:
            del counted[:]
            counter.prefetch(CARD, BLOCKS)
            assert len(counted) == wanted
            assert counter(CARD)(BLOCKS[0]) == LocalCounts().features(CARD, BLOCKS[:1])[0]


def test_memory_serves_threads_and_survives_damage(tmp_path: Path) -> None:
    memory = CountCache(tmp_path / "ctxtui.db", create=True)
    memory.store_counts({"w": {"00" * 16: Features(text=3)}})
    found: list[dict[str, Features]] = []
    thread = threading.Thread(target=lambda: found.append(memory.counts("w", ["00" * 16])))
    thread.start()
    thread.join()
    assert found == [{"00" * 16: Features(text=3)}]
    memory.close()
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    damaged = CountCache(broken, create=True)
    assert damaged.counts("w", ["00" * 16]) == {}
    assert damaged.trouble is not None
    damaged.store_counts({"w": {"00" * 16: Features()}})


def test_the_users_windows_are_over_the_tables() -> None:
    table = table_for(Settings(windows={"claude-opus-4": 12_345}))
    assert table.card("claude-opus-4-20250514").window == 12_345
    assert table_for(Settings()).card("claude-opus-4-20250514").window != 12_345


def test_the_users_usable_part_of_a_window_is_over_the_share() -> None:
    table = table_for(Settings(models={"claude-opus-4": {"context_size": 20_000, "usable_context": 17_000}}))
    card = table.card("claude-opus-4-20250514")
    assert (card.window, card.usable) == (20_000, 17_000)
    assert usable_tokens(20_000, 0.75, card.usable) == 17_000
    assert usable_tokens(20_000, 0.75, None) == 15_000
