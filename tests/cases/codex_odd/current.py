"""Rollouts of today's client, as the other oddities are."""

from __future__ import annotations

from tests.cases.codex_current import Client, child, parent, turns
from tests.cases.codex_odd.turns import odd


@odd
def current() -> bytes:
    """Base instructions and tools are items."""
    return turns(Client()).dump()


@odd
def current_unknown_model() -> bytes:
    """A model that the client does not know: neither is an item."""
    return turns(Client(model="gpt-6.2", known=False)).dump()


@odd
def current_compacted_here() -> bytes:
    """The summary's own answer is in the record."""
    client = turns(Client())
    client.compact_here(1_180)
    client.answer("Going on.", 700, 0)
    return client.dump()


@odd
def current_compacted_there() -> bytes:
    """Only the usage of the compaction is in the record."""
    client = turns(Client())
    client.compact_there(1_180)
    client.ask("go on")
    client.answer("Going on.", 700, 0)
    return client.dump()


@odd
def current_parent() -> bytes:
    """It starts a subagent and hears of it."""
    return parent().dump()


@odd
def current_child() -> bytes:
    """A subagent's own rollout."""
    return child().dump()


@odd
def repeated_meta() -> bytes:
    """From 0.137 on the client writes its `session_meta` with every turn."""
    client = Client()
    client.begin()
    for turn in range(3):
        client.ask(f"question {turn}")
        client.answer("Yes.", 900 + 100 * turn, 800 + 100 * turn if turn else 0)
        client.records.append(client.records[0])
    return client.dump()
