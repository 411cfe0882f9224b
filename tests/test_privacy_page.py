"""docs/privacy.md says what hostile ones can do, and each of its lines is held by tests that are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAD = "## Attacks and defences"
WHO = ("A folder", "A recording", "A server", "A model", "A web page")
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def lines() -> list[tuple[str, str]]:
    """The lines of all tables, each with whom it is about."""
    found: list[tuple[str, str]] = []
    who = ""
    for line in (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8").partition(HEAD)[2].splitlines():
        if named := re.match(r"\*\*(.+?)\*\*", line):
            who = named[1]
        elif line.startswith("|") and not line.startswith(("| attempt |", "|---")):
            found.append((who, line))
    return found


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def test_each_of_them_is_told_of() -> None:
    told = {who for who, _ in lines()}
    assert told == set(WHO)
    assert all(sum(one == who for one, _ in lines()) >= 3 for who in WHO)


@pytest.mark.parametrize(("who", "line"), lines(), ids=lambda text: text[:60])
def test_no_line_is_without_a_test_that_is_there(who: str, line: str) -> None:
    tries, comes, held = (cell.strip() for cell in line.strip("|").rsplit("|", 2))
    assert tries and comes
    named = _NAMED.findall(held)
    assert named and len(named) == held.count("`") // 2, "nothing stands in the last column but tests"
    for path, name in named:
        assert (ROOT / path).is_file(), path
        assert name in names_in(path), f"{path} has no {name}"


def test_nothing_under_the_head_is_said_outside_of_the_tables() -> None:
    """A claim in a sentence would be a line without a test."""
    text = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8").partition(HEAD)[2]
    loose = [line for line in text.splitlines() if line and not line.startswith(("|", "**"))]
    assert loose == ["Each row names its tests; a test checks that they exist."]
