"""Figures that are taken over from an earlier run are those that would be worked out anew, or are not taken over."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from random import Random
from tempfile import gettempdir
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from zstandard import ZstdDecompressor

import ctxtui
from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import block_figures, figures
from ctxtui.analysis.forecast import Forecast, Forecaster
from ctxtui.analysis.read.absence import NONE_GONE
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import Tree
from ctxtui.dataclasses import replace
from ctxtui.pricing.price import PriceTable
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting import kept_figures
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.count_cache import counter_with_memory
from ctxtui.services.counting.counting import Counter, count_all, count_on
from ctxtui.services.counting.kept_figures import KeptFigures
from ctxtui.services.counting.pricing import price_here
from ctxtui.services.recordings.open import load
from ctxtui.services.study import kept_counts
from ctxtui.services.study.study import Study
from ctxtui.store import cache
from ctxtui.store.rows import KeptRow
from ctxtui.store.store import Store
from ctxtui.transcripts.registry import detect
from tests.cases.claude_code import generate
from tests.conftest import THOROUGH
from tests.corpus import CORPUS

pytestmark = pytest.mark.slow

FEW = 24
"""Recordings of the corpus that the law is tried on where not all are."""


class Shelf(KeptFigures):
    """Keeps in memory; tells how often figures were taken over, wholly and in part."""

    def __init__(self, labels: str = "") -> None:
        self.rows: dict[bytes, KeptRow] = {}
        super().__init__(self.rows.get, self.save, lambda: labels)
        self.saved = self.whole = 0

    def save(self, row: KeptRow) -> None:
        self.rows[row.name] = row
        self.saved += 1

    def restore(self, book: Book) -> bool:
        found = super().restore(book)
        self.whole += found
        return found


def counted(path: Path, counts: Counter, kept: KeptFigures | None, chosen: Settings | None = None) -> Book:
    """The book of the recording at `path`, read anew."""
    counts.kept = kept
    book = book_for(load(path).session, counts, chosen or Settings())
    count_all(book, counts)
    return book


def told(book: Book) -> dict[str, Any]:
    """Every figure that a book gives."""
    session = book.session
    models = sorted(book.models)
    heads = sorted({call.sent_head for call in session.calls.values()})
    calls = list(session.calls.values())
    return {
        "weights": {model: book.weights(model) for model in models},
        "sums": {model: [book.sums(model, node) for node in range(len(session.tree))] for model in models},
        "own": {model: [book.own(model, node) for node in range(1, len(session.tree))] for model in models},
        "forecasts": dict(book.forecasts),
        "next": [_foretold(book, call) for call in calls[-3:]],
        "read": [_plain(book, call) for call in calls],
        "gone": {head: dict(book.contexts.at(head).of) for head in heads},
        "figures": [figures(book, call) for call in calls[:: max(1, len(calls) // 5)]],
        "blocks": [one for call in calls[-1:] for one in block_figures(book, call)],
    }


def _plain(book: Book, call: Any) -> object:
    read = book.contexts.of(call)
    if read is None:
        return None
    gone = {node: (one.left, one.since, one.why) for node, one in read.gone.of.items()}
    return replace(read, gone=NONE_GONE), gone


def _foretold(book: Book, call: Any) -> object:
    found = book.forecast(call)
    return None if found is None else (found.predicted, found.lo, found.hi, found.deviation)


def recordings() -> list[Path]:
    """Recordings of the corpus: all of them in the thorough profile."""
    found = [path for path in sorted(CORPUS.rglob("*")) if path.is_file()]
    found = [path for path in found if path.relative_to(CORPUS).parts[0] not in ("LICENSES", "INDEX.csv", "README.md")]
    return found if THOROUGH else Random("kept").sample(found, min(FEW, len(found)))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_figures, "LEAST", 2)
    monkeypatch.setattr(kept_counts, "SHORT", 2)


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(generate(n_messages=160, bytes_per_message=300, seed=5))
    return path


@pytest.mark.slow
def test_of_every_recording_kept_figures_are_those_worked_out_anew() -> None:
    counts, taken = Counter(), 0
    for path in recordings():
        shelf = Shelf()
        try:
            anew = told(counted(path, counts, shelf))
        except CtxtuiError:
            continue
        assert told(counted(path, counts, shelf)) == anew, path
        taken += shelf.whole
        assert shelf.saved <= 1, path
    if not recordings():
        pytest.skip("corpus absent")
    assert taken


def test_of_every_recording_that_grew_figures_are_those_worked_out_anew(tmp_path: Path) -> None:
    counts, random = Counter(), Random("grown")
    for number, path in enumerate(path for path in recordings() if path.suffix == ".jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)
        copy = tmp_path / str(number) / path.name
        copy.parent.mkdir()
        shelf = Shelf()
        for length in sorted({*(random.randrange(1, len(lines) + 1) for _ in range(2)), len(lines)}):
            copy.write_bytes(b"".join(lines[:length]))
            try:
                grown = told(counted(copy, counts, shelf))
                assert grown == told(counted(copy, counts, None)), (path, length)
            except CtxtuiError:
                continue
    if not recordings():
        pytest.skip("corpus absent")


@pytest.mark.slow
@settings(max_examples=200 if THOROUGH else 12)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 90), min_size=1, max_size=4))
def test_a_generated_session_that_grows_step_by_step(seed: int, steps: list[int]) -> None:
    lines = generate(n_messages=90, bytes_per_message=200, seed=seed).splitlines(keepends=True)
    counts, shelf = Counter(), Shelf()
    for length in sorted(min(len(lines), 2 * step) for step in steps):
        path = Path(gettempdir()) / f"grows-{os.getpid()}.jsonl"
        path.write_bytes(b"".join(lines[:length]))
        try:
            assert told(counted(path, counts, shelf)) == told(counted(path, counts, None))
        finally:
            path.unlink()


def _sliced(data: bytes, name: str, counts: Counter, random: Random | None) -> Book | None:
    """The book of a recording, counted bit by bit while it is read, or without `random` at once; None where no format
    takes it."""
    found, tree = detect(data, name), Tree()
    if found is None:
        return None
    reader, session = found.open(tree), Session(tree)
    book = book_for(session, counts, Settings())
    while data and random is not None:
        size = random.randrange(1, 20_000)
        session.fold(reader.feed(data[:size]))
        data = data[size:]
        for _ in range(random.randrange(3)):
            count_on(book, counts, random.randrange(1, 40))
    session.fold([*reader.feed(data), *reader.settle()])
    count_all(book, counts)
    return book


def test_what_was_counted_while_a_recording_was_read_is_kept_where_it_is_what_it_would_be_at_once() -> None:
    counts, random, kept, taken = Counter(), Random("slices"), 0, 0
    for path in (path for path in recordings() if path.suffix == ".jsonl"):
        data = path.read_bytes()
        book, anew = _sliced(data, path.name, counts, random), _sliced(data, path.name, counts, None)
        if book is None or anew is None or not book.session.calls:
            continue
        shelf = Shelf()
        shelf.keep(book, at_once=False)
        kept += shelf.saved
        other = book_for(anew.session, counts, Settings())
        shelf.restore(other)
        taken += other.is_begun
        count_all(other, counts)
        assert told(other) == told(anew), path
    if not recordings():
        pytest.skip("corpus absent")
    assert kept and taken


def test_a_book_that_is_counted_in_part_takes_over_the_whole(talk: Path) -> None:
    counts, shelf = Counter(), Shelf()
    anew = told(counted(talk, counts, shelf))
    book = book_for(load(talk).session, counts, Settings())
    count_on(book, counts, 100)
    assert shelf.restore(book)
    count_all(book, counts)
    assert told(book) == anew


def test_an_open_session_takes_figures_over_once_it_is_read_and_keeps_its_own(talk: Path) -> None:
    anew = told(counted(talk, Counter(), None))
    shelf = Shelf()
    # First what was learnt is kept, then how contexts were read, too; then there is nothing more to keep.
    for times, saved in enumerate((1, 2, 2)):
        counts = Counter(kept=shelf)
        session = load(talk).session
        here = Study(session, book_for(session, counts, Settings()), counts, price_here(PriceTable()))
        here.read_so_far(whole=False)
        here.thread(MAIN)
        while here.work():
            pass
        here.keep()
        assert shelf.saved == min(times, 2), "nothing is kept of what is still read"
        # Where an earlier run kept something, counting waits for the end of the reading.
        assert (here.progress[0] < here.progress[1]) is bool(times)
        here.read_so_far(whole=True)
        while here.work():
            pass
        here.keep()
        assert shelf.saved == saved
        assert told(here.book) == anew


def test_what_was_learnt_is_taken_over_where_a_file_grew(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = talk.read_bytes().splitlines(keepends=True)
    counts, shelf = Counter(), Shelf()
    talk.write_bytes(b"".join(lines[:-20]))
    before = len(counted(talk, counts, shelf).session.calls)
    talk.write_bytes(b"".join(lines))
    learnt: list[str] = []
    learn = Forecaster.learn

    def noted(self: Forecaster, call: Call, forecast: Forecast | None) -> None:
        learnt.append(call.id)
        learn(self, call, forecast)

    monkeypatch.setattr(Forecaster, "learn", noted)
    book = counted(talk, counts, shelf)
    assert 0 < len(learnt) < len(book.session.calls) - before + 2
    assert shelf.whole == 0 and shelf.saved == 2


def test_a_figure_asked_for_reads_no_more_than_it_needs(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, shelf = Counter(), Shelf()
    counted(talk, counts, shelf)
    monkeypatch.setattr(Forecaster, "take_over", lambda *_: pytest.fail("the forecaster was made"))
    book = counted(talk, counts, shelf)
    assert shelf.whole == 1
    call = list(book.session.calls.values())[-1]
    assert figures(book, call).context_tokens > 0


def _changed(path: Path, change: str) -> None:
    """Change the report of an answer, or its words, in every record of it."""
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    answers = [one["message"] for one in records if "usage" in one["message"]]
    id_ = answers[len(answers) // 2]["id"]
    for answer in answers:
        if answer["id"] == id_ and change == "usage":
            answer["usage"]["cache_read_input_tokens"] += 1
        elif answer["id"] == id_:
            answer["content"] = [{"type": "text", "text": "other words"}]
    path.write_text("".join(json.dumps(one) + "\n" for one in records))


@pytest.mark.parametrize("change", ["usage", "content"])
def test_of_other_content_nothing_is_taken_over(talk: Path, change: str) -> None:
    counts, shelf = Counter(), Shelf()
    counted(talk, counts, shelf)
    _changed(talk, change)
    assert told(counted(talk, counts, shelf)) == told(counted(talk, counts, None))
    assert shelf.whole == 0


def test_a_shorter_recording_takes_nothing_over(talk: Path) -> None:
    counts, shelf = Counter(), Shelf()
    counted(talk, counts, shelf)
    talk.write_bytes(b"".join(talk.read_bytes().splitlines(keepends=True)[:-30]))
    assert told(counted(talk, counts, shelf)) == told(counted(talk, counts, None))
    assert shelf.whole == 0


def test_other_facts_about_models_other_label_rules_and_other_code_are_worked_out_anew(
    talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, shelf = Counter(), Shelf()
    model = counted(talk, counts, shelf).session.model
    other = Settings(windows={model: 123_456})
    assert told(counted(talk, counts, shelf, other)) == told(counted(talk, counts, None, other))
    assert shelf.whole == 0
    ruled = Shelf("other rules")
    ruled.rows = shelf.rows
    counted(talk, counts, ruled)
    assert ruled.whole == 0
    monkeypatch.setattr(kept_figures, "_code", lambda: "newer code")
    counted(talk, counts, shelf)
    assert shelf.whole == 0
    counted(talk, counts, shelf)
    assert shelf.whole == 1


def test_a_file_of_the_code_that_changes_is_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for floor in kept_figures._FLOORS:
        (tmp_path / floor).mkdir(parents=True)
    file = tmp_path / "tokens" / "weights.py"
    file.write_text("one = 1\n")
    monkeypatch.setattr(ctxtui, "__file__", str(tmp_path / "__init__.py"))
    versions: list[str] = []
    for text in ("one = 1\n", "one = 2\n"):
        file.write_text(text)
        os.utime(file, ns=(len(versions), len(versions)))
        versions.append(kept_figures._code.__wrapped__())
    assert versions[0] != versions[1]


@pytest.mark.slow
@settings(max_examples=400 if THOROUGH else 40)
@given(st.integers(0, 10**6), st.integers(0, 255), st.booleans(), st.booleans())
def test_a_damaged_row_is_passed_over(at: int, byte: int, cut: bool, agrees: bool) -> None:
    counts, path = Counter(), _small_talk()
    shelf = Shelf()
    anew = told(counted(path, counts, shelf))
    name, row = next(iter(shelf.rows.items()))
    at %= len(row.body)
    body = row.body[:at] if cut else row.body[:at] + bytes([byte]) + row.body[at + 1 :]
    same = body == row.body
    shelf.rows[name] = replace(row, body=body)
    if agrees:
        # The worst case: half of a row with a checksum of just that half. What can be read of it is no figure's.
        monkeyed = kept_figures._hash(body) if cut else row.checksum
        shelf.rows[name] = replace(row, body=body, checksum=monkeyed)
    assert told(counted(path, counts, shelf)) == anew
    assert shelf.whole == (1 if same else 0)


def _small_talk() -> Path:
    path = Path(gettempdir()) / f"kept-{os.getpid()}.jsonl"
    if not path.exists():
        path.write_bytes(generate(n_messages=30, bytes_per_message=200, seed=3))
    return path


def test_rules_that_were_left_out_keep_nothing(talk: Path) -> None:
    rows: dict[bytes, KeptRow] = {}
    shelf = KeptFigures(rows.get, lambda row: rows.update({row.name: row}), lambda: None)
    counted(talk, Counter(), shelf)
    assert not rows


def test_they_stand_in_the_database_beside_the_counts_and_go_with_them(talk: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    given = Settings(data_dir=str(home))
    place = database(given.data_dir)
    Store.open(place).close()
    for _ in range(2):
        with counter_with_memory(given) as counter:
            count_all(book_for(load(talk).session, counter, given), counter)
    with Store.open(place) as store:
        assert store.info().rows["kept_figures"] == 1
        assert place.stat().st_mode & 0o777 == 0o600
        store.prune(0.0, now=2**40)
        assert store.info().rows["kept_figures"] == 0


def test_a_text_of_the_recording_is_nowhere_in_what_is_kept(talk: Path) -> None:
    shelf = Shelf()
    book = counted(talk, Counter(), shelf)
    row = next(iter(shelf.rows.values()))
    plain = b"".join(map(ZstdDecompressor().decompress, msgspec.msgpack.decode(row.body).values()))
    texts: Iterable[bytes] = (one.body[30:60] for one in book.session.tree.blocks.values() if len(one.body) > 100)
    assert not any(text in plain for text in texts)


def test_the_oldest_go_where_there_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_KEPT", 3)
    with Store.open(tmp_path / "figures.db") as store:
        for number in range(5):
            row = KeptRow(
                name=bytes([number]),
                session="s",
                version=b"v",
                nodes=1,
                calls=1,
                fingerprint=b"f",
                checksum=b"c",
                body=b"body",
            )
            store.keep_figures(row, now=float(number))
            assert store.kept_figures(bytes([number])) == row
        kept = [store.kept_figures(bytes([number])) is not None for number in range(5)]
    assert kept == [False, False, True, True, True]
