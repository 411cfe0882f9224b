"""`ctxtui statusline`: what Claude Code says on standard input, as one line; put into its settings and taken out."""

from __future__ import annotations

import io
import json
import stat
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ctxtui.services.config.paths import data_dir
from tests.cli.conftest import PROGRAM, Run

NOW = 1_795_426_600.0

# As Claude Code 2.1.330 said it on 2026-11-23, with other paths.
SAID: dict[str, Any] = {
    "session_id": "169c4c35-cb94-4330-9259-de199a6f9181",
    "transcript_path": "/nowhere/169c4c35.jsonl",
    "model": {"id": "claude-opus-5-5", "display_name": "Opus 5.5"},
    "version": "2.1.330",
    "cost": {"total_cost_usd": 0.11110320000000001},
    "context_window": {
        "total_input_tokens": 18183,
        "total_output_tokens": 104,
        "context_window_size": 1000000,
        "current_usage": {
            "input_tokens": 0,
            "output_tokens": 104,
            "cache_creation_input_tokens": 162,
            "cache_read_input_tokens": 18021,
        },
        "used_percentage": 2,
    },
    "prompt_cache": {
        "warm": True,
        "caching_observed": True,
        "ttl": "5m",
        "expires_at": 1795426834,
        "requests": 4,
        "misses": 0,
        "last_miss_at": None,
        "last_miss_cause": None,
        "recache_tokens_if_cold": 18183,
    },
    "fast_mode": False,
}


MISSED = {"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 18000, "output_tokens": 9}


@pytest.fixture
def line(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is printed for what a client says."""

    def printed(said: object, *options: str, at: float = NOW) -> Any:
        monkeypatch.setattr(time, "time", lambda: at)
        monkeypatch.setattr(sys, "stdin", io.StringIO(said if isinstance(said, str) else json.dumps(said)))
        monkeypatch.setenv("NO_COLOR", "1")
        return ctxtui("statusline", *options)

    return printed


def told(**more: Any) -> dict[str, Any]:
    """What the client says, with other members in its window or cache."""
    made = json.loads(json.dumps(SAID))
    for name, value in more.items():
        made[name] = {**made[name], **value} if isinstance(made.get(name), dict) else value
    return made  # type: ignore[no-any-return]


def test_context_price_and_cache_in_one_line(line: Any) -> None:
    ran = line(SAID)
    assert (ran.code, ran.out, ran.err) == (0, "18.2k of 750.0k 2 % · next ≈ $0.006 · cache 3:54\n", "")
    fields = line(SAID, "--json").json
    # 18,183 read, the answer of 104 written, one like it said: by the prices of Opus 5.5.
    assert fields["next_usd"] == pytest.approx((18183 * 0.2 + 104 * 5 + 104 * 20) / 1e6)
    assert fields["next_usd_cold"] == pytest.approx(((18183 + 104) * 5 + 104 * 20) / 1e6)
    assert fields["cache_seconds"] == 234 and fields["warning"] is None


def test_a_window_of_the_users_is_that_of_the_model_by_any_of_its_ids(
    line: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXTUI_WINDOWS", '{"claude-opus-4-5" = 100000}')
    assert line(told(model={"id": "claude-opus-4-5-20251101"}), "--json").json["usable"] == 75_000


def test_before_the_first_call_nothing_is_claimed(line: Any) -> None:
    made = told(context_window={"current_usage": None})
    del made["prompt_cache"]
    assert line(made).out == "no call yet\n"


@pytest.mark.parametrize(
    ("more", "at", "words"),
    [
        ({"prompt_cache": {"expires_at": NOW + 30}}, NOW, "▲ in 0:30 the next call costs $0.094"),
        ({}, NOW + 999, "next ≈ $0.094 · cache expired · ▲ next call writes 18.2k again"),
        ({"context_window": {"context_window_size": 20000}}, NOW, "▲ 3.2k over usable"),
        ({"context_window": {"context_window_size": 26000}}, NOW, "▲ 1.3k of usable left"),
        ({"rate_limits": {"five_hour": {"used_percentage": 92, "resets_at": NOW + 3700}}}, NOW,
         "▲ 5 hours 92 % used, resets in 1 h 1 min"),
        ({"prompt_cache": {"last_miss_at": NOW - 9, "last_miss_cause": {"causes": ["tools_changed"]}}}, NOW,
         "▲ cache missed: tools changed"),
        ({"prompt_cache": {"last_miss_at": NOW - 9}, "context_window": {"current_usage": MISSED}}, NOW,
         "▲ cache missed, 18.0k again"),
        ({"prompt_cache": {"caching_observed": False, "expires_at": None}}, NOW, "· no cache"),
    ],
)  # fmt: skip
def test_one_warning_at_most(line: Any, more: dict[str, Any], at: float, words: str) -> None:
    printed = line(told(**more), at=at).out
    assert printed.rstrip("\n").endswith(words) and printed.count("▲") <= 1


def test_a_version_that_says_nothing_of_its_cache(line: Any, tmp_path: Path) -> None:
    # Facts §13.1: before 2.1.251; the transcript's last answer says when it was and how long what it wrote lives.
    stamp = datetime.fromtimestamp(NOW - 100).astimezone().isoformat()
    used = {"output_tokens": 300, "cache_creation": {"ephemeral_1h_input_tokens": 7, "ephemeral_5m_input_tokens": 0}}
    record = {"type": "assistant", "timestamp": stamp, "message": {"id": "m", "usage": used}}
    (tmp_path / "t.jsonl").write_text('half a line"assistant"}\n' + json.dumps(record) + '\n{"type": "assistant"')
    made = told(transcript_path=str(tmp_path / "t.jsonl"))
    del made["prompt_cache"]
    fields = line(made, "--json").json
    assert fields["cache_seconds"] == 3500
    assert fields["next_usd"] == pytest.approx((18183 * 0.2 + 104 * 8 + 300 * 20) / 1e6)


@pytest.mark.parametrize(
    "said", ["", "{", "[]", "{}", '{"context_window": 7}', '{"context_window": {"current_usage": []}}']
)
def test_what_no_client_says_is_no_traceback(line: Any, said: str) -> None:
    ran = line(said)
    assert "Traceback" not in ran.err and ran.code in (0, 4)
    assert ran.code == 0 or "not Claude Code's status line JSON" in ran.err


@pytest.mark.parametrize(
    "odd", ['["assistant"]', '{"message": ["assistant"]}', '"assistant"', "[" * 9999 + '"assistant"']
)
def test_odd_lines_of_a_transcript_are_passed_over(line: Any, tmp_path: Path, odd: str) -> None:
    (tmp_path / "t.jsonl").write_text(odd + "\n")
    assert line(told(transcript_path=str(tmp_path / "t.jsonl"))).code == 0


def test_odd_members_are_passed_over(line: Any) -> None:
    odd = told(
        context_window={"current_usage": {"input_tokens": "many", "output_tokens": -1, "cache_read_input_tokens": 5}}
    )
    odd |= {"model": [], "rate_limits": "none", "transcript_path": 7, "prompt_cache": {"expires_at": "soon", "ttl": 5}}
    assert line(odd).code == 0


def test_the_price_is_the_one_that_the_inspector_foretells(line: Any, ctxtui: Run, corpus: Path) -> None:
    """From the whole recording the same is foretold, but for what only it tells: the thinking that the next request
    leaves out, and a user's words that are in it already."""
    held = 0
    for path in sorted((corpus / "clients" / "claude-code-2.1.330").glob("*/*.jsonl")):
        wanted = ctxtui("cache", path, "--json")
        next_call = wanted.json.get("next_call") if wanted.code == 0 else None
        if not next_call or not next_call["expires"] or next_call["cause"]:
            continue
        records = [json.loads(one) for one in path.read_bytes().splitlines()]
        last = [one for one in records if one["type"] == "assistant" and not one["isSidechain"]][-1]["message"]
        made = told(
            transcript_path=str(path),
            model={"id": last["model"]},
            context_window={"current_usage": last["usage"]},
            prompt_cache={"expires_at": next_call["expires"]},
        )
        found = line(made, "--json", at=next_call["expires"] - 100).json
        assert found["next_usd"] == pytest.approx(next_call["cost_usd"], rel=0.05), path
        held += 1
    assert held >= 3


def test_it_starts_without_what_takes_long(home: Path) -> None:
    """A client runs it after every message: the price library, the tokenizer, click and the readers are not loaded."""
    code = (
        "import sys; sys.argv = ['ctxtui', 'statusline']; from ctxtui.cli.run import run; run(['statusline']);"
        "heavy = {'genai_prices', 'click', 'tiktoken', 'textual', 'rich', 'httpx2', 'sqlite3', 'ctxtui.analysis.book'};"
        "sys.exit(', '.join(sorted(heavy & sys.modules.keys())) or 0)"
    )
    for wanted in (0, 1):  # the first time of a day asks the price library
        ran = subprocess.run([sys.executable, "-c", code], input=json.dumps(SAID), capture_output=True, text=True)
        if wanted:
            assert ran.returncode == 0, ran.stderr


def test_it_is_put_into_the_settings_and_taken_out(home: Path, ctxtui: Run) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    text = '{\n  "theme": "dark",  "permissions": {"allow": []}\n}'
    file.write_text(text)
    made = ctxtui("statusline", "install", "--json").json
    assert made["changed"] and Path(made["backup"]).read_text() == text
    held = json.loads(file.read_text())
    assert held["theme"] == "dark" and held["statusLine"]["command"].endswith("statusline")
    # What it has the client run does run.
    ran = subprocess.run(
        held["statusLine"]["command"], shell=True, input=json.dumps(SAID), capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0 and "next ≈ " in ran.stdout, ran.stderr
    assert "already installed" in ctxtui("statusline", "install").err
    assert ctxtui("statusline", "remove", "--json").json == {"schema_version": 1, "removed": [str(file)]}
    assert file.read_text() == text and ctxtui("statusline", "remove", "--json").json["removed"] == []


def test_proxy_off_takes_it_out_too(home: Path, ctxtui: Run) -> None:
    assert ctxtui("statusline", "install").code == 0
    off = ctxtui("proxy", "off", "--json")
    assert (
        off.code == 0 and off.json["removed"] == [str(home / ".claude" / "settings.json")] and off.json["ended"] is None
    )
    assert not (home / ".claude" / "settings.json").exists() and ctxtui("proxy", "off").code == 5


def test_by_hand_it_says_who_runs_it(home: Path) -> None:
    import pexpect

    ran = pexpect.spawn(PROGRAM[0], [*PROGRAM[1:], "statusline"], timeout=60)
    ran.expect("ctxtui statusline install")
    ran.expect(pexpect.EOF)


def test_the_quota_that_it_is_told_of_is_in_stats(line: Any, ctxtui: Run) -> None:
    windows = {
        "five_hour": {"used_percentage": 32.5, "resets_at": NOW + 3700},
        "seven_day_opus": {"used_percentage": 7},
    }
    assert ctxtui("stats", "--json").json["quota_reports"] == []
    assert line(told(rate_limits=windows)).code == 0
    assert line(told(rate_limits={"five_hour": {"used_percentage": 31}, "odd": 3}), at=NOW - 5).code == 0
    short, week = ctxtui("stats", "--json").json["quota_reports"]
    assert (short["limit"], short["minutes"], short["used"], short["resets"]) == ("claude", 300, 0.325, NOW + 3700)
    assert (week["limit"], week["used"], week["at"], week["resets"]) == ("claude opus", 0.07, int(NOW), None)
    assert short["raw"] == windows
    file = data_dir() / "status-quota.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    written = file.stat().st_mtime_ns
    line(told(rate_limits=windows), at=NOW + 30)
    assert file.stat().st_mtime_ns == written, "it says the same"
    for damaged in ("{", "[[1]]", '[["claude", "x", 1, 1, 1, ""]]', "7"):
        file.write_text(damaged)
        assert ctxtui("stats", "--json").json["quota_reports"] == []
