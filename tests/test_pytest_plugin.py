"""The fixture `ctxtui_check`, as a user's test has it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ctxtui.cli.run import run
from tests.services.lookalike import claude_code
from tests.warm import warm_python

pytest_plugins = "pytester"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.Pytester:
    """A project with a recording; only the plug-in under test is loaded."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    (pytester.path / "run.jsonl").write_bytes(claude_code(6))
    return pytester


def outcome(project: pytest.Pytester, *lines: str) -> pytest.RunResult:
    body = "\n".join(f"    {line}" for line in lines)
    project.makepyfile(f"def test_it(ctxtui_check):\n{body}\n")
    return project.run(*warm_python(), "-m", "pytest", "-p", "ctxtui.pytest_plugin", "-p", "no:cacheprovider")


def test_limits_that_hold_pass_and_give_the_figures(project: pytest.Pytester) -> None:
    found = outcome(
        project,
        "found = ctxtui_check('run.jsonl', max_context='1M', max_block_chars=100_000, max_rewrites=50)",
        "assert found.calls > 0 and found.context_tokens > 0",
    )
    found.assert_outcomes(passed=1)


def test_a_limit_that_does_not_hold_fails_the_test_with_its_figure(project: pytest.Pytester) -> None:
    found = outcome(project, "ctxtui_check('run.jsonl', max_context=1, max_block_chars='1')")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*run.jsonl: largest context, tokens: *, at most 1 allowed; longest block*"])


def test_a_baseline_is_what_the_command_line_wrote(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = project.path / "run.jsonl"
    assert run(["check", str(recording), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    (project.path / "base.json").write_text(json.dumps(written))
    outcome(project, "ctxtui_check('run.jsonl', baseline='base.json')").assert_outcomes(passed=1)
    written["files"][0]["figures"]["context_tokens"] = 1
    (project.path / "base.json").write_text(json.dumps(written))
    outcome(project, "ctxtui_check('run.jsonl', baseline='base.json')").assert_outcomes(failed=1)


def test_pytest_finds_the_plug_in_by_its_entry_point() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    assert project["project"]["entry-points"]["pytest11"] == {"ctxtui": "ctxtui.pytest_plugin"}


def test_loading_it_imports_nothing_else() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import ctxtui.pytest_plugin; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"ctxtui", "ctxtui.pytest_plugin"}


def test_a_test_records_what_it_asks_and_holds_it_against_limits(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import httpx2

        ANSWER = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
                  "stop_reason": "end_turn", "usage": {"input_tokens": 500, "output_tokens": 5}}

        def test_it(ctxtui_record, ctxtui_check):
            transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=ANSWER))
            with httpx2.Client(transport=transport) as client:
                asked = {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "hoi"}]}
                client.post("https://api.anthropic.com/v1/messages", json=asked)
            assert ctxtui_check(ctxtui_record.path, max_context=1000).calls == 1
        """
    )
    project.runpytest("-p", "ctxtui.pytest_plugin").assert_outcomes(passed=1)
