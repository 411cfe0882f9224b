from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ctxtui.core.errors import NotFound, Unreadable
from ctxtui.services.recordings.file_tail import SLICE_BYTES, FileChange, FileTail


def rest(tail: FileTail) -> bytes:
    return b"".join(tail.read_new())


def test_only_what_was_appended_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one\n" * 10_000)
    tail = FileTail(path)
    assert tail.check() == FileChange.GREW
    assert rest(tail) == b"one\n" * 10_000
    with path.open("ab") as file:
        file.write(b"two\n")
    probed: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: probed.append(size) or pread(fd, size, at))
    assert tail.check() == FileChange.GREW
    monkeypatch.undo()
    assert rest(tail) == b"two\n"
    assert tail.offset == 40_004
    assert 0 < sum(probed) < 2_000


def test_slices_are_small(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(os.urandom(3 * SLICE_BYTES + 5))
    assert [len(s) for s in FileTail(path).read_new()] == [SLICE_BYTES, SLICE_BYTES, SLICE_BYTES, 5]


def changed(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    later = time.time() + 5
    os.utime(path, (later, later))


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(b"", id="emptied"),
        pytest.param(b"x" * 99, id="shorter"),
        pytest.param(b"y" * 30_000, id="as long, other bytes"),
        pytest.param(b"y" * 30_001, id="longer, another beginning"),
        pytest.param(b"x" * 16_384 + b"y" * 20_000, id="longer, another end"),
        pytest.param(b"x" * 4_096 + b"y" * 64 + b"x" * 40_000, id="longer, another middle"),
    ],
)
def test_a_rewrite_is_noticed(tmp_path: Path, after: bytes) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 30_000)
    tail = FileTail(path)
    rest(tail)
    changed(path, after)
    assert tail.check() == FileChange.REWRITTEN


def test_a_replaced_file_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"same")
    tail = FileTail(path)
    rest(tail)
    (tmp_path / "g").write_bytes(b"same")
    os.replace(tmp_path / "g", path)
    assert tail.check() == FileChange.REWRITTEN


def test_a_file_at_rest_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x")
    os.utime(path, (1, 1))
    tail = FileTail(path)
    rest(tail)
    monkeypatch.setattr(os, "open", None)
    assert tail.check() == FileChange.NONE


def test_gone_and_unreadable(tmp_path: Path) -> None:
    assert FileTail(tmp_path / "none").check() == FileChange.GONE
    with pytest.raises(NotFound):
        rest(FileTail(tmp_path / "none"))
    with pytest.raises(Unreadable):
        rest(FileTail(tmp_path))
