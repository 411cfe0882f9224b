"""What other programs read in the repository: the GitHub Action, the pre-commit hook, the issue forms, the plugin."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.corpus import ROOT
from tests.test_documents import parse

SAMPLE = "sessions/2-lluma-musume.jsonl"


def parsed(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("limits", "code"), [("--max-context 200k --no-secrets", 0), ("--max-context 10k", 8), ("--no-such-limit", 2)]
)
def test_the_action_s_step_ends_as_the_check_does(tmp_path: Path, limits: str, code: int) -> None:
    action = parsed("action.yml")
    step = action["runs"]["steps"][-1]
    values = {"paths": SAMPLE, "limits": limits, "baseline": "", "junit": str(tmp_path / "junit.xml")}
    assert set(action["inputs"]) == {*values, "python-version"}
    env = {
        **os.environ,
        **{name.upper(): values[name] for name in values},
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "PYTHONPATH": str(ROOT),
    }
    # As GitHub runs `shell: bash`; python is the interpreter of the tests in place of the one that the action installs.
    script = step["run"].replace("python -m", f"{sys.executable} -m")
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=ROOT, env=env, capture_output=True
    )
    assert done.returncode == code, done.stderr.decode()
    if code != 2:
        assert (tmp_path / "junit.xml").is_file() and (tmp_path / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("text", "code"), [("hello", 0), (f"my key is sk-ant-api03-{'Qz7' * 31}AA", 8)])
def test_the_hook_stops_a_recording_with_a_key(tmp_path: Path, text: str, code: int) -> None:
    (hook,) = parsed(".pre-commit-hooks.yaml")
    words = [sys.executable, "-m", *hook["entry"].split(), *hook["args"]]
    request = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
    (tmp_path / "run.jsonl").write_text(json.dumps(request) + "\n", encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run([*words, str(tmp_path / "run.jsonl")], cwd=tmp_path, env=env, capture_output=True)
    assert done.returncode == code, (done.stdout, done.stderr)


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem
)
def test_an_issue_form_has_what_is_required(path: Path) -> None:
    form = parsed(str(path.relative_to(ROOT)))
    assert form["name"] and form["description"] and form["body"]
    assert all(part["type"] in ("textarea", "input") and part["attributes"]["label"] for part in form["body"])
    assert len({part["id"] for part in form["body"]}) == len(form["body"])


PLUGIN = ROOT / "examples" / "claude-code"


def test_the_plugin_runs_commands_that_exist() -> None:
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    lines = [hook["command"] for entries in hooks.values() for entry in entries for hook in entry["hooks"]]
    assert set(hooks) == {"UserPromptSubmit", "PreCompact"}
    # Exit code 2 of a hook would refuse the message or the compaction.
    assert all(line.endswith(" || exit 1") for line in lines)
    server = json.loads((PLUGIN / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["ctxtui"]
    lines += [" ".join([server["command"], *server["args"]])]
    commands = list((PLUGIN / "commands").glob("*.md"))
    lines += [line for page in commands for line in re.findall(r"^!`([^`]+)`", page.read_text(encoding="utf-8"), re.M)]
    assert len(lines) == 6
    for line in lines:
        parse(line.replace(" || exit 1", "").replace(" 2>&1", ""))


def test_the_plugin_s_parts_have_what_claude_code_requires() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert manifest["name"] == "ctxtui" and manifest["description"] and manifest["author"]["name"]
    marketplace = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
    (listed,) = marketplace["plugins"]
    assert listed["name"] == manifest["name"] and (ROOT / listed["source"]).resolve() == PLUGIN
    for page in [*PLUGIN.glob("commands/*.md"), *PLUGIN.glob("skills/*/SKILL.md")]:
        front = yaml.safe_load(page.read_text(encoding="utf-8").split("---\n")[1])
        assert front["description"], page.name
        assert page.name != "SKILL.md" or front["name"] == page.parent.name
