"""What another process works out of a session is what would be worked out here, and what grows goes on from it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from ctxtui.analysis.cache import what_if
from ctxtui.analysis.cache.next_call import AfterCall, Foretold
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services import session_source
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cached_by
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.kept_figures import KeptFigures
from ctxtui.services.counting.pricing import price_here, prices_for
from ctxtui.services.recordings import read_elsewhere
from ctxtui.services.recordings.open import load
from ctxtui.services.session_source import SessionSource
from ctxtui.services.study import handed_over
from ctxtui.services.study.deputy import Deputy, Progress
from ctxtui.services.study.study import Study
from ctxtui.services.workers.study_worker import StudyWorker
from ctxtui.store.rows import KeptRow
from tests.cases.claude_code import generate
from tests.conftest import THOROUGH
from tests.corpus import ABSENT, CORPUS
from tests.services.recordings.test_first_reading import state
from tests.services.recordings.test_read_elsewhere import elsewhere

FEW = 16
"""Recordings of the corpus that the law is tried on where not all are."""
COUNTS = Counter()
PRICES = price_here(prices_for(Settings()))


def study_of(session: Session, deputy: Deputy | None = None) -> Study:
    kept = KeptFigures(lambda name: None, lambda row: None)
    COUNTS.kept = kept
    made = Study(session, book_for(session, COUNTS, Settings()), COUNTS, PRICES, deputy=deputy)
    for id_ in list(session.threads):
        made.thread(id_)
    return made


def waits(study: Study) -> bool:
    """Whether another process is still at it."""
    return study.deputy is not None


def finish(study: Study) -> Study:
    while study.work() or study.rest():
        pass
    return study


class Beside:
    """Works out `study` in this process, as a child would in its own: nothing but what is sent goes over."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.ended = 0

    def advance(self) -> Progress:
        moved = self.study.work() or self.study.rest()
        counted, nodes = self.study.progress
        return Progress(counted, not moved or (counted == nodes and not self.study.count()), not moved)

    def counts(self) -> KeptRow | None:
        return KeptFigures(lambda name: None, lambda row: None).row(self.study.book)

    def totals(self) -> bytes:
        return handed_over.totals(self.study)

    def groups(self) -> bytes:
        return self.study.groups.sent()

    def parts(self) -> Iterator[handed_over.Part]:
        return handed_over.parts(self.study)

    def foretold(self, asked: AfterCall) -> Foretold:
        raise AssertionError("nobody asks for it")

    def keep(self) -> None:
        self.ended += 1

    def close(self) -> None:
        self.ended += 1


def told(study: Study) -> dict[str, object]:
    """Every figure that a study gives."""
    session, book = study.session, study.book
    calls = list(session.calls.values())
    found: dict[str, object] = {
        "costs": study.costs,
        "uncached": study.uncached,
        "totals": study.totals,
        "misses": list(study.misses.found),
        "totals by node": {
            model: [(one.own(node), one.category(node)) for node in range(1, len(session.tree))]
            for model, one in sorted(study.every_running().items())
            if one.done == len(session.tree)
        },
        "forecasts": dict(book.forecasts),
    }
    groups, running = study.groups.learnt(), study.running(calls[-1].model) if calls else None
    if running is not None and running.done == len(session.tree):
        found["groups"] = list(groups.of(session.tree.path(calls[-1].response_head), running.own) or ())
    for id_ in sorted(session.threads):
        known = study.thread(id_)
        ledger, some = known.ledger, known.calls[:: max(1, len(known.calls) // 6)]
        found["repeats of " + id_] = dict(known.repeated), known.looked
        found[id_] = (known.spent, known.lacking, list(known.events), known.missed, list(known.records))
        if ledger is not None:
            nodes = sorted({node for call in some for node in session.tree.path(call.response_head)[-40:]})
            found["ledger of " + id_] = [ledger.categories(n) for n in range(ledger.done + 1)]
            found["blocks of " + id_] = [
                (
                    ledger.block(node, 7, ledger.done),
                    known.stays.stretches(node, ledger.done),
                    known.stays.answered(node),
                )
                for node in nodes
            ]
            found["stays of " + id_] = known.stays.every(), known.stays.answers()
    replay = what_if.Replay(book, cached_by(book), study.learnt)
    for call in calls[-1:]:
        if call.usage is not None:
            asked = replay.following(call, call.response_head)
            outcome = asked.simulator.ask(asked.prompt, asked.at)
            found["next"] = asked.at, asked.prompt.total, asked.floors, outcome.usage(), outcome.reasons and 1
            found["next foretold"] = asked.forecast and (asked.forecast.read, asked.forecast.cause)
    return found


def recordings() -> list[Path]:
    """Recordings of the corpus: all of them in the thorough profile."""
    found = [path for path in sorted(CORPUS.rglob("*")) if path.is_file()]
    found = [path for path in found if path.relative_to(CORPUS).parts[0] not in ("LICENSES", "INDEX.csv", "README.md")]
    return found if THOROUGH else Random("handed").sample(found, min(FEW, len(found)))


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(generate(n_messages=240, bytes_per_message=400, seed=5, compactions=1, subagents=2))
    return path


def handed(path: Path) -> tuple[Study, Deputy]:
    """The study of a recording, as another one has read it and worked it out."""
    there = load(path)
    loaded = there if there.plain_reading is None else elsewhere(path)
    deputy = Deputy(Beside(study_of(load(path).session)), lambda: loaded.taken_over)
    study = study_of(loaded.session, deputy)
    study.read_so_far(whole=True)
    return finish(study), deputy


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason=ABSENT)
def test_of_every_recording_what_is_handed_over_is_what_is_worked_out_here() -> None:
    looked_at = 0
    for path in recordings():
        try:
            here = finish(study_of(load(path).session))
        except CtxtuiError:
            continue
        elsewhere, deputy = handed(path)
        assert deputy.trouble is None and elsewhere.deputy is None
        assert told(elsewhere) == told(here), path
        looked_at += 1
    assert looked_at > FEW // 2


def test_nothing_is_counted_or_looked_for_twice(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deputy = Deputy(Beside(finish(study_of(load(talk).session))))
    study = study_of(load(talk).session, deputy)
    study.read_so_far(whole=True)
    again: list[str] = []
    monkeypatch.setattr(COUNTS, "prefetch", lambda card, blocks: again.append("counted"))
    monkeypatch.setattr(study, "pricer", lambda calls: again.append("priced"))
    finish(study)
    assert not again and study.misses.found and study.totals is not None
    assert all(study.thread(id_).ledger is not None for id_ in study.session.threads)


def test_a_session_that_grows_goes_on_from_what_was_handed_over(talk: Path) -> None:
    whole = talk.read_bytes()
    lines = whole.splitlines(keepends=True)
    talk.write_bytes(b"".join(lines[:300]))
    there = load(talk)
    deputy = Deputy(Beside(study_of(load(talk).session)))
    study = study_of(there.session, deputy)
    study.read_so_far(whole=True)
    finish(study)
    beside = load(talk)
    here = finish(study_of(beside.session))
    talk.write_bytes(whole)
    for loaded, one in ((there, study), (beside, here)):
        loaded.more()
        one.grew()
        finish(one)
    assert len(there.session.calls) > 100 and told(study) == told(here)


@pytest.mark.parametrize("more", [6, 120])
def test_counts_are_there_first_and_a_session_may_grow_before_the_rest_is(talk: Path, more: int) -> None:
    lines = talk.read_bytes().splitlines(keepends=True)
    talk.write_bytes(b"".join(lines[:400]))
    there, beside = load(talk), load(talk)
    study = study_of(there.session, Deputy(Beside(study_of(load(talk).session))))
    study.read_so_far(whole=True)
    while study.progress[0] < study.progress[1]:
        assert study.work()
    assert waits(study) and not study.totals, "only counts are there"
    here = finish(study_of(beside.session))
    talk.write_bytes(b"".join(lines[: 400 + more]))
    for loaded, one in ((there, study), (beside, here)):
        loaded.more()
        one.grew()
        finish(one)
    assert not waits(study) and told(study) == told(here)


def test_what_grew_between_the_two_readings_is_worked_out_here(talk: Path) -> None:
    whole = talk.read_bytes()
    lines = whole.splitlines(keepends=True)
    talk.write_bytes(b"".join(lines[:300]))
    deputy = Deputy(Beside(study_of(load(talk).session)))
    talk.write_bytes(whole)
    study = study_of(load(talk).session, deputy)
    study.read_so_far(whole=True)
    finish(study)
    assert study.deputy is None and study.take_trouble() is None
    assert study.progress == (len(study.session.tree), len(study.session.tree))
    same = finish(study_of(load(talk).session))
    assert told(study)["misses"] == told(same)["misses"] and study.totals == same.totals


def test_figures_wait_until_all_that_the_other_process_read_is_read_here(talk: Path) -> None:
    whole = talk.read_bytes()
    lines = whole.splitlines(keepends=True)
    deputy = Deputy(Beside(finish(study_of(load(talk).session))))
    talk.write_bytes(b"".join(lines[:300]))
    loaded = load(talk)
    study = study_of(loaded.session, deputy)
    study.read_so_far(whole=False)
    while study.work():
        pass
    assert waits(study) and not study.rest(), "it is not all read"
    study.read_so_far(whole=True)
    assert study.work() and waits(study)
    assert study.progress[0] < study.progress[1]
    talk.write_bytes(whole)
    loaded.more()
    study.grew()
    assert told(finish(study)) == told(finish(study_of(load(talk).session)))


def test_a_real_process_works_a_recording_out_and_ends(talk: Path, tmp_path: Path) -> None:
    worker = StudyWorker(talk, Settings(data_dir=str(tmp_path / "data")))
    study = study_of(load(talk).session, Deputy(worker))
    study.read_so_far(whole=True)
    finish(study)
    assert study.take_trouble() is None
    assert told(study) == told(finish(study_of(load(talk).session)))
    until = time.monotonic() + 60
    while worker.runs and time.monotonic() < until:
        time.sleep(0.02)
    assert not worker.runs


def test_a_process_that_dies_is_told_and_everything_worked_out_here(talk: Path, tmp_path: Path) -> None:
    worker = StudyWorker(talk, Settings(data_dir=str(tmp_path / "data")))
    study = study_of(load(talk).session, Deputy(worker))
    study.read_so_far(whole=True)
    while study.work() and not worker.runs:
        pass
    os.kill(worker.runs, signal.SIGKILL)
    finish(study)
    trouble = study.take_trouble()
    assert trouble is not None and "worked out here" in str(trouble) and study.take_trouble() is None
    assert told(study) == told(finish(study_of(load(talk).session)))


def test_a_long_recording_is_read_and_worked_out_by_one_process(
    talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_source, "LONG", 10_000)
    monkeypatch.setattr("ctxtui.services.recordings.tail_preview.LONG", 10_000)
    source = SessionSource(str(talk), Settings(data_dir=str(tmp_path / "data")))
    assert source.glimpse() is not None, "something is shown until it is read"
    loaded, pieces = source.open()
    study = source.study(loaded.session)
    for news in pieces:
        assert not loaded.session.threads and loaded.bytes_read <= talk.stat().st_size
        loaded.take(news)
    assert loaded.taken_over and waits(study)
    for id_ in list(loaded.session.threads):
        study.thread(id_)
    study.grew()
    study.read_so_far(whole=True)
    assert study.take_trouble() is None and told(finish(study)) == told(finish(study_of(load(talk).session)))
    # Its readers go on here when the file grows, also once that process has ended.
    monkeypatch.setattr(read_elsewhere, "_taken_up", lambda reading, sent: pytest.fail("read from the beginning"))
    last = talk.read_bytes().splitlines(keepends=True)[-1]
    with talk.open("ab") as file:
        file.write(last.replace(b'"uuid":"', b'"uuid":"x'))
    assert loaded.more() and not loaded.taken_over and state(loaded) == state(load(talk))
    source.close()


def test_only_a_long_recording_has_a_process_of_its_own(
    talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = SessionSource(str(talk), Settings(data_dir=str(tmp_path / "data")))
    loaded, pieces = source.open()
    assert not waits(source.study(loaded.session))
    monkeypatch.setattr(session_source, "LONG", 10_000)
    assert not waits(source.study(Session())), "the end of a recording is shown, no more"
    study = source.study(loaded.session)
    assert waits(study)
    for news in pieces:
        loaded.take(news)
    study.grew()
    study.read_so_far(whole=True)
    finish(study)
    assert not waits(study) and study.progress[0] == len(loaded.session.tree)
    source.close()
