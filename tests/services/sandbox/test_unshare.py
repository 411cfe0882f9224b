"""Commands that plain namespaces confine, where this machine has them: what they reach, their time and memory."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from ctxtui.agent.events import ToolCall
from ctxtui.agent.tools.planned_write import PlannedCall
from ctxtui.services.agent_tools import agent_commands
from ctxtui.services.agent_tools.agent_commands import AgentCommands
from ctxtui.services.config.settings import Settings
from ctxtui.services.sandbox import confinement as module
from ctxtui.services.sandbox.confinement import UNSHARE, Confinement

CONFINED = Confinement(UNSHARE)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not module._works(UNSHARE), reason="unprivileged namespaces are not permitted here"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "work"
    (found / ".git" / "hooks").mkdir(parents=True)
    (found / "ctxtui.toml").write_text("theme = 'dark'\n")
    return found


def ran(
    root: Path, script: str, *, network: bool = False, home: Path | None = None
) -> subprocess.CompletedProcess[str]:
    wrapped = CONFINED.wrapped(["sh", "-c", script], root, home or root.parent, network=network)
    return subprocess.run(wrapped, capture_output=True, text=True, timeout=60, check=False)


def programs() -> list[str]:
    """What runs on this machine."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes().decode("utf-8", "replace"))
    return found


def test_it_writes_in_its_folder_and_nowhere_else(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    done = ran(
        root, "pwd; echo a > a.txt; echo b > .git/config2; echo c > /dev/null && echo ok; touch /tmp/t && echo tmp"
    )
    assert done.stdout.splitlines() == [str(root), "ok", "tmp"] and done.returncode == 0, done.stderr
    assert (root / "a.txt").read_text() == "a\n" and not Path("/tmp/t").exists()
    for place in (Path(module.__file__).with_name("x"), Path.home() / "x", Path("/etc/x"), root / "ctxtui.toml"):
        done = ran(root, f"echo evil > '{place}'")
        # A checkout below /tmp is not there at all, but for its interpreter.
        refusal = "nonexistent" if place.is_relative_to("/tmp") else "Read-only"
        assert done.returncode and refusal in done.stderr, (place, done.stderr)
    assert ran(root, f"touch '{root}/.git/hooks/pre-commit'").returncode
    ran(root, f"mkdir -p '{outside}'; echo evil > '{outside}/x'")
    assert not list(outside.iterdir()), "what is below /tmp is not what others see there"


@pytest.mark.parametrize("inner", ["", "work"])
def test_an_interpreter_below_tmp_is_readable(monkeypatch: pytest.MonkeyPatch, inner: str) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        prefix, work = Path(folder, inner, "venv"), Path(folder, "work")
        prefix.mkdir(parents=True)
        work.mkdir(exist_ok=True)
        (prefix / "library.py").write_text("found")
        monkeypatch.setattr(sys, "prefix", str(prefix))
        assert ran(work, f"cat '{prefix}/library.py'").stdout == "found"
        if not inner:
            done = ran(work, f"echo evil > '{prefix}/library.py'")
            assert done.returncode and "Read-only" in done.stderr, done.stderr
            assert ran(work, f"echo fine > '{work}/a.txt'").returncode == 0


def test_secrets_are_not_seen(root: Path) -> None:
    assert "passwd" in ran(root, "ls /etc", home=Path("/etc")).stdout, "it reads what the user reads"
    secret = root / ".ssh"
    secret.mkdir()
    (secret / "id").write_text("key")
    assert "id" not in ran(root, "ls .ssh", home=root).stdout


def test_no_privilege_is_left_to_undo_it(root: Path) -> None:
    done = ran(root, "grep Cap /proc/self/status; grep NoNewPrivs /proc/self/status; ps -A -o pid= 2>/dev/null | wc -l")
    told = done.stdout.split()
    assert [word for word in told if len(word) == 16] == ["0" * 16] * 5 and "NoNewPrivs:" in told
    for script in ("mount -o remount,bind,rw /", "umount /tmp", "unshare -Urm mount -o remount,bind,rw /"):
        assert ran(root, f"{script} && touch /etc/x").returncode, script
    assert not Path("/etc/x").exists()


async def test_it_has_no_network_but_its_own(root: Path) -> None:
    async def heard(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(heard, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    ask = f"{sys.executable} -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5); print(1)'"
    own = 'import socket as s; a = s.create_server(("127.0.0.1", 0)); s.create_connection(a.getsockname()); print(2)'
    assert (await asyncio.to_thread(ran, root, ask)).stdout == ""
    assert (await asyncio.to_thread(ran, root, f"{sys.executable} -c '{own}'")).stdout == "2\n"
    assert (await asyncio.to_thread(ran, root, ask, network=True)).stdout == "1\n"
    server.close()


async def test_the_agents_commands_have_a_time_and_a_memory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_commands, "confinement", lambda: CONFINED)
    made = AgentCommands(root, Settings(command_shell=True, command_memory=300), lambda name, text: None)

    def call(command: str, **more: object) -> ToolCall:
        return ToolCall("c", "run_command", {"command": command, **more})

    planned = await made.plan(call("ls"))
    assert isinstance(planned, PlannedCall) and not planned.guard
    assert planned.told.endswith("confined by unshare: writes in this folder only, no network")
    done = await made.run(call("echo $$; echo here > made; cat made"))
    first, said = done.text.splitlines()[1:]
    assert first in ("1", "2") and said == "here" and not done.is_error, "it is of the first of its processes"
    # What it leaves running goes with it.
    late = await made.run(call("(trap '' TERM; setsid sleep 617.3) & sleep 617.3", timeout=1))
    assert late.is_error and "its time was up" in late.text
    assert not any("617.3" in one for one in programs())
    much = await made.run(call(f"{sys.executable} -c 'print(len(bytes(900_000_000)))'"))
    assert much.is_error and "MemoryError" in much.text
    assert (await made.run(call("no-such-program"))).is_error


def test_what_cannot_be_confined_does_not_run(root: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    done = subprocess.run(CONFINED.wrapped(["touch", "x"], gone, tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 125 and "it cannot be confined" in done.stderr and not gone.exists()
