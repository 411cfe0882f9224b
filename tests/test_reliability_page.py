"""docs/reliability.md lists what an adversary found; each finding is held by tests that are there."""

from __future__ import annotations

import re

import pytest

from tests.test_privacy_page import ROOT, names_in

_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
ROWS = [
    line
    for line in (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| [\d.]+ \|", line)
]


def test_all_findings_are_listed() -> None:
    numbers = [row.split("|")[1].strip() for row in ROWS]
    assert [number for number in numbers if "." not in number] == [str(number) for number in range(1, 26)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[:50])
def test_no_finding_is_without_a_test_that_is_there(row: str) -> None:
    named = _NAMED.findall(row)
    assert named
    for path, name in named:
        assert name in names_in(path), f"{path} has no {name}"
