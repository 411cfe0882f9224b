"""`ctxtui run`: a task is done without a screen, its rounds are told, its limits hold, it is on record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.cli.agent.run import run
from ctxtui.offline import Server, offline
from ctxtui.offline.http.hosting import RunningProvider
from ctxtui.offline.local import LocalModel, LocalServer
from ctxtui.offline.script import parse_script
from tests.cli.conftest import Run

TASK = "read a.txt then list . then read a.txt then write `hello` to b.txt then write `hello` to Makefile"


@pytest.fixture
def server() -> Iterator[RunningProvider]:
    with offline() as running:
        yield running


@pytest.fixture
def where(server: RunningProvider, home: Path) -> tuple[str, ...]:
    Path("a.txt").write_text("the magic word is xyzzy\n" * 200)
    return ("--provider", "anthropic", "--base-url", server.url, "--model", "offline")


def test_a_task_is_done_told_and_on_record(ctxtui: Run, where: tuple[str, ...]) -> None:
    limits = ("--max-context-messages", "0", "--max-tool-result-length", "auto")
    ran = ctxtui("run", TASK, *where, "--allow", "write*", "--json", *limits)
    # The Makefile is refused whatever is allowed.
    assert ran.code == 7 and Path("b.txt").read_text() == "hello" and not Path("Makefile").exists()
    assert "refused: write_file: this is asked for each time, and no user is there" in ran.err
    told = ran.json["metadata"]
    assert ran.json["schema_version"] == 1 and "a.txt" in ran.json["result"]
    assert told["rounds_used"] == 6 and told["max_rounds"] == 100 and told["outcome"] == "refused"
    assert not told["context_sliding_applied"] and told["final_message_count"] == 12 and told["policies"] == []
    lines = ran.err.splitlines()
    rounds = [line for line in lines if line.startswith("round ")]
    assert rounds[0].startswith("round 1/100: 1 message, ~") and rounds[4].startswith("round 5/100: 9 messages, ~")
    calls = [line for line in lines if line.startswith("Tokens: prompt=")]
    assert len(calls) == 6 and "% of 200,000)" in calls[0]
    # What was foretold is what the provider then reported.
    assert all(
        r.split("~")[1].split()[0] == c.split("prompt=")[1].split()[0] for r, c in zip(rounds, calls, strict=True)
    )
    assert lines.index(rounds[0]) > next(n for n, line in enumerate(lines) if line.startswith("context budget: "))
    shown = ctxtui("show", told["session"], "--json")
    assert shown.code == 0 and shown.json["session"]["title"].startswith("read a.txt then list")


def test_levels_in_tokens_are_judged_before_each_call(ctxtui: Run, where: tuple[str, ...]) -> None:
    def told(*levels: str) -> tuple[list[str], dict[str, Any]]:
        ran = ctxtui(*levels, "run", TASK, *where, "--allow", "write*", "--json", "--max-context-messages", "0")
        metadata: dict[str, Any] = ran.json["metadata"]
        return ran.err.splitlines(), metadata

    free, _ = told()
    sizes = [int(line.split("~")[1].split()[0].replace(",", "")) for line in free if line.startswith("round ")]
    assert sizes[0] < sizes[-1]
    lines, metadata = told("--set", f"warn_tokens={sizes[0]}", "--set", f"critical_tokens={sizes[-1]}")
    warned = [n for n, line in enumerate(lines) if line.startswith("warning: the context is at")]
    alarmed = [n for n, line in enumerate(lines) if line.startswith("critical: the context is at")]
    assert len(warned) == len(alarmed) == 1 and warned < alarmed
    assert lines[warned[0] - 1].startswith("round 1/") and "drop, truncate or summarize" in lines[warned[0]]
    named = set(re.findall(r"--[a-z-]+", lines[warned[0]]))
    assert named and named <= {option for one in run.params for option in one.opts}
    assert lines[alarmed[0] - 1].startswith("round ") and f"limit is {sizes[-1]:,}:" in lines[alarmed[0]]
    size = metadata["context"]
    assert size["warning"] and size["critical"] and size["message_count"] == metadata["final_message_count"] - 1
    # What the first run left in the folder is read by the second one.
    assert sizes[-1] <= size["estimated_tokens"] < size["total_chars"]


def test_the_folder_of_a_run_opens_again(ctxtui: Run, where: tuple[str, ...]) -> None:
    ran = ctxtui("run", "read a.txt", *where, "--log-dir", "job")
    assert ran.code == 0
    job = Path("job")
    # As Pedroceli numbers them: as they come.
    assert sorted(one.name for one in job.iterdir()) == [
        "001-prompt.txt",
        "002-response.txt",
        "003-tool-calls.json",
        "004-tool-results.json",
        "005-prompt.txt",
        "006-response.txt",
        "logs",
        "session.jsonl",
    ]
    assert json.loads((job / "003-tool-calls.json").read_text())[0]["name"] == "read_file"
    assert "xyzzy" in json.loads((job / "004-tool-results.json").read_text())[0]["text"]
    assert "xyzzy" in (job / "005-prompt.txt").read_text() and "read_file" in (job / "001-prompt.txt").read_text()
    turn = json.loads((job / "logs" / "turn_000002.json").read_text())
    used = turn["usage"]
    assert turn["turn_id"] == "turn_000002" and used["cache_read_input_tokens"] > 0 and 0 < turn["cache_hit_rate"] < 1
    assert sum(turn["composition"].values()) == used["input_tokens"], "the provider is exact"
    labels = {one["label"]: one["count"] for one in turn["labels"]}
    assert labels["description"] == 8 and turn["messages"] == 3, turn
    shown = ctxtui("show", "job", "--json")
    assert shown.code == 0 and shown.json["session"]["title"] == "read a.txt" and shown.json["call"] == 2
    assert ctxtui("run", "read a.txt", *where, "--log-dir", "job").code == 2, "another run's folder is left alone"
    # Without ctxtui's own file it opens as what it is to everybody else, with the figures of its turns.
    (job / "session.jsonl").unlink()
    other = ctxtui("show", "job", "--json").json
    assert other["session"]["source"] == "job folder" and other["session"]["calls"] == 2
    assert other["reported"]["input"] == used["input_tokens"] and other["reported"]["output"] == used["output_tokens"]
    counted = ctxtui("show", "job/logs", "--json").json
    assert counted["session"]["calls"] == 2 and counted["reported"]["cache_read"] == used["cache_read_input_tokens"]


def test_the_rounds_end_and_so_does_the_money(ctxtui: Run, where: tuple[str, ...], server: RunningProvider) -> None:
    ran = ctxtui("run", TASK, *where, "--max-rounds", "4", "--max-context-messages", "2")
    assert ran.code == 8 and "rounds used up: 4 rounds" in ran.err and ran.err.count("\nround ") == 4
    # The newest call stays with its result.
    assert ran.err.count("the window of 2 messages is widened to 3") == 3 and "round 4/4: 3 messages" in ran.err
    asked = len(server.server.seen)
    rich = (*where[:-1], "claude-opus-4-5")
    ran = ctxtui("run", TASK, *rich, "--budget-usd", "0.000001")
    posted = [one for one in server.server.seen[asked:] if one.path == "/v1/messages"]
    assert ran.code == 7 and "budget: $0.0000 spent" in ran.err and not posted


def test_a_system_message_does_not_widen_the_window(ctxtui: Run, home: Path) -> None:
    Path("a.txt").write_text("xyzzy")
    with offline(Server(local=LocalServer("lm studio", (LocalModel(window=16_384),)))) as running:
        limits = ("--max-context-messages", "5", "--max-rounds", "4")
        ran = ctxtui("run", TASK, "--base-url", running.openai_url, *limits)
    # The system message, and five.
    assert "round 4/4: 6 messages" in ran.err and "widened" not in ran.err


def test_a_run_that_ends_at_a_limit_counts_only_what_was_sent(ctxtui: Run, where: tuple[str, ...]) -> None:
    ran = ctxtui("run", TASK, *where, "--max-rounds", "1", "--json").json["metadata"]
    assert ran["outcome"] == "rounds used up" and ran["final_message_count"] == 2
    assert ran["context"]["message_count"] == 1
    assert ran["estimated_total_tokens"] == ran["tokens"]["input"] + ran["tokens"]["output"]
    rule = ctxtui("--set", f"hold_over_tokens={ran['tokens']['input']}", "run", TASK, *where, "--json")
    assert rule.json["metadata"]["context"] == ran["context"] and rule.json["metadata"]["outcome"] == "refused"


def test_a_named_window_has_the_settings_of_its_policy(ctxtui: Run, where: tuple[str, ...]) -> None:
    # Nine messages, the first one, and four until it acts again.
    many = " then ".join(["read a.txt"] * 20)
    ran = ctxtui("run", many, *where, "--policy", "sliding_window", "--max-rounds", "9")
    assert ran.code == 8 and "trimmed: sliding_window" in ran.err and "widened" not in ran.err
    Path("mem").mkdir()
    Path("mem/todo.md").write_text("water the plants\n")
    ran = ctxtui("run", many, *where, "--memory", "mem", "--max-rounds", "9", "--max-context-messages", "9")
    assert ran.code == 8 and "trimmed: sliding_window" in ran.err and "widened" not in ran.err


def test_what_cannot_work_is_said_before_anything_is_sent(
    ctxtui: Run, where: tuple[str, ...], server: RunningProvider
) -> None:
    for arguments, code, words in (
        ((" ",), 2, "the task is empty @ TASK"),
        ((TASK, "--allow", "rm"), 5, "no tool 'rm' @ --allow; there are read_file"),
        ((TASK, "--policy", "slidng_window"), 5, "did you mean sliding_window?"),
        ((TASK, "--max-context-messages", "1"), 2, "would never read its own answers"),
        (("long " * 4000,), 2, "usable are 3,072 of the 4,096 of offline"),
    ):
        ran = ctxtui("--set", "windows={offline=4096}", "run", *arguments, *where)
        assert ran.code == code and words in ran.err, ran.err
    assert not [one for one in server.server.seen if one.path == "/v1/messages"]


def test_the_projects_files_and_memory_go_along(ctxtui: Run, where: tuple[str, ...], server: RunningProvider) -> None:
    Path("core.py").write_text("def main() -> int:\n    return 1\n")
    Path("mem").mkdir()
    Path("mem/todo.md").write_text("water the plants\n")
    ran = ctxtui("run", "read core.py", *where, "--files", "auto", "--memory", "mem", "--json")
    assert ran.code == 0
    assert "75 % of the " in ran.err and "files_share" in ran.err
    assert "included" in ran.err and "files: 2 files of the project" in ran.err and "named 1 whole" in ran.err
    body = next(one.body for one in server.server.seen if one.body and one.path == "/v1/messages")
    assert body.index(b"water the plants") < body.index(b"def main() -> int") < body.index(b'"text":"read core.py"')
    shown = ctxtui("show", ran.json["metadata"]["session"], "--json").json["categories"]
    assert shown["memory"] > 0 and shown["document"] > 0


TOOLS = """
from ctxtui.agent.child import ChildTask, OwnTool

async def spawn(given, caller):
    caller.say(f"starting {len(given['tasks'])}")
    done = await caller.agents.start_all([ChildTask(prompt=one, tools=("read*",)) for one in given["tasks"]])
    return "\\n".join(f"{one.thread}: {one.text}" for one in done)

TOOLS = [OwnTool(name="spawn", description="Start agents.", run=spawn,
                 properties={"tasks": {"type": "array", "items": {"type": "string"}}}, required=("tasks",))]
"""


def test_an_agent_starts_agents_whose_cost_is_the_runs(ctxtui: Run, where: tuple[str, ...]) -> None:
    task = "call agent `read a.txt`"
    ran = ctxtui("run", task, *where, "--allow", "agent", "--log-dir", "job", "--json")
    told = ran.json["metadata"]
    assert ran.code == 0 and told["agents"] == 1 and told["rounds_used"] == 2 and "xyzzy" in ran.json["result"]
    lines = ran.err.splitlines()
    assert "tool agent" in lines and "agent-1: tool read_file" in lines
    assert sum(line.startswith("agent-1: Tokens: prompt=") for line in lines) == 2
    main, child = ctxtui("show", told["session"], "--threads", "--json").json["threads"]
    assert (child["id"], child["label"], child["calls"]) == ("agent-1", "read a.txt", 2)
    # What is told of the run is what all of its calls were charged for.
    totals = ctxtui("cost", told["session"], "--json").json["totals"]
    assert (totals["calls"], totals["subagents"]["calls"], main["calls"]) == (4, 2, 2)
    assert told["tokens"]["input"] + told["tokens"]["output"] == totals["tokens"]
    assert sorted(one.name for one in Path("job/agent-1").iterdir())[:2] == ["001-prompt.txt", "002-response.txt"]
    alone = ctxtui("run", "read a.txt", *where, "--json")
    assert not alone.json["metadata"]["agents"]
    # Ten messages and 2,000 characters of a result are the defaults, whatever the window.
    assert [one["name"] for one in alone.json["metadata"]["policies"]] == ["truncate_results", "sliding_window"]
    assert "policies: truncate_results limit=2000, sliding_window n=9 keep_first=1 slack=0" in alone.err
    other = ctxtui("run", "read a.txt", *where, "--policy", "strip_thinking", "--json")
    assert [one["name"] for one in other.json["metadata"]["policies"]] == ["strip_thinking"]


def test_tools_of_ones_own_come_from_a_file(ctxtui: Run, where: tuple[str, ...]) -> None:
    Path("mine.py").write_text(TOOLS)
    task = 'call spawn `{"tasks": ["read a.txt", "read b.txt"]}`'
    refused = ctxtui("run", task, *where, "--tools", "mine.py")
    assert refused.code == 7 and "refused: spawn: this asks first" in refused.err
    ran = ctxtui("run", task, *where, "--tools", "mine.py", "--allow", "spawn", "--json")
    assert ran.code == 0 and "starting" in ran.err and ran.json["metadata"]["agents"] >= 1, ran.err
    Path("none.py").write_text("TOOLS = []\n")
    ran = ctxtui("run", task, *where, "--tools", "none.py")
    assert ran.code == 2 and "it has no TOOLS" in ran.err and "none.py" in ran.err
    Path("wrong.py").write_text("TOOLS = [\n")
    ran = ctxtui("run", task, *where, "--tools", "wrong.py")
    assert ran.code == 2 and "line 1: SyntaxError" in ran.err


def test_only_the_tools_that_are_wanted_are_offered_and_done(
    ctxtui: Run, where: tuple[str, ...], server: RunningProvider
) -> None:
    server.server.provider.playback = parse_script(
        json.dumps({"calls": [{"name": "read_file", "input": {"path": "a.txt"}}]})
        + "\n"
        + json.dumps({"calls": [{"name": "grep", "input": {"pattern": "xyzzy"}}]})
    )
    ran = ctxtui("--set", "tools=grep list_*", "run", "look", *where, "--json")
    first = json.loads(next(seen.body for seen in server.server.seen if b"messages" in seen.body))
    assert [tool["name"] for tool in first["tools"]] == ["list_dir", "grep"]
    assert ran.code == 0
    results = [
        json.loads(seen.body)["messages"][-1]["content"] for seen in server.server.seen if b"messages" in seen.body
    ]
    assert "There is no tool 'read_file'" in str(results[1]) and "xyzzy" in str(results[2])
    every = ctxtui("budget", "--json").json["tools"]
    assert 0 < ctxtui("--set", "tools=grep", "budget", "--json").json["tools"] < every


def test_a_jobs_folder_without_its_session_opens_as_it_was(ctxtui: Run, where: tuple[str, ...]) -> None:
    ctxtui("run", "read a.txt then list .", *where, "--log-dir", "job")
    whole = ctxtui("show", "job", "--json").json
    Path("job/session.jsonl").unlink()
    left = ctxtui("show", "job", "--json").json
    assert (left["session"]["source"], left["session"]["calls"]) == ("job folder", whole["session"]["calls"])
    assert [one["reported_input"] for one in left["growth"]] == [one["reported_input"] for one in whole["growth"]]


def test_the_window_that_a_server_tells_is_on_record(ctxtui: Run, home: Path) -> None:
    with offline(Server(local=LocalServer("lm studio", (LocalModel(window=16_384),)))) as running:
        ran = ctxtui("run", "list .", "--base-url", running.openai_url, "--json", "--budget-usd", "0")
    # What it runs is free, whatever the model is called.
    assert ran.json["metadata"]["outcome"] == "done" and ran.json["metadata"]["cost_usd"] == 0
    shown = ctxtui("show", ran.json["metadata"]["session"], "--json").json
    assert shown["context_window"]["limit"] == 16_384
