"""The place where clients run: only loopback is there, and nothing runs on when it is left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients import namespace as room
from tests.clients.namespace import ClientFailed, namespace
from tests.clients.registry import ASKED, left_out

pytestmark = pytest.mark.skipif(not ASKED or left_out("all"), reason="real clients run in make test-clients only")

CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 2)"


def test_only_loopback_is_reached(tmp_path: Path) -> None:
    log = tmp_path / "log"
    listen = "import socket, time; s = socket.create_server(('127.0.0.1', 4010)); s.accept()"
    with namespace() as space:
        given = {"cwd": tmp_path, "env": os.environ, "log": log}
        listening = space.start([sys.executable, "-c", listen], **given)
        reach = f"until {sys.executable} -c '{CONNECT}' 127.0.0.1 4010; do sleep 0.1; done"
        space.run(["sh", "-c", reach], **given, seconds=20)
        assert listening.wait(5) == 0
        with pytest.raises(ClientFailed, match="unreachable"):
            space.run([sys.executable, "-c", CONNECT, "192.0.2.1", "80"], **given, seconds=20)


def test_what_was_started_in_it_is_ended_with_it(tmp_path: Path) -> None:
    with namespace() as space:
        log = tmp_path / "log"
        space.run(["sh", "-c", "sleep 600 & echo $!"], cwd=tmp_path, env=os.environ, log=log, seconds=20)
        left = int(log.read_text())
        assert Path(f"/proc/{left}").exists()
    assert not Path(f"/proc/{left}").exists() or "State:\tZ" in Path(f"/proc/{left}/status").read_text()


def test_a_process_that_takes_too_long_is_ended_and_says_what_it_printed(tmp_path: Path) -> None:
    with namespace() as space, pytest.raises(ClientFailed, match="waiting for Godot"):
        command = ["sh", "-c", "echo waiting for Godot; exec sleep 600"]
        space.run(command, cwd=tmp_path, env=os.environ, log=tmp_path / "log", seconds=1)


def test_without_namespaces_it_says_how_to_allow_or_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.Popen
    monkeypatch.setattr(
        room.subprocess, "Popen", lambda command, **given: real(["sh", "-c", "echo not permitted >&2; exit 1"], **given)
    )
    with pytest.raises(ClientFailed, match=r"not permitted(.|\n)*CLIENTS=none"), namespace():
        pass
