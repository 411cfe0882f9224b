"""The cures of four agents' context trouble do on the samples what the documentation says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ctxtui.views.text import numbers
from scripts import policies_table
from tests.cli.conftest import Run, ctxtui, home
from tests.pty_app import REPO
from tests.sampling import few_rows

__all__ = ["ctxtui", "home"]

ROWS = re.findall(
    r"^\| (\d-[\w-]+) \| `([^`]+)` \| .*? \| (\S+) -> (\S+) \|$", (REPO / "docs/policies.md").read_text(), re.M
)


@pytest.mark.slow
def test_the_column_is_what_the_script_makes() -> None:
    page = policies_table.PAGE.read_text()
    assert policies_table.made(page) == page, "run `make policies-table`"


def test_the_page_has_a_row_for_every_cure() -> None:
    assert {policy.split()[0] for _, policy, _, _ in ROWS} >= {
        "externalize_large", "generation_window", "stateless", "compact_json", "trim_old_turns", "summarize_at",
        "sliding_window", "summarize_every", "hybrid", "minimise_schemas", "drop_unused_tools", "keep_rounds",
    }  # fmt: skip
    assert {sample[0] for sample, *_ in ROWS} == {"1", "2", "3", "4"}


@pytest.mark.parametrize(("sample", "policy", "before", "after"), few_rows(ROWS, 4))
def test_a_cure(ctxtui: Run, sample: str, policy: str, before: str, after: str) -> None:
    session = Path(REPO / "sessions" / f"{sample}.jsonl")
    found = ctxtui("curate", session, "--dry-run", "--json", "--policy", *shlex.split(policy)).json
    told = tuple(numbers.tokens(found["tokens"][side]) for side in ("before", "after"))
    assert told == (before, after)
    assert found["violations"] == [] and found["refused"] is None
