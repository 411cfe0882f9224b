"""ctxtui's own format: a session read back is the one that was written; a newer version's additions travel on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ctxtui.core import block, canonical
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call, Epoch, EpochStart, Fidelity, Skeleton
from ctxtui.core.errors import Unreadable
from ctxtui.core.session import (
    CallSeen,
    Described,
    Event,
    Happened,
    Outcome,
    Session,
    Skipped,
    ThreadSeen,
    TipMoved,
)
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import QuotaReport, Usage
from ctxtui.transcripts.formats.ctxtui import CtxtuiReader, lines, write
from ctxtui.transcripts.formats.ctxtui.layout import BEYOND
from ctxtui.transcripts.registry import detect
from tests.transcripts.driving import chunked, feed, state
from tests.wire.hostile import JSONS, WORDS

NUMBERS = st.integers(0, 2**40)
TIMES = st.one_of(st.none(), st.floats(0, 2e9), st.integers(0, 2_000_000_000))
MOMENTS = st.integers(0, 2_000_000_000)
OBJECTS = st.dictionaries(WORDS, JSONS, max_size=2)
BLOCKS = st.one_of(
    st.builds(block.text, WORDS),
    st.builds(block.header, st.sampled_from(["user", "assistant"]), OBJECTS),
    st.builds(block.make, WORDS, JSONS),
    st.builds(block.from_part, st.fixed_dictionaries({"type": WORDS, "x": JSONS})),
)
PLACES = st.builds(Place, st.sampled_from(["tools", "system", "messages"]), WORDS, st.sampled_from(["", "summary"]))
ITEMS = st.lists(st.builds(Item, BLOCKS, PLACES), max_size=5)
USAGES = st.builds(
    Usage,
    fresh=NUMBERS,
    cache_read=NUMBERS,
    write_5m=NUMBERS,
    write_12h=NUMBERS,
    output=NUMBERS,
    output_final=st.booleans(),
    has_cache=st.booleans(),
    cost=st.one_of(st.none(), st.floats(0, 100)),
)
THREADS = st.sampled_from(["main", "b", "ü \ud800"])


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    session = Session()
    tree = session.tree
    heads = [ROOT]
    for items in draw(st.lists(ITEMS, max_size=5)):
        heads.append(tree.extend(draw(st.sampled_from(heads)), items))
    head = st.sampled_from(heads)
    call = st.builds(
        Call,
        id=WORDS,
        thread=THREADS,
        raw_head=head,
        sent_head=head,
        response_head=head,
        provider=WORDS,
        model=WORDS,
        started=TIMES,
        first_byte=TIMES,
        ended=TIMES,
        fidelity=st.sampled_from(list(Fidelity)),
        epoch=st.builds(Epoch, st.integers(1, 9), st.sampled_from(list(EpochStart)), WORDS),
        usage=st.one_of(st.none(), USAGES),
        stop_reason=WORDS,
        error=WORDS,
        skeleton=st.one_of(st.none(), st.builds(Skeleton, WORDS, JSONS)),
        line=NUMBERS,
        bytes_=st.tuples(NUMBERS, NUMBERS),
        extra=st.one_of(OBJECTS, st.just({BEYOND: {"model": 1}})),
    )
    event: st.SearchStrategy[Event] = st.one_of(
        st.builds(Described, WORDS, WORDS, WORDS, cwd=WORDS, client=WORDS, version=WORDS, window=NUMBERS),
        st.builds(ThreadSeen, THREADS, WORDS, WORDS),
        st.builds(CallSeen, call),
        st.builds(TipMoved, THREADS, head),
        st.builds(Skipped, st.integers(1, 99), WORDS),
        st.builds(Happened, WORDS, WORDS, THREADS, TIMES, WORDS),
        st.builds(Outcome, WORDS, WORDS),
        st.builds(QuotaReport, WORDS, st.integers(1, 20_000), st.floats(0, 100), MOMENTS, MOMENTS, WORDS),
    )
    return session.fold(draw(st.lists(event, max_size=8)))


def read(data: bytes, chunks: list[bytes] | None = None) -> tuple[Session, list[Event]]:
    session = Session()
    reader = CtxtuiReader(session.tree)
    events = feed(reader, [data] if chunks is None else chunks)
    assert reader.tail is None
    return session.fold(events), events


@given(sessions())
def test_read_back_it_is_the_session_that_was_written(session: Session) -> None:
    data = write(session)
    again, _ = read(data)
    assert state(again) == state(session)
    assert write(again) == data
    assert again.tree.blocks == {n.block.digest: n.block for n in session.tree.nodes(1)}


@given(sessions(), st.integers(0, 9))
def test_any_chunking_gives_the_same(session: Session, seed: int) -> None:
    data = write(session)
    assert read(data, chunked(data, 0, seed))[1] == read(data)[1]
    assert state(read(data.removesuffix(b"\n"))[0]) == state(session)
    assert state(read(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))[0]) == state(session)


@given(sessions(), st.data())
def test_what_a_newer_version_adds_travels_on(session: Session, data: st.DataObject) -> None:
    assume(all(BEYOND not in call.extra for call in session.calls.values()))
    found = [canonical.loads(line) for line in lines(session)]
    for line in found:
        if data.draw(st.booleans()):
            line["added"] = data.draw(st.integers())
    if data.draw(st.booleans()):
        found[0]["session"]["mood"] = "calm"
    new = [{"edit": 1, "kind": "drop"}, {"future": {"deep": [1.5]}}]
    written = b"".join(canonical.dumps(line) + b"\n" for line in [*found, *new])
    again, _ = read(written)
    assert not again.skipped[len(session.skipped) :]
    assert write(again) == written


def test_each_block_is_written_once() -> None:
    session = Session()
    said = [Item(block.text("again"), Place("messages", "user"))] * 5
    session.fold([TipMoved("main", session.tree.extend(ROOT, said))])
    assert sum(b'"again"' in line for line in lines(session)) == 1


def test_a_newer_major_version_is_refused() -> None:
    with pytest.raises(Unreadable) as error:
        read(b'{"ctxtui":2,"minor":0,"session":{}}\n')
    assert "newer" in str(error.value) and "newer ctxtui" in error.value.way_out


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[1]",
        b'{"run":9,"parent":77,"items":[[0,0]]}',
        b'{"call":"x"}',
        b'{"call":"x","thread":"main","raw":0,"sent":0,"response":0,"fidelity":"odd"}',
        b'{"tip":"main","head":5}',
        b'{"block":0,"digest":"0","kind":"text","body":{"type":"text","text":"changed"}}',
        b'{"place":0}',
        b'{"ctxtui":1,"session":3}',
        b'{"a":"\xff"}',
    ],
)
def test_a_damaged_line_is_told_and_the_rest_is_read(line: bytes) -> None:
    session = Session()
    session.fold([Outcome("a", "1"), Described(title="t")])
    head, *rest = write(session).splitlines(keepends=True)
    again, _ = read(head + line + b"\n" + b"".join(rest))
    assert [s.line for s in again.skipped] == [2]
    assert again.outcomes == session.outcomes


def test_a_cut_last_line_waits_for_its_end() -> None:
    session = Session()
    session.fold([Outcome("a", "1")])
    data = write(session)
    reader = CtxtuiReader(session.tree)
    feed(reader, [data[:-5]])
    assert reader.tail is not None and reader.tail.line == 2
    assert feed(reader, [data[-5:]]) == [Outcome("a", "1")]
    assert reader.tail is None


def test_it_is_known_by_its_first_line() -> None:
    form = detect(write(Session()), "x.txt")
    assert form is not None and form.name == "ctxtui"
    for other in (b'{"ctxtui":"x"}', b'{"a":1,"ctxtui":1}', b"ctxtui"):
        found: Any = detect(other, "x.ctxtui")
        assert found is None
