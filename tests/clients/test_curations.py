"""Fifty curations of a client that works: each request leaves with nothing but the edits changed, is accepted, and
reads from the cache what was foretold."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest

from ctxtui.services.recordings.open import load
from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.client import ROOT, Client
from tests.clients.codex import CODEX, OWN_PROVIDER
from tests.clients.curating import STAND_IN
from tests.clients.gemini_cli import GEMINI_CLI
from tests.clients.lab import Lab, lab, soon
from tests.clients.namespace import ended, tail
from tests.clients.registry import ASKED, left_out
from tests.clients.request_pieces import bodies, pieces

CURATIONS = 50
ROUNDS = 56
NEAR = 0.02
"""How near what is read is to what was foretold, as a share."""
SECONDS = 900.0
SOON = 30.0
PRINTS = """\
k=$(cat count 2>/dev/null || echo 0); k=$((k + 1)); echo $k > count
n=0; while [ $n -lt 60 ]; do n=$((n + 1)); echo "RESULT-$k line $n of what was found in place $((n * k))"; done
"""
"""What `sh say.sh N` does: no two results are the same, also where the model runs what was dropped once more."""
PROMPT = " then ".join(f"run `sh say.sh {n}`" for n in range(1, ROUNDS + 1))

CODEX_BY_HTTP = dataclasses.replace(CODEX, files={"home/.codex/config.toml": OWN_PROVIDER})


@dataclass(frozen=True)
class Curated:
    """A client that has worked under curations, and what was done with each of its requests."""

    place: Lab
    done: list[dict[str, Any]]
    code: int

    @property
    def recording(self) -> Path:
        (found,) = (self.place.home / "ctxtui" / "attached").glob("*.jsonl")
        return found


@pytest.fixture(
    scope="module",
    params=[CLAUDE_CODE, CODEX, CODEX_BY_HTTP, GEMINI_CLI],
    ids=["claude-code", "codex", "codex-http", "gemini-cli"],
)
def curated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curated]:
    client: Client = request.param
    if not ASKED:
        pytest.skip("real clients run in make test-clients only")
    if left_out(client.name):
        pytest.skip(f"left out by CLIENTS: {client.name}")
    with lab(client, tmp_path_factory.mktemp(client.name) / "lab") as place:
        (place.work / "say.sh").write_text(PRINTS)
        home, out = place.home / "ctxtui", place.folder / "curations.jsonl"
        env = place.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(home)}
        command = [sys.executable, "-m", "ctxtui", "exec", "--hold", "--", *client.ask(place, PROMPT)]
        running = place.space.start(command, cwd=place.work, env=env, log=place.printed)
        driver = [sys.executable, "-m", "tests.clients.curating", str(home / "attached"), str(CURATIONS), str(out)]
        said = place.folder / "curating.txt"
        curating = place.space.start(driver, cwd=ROOT, env=env, log=said)
        try:
            code = ended(running, place.printed, SECONDS)
        finally:
            curating.terminate()
            curating.wait(20)
        assert out.exists() and out.stat().st_size, tail(said)
        yield Curated(place, [json.loads(line) for line in out.read_text().splitlines()], code)


def test_fifty_curations_and_not_one_refusal(curated: Curated) -> None:
    assert curated.code == 0, tail(curated.place.printed)
    edits = [one for one in curated.done if "result" in one]
    assert len(edits) == CURATIONS and len({one["result"] for one in edits}) == CURATIONS
    # What goes over a WebSocket is in the provider's log once that is closed, a moment after the client has ended.
    assert soon(lambda: len([one for one in curated.place.seen() if one.asks]) >= ROUNDS, SOON)
    aside = curated.place.client.aside
    assert [one.status for one in curated.place.seen() if not one.accepted and not aside(one)] == []
    lines = [json.loads(line) for line in curated.recording.read_text().splitlines()]
    told = [line["sent"] for line in lines if "sent" in line]
    assert not [one for one in told if one.get("refused")]
    assert {one.get("released") for one in told} == {"apply"}, "time was up"
    assert len(told[-1]["applied"]) == CURATIONS


def test_no_byte_is_changed_outside_the_edits(curated: Curated) -> None:
    lines = [json.loads(line) for line in curated.recording.read_text().splitlines()]
    asked, sent = bodies(lines)
    frames = [line for line in lines if line.get("by") == "client"]
    if frames:
        pytest.skip("over a WebSocket the client sends only what is new: see the run over HTTP")
    edited: set[int] = set()
    compared = 0
    for one in curated.done:
        edited |= {one["result"]} if "result" in one else set()
        if one["x"] not in sent:
            assert not edited
            continue
        own, left = pieces(_unmarked(asked[one["x"]])), pieces(_unmarked(sent[one["x"]]))
        # A marker may stand on the block before one that was dropped; there are never more of them.
        assert 0 < sent[one["x"]].count(_MARKER) <= asked[one["x"]].count(_MARKER) or not asked[one["x"]].count(_MARKER)
        compared += 1
        removed: list[str] = []
        for kind, a, b, c, d in SequenceMatcher(None, own, left, autojunk=False).get_opcodes():
            if kind != "equal":
                _about_edits(own[a:b], left[c:d], edited)
                removed += own[a:b]
        # What is said beside the newest call goes with it: a request does not end with the assistant's words.
        calls = [one for one in removed if "sh say.sh" in one and "RESULT" not in one and '"type":"text"' not in one]
        assert len(calls) <= len([one for one in removed if "RESULT-" in one]), "a call without its result"
    assert compared >= CURATIONS


_MARKER = '"cache_control":{'


def _unmarked(body: str) -> str:
    """A request without the cache markers of its blocks."""
    return re.sub(r',"cache_control":\{[^{}]*\}|"cache_control":\{[^{}]*\},', "", body)


def _about_edits(before: list[str], after: list[str], edited: set[int]) -> None:
    """What changed is about edited results alone: themselves, their calls, what wraps or precedes those, and thinking
    that is bound to them by its signature, which the provider would refuse."""
    for piece in before:
        own = any(f"RESULT-{n} line 1 " in piece for n in edited)
        call = "sh say.sh" in piece and "RESULT" not in piece
        wraps = len(piece) < 80 and "RESULT" not in piece
        bound = piece.startswith(('{"type":"thinking"', '{"type":"reasoning"', '{"id":"rs_'))
        assert own or call or wraps or bound, piece[:300]
    for piece in after:
        truncated = "RESULT-" not in piece or any(f"RESULT-{n} " in piece for n in edited)
        stands_in = any(STAND_IN.format(n) in piece for n in edited) or (" cut …]" in piece and truncated)
        assert stands_in or len(piece) < 80, piece[:300]


def test_the_clients_own_meter_and_ctxtui_say_the_same_of_what_was_sent(curated: Curated) -> None:
    place = curated.place
    if place.client.name != CLAUDE_CODE.name:
        pytest.skip("it has no such command in print mode")
    said = place.folder / "context.txt"
    env = place.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(place.home / "ctxtui")}
    asked = [place.client.program("claude"), "-p", "/context", "--resume", curated.recording.stem]
    command = [sys.executable, "-m", "ctxtui", "exec", "--", *asked, "--model", "claude-opus-5-5"]
    assert ended(place.space.start(command, cwd=place.work, env=env, log=said), said, SECONDS) == 0, tail(said)
    ((size, unit),) = re.findall(r"\*\*Tokens:\*\* ([\d.]+)(k?) /", said.read_text())
    meter = float(size) * (1000 if unit else 1)
    last = load(curated.recording).session.thread_calls()[-1]
    assert last.usage is not None
    told = place.ctxtui("show", str(curated.recording), "--json")["context_tokens"]
    assert abs(told - last.usage.input) <= NEAR * told
    # With the last answer, less its thinking.
    whole = last.usage.input + last.usage.output
    assert abs(meter - whole) <= NEAR * whole


def test_reads_are_those_that_were_foretold(curated: Curated) -> None:
    session = load(curated.recording).session
    calls = session.thread_calls()
    foretold = [one for one in curated.done if "read" in one]
    assert len(foretold) >= CURATIONS
    off: list[tuple[int, int, int]] = []
    for one in foretold:
        usage = calls[one["calls"]].usage
        assert usage is not None
        if abs(usage.cache_read - one["read"]) > NEAR * max(usage.cache_read, 1):
            off.append((one["calls"] + 1, one["read"], usage.cache_read))
    assert not off, f"{len(off)} of {len(foretold)}: call, foretold, read: {off}"
