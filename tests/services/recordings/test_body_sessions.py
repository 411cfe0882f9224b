"""Folders of bodies that Claude Code wrote, opened: with the transcript that is found, one session by itself, or one of
several; and followed while the client runs."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from ctxtui.core.call import Call, Fidelity
from ctxtui.core.errors import NotFound
from ctxtui.core.session import MAIN, Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.discover import find_recordings
from ctxtui.services.recordings.folder_scan import find_in_folder
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.open_by_name import locate
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from tests.cases.claude_bodies import AGENT, SESSION, BodyCase, body_case
from tests.corpus import need_corpus

OTHER = "99999999-0000-4000-8000-000000000002"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    for name in ("CLAUDE_CONFIG_DIR", "OTEL_LOG_RAW_API_BODIES", "CTXTUI_RAW_API_BODIES"):
        monkeypatch.delenv(name, raising=False)
    return place


def write_bodies(folder: Path, case: BodyCase, start: int = 1_000_000) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for n, (name, data) in enumerate(case.bodies.items()):
        if name == "index.jsonl" and (folder / name).exists():
            data = (folder / name).read_bytes() + data
        (folder / name).write_bytes(data)
        os.utime(folder / name, (start + n, start + n))
    return folder


def write_transcript(folder: Path, case: BodyCase, session: str = SESSION) -> Path:
    inner = folder / session / "subagents"
    inner.mkdir(parents=True, exist_ok=True)
    (folder / f"{session}.jsonl").write_bytes(case.transcript)
    (inner / f"agent-{AGENT}.jsonl").write_bytes(case.agent)
    return folder / f"{session}.jsonl"


def body_of(session: Session, call: Call) -> bytes:
    assert call.skeleton is not None
    request = Request(tuple(session.tree.items(call.raw_head)), call.skeleton)
    return encode(request)


def all_sent(session: Session, case: BodyCase) -> bool:
    calls = {id_: call for id_, call in session.calls.items() if not call.error}
    return all(body_of(session, call) == case.sent[id_] for id_, call in calls.items())


def test_a_transcript_finds_the_bodies_beside_it(tmp_path: Path) -> None:
    case = body_case()
    path = write_transcript(tmp_path / "one", case)
    before = load(path).session
    assert {call.fidelity for call in before.calls.values()} == {Fidelity.TRANSCRIPT}
    write_bodies(tmp_path / "one" / "raw-api-bodies", case)
    session = load(path).session
    assert len(session.calls) == len(before.calls) + 3
    assert all_sent(session, case)


@pytest.mark.parametrize("where", ["own folder", "variable", "setting"])
def test_a_transcript_finds_the_bodies_where_they_are(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = body_case()
    path = write_transcript(tmp_path / "one", case)
    folder = write_bodies(tmp_path / ("one" if where == "own folder" else "elsewhere"), case)
    if where == "variable":
        monkeypatch.setenv("OTEL_LOG_RAW_API_BODIES", f"file:{folder}")
    if where == "setting":
        monkeypatch.setenv("CTXTUI_RAW_API_BODIES", str(folder))
    assert all_sent(load(path).session, case)


def test_a_folder_with_bodies_of_many_sessions_gives_each_its_own(tmp_path: Path) -> None:
    one, two = body_case(), body_case(session=OTHER, prefix="9")
    path = write_transcript(tmp_path / "project", one)
    folder = write_bodies(tmp_path / "project" / "raw-api-bodies", one)
    write_bodies(folder, two, 2_000_000)
    session = load(path).session
    assert {id_ for id_ in session.calls if id_ in one.sent} == one.sent.keys() - {"msg_02"}
    assert all_sent(session, one)


def test_bodies_in_the_folder_of_the_transcripts_are_no_sessions_of_their_own(tmp_path: Path, home: Path) -> None:
    case = body_case()
    project = home / ".claude" / "projects" / "-home-ada-shop"
    path = write_transcript(project, case)
    write_bodies(project, case)
    assert [one.path for one in find_recordings(tmp_path)] == [path]
    assert find_in_folder(project) == [path]


def test_a_list_has_one_session_for_a_folder_of_bodies(tmp_path: Path) -> None:
    case = body_case()
    folder = write_bodies(tmp_path / "logs" / "bodies", case)
    assert find_in_folder(tmp_path / "logs") == [folder]
    (folder / "1-prompt.txt").write_text("a job's")
    assert find_in_folder(tmp_path / "logs") == [folder]
    path = write_transcript(tmp_path / "logs", case)
    assert find_in_folder(tmp_path / "logs") == [path]


def test_a_folder_of_bodies_opens_as_its_session(tmp_path: Path) -> None:
    case = body_case()
    folder = write_bodies(tmp_path / "bodies", case)
    for named in (folder, folder / "index.jsonl"):
        session = load(named).session
        assert session.about.id == SESSION
        assert [call.id for call in session.thread_calls(MAIN)][-1] == "msg_09"
        assert {call.fidelity for call in session.calls.values()} == {Fidelity.WIRE}


def test_a_folder_of_bodies_opens_with_the_transcript_that_the_client_keeps(tmp_path: Path, home: Path) -> None:
    case = body_case()
    folder = write_bodies(tmp_path / "bodies", case)
    path = write_transcript(home / ".claude" / "projects" / "-home-ada-shop", case)
    loaded = load(folder)
    assert loaded.path == path
    assert all_sent(loaded.session, case)


def test_one_of_several_sessions_is_named_behind_the_folder(tmp_path: Path) -> None:
    folder = write_bodies(tmp_path / "bodies", body_case())
    write_bodies(folder, body_case(session=OTHER, prefix="9"), 2_000_000)
    named = locate(str(folder), tmp_path, Settings())
    assert [str(path) for path in (named.path, *named.others)] == [f"{folder}#{OTHER}", f"{folder}#{SESSION}"]
    assert load(Path(f"{folder}#{SESSION}")).session.about.id == SESSION
    assert load(Path(f"{folder}#{OTHER}")).session.about.id == OTHER
    with pytest.raises(NotFound):
        load(Path(f"{folder}#0000"))


def test_bodies_without_an_index_open_as_well(tmp_path: Path) -> None:
    case = body_case(index=False)
    folder = write_bodies(tmp_path / "raw-api-bodies", case)
    assert load(folder).session.about.id == SESSION
    path = write_transcript(tmp_path, case)
    assert all_sent(load(path).session, case)


def test_new_bodies_are_followed_with_the_transcript(tmp_path: Path) -> None:
    case = body_case()
    path = write_transcript(tmp_path, case)
    lines = case.transcript.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]))
    (path.parent / SESSION / "subagents" / f"agent-{AGENT}.jsonl").unlink()
    folder = tmp_path / "raw-api-bodies"
    folder.mkdir()
    loaded = load(path)
    index = case.bodies["index.jsonl"].splitlines(keepends=True)
    waiting = [name for name in case.bodies if name != "index.jsonl"]
    counts = [len(loaded.session.calls)]
    for line in index:
        named = json.loads(line)
        while waiting and named["response_file"] not in {path.name for path in folder.iterdir()}:
            (folder / waiting[0]).write_bytes(case.bodies[waiting.pop(0)])
        with (folder / "index.jsonl").open("ab") as file:
            file.write(line)
        loaded.more()
        counts.append(len(loaded.session.calls))
    for line in lines[2:]:
        with path.open("ab") as file:
            file.write(line)
        loaded.more()
    write_transcript(tmp_path, case)
    loaded.more()
    loaded.more()
    assert counts == sorted(counts)
    assert loaded.session.calls.keys() == load(path).session.calls.keys()
    assert all_sent(loaded.session, case)
    assert loaded.session.threads.keys() == load(path).session.threads.keys()


def test_the_recording_of_a_real_client_has_every_request_as_it_went_over_the_wire(tmp_path: Path) -> None:
    place = need_corpus("clients/claude-code-2.1.330/subagents-otel", "*.jsonl")[0].parent
    sent = wire_requests(place / "wire.jsonl")
    transcript = next(path for path in place.glob("*.jsonl") if path.name != "wire.jsonl")
    session = load(transcript).session
    assert len(session.calls) == len(sent) == 12
    assert {body_of(session, call).decode() for call in session.calls.values()} == set(sent)
    assert {call.fidelity for call in session.calls.values()} == {Fidelity.WIRE}

    alone = tmp_path / "bodies"
    shutil.copytree(place / "raw-api-bodies", alone)
    bodies = load(alone).session
    assert bodies.calls.keys() == session.calls.keys()
    sizes = [sorted(len(s.thread_calls(thread)) for thread in s.threads) for s in (session, bodies)]
    assert sizes == [[3, 3, 6], [3, 3, 6]]
    assert {id_: call.usage for id_, call in bodies.calls.items()} == {
        id_: call.usage for id_, call in session.calls.items()
    }


def wire_requests(path: Path) -> list[str]:
    """The texts of the requests in a wire file: a line may name an earlier one whose beginning and end it shares."""
    found: dict[int, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        exchange = json.loads(line)
        text = exchange["request"]
        if isinstance(text, dict):
            like = found[text["like"]]
            text = like[: text["head"]] + text["middle"] + like[len(like) - text["tail"] :]
        found[exchange["n"]] = text
    return list(found.values())


def test_an_address_in_the_working_directory_needs_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_bodies(tmp_path / "bodies", body_case())
    write_bodies(folder, body_case(session=OTHER, prefix="9"), 2_000_000)
    monkeypatch.chdir(tmp_path)
    for session in (SESSION, OTHER):
        path = locate(f"bodies#{session[:13]}", tmp_path, Settings()).path
        assert path is not None and load(path).session.about.id == session
