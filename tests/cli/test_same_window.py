"""One window: every command and Home measure a context by the same limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.analysis.context_window import COMPACTION
from ctxtui.services.config.settings import Settings
from tests.analysis.test_context_window import recorded
from tests.cases.summaries import summarise
from tests.cli.conftest import Run
from tests.corpus import need_corpus
from tests.services.lookalike import codex


@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_every_command_and_home_say_the_same_window(tmp_path: Path, ctxtui: Run, trigger: str) -> None:
    said_alike(ctxtui, recorded(tmp_path, trigger, 167_000))


def test_codex_sessions_say_the_same_window_everywhere(tmp_path: Path, ctxtui: Run) -> None:
    path = tmp_path / "rollout-2026-01-01T00-00-00-00000000-0000-7000-8000-000000000001.jsonl"
    path.write_bytes(codex(3))
    said_alike(ctxtui, path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["entire-cli__d0_161e0df1cb_0.jsonl", "happy-cli__400429ba.jsonl"])
def test_recorded_sessions_say_the_same_window_everywhere(ctxtui: Run, name: str) -> None:
    (path,) = need_corpus("claude_code", name)
    said_alike(ctxtui, path)


def test_a_session_that_compacted_by_itself_is_measured_by_that(ctxtui: Run) -> None:
    (path,) = need_corpus("claude_code", "entire-cli__d0_161e0df1cb_0.jsonl")
    shown = ctxtui("show", path, "--json").json["context_window"]
    assert shown == {"limit": 168_483, "usable": 150_000, "origin": COMPACTION, "model": 1_000_000}
    assert "46 % of 150.0k usable" in ctxtui("show", path).out
    assert ctxtui("preflight", path, "--json").json["compaction"]["tokens"] == 168_483


def said_alike(ctxtui: Run, path: Path) -> None:
    """`show`, `preflight`, `check` and Home's row give one limit, one usable part of it and one origin."""
    shown = ctxtui("show", path, "--json").json
    window = shown["context_window"]
    ahead = ctxtui("preflight", path, "--json").json
    assert ahead["context_window"] == window and ahead["window_tokens"] == window["limit"]
    assert ahead["usable"]["tokens"] == window["usable"]
    (checked,) = ctxtui("check", path, "--json", "--max-context", "900k").json["files"]
    assert checked["context_window"] == window
    home = summarise(path, Settings())
    assert (home.window, home.usable, home.window_origin) == (window["limit"], window["usable"], window["origin"])
    assert window["limit"] >= window["usable"]


def test_a_window_above_the_models_maximum_stops_every_command(ctxtui: Run, tmp_path: Path) -> None:
    path = recorded(tmp_path, "auto", 167_000)
    (Path.cwd() / "ctxtui.toml").write_text('[windows]\n"claude-opus-4-6" = 2000000\n')
    for command in (("show", path), ("preflight", path), ("sessions",), ("cost", path), ("config",)):
        ran = ctxtui(*command)
        assert ran.code == 2, command
        for told in ("ctxtui.toml:", "2,000,000", "1,000,000", "set it to 1000000 or less"):
            assert told in ran.err, command


def test_a_window_within_the_maximum_is_the_one_in_force(ctxtui: Run, tmp_path: Path) -> None:
    path = recorded(tmp_path, "manual", 167_000)
    for value, code in (("300000", 0), ("1000000", 0), ("1000001", 2)):
        ran = ctxtui("--set", f'windows={{"claude-opus-4-6" = {value}}}', "show", path, "--json")
        assert ran.code == code
    assert ctxtui("--set", 'windows={"homemade-7" = 9000000}', "config").code == 0, "nobody knows that model"
