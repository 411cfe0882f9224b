"""An agent run from Python: several turns, tools of one's own, sub-agents between turns, policies, an observer."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ctxtui.api import Caller, ChatNews, ChildTask, OwnTool, agent_run, run_task
from ctxtui.core.errors import BadConfig, NotFound
from ctxtui.curation.policies.policy import Policy
from ctxtui.offline import offline
from ctxtui.offline.http.hosting import RunningProvider


@pytest.fixture
def server() -> Iterator[RunningProvider]:
    with offline() as running:
        yield running


@pytest.fixture
def given(server: RunningProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "config"))
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("the magic word is xyzzy\n")
    settings = {"data_dir": tmp_path / "home", "index": False, "windows": {"offline": 100_000}}
    return {
        "provider": "anthropic", "model": "offline", "base_url": server.url, "cwd": work, "settings": settings,
    }  # fmt: skip


def weather(given: Any, caller: Caller) -> str:
    return f"rain in {given['city']}, {caller.folder.name}"


WEATHER = OwnTool(
    name="weather", description="Tells the weather.", run=weather, asks=False,
    properties={"city": {"type": "string"}}, required=("city",),
)  # fmt: skip


async def test_turns_tools_agents_and_an_observer(given: dict[str, Any], server: RunningProvider) -> None:
    heard: list[ChatNews] = []
    lines: list[str] = []
    more = {"tools": [WEATHER], "system": "You are terse.", "observe": heard.append, "say": lines.append, "messages": 0}
    async with agent_run(**given, **more) as run:
        first = await run.tell("call weather city=Rome")
        assert "rain in Rome, work" in first.text and first.rounds == 2
        tasks = [
            ChildTask(prompt="read a.txt", tools=("read_file",)),
            ChildTask(prompt="say hello", system="Be brief."),
        ]
        one, two = await run.agents.start_all(tasks)
        assert "xyzzy" in one.text and two.text == "hello" and one.rounds == 2 and two.cost_usd == 0.0
        second = await run.tell("say bye")
        # Figures are of all so far, those of sub-agents included.
        assert second.text == "bye" and second.rounds == 3 and second.agents == 2
        reported = [call.usage for call in run.session.calls.values() if call.usage is not None]
        assert second.usage.input == sum(usage.input for usage in reported) and len(reported) == 6
    assert {news.thread for news in heard} == {"main", "agent-1", "agent-2"}
    bodies = [one.body for one in server.server.seen if one.path == "/v1/messages"]
    assert b"You are terse." in bodies[0] and b"Be brief." in next(b for b in bodies if b"say hello" in b)
    assert sum(line.startswith("context budget: ") for line in lines) == 1 and "100,000" in "".join(lines)
    # Sub-agents alone make a session, too, and it goes on.
    async with agent_run(**given, session=second.session) as run:
        third = await run.tell("say three")
    assert third.session == second.session and third.rounds == 1


async def test_a_continued_session_reports_new_edits_only(given: dict[str, Any]) -> None:
    (given["cwd"] / "a.txt").write_text("a long line of text\n" * 200)
    lines: list[list[str]] = []
    session = ""
    for task in ("read a.txt", "say bye", "read a.txt"):
        lines.append([])
        async with agent_run(**given, session=session, length=100, say=lines[-1].append) as run:
            session = (await run.tell(task)).session
    assert [sum("trimmed" in line for line in said) for said in lines] == [1, 0, 1]


def test_settings_are_passed_on_whatever_they_hold(given: dict[str, Any]) -> None:
    mcp = {"x": {"command": 'say "hi" \\ é', "args": ["a", "b"], "enabled": False, "timeout": 5}}
    run = agent_run(**{**given, "settings": {"mcp": mcp, "keys": {'a "b"': ["x"]}}})
    settings = run._host.config.settings
    assert settings.mcp == mcp and settings.keys == {'a "b"': ("x",)}


class Odd:
    def __call__(self, given: object, caller: object) -> str:
        raise ValueError("odd")


@pytest.mark.parametrize("work", [Odd(), functools.partial(Odd())])
async def test_a_tool_that_is_no_function_fails_as_others_do(given: dict[str, Any], work: Any) -> None:
    tool = replace(WEATHER, run=work)
    async with agent_run(**given, tools=[tool]) as run:
        result = await run.tell("call weather city=Rome")
    assert result.outcome.value == "done" and "the tool failed: ValueError: odd" in result.text


async def test_a_log_folder_that_cannot_be_made_is_an_error(given: dict[str, Any]) -> None:
    (given["cwd"] / "file").touch()
    with pytest.raises(BadConfig, match="cannot be made"):
        async with agent_run(**given, log_dir=given["cwd"] / "file" / "log"):
            pass


async def test_an_address_that_cannot_be_is_an_error(given: dict[str, Any]) -> None:
    with pytest.raises(BadConfig, match="is not an address"):
        async with agent_run(**{**given, "base_url": "http://127.0.0.1:port"}):
            pass


def failing(*arguments: Any) -> Any:
    raise ValueError("odd")


async def test_an_error_of_an_observer_or_a_policy_ends_the_run(given: dict[str, Any]) -> None:
    for heard in ("observe", "print"):
        run = agent_run(**given)
        with pytest.raises(ValueError, match="odd"):
            async with run:
                setattr(run, f"_{heard}", failing)
                await run.tell("call agent `say hello`")
    for beginning in ("round", "Tokens"):
        say = lambda line, start=beginning: failing() if line.startswith(start) else None  # noqa: E731
        with pytest.raises(ValueError, match="odd"):
            async with agent_run(**given, say=say) as run:
                await run.tell("call agent `say hello`")
    own = Policy("odd", "Fails.", failing, {})
    async with agent_run(**given, policies=["odd"], own_policies=[own]) as run:
        result = await run.tell("say hello")
    assert result.outcome.value == "error" and result.why == "ValueError: odd"


def test_one_task(given: dict[str, Any]) -> None:
    seen: list[int] = []

    def propose(policy_context: Any, settings: Any) -> Iterator[Any]:
        seen.append(len(policy_context.context.items))
        return iter(())

    own = Policy("look_on", "Looks on.", propose, {})
    done = run_task(
        "read a.txt", **given, policies=["look_on", ("truncate_results", {"limit": 500})], own_policies=[own]
    )
    assert "xyzzy" in done.text and list(done.edits) == ["look_on", "truncate_results"] and len(seen) == 2
    for name, fault in (("look_onn", "no policy 'look_onn'"), ("x" * 300, "no policy"), ("a.toml", "no such profile")):
        with pytest.raises(NotFound, match=fault):
            run_task("x", **given, policies=[name])
    with pytest.raises(BadConfig, match="moodd"):
        run_task("x", **{**given, "settings": {"moodd": 1}})
