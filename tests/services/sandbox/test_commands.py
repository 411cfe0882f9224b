"""Commands: their time, output and whole process group; what is asked beforehand; how they are confined."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import pytest

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.tool import PlannedCall
from ctxtui.services.agent_tools import agent_commands
from ctxtui.services.agent_tools.agent_commands import AgentCommands
from ctxtui.services.chat.opening import tool_definitions
from ctxtui.services.config.settings import Settings
from ctxtui.services.sandbox.command import MAX_OUTPUT_BYTES, limit_memory, run_program
from ctxtui.services.sandbox.confinement import Confinement, find_confinement
from ctxtui.services.sandbox.view import build_view


def call(command: str, **more: object) -> ToolCall:
    return ToolCall("c", "run_command", {"command": command, **more})


def commands(tmp_path: Path, **settings: int) -> tuple[AgentCommands, dict[str, str]]:
    kept: dict[str, str] = {}
    return AgentCommands(tmp_path, Settings(**settings), kept.__setitem__), kept  # type: ignore[arg-type]


async def gone(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and " Z " in Path(f"/proc/{pid}/stat").read_text():
            return True
        await asyncio.sleep(0.01)
    return False


@pytest.mark.parametrize("odd", ["a\0b", "a\ud800b"])
async def test_an_argument_that_no_program_can_get_is_an_error_for_the_model(tmp_path: Path, odd: str) -> None:
    result = await commands(tmp_path)[0].run(call(f"echo {odd}"))
    assert result.is_error and result.text.startswith("echo: ")


async def test_a_command_that_is_cancelled_or_late_ends_with_all_that_it_started(tmp_path: Path) -> None:
    # It ignores being asked, and its child would outlive it.
    script = "trap '' TERM; sleep 60 & echo $! > child; echo here; wait"
    for late in (True, False):
        (tmp_path / "child").unlink(missing_ok=True)
        task = asyncio.create_task(run_program(["sh", "-c", script], tmp_path, 0.3 if late else 60, os.environ))
        while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text().strip():
            await asyncio.sleep(0.01)
        child = int((tmp_path / "child").read_text())
        if late:
            done = await task
            assert done.late and done.text == "here\n" and done.seconds < 3
        else:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await gone(child)


def test_a_process_that_left_the_group_leaves_no_pipe_behind(tmp_path: Path) -> None:
    script = "setsid sleep 5 & while sleep 1; do :; done"
    assert asyncio.run(run_program(["sh", "-c", script], tmp_path, 0.3, os.environ)).late
    gc.collect()


async def test_output_is_kept_up_to_a_size_and_nothing_waits_for_the_background(tmp_path: Path) -> None:
    done = await run_program(["sh", "-c", "yes 0123456789 | head -c 9000000; echo end"], tmp_path, 20, os.environ)
    assert (
        done.code == 0 and done.left_out > 0 and len(done.text) < MAX_OUTPUT_BYTES + 100 and done.text.endswith("end\n")
    )
    began = time.monotonic()
    done = await run_program(["sh", "-c", "sleep 30 & echo done; exit 3"], tmp_path, 20, os.environ)
    assert done.code == 3 and done.text == "done\n" and time.monotonic() - began < 5
    done = await run_program(["env"], tmp_path, 5, {"PATH": os.environ["PATH"], "LANG": "C"})
    assert "GIT_PAGER=cat" in done.text and "LANG=C" in done.text
    done = await run_program(
        limit_memory(["sh", "-c", "head -c 900000000 /dev/zero | tail -c 900000000 | wc -c"], 200),
        tmp_path,
        20,
        os.environ,
    )
    assert "900000000" not in done.text.splitlines()


async def test_what_is_asked_and_what_the_model_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_commands, "find_confinement", lambda root: Confinement())
    monkeypatch.setattr("ctxtui.services.sandbox.confined.find_confinement", lambda root: Confinement())
    made, kept = commands(tmp_path)
    planned = await made.plan(call("echo 'a b'"))
    assert isinstance(planned, PlannedCall) and planned.command == "echo 'a b'"
    assert planned.description == "not confined: it can do whatever you can" and planned.guard
    for command, why in (("ls | wc", "no shell that understands |"), ("", "is empty"), ("echo 'a", "No closing")):
        refused = await made.plan(call(command))
        assert isinstance(refused, ToolResult) and why in refused.text
    for command in ("find . -exec grep a {} \\;", "sort -t ';' a", 'awk -F "|" a'):
        assert isinstance(await made.plan(call(command)), PlannedCall), "quoted, it is an argument"
    done = await made.run(call("echo a"))
    assert done.text.startswith("exit code 0, 0.") and done.text.endswith(" s\na") and not done.is_error
    assert (await made.run(call("no-such-program"))).text == "there is no program no-such-program"
    removed, _ = commands(tmp_path / "removed")
    assert (await removed.run(call("echo a"))).text == f"there is no folder {tmp_path / 'removed'}"
    done = await made.run(call("sleep 60", timeout=1))
    assert done.is_error and ": timeout" in done.text
    done = await made.run(call("seq 20000"))
    assert "`recall` reads them: output-1.1 to output-1.3" in done.text and done.text.endswith("20000")
    assert "".join(made.outputs.values()).splitlines() == [str(n) for n in range(1, 20001)] and kept == made.outputs
    free, _ = commands(tmp_path, command_shell=True, command_unconfined=True)
    planned = await free.plan(call("echo a | wc -l"))
    assert isinstance(planned, PlannedCall) and "by a shell" in planned.description and not planned.guard
    assert (await free.run(call("echo a | wc -l"))).text.endswith("1")
    # The model is told which of the two it has.
    for shell in (False, True):
        definitions: tuple[Any, ...] = tool_definitions(Settings(command_shell=shell))
        (told,) = (one["description"] for one in definitions if one["name"] == "run_command")
        assert ("There is no shell" in told) != shell and ("/bin/sh" in told) == shell


def is_running(word: str) -> bool:
    """Whether a process with `word` in its command line runs."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if word.encode() in path.read_bytes():
                return True
    return False


async def test_the_agents_commands_have_a_time_and_a_memory(
    kind: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_commands, "find_confinement", lambda root: Confinement(kind))
    monkeypatch.setenv("DATABASE_URL", "named")
    monkeypatch.setenv("GH_PAT", "secret")
    (root.parent / "data").write_text("read")
    made = AgentCommands(
        root,
        Settings(
            command_shell=True,
            command_memory=300,
            command_variables="DATABASE_URL",
            command_reads=f"'{root.parent}/data'",
        ),
        lambda name, text: None,
    )
    planned = await made.plan(call("ls"))
    assert isinstance(planned, PlannedCall) and not planned.guard
    assert planned.description.endswith(f"confined by {kind}: only this folder, no network")
    done = await made.run(call("echo $DATABASE_URL $GH_PAT > made; cat made ../data"))
    assert done.text.splitlines()[1:] == ["named", "read"] and not done.is_error
    # What it leaves running goes with it.
    seconds = f"617.{os.getpid()}"  # as no test does that runs beside this one
    late = await made.run(call(f"(trap '' TERM; setsid sleep {seconds}) & sleep {seconds}", timeout=1))
    assert late.is_error and ": timeout" in late.text
    async with asyncio.timeout(20):  # a killed process may be there for a moment
        while is_running(seconds):
            await asyncio.sleep(0.01)
    much = await made.run(call(f"{sys.executable} -c 'print(len(bytes(900_000_000)))'"))
    assert much.is_error and "MemoryError" in much.text
    assert (await made.run(call("no-such-program"))).is_error
    refused = await made.run(call("echo evil > CLAUDE.md; echo done"))
    assert refused.text.splitlines()[1].startswith("refused, because it controls other programs: CLAUDE.md;")
    assert refused.text.endswith("done") and not (root / "CLAUDE.md").exists()


RUNS: Final = """
import asyncio, sys
from pathlib import Path
from ctxtui.services.sandbox import confined as module
from ctxtui.services.sandbox.confinement import Confinement
module.find_confinement = lambda root: Confinement(sys.argv[1])
asyncio.run(module.run_confined(["/bin/sh", "-c", "touch ready; exec sleep 618.4"], Path(sys.argv[2])))
"""


async def test_a_command_ends_with_ctxtui_however_that_ends(kind: str, root: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", RUNS, kind, root]) as ctxtui:
        while not (root / "ready").exists():
            await asyncio.sleep(0.01)
        running = [pid for pid in os.listdir("/proc") if pid.isdigit() and is_called(pid, b"618.4")]
        ctxtui.kill()
    assert running and all([await gone(int(pid)) for pid in running])


def is_called(pid: str, word: bytes) -> bool:
    try:
        return word in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_how_it_is_confined(tmp_path: Path) -> None:
    view = build_view(tmp_path.resolve(), Path.home(), os.environ)
    made = Confinement("bwrap").wrap(["pytest", "-q"], view)
    assert made[0] == "bwrap" and made[-3:] == ["--", "pytest", "-q"] and "--unshare-net" in made
    inside = Confinement("unshare").wrap(["pytest", "-q"], view)
    assert [option for option in view.options() if option in made] == view.options()
    assert inside[-len(view.options()) - 4 :] == [*view.options(), "--unshare-net", "--", "pytest", "-q"]
    assert "--unshare-net" not in Confinement("bwrap").wrap(["a"], view, network=True)
    assert Confinement("sandbox-exec").wrap(["a"], view)[2] == view.profile(network=False)
    assert Confinement().wrap(["a"], view) == ["a"] and not Confinement()
    # The question has 67 columns for it at 80, with "by a shell, " before it.
    assert all(len(f"by a shell, {Confinement(kind).describe(network=True)}") <= 67 for kind in ("", "sandbox-exec"))
    assert Confinement().describe() == "not confined: it can do whatever you can" and not find_confinement(Path("/"))
