"""A format is chosen by content, from a head cut anywhere."""

from __future__ import annotations

import json

import pytest

from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.registry import FORMATS, describe_file, detect
from tests.cases import claude_code, claude_code_odd, codex, codex_odd

SURE = 0.5


def name_of(head: bytes, name: str = "x") -> str:
    form = detect(head, name)
    return form.name if form else ""


@pytest.mark.parametrize(("make", "name"), [(claude_code.generate, "claude code"), (codex.generate, "codex")])
def test_generated_files_are_known_by_any_head(make: object, name: str) -> None:
    data = make(40, 1)  # type: ignore[operator]
    assert name_of(data[:65536]) == name
    assert name_of(b"\xef\xbb\xbf" + data) == name
    for cut in (700, 1500, 5000, 20_000):
        assert name_of(data[:cut]) == name, cut


@pytest.mark.parametrize("name", claude_code_odd.ODDITIES)
def test_odd_claude_code_files_are_known(name: str) -> None:
    assert name_of(claude_code_odd.ODDITIES[name]()) == "claude code"


@pytest.mark.parametrize("name", codex_odd.ODDITIES)
def test_odd_rollouts_are_known(name: str) -> None:
    assert name_of(codex_odd.ODDITIES[name]()) == "codex"


def test_a_first_record_longer_than_the_head() -> None:
    script = claude_code.Script()
    script.user("x" * 100_000)
    assert name_of(script.dump()[:65536]) == "claude code"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "an empty file"),
        (b" \n\n", "a file of white space only"),
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"SQLite format 3\0" + b"\0" * 100, "a SQLite database"),
        (b"\x00\x01\x02\xff\xfe", "binary data at byte 0"),
        (b"hello \x00 world", "binary data at byte 6"),
        (b"hello\nworld\n", "text without any JSON record"),
        (json.dumps({"log": {"version": "1.2", "entries": []}}).encode(), "a HAR file without model traffic"),
        (json.dumps({"log": 7}).encode(), "JSON without any message of a model"),
        (b'{"a":1}\n{"b":2}\n', "JSON lines without any message of a model"),
        (b'{"a":1}', "JSON without any message of a model"),
        (b"event: message_start\ndata: {}\n\n", "an event stream (SSE) without any answer of a model"),
    ],
)
def test_what_a_file_is(data: bytes, expected: str) -> None:
    assert describe_file(data) == expected


@pytest.mark.parametrize("offset", range(4))
@pytest.mark.parametrize("cut", [0, 100])
def test_a_character_cut_by_the_head_is_no_binary_data(offset: int, cut: int) -> None:
    text = b"x" * offset + "日本語 русский 🙂".encode() * 3000
    assert describe_file(text[: 65536 + cut]) == "text without any JSON record"
    assert describe_file(b"x" * 65530 + b"\xff" * 6) == "binary data at byte 65530"


def test_a_known_format_without_context_is_named() -> None:
    data = claude_code_odd.ODDITIES["no_messages"]()
    assert describe_file(data) == "Claude Code history without any message"
    assert describe_file(b"") == "an empty file"
    assert describe_file(b"# aider chat started at 2026-11-22 09:38:43\n") == "an aider file without any message"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":[1,2,{"b":"c,', [{"a": [1, 2, {"b": "c,"}]}]),
        ('{"a":1}\n{"b":"x', [{"a": 1}, {"b": "x"}]),
        ('{"a":1,"b":"x', [{"a": 1, "b": "x"}]),
        ('{"a":1,"b', [{"a": 1}]),
        ('junk {\n{"a":1}\n', [{"a": 1}]),
        ("[", [[]]),
    ],
)
def test_a_cut_value_is_mended(text: str, expected: list[object]) -> None:
    found = file_head.parse_values(text.encode())
    assert [value for value in found if isinstance(value, dict | list)] == expected


def test_every_format_says_what_it_is_called() -> None:
    names = [form.name for form in FORMATS]
    assert len(set(names)) == len(names)
    assert all(form.sniff(b"", "") == 0 for form in FORMATS)
    assert all(form.sniff(b"\x00\xff" * 50, "x.jsonl") < SURE for form in FORMATS)
