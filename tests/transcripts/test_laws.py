"""Laws of the readers: any chunking gives the same (2), copies and second files change no total (3), all is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.session import CallSeen
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit.records import RawRecord, RecordStream
from tests.cases import claude_code, claude_code_odd, codex, codex_odd
from tests.sampling import few
from tests.transcripts.driving import chunked, feed, read, read_files, state

CASES: dict[str, Callable[[], bytes]] = {
    **claude_code_odd.ODDITIES,
    **codex_odd.ODDITIES,
    "generated claude code": lambda: claude_code.generate(30, 1, bytes_per_message=700, compactions=1, subagents=1),
    "generated codex": lambda: codex.generate(30, 1, bytes_per_message=700, compactions=1),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("step", few([1, 0, 100]))
def test_any_chunking_gives_the_same_events(name: str, step: int) -> None:
    data = CASES[name]()
    whole, cut = read(data), read(data, chunked(data, step))
    assert cut.events == whole.events
    assert state(cut.session) == state(whole.session)
    assert cut.reader.tail == whole.reader.tail


@given(name=st.sampled_from(sorted(CASES)), seed=st.integers(0, 10**6))
def test_settling_early_changes_nothing(name: str, seed: int) -> None:
    data = CASES[name]()
    assert state(read(data, chunked(data, 0, seed), settle_often=True).session) == state(read(data).session)


@given(name=st.sampled_from(sorted(CASES)), data=st.data())
def test_damage_never_stops_a_reader(name: str, data: st.DataObject) -> None:
    raw = bytearray(CASES[name]())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=8))
    found = read(bytes(raw))
    assert all(event.call.raw_head >= 0 for event in found.events if isinstance(event, CallSeen))


STRANGE = st.sampled_from(
    [None, True, -1, 1e300, 10**400, "", "x", "\ud83d", [], {}, [[]], [None], {"type": 1}, [{"text": None}], "2026"]
)


def paths(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """The path of every value inside `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in items for found in paths(item, (*path, key)))]


@given(name=st.sampled_from(sorted(CASES)), data=st.data())
def test_values_of_any_type_never_stop_a_reader(name: str, data: st.DataObject) -> None:
    stream = RecordStream()
    records = [json.loads(one.raw, strict=False) for one in stream.feed(CASES[name]()) if isinstance(one, RawRecord)]
    for record in data.draw(st.lists(st.sampled_from(records), min_size=1, max_size=3)) if records else []:
        path = data.draw(st.sampled_from(paths(record)[1:] or [()]))
        inner: Any = record
        for key in path[:-1]:
            inner = inner[key]
        if path:
            inner[path[-1]] = deepcopy(data.draw(STRANGE))
    raw = claude_code.dump(records)
    whole = read(raw)
    assert all(one.usage.input + one.usage.output < 1e19 for one in whole.session.calls.values() if one.usage)
    assert read(raw, chunked(raw, 97)).events == whole.events
    for call in whole.session.calls.values():
        whole.session.tree.items(call.response_head)


def test_a_count_of_a_thousand_digits_is_none() -> None:
    raw = codex.generate(4, 1).replace(b'"output_tokens":', b'"output_tokens":' + b"9" * 1000)
    assert raw.count(b"9" * 1000) > 1
    assert all(one.usage is None or one.usage.output < 1e19 for one in read(raw).session.calls.values())


def total(found: object) -> tuple[int, Usage]:
    calls = [call for call in found.session.calls.values() if call.usage]  # type: ignore[attr-defined]
    return len(calls), sum((call.usage for call in calls), Usage.nothing())


@pytest.mark.parametrize("name", CASES)
def test_a_copy_of_the_records_changes_no_total(name: str) -> None:
    data = CASES[name]()
    once = read(data)
    twice = read(data)
    twice.session.fold(feed(twice.reader, [b"\n" + data]))
    assert total(twice) == total(once)


@pytest.mark.parametrize("name", CASES)
def test_a_second_file_with_the_same_calls_changes_no_total(name: str) -> None:
    data = CASES[name]()
    once = read(data)
    both = read(data)
    both.session.fold(read(data).events)
    assert total(both) == total(once)


def test_progress_and_a_file_of_its_own_tell_one_subagent() -> None:
    files = claude_code_odd.files_of_one_session()
    found = read_files(files)
    assert set(found.session.calls) == {"msg_1", "msg_2", "msg_s1", "msg_s2", "msg_s3"}
    assert found.session.order["a37a9c9"] == ["msg_s1", "msg_s2", "msg_s3"]
