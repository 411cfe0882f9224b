"""Whatever is written and whenever it is looked at, the end state is that of opening the file afresh."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxtui.core.errors import NoContext
from ctxtui.services.recordings.open import load
from tests.services.plain_format import said
from tests.services.recordings.test_first_reading import state

pytestmark = pytest.mark.usefixtures("plain")

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=12) | st.just("long " * 300)
OPERATIONS = st.one_of(
    st.tuples(st.just("append"), st.lists(WORDS, min_size=1, max_size=4)),
    st.tuples(st.just("cut"), st.lists(WORDS, min_size=1, max_size=2)),
    st.tuples(st.just("junk"), st.just(["{not json"])),
    st.tuples(st.just("rewrite"), st.lists(WORDS, min_size=1, max_size=6)),
    st.tuples(st.just("replace"), st.lists(WORDS, min_size=1, max_size=3)),
    st.tuples(st.just("part"), st.lists(WORDS, min_size=1, max_size=2)),
    st.tuples(st.just("other part"), st.lists(WORDS, min_size=1, max_size=2)),
    st.tuples(st.just("drop parts"), st.just([])),
    st.tuples(st.just("touch"), st.just([])),
    st.tuples(st.just("look"), st.just([])),
)


class Desk:
    """A recording that is written to, with time passing between writes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "a.jsonl"
        self.parts = folder / "a" / "parts"
        self.clock = 1_000_000
        self.rest = b""
        self._put(self.path, said("first"), "wb")

    def _put(self, path: Path, data: bytes, mode: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode) as file:
            file.write(data)
        self.tick(path)

    def tick(self, path: Path) -> None:
        self.clock += 1
        os.utime(path, (self.clock, self.clock))

    def do(self, what: str, words: list[str]) -> None:
        data = self.rest + b"".join(map(said, words))
        if what == "append":
            self.rest = b""
            self._put(self.path, data, "ab")
        elif what == "cut":
            half = len(data) - 1 - len(words[-1].encode()) // 2
            self._put(self.path, data[:half], "ab")
            self.rest = data[half:]
        elif what == "junk":
            self._put(self.path, b"{not json\n", "ab")
        elif what == "rewrite":
            self.rest = b""
            self._put(self.path, b"".join(map(said, words)), "wb")
        elif what == "replace":
            self.rest = b""
            self._put(self.path.with_suffix(".new"), b"".join(map(said, words)), "wb")
            os.replace(self.path.with_suffix(".new"), self.path)
        elif what in ("part", "other part"):
            self._put(self.parts / f"{what}.jsonl", b"".join(map(said, words)), "ab")
        elif what == "drop parts":
            shutil.rmtree(self.parts, ignore_errors=True)
        elif what == "touch":
            self.tick(self.path)


@example([("cut", [""]), ("look", []), ("junk", ["{not json"])])
@given(st.lists(OPERATIONS, max_size=25))
def test_following_ends_where_opening_begins(operations: list[tuple[str, list[str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        loaded = load(desk.path)
        for what, words in operations:
            if what == "look":
                loaded.more()
            else:
                desk.do(what, words)
        loaded._looked_at_all = -1e9  # as if the second between looks at silent companions had passed
        loaded.more()
        loaded.more()
        try:
            fresh = load(desk.path)
        except NoContext:
            return
        assert state(loaded) == state(fresh)
