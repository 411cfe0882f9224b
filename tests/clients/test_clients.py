"""Real clients against the offline provider, in a namespace with loopback only: each cell of the table is a test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.clients.cells import PROMISES
from tests.clients.client import CELLS, Client
from tests.clients.play import Play
from tests.clients.registry import CLIENTS


@pytest.fixture
def noted(client: Client, cell: str, record_property: Callable[[str, object], None]) -> None:
    """The cell's name goes with the test's report, also where nothing could be started."""
    record_property("cell", f"{client.name} {cell}")


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("client", CLIENTS, ids=lambda one: one.name, indirect=True, scope="module")
@pytest.mark.usefixtures("noted")
def test_the_table_is_kept(client: Client, cell: str, request: pytest.FixtureRequest) -> None:
    if cell in client.lacks:
        pytest.skip(client.lacks[cell])
    play: Play = request.getfixturevalue("play")
    PROMISES[cell](play)
