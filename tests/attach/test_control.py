"""What speaks to a run speaks to no other program: that a run was killed is known before anything is said."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ctxtui.services.attach.control import Control, ask_all

RUN = """\
import asyncio, sys
from pathlib import Path
from ctxtui.services.attach.control import Control

async def run():
    await Control(Path(sys.argv[1]), "killed", lambda asked: {"mine": True}).start()
    print("there", flush=True)
    await asyncio.sleep(600)

asyncio.run(run())
"""


@pytest.mark.parametrize("line", [b"[" * 100_000, '{"word": "é"}'.encode(), b"{", b"[]"])
async def test_an_odd_request_gets_no_answer(tmp_path: Path, line: bytes) -> None:
    troubles: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, trouble: troubles.append(trouble))
    control = Control(tmp_path, "live", lambda asked: {"mine": True})
    await control.start()
    port = json.loads((tmp_path / "live.control").read_text())["port"]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(line + b"\n")
    assert await asyncio.wait_for(reader.read(), 20) == b""
    writer.close()
    await control.close()
    assert not troubles


async def test_a_killed_run_s_word_goes_to_nobody(tmp_path: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", RUN, str(tmp_path)], stdout=subprocess.PIPE)
    assert run.stdout is not None and run.stdout.readline() == b"there\n"
    live = Control(tmp_path, "live", lambda asked: {"mine": False})
    await live.start()
    assert dict(await asyncio.to_thread(lambda: [*ask_all(tmp_path, {})])) == {
        "killed": {"mine": True},
        "live": {"mine": False},
    }
    run.send_signal(signal.SIGKILL)
    run.wait(20)
    run.stdout.close()
    file = tmp_path / "killed.control"
    port = json.loads(file.read_text())["port"]
    # Another program has its port now.
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        other.setblocking(False)
        assert [name for name, _ in await asyncio.to_thread(lambda: [*ask_all(tmp_path, {})])] == ["live"]
        try:
            raise AssertionError(f"somebody came: {other.accept()}")
        except BlockingIOError:
            pass
    assert not file.exists()
    await live.close()
    assert not [*tmp_path.iterdir()]
