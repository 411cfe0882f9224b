"""Each client is installed or left out by name, is played through once, and fills its row of the table."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.clients import table
from tests.clients.client import Client
from tests.clients.lab import lab
from tests.clients.play import Play
from tests.clients.registry import ASKED, CLIENTS, left_out, strangers

_OUTCOMES: dict[tuple[str, str], str] = {}
"""Client, column -> the cell, as this run found it."""


def pytest_configure() -> None:
    """Called where this folder is named on the command line. Raises `UsageError` for a name that no client has."""
    if ASKED and strangers():
        known = " ".join(one.name for one in CLIENTS)
        raise pytest.UsageError(f"CLIENTS: no client is called {' '.join(strangers())}; there are {known}, or none")


@pytest.fixture(scope="module")
def client(request: pytest.FixtureRequest) -> Client:
    """A client that is installed; without it the tests fail, unless CLIENTS names it."""
    one: Client = request.param
    if not ASKED:
        pytest.skip("real clients run in make test-clients only")
    if left_out(one.name):
        pytest.skip(f"left out by CLIENTS: {one.name}")
    assert one.installed, f'{one.package} is not installed: make clients, or leave it out with CLIENTS="{one.name}"'
    return one


@pytest.fixture(scope="module")
def play(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """The client in a lab of its own."""
    with lab(client, tmp_path_factory.mktemp(client.name) / "lab") as place:
        yield Play(client, place)


class ByClient(LoadScopeScheduling):  # type: ignore[misc]
    """All tests of one client go to one worker: it is played through once."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("[")[2].rpartition("-")[0] or nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByClient:
    """Called where this folder is named on the command line."""
    return ByClient(config, log)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what a cell came to."""
    told = dict(report.user_properties)
    if "cell" in told and not report.skipped and (report.when == "call" or report.failed):
        client, cell = str(told["cell"]).split()
        # A cell of several tests is kept where all of them pass.
        if _OUTCOMES.get((client, cell)) != table.NO:
            _OUTCOMES[client, cell] = table.YES if report.passed else table.NO


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the table where CLIENTS_TABLE=write; else a table that says other things than was found fails the run."""
    if not ASKED or hasattr(session.config, "workerinput") or not _OUTCOMES:
        return
    before = table.region()
    now = table.made(CLIENTS, _OUTCOMES, table.rows(before))
    if os.environ.get("CLIENTS_TABLE") == "write":
        table.write(now)
    elif now != before and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which clients were left out, and what was found where the document says something else."""
    if not ASKED:
        return
    out = [one.name for one in CLIENTS if left_out(one.name)]
    terminalreporter.write_line(f"clients left out by CLIENTS: {' '.join(out) or 'none'}")
    now = table.made(CLIENTS, _OUTCOMES, table.rows(table.region()))
    if _OUTCOMES and now != table.region():
        terminalreporter.write_line(f"docs/formats.md says other things of the clients (make client-table):\n{now}")
