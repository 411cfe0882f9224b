"""Edits from files: what is taken, and errors that name the place."""

from __future__ import annotations

import pytest

from ctxtui.core.edit import Target, make
from ctxtui.core.edit_json import loads
from ctxtui.core.edit_kinds import DROP
from ctxtui.core.errors import Malformed

A = "a" * 32


@pytest.mark.parametrize(
    "text",
    [
        '[{"kind": "drop", "targets": ["%s#1"]}]',
        '{"edits": [{"kind": "drop", "targets": [{"digest": "%s", "occurrence": 1}]}]}',
        '{"kind": "drop", "targets": ["%s#1"], "author": "user"}\n\n',
        '{"kind": "drop", "payload": {}, "targets": ["%s#1"]}',
    ],
)
def test_spellings(text: str) -> None:
    assert loads((text % A).encode()) == [make(DROP, [Target(A, 1)])]


def test_each_line_is_an_edit() -> None:
    line = f'{{"kind": "drop", "targets": ["{A}"]}}'
    assert loads(f"{line}\n{line}\n".encode()) == [make(DROP, [Target(A)])] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[3]", r"an edit must be an object @ f\$\[0\]"),
        ('[{"kind": "burn"}]', r"no edit of kind 'burn' @ f\$\[0\]\.kind; kinds: pin, drop"),
        ('[{"kind": "drop"}]', r"must name its targets @ f\$\[0\]\.targets"),
        ('[{"kind": "drop", "targets": [{}]}]', r"needs the digest of its block @ f\$\[0\]\.targets\[0\]"),
        ('[{"kind": "drop", "targets": [{"digest": "a", "occurrence": "x"}]}]', "whole number"),
        ('[{"kind": "drop", "targets": [{"digest": "a", "occurrence": -1}]}]', "whole number"),
        ('[{"kind": "drop", "targets": [{"digest": "a", "id": 3}]}]', r"id must be a text @ f\$\[0\]\.targets\[0\]"),
        ('[{"kind": "apply", "payload": {"ids": null}}]', r"ids has the wrong type @ f\$\[0\]\.payload\.ids"),
        ('[{"kind": "wait", "payload": {"ids": 5}}]', r"ids has the wrong type @ f\$\[0\]\.payload\.ids"),
        ('[{"kind": "drop", "targets": {}}]', r"targets has the wrong type"),
        pytest.param("[" * 200_000, r"not JSON: .* @ f:1; give a JSON list", id="deeply nested"),
        ('{"kind": "drop"\n', r"not JSON: .* @ f:1; give a JSON list"),
    ],
)
def test_errors_name_their_place(text: str, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        loads(text.encode(), "f")


def test_a_bad_line_is_named_by_file_and_number() -> None:
    with pytest.raises(Malformed) as raised:
        loads(b'{"kind": "drop"}\n{]\n', "edits.jsonl:")
    assert raised.value.place == "edits.jsonl:2"


def test_an_occurrence_of_any_length_is_none_of_the_context() -> None:
    [edit] = loads(f'[{{"kind": "drop", "targets": ["{A}#{"9" * 5000}"]}}]'.encode())
    assert edit.targets[0].occurrence > 10**8
