"""Real clients run again from a call: their way to it is answered from the record, what comes then is live."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ctxtui.services.recordings.open import load
from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.client import ROOT, Client
from tests.clients.codex import CODEX
from tests.clients.lab import SECONDS, Lab, lab
from tests.clients.namespace import ended, tail
from tests.clients.registry import ASKED, left_out
from tests.clients.test_attached import recordings_of
from tests.clients.test_curations import CODEX_BY_HTTP

PROMPT = "run `cat b.txt` then run `wc -l a.txt` then run `cat b.txt b.txt`"
CALL = 2


def ran(place: Lab, *arguments: str) -> str:
    env = place.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(place.home / "ctxtui")}
    command = [sys.executable, "-m", "ctxtui", "exec", *arguments, "--", *place.client.ask(place, PROMPT)]
    running = place.space.start(command, cwd=place.work, env=env, log=place.printed)
    assert ended(running, place.printed, 3 * SECONDS) == 0, tail(place.printed)
    return place.printed.read_text()


@pytest.mark.parametrize("client", [CLAUDE_CODE, CODEX, CODEX_BY_HTTP], ids=["claude-code", "codex", "codex-http"])
def test_a_client_is_forked_from_a_call(client: Client, tmp_path: Path) -> None:
    if not ASKED:
        pytest.skip("real clients run in make test-clients only")
    if left_out(client.name):
        pytest.skip(f"left out by CLIENTS: {client.name}")
    with lab(client, tmp_path / "lab") as place:
        ran(place)
        (path,) = recordings_of(place)
        first = load(path).session.thread_calls()
        before = len([one for one in place.seen() if one.asks])
        assert len(first) >= 4 and before >= 4
        said = ran(place, "--fork", f"{path.stem}:{CALL}")
        assert "depart" not in said and f"{CALL} requests were answered from the record" in said, said
        (again,) = [one for one in recordings_of(place) if one != path]
        calls = load(again).session.thread_calls()
        played = [bool(call.extra.get("edits", {}).get("played")) for call in calls]
        assert played == [True] * CALL + [False] * (len(calls) - CALL) and len(calls) == len(first), json.dumps(played)
        # What was answered from the record was asked of nobody.
        assert len([one for one in place.seen() if one.asks]) - before == len(first) - CALL
