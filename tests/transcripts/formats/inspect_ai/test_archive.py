"""Inspect's archives as they really are: Zstandard (ZIP method 93), damaged, lying, and as large as a bomb."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ctxtui.core.block_content import read as content
from ctxtui.core.session import Skipped
from ctxtui.transcripts.formats.inspect_ai import archive
from tests.corpus import corpus_params
from tests.transcripts.formats.inspect_ai.test_inspect import NAME, log, sample
from tests.transcripts.reading import as_bytes, corpus_session, law_2, read, survives_cuts, total

STORED, DEFLATED, ZSTD = 0, 8, 93


def packed(body: bytes, method: int) -> bytes:
    if method == ZSTD:
        return zstandard.ZstdCompressor().compress(body)
    if method == DEFLATED:
        made = zlib.compressobj(wbits=-15)
        return made.compress(body) + made.flush()
    return body


def zipped(held: dict[str, bytes], method: int = ZSTD, *, flags: int = 0, told: int | None = None) -> bytes:
    """A ZIP archive with any method, which `zipfile` does not write before Python 3.14; `told` is the size that every
    member claims."""
    body, directory = b"", b""
    for name, data in held.items():
        inside = packed(data, method)
        size = len(data) if told is None else told
        known = (flags, method, 0, 0, zlib.crc32(data), len(inside), size, len(name), 0)
        directory += struct.pack("<4sHHHHHHLLLHHHHHLL", b"PK\x01\x02", 63, 63, *known, 0, 0, 0, 0, len(body))
        directory += name.encode()
        body += struct.pack("<4sHHHHHLLLHH", b"PK\x03\x04", 63, *known) + name.encode() + inside
    end = struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, len(held), len(held), len(directory), len(body), 0)
    return body + directory + end


def held(value: dict[str, Any]) -> dict[str, bytes]:
    samples = {f"samples/{n}_epoch_1.json": as_bytes(one) for n, one in enumerate(value["samples"])}
    head = {k: v for k, v in value.items() if k != "samples"}
    return {"_journal/start.json": as_bytes({"eval": value["eval"]}), **samples, "header.json": as_bytes(head)}


def told(data: bytes) -> list[str]:
    return [body.reason for _, body in archive.members(data) if isinstance(body, Skipped)]


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTD])
def test_every_method_gives_what_json_gives(method: int) -> None:
    value = log(sample(), sample(id=2))
    data = zipped(held(value), method)
    found, plain = read(data, "log.eval"), read(as_bytes(value), NAME)
    assert found.calls == plain.calls and found.threads == plain.threads and not found.skipped
    law_2(data, "log.eval")


def test_a_cut_archive_of_zstandard_gives_its_whole_samples() -> None:
    data = zipped(held(log(sample(), sample(id=2))))
    found = read(data[: data.index(b"samples/1_epoch") + 60], "log.eval")
    assert len(found.calls) == 2 + 1 and any("breaks off" in one.reason for one in found.skipped)
    survives_cuts(data, "log.eval")


@pytest.mark.parametrize("method", [DEFLATED, ZSTD])
def test_a_bomb_is_named_and_takes_no_memory(method: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 1_000_000)
    bomb = {"samples/1_epoch_1.json": b"0" * 60_000_000}
    honest, lying = zipped(bomb, method), zipped(bomb, method, told=1000)
    tracemalloc.start()
    assert told(honest) == [
        "samples/1_epoch_1.json cannot be unpacked: it would take 60,000,000 bytes, and 1,000,000 are allowed"
    ]
    (one,) = told(lying)
    assert "it unpacks to more than the 1,000,000 bytes" in one
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Zstandard makes up to 32,768 bytes of each of a slice's.
    assert most < 40_000_000 if method == DEFLATED else most < 150_000_000


def test_all_members_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 1500)
    data = zipped({f"samples/{n}_epoch_1.json": b"0" * 1000 for n in range(3)})
    assert told(data) == [
        f"samples/{n}_epoch_1.json cannot be unpacked: it would take 1,000 bytes, and 500 are allowed" for n in (1, 2)
    ]


def without_directory(data: bytes) -> bytes:
    return data[: data.index(b"PK\x01\x02")]


@pytest.mark.parametrize(
    "written", [lambda held: without_directory(zipped(held, STORED)), lambda held: streamed(held, STORED)]
)
def test_a_stored_member_without_a_directory_is_whole(written: Callable[[dict[str, bytes]], bytes]) -> None:
    one = sample(id="PK", scores={"match": {"value": "a ZIP begins with PK\x03\x04, or PK alone"}})
    value = log(one, sample(id=2))
    inside = held(value)
    data = written(inside)
    assert [body for name, body in archive.members(data) if name] == list(inside.values())
    found, plain = read(data, "log.eval"), read(as_bytes(value), NAME)
    assert found.calls == plain.calls and found.threads == plain.threads
    (skipped,) = found.skipped
    assert "without a readable directory" in skipped.reason
    survives_cuts(data, "log.eval")


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTD])
def test_limits_hold_without_a_directory(method: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 1200)
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 1500)
    sizes = {"samples/0.json": 1300, "samples/1.json": 1000, "samples/2.json": 501, "samples/3.json": 500}
    inside = {name: b"0" * size for name, size in sizes.items()}
    for data in (without_directory(zipped(inside, method)), streamed(inside, method)):
        found = dict(archive.members(data))
        assert [name for name, body in found.items() if isinstance(body, bytes)] == ["samples/1.json", "samples/3.json"]
        _, large, over = told(data)
        assert large.startswith("samples/0.json cannot be unpacked: it") and "1,200" in large
        assert over.startswith("samples/2.json cannot be unpacked: it") and "500" in over


def streamed(held: dict[str, bytes], method: int) -> bytes:
    """Members with their checksums and sizes after them: an archive written to a pipe, cut before its directory."""
    body = b""
    for name, data in held.items():
        inside = packed(data, method)
        body += struct.pack("<4sHHHHHLLLHH", b"PK\x03\x04", 63, 8, method, 0, 0, 0, 0, 0, len(name), 0)
        sizes = struct.pack("<4sLLL", b"PK\x07\x08", zlib.crc32(data), len(inside), len(data))
        body += name.encode() + inside + sizes
    return body


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTD])
@pytest.mark.parametrize("written", [lambda held, method: without_directory(zipped(held, method)), streamed])
def test_without_a_directory_no_damaged_member_comes_as_content(
    written: Callable[[dict[str, bytes], int], bytes], method: int
) -> None:
    name, body = "samples/1_epoch_1.json", as_bytes(sample())
    data = written({name: body}, method)
    assert dict(archive.members(data))[name] == body
    first = data.index(name.encode()) + len(name)
    for at in range(first, first + len(packed(body, method)), 7):
        for odd in (data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], data[:at]):
            got = [one for found, one in archive.members(odd) if found]
            assert got and all(isinstance(one, Skipped) for one in got), at


@pytest.mark.parametrize("written", [lambda held, method: without_directory(zipped(held, method)), streamed, zipped])
def test_only_json_is_read_with_and_without_a_directory(written: Callable[[dict[str, bytes], int], bytes]) -> None:
    inside = {"notes.txt": b"hey", "samples/1.json": b"{}", "empty.json": b"", "picture.png": b"\x89PNG"}
    found = [(name, body) for name, body in archive.members(written(inside, DEFLATED)) if name]
    assert found == [("samples/1.json", b"{}"), ("empty.json", b"")]


def test_an_encrypted_member_is_named_without_a_directory() -> None:
    assert told(without_directory(zipped({"samples/1.json": b"{}"}, flags=1)))[1].endswith("it is encrypted")


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTD])
def test_a_damaged_member_is_named_and_the_others_are_read(method: int) -> None:
    value = log(sample(), sample(id=2))
    data = bytearray(zipped(held(value), method))
    at = data.index(b"samples/1_epoch_1.json") + len("samples/1_epoch_1.json") + 40
    data[at] ^= 0xFF
    found = read(bytes(data), "log.eval")
    assert len(found.calls) == 3
    (skipped,) = found.skipped
    assert skipped.reason.startswith("samples/1_epoch_1.json cannot be unpacked: its data is damaged")


def test_what_cannot_be_unpacked_says_why() -> None:
    one = {"samples/1_epoch_1.json": b"{}"}
    assert told(zipped(one, flags=1))[0].endswith("it is encrypted")
    assert "compression method 98" in told(zipped(one, 98))[0]
    (lying,) = told(zipped(one, STORED, told=3))
    assert "damaged" in lying


@pytest.mark.parametrize("path", corpus_params("clients", "inspect-*/*.eval"))
def test_logs_of_a_real_client(path: Path) -> None:
    """Held against a plain reading: its own local headers, the library, json."""
    data = path.read_bytes()
    samples, stats = [], {}
    for info in zipfile.ZipFile(io.BytesIO(data)).infolist():
        lengths = struct.unpack_from("<HH", data, info.header_offset + 26)
        start = info.header_offset + 30 + sum(lengths)
        body = data[start : start + info.compress_size]
        if info.compress_type == ZSTD:
            body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        if info.filename.startswith("samples/"):
            samples.append(json.loads(body))
        elif info.filename == "header.json":
            stats = json.loads(body)["stats"]["model_usage"]
    session = corpus_session(path)
    events = [event for one in samples for event in one["events"] if event["event"] == "model"]
    assert len(session.calls) == len(events)
    used = total(session)
    assert used.input == sum(
        model["input_tokens"] + model.get("input_tokens_cache_read", 0) + model.get("input_tokens_cache_write", 0)
        for model in stats.values()
    )
    assert used.output == sum(model["output_tokens"] for model in stats.values())
    assert used.reasoning == sum(model.get("reasoning_tokens", 0) for model in stats.values())
    tips = [{content(i.block).text for i in session.tree.items(t.tip)} for t in session.threads.values()]
    for one in samples:
        texts = {message["content"] for message in one["messages"] if isinstance(message["content"], str)}
        assert any(texts <= tip for tip in tips)
    assert not session.skipped
