"""Every client's sessions, from the command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cases.client_homes import AT, CLIENTS, UUIDS, home_of_all, opencode, opencode_files, write
from tests.cli.conftest import Run
from tests.sampling import few_rows


@pytest.fixture
def desk(home: Path) -> Path:
    desk = Path.cwd()
    home_of_all(home, desk, Path(os.environ["CTXTUI_HOME"]))
    return desk


def test_sessions_lists_every_client(ctxtui: Run, desk: Path) -> None:
    told = ctxtui("sessions", "--json").json["sessions"]
    mine = [one for one in told if one["group"] != "samples"]
    assert {one["client"] for one in mine} == set(CLIENTS) and len(mine) == len(CLIENTS) + 2
    assert {one["client"] for one in told if one["group"] == "samples"} == {None}
    for one in mine:
        shown = ctxtui("show", one["id"], "--json").json
        assert shown["session"]["source"] == one["source"], one["id"]
    by_id = {one["id"]: one for one in mine}
    assert by_id["ses_two"]["title"] == "opencode ses_two" and by_id["ses_two"]["size"] is None
    assert (by_id["ses_two"]["cwd"], by_id["ses_two"]["client_version"]) == (str(desk), "1.18.33")
    assert by_id["ses_two"]["modified"] == pytest.approx(AT + 121, abs=1)
    assert ctxtui("sessions").out.count("\n") == 1 + len(told)


VERSIONS = {
    "claude-code": "2.1.62", "codex": "0.60.0", "opencode": "1.18.33", "pi": None, "gemini-cli": None, "llm": None,
    "qwen-code": "0.24.4", "kimi-code": None, "continue": None, "cline": "3.0.65", "goose": None,
    "copilot-cli": "1.0.64", "aider": "0.86.2", "mini-swe-agent": "2.4.6", "attached": None,
}  # fmt: skip


def test_every_session_has_folder_title_and_version_before_it_is_read(ctxtui: Run, desk: Path) -> None:
    told = [one for one in ctxtui("sessions", "--json").json["sessions"] if one["group"] != "samples"]
    for one in told:
        assert one["title"] and one["title"] != one["id"], one["id"]
        assert one["cwd"] == (None if one["client"] in ("llm", "kimi-code", "mini-swe-agent") else str(desk)), one[
            "client"
        ]
        assert one["client_version"] == VERSIONS[one["client"]] and "calls" not in one
    titles = {one["client"]: one["title"] for one in told}
    assert (titles["pi"], titles["gemini-cli"], titles["aider"]) == ("pi asks", "gemini asks", "aider asks")
    read = {one["id"]: one["title"] for one in ctxtui("sessions", "--json", "--figures").json["sessions"]}
    assert {one["id"]: one["title"] for one in told}.items() <= read.items()


def test_heads_are_remembered_and_read_again_when_they_may_differ(
    ctxtui: Run, desk: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ctxtui.services.library import glances

    def titles() -> dict[str, str]:
        return {one["client"]: one["title"] for one in ctxtui("sessions", "--json").json["sessions"]}

    ctxtui("import", next((home / ".pi").rglob("*.jsonl")))
    before, looked = titles(), []
    real = glances.read_glance
    monkeypatch.setattr(glances, "read_glance", lambda path, source: looked.append(source) or real(path, source))
    assert titles() == before and not looked
    trajectory = home / ".config/mini-swe-agent/last_mini_run.traj.json"
    trajectory.write_bytes(trajectory.read_bytes().replace(b"mini asks", b"mini asks anew"))
    copilot = next((home / ".copilot").rglob("events.jsonl"))
    copilot.write_bytes(copilot.read_bytes() + b'{"type": "session.end", "data": {}}\n')
    assert titles() == before | {"mini-swe-agent": "mini asks anew"} and looked == ["mini-swe-agent"]


def test_heads_are_read_for_a_second_at_most_and_it_is_said(
    ctxtui: Run, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxtui.cli.manage.sessions.HEADS_SECONDS", 0.0)
    ran = ctxtui("sessions", "--json")
    assert "12 sessions have no title yet" in ran.err
    assert {one["title"] == one["id"] for one in ran.json["sessions"] if one["client"] == "pi"} == {True}


def test_figures_name_the_clients_version(ctxtui: Run, desk: Path) -> None:
    told = ctxtui("sessions", "--json", "--figures", "--here").json["sessions"]
    versions = {one["client"]: one["client_version"] for one in told}
    assert versions.items() <= VERSIONS.items()
    assert all(one["calls"] and one["title"] for one in told)


def test_last_is_the_newest_of_all_clients(ctxtui: Run, desk: Path, home: Path) -> None:
    assert ctxtui("last", "--json").json["session"]["source"] == "aider"
    (desk / ".aider.chat.history.md").unlink()
    assert ctxtui("last", "--json").json["session"]["id"] == UUIDS["copilot-cli"]
    (home / f".copilot/session-state/{UUIDS['copilot-cli']}/events.jsonl").unlink()
    assert ctxtui("last", "--json").json["session"]["source"] == "goose"
    (home / ".local/share/goose").rename(home / "gone-goose")
    assert ctxtui("last", "--json").json["session"]["source"] == "cline"
    (home / ".cline").rename(home / "gone-cline")
    assert ctxtui("last", "--json").json["session"]["source"] == "continue cli"
    for name in (".continue", ".qwen", ".gemini", ".pi", ".claude", ".codex"):
        (home / name).rename(home / f"gone{name}")
    last = ctxtui("last", "--json").json["session"]
    # Its child was the last that wrote.
    assert (last["id"], last["path"]) == ("ses_one", str(home / ".local/share/opencode/opencode.db#ses_one"))


def test_a_client_that_is_switched_off_is_nowhere(ctxtui: Run, desk: Path) -> None:
    off = ("--set", "clients={opencode=false, aider=false}")
    assert ctxtui(*off, "last", "--json").json["session"]["source"] == "copilot cli"
    told = ctxtui(*off, "sessions", "--json").json["sessions"]
    assert {one["client"] for one in told} == {*CLIENTS, None} - {"opencode", "aider"}
    assert ctxtui(*off, "show", "ses_two").code != 0
    assert ctxtui(*off, "search", "of ses_two").code == 1
    assert ctxtui("search", "of ses_two").code == 0


def test_search_and_cost_go_over_all(ctxtui: Run, desk: Path) -> None:
    words = ("claude code asks", "user of ses_two", "user of ses_one_child", "pi asks", "gemini asks", "copilot asks",
             "user 01m819one", "aider asks", "mini asks")  # fmt: skip
    for text in words:
        found = ctxtui("search", text, "--json").json
        assert len(found["hits"]) >= 1 and not found["failed"], text
    cost = ctxtui("cost", "--all", "--json").json
    each = [ctxtui("cost", one["path"], "--json").json for one in ctxtui("sessions", "--json").json["sessions"]
            if one["group"] != "samples"]  # fmt: skip
    assert cost["calls"] == sum(one["calls"] for one in each)
    assert cost["tokens"] == sum(one["tokens"] for one in each)
    assert cost["failed"] == []


def test_no_call_is_counted_twice(ctxtui: Run, desk: Path, home: Path) -> None:
    """A session in the database and in older files, its child in a file of its own, a copy of a recording."""
    before = ctxtui("cost", "--all", "--json").json
    opencode_files(home / ".local/share/opencode/storage", opencode(desk, at=AT + 120))
    original = next((home / ".codex").rglob("rollout-*.jsonl"))
    write(original.with_name(original.name.replace("22T", "23T").replace("0000000002", "0000000099")),
          original.read_bytes())  # fmt: skip
    after = ctxtui("cost", "--all", "--json").json
    assert (after["calls"], after["tokens"], after["total_usd"]) == (
        before["calls"], before["tokens"], before["total_usd"],
    )  # fmt: skip


def test_doctor_says_where_it_looked_and_what_it_found(ctxtui: Run, desk: Path, home: Path) -> None:
    told = ctxtui("--set", "clients={pi=false}", "doctor", "--json").json
    checks = {one["name"]: one for one in told["checks"]}
    assert str(home / ".codex/sessions") in checks["codex"]["text"] and "1 session in" in checks["codex"]["text"]
    assert "2 sessions in" in checks["opencode"]["text"] and "2 of this directory" in checks["opencode"]["text"]
    assert checks["pi"]["text"] == "switched off: clients.pi = false"
    clients = {one["name"]: one for one in told["clients"]}
    assert list(clients) == list(CLIENTS)
    assert (clients["llm"]["sessions"], clients["llm"]["on"], clients["pi"]["on"]) == (2, True, False)
    assert clients["codex"]["newest"] == AT + 60 and clients["pi"]["sessions"] == 0
    assert clients["codex"]["places"][0] == {"path": str(home / ".codex/sessions"), "there": True}
    assert "CODEX_HOME" in clients["codex"]["moved_by"]
    (home / ".codex").rename(home / "away")
    checks = {one["name"]: one for one in ctxtui("doctor", "--json").json["checks"]}
    assert checks["codex"]["text"].startswith(f"no folder {home / '.codex/sessions'}")


def test_the_two_files_of_aider_are_one_session(ctxtui: Run, desk: Path) -> None:
    log = b"TO LLM 2026-11-22T09:38:43\n-------\nUSER aider asks\nLLM RESPONSE 2026-11-22T09:38:44\nASSISTANT yes\n"
    before = ctxtui("cost", "--all", "--json").json
    (desk / ".aider.llm.history").write_bytes(log)
    told = [one for one in ctxtui("sessions", "--json").json["sessions"] if one["client"] == "aider"]
    assert [one["path"] for one in told] == [str(desk / ".aider.chat.history.md")]
    after = ctxtui("cost", "--all", "--json").json
    assert (after["calls"], after["tokens"]) == (before["calls"], before["tokens"])
    (desk / ".aider.chat.history.md").unlink()
    told = [one for one in ctxtui("sessions", "--json").json["sessions"] if one["client"] == "aider"]
    assert [(one["path"], one["title"]) for one in told] == [(str(desk / ".aider.llm.history"), "aider asks")]


@pytest.mark.parametrize(
    ("version", "needs"), few_rows([("2.1.280", True), ("2.1.299", True), ("2.1.300", False), ("x", False)])
)
def test_doctor_says_how_older_versions_write_their_requests(
    ctxtui: Run, desk: Path, home: Path, monkeypatch: pytest.MonkeyPatch, version: str, needs: bool
) -> None:
    path = next((home / ".claude/projects").rglob("*.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"2.1.62", version.encode()))

    def told() -> list[str]:
        return [one["way_out"] for one in ctxtui("doctor", "--json").json["checks"] if one["name"].endswith("requests")]

    folder = home / "raw-api-bodies"
    line = (
        f'export OTEL_LOG_RAW_API_BODIES=file:{folder} before it starts, and raw_api_bodies = "{folder}" in config.toml'
    )
    assert told() == [line] * needs
    monkeypatch.setenv("OTEL_LOG_RAW_API_BODIES", f"file:{folder}")
    assert told() == []


def test_a_setting_in_a_file_switches_off(ctxtui: Run, desk: Path, tmp_path: Path) -> None:
    (tmp_path / "ctxtui").mkdir(exist_ok=True)
    (tmp_path / "ctxtui/config.toml").write_text("[clients]\nopencode = false\n")
    told = ctxtui("sessions", "--json").json["sessions"]
    assert "opencode" not in {one["client"] for one in told}
    rows = {one["name"]: one["value"] for one in ctxtui("config", "--json").json["settings"]}
    assert rows["clients.opencode"] is False
