"""Sessions are found where every client writes them, and nowhere else."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ctxtui.services.config.clients import CLIENTS as KNOWN
from ctxtui.services.config.clients import find_client
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.discover import FoundRecording, find_recordings, read_directories, recording_at
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.registry import FORMATS
from tests.cases import client_homes
from tests.cases.client_homes import AT, CLIENTS, UUIDS, home_of_all, opencode, opencode_files, tables, write
from tests.corpus import need_corpus


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def shop(home: Path) -> Path:
    folder = home / "src/shop"
    folder.mkdir(parents=True)
    return folder


def found_in(home: Path, cwd: Path, **env: str) -> list[FoundRecording]:
    return find_recordings(cwd, {"HOME": str(home), **env})


def by_client(found: list[FoundRecording]) -> dict[str, list[FoundRecording]]:
    told: dict[str, list[FoundRecording]] = {}
    for one in found:
        client = find_client(one.source)
        assert client is not None
        told.setdefault(client.name, []).append(one)
    return told


def test_every_client_has_a_format_that_reads_it() -> None:
    assert [client.name for client in KNOWN] == list(CLIENTS)
    assert {client.source for client in KNOWN} <= {form.name for form in FORMATS}


def test_every_clients_sessions_are_found_and_opened(home: Path, shop: Path) -> None:
    files = home_of_all(home, shop)
    told = by_client(found_in(home, shop))
    assert told.keys() == files.keys()
    for name, found in told.items():
        assert len(found) == (2 if name in ("opencode", "llm") else 1), name
        for one in found:
            loaded = load(one.path)
            assert loaded.source == one.source and loaded.session.calls, name


def test_a_session_is_called_by_its_own_id(home: Path, shop: Path) -> None:
    home_of_all(home, shop)
    ids = {name: [one.id for one in found] for name, found in by_client(found_in(home, shop)).items()}
    assert ids == {
        **{name: [id_] for name, id_ in UUIDS.items()},
        "opencode": ["ses_one", "ses_two"],
        "goose": ["20261122_1"],
        "cline": ["1790000000000_abcde"],
        "gemini-cli": ["session-2026-11-22T09-00-gemini01"],
        "llm": ["01m819two", "01m819one"],
        "aider": ["shop.aider.chat.history"],
        "mini-swe-agent": ["last_mini_run"],
        "attached": ["run-12345678"],
    }


def test_where_a_session_ran_is_told_as_far_as_its_client_does(home: Path, shop: Path) -> None:
    home_of_all(home, shop)
    found = list(read_directories(found_in(home, shop), (shop,)))
    for name, mine in by_client(found).items():
        known = name not in ("llm", "kimi-code", "mini-swe-agent")
        assert {(one.cwd, one.group) for one in mine} == {(str(shop), "here") if known else ("", "elsewhere")}, name
    elsewhere = list(read_directories(found_in(home, home / "other"), (home / "other",)))
    assert {one.group for one in elsewhere} == {"elsewhere"}


def test_a_clients_variables_move_it(home: Path, shop: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    home_of_all(moved, shop)
    env = {
        "CLAUDE_CONFIG_DIR": moved / ".claude", "CODEX_HOME": moved / ".codex", "XDG_DATA_HOME": moved / ".local/share",
        "PI_CODING_AGENT_DIR": moved / ".pi/agent", "GEMINI_CLI_HOME": moved,
        "QWEN_HOME": moved / ".qwen", "KIMI_CODE_HOME": moved / ".kimi-code",
        "CONTINUE_GLOBAL_DIR": moved / ".continue", "CLINE_DIR": moved / ".cline", "COPILOT_HOME": moved / ".copilot",
        "LLM_USER_PATH": moved / ".config/io.datasette.llm",
        "MSWEA_GLOBAL_CONFIG_DIR": moved / ".config/mini-swe-agent",
    }  # fmt: skip
    assert by_client(found_in(home, shop)).keys() == {"aider"}
    assert by_client(found_in(home, shop, **{name: str(path) for name, path in env.items()})).keys() == set(CLIENTS)
    named = {variable for client in KNOWN for variable in client.variables}
    assert named <= set(client_homes.MOVERS) and env.keys() <= named


def test_the_configurations_folder_moves_those_that_live_there(home: Path, shop: Path, tmp_path: Path) -> None:
    home_of_all(tmp_path / "moved", shop)
    found = found_in(home, shop, XDG_CONFIG_HOME=str(tmp_path / "moved/.config"))
    assert by_client(found).keys() == {"llm", "mini-swe-agent", "aider"}


@pytest.mark.parametrize("name", CLIENTS)
def test_each_client_can_be_switched_off(home: Path, shop: Path, name: str) -> None:
    home_of_all(home, shop)
    found = find_recordings(shop, {"HOME": str(home)}, clients={name: False})
    assert by_client(found).keys() == set(CLIENTS) - {name}


def test_a_session_in_the_database_and_in_older_files_is_listed_once(home: Path, shop: Path) -> None:
    data = home / ".local/share/opencode"
    made = opencode(shop)
    tables(data / "opencode.db", made)
    opencode_files(data / "storage", made)
    opencode_files(data / "storage", opencode(shop, ("ses_three",)))
    files = [one for one in found_in(home, shop) if "#" not in one.file and one.id != "ses_three_child"]
    assert [one.id for one in found_in(home, shop) if "#" in one.file] == ["ses_one", "ses_two"]
    assert {one.id for one in files} == {"ses_three", "ses_one_child"}


def test_a_child_in_a_file_of_its_own_goes_with_its_parent(home: Path, shop: Path) -> None:
    opencode_files(home / ".local/share/opencode/storage", opencode(shop, ("ses_three",)))
    found = list(read_directories(found_in(home, shop), (shop,)))
    assert [(one.id, one.cwd, one.group) for one in found] == [("ses_three", str(shop), "here")]


def test_databases_of_other_channels_and_other_places_count(home: Path, shop: Path, tmp_path: Path) -> None:
    tables(home / ".local/share/opencode/opencode-beta.db", opencode(shop, ("ses_beta",)))
    tables(tmp_path / "mine.db", opencode(shop, ("ses_mine",)))
    assert {one.id for one in found_in(home, shop, OPENCODE_DB=str(tmp_path / "mine.db"))} == {"ses_beta", "ses_mine"}


def test_a_session_written_in_a_database_meanwhile_is_seen(home: Path, shop: Path) -> None:
    path = tables(home / ".local/share/opencode/opencode.db", opencode(shop))
    assert len(found_in(home, shop)) == 2
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        for table, rows in opencode(shop, ("ses_new",), AT + 1000).items():
            for row in rows:
                values: list[Any] = [json.dumps(v) if isinstance(v, dict) else v for v in row.values()]
                names, marks = ", ".join(row), ", ".join("?" * len(row))
                connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)
        connection.commit()
        found = found_in(home, shop)
    connection.close()
    assert [one.id for one in found] == ["ses_new", "ses_one", "ses_two"]
    assert found[0].title == "opencode ses_new" and found[0].version == "1.18.33"
    assert found[0].mtime == pytest.approx(AT + 1001, abs=1)
    assert recording_at(found[0].path) == found[0]._replace(group="elsewhere")


def test_a_damaged_database_is_listed_as_it_is(home: Path, shop: Path) -> None:
    path = write(home / ".config/io.datasette.llm/logs.db", b"SQLite format 3\0" + b"broken" * 100)
    (found,) = found_in(home, shop)
    assert (found.path, found.source) == (path, "llm")


def test_what_is_no_session_is_passed_over(home: Path, shop: Path) -> None:
    write(home / f".gemini/tmp/shop/chats/{UUIDS['pi']}/sub.jsonl", b"{}")
    write(home / ".gemini/tmp/shop/logs/session-1.jsonl", b"{}")
    write(home / ".copilot/session-state/x/other.jsonl", b"{}")
    write(home / ".claude/projects/-p/index.jsonl", b"{}")
    write(home / ".local/share/opencode/auth.json", b"{}")
    write(home / ".config/mini-swe-agent/.env", b"")
    write(shop / ".aider.input.history", b"x")
    write(shop / ".aider.llm.history", b"")
    (home / ".claude/projects/-p/folder.jsonl").mkdir()
    os.mkfifo(home / ".claude/projects/-p/pipe.jsonl")
    assert found_in(home, shop) == []


def test_older_folders_of_gemini_cli_are_told_by_their_name(home: Path, shop: Path) -> None:
    folder = home / ".gemini/tmp" / client_homes.older_gemini_folder(shop)
    write(folder / "chats/session-2026-01-01T09-00-abc.json", client_homes.gemini_cli())
    (found,) = found_in(home, shop)
    assert (found.cwd, found.group) == (str(shop), "here")


def test_aider_is_found_above_and_in_projects_that_others_know(home: Path, shop: Path) -> None:
    others = [home / "src" / name for name in ("by-claude", "by-codex", "by-gemini", "by-opencode")]
    for folder in (shop, *others):
        write(folder / ".aider.chat.history.md", client_homes.aider())
    inner = shop / "deep/er"
    inner.mkdir(parents=True)
    write(home / ".claude.json", json.dumps({"numStartups": 3, "projects": {str(others[0]): {}}}).encode())
    write(home / ".codex/config.toml", f'[projects."{others[1]}"]\ntrust_level = "trusted"\n'.encode())
    write(home / ".gemini/projects.json", json.dumps({"projects": {str(others[2]): "by-gemini"}}).encode())
    tables(home / ".local/share/opencode/opencode.db", opencode(others[3]))
    found = by_client(found_in(home, inner))["aider"]
    assert {one.cwd for one in found} == {str(shop), *map(str, others)}


def test_aiders_other_files_are_found_by_what_it_was_told(home: Path, shop: Path) -> None:
    log = b"TO LLM 2026-11-22T09:38:51\n-------\nUSER hello\nLLM RESPONSE 2026-11-22T09:38:52\nASSISTANT hi\n"
    write(shop / ".aider.conf.yml", b"model: x\nllm-history-file: 'log/calls.txt'\nchat-history-file: chat.md # here\n")
    for name in ("log/calls.txt", "chat.md", ".aider.llm.history", "by-variable.log"):
        write(shop / name, log)
    found = found_in(home, shop, AIDER_LLM_HISTORY_FILE="by-variable.log")
    assert {one.path.name for one in found} == {"calls.txt", "chat.md", ".aider.llm.history", "by-variable.log"}
    assert len({one.id for one in found}) == 4


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"projects": 3}', b"\xff\xfe", b'{"projects": ["/a"]}'])
def test_a_damaged_file_of_projects_stops_nothing(home: Path, shop: Path, damage: bytes) -> None:
    for name in (".claude.json", ".codex/config.toml", ".gemini/projects.json"):
        write(home / name, damage)
    home_of_all(home, shop)
    assert by_client(found_in(home, shop)).keys() == set(CLIENTS)


def test_the_setting_names_clients_only(home: Path) -> None:
    from ctxtui.core.errors import BadConfig
    from ctxtui.services.config.config import load as load_config

    env = {"HOME": str(home)}
    table = load_config(["clients={aider=false, pi=true}"], env=env, cwd=home, user=home / "none").settings.clients
    assert table == {"aider": False, "pi": True} and Settings().clients == {}
    for wrong in ("{cursor=false}", "{pi=3}", "3"):
        with pytest.raises(BadConfig, match="clients must be"):
            load_config([f"clients={wrong}"], env=env, cwd=home, user=home / "none")


REAL = {
    "claude-code": ("claude-code-2.1.*/*/*-*-*-*.jsonl", ".claude/projects/-home-dev-shop"),
    "codex": ("codex-0.169.0/*/rollout-*.jsonl", ".codex/sessions/2026/11/22"),
    "opencode": ("opencode-*/opencode.db", ".local/share/opencode"),
    "pi": ("pi-*/*.jsonl", ".pi/agent/sessions/--home-dev-shop--"),
    "llm": ("llm-*/logs.db", ".config/io.datasette.llm"),
    "mini-swe-agent": ("mini-swe-agent-*/*.traj.json", ".config/mini-swe-agent"),
}


@pytest.mark.parametrize("name", REAL)
def test_what_real_clients_wrote_is_found_and_told_of(home: Path, shop: Path, name: str) -> None:
    from ctxtui.services.library.glances import read_glance

    pattern, folder = REAL[name]
    originals = need_corpus("clients", pattern)
    for original in originals:
        write(home / folder / original.name, original.read_bytes())
    found = by_client(found_in(home, shop))
    assert found.keys() == {name} and len(found[name]) >= len(originals)
    for one in read_directories(found[name], (Path("/home/dev/shop"),)):
        told = read_glance(one.path, one.source)
        assert one.title or told.title, one.file
        assert (one.version or told.version) or name in ("pi", "llm"), one.file
        assert (one.cwd or told.cwd) or name in ("llm", "mini-swe-agent"), one.file
        assert load(one.path).source == one.source
