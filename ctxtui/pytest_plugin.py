"""The pytest fixtures `ctxtui_record` and `ctxtui_check`.

An agent's test records its run, and holds it against limits.

    def test_the_agent_stays_small(ctxtui_record, ctxtui_check):
        run_the_agent()
        figures = ctxtui_check(ctxtui_record.path, max_context="100k", min_cache_read="30%", max_rewrites=2, max_cost=1)
        assert figures.calls < 40

pytest finds them by their entry point once ctxtui is installed. Nothing of ctxtui is imported before one is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

import ctxtui

if TYPE_CHECKING:
    from ctxtui.analysis.money.limits import Figures
    from ctxtui.services.attach.in_process import InProcessRecording


class ContextCheck(Protocol):
    """The type of the fixture `ctxtui_check`."""

    def __call__(
        self,
        path: str | os.PathLike[str],
        *,
        max_context: int | str | None = None,
        max_block_chars: int | str | None = None,
        min_cache_read: float | str | None = None,
        max_rewrites: int | None = None,
        max_cost: float | None = None,
        min_read_per_write: float | None = None,
        max_seconds: float | None = None,
        max_repeats: int | None = None,
        no_secrets: bool = False,
        max_lost: int | None = None,
        baseline: str | os.PathLike[str] | None = None,
        tolerance: float | str = 0.05,
    ) -> Figures:
        """Check the recording in `path` against the limits.

        The test fails with the name of each violated one. Amounts may be written as on the command line (``"100k"``,
        ``"30%"``). Returns the recording's figures.
        """


@pytest.fixture
def ctxtui_record(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InProcessRecording]:
    """Record the test's model requests into its own folder.

    ``ctxtui_record.path`` is the file (see `ctxtui.record`).
    """
    with ctxtui.record(session=request.node.name, folder=tmp_path) as recording:
        yield recording


@pytest.fixture
def ctxtui_check() -> ContextCheck:
    """Check a recording against limits (see `ctxtui check`)."""
    return _check


def _check(
    path: str | os.PathLike[str],
    *,
    baseline: str | os.PathLike[str] | None = None,
    tolerance: float | str = 0.05,
    **limit_options: Any,
) -> Figures:
    # Imported here: it takes 0.1 s, and pytest imports this plug-in for the tests of every project.
    from ctxtui.services.library import limit_checks

    __tracebackhide__ = True
    limits = limit_checks.parse_limits(limit_options)
    before = None if baseline is None else Path(baseline)
    checked = limit_checks.check_file(Path(path), limits, before, limit_checks.parse_share(str(tolerance), "tolerance"))
    broken = [verdict.text for verdict in checked.verdicts if not verdict.passed]
    if broken:
        pytest.fail(f"{checked.name}: " + "; ".join(broken), pytrace=False)
    return checked.figures
