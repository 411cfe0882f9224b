"""Each recorded call of a captured session has the figures of its request on the wire."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.core.call import Call
from ctxtui.services.recordings.databases.address import address_of
from ctxtui.services.recordings.databases.sessions import list_sessions
from ctxtui.services.recordings.open import load
from tests.captures import CAPTURES, capture, database_copy, wire_of
from tests.clients.wire import Tokens

RECORDINGS = {
    "continue-cli": "sessions/*-*.json",
    "copilot-cli": "session-state/*/events.jsonl",
    "gemini-cli": "client/tmp/*/chats/session-*.jsonl",
    "kimi-code": "sessions/*/*/agents/*/wire.jsonl",
    "qwen-code": "projects/*/chats/*.jsonl",
}
"""Client -> what it recorded, in a capture's folder."""


def folders() -> list[Path]:
    return [path for path in sorted(CAPTURES.glob("*")) if path.is_dir()]


def figures(call: Call) -> Tokens | None:
    usage = call.usage
    return usage and Tokens(usage.fresh, usage.cache_read, usage.cache_write, usage.output)


@pytest.mark.parametrize("client", RECORDINGS)
def test_each_call_has_the_figures_of_the_wire(client: str) -> None:
    captured = sorted(CAPTURES.glob(f"{client}-*"))
    if not captured:
        pytest.skip("captures absent")
    for folder in captured:
        wire = wire_of(folder)
        calls = [call for path in folder.glob(RECORDINGS[client]) for call in load(path).session.calls.values()]
        calls.sort(key=lambda call: call.at or 0)
        by_id = {str(one.answer.get("id")): one.tokens for one in wire}
        known = [call for call in calls if call.id in by_id]
        if known:
            assert {call.id: figures(call) for call in known} == {call.id: by_id[call.id] for call in known}
            # What the client did not see the end of has no figures in its record.
            assert len(wire) - len(known) == len([call for call in calls if call.usage is None])
        else:
            assert [figures(call) for call in calls] == [one.tokens for one in wire]


def test_every_capture_is_held_against_its_wire() -> None:
    if not folders():
        pytest.skip("captures absent")
    assert {path.name.rpartition("-")[0] for path in folders()} == {*RECORDINGS, "goose"}


@pytest.mark.parametrize("path", capture("goose", "sessions/sessions.db"))
def test_goose_has_the_sums_of_the_wire(path: Path, tmp_path: Path) -> None:
    """Its database has a session's sums and the last call's figures, without what was read from a cache."""
    database, wire = database_copy(path, tmp_path), wire_of(path.parents[1])
    ends = []
    for listed in list_sessions(database):
        calls = list(load(address_of(database, listed.id)).session.calls.values())
        reported = [call.usage for call in calls if call.usage]
        answers = {call.id for call in calls}
        mine = [one for one in wire if one.answer["id"] in answers]
        assert len(mine) == len([call for call in calls if call.id.startswith("msg_")]) >= 2
        assert sum(usage.input for usage in reported) == sum(one.tokens.input for one in mine)
        assert sum(usage.output for usage in reported) == sum(one.tokens.output for one in mine)
        last = next(call for call in reversed(calls) if call.id == mine[-1].answer["id"])
        assert last.usage is not None and last.usage.input == mine[-1].tokens.input
        ends += mine
    assert sorted(str(one.answer["id"]) for one in ends) == sorted(str(one.answer["id"]) for one in wire)


@pytest.mark.parametrize("path", capture("goose", "logs/llm_request.*.jsonl"))
def test_a_log_of_goose_has_the_figures_of_its_request(path: Path) -> None:
    by_id = {one.answer["id"]: one.tokens for one in wire_of(path.parents[1])}
    (call,) = load(path).session.calls.values()
    assert call.usage and (call.usage.input, call.usage.output) == (by_id[call.id].input, by_id[call.id].output)
