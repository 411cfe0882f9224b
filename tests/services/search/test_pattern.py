"""What is looked for: smart case, expressions, and what the index and raw bytes may be asked."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.errors import BadPattern
from ctxtui.services.search import pattern
from ctxtui.services.search.pattern import Pattern

TEXT = "Foo foo\nfoo_bar 数据分析 a.b abbbcd"


@pytest.mark.parametrize(
    ("query", "regex", "found"),
    [
        ("foo", False, ["Foo", "foo", "foo"]),
        ("Foo", False, ["Foo"]),
        ("a.b", False, ["a.b"]),
        ("a.b", True, ["a.b", "abb"]),
        (r"\bfoo\b", True, ["Foo", "foo"]),
        (r"^foo", True, ["Foo", "foo"]),
        (r"\S+$", True, ["foo", "abbbcd"]),
        ("据分", False, ["据分"]),
        ("x*", True, []),
    ],
)
def test_what_is_found(query: str, regex: bool, found: list[str]) -> None:
    assert [TEXT[start:end] for start, end in Pattern(query, regex=regex).spans(TEXT)] == found


@pytest.mark.parametrize("query", ["a[", "(", "*a", "(?P<x"])
def test_what_is_no_expression_is_said(query: str) -> None:
    with pytest.raises(BadPattern, match="not a regular expression"):
        Pattern(query, regex=True)


def test_an_expression_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern, "TIMEOUT", 0.05)
    slow = Pattern(r"(x+x+)+y\d", regex=True)
    with pytest.raises(BadPattern, match="takes too long"):
        list(slow.spans("x" * 5000))


@given(st.text(min_size=1, max_size=12), st.text(max_size=12), st.text(max_size=12))
def test_bytes_never_rule_out_a_hit(query: str, before: str, after: str) -> None:
    text = before + query + after
    body = json.dumps({"text": text}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    wanted = Pattern(query)
    assert list(wanted.spans(text))
    assert wanted.may_match(body)
    assert wanted.may_match(json.dumps({"arguments": json.dumps(text)}).encode())


@pytest.mark.parametrize(
    ("query", "literals"),
    [("foo.*bar", ["foo", "bar"]), ("ab?c+d", ["a", "c", "d"]), ("a|b", []), (r"\d+", []), ("x{2}", []), ("[ab]c", [])],
)
def test_the_literals_of_an_expression_are_in_every_hit(query: str, literals: list[str]) -> None:
    assert Pattern(query, regex=True).literals == literals
    assert re.compile(query)


@pytest.mark.parametrize(
    ("query", "text"), [("istanbul", "\u0130stanbul"), ("kelvin", "3 \u212aelvin"), ("süs", "\u017fü\u017f")]
)
def test_letters_with_a_case_beyond_ascii_are_not_ruled_out_by_the_bytes(query: str, text: str) -> None:
    made = Pattern(query)
    assert list(made.spans(text))
    for body in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        assert made.may_match(body.encode())
    assert not made.may_match(b"nothing")
