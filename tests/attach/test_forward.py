"""`ctxtui exec --forward`: a program that is given no base URL goes through a proxy that stands in for its provider,
with certificates of this run that nobody else trusts; the real Anthropic SDK and httpx over TLS."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from benchmarks.proxy.raw_relay import passed_on
from ctxtui.attach.forward import ForwardProxy
from ctxtui.attach.local_ca import AUTHORITY_NAME, LocalAuthority
from ctxtui.offline import Provider, Server, serving
from ctxtui.services.attach.program import Program
from ctxtui.services.attach.registry import FOLDER, programs
from ctxtui.services.recordings.open import load
from tests.attach.raw import talk

ROOT = Path(__file__).parents[2]
PROGRAM = """\
import json, os, socket, ssl, sys
from urllib.parse import urlsplit
import anthropic
import httpx2 as httpx

base, stranger = sys.argv[1:]
told = {}
asked = dict(model="claude-sonnet-4-5", max_tokens=99, messages=[{"role": "user", "content": "hoi"}])
client = anthropic.Anthropic(api_key="k", base_url=base)
with client.messages.stream(**asked) as stream:
    told["said"] = stream.get_final_text()
told["raw"] = client.messages.with_raw_response.create(**asked).status_code
told["other"] = httpx.post(base + "/v1/oauth/token", json={"refresh": "a-secret-of-mine"}).status_code
told["stranger"] = httpx.get(stranger).text
with open(os.environ["SSL_CERT_FILE"]) as bundle:
    told["bundle"] = bundle.name
    told["secret"] = "PRIVATE" in bundle.read()

def issuer(url, word=None):
    to, proxy = urlsplit(url), urlsplit(os.environ["HTTPS_PROXY"])
    import base64
    word = word or f"{proxy.username}:{proxy.password}"
    line = socket.create_connection((proxy.hostname, proxy.port))
    auth = base64.b64encode(word.encode()).decode()
    head = f"CONNECT {to.hostname}:{to.port} HTTP/1.1\\r\\nProxy-Authorization: Basic {auth}\\r\\n\\r\\n"
    line.sendall(head.encode())
    status = int(line.recv(99).split(b" ")[1])
    if status != 200:
        return status
    safe = ssl.create_default_context().wrap_socket(line, server_hostname=to.hostname)
    return dict(pair for part in safe.getpeercert()["issuer"] for pair in part)["commonName"]

told["issuers"] = [issuer(base), issuer(stranger)]
told["thief"] = issuer(base, "ctxtui:guess")
print(json.dumps(told))
sys.exit(3)
"""


@asynccontextmanager
async def secured(authority: LocalAuthority, port: int) -> AsyncIterator[str]:
    """TLS in front of the server on `port`; its address."""
    server = await asyncio.start_server(partial(passed_on, port), "127.0.0.1", 0, ssl=authority.context("localhost"))
    try:
        yield f"https://localhost:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def test_a_real_sdk_over_tls(tmp_path: Path) -> None:
    provider_ca, stranger_ca = LocalAuthority("the provider's"), LocalAuthority("a stranger's")
    trusted = tmp_path / "machine.pem"
    trusted.write_bytes(provider_ca.certificate + stranger_ca.certificate)
    script = tmp_path / "agent.py"
    script.write_text(PROGRAM)

    async def hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nuntouched")
        await writer.drain()
        writer.close()

    plain = await asyncio.start_server(hello, "127.0.0.1", 0)
    async with (
        serving(Server(Provider())) as provider,
        secured(provider_ca, int(provider.url.rpartition(":")[2])) as base,
        secured(stranger_ca, plain.sockets[0].getsockname()[1]) as stranger,
    ):
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HOME": str(tmp_path),
            "TMPDIR": str(tmp_path),
            "CTXTUI_HOME": str(tmp_path / "ctxtui"),
            "SSL_CERT_FILE": str(trusted),
            "ANTHROPIC_BASE_URL": base,
            "NO_PROXY": "localhost",
        }
        command = [sys.executable, "-m", "ctxtui", "exec", "--forward", "--", sys.executable, str(script)]
        ran = await asyncio.create_subprocess_exec(
            *command, base, stranger, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await asyncio.wait_for(ran.communicate(), 120)
        assert ran.returncode == 3, err.decode()
        told = json.loads(out)
        plain.close()
        arrived = [one for one in provider.server.seen if one.path.endswith("/messages")]
    assert "offline provider" in told["said"] and told["raw"] == 200 and told["other"] >= 400
    assert told["stranger"] == "untouched" and told["thief"] == 407
    # Ours for the provider alone; a stranger is spoken to as without us.
    assert told["issuers"] == [AUTHORITY_NAME, "a stranger's"]
    assert not told["secret"] and not Path(told["bundle"]).exists()
    (recording,) = (tmp_path / "ctxtui" / "attached").glob("*.jsonl")
    assert len(load(recording).session.calls) == len(arrived) == 2
    asked = [json.loads(line)["asked"] for line in recording.read_text().splitlines() if '"asked"' in line]
    assert [one["url"] for one in asked] == [f"{base}/v1/messages"] * 2
    # No key was written anywhere, nor what is none of our business.
    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != script)
    assert b"PRIVATE KEY" not in left and b"a-secret-of-mine" not in left


UNTRUSTING = """\
import base64, os, socket, ssl
from urllib.parse import urlsplit

proxy = urlsplit(os.environ["HTTPS_PROXY"])
line = socket.create_connection((proxy.hostname, proxy.port))
auth = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
line.sendall(f"CONNECT localhost:9 HTTP/1.1\\r\\nProxy-Authorization: Basic {auth}\\r\\n\\r\\n".encode())
line.recv(99)
try:
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_socket(line, server_hostname="localhost")
except ssl.SSLCertVerificationError:
    print("not trusted")
"""


async def test_a_program_with_certificates_of_its_own_is_reported(tmp_path: Path) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "CTXTUI_HOME": str(tmp_path / "ctxtui"),
        "ANTHROPIC_BASE_URL": "https://localhost:9",
    }
    command = [sys.executable, "-m", "ctxtui", "exec", "--forward", "--", sys.executable, "-c", UNTRUSTING]
    ran = await asyncio.create_subprocess_exec(
        *command, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await asyncio.wait_for(ran.communicate(), 120)
    assert out.decode() == "not trusted\n"
    assert "TLS with the program failed for localhost" in err.decode() and err.count(b"\n") == 1


async def test_a_certificate_is_of_its_run_alone() -> None:
    import ssl

    ours, others = LocalAuthority(), LocalAuthority()
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=ours.context("localhost"))
    port = server.sockets[0].getsockname()[1]
    try:
        for authority, trusted in ((ours, True), (others, False)):
            context = ssl.create_default_context(cadata=authority.certificate.decode())
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
                writer.close()
                assert trusted
            except ssl.SSLCertVerificationError:
                assert not trusted
        context = ssl.create_default_context(cadata=ours.certificate.decode())
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="api.anthropic.com")
    finally:
        server.close()


@pytest.mark.parametrize(
    ("target", "password", "status"),
    [
        *((target, "", b"400") for target in ("x:99999999999", "x:" + "9" * 5000, "x:port", "x:0", "x:99999")),
        *((target, "", b"502") for target in ("a..b:443", "u@x:443", "[::1:443")),
        ("x:443", "é", b"407"),
    ],
)
async def test_an_odd_request_is_refused(target: str, password: str, status: bytes) -> None:
    proxy = ForwardProxy([], lambda event: None, lambda: "x", authority=LocalAuthority(), env={})
    await proxy.start()
    word = password.encode("latin-1") or base64.b64encode(f"ctxtui:{proxy.password}".encode())
    try:
        got = await talk(
            proxy.port, f"CONNECT {target} HTTP/1.1\r\nProxy-Authorization: Basic ".encode() + word + b"\r\n\r\n"
        )
    finally:
        await proxy.close()
    assert got.startswith(b"HTTP/1.1 " + status)
    assert (b"\r\nproxy-authenticate: Basic " in got) == (status == b"407")


@pytest.mark.parametrize("program", programs(FOLDER), ids=lambda one: one.name)
def test_each_program_is_told_whom_to_trust(program: Program) -> None:
    assert program.certificates
    env = {"no_proxy": ".anthropic.com,intra.example,*"}
    told = program.proxy_variables("http://127.0.0.1:9", "/b.pem", ["api.anthropic.com"], env)
    assert told["HTTPS_PROXY"] == told["https_proxy"] == "http://127.0.0.1:9"
    assert told["NO_PROXY"] == "intra.example" and {told[name] for name in program.certificates} == {"/b.pem"}


def test_certificates_outlast_a_run_of_months() -> None:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509

    certificate = x509.load_pem_x509_certificate(LocalAuthority().certificate)
    assert certificate.not_valid_after_utc > datetime.now(UTC) + timedelta(days=300)
