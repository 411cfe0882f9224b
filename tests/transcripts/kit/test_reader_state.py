"""A reader that is written down and made again goes on as the one it was made of."""

from __future__ import annotations

import pickle
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.packed_tree import pack, unpack_into
from ctxtui.core.session import Session
from ctxtui.core.tree import Tree
from ctxtui.dataclasses import dataclass, fields, replace
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.transcripts.kit.reader_state import readers_from, state_of
from ctxtui.transcripts.kit.whole_file import WholeReader
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.registry import Format, detect
from tests.cases import claude_code
from tests.conftest import THOROUGH
from tests.core.test_packed_tree import members
from tests.corpus import ABSENT, CORPUS
from tests.transcripts.driving import feed
from tests.transcripts.test_laws import CASES

UNTOLD = {
    *("aider", "aider llm history", "claude code bodies"),
    *("mini-swe-agent", "llm log", "swe-agent", "har", "livemcpbench", "openai items", "tau-bench"),
}
"""Formats that functions without a name read: two records together, or one JSON value whenever it changes."""
MOST = 3_000_000


@dataclass
class Begun:
    """A session of which a part is read, by a reader and those of its companion files."""

    session: Session
    readers: list[Reader]

    def on(self, data: bytes, which: int = 0) -> list[object]:
        """Read on: what is told, and what there is then."""
        events = feed(self.readers[which], [data])
        self.session.fold(events)
        session, told = self.session, [one.tail for one in self.readers]
        held = [getattr(session, one.name) for one in fields(session) if one.name != "tree"]
        return [events, told, *held, [members(node) for node in session.tree.nodes()]]


def begin(form: Format, data: bytes, *parts: tuple[str, bytes]) -> Begun:
    session = Session()
    begun = Begun(session, [form.open(session.tree)])
    begun.on(data)
    for name, said in parts:
        begun.readers.append(begun.readers[0].part(name))
        begun.on(said, len(begun.readers) - 1)
    return begun


def again(begun: Begun) -> Begun | None:
    """The same in another process: its tree in columns, its readers as they stand."""
    tree, session = begun.session.tree, begun.session
    state, packed = state_of(begun.readers, tree, len(tree.blocks)), pack(tree, zlib.compress)
    if state is None:
        return None
    assert packed is not None
    made = Tree()
    unpack_into(made, packed, zlib.decompress)
    copied = replace(pickle.loads(pickle.dumps(replace(session, tree=Tree()))), tree=made)
    return Begun(copied, readers_from(state, made))


def goes_on(begun: Begun, rest: bytes, which: int = 0) -> bool:
    """Whether it can be written down; what goes on from there tells what the reader itself tells."""
    made = again(begun)
    if made is None:
        return False
    for piece in (rest[: len(rest) // 3], rest[len(rest) // 3 :]):
        assert made.on(piece, which) == begun.on(piece, which)
    return True


@given(name=st.sampled_from(sorted(CASES)), data=st.data())
def test_cut_anywhere_it_goes_on(name: str, data: st.DataObject) -> None:
    whole = CASES[name]()
    form = detect(whole[:HEAD_BYTES], name)
    assert form is not None
    cut = data.draw(st.integers(0, len(whole)))
    assert goes_on(begin(form, whole[:cut]), whole[cut:])


def test_readers_of_companion_files_go_on_with_the_main_one() -> None:
    whole = claude_code.generate(40, 3, bytes_per_message=300)
    form = detect(whole[:HEAD_BYTES], "a.jsonl")
    assert form is not None
    aside = claude_code.generate(20, 4, bytes_per_message=300).replace(b'"isSidechain":false', b'"isSidechain":true')
    half, cut = len(whole) // 2, len(aside) // 2
    for which, rest in enumerate((whole[half:], aside[cut:])):
        assert goes_on(begin(form, whole[:half], ("agent-1.jsonl", aside[:cut])), rest, which)


@pytest.mark.slow
def test_what_stands_in_a_circle_or_along_a_whole_session_is_not_nested() -> None:
    whole = claude_code.generate(n_messages=4_000, seed=2, bytes_per_message=200)
    form = detect(whole[:HEAD_BYTES], "a.jsonl")
    assert form is not None
    assert goes_on(begin(form, whole[: len(whole) // 2]), whole[len(whole) // 2 :])


def test_what_has_no_name_cannot_be_written_down() -> None:
    tree = Tree()
    assert state_of([WholeReader(tree, lambda data, tree: ([], None))], tree, 0) is None


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason=ABSENT)
def test_of_the_corpus_every_format_goes_on() -> None:
    untold, told = set(), set()
    every = [path for path in sorted(CORPUS.rglob("*")) if path.is_file()]
    for path in every if THOROUGH else every[::5]:
        data = path.read_bytes()[:MOST]
        form = detect(data[:HEAD_BYTES], path.name)
        if form is not None:
            cut = len(data) * 2 // 3
            (told if goes_on(begin(form, data[:cut]), data[cut:]) else untold).add(form.name)
    assert untold <= UNTOLD and len(told) > 5
