"""Commands: their time, output and whole process group; what is asked beforehand; how they are confined."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools.planned_write import PlannedCall
from ctxtui.services.agent_tools import agent_commands
from ctxtui.services.agent_tools.agent_commands import AgentCommands
from ctxtui.services.config.settings import Settings
from ctxtui.services.sandbox.command import KEPT, limited, run, surroundings
from ctxtui.services.sandbox.confinement import Confinement


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


async def test_a_command_that_is_cancelled_or_late_ends_with_all_that_it_started(tmp_path: Path) -> None:
    # It ignores being asked, and its child would outlive it.
    script = "trap '' TERM; sleep 60 & echo $! > child; echo here; wait"
    for late in (True, False):
        (tmp_path / "child").unlink(missing_ok=True)
        task = asyncio.create_task(run(["sh", "-c", script], tmp_path, 0.3 if late else 60))
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


async def test_output_is_kept_up_to_a_size_and_nothing_waits_for_the_background(tmp_path: Path) -> None:
    done = await run(["sh", "-c", "yes 0123456789 | head -c 9000000; echo end"], tmp_path, 20)
    assert done.code == 0 and done.left_out > 0 and len(done.text) < KEPT + 100 and done.text.endswith("end\n")
    began = time.monotonic()
    done = await run(["sh", "-c", "sleep 30 & echo done; exit 3"], tmp_path, 20)
    assert done.code == 3 and done.text == "done\n" and time.monotonic() - began < 5
    done = await run(["env"], tmp_path, 5, {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "sk-1", "LANG": "C"})
    assert "sk-1" not in done.text and "LANG=C" in done.text
    assert "GITHUB_TOKEN" not in surroundings({"GITHUB_TOKEN": "x"})
    done = await run(
        limited(["sh", "-c", "head -c 900000000 /dev/zero | tail -c 900000000 | wc -c"], 200), tmp_path, 20
    )
    assert "900000000" not in done.text.splitlines()


async def test_what_is_asked_and_what_the_model_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_commands, "confinement", Confinement)
    monkeypatch.setattr("ctxtui.services.sandbox.confined.confinement", Confinement)
    made, kept = commands(tmp_path)
    planned = await made.plan(call("echo 'a b'"))
    assert isinstance(planned, PlannedCall) and planned.what == "echo 'a b'"
    assert planned.told == "in this folder, not confined: it can do whatever you can" and planned.guard
    for command, why in (("ls | wc", "no shell that understands |"), ("", "is empty"), ("echo 'a", "No closing")):
        refused = await made.plan(call(command))
        assert isinstance(refused, ToolResult) and why in refused.text
    done = await made.run(call("echo a"))
    assert done.text.startswith("exit code 0, 0.") and done.text.endswith(" s\na") and not done.is_error
    assert (await made.run(call("no-such-program"))).text == "there is no program no-such-program"
    done = await made.run(call("sleep 60", timeout=1))
    assert done.is_error and "its time was up" in done.text
    done = await made.run(call("seq 20000"))
    assert "`recall` reads all of it: output-1.1 to output-1.3" in done.text and done.text.endswith("20000")
    assert "".join(made.kept.values()).splitlines() == [str(n) for n in range(1, 20001)] and kept == made.kept
    free, _ = commands(tmp_path, command_shell=True, command_unconfined=True)
    planned = await free.plan(call("echo a | wc -l"))
    assert isinstance(planned, PlannedCall) and "by a shell" in planned.told and not planned.guard
    assert (await free.run(call("echo a | wc -l"))).text.endswith("1")


def test_how_it_is_confined(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    root = tmp_path / "work"
    (root / ".git" / "hooks").mkdir(parents=True)
    made = Confinement("bwrap").wrapped(["pytest", "-q"], root, tmp_path)
    joined = " ".join(made)
    assert made[0] == "bwrap" and made[-3:] == ["--", "pytest", "-q"] and "--unshare-net" in made
    assert f"--tmpfs {tmp_path}/.ssh" in joined and f"--bind {root} {root}" in joined
    assert f"--ro-bind {root}/.git/hooks {root}/.git/hooks" in joined and "--die-with-parent" in made
    assert "--unshare-net" not in Confinement("bwrap").wrapped(["a"], root, tmp_path, network=True)
    profile = Confinement("sandbox-exec").wrapped(["a"], root, tmp_path)[2]
    assert "(deny file-write*)" in profile and f'(subpath "{root}")' in profile and "(deny network*)" in profile
    assert Confinement().wrapped(["a"], root, tmp_path) == ["a"] and not Confinement()
    assert Confinement("bwrap").told() == "confined by bwrap: writes in this folder only, no network"
