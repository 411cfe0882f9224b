"""Claude Code under `ctxtui exec --keep-warm`: its cache outlives a pause, and what that cost is in the bill."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.services.recordings.open import load
from ctxtui.transcripts.kit.http_exchange.pair import KEPT_WARM
from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.client import ROOT
from tests.clients.lab import SECONDS, Lab, lab, soon
from tests.clients.namespace import finish, tail
from tests.clients.registry import ASKED, left_out

ADVANCE = """\
import sys, urllib.request
body = b'{"advance": %s}' % sys.argv[2].encode()
asked = urllib.request.Request(sys.argv[1] + "/_ctxtui/clock", body, {"content-type": "application/json"})
urllib.request.urlopen(asked).read()
"""


COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Lab]:
    if not ASKED:
        pytest.skip("real clients run in make test-clients only")
    if left_out(CLAUDE_CODE.name):
        pytest.skip(f"left out by CLIENTS: {CLAUDE_CODE.name}")
    with lab(CLAUDE_CODE, tmp_path / "lab") as one:
        yield one


def messages(place: Lab) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The body of each request to a model with the usage that the provider reported, in order."""
    logs = [json.loads(path.read_text())["log"] for path in sorted(place.wire.glob("*.har"))]
    calls = [one for log in logs for one in log["entries"] if "/v1/messages?" in one["request"]["url"]]
    answered = [one for one in calls if one["response"]["status"] == 200]
    return [(json.loads(one["request"]["postData"]["text"]), reported(one["response"])) for one in answered]


def reported(response: dict[str, Any]) -> dict[str, int]:
    """The usage in a streamed answer."""
    lines = response["content"]["text"].splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    first = next(event["message"]["usage"] for event in events if event["type"] == "message_start")
    last = next(event["usage"] for event in events if event["type"] == "message_delta")
    return {name: last.get(name) or first[name] for name in COUNTS}


def test_claude_codes_cache_outlives_a_pause(place: Lab) -> None:
    gate = place.work / "gate.sh"
    # The forecast's process may need half a minute to start where much else runs.
    gate.write_text(gate.read_text().replace("600", "2000"))
    clock = place.folder / "clock"
    clock.write_text("0")
    env = place.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(place.home / "ctxtui"), "CLOCK": str(clock)}
    run = [sys.executable, "-m", "tests.clients.warm_exec", *place.client.ask(place, place.client.first)]
    running = place.space.start(run, cwd=place.work, env=env, log=place.printed)

    def pause(seconds: int) -> None:
        advance = [sys.executable, "-c", ADVANCE, place.url, str(seconds)]
        place.space.run(advance, cwd=place.work, env=env, log=place.printed, seconds=SECONDS)
        clock.write_text(str(int(clock.read_text()) + seconds))

    # It reads a.txt, then it waits at the gate: a pause in the middle of a turn.
    assert soon(lambda: len(messages(place)) == 2, SECONDS), tail(place.printed)
    pause(285)
    assert soon(lambda: len(messages(place)) == 3, SECONDS), tail(place.printed)
    pause(200)
    place.open_gate(1)
    finish(running, place.printed, SECONDS)
    assert soon(lambda: len(messages(place)) == 4, 5)
    (_, second, refresh, last) = messages(place)
    assert refresh[0] == second[0] | {"max_tokens": 1}
    assert refresh[1]["cache_read_input_tokens"] > 10_000 and refresh[1]["output_tokens"] == 1
    assert last[1]["cache_read_input_tokens"] >= refresh[1]["cache_read_input_tokens"]

    (path,) = (place.home / "ctxtui" / "attached").glob("*.jsonl")
    bill = place.ctxtui("cost", "--why", str(path), "--json")
    parts = {part["name"]: part for part in bill["parts"]}
    assert sum(part["tokens"] for part in parts.values()) == sum(sum(used.values()) for _, used in messages(place))
    assert sum(part["usd"] for part in parts.values()) == pytest.approx(bill["total_usd"], abs=1e-6)
    assert parts["keep warm"]["tokens"] == sum(refresh[1].values())
    assert parts["keep warm"]["usd"] > 0 and not bill["rewrites"]
    # The client's own sum has everything else.
    (own,) = place.recorded()
    assert CLAUDE_CODE.spent is not None
    assert CLAUDE_CODE.spent(own) == pytest.approx(bill["total_usd"] - parts["keep warm"]["usd"], rel=0.001)
    session = load(path, own="").session
    assert len(session.thread_calls()) == 3 and len(session.thread_calls(KEPT_WARM)) == 1
