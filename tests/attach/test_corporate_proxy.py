"""Where programs go out through a company's proxy, which looks into TLS with an authority of its own, so does ctxtui: a
real mitmproxy, a real SDK, both doors of `ctxtui exec`."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.peers import peer
from ctxtui.offline import Provider, Server, serving
from ctxtui.services.recordings.open import load

ROOT = Path(__file__).parents[2]
HOST = "api.corp.example"
"""A name that no machine but the proxy knows."""
PROGRAM = f"""\
import os, anthropic

base = os.environ.get("ANTHROPIC_BASE_URL", "https://{HOST}")
client = anthropic.Anthropic(api_key="k", base_url=base, max_retries=0)
asked = dict(model="claude-sonnet-4-5", max_tokens=99, messages=[{{"role": "user", "content": "hoi"}}])
with client.messages.stream(**asked) as stream:
    print(stream.get_final_text())
print(client.messages.with_raw_response.create(**asked).status_code)
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(peer("mitmdump") is None, reason="no mitmdump (docs/speed.md says how it is had)"),
]


@contextmanager
def corporate(folder: Path, to: int, password: str = "") -> Iterator[str]:
    """A mitmproxy on loopback; its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(peer("mitmdump")), "-q", "--listen-host", "127.0.0.1", "--listen-port", str(port)]
    command += ["--set", f"confdir={folder / 'mitm'}", "-s", str(Path(__file__).parent / "corporate_addon.py")]
    command += ["--set", f"to={to}", "--set", f"seen={folder / 'seen'}", "--set", "connection_strategy=lazy"]
    command += ["--proxyauth", password] if password else []
    process = subprocess.Popen(command, env={"PATH": os.environ["PATH"], "HOME": str(folder)})
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.1)
        yield f"http://{password + '@' if password else ''}127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


async def run(folder: Path, proxy: str, *given: str, trusted: bool = True) -> tuple[int, str, str]:
    """The program under `ctxtui exec`: its exit code, what it says and what is said of it."""
    script = folder / "agent.py"
    script.write_text(PROGRAM)
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "CTXTUI_HOME": str(folder / "ctxtui"),
        "ANTHROPIC_BASE_URL": f"https://{HOST}",
        "HTTPS_PROXY": proxy,
        **({"SSL_CERT_FILE": str(folder / "mitm" / "mitmproxy-ca-cert.pem")} if trusted else {}),
    }
    command = [sys.executable, "-m", "ctxtui", "exec", *given, "--", sys.executable, str(script)]
    ran = await asyncio.create_subprocess_exec(
        *command, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await asyncio.wait_for(ran.communicate(), 240)
    assert ran.returncode is not None
    return ran.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("password", ["", "anna:s%40e"], ids=["open", "with-a-password"])
@pytest.mark.parametrize("door", [(), ("--forward",)], ids=["base-url", "forward"])
async def test_requests_go_out_through_it(tmp_path: Path, door: tuple[str, ...], password: str) -> None:
    async with serving(Server(Provider())) as provider:
        told = password.replace("%40", "@")
        with corporate(tmp_path, int(provider.url.rpartition(":")[2]), told) as proxy:
            code, out, err = await run(tmp_path, proxy.replace(told, password) if told else proxy, *door)
        assert code == 0, err
        arrived = [one for one in provider.server.seen if one.path.endswith("/messages")]
    assert "offline provider" in out and out.rstrip().endswith("200")
    assert (tmp_path / "seen").read_text().splitlines() == [f"POST https://{HOST}/v1/messages"] * 2
    (recording,) = (tmp_path / "ctxtui" / "attached").glob("*.jsonl")
    assert len(load(recording).session.calls) == len(arrived) == 2
    assert b"s%40e" not in recording.read_bytes() and b"s@e" not in recording.read_bytes()


async def test_a_proxy_that_is_not_trusted_or_refuses_is_said(tmp_path: Path) -> None:
    async with serving(Server(Provider())) as provider:
        with corporate(tmp_path, int(provider.url.rpartition(":")[2]), "anna:se") as proxy:
            code, _, err = await run(tmp_path, proxy, trusted=False)
            assert code and "502" in err and "certificate" in err.lower()
            code, _, err = await run(tmp_path, proxy.replace("anna:se", "anna:no"))
            assert code and "502" in err and "answers 407" in err
    assert not (tmp_path / "seen").exists()
