"""Sessions of real clients with their wire beside them, in the folder that `CTXTUI_CAPTURES` names; by default it is
`../shared/review/captures` beside the checkout. A test that needs one is skipped where it is absent."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.wire import Exchange, exchanges
from tests.corpus import ROOT

CAPTURES = Path(os.environ.get("CTXTUI_CAPTURES") or ROOT.parent / "shared" / "review" / "captures")


def capture(client: str, pattern: str) -> list[Any]:
    """The files of a client's captures as parameters of a test; one that skips where there are none."""
    found = sorted(CAPTURES.glob(f"{client}-*/{pattern}"))
    ids = [path.name for path in found]
    absent = pytest.param(None, marks=pytest.mark.skip("captures absent"))
    return [pytest.param(path, id=name) for path, name in zip(found, ids, strict=True)] or [absent]


def wire_of(folder: Path) -> list[Exchange]:
    """Every answered request on a capture's wire, in order, read without ctxtui's readers."""
    plain = [_plain_exchange(json.loads(path.read_bytes())) for path in sorted((folder / "wire").glob("*.json"))]
    return [one for one in [*exchanges(folder / "wire"), *plain] if one.asks]


def _plain_exchange(value: dict[str, Any]) -> Exchange:
    """An exchange of Google's API, in a file of its own."""
    path, answer = value["path"].partition("?")[0], value["answer"]
    return Exchange(method="POST", path=path, status=200, request=value["request"], answer=answer)


def database_copy(path: Path, folder: Path) -> Path:
    """A copy of a captured SQLite database in `folder`.

    Paths were rewritten in the capture's write-ahead log, so that SQLite would skip its frames: the copy has their
    checksums anew.
    """
    copy = folder / path.name
    shutil.copyfile(path, copy)
    log = path.with_name(path.name + "-wal")
    if log.exists():
        copy.with_name(log.name).write_bytes(b"".join(_with_checksums(log.read_bytes())))
    return copy


def _with_checksums(log: bytes) -> Iterator[bytes]:
    """A write-ahead log with the checksums that its frames need (https://www.sqlite.org/fileformat2.html#walformat)."""
    magic, _, page, _ = struct.unpack(">4I", log[:16])
    words, salts, head = (">2I" if magic & 1 else "<2I"), log[16:24], 24
    first = second = 0

    def add(data: bytes) -> bytes:
        nonlocal first, second
        for one, other in struct.iter_unpack(words, data):
            first = (first + one + second) & 0xFFFFFFFF
            second = (second + other + first) & 0xFFFFFFFF
        return struct.pack(">2I", first, second)

    yield log[:24] + add(log[:24])
    for at in range(32, len(log) - head - page + 1, head + page):
        frame = log[at : at + head + page]
        if frame[8:16] != salts:
            return
        yield frame[:16] + add(frame[:8] + frame[head:]) + frame[head:]
