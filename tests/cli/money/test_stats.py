"""`ctxtui stats`: all sessions by what one asks for, as text and as JSON; what cannot be asked is told."""

from __future__ import annotations

import os
import pty
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from ctxtui.cli.progress import Working
from ctxtui.services.config.config import load
from ctxtui.services.config.paths import database
from ctxtui.services.library.totals import summary_cache
from ctxtui.services.library.totals.stats import WAYS
from ctxtui.services.library.totals.summary_cache import version_for
from ctxtui.store.schema.connect import connect
from ctxtui.store.store import Store
from tests.cases import codex_odd
from tests.cases.claude_code import generate
from tests.cases.claude_code_requests import parallel
from tests.cli.conftest import Run
from tests.warm import warm_ctxtui


def test_sessions_of_a_folder_add_up(ctxtui: Run) -> None:
    Path("logs").mkdir()
    Path("logs/one.jsonl").write_bytes(parallel().dump())
    Path("logs/copy.jsonl").write_bytes(parallel().dump())
    cost = ctxtui("cost", "logs", "--json").json
    for way in WAYS:
        ran = ctxtui("stats", "logs", "--by", way, "--json")
        assert ran.code == 0 and ran.json["by"] == way
        total = ran.json["total"]
        assert (total["calls"], total["usd"]) == (cost["calls"], pytest.approx(cost["total_usd"]))
        assert total["input"] + total["output"] == cost["tokens"]
        if way != "tool":
            assert sum(row["calls"] for row in ran.json["rows"]) == total["calls"]
    told = ctxtui("stats", "logs", "--by", "model").out
    assert "list price" in told and "tools" in told and "all" in told


def test_a_change_is_told_with_both_sides(ctxtui: Run) -> None:
    Path("logs").mkdir()
    Path("logs/one.jsonl").write_bytes(parallel().dump())
    ran = ctxtui("stats", "logs", "--change", "client-version=9.9.9", "--json")
    comparison = ran.json["comparison"]
    assert comparison["before"]["calls"] == ran.json["total"]["calls"] and comparison["after"]["calls"] == 0
    assert not any(one["difference_shown"] for one in comparison["metrics"])
    told = ctxtui("stats", "logs", "--change", "2001-01-01").out
    assert "before and after 2001-01-01" in told and "too few sessions" in told


def test_what_cannot_be_asked_is_told(ctxtui: Run) -> None:
    ran = ctxtui("stats", "--change", "yesterday")
    assert ran.code == 2 and "a day or time such as" in ran.err
    assert "is not a folder" in ctxtui("stats", "nowhere").err
    assert ctxtui("stats", "--since", "soon").code == 2


COUNTED = ("misses", "lost", "unpriced_misses", "compactions", "overflows", "uncounted")


def undated(told: dict[str, Any]) -> dict[str, Any]:
    """Without the week, which ends now."""
    return {**told, "week": None}


def test_usage_alone_is_part_of_the_whole(ctxtui: Run) -> None:
    Path("logs").mkdir()
    Path("logs/one.jsonl").write_bytes(parallel().dump())
    Path("logs/two.jsonl").write_bytes(generate(n_messages=30, seed=2))
    usage = ctxtui("stats", "logs", "--by", "model", "--usage", "--json").json
    again = ctxtui("stats", "logs", "--by", "model", "--usage", "--json").json
    whole = ctxtui("stats", "logs", "--by", "model", "--json").json
    assert undated(again) == undated(usage) and usage["five_hours"] == whole["five_hours"]
    pairs = zip([usage["total"], *usage["rows"]], [whole["total"], *whole["rows"]], strict=True)
    for one, other in pairs:
        assert {key: one[key] for key in one if key not in COUNTED} == {
            key: other[key] for key in other if key not in COUNTED
        }
        assert [one[key] for key in COUNTED[:-1]] == [None] * 5 and one["uncounted"] == one["sessions"]
        assert other["misses"] is not None and other["uncounted"] == 0
    known = ctxtui("stats", "logs", "--by", "model", "--usage", "--json").json
    assert undated(known) == undated(whole), "it is known by now"
    for way in ("tool", "skill"):
        assert "remove --usage" in ctxtui("stats", "logs", "--by", way, "--usage").err


def test_old_sessions_are_not_read_for_what_came_since(ctxtui: Run) -> None:
    Path("logs").mkdir()
    for name in ("old", "new"):
        Path(f"logs/{name}.jsonl").write_bytes(generate(n_messages=20, seed=len(name)))
    os.utime("logs/old.jsonl", (1e9, 1e9))
    settings = load(()).settings
    ctxtui("stats", "logs", "--since", "1d")
    with Store.open(database()) as store:
        assert [Path(str(path)).name for path, *_ in store.load_summaries(version_for(settings))] == ["new.jsonl"]
    ctxtui("stats", "logs")
    with Store.open(database()) as store:
        assert len(store.load_summaries(version_for(settings))) == 2


def on_terminal(command: list[str], environment: dict[str, str]) -> str:
    """What a command writes to a terminal until it ends."""
    near, far = pty.openpty()
    process = subprocess.Popen(command, stdout=far, stderr=subprocess.DEVNULL, env=environment)
    os.close(far)
    said = b""
    with suppress(OSError):  # what an ended terminal says on Linux
        while piece := os.read(near, 65536):
            said += piece
    os.close(near)
    assert process.wait() == 0
    return said.decode()


def test_on_a_terminal_counts_come_in_behind_usage(ctxtui: Run, home: Path) -> None:
    Path("logs").mkdir()
    for seed in range(3):
        Path(f"logs/{seed}.jsonl").write_bytes(generate(n_messages=40, seed=seed))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    shown = on_terminal([*warm_ctxtui(), "stats", "logs", "--by", "project"], environment)
    first, last = shown.split("\x1b[J")[0], shown.rsplit("\x1b[J", 1)[1]
    assert "…" in first and "…" not in last
    assert "/home/ada/shop" in first and "/home/ada/shop" in last
    assert "not counted yet" not in last


def test_what_codex_reports_of_quotas_is_told_with_its_moment(ctxtui: Run) -> None:
    Path("logs").mkdir()
    Path("logs/one.jsonl").write_bytes(parallel().dump())
    assert ctxtui("stats", "logs", "--json").json["quota_reports"] == []
    assert "quota" not in ctxtui("stats", "logs").out
    Path("logs/rollout.jsonl").write_bytes(codex_odd.ODDITIES["codex_quotas"]())
    for usage in ((), ("--usage",), ()):
        short, long = ctxtui("stats", "logs", *usage, "--json").json["quota_reports"]
        assert (short["limit"], short["minutes"], short["used"], short["open"]) == ("codex", 300, 1.04, False)
        assert (short["resets"], long["used"], long["at"]) == (1_782_147_435, 0.07, short["at"])
        assert short["raw"]["rate_limit_reached_type"] == "primary"
        assert short["ours"]["calls"] == long["ours"]["calls"] == 2
        assert long["ours"]["tokens"] == 10_100 + 10_212
    told = ctxtui("stats", "logs").out
    assert "last reports of the providers" in told and "104 %" in told and "7 days" in told
    # Stored, it is told of without its file, too.
    assert ctxtui("import", "logs/rollout.jsonl").code == 0
    with Store.open(database()) as store:
        (row,) = store.sessions()
        assert [one.used for one in store.load(row.id).quotas] == [1.04, 0.07]


def made_by_another(version: str) -> None:
    """Let what is remembered be what another version of ctxtui made."""
    with closing(connect(database())) as conn, conn:
        conn.execute("UPDATE file_summaries SET version = ? || substr(version, instr(version, ' ') + 1)", (version,))


def test_what_is_read_once_more_says_why(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("logs").mkdir()
    Path("logs/one.jsonl").write_bytes(parallel().dump())
    said: list[str] = []
    before = Working.__init__

    def begin(self: Working, doing: str) -> None:
        said.append(doing)
        before(self, doing)

    monkeypatch.setattr(Working, "__init__", begin)
    ctxtui("stats", "logs", "--json")
    ctxtui("stats", "logs", "--json")
    assert said == ["reading"]
    made_by_another(f"{summary_cache.VERSION - 1} ")
    ctxtui("stats", "logs", "--json")
    made_by_another(f"{summary_cache.VERSION - 1} ")
    ctxtui("stats", "logs", "--usage", "--json", "--since", "900000h")
    words = "once more, after an upgrade"
    assert said == ["reading", f"reading {words}", f"reading what calls used {words}"]
    del said[:]
    Path("ctxtui.toml").write_text("usable_share = 0.5\n")
    ctxtui("stats", "logs", "--json")
    assert said == ["reading once more, as settings or label rules changed"]
    del said[:]
    with closing(connect(database())) as conn, conn:
        conn.execute("UPDATE file_summaries SET summary = json_remove(summary, '$.growth')")
    ctxtui("stats", "logs", "--json")
    assert said == [f"reading {words}"], "a field is new"


def test_what_a_client_said_of_a_quota_is_json_or_text() -> None:
    from ctxtui.cli.money.stats import _raw

    assert _raw('{"used":3}') == {"used": 3} and _raw("") is None
    assert _raw('{"used": ⟨api key 1') == '{"used": ⟨api key 1'
