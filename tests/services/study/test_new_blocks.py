"""What comes while a session is followed has its count when its row is first seen."""

from __future__ import annotations

from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.core.block import Block
from ctxtui.core.session import MAIN, CallSeen, TipMoved
from ctxtui.core.usage import Usage
from ctxtui.pricing.table import PriceTable
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import local_pricer
from ctxtui.services.study.study import Study
from ctxtui.tokens.block_features import count_features
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard
from tests.cases.scenes import study_of
from tests.cases.sessions import Story


class Bench:
    """Counts four characters as a token, and how many blocks it was asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def features(self, card: ModelCard, blocks: list[Block]) -> list[Features]:
        self.asked += len(blocks)
        return [count_features(block, lambda text: -(-len(text) // 4), card) for block in blocks]


class Followed:
    """A story whose study is worked out, and then followed."""

    def __init__(self) -> None:
        self.story = Story().user("a").call("one")
        self.bench = Bench()
        counter, session = Counter(self.bench), self.story.session
        self.study = Study(session, Book(session, model_table(), counter), counter, local_pricer(PriceTable()))
        self.study.thread(MAIN)
        self.work()

    def work(self) -> None:
        while self.study.work():
            pass

    def says(self, text: str) -> None:
        self.story.user(text).tip()
        self.study.session_grew([TipMoved(MAIN, self.story.head)])


def test_a_message_is_counted_before_it_is_shown() -> None:
    there = Followed()
    there.says("something new")
    there.study.prefetch_new()
    before = there.bench.asked
    assert there.study.count_new() and there.bench.asked == before, "the screen's thread waits for no count"
    running, head = there.study.scene(MAIN, 0).running, there.story.head
    assert running.is_counted(head)
    fresh = study_of(there.story.session).scene(MAIN, 0).running
    assert running.block_tokens(head) == fresh.block_tokens(head) > 0
    there.work()
    assert running.block_tokens(head) == fresh.block_tokens(head)


def test_what_is_not_counted_yet_is_left_to_the_worker() -> None:
    there = Followed()
    there.says("something new")
    before = there.bench.asked
    assert not there.study.count_new() and there.bench.asked == before
    assert there.study.progress[0] < there.study.progress[1]
    there.work()
    assert there.study.count_new()


def test_nobody_waits_for_what_takes_long_to_count() -> None:
    there = Followed()
    there.says("long " * 100_000)
    before = there.bench.asked
    there.study.prefetch_new()
    assert there.bench.asked == before and not there.study.count_new()


def test_a_new_call_is_learnt_from_by_the_worker() -> None:
    there = Followed()
    there.story.user("b").call("two")
    there.study.session_grew([CallSeen(there.story.session.calls["main-2"])])
    there.study.prefetch_new()
    assert not there.study.count_new()
    assert there.study.count_pending() and not there.study.count_pending()
    assert there.study.count_new() and there.study.book.is_settled


def test_a_report_that_comes_without_a_block_is_taken_in() -> None:
    story = Story().user("a").call("one").user("b").call("two", usage=False)
    study = study_of(story.session)
    last = story.session.calls["main-2"]
    told = CallSeen(replace(last, usage=Usage(fresh=20_000, output=5)))
    story.session.apply(told)
    study.session_grew([told])
    while study.work():
        pass
    fresh = study_of(story.session)
    read, anew = study.book.contexts.read_of(told.call), fresh.book.contexts.read_of(told.call)
    assert read is not None and anew is not None and read.residual == anew.residual > 0
    assert study.scene(MAIN, 1).figures == fresh.scene(MAIN, 1).figures
