"""The clients, in the order of `scripts/clients.txt`."""

from __future__ import annotations

import os

from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.client import Client
from tests.clients.pi import PI

CLIENTS: tuple[Client, ...] = (CLAUDE_CODE, PI)

ASKED = os.environ.get("REAL_CLIENTS") == "1"
"""Whether clients are run: `make test-clients` says so."""


def left_out(name: str) -> bool:
    """Whether CLIENTS leaves it out by name, or all of them."""
    given = os.environ.get("CLIENTS", "").split()
    return given == ["none"] or name in given
