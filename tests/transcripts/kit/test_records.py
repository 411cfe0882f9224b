"""Lines and records out of bytes in any state; blocks straight from bytes."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block, canonical
from ctxtui.core.session import Skipped
from ctxtui.transcripts.formats.claude_code.message import parse_parts
from ctxtui.transcripts.formats.codex.items import parse_item
from ctxtui.transcripts.kit import raw_block
from ctxtui.transcripts.kit.records import BrokenRecord, LineBuffer, Piece, RawRecord, RecordStream, TextLine, minify
from tests.transcripts.driving import chunked

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def pieces(data: bytes, step: int = 0) -> tuple[list[Piece], Skipped | None]:
    stream = RecordStream()
    found: list[Piece] = []
    for chunk in chunked(data, step) if step else [data]:
        found += stream.feed(chunk)
    return [*found, *stream.settle()], stream.tail


def told(data: bytes) -> list[str]:
    """Each piece in short: ``1 {"a":1}``, ``2 ! reason``."""
    found = pieces(data)
    assert pieces(data, 1) == found, "byte by byte it is the same"
    short = []
    for piece in found[0]:
        if isinstance(piece, RawRecord):
            short.append(f"{piece.line} {canonical.dump_text(canonical.loads(piece.raw))}")
        else:
            short.append(f"{piece.line} ! {piece.reason}")
    return short


@given(st.binary(max_size=200).map(lambda b: b.replace(b"\0", b"\n")), st.integers(1, 9))
def test_lines_are_the_same_for_any_chunking(data: bytes, step: int) -> None:
    buffer = LineBuffer()
    found = [line for chunk in chunked(data, step) for line in buffer.feed(chunk)]
    *whole, rest = data.split(b"\n")
    assert [line.data for line in found] == whole
    assert buffer.rest.data == rest
    assert all(data[line.start : line.start + len(line.data)] == line.data for line in found)
    assert [line.number for line in found] == list(range(1, len(whole) + 1))


def test_what_was_taken_of_the_rest_is_gone() -> None:
    buffer = LineBuffer()
    buffer.feed(b'a\n{"x":1}{"y')
    buffer.drop(7)
    assert buffer.rest == TextLine(2, 9, b'{"y')
    assert buffer.feed(b'":2}\n') == [TextLine(2, 9, b'{"y":2}')]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'\xef\xbb\xbf{"a":1}\r\n{"b":2}', ['1 {"a":1}', '2 {"b":2}']),
        (b'{"a":1}{"b":2} {"c":3}\n', ['1 {"a":1}', '1 {"b":2}', '1 {"c":3}']),
        (b'\0\0{"a":1}\n\n \n{"b":2}\n', ['1 {"a":1}', '4 {"b":2}']),
        (b'\0\0\0\n{"b":2}\n', ["1 ! 3 NUL bytes skipped", '2 {"b":2}']),
        (b"\xff\xfe\0" * 50 + b"\n", ["1 ! not JSON; 50 NUL bytes in the line"]),
        (b'\0{"a":"cut\0\n{"b":2}\n', [
            "1 ! not JSON: Unterminated string starting at (9 characters); 2 NUL bytes in the line", '2 {"b":2}'
        ]),
        (b'{"a":"x\0y"}\n', ['1 {"a":"x\\u0000y"}']),
        (b'"x"\n7\n', ["1 ! a string where a record is expected", "2 ! a number where a record is expected"]),
        (b"null\n[]\n", ["1 ! null where a record is expected", "2 ! an empty list where a record is expected"]),
        (b'[{"a":1},{"b":2}]\n', ['1 {"a":1}', '1 {"b":2}']),
        (b'[\n{"a":1},\n{"b":2}\n]\n{"c":3}', ['2 {"a":1}', '3 {"b":2}', '5 {"c":3}']),
        (b'{\n "a": "}"\n}\n{\n "b": [\n 1]\n}\n', ['1 {"a":"}"}', '4 {"b":[1]}']),
        (b'{\n "a": 1,\n{"b":2}\n', ["1 ! a JSON value without an end", '3 {"b":2}']),
        (b'{"a":"cut\n{"b":2}\n', ["1 ! not JSON: Unterminated string starting at (9 characters)", '2 {"b":2}']),
        (
            b'{"a":{"role":"us{"type":"x"}\n',
            ["1 ! not JSON: Expecting ',' delimiter (16 characters)", '1 {"type":"x"}'],
        ),
        (b'{"a":1}garbage\n', ['1 {"a":1}', "1 ! not JSON"]),
        (b'{"a":' + b"[" * 100_000 + b'\n{"b":1}\n', ["1 ! JSON nested too deeply", '2 {"b":1}']),
        (b'{"a":"\\ud83d"}\n', ['1 {"a":"\ud83d"}']),
    ],
)  # fmt: skip
def test_records_of_files_in_any_state(data: bytes, expected: list[str]) -> None:
    assert told(data) == expected


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (b'{"a":"\xff"}\n', "invalid UTF-8 at byte 6, read as U+FFFD"),
        (b'{"a":"\\x41 \\uZZZZ"}\n', "an escape that is not JSON, read as plain text"),
        (b'\0\0{"a":1}\0\n', "3 NUL bytes skipped"),
        (b'\0{"a":"\xff"}\n', "1 NUL byte skipped; invalid UTF-8 at byte 7, read as U+FFFD"),
    ],
)
def test_what_is_mended_is_noted(data: bytes, note: str) -> None:
    (found,), tail = pieces(data)
    assert isinstance(found, RawRecord) and found.note == note and tail is None
    assert isinstance(canonical.loads(found.raw), dict)


@pytest.mark.parametrize("data", [b'{"a":1}\n{"b":', b'{\n "a": "}', b'{"a":"\xe4\xb8', b"garbage"])
def test_a_cut_end_is_told_and_read_later(data: bytes) -> None:
    assert pieces(data)[1] is not None
    stream = RecordStream()
    before = [*stream.feed(data), *stream.settle()]
    after = [*stream.feed(b"\n"), *stream.settle()]
    assert [*before, *after] == pieces(data + b"\n")[0]


def test_a_line_of_ten_megabytes() -> None:
    data = json.dumps({"a": "x" * 10_000_000}).replace(" ", "").encode() + b"\n"
    stream = RecordStream()
    found = [piece for chunk in chunked(data, 65_536) for piece in stream.feed(chunk)]
    assert len(found) == 1 and isinstance(found[0], RawRecord) and found[0].clean


def test_broken_text_keeps_its_bytes() -> None:
    (found,), _ = pieces(b'{"a":\xff\n')
    assert isinstance(found, BrokenRecord) and found.raw == b'{"a":\xff'


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_tidy_text_is_canonical(value: object, ascii_: bool, indent: int | None) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_, indent=indent).encode("utf-8", "surrogatepass")
    small, clean = tidied(raw)
    if clean:
        assert small == canonical.dumps(canonical.loads(raw))
    if value == "plain" or isinstance(value, int):
        assert clean


def tidied(raw: bytes) -> tuple[bytes, bool]:
    try:
        return minify(raw)
    except (msgspec.DecodeError, RecursionError):  # only the lenient decoder reads it
        return raw, False


@given(st.dictionaries(st.text(), VALUES, max_size=3), st.booleans())
def test_a_block_from_bytes_is_the_block_of_its_value(value: dict[str, object], marked: bool) -> None:
    part = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}], "more": value}
    if marked:
        part["content"] = [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]
    raw, clean = tidied(json.dumps(part, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    assert raw_block.from_part(raw, "tool_result", clean) == block.from_part(canonical.loads(raw))


KINDS = st.sampled_from(["text", "tool_result", "x", *raw_block._OURS, "", None])


@given(KINDS, st.text(), st.booleans(), st.booleans())
def test_a_part_has_one_digest_however_it_comes(kind: object, words: str, marked: bool, ascii_: bool) -> None:
    part = {"text": words, **({} if kind is None else {"type": kind})}
    blocks = []
    for marker in ({}, {"cache_control": {"type": "ephemeral"}} if marked else {}):
        raw, clean = tidied(json.dumps({**part, **marker}, ensure_ascii=ascii_).encode("utf-8", "surrogatepass"))
        blocks += [message.block for message in parse_parts(b"[" + raw + b"]", clean)]
        blocks += [item.block for item in parse_item(raw, clean).items][:1] if kind in ("x", "text") else []
    assert {block.digest for block in blocks} == {raw_block.from_value(canonical.loads(canonical.dumps(part))).digest}


@given(st.text())
def test_a_text_block_from_bytes_is_the_one_of_the_words(words: str) -> None:
    for ascii_ in (True, False):
        raw, clean = tidied(json.dumps(words, ensure_ascii=ascii_).encode("utf-8", "surrogatepass"))
        assert raw_block.from_text(raw, clean) == block.text(words)
