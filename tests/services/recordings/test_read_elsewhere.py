"""A recording that another process reads says what it would say if it were read here, and goes on as that would."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.errors import CtxtuiError, NoContext
from ctxtui.services.child_process import ChildGone
from ctxtui.services.recordings.open import load, opening
from ctxtui.services.recordings.read_elsewhere import ReadElsewhere, SentReading, sent, sent_readers
from ctxtui.services.recordings.recording import Loaded
from tests.cases.claude_code import generate
from tests.conftest import THOROUGH
from tests.core.test_packed_tree import members
from tests.corpus import ABSENT, CORPUS
from tests.services.plain_format import said
from tests.services.recordings.test_first_reading import state
from tests.services.recordings.test_follow_law import OPERATIONS, Desk


class ReadsHere:
    """Reads `path` in this process, as a child would in its own; `then` happens when it has read."""

    def __init__(self, path: Path, then: Callable[[], object] = bool) -> None:
        self._path = path
        self._then = then
        self._asked = self.closed = 0

    def bytes_read(self) -> int | None:
        self._asked += 1
        return 10 * self._asked if self._asked < 3 else None

    def reading(self) -> SentReading | None:
        self._loaded = load(self._path)
        self._blocks = len(self._loaded.session.tree.blocks)
        found = sent(self._loaded)
        self._then()
        return pickle.loads(pickle.dumps(found))  # type: ignore[no-any-return]

    def readers(self) -> bytes | None:
        return sent_readers(self._loaded, self._blocks)

    def close(self) -> None:
        self.closed += 1


class Dies(ReadsHere):
    """Ends before it has read all."""

    def reading(self) -> SentReading | None:
        raise ChildGone("killed")


class EndsWhenRead(ReadsHere):
    """Ends before anybody asks where its readers stand."""

    def readers(self) -> bytes | None:
        raise ChildGone("killed")


def elsewhere(path: Path, process: ReadsHere | None = None) -> ReadElsewhere:
    begun, pieces = opening(path)
    loaded = ReadElsewhere(begun, pieces, process or ReadsHere(path))
    for news in loaded.pieces():
        loaded.take(news)
    return loaded


def whole(loaded: Loaded) -> list[object]:
    session = loaded.session
    return [
        session.about,
        list(session.calls.items()),
        session.threads,
        session.order,
        loaded.skipped,
        session.happenings,
        session.outcomes,
        session.quotas,
        [members(node) for node in session.tree.nodes()],
        loaded.lines,
        loaded.bytes_read,
        loaded.paths,
        loaded.source,
    ]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(generate(n_messages=240, bytes_per_message=400, seed=5, compactions=1, subagents=2))
    return path


@pytest.mark.parametrize("process", [ReadsHere, EndsWhenRead])
def test_it_says_the_same_and_goes_on_alike(talk: Path, process: type[ReadsHere]) -> None:
    lines = talk.read_bytes().splitlines(keepends=True)
    talk.write_bytes(b"".join(lines[:200]))
    there, here = elsewhere(talk, process(talk)), load(talk)
    assert there.taken_over and whole(there) == whole(here)
    assert not there.more() and there.taken_over, "nothing came"
    with talk.open("ab") as file:
        file.write(b"".join(lines[200:240]))
    assert there.more() == here.more()
    read_here = not there.taken_over
    assert read_here and whole(there) == whole(here)
    with talk.open("ab") as file:
        file.write(b"".join(lines[240:]))
    assert there.more() == here.more() and whole(there) == whole(here)


def test_what_is_read_is_known_before_anybody_takes_it(talk: Path) -> None:
    begun, pieces = opening(talk)
    there = ReadElsewhere(begun, pieces, ReadsHere(talk))
    every = list(there.pieces())
    there.check()
    assert there.holds_context and not there.session.calls
    assert not there.fetch(), "nothing came since"
    with talk.open("ab") as file:
        file.write(talk.read_bytes().splitlines(keepends=True)[-1].replace(b'"uuid":"', b'"uuid":"x'))
    news = there.fetch()
    assert news.events and news.session is None
    for one in (*every, news):
        there.take(one)
    assert state(there) == state(load(talk))


def test_what_came_between_the_two_readings_comes_with_the_next_look(talk: Path) -> None:
    lines = talk.read_bytes().splitlines(keepends=True)
    talk.write_bytes(b"".join(lines[:200]))

    def grow() -> None:
        with talk.open("ab") as file:
            file.write(b"".join(lines[200:]))

    there = elsewhere(talk, ReadsHere(talk, grow))
    assert len(there.session.calls) < len(load(talk).session.calls)
    assert there.more() and whole(there) == whole(load(talk))


def test_a_file_that_was_rewritten_is_read_anew(talk: Path) -> None:
    there = elsewhere(talk)
    lines = talk.read_bytes().splitlines(keepends=True)
    talk.write_bytes(b"".join(lines[:100]))
    news = there.fetch()
    assert news.session is not None
    there.take(news)
    assert not there.taken_over and state(there) == state(load(talk))


def test_a_file_that_went_keeps_what_was_read(talk: Path) -> None:
    there = elsewhere(talk)
    before = whole(there)[:4]
    talk.unlink()
    assert not there.more() and there.gone and whole(there)[:4] == before


def test_where_the_process_dies_the_file_is_read_here(talk: Path) -> None:
    process = Dies(talk)
    there = elsewhere(talk, process)
    assert process.closed and not there.taken_over and whole(there) == whole(load(talk))


@pytest.mark.usefixtures("plain")
@given(st.lists(OPERATIONS, max_size=8), st.lists(OPERATIONS, max_size=12))
def test_following_it_ends_where_following_one_that_was_read_here_ends(
    before: list[tuple[str, list[str]]], after: list[tuple[str, list[str]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        for what, words in before:
            desk.do(what, words)
        try:
            there, here = elsewhere(desk.path), load(desk.path)
        except NoContext:
            return
        for what, words in after:
            if what == "look":
                there.more()
                here.more()
            else:
                desk.do(what, words)
        for loaded in (there, here):
            loaded._looked_at_all = -1e9  # as if the second between looks at silent companions had passed
            loaded.more()
            loaded.more()
        # Where a rewritten file has the bytes that are looked at, the one that takes it up anew sees more.
        assert state(there) == state(here) or state(there) == state(load(desk.path))


@pytest.mark.usefixtures("plain")
def test_a_relative_path_and_its_companions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, part = Path("a.jsonl"), Path("a") / "parts" / "part.jsonl"
    path.write_bytes(said("one"))
    part.parent.mkdir(parents=True)
    part.write_bytes(said("aside"))
    there = elsewhere(path)
    assert whole(there) == whole(load(path)) and len(there.paths) == 2
    assert not there.more() and there.taken_over
    with part.open("ab") as file:
        file.write(said("more"))
    assert there.more() and state(there) == state(load(path))


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason=ABSENT)
def test_of_the_corpus_all_is_the_same() -> None:
    looked_at = 0
    every = [path for path in sorted(CORPUS.rglob("*.jsonl")) if path.is_file()]
    for path in every if THOROUGH else every[::7]:
        try:
            here = load(path)
        except CtxtuiError:
            continue
        if here.plain_reading is None:
            continue
        there = elsewhere(path)
        assert there.taken_over and whole(there) == whole(here), path
        looked_at += 1
    assert looked_at > 5


def test_threads_look_at_the_same_tree_at_once(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(generate(n_messages=900, bytes_per_message=4_000, seed=9))
    tree, plain = elsewhere(path).session.tree, load(path).session.tree
    nodes = range(1, len(tree))

    def look(seed: int) -> bool:
        # From one end of the tree to the other: each step unpacks another piece.
        order = [node for pair in zip(nodes, reversed(nodes), strict=True) for node in pair][seed::7]
        return all(tree[node].block.body == plain[node].block.body for node in order)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(look, range(8)))
