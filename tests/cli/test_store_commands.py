from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from ctxtui.core.errors import CtxtuiError
from ctxtui.offline import offline
from ctxtui.services.config.paths import database
from ctxtui.services.config.projects import folder_name
from tests.cli.conftest import Run
from tests.services.lookalike import ClaudeCode, claude_code, codex, lines


@pytest.fixture
def project(home: Path) -> Path:
    """This directory's Claude Code folder with two sessions, and a Codex rollout."""
    folder = home / ".claude/projects" / folder_name(Path.cwd())
    folder.mkdir(parents=True)
    for seed in (1, 2):
        path = folder / f"{ClaudeCode(seed).session}.jsonl"
        path.write_bytes(claude_code(2, seed))
        os.utime(path, (1000 + seed, 1000 + seed))
    rollout = home / ".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-00000000-0000-0000-0000-000000000007.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_bytes(codex(2, cwd=str(Path.cwd() / "deeper")))
    os.utime(rollout, (5000, 5000))
    return folder


def ids(ctxtui: Run, *more: str) -> list[str]:
    return [one["id"] for one in ctxtui("sessions", "--json", *more).json["sessions"] if one["group"] != "samples"]


def test_sessions_newest_first_and_every_id_opens(ctxtui: Run, project: Path) -> None:
    found = ids(ctxtui)
    assert found == [f"00000000-0000-0000-0000-00000000000{n}" for n in (7, 2, 1)]
    for id_ in found:
        assert ctxtui("show", id_, "--json").json["session"]["id"] == id_
    assert ctxtui("show", "00000000").code == 6
    assert ids(ctxtui, "--here") == found
    assert ids(ctxtui, "--limit", "1") == found[:1]
    plain = ctxtui("sessions").out
    assert all(id_ in plain for id_ in found)


def test_every_listed_id_opens_samples_too(ctxtui: Run, project: Path) -> None:
    for one in ctxtui("sessions", "--json").json["sessions"]:
        assert ctxtui("show", one["id"], "--json").code == 0, one


def test_a_list_tells_the_ages_that_home_tells(ctxtui: Run, project: Path) -> None:
    """A sample is as old as its installation: that says nothing."""
    for path, age in zip(sorted(project.iterdir()), (10, 130), strict=True):
        os.utime(path, (time.time() - age,) * 2)
    told = dict(line[2:].split(maxsplit=1) for line in ctxtui("sessions").out.splitlines()[1:])
    assert told[ClaudeCode(1).session].startswith("now  claude code")
    assert told[ClaudeCode(2).session].startswith("2 m  claude code")
    samples = [one["id"] for one in ctxtui("sessions", "--json").json["sessions"] if one["group"] == "samples"]
    assert samples and all(told[id_].startswith("sample ") for id_ in samples)


def test_two_files_with_one_id_are_told_apart_by_path(ctxtui: Run, project: Path, home: Path) -> None:
    copy = home / ".claude/projects/-else" / f"{ClaudeCode(1).session}.jsonl"
    copy.parent.mkdir()
    copy.write_bytes(claude_code(2))
    found = ids(ctxtui)
    assert str(copy) in found
    assert all(ctxtui("show", id_, "--json").code == 0 for id_ in found)
    several = ctxtui("show", ClaudeCode(1).session)
    assert several.code == 6
    assert str(copy) in several.err


def test_figures_are_read_and_remembered(ctxtui: Run, project: Path) -> None:
    (first, *_) = ctxtui("sessions", "--json", "--figures", "--limit", "1").json["sessions"]
    assert (first["calls"], first["model"], first["peak_tokens"]) == (2, "gpt-5-codex", 3200)
    assert "gpt-5" not in ctxtui("sessions").out
    again = ctxtui("sessions", "--json", "--figures", "--limit", "1").json["sessions"][0]
    assert again == first


def test_import_is_idempotent_and_follows_growth(ctxtui: Run, tmp_path: Path) -> None:
    session = ClaudeCode(5)
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(session.turns(1)))
    first = ctxtui("import", path, "--json").json["imported"][0]
    again = ctxtui("import", path, "--json").json["imported"][0]
    assert (first["new"], again["new"]) == (True, False)
    assert first["id"] == again["id"] == session.session
    with path.open("ab") as file:
        file.write(lines(session.turns(1, "more")))
    assert ctxtui("import", path, "--json").json["imported"][0]["calls"] == 4
    path.unlink()
    shown = ctxtui("show", session.session, "--json")
    assert shown.json["session"]["calls"] == 4
    assert ids(ctxtui) == [session.session]
    again_by_id = ctxtui("import", session.session)
    assert (again_by_id.code, again_by_id.out) == (0, "") and "in the database already" in again_by_id.err
    found = ctxtui("search", "more", "--session", session.session).out.splitlines()
    assert found[0].startswith(f"{session.session}  ") and " y " not in found[0], "no age of 56 years"


def test_import_names_what_it_cannot_read_and_goes_on(ctxtui: Run, tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_bytes(claude_code(1))
    (tmp_path / "bad.bin").write_bytes(b"\x7fELF\0")
    ran = ctxtui("import", tmp_path / "bad.bin", tmp_path / "good.jsonl", "--json")
    assert ran.code == 3
    assert len(ran.json["imported"]) == 1
    assert ran.json["failed"][0]["kind"] == "no context"
    ran = ctxtui("import", tmp_path / "gone", "nosuchid", tmp_path / "good.jsonl", "--json")
    assert ran.code == 5 and len(ran.json["imported"]) == 1
    assert [failure["kind"] for failure in ran.json["failed"]] == ["not found"] * 2


def test_the_gravest_reason_is_the_exit_code_of_an_import(
    ctxtui: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file without a context came first, then the disk was full."""
    (tmp_path / "none.json").write_text("{}")
    (tmp_path / "talk.jsonl").write_bytes(claude_code(2, 1))
    full = CtxtuiError("the disk is full", place="ctxtui.db")
    monkeypatch.setattr("ctxtui.store.store.Store.import_session", Mock(side_effect=full))
    ran = ctxtui("import", str(tmp_path / "none.json"), str(tmp_path / "talk.jsonl"), "--json")
    assert [one["code"] for one in ran.json["failed"]] == [3, 7] and ran.code == 7


def test_import_takes_every_recording_of_a_folder(ctxtui: Run, project: Path) -> None:
    assert len(ctxtui("import", project, "--json").json["imported"]) == 2
    assert ctxtui("import", project).out.count("already in the database, nothing new") == 2


def test_an_import_says_what_it_did(ctxtui: Run, tmp_path: Path) -> None:
    session = ClaudeCode()
    path = tmp_path / f"{session.session}.jsonl"
    path.write_bytes(lines(session.turns(1)))
    assert "  imported, " in ctxtui("import", path).out
    path.write_bytes(path.read_bytes() + lines(session.turns(1)))
    assert "  updated, " in ctxtui("import", path).out


@pytest.mark.parametrize("command", [["show"], ["repair"], ["pins"], ["curate", "--dry-run"], ["cache"]])
def test_last_is_this_directorys_newest_session(ctxtui: Run, project: Path, command: list[str]) -> None:
    ran = ctxtui(*command, "last")
    assert ran.code == 0, ran.err
    newest = ctxtui("last", "--json").json["session"]["path"]
    assert (ran.out, ran.err) == ((same := ctxtui(*command, newest)).out, same.err)


def test_last_is_a_chat_of_this_directory_where_that_is_the_newest(ctxtui: Run, project: Path) -> None:
    """Only the database holds what was said in a chat."""
    with offline() as running:
        where = ("--provider", "anthropic", "--base-url", running.url, "--model", "offline")
        chat = ctxtui("run", "say something", *where, "--json").json["metadata"]["session"]
    assert ids(ctxtui, "--here")[0] == chat
    newest = ctxtui("last", "--json").json["session"]
    assert newest == {"id": chat, "source": "ctxtui", "path": None, "stored": chat}
    assert ctxtui("show", "last", "--json").json["session"]["id"] == chat
    assert (
        ctxtui("cost", "--why", "last", "--json").json["total_usd"] == ctxtui("why", chat, "--json").json["total_usd"]
    )
    assert ctxtui("cost", "--why", "last", "--json").json["threads"] == ctxtui("why", chat, "--json").json["threads"]
    later = project / f"{ClaudeCode(2).session}.jsonl"
    os.utime(later)
    assert ctxtui("last", "--json").json["session"]["path"] == str(later)
    # The same, but the chat was put away.
    later.unlink()
    ctxtui("session", "archive", chat)
    assert ctxtui("last", "--json").json["session"]["stored"] is None


def test_a_chat_of_another_directory_is_not_this_ones_last(
    ctxtui: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with offline() as running:
        where = ("--provider", "anthropic", "--base-url", running.url, "--model", "offline")
        ctxtui("run", "say something", *where)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("PWD", str(elsewhere))
    monkeypatch.chdir(elsewhere)
    for command in (["last"], ["show", "last"], ["why"]):
        ran = ctxtui(*command)
        assert ran.code == 5 and "no session of this directory" in ran.err
    assert ids(ctxtui, "--here") == []


def test_a_database_of_a_newer_version_hides_no_recording(ctxtui: Run, project: Path) -> None:
    ctxtui("import", project)
    with closing(sqlite3.connect(database())) as conn, conn:
        conn.execute("PRAGMA user_version = 9999")
    newest = ctxtui("last", "--json")
    assert newest.json["session"]["source"] == "codex" and newest.err.count("the database was skipped: ") == 1
    for command in (["show", "last"], ["cost", "last"], ["why"]):
        ran = ctxtui(*command)
        assert ran.code == 0 and ran.err.count("the database was skipped: ") == 1, command
    for path in (*project.iterdir(), *project.parents[2].glob(".codex/**/*.jsonl")):
        path.unlink()
    assert "newer" in ctxtui("last").err


def test_what_was_deleted_is_in_no_file(ctxtui: Run, home: Path) -> None:
    word = "zebra9marker7"
    ran = ctxtui("run", f"find {word} in {word}.py", "--provider", "offline", "--json")
    session = ran.json["metadata"]["session"]
    ctxtui("rename", session, f"about {word}")
    ctxtui("tag", session, word)
    assert ctxtui("cost", "--all").code == 0 and ctxtui("db", "index").code == 0
    assert ctxtui("search", word, "--json").json["sessions"]

    def files() -> list[Path]:
        return [path for path in database().parent.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]

    assert files()
    for command in (("delete", session, "--yes"), ("db", "vacuum"), ("db", "index", "--anew")):
        assert ctxtui(*command).code == 0
    assert not files()


def test_stored_sessions_are_edited(ctxtui: Run, project: Path) -> None:
    id_ = ClaudeCode(1).session
    ctxtui("import", project / f"{id_}.jsonl")
    assert ctxtui("session", "rename", id_, "a better name").code == 0
    assert ctxtui("session", "tag", id_, "slow", "dear").code == 0
    (mine,) = [one for one in ctxtui("sessions", "--json").json["sessions"] if one["id"] == id_]
    assert (mine["title"], mine["tags"]) == ("a better name", ["dear", "slow"])
    assert ctxtui("session", "archive", id_).code == 0
    assert id_ not in ids(ctxtui)
    assert ids(ctxtui, "--archived") == [id_]
    assert ctxtui("session", "delete", id_, "--yes").code == 0
    assert id_ in ids(ctxtui), "the recording itself is still there"


FORMS = ["anthropic", "openai-chat", "openai-responses"]


@pytest.mark.parametrize("form", FORMS)
def test_export_to_bodies_names_what_is_lost(ctxtui: Run, tmp_path: Path, form: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(claude_code(2))
    ran = ctxtui("export", path, "--to", form, "--call", 2)
    body = json.loads(ran.out)
    assert body["model"] == "claude-opus-4-20250514"
    assert "not recorded: system prompt and tools" in ran.err
    out = tmp_path / "out.json"
    told = ctxtui("export", path, "--to", form, "--call", 2, "-o", out, "--json").json
    assert out.stat().st_mode & 0o777 == 0o600
    assert out.read_text() == ran.out
    assert (told["format"], told["call"], told["bytes"]) == (form, 2, out.stat().st_size)
    assert told["lost"]


def test_a_dash_is_standard_output(ctxtui: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(claude_code())
    monkeypatch.chdir(tmp_path)
    assert ctxtui("export", path, "--to", "anthropic", "-o", "-").out == ctxtui("export", path, "--to", "anthropic").out
    assert not (tmp_path / "-").exists()


def test_export_overwrites_nothing_unasked_and_never_a_recording(ctxtui: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "a.jsonl", tmp_path / "out.json"
    path.write_bytes(claude_code(1))
    out.write_text("mine")
    refused = ctxtui("export", path, "--to", "anthropic", "-o", out)
    assert refused.code == 7
    assert out.read_text() == "mine"
    assert ctxtui("export", path, "--to", "anthropic", "-o", out, "--force").code == 0
    assert out.read_text() != "mine"
    assert ctxtui("export", path, "--to", "anthropic", "-o", path, "--force").code == 7
    assert path.read_bytes() == claude_code(1)
    assert sorted(p.name for p in tmp_path.glob("*.json*")) == ["a.jsonl", "out.json"]


def test_export_in_our_own_format_comes_back_whole(ctxtui: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(claude_code(3))
    assert ctxtui("export", path, "-o", out).code == 0
    before, after = ctxtui("show", path, "--json").json, ctxtui("show", out, "--json").json
    for key in ("session", "call", "context_tokens", "blocks", "growth", "reported", "residual"):
        assert after[key] == before[key], key


@pytest.mark.parametrize("form", FORMS)
def test_what_was_exported_opens_again(ctxtui: Run, tmp_path: Path, form: str) -> None:
    path, out = tmp_path / "a.jsonl", tmp_path / "out.json"
    path.write_bytes(claude_code(2))
    ctxtui("export", path, "--to", form, "-o", out)
    found = ctxtui("show", out, "--json")
    assert found.code == 0, found.err
    assert {"user", "assistant", "tool_call", "tool_result"} <= set(found.json["categories"])
