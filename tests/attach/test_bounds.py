"""What is unpacked and kept has a bound: what is larger is passed on all the same, and the record says so."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard

from ctxtui.attach import exchange, frames
from ctxtui.attach import recorder as recording
from ctxtui.attach.early_answer import EarlyAnswer
from ctxtui.attach.exchange_events import SocketMessage
from ctxtui.attach.frames import FrameReader, encode_text_frame
from ctxtui.attach.gate import RequestVerdict, WaitingRequest
from ctxtui.attach.http1 import Head, read_head
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.run import RecordedRun
from ctxtui.attach.socket_passage import SocketContext
from ctxtui.core.errors import Malformed
from ctxtui.services.recordings.open import load
from ctxtui.wire import bounds
from ctxtui.wire.unpacking import make_unpacker
from tests.attach.raw import raw_provider, relayed, talk

MOST = 1 << 12
"""A smaller bound, for a body of some megabytes to be beyond it."""
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
NUL = bytes(1 << 20)
BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
    "br": brotli.compress,
}


@pytest.mark.parametrize("encoding", BOMBS)
def test_a_body_unpacks_up_to_its_bound(encoding: str) -> None:
    packed = BOMBS[encoding](NUL)
    assert make_unpacker(encoding, len(NUL)).feed(packed) == NUL
    pieces = make_unpacker(encoding, len(NUL))
    assert b"".join(pieces.feed(packed[n : n + 1]) for n in range(len(packed))) == NUL
    with pytest.raises(Malformed, match="decompresses to more"):
        make_unpacker(encoding, len(NUL) - 1).feed(packed)


@pytest.mark.parametrize("encoding", BOMBS)
def test_no_more_is_unpacked_than_the_bound(encoding: str) -> None:
    packed, unpacker = BOMBS[encoding](NUL * 32), make_unpacker(encoding, len(NUL))
    tracemalloc.start()
    try:
        with pytest.raises(Malformed, match="decompresses to more"):
            unpacker.feed(packed)
        assert tracemalloc.get_traced_memory()[1] < 8 * len(NUL)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_body_of_many_packed_pieces_is_given_up(encoding: str) -> None:
    one = BOMBS[encoding](b"x")
    assert make_unpacker(encoding).feed(one * bounds.MAX_COMPRESSED_MEMBERS) == b"x" * bounds.MAX_COMPRESSED_MEMBERS
    piecewise = make_unpacker(encoding)
    assert b"".join(piecewise.feed(one) for _ in range(9)) == b"x" * 9
    with pytest.raises(Malformed, match="more than"):
        make_unpacker(encoding).feed(one * (bounds.MAX_COMPRESSED_MEMBERS + 1))


def test_a_bound_that_real_requests_do_not_meet() -> None:
    # The Messages API takes 32 MB.
    assert bounds.MAX_BODY_BYTES >= 2 * 32_000_000


def packed_frame(size: int) -> bytes:
    """A frame whose message unpacks to `size` bytes."""
    return encode_text_frame(bytes(size), compressed=True)


def test_a_packed_message_unpacks_up_to_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_BODY_BYTES", MOST)
    assert [len(text) for text in FrameReader(deflate=True).feed(packed_frame(MOST))] == [MOST]
    with pytest.raises(Malformed, match="decompresses to more"):
        [*FrameReader(deflate=True).feed(packed_frame(200 * MOST))]
    # In pieces, and without an end.
    reader, piece = FrameReader(), bytes([0x01, 126]) + (1000).to_bytes(2, "big") + bytes(1000)
    with pytest.raises(Malformed, match="too large"):
        [*reader.feed(piece + (bytes([0x00]) + piece[1:]) * 100)]
    empty = FrameReader()
    assert [*empty.feed(bytes([0x01, 0]) + bytes([0x00, 0]) * 100_000)] == [] and not empty._message


async def test_a_packed_message_beyond_the_bound_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_BODY_BYTES", MOST)
    head = (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
    )
    told = head + encode_text_frame(b"before") + packed_frame(200 * MOST) + encode_text_frame(b"behind")
    asked = b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    async with raw_provider() as provider, relayed(provider.port, tmp_path) as (relay, recorder):
        provider.replies = [[told]]
        assert await talk(relay.port, asked, end=b"behind") == told
        assert await asyncio.to_thread(recorder.flush)
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert [line["frame"] for line in lines if "frame" in line] == ["before"]


class _Asked:
    """A gate that wants every request whole."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def wants(self, head: Head) -> bool:
        return True

    async def decide(self, waiting: WaitingRequest) -> RequestVerdict:
        self.asked.append(len(waiting.body))
        return RequestVerdict()


def body_of(size: int) -> bytes:
    said = b'{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "%b"}]}'
    return said % (b"x" * (size - len(said) + 2))


def requests(size: int) -> dict[str, bytes]:
    head = b"POST /v1/messages HTTP/1.1\r\nHost: %b\r\n"
    body = body_of(size)
    return {
        "length": head + b"Content-Length: %d\r\n\r\n" % size + body,
        "chunks": head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (size, body),
    }


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("kind", ["length", "chunks"])
async def test_a_large_request_is_passed_on_whole_and_the_record_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, gated: bool
) -> None:
    for module in (exchange, recording):
        monkeypatch.setattr(module, "MAX_BODY_BYTES", MOST)
    gate = _Asked()
    large, small = requests(200 * MOST)[kind], requests(MOST)[kind]
    more: Any = {"gate": gate} if gated else {}
    seen: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for one in (large, small):
            seen.append(await reader.readexactly(len(one % b"127.0.0.1:%d" % provider.port)))
            writer.write(ANSWER)
        writer.close()

    async with raw_provider(take) as provider, relayed(provider.port, tmp_path, **more) as (relay, recorder):
        here, there = b"127.0.0.1:%d" % relay.port, b"127.0.0.1:%d" % provider.port
        assert await talk(relay.port, large % here, small % here, end=b"ok") == ANSWER * 2
        assert seen == [large % there, small % there]
        assert await asyncio.to_thread(recorder.flush)
    assert gate.asked == ([MOST] if gated else [])
    path = tmp_path / "s.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    digest = hashlib.sha256(body_of(200 * MOST)).hexdigest()
    first, second = (line["asked"]["body"] for line in lines if "asked" in line)
    assert first == {"size": 200 * MOST, "sha256": digest, "left_out": True}
    assert second["text"] == body_of(MOST).decode()
    refused = [line["sent"]["refused"] for line in lines if "sent" in line]
    assert refused == ([{"": "larger than 0 MiB"}] if gated else [])
    assert any("too large to be recorded" in one.reason for one in load(path).session.skipped)


async def test_a_body_that_is_too_large_with_its_last_piece_is_recorded_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (exchange, recording):
        monkeypatch.setattr(module, "MAX_BODY_BYTES", MOST)
    gate, raw = _Asked(), requests(MOST + 1)["chunks"]
    async with raw_provider() as provider, relayed(provider.port, tmp_path, gate=gate) as (relay, recorder):
        provider.replies = [[ANSWER]]
        here, there = b"127.0.0.1:%d" % relay.port, b"127.0.0.1:%d" % provider.port
        assert await talk(relay.port, raw % here, end=b"ok") == ANSWER
        assert provider.seen == [raw % there] and not gate.asked
        assert await asyncio.to_thread(recorder.flush)
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert [line["sent"]["refused"] for line in lines if "sent" in line] == [{"": "larger than 0 MiB"}]


def test_an_answer_in_a_stream_that_has_begun_is_bounded() -> None:
    early = EarlyAnswer(lambda status, body: body)
    early.begin_provider_answer(400, read_head(b"HTTP/1.1 400 No\r\n\r\n"))
    with pytest.raises(Malformed, match="too large"):
        for _ in range(10):
            early.add_provider_data(NUL)


def test_conversations_of_a_socket_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxtui.attach.socket_passage._MAX_CONVERSATION_BYTES", MOST)
    context = SocketContext()
    for n in range(100):
        context.read_request(json.dumps({"type": "response.create", "stream_id": str(n), "input": []}))
        done = {"type": "response.completed", "stream_id": str(n)}
        context.record_response(json.dumps({**done, "response": {"id": f"r{n}", "output": [{"text": "x" * 5000}]}}))
    assert len(context._responses) == MOST // 5000 and len(context._requests) <= 64


@pytest.mark.parametrize("part", ['{"type":%s}', '{"type":"response.create","input":%s}'])
def test_a_message_that_is_too_deep_is_no_request(part: str) -> None:
    context, deep = SocketContext(), "[" * 100_000 + "]" * 100_000
    assert context.read_request(part % deep) is None
    context.record_response('{"type":"response.completed","response":{"id":"r","output":' + deep + "}}")
    assert not context._responses


def test_messages_that_wait_to_be_recorded_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_UNWRITTEN_BYTES", MOST)
    one = Recorder(RecordedRun(tmp_path, "r", "s"))
    with one._tapes.lock:
        for _ in range(5):
            one.put(SocketMessage("r.1", 1.0, False, "x" * MOST))
        assert len(one._queue) <= 3
    one.close()
    assert any("too much waited" in trouble for trouble in one.troubles)
