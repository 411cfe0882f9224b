"""The law of the first pass: what calls used is the same, read for that alone or with all contexts, on every file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.call import ANSWER_LEAST
from ctxtui.core.errors import CtxtuiError, NoContext
from ctxtui.core.session import Session
from ctxtui.services.recordings import open as opened
from ctxtui.services.recordings.open import load, load_usage, open_recording, read_to_end
from ctxtui.transcripts.reader import NeedsContexts
from tests.cases.claude_code import generate, with_subagents
from tests.cases.claude_code_odd import ODDITIES, files_of_one_session
from tests.cases.claude_code_requests import parallel
from tests.corpus import every_recording, need_corpus
from tests.services.lookalike import claude_code

PRICED_BY = ("service_tier", "processing", "speed", "inference_geo", "server_tool_use", "usage", "iterations")


def used(session: Session) -> list[tuple[Any, ...]]:
    """What is told of calls, in their order."""
    return [
        (
            call.id,
            call.thread,
            session.threads[call.thread].label,
            call.model,
            call.provider,
            call.started,
            call.ended,
            call.usage,
            call.output,
            call.stop_reason,
            call.extra.get(ANSWER_LEAST),
            [call.extra.get(key) for key in PRICED_BY],
        )
        for call in session.calls.values()
    ]


def told(session: Session) -> tuple[str, ...]:
    about = session.about
    return about.source, about.id, about.title, about.cwd, about.version, session.model


def alike(path: Path) -> Session:
    """The recording at `path`, of which both ways of reading say the same."""
    try:
        whole = load(path).session
    except CtxtuiError as error:
        with pytest.raises(type(error)):
            load_usage(path)
        return Session()
    least = load_usage(path).session
    assert used(least) == used(whole)
    assert told(least) == told(whole)
    return whole


def light(path: Path) -> bool:
    """Whether no context was needed."""
    try:
        read_to_end(*open_recording(path, usage=True))
    except NeedsContexts:
        return False
    except NoContext:
        pass
    return True


@pytest.mark.parametrize("path", every_recording())
def test_usage_is_that_of_the_whole_recording(path: Path) -> None:
    alike(path)


def test_most_recordings_of_the_client_need_no_contexts() -> None:
    files = [path for path in need_corpus("claude_code", "*.jsonl") if "agent-" not in path.name]
    assert sum(map(light, files)) > len(files) / 2


@pytest.mark.parametrize("seed", range(6))
def test_generated_sessions(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "0a1b2c3d-0000-4000-8000-000000000000.jsonl"
    path.write_bytes(generate(n_messages=60 + 20 * seed, seed=seed))
    assert len(alike(path).calls) > 10 and light(path)


def test_subagents_in_files_of_their_own(tmp_path: Path) -> None:
    for name, data in with_subagents(3, seed=2).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (main,) = [path for path in tmp_path.glob("*.jsonl") if "agent-" not in path.name]
    session = alike(main)
    assert len(session.order) > 1 and light(main)


@pytest.mark.parametrize("data", [parallel().dump(), claude_code(4)], ids=["parallel", "plain"])
def test_sessions_by_hand(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(data)
    alike(path)


@pytest.mark.parametrize("odd", ODDITIES)
def test_every_oddity(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "0a1b2c3d-0000-4000-8000-000000000000.jsonl"
    path.write_bytes(ODDITIES[odd]())
    alike(path)


def test_every_oddity_of_several_files(tmp_path: Path) -> None:
    for name, data in files_of_one_session().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for path in tmp_path.glob("*.jsonl"):
        alike(path)


def test_answers_reported_in_part_come_to_what_is_on_record(tmp_path: Path) -> None:
    path = tmp_path / "part.jsonl"
    records = [json.loads(line) for line in generate(n_messages=30, seed=4).splitlines()]
    for record in records:
        if record["type"] == "assistant":
            record["message"]["stop_reason"] = None
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    session = alike(path)
    assert any(call.is_partial and call.extra[ANSWER_LEAST] > 0 for call in session.calls.values())


@pytest.mark.parametrize("seed", range(3))
def test_damaged_and_copied_lines(tmp_path: Path, seed: int) -> None:
    lines = generate(n_messages=40, seed=seed).splitlines()
    lines[5] = lines[5][: len(lines[5]) // 2]
    lines[9] = lines[9].replace(b'"text":"', b'"text":"\xff\xfe', 1)
    lines[12:12] = [b"", lines[11], b'{"type":"file-history-snapshot","messageId":"m"}', b"\0\0" + lines[14]]
    lines += lines[20:24]
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(b"\n".join(lines))
    alike(path)


def test_two_different_results_of_one_call_are_left_to_the_whole_reading(tmp_path: Path) -> None:
    records = [json.loads(line) for line in generate(n_messages=30, seed=1).splitlines()]
    at, answer = next(
        (n, record)
        for n, record in enumerate(records)
        if record["type"] == "user" and isinstance(record["message"]["content"], list)
    )
    other = json.loads(json.dumps(answer))
    other["uuid"] = "another"
    other["message"]["content"][0]["content"] = "something else"
    records.insert(at + 1, other)
    path = tmp_path / "twice.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert not light(path)
    alike(path)


def test_the_law_can_be_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(generate(n_messages=30, seed=1))
    other = tmp_path / "other.jsonl"
    other.write_bytes(generate(n_messages=30, seed=2))
    monkeypatch.setattr(opened, "load", lambda _: load(other))
    with pytest.raises(AssertionError):
        assert used(load_usage(path).session) == used(load(other).session)
