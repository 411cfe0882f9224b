"""Pieces of an answer become lines where they come: what is recorded is the same, and nobody waits."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxtui.attach.exchange_events import (
    AnswerBegun,
    AnswerBytes,
    ExchangeEnded,
    ExchangeEvent,
    RequestBegun,
    RequestBytes,
)
from ctxtui.attach.recorder import Recorder, Tapes
from ctxtui.attach.run import RecordedRun
from tests.attach.raw import ended

PATIENCE = 60.0
KEY = "sk-ant-api03-" + "k1e2y3" * 8
WORDS = f"grüezi, {KEY} and ünd so — 😀 weiter\n" * 9
ASKED = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hoi"}]}).encode()


def begun(x: str, encoding: str = "") -> Iterator[ExchangeEvent]:
    fields = [("x-api-key", KEY), ("content-type", "application/json")]
    yield RequestBegun(
        exchange_id=x, at=100.0, method="POST", url="https://api.anthropic.com/v1/messages", fields=fields
    )
    yield RequestBytes(x, ASKED, last=True)
    yield AnswerBegun(x, 101.0, 200, [("content-encoding", encoding)] if encoding else [])


def pieces(x: str, said: bytes, each: int = 11) -> Iterator[AnswerBytes]:
    for n in range(0, len(said), each):
        yield AnswerBytes(x, 102 + n / 1000, said[n : n + each])


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "talk.jsonl").read_bytes().splitlines()]


def said_in(folder: Path, x: str) -> str:
    return "".join(str(line["data"]) for line in lines(folder) if line.get("x") == x and "data" in line)


@pytest.mark.parametrize("packed", ["", "gzip"])
def test_the_file_is_the_same_whoever_makes_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: str
) -> None:
    takers: list[bool] = []
    take = Tapes.record

    def seen(self: Tapes, news: ExchangeEvent) -> None:
        if isinstance(news, AnswerBytes):
            takers.append(threading.current_thread() is threading.main_thread())
        take(self, news)

    monkeypatch.setattr(Tapes, "record", seen)
    said = gzip.compress(WORDS.encode(), mtime=0) if packed else WORDS.encode()
    found = []
    for short in (1 << 12, -1):
        monkeypatch.setattr("ctxtui.attach.recorder._MAX_INLINE_BYTES", short)
        folder = tmp_path / str(short)
        recorder = Recorder(RecordedRun(folder, "r", "talk", clock=lambda: 99.0))
        for news in begun("r.1", packed):
            recorder.put(news)
        assert recorder.flush(PATIENCE)
        takers.clear()
        for piece in pieces("r.1", said):
            recorder.put(piece)
        recorder.put(ExchangeEnded("r.1", 109.0))
        recorder.close(PATIENCE)
        assert not recorder.troubles
        assert any(takers) is (short > 0), "the first pieces find nothing before them"
        found.append((folder / "talk.jsonl").read_bytes())
    assert found[0] == found[1] and KEY.encode() not in found[0]
    assert lines(tmp_path / "-1")[-1]["size"] == len(said)


def test_a_disk_that_hangs_lets_nobody_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs, goes_on, real = threading.Event(), threading.Event(), os.write
    monkeypatch.setattr("ctxtui.attach.recorder._MAX_INLINE_WAITING_BYTES", 3_000)
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    for news in begun("r.1"):
        recorder.put(news)
    assert recorder.flush(PATIENCE)

    def write(file: int, data: bytes) -> int:
        hangs.set()
        assert goes_on.wait(PATIENCE)
        return real(file, data)

    monkeypatch.setattr("ctxtui.attach.tape.os.write", write)
    every = list(pieces("r.1", WORDS.encode() * 9))
    recorder.put(every[0])
    assert hangs.wait(PATIENCE)

    def rest() -> None:
        for piece in every[1:]:
            recorder.put(piece)

    putting = threading.Thread(target=rest, daemon=True)
    putting.start()
    putting.join(PATIENCE / 2)
    waited, queued = putting.is_alive(), len(recorder._queue)
    goes_on.set()
    assert not waited
    assert queued, "what waits for the disk beside the queue is little"
    recorder.close(PATIENCE)
    assert said_in(tmp_path, "r.1").startswith(WORDS.replace(KEY, "")[:8])
    assert said_in(tmp_path, "r.1").count("weiter") == 81


def test_answers_that_come_at_once_are_all_there_and_in_order(tmp_path: Path) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    names = [f"r.{n}" for n in range(4)]
    for x in names:
        for news in begun(x):
            recorder.put(news)
    assert recorder.flush(PATIENCE)

    def answer(x: str) -> None:
        for n in range(600):
            recorder.put(AnswerBytes(x, 102.0 + n / 100, b"%s says %d\n" % (x.encode(), n)))
        recorder.put(ExchangeEnded(x, 109.0))

    threads = [threading.Thread(target=answer, args=(x,)) for x in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert recorder.flush(PATIENCE)
    recorder.close(PATIENCE)
    assert not recorder.troubles and ended(tmp_path) == 4
    for x in names:
        assert said_in(tmp_path, x) == "".join(f"{x} says {n}\n" for n in range(600))
        assert [line for line in lines(tmp_path) if line.get("x") == x][-1]["ended"] is True


def test_a_burst_is_left_to_the_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    takers: set[str] = set()
    take = Tapes.record

    def seen(self: Tapes, news: ExchangeEvent) -> None:
        takers.add(threading.current_thread().name)
        take(self, news)

    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    for news in begun("r.1"):
        recorder.put(news)
    assert recorder.flush(PATIENCE)
    monkeypatch.setattr(Tapes, "record", seen)
    recorder.put(AnswerBytes("r.1", 102.0, b"one "))
    assert takers == {threading.current_thread().name}
    takers.clear()
    for n in range(9):
        recorder.put(AnswerBytes("r.1", 102.0001 + n / 1e5, b"more "))
    recorder.close(PATIENCE)
    assert takers == {"ctxtui recorder"}
    assert said_in(tmp_path, "r.1") == "one " + "more " * 9


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_piece_that_was_in_hand_when_the_thread_was_killed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    for news in begun("r.1"):
        recorder.put(news)
    assert recorder.flush(PATIENCE)
    with monkeypatch.context() as patched:

        def killed(self: Tapes) -> None:
            raise SystemExit

        patched.setattr(Tapes, "flush", killed)
        recorder.put(AnswerBytes("r.1", 102.0, b"lost"))
        recorder._thread.join(PATIENCE)
        assert not recorder._thread.is_alive()
    for news in begun("r.2"):
        recorder.put(news)
    assert recorder.flush(PATIENCE)
    recorder.close(PATIENCE)
    assert recorder.faults == 1 and any("thread ended" in one for one in recorder.troubles)
