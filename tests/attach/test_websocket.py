"""The Responses API by WebSocket goes through the relay frame by frame, and its requests are calls."""

from __future__ import annotations

import asyncio
import json
import zlib
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.attach.frames import FrameReader
from ctxtui.attach.gate import RequestVerdict, WaitingRequest
from ctxtui.attach.http1 import build_error_answer
from ctxtui.attach.passage import Passage
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.relay import Relay
from ctxtui.attach.route import Route
from ctxtui.attach.run import RecordedRun
from ctxtui.attach.upstream import Upstream
from ctxtui.core.block import HEADER
from ctxtui.core.call import Fidelity
from ctxtui.offline.http.hosting import serving
from ctxtui.services.recordings.open import load
from tests.attach.test_passage_law import PROVIDER, BothEnds

CREATE = {"type": "response.create", "model": "gpt-5.6", "store": False, "stream": True}


@pytest.mark.parametrize("packed", [0, 15])
async def test_frames_are_passed_on_and_recorded(tmp_path: Path, packed: int) -> None:
    async with serving() as running:
        recorder = Recorder(RecordedRun(tmp_path, "r", "s"))
        relay = Relay([Upstream("openai", running.openai_url)], recorder.put, recorder.next_name)
        await relay.start()
        headers = {"authorization": "Bearer sk-secret-0123456789", "openai-beta": "responses_websockets=2026-02-06"}
        heard: list[dict[str, object]] = []
        async with (
            aiohttp.ClientSession() as http,
            http.ws_connect(
                f"{relay.base_url(relay.upstreams[0])}/responses", headers=headers, compress=packed
            ) as socket,
        ):
            for said in ([], [{"role": "user", "content": "say grüezi " + "x" * 70_000}]):
                warm = {"generate": False} if not said else {}
                await socket.send_str(json.dumps({**CREATE, "input": said, **warm}))
                while True:
                    message = json.loads((await asyncio.wait_for(socket.receive(), 30)).data)
                    heard.append(message)
                    if message["type"] in ("response.completed", "error"):
                        break
        await relay.close()
        await asyncio.to_thread(recorder.close)
    assert heard[-1]["type"] == "response.completed", heard[-1]
    session = load(tmp_path / "s.jsonl").session
    (call,) = session.calls.values()
    assert call.provider == "" and call.usage is not None and call.usage.output
    assert call.started is not None and call.ended is not None and call.started <= call.ended
    assert [
        line["by"] for line in map(json.loads, (tmp_path / "s.jsonl").read_text().splitlines()) if "by" in line
    ].count("client") == 2


async def test_a_warm_up_with_input_is_no_call_and_its_items_are_in_the_next(tmp_path: Path) -> None:
    """As Codex's terminal client does since 0.171: it prepares the whole context, and sends only the prompt then."""
    async with serving() as running:
        recorder = Recorder(RecordedRun(tmp_path, "r", "s"))
        relay = Relay([Upstream("openai", running.openai_url)], recorder.put, recorder.next_name)
        await relay.start()
        where = f"{relay.base_url(relay.upstreams[0])}/responses"
        async with (
            aiohttp.ClientSession() as http,
            http.ws_connect(where, headers={"authorization": "Bearer k"}) as socket,
        ):
            before: dict[str, object] = {"generate": False}
            for said in ("Be brief.", "say hello"):
                await socket.send_str(json.dumps({**CREATE, **before, "input": [{"role": "user", "content": said}]}))
                while (message := json.loads((await socket.receive()).data))["type"] != "response.completed":
                    assert message["type"] != "error", message
                before = {"previous_response_id": message["response"]["id"]}
        await relay.close()
        await asyncio.to_thread(recorder.close)
    session = load(tmp_path / "s.jsonl").session
    (call,) = session.calls.values()
    bodies = [item.block.value() for item in session.tree.items(call.sent_head) if item.block.kind != HEADER]
    assert [body if isinstance(body, str) else body.get("text") for body in bodies] == ["Be brief.", "say hello"]
    assert call.usage is not None and call.usage.input > 0 and call.fidelity == Fidelity.WIRE


def frame(data: bytes, first: int, mask: bytes) -> bytes:
    size = len(data)
    wide = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big")
    head = bytes([first, wide[0] | (0x80 if mask else 0)]) + wide[1:]
    return head + mask + (bytes(c ^ mask[n % 4] for n, c in enumerate(data)) if mask else data)


@given(
    st.lists(st.tuples(st.text(max_size=200), st.integers(0, 2), st.binary(min_size=4, max_size=4)), max_size=5),
    st.lists(st.integers(1, 50), max_size=30),
)
def test_messages_in_any_pieces(said: list[tuple[str, int, bytes]], cuts: list[int]) -> None:
    data = b""
    for text, parts, mask in said:
        raw = text.encode()
        pieces = [raw[n * len(raw) // (parts + 1) : (n + 1) * len(raw) // (parts + 1)] for n in range(parts + 1)]
        for n, piece in enumerate(pieces):
            data += frame(piece, (0x80 if n == parts else 0) | (1 if n == 0 else 0), mask)
            data += frame(b"ping", 0x89, b"")
    reader, heard = FrameReader(), []
    for cut in [*cuts, len(data) or 1]:
        heard += list(reader.feed(data[:cut]))
        data = data[cut:]
    assert heard == [text for text, _, _ in said]


class HeldEnds(BothEnds):
    """Both ends of a WebSocket whose messages of the client are all held."""

    def __init__(self, extensions: bytes = b"") -> None:
        super().__init__()
        self.passage = Passage(Route([PROVIDER], self.told.append, lambda: "x", wants=lambda head: True), self)
        head = b"GET /v1/responses HTTP/1.1\r\nHost: 127.0.0.1:9\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        self.pieces(head, [], client=True)
        answer = b"HTTP/1.1 101 Fine\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + extensions + b"\r\n"
        self.pieces(answer, [], client=False)
        self.at_client = self.at_provider = b""

    def ask(self, waiting: WaitingRequest) -> None:
        assert waiting.body.startswith(b"{")


REFUSAL = build_error_answer(403, "no")


def test_after_a_refused_request_the_provider_can_still_unpack_the_next_one() -> None:
    ends = HeldEnds(b"Sec-WebSocket-Extensions: permessage-deflate\r\n")
    packer = zlib.compressobj(wbits=-15)
    for word, answer in (("first", REFUSAL), ("second", None)):
        text = json.dumps({**CREATE, "input": [{"role": "user", "content": f"{word} of two long requests"}]}).encode()
        packed = (packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]
        ends.passage.client_data(frame(packed, 0xC1, b"mask"), 1.0)
        ends.passage.decided(RequestVerdict(answer=answer), 1.0)
    assert list(FrameReader(deflate=True).feed(ends.at_provider)) == [text.decode()]


def test_an_own_answer_waits_until_no_message_of_the_provider_is_open() -> None:
    ends = HeldEnds()
    begun, end = frame(b"be", 0x01, b""), frame(b"gun", 0x80, b"")
    ends.passage.provider_data(begun, 1.0)
    ends.passage.client_data(frame(json.dumps({**CREATE, "input": "hoi"}).encode(), 0x81, b"mask"), 1.0)
    ends.passage.decided(RequestVerdict(answer=REFUSAL), 1.0)
    assert ends.at_client == begun
    ends.passage.provider_data(end, 1.0)
    began, refused = FrameReader().feed(ends.at_client)
    assert began == "begun" and json.loads(refused)["status"] == 403
