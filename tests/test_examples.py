"""The examples: files that a user could have written; each runs against the offline provider."""

from __future__ import annotations

import ast
import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from ctxtui.api import curator
from ctxtui.core.errors import CtxtuiError
from ctxtui.offline import Provider, Server, offline
from ctxtui.offline.local import LocalModel, LocalServer
from ctxtui.offline.script import parse_script
from examples.bridge.rounds import rounds
from examples.bridge.server import Files
from examples.musume import game, screens
from examples.musume.agent import marked
from examples.musume.sample import one_over, written
from examples.pedroceli import repository
from examples.pedroceli.job import steps
from examples.pedroceli.toolchain import Repository
from tests.cli.conftest import Run, ctxtui, home
from tests.pty_app import environment
from tests.warm import warm_ctxtui, warm_python

__all__ = ["ctxtui", "home"]

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
Quick = Callable[..., dict[str, Any]]


def ran(home: Path, name: str, *arguments: str, code: int = 0) -> dict[str, Any]:
    """What ``python -m examples.NAME ARGUMENTS --json`` prints."""
    told = [*warm_python(), "-m", f"examples.{name}", "--folder", str(home / f"work-{name}"), "--json", *arguments]
    done = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, env=environment(home), timeout=300)
    assert done.returncode == code, done.stderr[-3000:]
    return json.loads(done.stdout) if done.stdout else {"error": done.stderr}


@pytest.fixture
def quick(ctxtui: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Quick:
    """Runs an example in this process: `ctxtui` without a new interpreter, the offline provider in a thread."""

    def told(*arguments: str, cwd: Path, ok: Iterable[int] = (0,), loud: bool = False) -> str:
        monkeypatch.chdir(cwd)
        monkeypatch.setenv("PWD", str(cwd))
        found = ctxtui(*arguments)
        assert found.code in set(ok), found.err[-3000:]
        return found.out

    @contextmanager
    def served(folder: Path, lines: Sequence[Any], *options: str) -> Iterator[dict[str, str]]:
        window = int(options[-1]) if options else 0
        local = LocalServer("lm studio", (LocalModel(window=window),)) if window else None
        script = parse_script("\n".join(map(json.dumps, lines)))
        with offline(Server(Provider(playback=script), local=local)) as running:
            yield {"url": running.url, "openai_url": running.openai_url}

    def run(name: str, *arguments: str) -> dict[str, Any]:
        example = importlib.import_module(f"examples.{name}.__main__")
        monkeypatch.setattr("examples.kit.ctxtui", told)
        monkeypatch.setattr(example, "offline", served)
        # In this process only one command runs at a time.
        monkeypatch.setattr(
            example, "side_by_side", lambda work, names: {one: work(one) for one in names}, raising=False
        )
        folder = str(tmp_path / f"work-{name}")
        monkeypatch.setattr(sys, "argv", [name, "--folder", folder, "--json", *arguments])
        assert example.main() == 0
        found: dict[str, Any] = json.loads(capfd.readouterr().out)
        return found

    return run


def ours(found: dict[str, Any], claim: str) -> str:
    return next(str(row["ours"]) for row in found["figures"] if row["claim"] == claim)


def shown(home: Path, session: str) -> Any:
    told = [*warm_ctxtui(), "show", session, "--json"]
    done = subprocess.run(told, capture_output=True, text=True, env=environment(home), timeout=60, check=True)
    return json.loads(done.stdout)


def test_nothing_in_them_knows_the_inside_of_ctxtui() -> None:
    for path in EXAMPLES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            inside = {name for name in names if name.split(".")[0] == "ctxtui"}
            assert inside <= {"ctxtui.api"}, f"{path}: the public API alone (docs/api.md)"
    listed = {path.name for path in EXAMPLES.iterdir() if (path / "__main__.py").exists()}
    readme = (EXAMPLES / "README.md").read_text()
    for name in listed:
        assert f"`python -m examples.{name}`" in readme
        assert len((EXAMPLES / name / "README.md").read_text().splitlines()) <= 40, "one screen"


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("bridge", "--rounds"),
        ("evolve", "--generations"),
        ("evolve", "--children"),
        ("musume", "--turns"),
        ("pedroceli", "--entities"),
    ],
)
def test_no_example_runs_over_nothing(name: str, option: str, quick: Quick, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        quick(name, option, "0")
    assert f"argument {option}: 0 is not a number above 0" in capfd.readouterr().err


# The bridge

SCHEMAS = {"filesystem": (14, 11_671), "memory": (9, 7_859), "fetch": (1, 1_640), "github": (26, 29_230)}
"""Tools of each server and bytes of their definitions, as the authors measured them: JSON indented by two."""


@pytest.mark.parametrize("name", list(SCHEMAS))
async def test_a_stub_lists_what_was_measured_and_does_what_the_script_calls(name: str, tmp_path: Path) -> None:
    # The SDK's own client: what it takes from the stub, any client of the protocol does.
    python, *words = warm_python()
    started = StdioServerParameters(
        command=python, args=[*words, str(EXAMPLES / "bridge" / "server.py"), name, str(tmp_path)]
    )
    async with Client(started, read_timeout_seconds=60) as session:
        listed = (await session.list_tools()).tools
        spelled = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in listed
        ]
        assert (len(listed), len(json.dumps(spelled, indent=2))) == SCHEMAS[name]
        for line in rounds(100, [name])[:-1]:
            (call,) = line["calls"]
            result = await session.call_tool(call["name"], call["input"])
            assert not result.is_error, (call, result.content)
        if name == "github":
            refused = await session.call_tool("fork_repository", {"owner": "a", "repo": "b"})
            assert refused.is_error and "does not do fork_repository" in str(refused.content)
    if name == "filesystem":
        assert (tmp_path / "notes" / "comparison.md").read_text().count("\n") == 16
        with pytest.raises(ValueError, match="outside allowed"):
            Files(tmp_path).inside("../x")
    if name == "memory":
        assert len(json.loads((tmp_path / "memory.json").read_text())["entities"]) == 12


def test_a_hundred_rounds_are_scripted() -> None:
    lines = rounds(100, SCHEMAS)
    assert len(lines) == 100 and "Done: 99 calls" in lines[-1]["text"]
    names = [call["name"] for line in lines for call in line.get("calls", ())]
    assert len(set(names)) == 10 and names.count("get_file_contents") == 12


def test_a_bridge_of_a_few_rounds(quick: Quick, tmp_path: Path) -> None:
    found = quick("bridge", "--rounds", "7", "--servers", "memory", "--under", "hybrid")
    assert ours(found, "metadata, hybrid").startswith("7 7 11 True ")
    assert ours(found, "schemas of memory").startswith("9 tools, ") and "less" not in ours(found, "last prompt, hybrid")
    assert ours(found, "a window of 3 messages, run").startswith("done after 12 rounds, 5 messages, "), (
        "no pair is split"
    )
    cut, whole = (
        int(ours(found, f"a result of 6,000 lines{how}").split(", ")[-1].split()[0].replace(",", ""))
        for how in (", cut at 2,000 characters", " in a window of 32k, not cut")
    )
    assert cut < 3_000 < whole < 24_576
    assert ours(found, "memory alone, rounds 1 to 5") == "1,984 2,408 2,832 3,256 3,680"
    assert len(json.loads((tmp_path / "work-bridge" / "hybrid" / "memory.json").read_text())["entities"]) == 3


@pytest.mark.slow
def test_a_bridge_of_a_hundred_rounds(tmp_path: Path) -> None:
    found = ran(tmp_path, "bridge")
    assert ours(found, "kind of growth") in [f"x{n / 100:.2f}" for n in range(85, 116)], "a line"
    first, last = (int(ours(found, f"prompt of round {n}").replace(",", "")) for n in (1, 100))
    assert last > 5 * first
    tokens, less = ours(found, "last prompt, hybrid").split(", ")
    assert int(tokens.replace(",", "")) < 11_500 and int(less.split()[0]) >= 77
    assert ours(found, "metadata, hybrid").startswith("100 100 11 True ")
    (row,) = [row for row in found["figures"] if row["claim"] == "rounds 5, 10, 50, 100: 5, hybrid"]
    assert row["why"].endswith(f"the run itself ended at {tokens}"), "the lab foretells what the run did"
    lasts = {row["claim"].partition(": ")[2]: row["ours"] for row in found["figures"] if "rounds 5, 10" in row["claim"]}
    assert len(lasts) == 7 and lasts["1, sliding window (N = 10)"].endswith("81 % less in the last")
    assert ours(found, "metadata, plain").startswith("100 100 201 False ")
    assert len(shown(tmp_path, found["sessions"]["plain"])["growth"]) == 100


# Pedroceli


def test_the_toolchain_tells_of_the_repository_as_it_is(tmp_path: Path) -> None:
    assert repository.write(tmp_path) == 55
    tools = Repository(tmp_path)
    assert "ok  \tgithub.com/pedro/bot/pkg/reminder" in tools.test("pkg/reminder")
    assert tools.commit("nothing") == "nothing to commit, working tree clean"
    told = []
    for line in steps()[:-1]:
        (call,) = line["calls"]
        given = call["input"]
        if call["name"] == "edit_file":
            path = tmp_path / given["path"]
            assert path.read_text().count(given["old"]) == 1, "as the tool wants it"
            path.write_text(path.read_text().replace(given["old"], given["new"]))
        elif call["name"] == "go_test":
            told.append("FAIL" if "FAIL" in tools.test(given["package"]) else "ok")
        elif call["name"] == "git_commit":
            told.append(tools.commit(given["message"]).splitlines()[1].strip())
    assert told == ["ok", "2 files changed", "FAIL", "ok", "1 files changed"]


@pytest.mark.slow
def test_a_job_in_a_small_window(quick: Quick, ctxtui: Run, tmp_path: Path) -> None:
    # As `make seeds` works in a folder that the repository round it leaves out.
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("/work-pedroceli/\n")
    found = quick("pedroceli", "--windows", "16384", "--entities", "4")
    plain = tmp_path / "the same repository"
    shutil.copytree(tmp_path / "work-pedroceli" / "bot-16k", plain, ignore=shutil.ignore_patterns("ctxtui.toml"))
    counted = ctxtui("budget", plain, "--model", "offline", "--json").json["repository"]
    assert ours(found, "16k: repository") == f"{counted['files']} files, {counted['loadable_tokens']:,}", (
        "no path of this machine is counted"
    )
    assert ours(found, "16k: how it ended") == "done, 11 rounds"
    assert ours(found, "16k: usable, 75 %") == "12,288"
    assert ours(found, "16k: their worked example") == "10,296 too many"
    assert ours(found, "16k: named, whole").startswith("6 files, ")
    job = tmp_path / "work-pedroceli" / "job-16k"
    prompts = sorted(job.glob("*-prompt.txt"))
    assert len(prompts) == len(list((job / "logs").iterdir())) == 11
    log = """[Summary of rounds 1-5, drawn from the record]
Steps 1-5:
- Read: docs/limits.md
- Modified: pkg/api/reminder_handler.go, pkg/db/reminder_queries.go
- Tests: 8 passed, 0 failed
- Committed: "Add rate limiting middleware"
"""
    assert log in prompts[-1].read_text()
    assert (tmp_path / "work-pedroceli" / "bot-16k" / "pkg/api/middleware.go").read_text().count("RateLimit") == 2


@pytest.mark.slow
def test_jobs_in_both_windows(tmp_path: Path) -> None:
    found = ran(tmp_path, "pedroceli")
    for name, window in (("32k", 32_768), ("16k", 16_384)):
        assert ours(found, f"{name}: how it ended") == "done, 11 rounds"
        assert ours(found, f"{name}: strategy") == "by task"
        share = int(ours(found, f"{name}: largest call, of the window").split()[0])
        assert 40 < share < 75, window
    assert ours(found, "8k: each call logs").endswith("total=8,192 (100.0 % of 8,192)")
    assert ours(found, "8k: warning above 90 % of the window").endswith("at 100 % of the window of 8,192 tokens")
    assert ours(found, "window of llama3.1:70b") == "131,072, usable 98,304"
    assert len(shown(tmp_path, found["sessions"]["8k"])["growth"]) == 2


# Musume

CURES = tuple(EXAMPLES / "musume" / f"{name}.toml" for name in ("trimming", "compaction"))


def test_a_screen_is_compacted_and_a_turn_becomes_the_lines_of_the_document(tmp_path: Path) -> None:
    texts = {name: path.read_text() for name, path in written(tmp_path / "texts", CURES).items()}
    assert texts["small_turn"] == (
        "Turn turn_000005 (2025-11-01T18:15:22)\n"
        "Buttons: Archive, Profile, Titles, Trophy Room, Friends, Options, Comics, Secrets, Info button, Back button, "
        "Story menu button, Home menu button, Race menu button, Scout menu button\n"
        "Menu: tab=Menu, available=[Jukebox, Menu]\nScrollbar: none"
    )
    assert texts["small_button"] == '{"name":"Archive","meta":"hint=NEW","region":"menus"}'
    small = json.loads(texts["small_screen"])
    assert small["menu_state"] == {"tab": "Training", "available": ["Training", "Race", "Skills"]}
    assert texts["small_menu"] == '{"tab":"Menu","available":["Jukebox","Menu"]}'
    assert texts["small_scrollbar"] == '{"up":true,"down":true}'
    assert len(texts["small_turn"]) < 0.03 * len(texts["turn"]), "98 %, counted in tokens"


def test_a_button_is_found_by_name_and_memory_keeps_its_budget(tmp_path: Path) -> None:
    (tmp_path / "todo.md").write_text("x" * 400)
    memory = game.Memory(tmp_path, 150, lambda text: len(text) // 4)
    play = game.Game(memory)
    play.seen = screens.screen(5)
    assert play.do("pressButton", {"name": "Archive"}) == "pressed Archive"
    assert play.pressed == [("Archive", [907 + 193 // 2, 418 + 49 // 2])], "by bounds that the agent never read"
    assert play.do("pressButton", {"name": "Shop"}) == "Error: no button 'Shop' on this screen."
    refused = play.do("createMemoryFile", {"path": "run.yaml", "content": "y" * 300})
    assert refused == (
        "Error: run.yaml would take 75 tokens and all memory 175; the budget is 150. "
        "Shorten todo.md (100 tokens) by 25, or delete a file."
    )
    assert [*memory.texts()] == ["todo.md"]
    assert play.do("writeMemoryFile", {"path": "run.yaml", "content": ""}).startswith("Error: there is no run.yaml")
    assert (
        play.do("writeMemoryFile", {"path": "todo.md", "content": "y" * 200})
        == "todo.md: 50 tokens, all memory 50 of 150"
    )
    assert play.do("deleteMemoryFile", {"path": "todo.md"}) == "todo.md is deleted" and not memory.texts()
    assert play.do("createMemoryFile", {"path": "../x", "content": ""}).startswith("Error: ../x is no name")


@pytest.mark.parametrize(
    ("manner", "places"),
    [
        ("", []),
        ("static", ["s0"]),
        ("memory", ["m8"]),
        ("history", ["m3"]),
        ("written", ["s0", "m3", "m8"]),
        ("layout", ["s0", "s1", "m7"]),
    ],
)
def test_where_the_breakpoints_stand(manner: str, places: list[str]) -> None:
    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    history = [
        {"role": "user", "content": [text(str(n)), {"type": "thinking", "thinking": "", "signature": ""}]}
        for n in range(9)
    ]
    request: dict[str, Any] = {"system": [text("a"), text("b")], "messages": history}
    marked(request, manner)
    found = [f"s{n}" for n, block in enumerate(request["system"]) if "cache_control" in block]
    found += [f"m{n}" for n, one in enumerate(request["messages"]) if any("cache_control" in b for b in one["content"])]
    assert found == places
    assert "cache_control" not in json.dumps(history), "what is remembered has no breakpoints"


def test_turns_of_the_authors_agent(quick: Quick, ctxtui: Run, tmp_path: Path) -> None:
    options = ["--turns", "4", "--long", "4", "--under", "plain", "breakpoints", "summary_uncached"]
    found = quick("musume", *options, "--summarize-at", "18000")
    logs = sorted((tmp_path / "work-musume" / "breakpoints" / "logs").iterdir())
    told = [json.loads(path.read_text()) for path in logs]
    assert [path.name for path in logs] == [f"turn_{n:06}.json" for n in range(1, 5)]
    assert [one["composition"]["history_messages"] for one in told] == [0, 2, 4, 2], "summed up before the fourth turn"
    (event,) = told[3]["summarizations"]
    assert event["turn"] == 3 and event["tokens_before"] > 18_000 > event["tokens_after"]
    assert told[2]["usage"]["cache_creation_input_tokens"] > 0
    assert "%" in ours(found, "read of all input, breakpoints")
    assert ours(found, "the logs open as a session") == "4 calls of 4 files"
    session = ctxtui("show", found["sessions"]["breakpoints"], "--json").json["session"]
    assert {"button", "menu", "memory text"} <= {row["label"] for row in session["labels"]} and session["calls"] == 5


def test_what_a_program_curates_is_what_the_command_curates(ctxtui: Run, tmp_path: Path) -> None:
    request = one_over(screens.FIRST)
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request))
    told = ctxtui("curate", path, *(word for file in CURES for word in ("--policy", file)))
    assert curator(CURES)(request) == told.json
    with pytest.raises(CtxtuiError, match="nothing-like-it"):
        curator("nothing-like-it")


@pytest.mark.slow
def test_what_cures_and_breakpoints_come_to(tmp_path: Path) -> None:
    found = ran(tmp_path, "musume")
    assert ours(found, "a turn that is over (priority 2)").endswith("98 % less")
    assert ours(found, "what becomes of turn_000005") == "the same four lines, byte for byte"
    assert ours(found, "Option A of the button that they print") == "the same members in this order"
    paid = {
        name: float(ours(found, f"a turn costs, {name}").split(",")[0].removeprefix("$"))
        for name in ("plain", "breakpoints", "cures", "cures and breakpoints", "layout")
    }
    assert paid["breakpoints"] > 0.85 * paid["plain"] and paid["layout"] < paid["cures"] < paid["cures and breakpoints"]
    read = {
        name: int(ours(found, f"read of all input, {name}").split()[0]) for name in ("cures and breakpoints", "layout")
    }
    assert read["cures and breakpoints"] < 10 and 40 <= read["layout"] <= 60, "what the authors expected"
    assert ours(found, "breakpoint 1, system prompt and tools, alone").startswith("0 written, 0 read")
    assert ", 0 read" in ours(found, "breakpoint 2, memory files until modified, alone")
    assert ours(found, "breakpoint 3, history up to message N-5, alone").endswith("; 0 from turn 12 on")
    assert ours(found, "summed up above 40,000 of uncached input").startswith("never")
    assert ours(found, "summed up above 40,000 of all input").startswith("turn ")
    for name, path in found["sessions"].items():
        assert shown(tmp_path, path)["session"]["threads"] == 1, name
