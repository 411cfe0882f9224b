"""`ctxtui.api`: its names, what importing it costs, and its figures, which are those of the commands."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ctxtui.api
from ctxtui.api import OpenedSession, Target, new_edit, open_session
from ctxtui.services.config import plugins
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.counting import Counter
from ctxtui.services.recordings.recording import Loaded
from tests.cases.sessions import Story
from tests.cli.conftest import Run, home
from tests.cli.conftest import ctxtui as run_ctxtui
from tests.corpus import ROOT
from tests.services.lookalike import ClaudeCode, claude_code, lines

__all__ = ["home", "run_ctxtui"]

PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
SAMPLES = sorted((ROOT / "sessions").glob("*.jsonl"))


def imported_names() -> dict[str, tuple[str, str]]:
    """The names that type checkers see, each with its module and its name there."""
    tree = ast.parse(Path(ctxtui.api.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
    }


def test_a_type_checker_sees_the_names_that_there_are() -> None:
    names = imported_names()
    assert sorted(ctxtui.api.__all__) == sorted(names)
    for name, (module, attribute) in names.items():
        assert getattr(ctxtui.api, name) is getattr(importlib.import_module(module), attribute)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        ctxtui.api.nothing  # noqa: B018


def test_importing_it_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import ctxtui.api; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert set(done.stdout.split()) - {"__future__"} == {"ctxtui", "ctxtui.api"}


WINDOWS = """
import importlib.abc, os, platformdirs.unix, sys

class WithoutPosix(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, WithoutPosix())
for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules.pop(name, None)
for name in ("fork", "geteuid", "getuid", "killpg", "setsid"):
    delattr(os, name)
"""
"""Takes from a process what Python on Windows does not have."""
SAYS_WINDOWS = "import os; os.name = 'nt'\n"


def on_windows(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WINDOWS + code, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )


@pytest.mark.parametrize("arguments", [(), ("show", "last"), ("doctor",), ("statusline",), ("exec", "--", "true")])
def test_on_windows_the_command_ends_in_one_line(arguments: tuple[str, ...]) -> None:
    ran = on_windows(SAYS_WINDOWS + "from ctxtui.cli import main; main()", *arguments)
    assert ran.stderr == "ctxtui: ctxtui runs on Linux and macOS; on Windows, install it in WSL 2\n"
    assert (ran.returncode, ran.stdout) == (2, "")


def test_on_windows_the_command_still_tells_version_and_json() -> None:
    assert on_windows(SAYS_WINDOWS + "from ctxtui.cli import main; main()", "--version").returncode == 0
    ran = on_windows(SAYS_WINDOWS + "from ctxtui.cli import main; main()", "cost", "last", "--json")
    error = json.loads(ran.stdout)["error"]
    assert (error["kind"], error["way_out"]) == ("usage", "on Windows, install it in WSL 2")


def test_on_windows_the_package_imports_and_names_that_need_posix_say_so() -> None:
    assert on_windows("import ctxtui, ctxtui.api; from ctxtui.api import Session, Policy, json_reader").returncode == 0
    catch = "try:\n    from ctxtui.api import agent_run\nexcept ImportError as error:\n    print(error)"
    ran = on_windows(catch)
    assert ran.stdout == ("ctxtui.api.agent_run: ctxtui runs on Linux and macOS; on Windows, install it in WSL 2\n"), (
        ran.stderr
    )


def test_every_name_is_on_its_page() -> None:
    words = set(re.findall(r"[A-Za-z_]+", PAGE))
    assert set(ctxtui.api.__all__) <= words


@pytest.fixture(params=SAMPLES, ids=lambda path: path.stem)
def sample(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_calls_and_blocks_are_those_of_show(sample: Path, run_ctxtui: Run) -> None:
    with open_session(sample) as session:
        numbers = [call.number for call in session.calls()]
        for number in {1, numbers[len(numbers) // 2], numbers[-1]}:
            shown = run_ctxtui("show", sample, "--call", str(number), "--json").json
            call = session.call(number)
            assert call.figures.context_tokens == shown["context_tokens"]
            assert call.figures.method == shown["method"]
            assert call.figures.residual == shown["residual"]
            assert call.figures.categories.items() <= shown["categories"].items()
            assert blocks(session, number) == shown_blocks(shown)
            usage = call.call.usage
            assert (usage and usage.input) == (shown["reported"] and shown["reported"]["input"])
        totals = shown["session"]["totals"]
        assert session.id == shown["session"]["id"]
    total = session.totals.total
    assert (total.calls, total.tokens) == (totals["calls"], totals["tokens"])
    assert total.usd == pytest.approx(totals["cost_usd_at_least"])


def blocks(session: OpenedSession, number: int) -> dict[str, int]:
    """Tokens by digest."""
    tokens: dict[str, int] = {}
    for row in session.blocks(number):
        tokens[row.block.digest] = tokens.get(row.block.digest, 0) + (row.tokens if row.read else 0)
    return tokens


def shown_blocks(shown: Any) -> dict[str, int]:
    tokens: dict[str, int] = {}
    for row in shown["blocks"]:
        tokens[row["digest"]] = tokens.get(row["digest"], 0) + row["tokens"]
    return tokens


def test_costs_and_misses_are_those_of_cost_and_cache(sample: Path, run_ctxtui: Run) -> None:
    cost = run_ctxtui("cost", sample, "--json").json
    cache = run_ctxtui("cache", sample, "--json").json
    with open_session(sample) as session:
        calls = [call for thread in session.recording.threads for call in session.calls(thread)]
        misses = session.misses
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    assert (sum(costs) if costs else None) == pytest.approx(cost["total_usd"])
    assert [(miss.thread, miss.number, miss.cause, miss.tokens) for miss in misses.misses] == [
        (row["thread"], row["call"], row["cause"], row["written_again_tokens"]) for row in cache["misses"]
    ]
    assert {(call.thread, call.number): call.miss.usd for call in calls if call.miss} == {
        (row["thread"], row["call"]): pytest.approx(row["lost_usd"]) for row in cache["misses"]
    }
    assert misses.lost == pytest.approx(cache["lost_usd"])


@pytest.mark.parametrize(("number", "after"), [(0, True), (0, False), (2, False)])
def test_edits_and_policies_give_the_request_of_curate(
    sample: Path, run_ctxtui: Run, tmp_path: Path, number: int, after: bool
) -> None:
    call: dict[str, Any] = {"number": number, "after": after}
    policies: dict[str, Any] = {"policies": ["keep_rounds"], "policy_settings": ["n=1"]}
    with open_session(sample) as session:
        largest = max(
            (row for row in session.blocks(number) if row.category in ("tool_result", "user")),
            key=lambda row: row.tokens,
        )
        edit = new_edit("truncate", [Target(largest.block.digest)], {"head": 200, "tail": 100})
        request = session.edit([edit], **policies, **call)
        again = session.edit([edit], **policies, **call)
    assert (again.body, again.price.after) == (request.body, request.price.after)
    log = tmp_path / "edits.json"
    log.write_text(json.dumps([{"kind": "truncate", "targets": [largest.block.digest], "payload": edit.params | {}}]))
    options = ["--edits", log, "--policy", "keep_rounds", "--set", "n=1", "--json"]
    options += [*(["--after"] if after else []), *(["--call", str(number)] if number else [])]
    curated = run_ctxtui("curate", sample, *options).json
    assert json.loads(request.body) == curated["request"]
    price = request.price
    assert (price.before, price.after, price.freed, price.broken) == tuple(
        curated["tokens"][name] for name in ("before", "after", "freed", "broken")
    )
    assert [edit.id for edit in request.edits] == [entry["id"] for entry in curated["edits"]]
    assert [moment.once for moment in price.moments] == [
        None if row["once_usd"] is None else pytest.approx(row["once_usd"]) for row in curated["moments"]
    ]


def test_what_is_refused_and_lost_is_that_of_curate(run_ctxtui: Run, tmp_path: Path) -> None:
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": [EMPTY_TEXT]}]}
    (tmp_path / "request.json").write_text(json.dumps(body))
    (tmp_path / "transcript.jsonl").write_bytes(claude_code(3))
    told = {}
    for name in ("request.json", "transcript.jsonl"):
        with open_session(tmp_path / name) as session:
            request = session.edit()
        told[name] = [(violation.path, violation.message) for violation in request.violations], list(request.lost)
        curated = run_ctxtui("curate", tmp_path / name, "--json").json
        assert told[name] == ([(row["path"], row["message"]) for row in curated["violations"]], curated["lost"])
    assert told["request.json"][0] and told["transcript.jsonl"][1]


EMPTY_TEXT = {"type": "text", "text": ""}


def test_the_settings_are_those_of_the_folder(run_ctxtui: Run, tmp_path: Path) -> None:
    freed, folder = {}, tmp_path / "project"
    folder.mkdir()
    for share in ("0.75", "0.1"):
        (folder / "ctxtui.toml").write_text(f"usable_share = {share}\n")
        with open_session(SAMPLES[0], cwd=folder) as session:
            freed[share] = session.edit(policies=["budget"]).price.freed
        ran = run_ctxtui("--set", f"usable_share={share}", "curate", SAMPLES[0], "--policy", "budget", "--json")
        assert ran.json["tokens"]["freed"] == freed[share]
    assert freed["0.1"] > freed["0.75"]


def test_last_is_the_newest_session_of_the_folder(home: Path, tmp_path: Path) -> None:
    names = {}
    for number, name in enumerate(("mine", "newer")):
        folder, client = tmp_path / name, ClaudeCode(number)
        folder.mkdir()
        client.cwd = str(folder)
        file = home / ".claude" / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", str(folder)) / f"{client.session}.jsonl"
        file.parent.mkdir(parents=True)
        file.write_bytes(lines(client.turns(2)))
        os.utime(file, (1.7e9 + number, 1.7e9 + number))
        names[name] = client.session
    for name, id_ in names.items():
        with open_session("last", cwd=tmp_path / name) as session:
            assert session.id == id_


def test_a_miss_is_that_of_the_call_in_its_own_thread() -> None:
    main = Story().user("look through the shop " * 900).call("yes").user("go on").call("so").user("more").call("end")
    side = Story(thread="side", session=main.session, hidden_tokens=2000).user("help " * 5000).call("well")
    side.user("go on").call("here", missed=True)
    session = OpenedSession(Loaded(main.session, "story"), Settings(), Counter())
    missed = {thread: [call.miss is not None for call in session.calls(thread)] for thread in ("main", "side")}
    assert missed == {"main": [False, False, False], "side": [False, True]}


def test_the_example_of_the_page_runs(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    example = PAGE.split("```python\n")[1].split("```")[0]
    assert len(example.splitlines()) <= 20
    monkeypatch.chdir(ROOT)
    exec(compile(example, "docs/api.md", "exec"), {"__name__": "example"})
    told = capsys.readouterr().out
    assert "call 1: " in told and "missed: " in told and " USD once, " in told


def test_the_plug_ins_of_their_page_work(
    home: Path, run_ctxtui: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    examples = [part.split("```")[0] for part in page.split("```python\n")[1:]]
    monkeypatch.setattr(plugins, "_reported", {})
    plugins._load_group.cache_clear()
    for group, text in zip(("readers", "policies", "tools"), examples, strict=True):
        imports = re.findall(r"^from (\S+) import", text, re.MULTILINE)
        assert imports == ["ctxtui.api"]
        folder = tmp_path / "ctxtui" / group
        folder.mkdir(parents=True)
        (folder / "mine.py").write_text(text)
    diary = tmp_path / "days.json"
    diary.write_text('{"diary": ["Dear model", "it rained"]}')
    try:
        shown = run_ctxtui("show", diary, "--json").json
        assert (shown["session"]["source"], shown["session"]["title"]) == ("diary", "Dear model")
        assert len(shown["blocks"]) == 2
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
        messages = [
            {"role": role, "content": [picture, {"type": "text", "text": "look"}] if role == "user" else "seen"}
            for role in ("user", "assistant", "user")
        ]
        request = tmp_path / "request.json"
        request.write_text(json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}))
        curated = run_ctxtui("curate", request, "--policy", "newest_image", "--json").json
        assert [edit["author"] for edit in curated["edits"]] == ["newest_image"]
        kinds = [part["type"] for part in curated["request"]["messages"][0]["content"]]
        assert "image" not in kinds and curated["request"]["messages"][2]["content"][0] == picture
        checks = run_ctxtui("doctor", "--json").json["checks"]
        states = {check["name"]: (check["state"], check["text"]) for check in checks if "plug-ins" in check["name"]}
        for group in ("readers", "policies", "tools"):
            assert states[f"plug-ins: {group}"][0] == "ok" and "mine from" in states[f"plug-ins: {group}"][1]
    finally:
        plugins._load_group.cache_clear()
