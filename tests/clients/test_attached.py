"""Real clients with ctxtui between them and the provider: every byte of a request is theirs, every call is on record
once."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.call import Fidelity
from ctxtui.services.recordings.open import load
from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.client import ROOT, Client
from tests.clients.codex import CODEX
from tests.clients.lab import SECONDS, Lab, lab
from tests.clients.namespace import finish
from tests.clients.registry import ASKED, left_out

PROMPT = "read a.txt then run `ls`"


@pytest.fixture(params=[CLAUDE_CODE, CODEX], ids=lambda one: one.name)
def attached(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    """A lab in which the client has worked through `ctxtui exec`."""
    client: Client = request.param
    if not ASKED:
        pytest.skip("real clients run in make test-clients only")
    if left_out(client.name):
        pytest.skip(f"left out by CLIENTS: {client.name}")
    with lab(client, tmp_path / "lab") as place:
        place.open_gates()
        command = [sys.executable, "-m", "ctxtui", "exec", "--", *client.ask(place, PROMPT)]
        env = place.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(place.home / "ctxtui")}
        finish(place.space.start(command, cwd=place.work, env=env, log=place.printed), place.printed, 3 * SECONDS)
        yield place


def bodies_at_the_provider(place: Lab) -> list[bytes]:
    """What arrived there, request by request, messages over a WebSocket among them."""
    found: list[bytes] = []
    for path in sorted(place.wire.glob("*.har")):
        for entry in json.loads(path.read_text())["log"]["entries"]:
            asked = entry["request"].get("postData", {})
            text = asked.get("text", "")
            found.append(base64.b64decode(text) if asked.get("encoding") == "base64" else text.encode())
            found += [one["data"].encode() for one in entry.get("_webSocketMessages", []) if one["type"] == "send"]
    return [one for one in found if one]


def bodies_on_record(lines: list[dict[str, Any]]) -> list[str]:
    """Digests of what left, as recorded."""
    found = [line["asked"]["body"]["sha256"] for line in lines if "asked" in line and line["asked"]["body"]["size"]]
    return found + [hashlib.sha256(line["frame"].encode()).hexdigest() for line in lines if line.get("by") == "client"]


def test_no_byte_is_changed_and_every_call_is_on_record_once(attached: Lab) -> None:
    place = attached
    recordings = sorted((place.home / "ctxtui" / "attached").glob("*.jsonl"))
    lines = [json.loads(line) for path in recordings for line in path.read_text().splitlines()]
    arrived = bodies_at_the_provider(place)
    assert sorted(bodies_on_record(lines)) == sorted(hashlib.sha256(one).hexdigest() for one in arrived)
    asked = [one for one in place.seen() if one.asks]
    assert len(asked) >= 2
    calls = [call for path in recordings for call in load(path).session.calls.values()]
    assert sorted(call.id for call in calls if call.stop_reason != "count_tokens") == sorted(
        str(one.answer.get("id")) for one in asked
    )
    assert {call.fidelity for call in calls} == {Fidelity.WIRE}
    # The session is called as the client calls it, and its own recording and ours are one in every sum.
    (own,) = place.recorded()
    assert own.stem.endswith(recordings[0].stem)
    counted = place.ctxtui("cost", "--all", "--json")["calls"]
    assert counted == len(asked)
    assert "any" not in {
        text for line in lines for name, text in line.get("asked", {}).get("headers", []) if "auth" in name
    }
