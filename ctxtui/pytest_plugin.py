"""The pytest fixture `ctxtui_check`: an agent's test holds the recording of its run against limits.

    def test_the_agent_stays_small(ctxtui_check):
        figures = ctxtui_check("run.jsonl", max_context="100k", min_cache_read="30%", max_rewrites=2, max_cost=1)
        assert figures.calls < 40

pytest finds it by its entry point once ctxtui is installed. Nothing of ctxtui is imported before the fixture is used.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from ctxtui.analysis.money.limits import Figures


class ContextCheck(Protocol):
    """What the fixture is."""

    def __call__(
        self,
        path: str | os.PathLike[str],
        *,
        max_context: int | str | None = None,
        max_block_chars: int | str | None = None,
        min_cache_read: float | str | None = None,
        max_rewrites: int | None = None,
        max_cost: float | None = None,
        baseline: str | os.PathLike[str] | None = None,
        tolerance: float | str = 0.05,
    ) -> Figures:
        """Hold the recording in `path` against the limits; fails the test where one does not hold, naming each.

        Amounts may be written as on the command line (``"100k"``, ``"30%"``). Returns the recording's figures.
        """


@pytest.fixture
def ctxtui_check() -> ContextCheck:
    """Hold a recording against limits (see `ctxtui check`)."""
    return _check


def _check(
    path: str | os.PathLike[str],
    *,
    max_context: int | str | None = None,
    max_block_chars: int | str | None = None,
    min_cache_read: float | str | None = None,
    max_rewrites: int | None = None,
    max_cost: float | None = None,
    baseline: str | os.PathLike[str] | None = None,
    tolerance: float | str = 0.05,
) -> Figures:
    __tracebackhide__ = True
    from ctxtui.analysis.money.limits import Limits
    from ctxtui.services.library import limit_checks

    limits = Limits(
        None if max_context is None else limit_checks.amount(str(max_context), "max_context"),
        None if max_block_chars is None else limit_checks.amount(str(max_block_chars), "max_block_chars"),
        None if min_cache_read is None else limit_checks.share(str(min_cache_read), "min_cache_read"),
        max_rewrites,
        max_cost,
    )
    before = None if baseline is None else Path(baseline)
    found = limit_checks.check_file(Path(path), limits, before, limit_checks.share(str(tolerance), "tolerance"))
    broken = [one.told for one in found.verdicts if not one.passed]
    if broken:
        pytest.fail(f"{found.name}: " + "; ".join(broken), pytrace=False)
    return found.figures
