from __future__ import annotations

import hashlib
import io
import os
import threading
from pathlib import Path

import pytest

from ctxtui.core.errors import NoContext, NotFound, Unreadable
from ctxtui.core.session import Session
from ctxtui.services.recordings.first_reading import EVENT_BATCH_BYTES, begin_stream
from ctxtui.services.recordings.open import load, load_stream, open_recording
from ctxtui.services.recordings.recording import Loaded
from tests.services.plain_format import said

pytestmark = pytest.mark.usefixtures("plain")


def words(session: Session, thread: str = "main") -> list[str]:
    tree = session.tree
    path = tree.path(session.threads[thread].tip) if thread in session.threads else []
    return [tree[n].block.value()["text"] for n in path if tree[n].block.kind == "text"]


def state(loaded: Loaded) -> dict[str, object]:
    """Everything that a session says, without node numbers."""
    session = loaded.session
    return {
        "about": session.about,
        "threads": {name: words(session, name) for name in sorted(session.threads)},
        "calls": {name: list(ids) for name, ids in sorted(session.order.items())},
        "usage": {id_: call.usage for id_, call in sorted(session.calls.items())},
        "skipped": sorted((s.line, s.reason) for s in loaded.skipped),
    }


def append(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)


def test_a_recording_is_read_and_never_written_to(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(said("one") + said("two"))
    path.chmod(0o440)
    before = path.stat()
    loaded = load(path)
    append_free = loaded.more()
    after = path.stat()
    assert append_free == []
    assert words(loaded.session) == ["one", "two"]
    assert (before.st_mode, before.st_mtime_ns, before.st_size) == (after.st_mode, after.st_mtime_ns, after.st_size)
    assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(said("one") + said("two")).digest()


def test_recordings_are_opened_to_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(said("one"))
    flags: list[int] = []
    real = os.open

    def watched(name: object, flag: int, *rest: int, **more: object) -> int:
        if str(name) == str(path):
            flags.append(flag)
        return real(name, flag, *rest, **more)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(os, "open", watched)
    loaded = load(path)
    append(path, said("two"))
    loaded.more()
    assert flags
    assert all(flag & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) == 0 for flag in flags)


def test_more_reads_appended_bytes_only(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(said("x" * 1000) * 200)
    loaded = load(path)
    session = loaded.session
    assert loaded.bytes_read == path.stat().st_size
    for number in range(5):
        before = loaded.bytes_read
        new = said(f"word {number}")
        append(path, new)
        assert loaded.more()
        assert loaded.bytes_read - before == len(new)
    assert loaded.more() == []
    assert words(loaded.session)[-1] == "word 4"
    assert loaded.session is session, "it was not read anew"


def test_a_partial_line_is_listed_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    line = said("two")
    path.write_bytes(said("one") + line[:7])
    loaded = load(path)
    assert [(s.line, s.reason) for s in loaded.skipped] == [(2, "cut")]
    append(path, line[7:])
    loaded.more()
    assert loaded.skipped == []
    assert words(loaded.session) == ["one", "two"]


def test_a_rewritten_recording_is_another_session(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(said("one") + said("two"))
    loaded = load(path)
    old = loaded.session
    path.write_bytes(said("other"))
    loaded.more()
    assert loaded.session is not old
    assert words(loaded.session) == ["other"]
    assert words(old) == ["one", "two"], "what was shown stays whole until it is replaced"


def test_an_emptied_recording_stays_on_screen_until_it_has_content(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(said("one"))
    loaded = load(path)
    old = loaded.session
    path.write_bytes(b"")
    assert loaded.more() == []
    assert loaded.session is old and words(old) == ["one"]
    append(path, said("new") + said("newer"))
    loaded.more()
    anew = loaded.session
    assert anew is not old and words(anew) == ["new", "newer"]
    append(path, said("newest"))
    loaded.more()
    assert loaded.session is anew and words(anew) == ["new", "newer", "newest"]


def test_a_removed_recording_is_gone_and_may_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(said("one"))
    loaded = load(path)
    path.unlink()
    assert loaded.more() == []
    assert loaded.gone
    path.write_bytes(said("back"))
    loaded.more()
    assert not loaded.gone
    assert words(loaded.session) == ["back"]


def test_companions_are_found_at_once_and_later(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(said("one"))
    append(tmp_path / "a/parts/p1.jsonl", said("sub one"))
    loaded = load(path)
    assert words(loaded.session, "p1.jsonl") == ["sub one"]
    append(tmp_path / "a/parts/p1.jsonl", said("sub two"))
    append(tmp_path / "a/parts/p2.jsonl", said("sub three"))
    append(tmp_path / "agent-7.jsonl", said("beside"))
    for _ in range(3):
        loaded.more()
    assert words(loaded.session, "p1.jsonl") == ["sub one", "sub two"]
    assert words(loaded.session, "p2.jsonl") == ["sub three"]
    assert words(loaded.session, "agent-7.jsonl") == ["beside"]
    assert loaded.bytes_read == sum(p.stat().st_size for p in tmp_path.rglob("*.jsonl"))


def test_big_files_come_in_slices_and_can_be_shown_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(said("x" * 900) * 4000)
    loaded, news = open_recording(path)
    seen = []
    for some in news:
        loaded.add_news(some)
        seen.append(len(loaded.session.calls))
    assert len(seen) > path.stat().st_size // EVENT_BATCH_BYTES
    assert seen == sorted(seen)
    assert 0 < seen[0] < seen[-1] == 4000


def test_a_pipe_and_standard_input_are_read_once(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    data = said("one") + said("two")
    writer = threading.Thread(target=lambda: fifo.write_bytes(data))
    writer.start()
    loaded = load(fifo)
    writer.join()
    assert words(loaded.session) == ["one", "two"]
    assert not loaded.follows
    assert words(load_stream(io.BytesIO(data)).session) == ["one", "two"]


def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        load(tmp_path / "none")
    (tmp_path / "empty").touch()
    with pytest.raises(NoContext, match="an empty file"):
        load(tmp_path / "empty")
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0\0")
    with pytest.raises(NoContext, match="a program"):
        load(tmp_path / "binary")
    (tmp_path / "bare.jsonl").write_bytes(b'{"junk": 1}\n')
    with pytest.raises(NoContext, match="plain"):
        load(tmp_path / "bare.jsonl")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(said("one"))
    path.chmod(0)
    with pytest.raises(Unreadable, match="permission"):
        load(path)


def test_the_head_is_kept_once(tmp_path: Path) -> None:
    reading, chunks = begin_stream("a", iter([said("one"), said("two")]))
    list(chunks)
    assert reading.head == said("one") + said("two")
    assert reading.lines == 2


def test_what_was_read_counts_before_it_is_folded(tmp_path: Path) -> None:
    """A screen may be slow to take what a thread has read: the recording holds a context all the same."""
    path = tmp_path / "session.plain"
    path.write_bytes(said("one") + said("two"))
    loaded, news = open_recording(path)
    brought = list(news)
    assert not words(loaded.session) and loaded.holds_context
    loaded.check()
    for one in brought:
        loaded.add_news(one)
    assert words(loaded.session) == ["one", "two"]
