"""The records of clients and the page that tells of them."""

from __future__ import annotations

from ctxtui.services.config.clients import CLIENTS, requests_variable
from tests.pty_app import REPO

PAGE = (REPO / "docs" / "clients.md").read_text()


def test_the_page_tells_of_every_client_and_what_moves_it() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")][1:]
    told = {row.split("|")[2].strip(" `"): row for row in rows}
    assert list(told) == [client.name for client in CLIENTS]
    for client in CLIENTS:
        missing = [name for name in client.variables if f"`{name}`" not in told[client.name]]
        assert not missing, client.name


def test_names_and_processes_are_told_apart() -> None:
    assert len({client.name for client in CLIENTS}) == len({client.source for client in CLIENTS}) == len(CLIENTS)
    commands = [command for client in CLIENTS for command in client.commands]
    assert len(commands) == len(set(commands))


def test_a_version_of_a_recording_may_be_anything() -> None:
    versions = ("2.1.99", "2.1.300", "", "x", "2.1", "2.1." + "9" * 5000)
    variable = "OTEL_LOG_RAW_API_BODIES"
    assert [requests_variable("claude code", version) for version in versions] == [variable, "", "", "", "", ""]
