"""Folders of bodies that Claude Code writes: where they may be, and which file belongs to which session."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxtui.core.errors import NotFound, Several
from ctxtui.services.recordings.body_folder import (
    BodyFolder,
    body_folders_for,
    configured_folder,
    find_body_session,
    holds_bodies,
    is_body_folder,
)

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"


def request(folder: Path, name: str, session: str, at: int) -> None:
    body = {"model": "m", "messages": [], "metadata": {"user_id": json.dumps({"session_id": session})}, "stream": True}
    write(folder, f"{name}.request.json", json.dumps(body), at)


def write(folder: Path, name: str, text: str, at: int) -> None:
    path = folder / name
    path.write_text(text)
    os.utime(path, (at, at))


def test_a_folder_of_bodies_is_known_by_its_names() -> None:
    assert holds_bodies(["a-b.request.json"])
    assert holds_bodies(["index.jsonl", "req_1.response.json"])
    assert not holds_bodies(["index.jsonl", "session.jsonl"])
    assert not holds_bodies(["my request.request.json"])
    assert not is_body_folder(Path("/nowhere"))


def test_the_setting_names_the_folder_else_the_clients_own_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_LOG_RAW_API_BODIES", "1")
    assert configured_folder() is None
    monkeypatch.setenv("OTEL_LOG_RAW_API_BODIES", f"file:{tmp_path}")
    assert configured_folder() == tmp_path
    config = tmp_path / "config.toml"
    config.write_text('raw_api_bodies = "/theirs"\n')
    monkeypatch.setenv("CTXTUI_CONFIG", str(config))
    assert configured_folder() == Path("/theirs")
    monkeypatch.setenv("CTXTUI_RAW_API_BODIES", "/mine")
    assert configured_folder() == Path("/mine")


def test_a_transcript_has_its_own_folder_the_one_beside_it_and_the_named_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_LOG_RAW_API_BODIES", "file:/named")
    found = body_folders_for(tmp_path / f"{ONE}.jsonl")
    assert found == (tmp_path, tmp_path / "raw-api-bodies", Path("/named"))


def test_bodies_are_told_apart_by_the_index_else_by_what_a_request_says_itself(tmp_path: Path) -> None:
    request(tmp_path, "a", TWO, 10)
    write(tmp_path, "req_a.response.json", "{}", 11)
    request(tmp_path, "b", ONE, 12)
    write(tmp_path, "req_b.response.json", "{}", 13)
    request(tmp_path, "c", ONE, 14)
    line = {"session_id": ONE, "request_file": "a.request.json", "response_file": "req_a.response.json"}
    write(tmp_path, "index.jsonl", json.dumps(line) + "\n{broken\n", 15)
    folder = BodyFolder(tmp_path)
    assert folder.list_sessions() == [ONE]
    names = [path.name for path in folder.list_files([ONE])]
    assert names == [
        "index.jsonl",
        "a.request.json",
        "req_a.response.json",
        "b.request.json",
        "req_b.response.json",
        "c.request.json",
    ]
    assert folder.list_files([TWO]) == []


def test_a_folder_is_looked_at_again_when_a_body_or_a_line_of_the_index_came(tmp_path: Path) -> None:
    request(tmp_path, "a", ONE, 10)
    os.utime(tmp_path, (20, 20))
    folder = BodyFolder(tmp_path)
    assert len(folder.list_files([ONE])) == 1
    assert not folder.has_changed()
    request(tmp_path, "b", ONE, 12)
    assert folder.has_changed()
    assert len(folder.list_files([ONE])) == 2
    os.utime(tmp_path, (30, 30))
    folder.list_files([ONE])
    write(tmp_path, "index.jsonl", '{"cut', 15)
    os.utime(tmp_path, (30, 30))
    assert folder.has_changed()
    folder.list_files([ONE])
    assert not folder.has_changed()


def test_a_file_that_cannot_be_read_names_no_session(tmp_path: Path) -> None:
    write(tmp_path, "a.request.json", "", 1)
    (tmp_path / "gone.request.json").symlink_to(tmp_path / "nothing")
    request(tmp_path, "b", ONE, 2)
    assert BodyFolder(tmp_path).list_sessions() == ["", ONE]


@pytest.mark.parametrize("padding", [10, 100_000])
def test_a_session_is_found_wherever_the_request_names_it(tmp_path: Path, padding: int) -> None:
    body = {"metadata": {"user_id": f"user_x_account__session_id: {ONE}"}, "model": "m", "messages": ["x" * padding]}
    write(tmp_path, "a.request.json", json.dumps(body), 1)
    assert BodyFolder(tmp_path).list_sessions() == [ONE]


def test_the_beginning_of_an_id_names_one_session_or_says_which_it_may_be(tmp_path: Path) -> None:
    request(tmp_path, "a", ONE, 10)
    request(tmp_path, "b", ONE[:-1] + "2", 11)
    for name, error, words in ((ONE[:8], Several, "fits 2 sessions"), ("nothing", NotFound, "no session nothing")):
        with pytest.raises(error, match=words):
            find_body_session(tmp_path / f"../{tmp_path.name}#{name}")
    session = find_body_session(tmp_path.parent / f"{tmp_path.name}#{ONE}")
    assert session is not None and session.id == ONE
