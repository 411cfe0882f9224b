"""The wheel in an environment of its own, without extras and without a network: scripts/try_wheel.sh makes it and names
it in ``TRY_WHEEL``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from benchmarks.terminal import Terminal
from ctxtui import __version__
from ctxtui.services.config.extras import EXTRAS, install_command
from tests.pty_app import Screen

ENVIRONMENT = Path(os.environ.get("TRY_WHEEL", ""))
pytestmark = pytest.mark.skipif("TRY_WHEEL" not in os.environ, reason="run scripts/try_wheel.sh")

MAX_CORE_MB = 150
"""Size of the core on disk as it is unpacked: without pip, and without bytecode, which not every installer makes."""
MAX_SECONDS_TO_HOME = 2.0
"""Seconds to a drawn Home with bytecode: half a second on an idle machine; two, as tests run beside others."""
OFFLINE = ["unshare", "--map-root-user", "--net"]


def offline() -> list[str]:
    """What runs a program without any network; nothing where the system forbids that."""
    can = shutil.which("unshare") and subprocess.run([*OFFLINE, "true"], capture_output=True).returncode == 0
    return OFFLINE if can else []


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The variables of a user who has nothing yet, in a folder of theirs."""
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "CTXTUI_TIPS": "false"}


def run(home: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*offline(), str(ENVIRONMENT / "bin" / "ctxtui"), *arguments]
    return subprocess.run(command, env=home, cwd=home["HOME"], capture_output=True, text=True)


def packages() -> Path:
    (folder,) = (ENVIRONMENT / "lib").glob("python3*/site-packages")
    return folder


def test_it_is_the_version_of_the_checkout_with_all_its_data(home: dict[str, str]) -> None:
    assert run(home, "--version").stdout == f"ctxtui {__version__}\n"
    data = packages() / "ctxtui" / "data"
    names = [
        "models.toml",
        "vocab/o200k_base.tiktoken.xz",
        "vocab/cl100k_base.tiktoken.xz",
        "vocab/NOTICE",
        "zstd.dict",
    ]
    assert [name for name in names if not (data / name).is_file()] == []
    assert len(list((data / "sessions").glob("*.jsonl"))) == 4
    assert (ENVIRONMENT / "share/man/man1/ctxtui.1").is_file()


def test_the_core_is_small_and_holds_no_extra() -> None:
    folders = {extra.module for extra in EXTRAS.values()} & {path.name for path in packages().iterdir()}
    assert not folders
    files = [path for path in packages().rglob("*") if path.is_file() and path.suffix != ".pyc"]
    installers = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    own = [path for path in files if not path.relative_to(packages()).parts[0].startswith(installers)]
    megabytes = sum(path.stat().st_blocks * 512 for path in own) / 1e6
    print(f"core: {megabytes:.0f} MB on disk")
    assert megabytes <= MAX_CORE_MB


NEEDS = {
    "mcp": "mcp serve",
    "forward": "exec --forward -- true",
    "keyring": "--set provider=anthropic run x",
    "parquet": "export a.jsonl --to parquet -o out",
    "cluster": "stats . --cluster local",
}
"""A command that needs each extra; the outlines without `code` are tested in tests/cli/test_extras."""


@pytest.mark.parametrize("extra", NEEDS)
def test_what_needs_an_extra_says_so_in_one_line(home: dict[str, str], extra: str) -> None:
    shutil.copy(packages() / "ctxtui/data/sessions/2-lluma-musume.jsonl", Path(home["HOME"], "a.jsonl"))
    ran = run(home, *NEEDS[extra].split())
    assert ran.returncode and install_command(extra) in ran.stderr and ran.stderr.count("\n") == 1, ran.stderr


def test_doctor_and_a_sample_work_without_extras_and_network(home: dict[str, str]) -> None:
    checks = json.loads(run(home, "doctor", "--json").stdout)["checks"]
    assert "failed" not in {check["state"] for check in checks}
    sample = packages() / "ctxtui/data/sessions/2-lluma-musume.jsonl"
    before = sample.read_bytes()
    shown = json.loads(run(home, "show", str(sample), "--json").stdout)
    assert shown["categories"] and sample.read_bytes() == before
    assert "_ctxtui_completion" in run(home, "completion", "bash").stdout


def test_home_comes_at_once_and_writes_nothing_but_its_database(home: dict[str, str]) -> None:
    recording = Path(home["HOME"], ".claude/projects/-p/12345678-aaaa-4000-8000-000000000000.jsonl")
    recording.parent.mkdir(parents=True)
    recording.write_bytes((packages() / "ctxtui/data/sessions/2-lluma-musume.jsonl").read_bytes())
    recording.chmod(0o444)
    before = recording.read_bytes()
    run(home, "--version")  # bytecode of an installer that compiles nothing
    command = [*offline(), str(ENVIRONMENT / "bin" / "ctxtui")]
    seconds = []
    for _ in range(3):
        with Terminal(command, env={**home, "TEXTUAL_ANIMATIONS": "none"}, size=(80, 24)) as terminal:
            screen, start = Screen(terminal, (80, 24)), time.perf_counter()
            while "q quit" not in screen.text and time.perf_counter() < start + 30:
                terminal.read(0.01)
            seconds.append(time.perf_counter() - terminal.started)
    print("Home drawn after", ", ".join(f"{one:.2f} s" for one in seconds))
    assert min(seconds[1:]) < MAX_SECONDS_TO_HOME
    written = {path.relative_to(home["HOME"]).as_posix() for path in Path(home["HOME"]).rglob("*") if path.is_file()}
    own = {name for name in written if name.startswith((".local/share/ctxtui/", "Library/Application Support/ctxtui/"))}
    assert written - own == {recording.relative_to(home["HOME"]).as_posix()} and recording.read_bytes() == before
    assert {Path(name).name for name in own} <= {"ctxtui.db", "ctxtui.db-wal", "ctxtui.db-shm", "welcomed"}
