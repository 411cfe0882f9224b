"""Claude Code and Codex under `ctxtui exec`: their requests wait for a secret, a loop and a compaction, as decided."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.transcripts.kit.http_exchange.compaction import recognize_compaction
from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.client import ROOT, Client, Command
from tests.clients.codex import CODEX, OWN_PROVIDER
from tests.clients.lab import SECONDS, Lab, lab, soon
from tests.clients.namespace import ended, tail
from tests.clients.registry import ASKED, left_out

OWN_SUMMARY = "The harbour is Rotterdam and the gate is number 41."
SECRET = "sk-ant-api03-" + "Zk3vQ8rT1mW6yB4n" * 5
LOOP = "run `cat b.txt` then run `cat b.txt` then run `cat b.txt` then run `cat b.txt`"


def compact_in_claude(place: Lab) -> Command:
    return [place.client.program("claude"), "-p", "/compact", "--continue", "--model", "claude-opus-5-5"]


def compact_in_codex(place: Lab) -> Command:
    """The context is above the limit: it compacts its history before the next request."""
    codex = [place.client.program("codex"), "exec", "--skip-git-repo-check"]
    return [*codex, "-c", "model_auto_compact_token_limit=12000", "resume", "--last", "run `ls`"]


COMPACTS: dict[str, Callable[[Lab], Command]] = {
    CLAUDE_CODE.name: compact_in_claude,
    CODEX.name: compact_in_codex,
}
HOLDING = (CLAUDE_CODE, dataclasses.replace(CODEX, files={"home/.codex/config.toml": OWN_PROVIDER}))


@pytest.fixture(params=HOLDING, ids=lambda one: one.name)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    client: Client = request.param
    if not ASKED:
        pytest.skip("real clients run in make test-clients only")
    if left_out(client.name):
        pytest.skip(f"left out by CLIENTS: {client.name}")
    with lab(client, tmp_path / "lab") as one:
        one.open_gates()
        yield one


def under_exec(place: Lab, command: Command, *options: str, decide: Callable[[dict[str, Any]], list[str]]) -> list[Any]:
    """Run the client under `ctxtui exec` to its end; `decide` says what becomes of each request that is held."""
    env = place.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(place.home / "ctxtui")}
    run = [sys.executable, "-m", "ctxtui", "exec", *options, "--", *command]
    process = place.space.start(run, cwd=place.work, env=env, log=place.printed)
    decided: list[Any] = []
    until = time.monotonic() + 3 * SECONDS
    while process.poll() is None and time.monotonic() < until:
        for held in place.ctxtui("hold", "--json")["held"]:
            decided.append(held)
            place.ctxtui("hold", *decide(held), "--json")
        time.sleep(0.2)
    ended(process, place.printed, SECONDS)
    return decided


def bodies(place: Lab) -> list[str]:
    """What the provider was sent, in order."""
    entries = [
        entry for path in sorted(place.wire.glob("*.har")) for entry in json.loads(path.read_text())["log"]["entries"]
    ]
    return [entry["request"].get("postData", {}).get("text", "") for entry in entries]


def test_an_edited_summary_is_what_the_client_goes_on_with(place: Lab) -> None:
    assert not under_exec(place, place.client.ask(place, place.client.first), decide=lambda _: ["release"])
    answer = ["answer", "--text", OWN_SUMMARY]
    held = under_exec(place, COMPACTS[place.client.name](place), "--hold-on-compaction", decide=lambda _: answer)
    assert held and "compacts its history" in held[0]["why"] and held[0]["summary"], tail(place.printed)
    assert place.client.again is not None
    assert not under_exec(place, place.client.again(place, "run `ls`"), decide=lambda _: ["release"])
    assert soon(lambda: OWN_SUMMARY in bodies(place)[-1], 5)
    (path,) = (place.home / "ctxtui" / "attached").glob("*.jsonl")
    compactions = place.ctxtui("compactions", str(path), "--json")
    assert compactions["count"] >= 1
    assert '"compaction":"answer"' in path.read_text()


def test_after_a_refusal_the_client_keeps_its_history(place: Lab) -> None:
    assert not under_exec(place, place.client.ask(place, place.client.first), decide=lambda _: ["release"])
    sent = len(bodies(place))
    compact = COMPACTS[place.client.name](place)
    held = under_exec(place, compact, "--hold-on-compaction", decide=lambda _: ["refuse"])
    assert len(held) == 1 and "the compaction was refused by the user of ctxtui" in place.printed.read_text()
    # Sent once, however often the client tries.
    compactions = [one for one in bodies(place)[sent:] if recognize_compaction("/", json.loads(one or "{}"))]
    assert len(compactions) == 1
    assert place.client.again is not None
    assert not under_exec(place, place.client.again(place, "run `ls`"), decide=lambda _: ["release"])
    assert "line 399 is cerulean" in bodies(place)[-1]


def test_the_hook_before_a_compaction_adds_to_its_instructions(place: Lab) -> None:
    if place.client.name != CLAUDE_CODE.name:
        pytest.skip("only Claude Code has the hook")
    (place.work / "b.txt").write_text("The harbour is Rotterdam.\n")
    place.run(place.client.ask(place, "read b.txt"))
    hook = [sys.executable, "-m", "ctxtui", "compactions", str(place.recorded()[-1]), "--ahead", "--hook", "--yes"]
    env = place.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(place.home / "ctxtui")}
    place.space.run(hook, cwd=place.work, env=env, log=place.printed, out=place.folder / "hook.txt", seconds=SECONDS)
    place.run(compact_in_claude(place))
    compactions = [one for one in bodies(place) if recognize_compaction("/", json.loads(one or "{}"))]
    assert len(compactions) == 1
    instructions = compactions[0].partition("Additional Instructions:")[2]
    assert "Name each of these in the summary, word for word:" in instructions and "b.txt" in instructions


def test_a_secret_does_not_leave(place: Lab) -> None:
    (place.work / "b.txt").write_text(f"key = {SECRET}\n")
    prompt = "run `cat b.txt`"
    held = under_exec(place, place.client.ask(place, prompt), "--hold-on-secret", decide=lambda _: ["refuse"])
    assert held and "a secret is in it" in held[0]["why"], tail(place.printed)
    assert not any(SECRET in body for body in bodies(place))


def test_a_loop_is_held(place: Lab) -> None:
    held = under_exec(place, place.client.ask(place, LOOP), "--hold-on-repeat", "3", decide=lambda _: ["release"])
    assert [("the same calls got the same answers 3 times" in one["why"]) for one in held] == [True], held
