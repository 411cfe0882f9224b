"""Which recordings a running client owns, by a folder that looks like /proc."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.services.config.clients import CLIENTS
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.config.projects import folder_name
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.recordings import live_clients
from ctxtui.services.recordings.discover import SAMPLES, find_recordings, watched_paths
from ctxtui.services.recordings.live_clients import RunningClient, find_owned, is_owned, running_clients
from tests.services.library.test_library import home, recording  # noqa: F401

UP = 5000.0
TICKS = os.sysconf("SC_CLK_TCK")


def running(cwd: str, since: float, *files: str) -> RunningClient:
    client = next(client for client in CLIENTS if client.name == "claude-code")
    return RunningClient(cwd, since, frozenset(files), client)


def process(proc: Path, number: int, words: list[str], cwd: Path, age: float, files: tuple[Path, ...] = ()) -> None:
    folder = proc / str(number)
    (folder / "fd").mkdir(parents=True)
    (folder / "cmdline").write_bytes(b"\0".join(word.encode() for word in words) + b"\0")
    started = int((UP - age) * TICKS)
    (folder / "stat").write_text(f"{number} (a name) with) S " + " ".join(["0"] * 18) + f" {started} 0 0\n")
    (folder / "cwd").symlink_to(cwd)
    for handle, file in enumerate(files):
        (folder / "fd" / str(handle)).symlink_to(file)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    live_clients._cached_clients.cache_clear()
    folder = tmp_path / "proc"
    folder.mkdir()
    (folder / "uptime").write_text(f"{UP} 1.0\n")
    return folder


def test_clients_are_told_from_other_processes(proc: Path, tmp_path: Path) -> None:
    rollout = tmp_path / "rollout-1.jsonl"
    process(proc, 10, ["claude"], tmp_path, 60)
    process(proc, 11, ["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"], tmp_path, 50)
    process(proc, 12, ["/usr/bin/codex", "resume"], tmp_path, 40, (rollout, tmp_path / "log.txt"))
    process(proc, 13, ["vim", "claude.md"], tmp_path, 30)
    process(proc, 15, ["vim", "/home/u/claude-code/notes.md"], tmp_path, 30)
    process(proc, 16, ["python3", "/w/claude-code-tools/x.py"], tmp_path, 30)
    process(proc, 17, ["man", "pi"], tmp_path, 30)
    (proc / "14").mkdir()
    (proc / "self").mkdir()
    found = sorted(running_clients(proc), key=lambda one: one.since)
    assert [round(time.time() - one.since) for one in found] == [60, 50, 40]
    assert found[2].files == {str(rollout)} and found[0].cwd == str(tmp_path)


def test_where_the_system_does_not_tell_there_is_none(tmp_path: Path) -> None:
    live_clients._cached_clients.cache_clear()
    assert running_clients(tmp_path / "none") == ()


def test_the_newest_session_of_a_clients_directory_is_its(home: Path) -> None:  # noqa: F811
    now = time.time()
    for age, name in ((9000, "older"), (4000, "newer")):
        os.utime(recording(home, name, b"{}\n", folder_name(home)), (now - age, now - age))
    elsewhere = recording(home, "elsewhere", b"{}\n", "-other")
    os.utime(elsewhere, (now - 4000, now - 4000))
    found = find_recordings(home)
    newer = next(one.path for one in found if one.id == "newer")
    one, two = running(str(home), now - 5000), running(str(home), now - 9500)
    assert find_owned(found, [one]) == {str(newer)}
    assert len(find_owned(found, [one, two])) == 2
    assert find_owned(found, [running(str(home), now - 100)]) == frozenset(), "it has written nothing yet"
    assert find_owned(found, []) == frozenset()
    assert is_owned(newer, [one]) and not is_owned(newer.with_name("older.jsonl"), [one])
    assert find_owned(found, [running("/x", now, str(elsewhere))]) == {str(elsewhere)}


@pytest.mark.parametrize("name", ["session.json", ".aider.chat.history.md", "agent-a1.jsonl", "session.jsonl"])
def test_a_file_that_a_client_holds_open_is_its(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(b"{}\n")
    holder, other = running("/x", 0, str(file)), running("/x", 0)
    assert is_owned(file, [other, holder]) and not is_owned(file, [other])


def test_home_marks_a_waiting_session_live(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    now = time.time()
    path = recording(home, "waiting", b"{}\n", folder_name(home))
    os.utime(path, (now - 4000, now - 4000))
    clients: list[RunningClient] = []
    monkeypatch.setattr("ctxtui.services.library.library.running_clients", lambda: tuple(clients))
    shelf = SessionLibrary(Settings(), home)
    (seen,) = [one for one in shelf.list_fast() if one.path == str(path)]
    assert not seen.live
    clients.append(running(str(home), now - 5000))
    (changed,) = shelf.find_changed([seen])
    assert changed.live
    clients.clear()
    assert not shelf.find_changed([changed])[0].live


def test_any_known_client_owns_the_newest_session_of_its_directory(
    proc: Path,
    home: Path,  # noqa: F811
) -> None:
    from tests.cases.client_homes import home_of_all

    shop = home / "shop"
    shop.mkdir()
    home_of_all(home, shop)
    for number, words in enumerate(
        (["opencode"], ["node", "/usr/lib/node_modules/@google/gemini-cli/x.js"], ["pi"]), 20
    ):
        process(proc, number, words, shop, 60)
    process(proc, 30, ["/venv/bin/python", "/venv/bin/aider"], shop / "..", 60)
    running = [replace(one, since=0.0) for one in running_clients(proc)]
    assert {one.client.name for one in running if one.client} == {"opencode", "gemini-cli", "pi", "aider"}
    mine = find_owned(find_recordings(shop, {"HOME": str(home)}), running)
    assert sorted(Path(file).name for file in mine) == sorted(
        [
            "opencode.db#ses_one",
            "session-2026-11-22T09-00-gemini01.jsonl",
            next((home / ".pi").rglob("*.jsonl")).name,
        ]
    )


def test_a_new_session_in_a_database_is_noticed(home: Path, tmp_path: Path) -> None:  # noqa: F811
    import sqlite3

    from tests.cases.client_homes import opencode, tables

    path = tables(home / ".local/share/opencode/opencode.db", opencode(home))
    shelf = SessionLibrary(Settings(), home)
    before = shelf.list_fast()
    samples = {str(Path(one.path).parent) for one in before if one.group == SAMPLES}
    assert samples and samples.isdisjoint(watched_paths(find_recordings(home, samples=sample_paths()), {}, {}))
    assert not shelf.folders_changed()
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO session (id, title, time_updated) VALUES ('ses_new', 'new', 1)")
        connection.execute("INSERT INTO message (id, session_id) VALUES ('m', 'ses_new')")
    connection.close()
    assert shelf.folders_changed()
    assert {one.id for one in shelf.list_fast()} - {one.id for one in before} == {"ses_new"}
    off = SessionLibrary(Settings(clients={"opencode": False}), home)
    assert not [one for one in off.list_fast() if one.source == "opencode"]
