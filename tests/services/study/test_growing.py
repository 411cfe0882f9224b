"""A recording that grows piece by piece ends where one ends that is read at once, however the pieces are cut."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.core.errors import NoContext
from ctxtui.core.session import MAIN, CallSeen, Event, Happened, Session, TipMoved, threads_of
from ctxtui.services.config.package_data import price_table
from ctxtui.services.counting.pricing import local_pricer
from ctxtui.services.recordings.open import load
from ctxtui.services.study.study import Study
from ctxtui.tui.inspector.side_panels import Sides
from ctxtui.views.inspector.call_strip import Columns
from tests.cases.claude_code import generate
from tests.cases.scenes import study_of
from tests.cases.sessions import Story, book_of, long_session
from tests.corpus import corpus_params
from tests.sampling import few


def study_anew(session: Session) -> Study:
    """A study in which nothing is worked out yet."""
    return Study(session, book_of(session, counted=False), None, local_pricer(price_table()))


def rest(study: Study) -> None:
    while study.work() or study.work_idle():
        pass


def shown(study: Study) -> list[object]:
    """What panes show of every thread: events, money, calls, columns, and of some calls the whole scene."""
    out: list[object] = [study.totals, list(study.misses.found)]
    for thread in study.session.threads:
        known = study.thread(thread)
        calls = list(known.calls)
        out += [calls, list(known.events), known.spent, known.lacking, list(known.records), dict(known.repeated)]
        columns, sides = Columns(), Sides(study.session.tree)
        out += [list(columns.update(known.calls, known.events, known.missed)), columns.top]
        for index in sorted({0, len(calls) // 2, len(calls) - 1}):
            scene = study.scene(thread, index)
            out += [scene.figures, scene.tip, scene.running.token_reader(scene.tip)(scene.tip)]
            out += [sides.composition(study, known, scene, ()), known.ledger and known.ledger.categories(index + 1)]
    return out


@dataclass
class Grown:
    """A file that is followed by a study, which is told what came, or only that something came."""

    path: Path
    told: bool

    def __post_init__(self) -> None:
        self.loaded = load(self.path)
        self.study = study_anew(self.loaded.session)
        for thread in self.loaded.session.threads:
            self.study.thread(thread)
        rest(self.study)

    def look(self) -> None:
        news = self.loaded.fetch()
        self.loaded.add_news(news)
        self.study.session_grew(news.events if self.told else None)
        if self.told:
            self.study.count_new()
        for thread in self.loaded.session.threads:
            self.study.thread(thread)


def pieces(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """`data` in that many pieces, cut anywhere."""
    chance = random.Random(seed)
    cuts = [0, *sorted(chance.randrange(len(data) + 1) for _ in range(count - 1)), len(data)]
    for first, last in pairwise(cuts):
        yield data[first:last]


def grow(folder: Path, data: bytes, seed: int) -> tuple[Grown, Grown]:
    """Two studies of a recording that grows in the same pieces: one is told what came, the other reads all anew."""
    path = folder / "session.jsonl"
    begin = data.index(b"\n", len(data) * 2 // 3) + 1
    path.write_bytes(data[:begin])
    both = Grown(path, told=True), Grown(path, told=False)
    chance = random.Random(seed)
    for piece in pieces(data[begin:], 24, seed):
        with path.open("ab") as file:
            file.write(piece)
        # All or nothing: weights are learnt in steps, which depend on how much of a recording is counted when.
        works = chance.random() < 0.4
        for one in both:
            one.look()
            if works:
                rest(one.study)
    for one in both:
        rest(one.study)
    return both


@pytest.mark.parametrize("seed", few(range(3)))
def test_being_told_what_came_shows_what_reading_all_anew_shows(tmp_path: Path, seed: int) -> None:
    told, anew = grow(tmp_path, generate(n_messages=60, bytes_per_message=300, seed=seed), seed)
    assert shown(told.study) == shown(anew.study)


@pytest.mark.slow
@pytest.mark.parametrize("path", corpus_params("claude_code", "*.jsonl"))
def test_a_corpus_recording_in_pieces_shows_what_it_shows_at_once(tmp_path: Path, path: Path) -> None:
    try:
        told, anew = grow(tmp_path, path.read_bytes(), 5)
    except NoContext:
        pytest.skip("its first half says nothing to a model")
    assert shown(told.study) == shown(anew.study)


def test_calls_of_a_grown_recording_are_those_of_one_that_was_opened_afresh(tmp_path: Path) -> None:
    told, _ = grow(tmp_path, generate(n_messages=70, bytes_per_message=300, seed=9), 9)
    fresh = study_of(load(told.path).session)
    for thread in fresh.session.threads:
        known, was = told.study.thread(thread), fresh.thread(thread)
        assert list(known.calls) == list(was.calls) and list(known.events) == list(was.events)
        assert (known.spent, known.lacking) == (was.spent, was.lacking)
    assert told.study.totals == fresh.totals


def test_what_came_names_the_threads_whose_calls_are_others() -> None:
    story = Story().user("a").call("one")
    call = story.session.calls["main-1"]
    events: list[Event] = [TipMoved("side", story.head), CallSeen(replace(call, thread="other"))]
    assert threads_of(events) == {"other"}
    assert threads_of([*events, Happened("interrupt", "stopped", "third")]) == {"other", "third"}


def test_a_call_that_goes_to_another_thread_leaves_the_one_it_was_in() -> None:
    story = Story().user("a").call("one").user("b").call("two")
    study = study_of(story.session)
    other = study.thread("other")
    moved = CallSeen(replace(story.session.calls["main-2"], thread="other"))
    story.session.apply(moved)
    study.session_grew([moved])
    assert [call.id for call in study.thread(MAIN).calls] == ["main-1"]
    assert [call.id for call in other.calls] == ["main-2"]


def test_a_message_that_no_call_has_read_changes_no_list_of_calls() -> None:
    story = Story().user("a").call("one")
    study = study_of(story.session)
    calls, events, totals = study.thread(MAIN).calls, study.thread(MAIN).events, study.totals
    story.user("b").tip()
    study.session_grew([TipMoved(MAIN, story.head)])
    rest(study)
    known = study.thread(MAIN)
    assert known.calls is calls and known.events is events and study.totals is totals
    assert study.scene(MAIN, 0).running.is_counted(story.head)


def test_columns_that_grew_are_as_high_as_those_made_at_once() -> None:
    calls = list(study_of(long_session(40)).thread(MAIN).calls)
    low = [replace(call, usage=None) for call in calls]
    columns, chance = Columns(), random.Random(4)
    for _ in range(60):
        source, count = [replace(call) for call in chance.choice((calls, low))], chance.randrange(1, 41)
        # Only calls near the end are ever replaced.
        known = [*columns._calls[: max(0, min(len(columns._calls), count) - 4)]]
        now = [*known, *source[len(known) : count]]
        made = Columns()
        assert columns.update(now, (), {}) == made.update(now, (), {}) and columns.top == made.top


def test_what_a_call_lacks_is_known_when_its_sum_is() -> None:
    """The screen reads both, in another thread, for the calls whose sum is there."""
    story = Story(hidden_tokens=0)
    story.user("hi").call("hello").user("more").call("again")
    thread = study_anew(story.session).thread(MAIN)
    seen: list[bool] = []

    class Sums(list[float | None]):
        def append(self, usd: float | None) -> None:
            super().append(usd)
            seen.append(len(thread.lacking) >= len(self))

    thread.spent = Sums(thread.spent)
    thread.note_priced(thread.calls, 2, dict.fromkeys(story.session.calls))
    assert seen == [True, True]
