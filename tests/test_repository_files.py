"""What other programs read in the repository: the GitHub Action, the pre-commit hook, the issue forms."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.corpus import ROOT

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
