"""Amazon Bedrock through `ctxtui exec --forward`: each of its four calls passes unchanged, signed for its own host, and
is recorded with figures and price. Amazon's own client verifies the streams, too: it has a parser of event streams and
no encoder, so they are written by `tests/cases/amazon_stream`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ctxtui.attach.local_ca import LocalAuthority
from ctxtui.core.call import Fidelity
from ctxtui.pricing.price import price_call
from ctxtui.services.config.package_data import price_table
from ctxtui.services.recordings.open import load
from ctxtui.wire.amazon_event_stream import is_event_stream, parse_event_stream
from tests.cases import amazon_stream as amazon
from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.client import INSTALLED
from tests.clients.lab import KEPT, PORT, SECONDS, lab, soon
from tests.clients.namespace import ended, tail
from tests.clients.registry import ASKED, left_out
from tests.clients.test_attached import PROXY, recordings_of
from tests.transcripts.test_clouds import EVENTS, MODEL

ROOT = Path(__file__).parents[2]
BOTO3 = "boto3"
BEDROCK = 4012
"""The port of `bedrock_front`."""
HOST = "bedrock-runtime.eu-central-1.amazonaws.com"
USAGE = {"inputTokens": 4, "outputTokens": 9, "totalTokens": 21, "cacheReadInputTokens": 6, "cacheWriteInputTokens": 2}
CLAUDE_USAGE = {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 3}
TEXT = [{"type": "text", "text": "hello"}]
SAID = [{"role": "user", "content": [{"text": "hi"}]}]
CLAUDE = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
ANSWERS: dict[str, bytes] = {
    "converse": json.dumps(
        {
            "output": {"message": {"role": "assistant", "content": [{"text": "hello"}]}},
            "stopReason": "end_turn",
            "usage": USAGE,
            "metrics": {"latencyMs": 9},
        }
    ).encode(),
    "converse-stream": b"".join(amazon.converse(["hel", "lo"])),
    "invoke": json.dumps(
        {"id": "msg_2", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": TEXT,
         "stop_reason": "end_turn", "usage": CLAUDE_USAGE}
    ).encode(),
    "invoke-with-response-stream": amazon.invoke(EVENTS),
}  # fmt: skip
"""The answer of each call, by the end of its path."""
BY_HTTPX = f"""\
import json, httpx2 as httpx

for call in {list(ANSWERS)}:
    body = {{"messages": {SAID}}} if "converse" in call else {CLAUDE}
    answer = httpx.post("https://{HOST}/model/{MODEL}/" + call, json=body, headers={{"authorization": "Bearer k"}})
    print(json.dumps([call, "hello" if answer.status_code == 200 else answer.text]))
"""
BY_BOTO3 = f"""\
import json, boto3

client = boto3.client("bedrock-runtime", region_name="eu-central-1")
said, claude = {SAID}, {CLAUDE}
answer = client.converse(modelId="{MODEL}", messages=said)
told = [("converse", answer["output"]["message"]["content"][0]["text"], answer["usage"])]
events = list(client.converse_stream(modelId="{MODEL}", messages=said)["stream"])
text = "".join(event["contentBlockDelta"]["delta"].get("text", "") for event in events if "contentBlockDelta" in event)
told.append(("converse-stream", text, events[-1]["metadata"]["usage"]))
answer = json.loads(client.invoke_model(modelId="{MODEL}", body=json.dumps(claude))["body"].read())
told.append(("invoke", answer["content"][0]["text"], answer["usage"]))
stream = client.invoke_model_with_response_stream(modelId="{MODEL}", body=json.dumps(claude))["body"]
events = [json.loads(event["chunk"]["bytes"]) for event in stream]
told.append(("invoke-with-response-stream", events[2]["delta"]["text"], events[-1]["amazon-bedrock-invocationMetrics"]))
for call, text, usage in told:
    print(json.dumps([call, text, usage]))
"""


@asynccontextmanager
async def network(folder: Path) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A proxy through which Bedrock is found: its URL, and the requests that arrive. Its certificate is in `folder`."""
    authority, arrived = LocalAuthority("the network's"), list[bytes]()
    (folder / "network.pem").write_bytes(authority.certificate)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"CONNECT %b:443 " % HOST.encode())
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await writer.drain()
        await writer.start_tls(authority.context(HOST))
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                (length,) = (
                    int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
                )
                arrived.append(head + await reader.readexactly(length))
                call = head.split(b" ")[1].rpartition(b"/")[2].decode()
                kind = "vnd.amazon.eventstream" if call.endswith("-stream") else "json"
                answer = ANSWERS[call]
                writer.write(b"HTTP/1.1 200 OK\r\nx-amzn-RequestId: r-%d\r\n" % len(arrived))
                writer.write(f"Content-Type: application/{kind}\r\nContent-Length: {len(answer)}\r\n\r\n".encode())
                for at in range(0, len(answer), 50):
                    writer.write(answer[at : at + 50])
                    await writer.drain()
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", arrived


def amazons_python() -> str:
    """The interpreter that has Amazon's client."""
    if not ASKED or left_out(BOTO3):
        pytest.skip("real clients run in make test-clients only, unless CLIENTS leaves them out")
    python = INSTALLED / BOTO3 / "bin" / "python"
    assert python.exists(), f'boto3 is not installed: make clients, or leave it out with CLIENTS="{BOTO3}"'
    return str(python)


@pytest.mark.parametrize("script", [BY_HTTPX, BY_BOTO3], ids=["httpx", "boto3"])
async def test_each_call_is_recorded_with_figures_and_price(script: str, tmp_path: Path) -> None:
    python = amazons_python() if script is BY_BOTO3 else sys.executable
    (tmp_path / "agent.py").write_text(script)
    async with network(tmp_path) as (proxy, arrived):
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HOME": str(tmp_path),
            "CTXTUI_HOME": str(tmp_path / "ctxtui"),
            "HTTPS_PROXY": proxy,
            "SSL_CERT_FILE": str(tmp_path / "network.pem"),
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "a-secret-of-mine",
        }
        command = [sys.executable, "-m", "ctxtui", "exec", "--forward", "--", python, "agent.py"]
        ran = await asyncio.create_subprocess_exec(
            *command, cwd=tmp_path, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await asyncio.wait_for(ran.communicate(), 120)
        assert ran.returncode == 0, err.decode()
    told = [json.loads(line) for line in out.decode().splitlines()]
    assert [(call, text) for call, text, *_ in told] == [(call, "hello") for call in ANSWERS]
    assert all(f"\r\nhost: {HOST}\r\n".encode() in one.lower() for one in arrived), "a signature is bound to the host"
    (recording,) = (tmp_path / "ctxtui" / "attached").glob("*.jsonl")
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    assert "a-secret-of-mine" not in recording.read_text() and "AKIDEXAMPLE" not in recording.read_text()
    assert [line["asked"]["body"]["sha256"] for line in lines if "asked" in line] == [
        hashlib.sha256(one.partition(b"\r\n\r\n")[2]).hexdigest() for one in arrived
    ]
    assert [line["sha256"] for line in lines if "ended" in line] == [
        hashlib.sha256(answer).hexdigest() for answer in ANSWERS.values()
    ]
    calls = list(load(recording).session.calls.values())
    assert [(call.provider, call.model, call.fidelity) for call in calls] == [("aws", MODEL, Fidelity.WIRE)] * 4
    assert [_figures(call.usage) for call in calls] == [(4, 6, 2, 9), (4, 6, 2, 9), (5, 7, 0, 3), (5, 7, 0, 3)]
    table = price_table()
    usd = [price_call(call, table).usd for call in calls]
    # Sonnet 4.5 costs 10 % more in a region: $3.30 read in, 0.33 from the cache, 4.125 into it, 16.50 out, a million.
    assert usd == pytest.approx(
        [(4 * 3.3 + 6 * 0.33 + 2 * 4.125 + 9 * 16.5) / 1e6] * 2 + [(5 * 3.3 + 7 * 0.33 + 3 * 16.5) / 1e6] * 2
    )


def _figures(usage: Any) -> tuple[int, int, int, int]:
    return usage.fresh, usage.cache_read, usage.cache_write, usage.output


PARSE = """\
import json, sys
from botocore.eventstream import EventStreamBuffer

buffer = EventStreamBuffer()
buffer.add_data(sys.stdin.buffer.read())
for one in buffer:
    print(json.dumps([one.headers.get(":event-type") or one.headers[":exception-type"], one.payload.decode()]))
"""


def test_amazons_own_parser_reads_what_is_parsed_here() -> None:
    data = b"".join(amazon.converse(["Hel", "lo"])) + amazon.exception("throttlingException", "x")
    ran = subprocess.run([amazons_python(), "-c", PARSE], input=data, capture_output=True, check=True)
    assert is_event_stream(data)
    assert [[one.name, one.data] for one in parse_event_stream(data)] == list(map(json.loads, ran.stdout.splitlines()))


ON_BEDROCK = dataclasses.replace(
    CLAUDE_CODE,
    env={
        **{name: value for name, value in CLAUDE_CODE.env.items() if not name.startswith("ANTHROPIC_")},
        "CLAUDE_CODE_USE_BEDROCK": "1",
        # It refuses to skip permissions as root.
        "IS_SANDBOX": "1",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "a-secret-of-mine",
        "HTTPS_PROXY": f"http://127.0.0.1:{PROXY}",
        "SSL_CERT_FILE": "{home}/network.pem",
    },
)


def test_claude_code_on_bedrock_does_a_task_and_is_recorded_exactly(tmp_path: Path) -> None:
    if not ASKED or left_out(CLAUDE_CODE.name):
        pytest.skip("real clients run in make test-clients only, unless CLIENTS leaves them out")
    with lab(ON_BEDROCK, tmp_path / "lab") as place:
        place.open_gates()
        certificate, log = place.home / "network.pem", place.folder / "front.txt"
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        for module, *words in (
            ("bedrock_front", str(BEDROCK), str(PORT)),
            ("tls_front", str(PROXY), str(certificate), str(BEDROCK)),
        ):
            front = [sys.executable, "-m", f"tests.clients.{module}", *words]
            place.space.start(front, cwd=ROOT, env=env, log=log)
        assert soon(certificate.exists, 30), tail(log)
        program = place.client.program("claude")
        command = [program, "-p", "read b.txt", "--model", MODEL, "--dangerously-skip-permissions"]
        env = place.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(place.home / "ctxtui")}
        led = [sys.executable, "-m", "ctxtui", "exec", "--forward", "--", *command]
        code = ended(place.space.start(led, cwd=place.work, env=env, log=place.printed), place.printed, 3 * SECONDS)
        assert code == 0, tail(place.printed) + tail(log)
        asked = [one for one in place.seen() if one.asks]
        assert any(KEPT in json.dumps(one.messages) for one in asked) and all(one.accepted for one in place.seen())
        calls = [call for path in recordings_of(place) for call in load(path).session.calls.values()]
        assert {(call.provider, call.fidelity) for call in calls} == {("aws", Fidelity.WIRE)}
        assert sorted((call.id, _figures(call.usage)) for call in calls) == sorted(
            (one.answer["id"], (one.tokens.fresh, one.tokens.read, one.tokens.written, one.tokens.output))
            for one in asked
        )
        table = price_table()
        assert all(price_call(call, table).usd for call in calls)
