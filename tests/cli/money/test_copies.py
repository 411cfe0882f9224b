"""A copy of a session (a fork, a resumed one) adds only the calls that were made in it, whatever command adds up."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.cli.all_sessions import known_sessions
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.summarize import spending_of_call
from ctxtui.services.library.tables import table_rows
from ctxtui.views.model.call_owners import split_owned
from tests.cases.forks import FAMILIES
from tests.cli.conftest import Run
from tests.transcripts.reading import read


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=15)
@given(seed=st.integers(0, 1 << 32))
def test_each_call_of_a_family_counts_once(name: str, seed: int) -> None:
    family = FAMILIES[name](seed)
    sessions = [read(data, file) for file, data in family.files.items()]
    every = [[spending_of_call(call, None) for call in session.calls.values()] for session in sessions]
    for spent in (every, every[::-1]):
        own = [call for calls in split_owned(spent) for call in calls]
        assert sorted((call.input, call.tokens - call.input) for call in own) == sorted(family.made)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_command_adds_up_the_same(name: str, ctxtui: Run) -> None:
    family = FAMILIES[name](7)
    folder = Path("logs")
    folder.mkdir()
    for file, data in family.files.items():
        (folder / file).write_bytes(data)
    tokens = sum(map(sum, family.made))
    cost = ctxtui("cost", folder, "--json").json
    assert (cost["calls"], cost["tokens"]) == (len(family.made), tokens)
    names = [folder / file for file in family.files]
    turned = ctxtui("cost", *names[::-1], "--json").json
    assert (turned["calls"], turned["tokens"], turned["total_usd"]) == (
        cost["calls"],
        tokens,
        pytest.approx(cost["total_usd"]),
    )
    for more in ([], ["--usage"]):
        total = ctxtui("stats", folder, "--json", *more).json["total"]
        assert (total["calls"], total["input"] + total["output"]) == (len(family.made), tokens), more
    assert ctxtui("cost", "--why", folder, "--json").json["total_usd"] == pytest.approx(cost["total_usd"])
    tables = table_rows(known_sessions(Settings(), folder))
    rows = [row for one in tables for row in one["calls"] if row["first_seen"]]
    assert (len(rows), sum(row["input"] + row["output"] for row in rows)) == (len(family.made), tokens)


def test_the_fullest_copy_counts_whichever_comes_first(ctxtui: Run) -> None:
    """A resumed chat has its past without figures."""
    family = FAMILIES["gemini cli"](3)
    names = []
    for file, data in family.files.items():
        Path(file).write_bytes(data)
        names.append(file)
    for order in (names, names[::-1]):
        assert ctxtui("cost", *order, "--json").json["tokens"] == sum(map(sum, family.made))
