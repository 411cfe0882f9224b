"""What another process foretells of the request that comes next is what is foretold here, and is asked for no longer
than it holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.analysis.cache.next_call import AfterCall, Coming, Foretold
from ctxtui.core.errors import CtxtuiError
from ctxtui.dataclasses import replace
from ctxtui.services.child_process import ChildGone
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.foretold_beside import beside, foretell
from ctxtui.services.editing.staging import StagingArea
from ctxtui.services.recordings.open import load
from ctxtui.services.session_source import SessionSource
from ctxtui.services.study.deputy import Deputy
from ctxtui.services.study.study import Study
from tests.cases.claude_code import generate
from tests.cases.inspect import InMemory
from tests.corpus import ABSENT, CORPUS
from tests.services.editing.test_staging import at_once
from tests.services.recordings.test_read_elsewhere import elsewhere
from tests.services.study.test_handed_over import Beside, finish, recordings, study_of

LAST = 1 << 30


class Foretells(Beside):
    """As a child that is asked at the moment `now`."""

    def __init__(self, study: Study, now: float) -> None:
        super().__init__(study)
        self.now = now
        self.asked: list[AfterCall] = []

    def foretold(self, asked: AfterCall) -> Foretold:
        self.asked.append(asked)
        return foretell(self.study, asked, lambda: self.now)


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(generate(n_messages=160, bytes_per_message=400, seed=5, subagents=1))
    return path


class Here:
    """What a desk finds, whose clock says `now`."""

    def __init__(self, study: Study, now: float) -> None:
        self.study, self.now = study, now
        self.desk = StagingArea(study, InMemory(), lambda: self.now)

    def finds(self, thread: str, *, live: bool) -> Coming | None:
        scene = self.study.scene(thread, LAST)
        for _ in range(2):
            # What is not counted is counted meanwhile.
            found = self.desk.next_call(scene, at_once, live=live)
            finish(self.study)
        return found.coming if found is not None else None


def told(path: Path, now: float, *, live: bool) -> tuple[Study, Foretells]:
    """A study whose figures another one has worked out, which was asked for the end of each of its threads."""
    process = Foretells(study_of(load(path).session), now)
    there = load(path)
    loaded = there if there.plain_reading is None else elsewhere(path)
    study = study_of(loaded.session, Deputy(process, lambda: loaded.taken_over))
    study.read_so_far(whole=True)
    for thread in study.session.threads:
        found = beside(study, study.scene(thread, LAST), now, live=live)
        usage = study.scene(thread, LAST).call.usage
        assert found.coming is None and found.waits == (usage is not None and usage.has_cache)
    return finish(study), process


def holds(path: Path, *, live: bool) -> int:
    """How many threads' ends are foretold alike there and here: when the last call had just ended, and later."""
    plain, alike = finish(study_of(load(path).session)), 0
    ended = max((call.ended or call.started or 0.0 for call in plain.session.calls.values()), default=0.0)
    study, _ = told(path, ended + 1.0, live=live)
    for thread in plain.session.threads:
        desk = Here(plain, ended)
        for later in (1.0, 400.0, 90_000.0) if live else (1.0,):
            desk.now = ended + later
            wanted, found = desk.finds(thread, live=live), beside(study, study.scene(thread, LAST), desk.now, live=live)
            coming = found.coming
            if wanted is None or coming is None:
                assert coming is wanted is None
                continue
            if later > 1.0:
                # What held from a moment in between on says so.
                assert coming.at <= wanted.at
                coming = replace(coming, at=wanted.at, expires=wanted.expires)
            assert coming == wanted, (path, thread, later)
            alike += 1
    return alike


@pytest.mark.parametrize("live", [False, True])
def test_what_is_foretold_there_is_what_is_foretold_here(talk: Path, live: bool) -> None:
    assert holds(talk, live=live) > 1


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason=ABSENT)
def test_of_every_recording() -> None:
    alike = 0
    for path in recordings():
        try:
            alike += holds(path, live=False) + holds(path, live=True)
        except CtxtuiError:
            continue
    assert alike > 4


def test_what_grew_is_asked_here_and_shown_as_it_was_until_then(talk: Path) -> None:
    lines = talk.read_bytes().splitlines(keepends=True)
    prompt = next(at for at in range(len(lines) - 60, len(lines)) if b'"role":"user","content":"' in lines[at])
    talk.write_bytes(b"".join(lines[:prompt]))
    loaded = elsewhere(talk)
    study = study_of(loaded.session, Deputy(Foretells(study_of(load(talk).session), 0.0), lambda: loaded.taken_over))
    study.read_so_far(whole=True)
    beside(study, study.scene("main", LAST), 0.0, live=False)
    before = beside(finish(study), study.scene("main", LAST), 0.0, live=False).coming
    assert before is not None and not before.outdated
    with talk.open("ab") as file:
        file.write(lines[prompt])
    loaded.more()
    study.grew()
    finish(study)
    found = beside(study, study.scene("main", LAST), 0.0, live=False)
    assert found.coming is not None and not found.waits
    assert found.coming == replace(before, outdated=True)
    with talk.open("ab") as file:
        file.write(b"".join(lines[prompt + 1 :]))
    loaded.more()
    study.grew()
    assert beside(finish(study), study.scene("main", LAST), 0.0, live=False) == (False, None), "another call"


class DiesAsked(Foretells):
    """Ends when it is asked what it foretells."""

    def foretold(self, asked: AfterCall) -> Foretold:
        raise ChildGone("killed")


def test_a_process_that_dies_over_it_leaves_all_else(talk: Path) -> None:
    study = study_of(load(talk).session, Deputy(DiesAsked(study_of(load(talk).session), 0.0)))
    study.read_so_far(whole=True)
    assert beside(study, study.scene("main", LAST), 0.0, live=True).waits
    finish(study)
    assert study.take_trouble() is None and study.totals is not None and study.deputy is None
    assert not beside(study, study.scene("main", LAST), 0.0, live=True).waits, "it is worked out here"


def test_a_real_process_is_asked(talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxtui.services.session_source.LONG", 10_000)
    source = SessionSource(str(talk), Settings(data_dir=str(tmp_path / "data")))
    loaded, pieces = source.open()
    study = source.study(loaded.session)
    for news in pieces:
        loaded.take(news)
    study.grew()
    study.read_so_far(whole=True)
    assert beside(study, study.scene("main", LAST), 0.0, live=False).waits
    found = beside(finish(study), study.scene("main", LAST), 0.0, live=False).coming
    assert found is not None and found == Here(study, 0.0).finds("main", live=False)
    source.close()


def test_of_another_call_than_the_last_nothing_is_asked(talk: Path) -> None:
    study = study_of(load(talk).session, Deputy(Foretells(study_of(load(talk).session), 0.0)))
    assert beside(study, study.scene("main", 3), 0.0, live=False) == (False, None)
