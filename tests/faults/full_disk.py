"""A disk that is full, and has room again, at random: commands that write, and a chat that goes on.

``python -m tests.faults.full_disk --runs 60 --chats 6 --seed 1`` prints one JSON object: how many commands and chats
were tried with room for a random number of bytes, how many of them met a full disk, how often something was unclear (a
wrong exit code, a fault of ours, a damaged database, an output that is not whole though the command said it was), how
much of the chats was lost once there was room again, and how many of their requests were invalid.

The file system is a tmpfs in a namespace of its own, which takes no root; where that is not to be had, no file may grow
over a limit (``ulimit -f``), which SQLite calls a failing disk.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from ctxtui.agent import events as ev
from ctxtui.core.session import MAIN
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.store.store import Store
from tests.cases import claude_code, codex
from tests.faults.killing import FakeHost, invalid, settings

SIZE: Final = 24 << 20
"""Bytes of the file system."""
REPO: Final = Path(__file__).parents[2]
COMMANDS: Final = (
    ("import", "FILE"),
    ("import", "OTHER"),
    ("export", "FILE", "--to", "ctxtui", "-o", "OUT"),
    ("export", "FILE", "--to", "anthropic", "-o", "OUT"),
    ("share", "FILE", "-o", "OUT"),
    ("curate", "FILE", "--policy", "budget", "-o", "OUT"),
    ("rename", "STORED", "a title"),
    ("tag", "STORED", "one", "two"),
    ("db", "backup", "OUT"),
    ("db", "index"),
    ("db", "vacuum"),
    ("show", "STORED"),
    ("cost", "FILE", "--json"),
    ("sessions", "--json"),
    ("search", "the"),
)
_CODES: Final = frozenset({0, 4, 7})
_SAID: Final = ("full", "space", "fails to read or write", "too large", "cannot be written")


def wrapped(folder: Path) -> list[str] | None:
    """What runs a command with a small file system on `folder`; None where there is none to be had."""
    mount = f'mount -t tmpfs -o size={SIZE} none "$0" && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, str(folder)]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], capture_output=True).returncode:
        return None
    return command


class Disk:
    """The file system `folder`; where it is not `small`, a limit for each file stands for it."""

    def __init__(self, folder: Path, *, small: bool) -> None:
        self.folder = folder
        self.small = small
        self._filler = folder / "filler"

    def fill(self, room: int) -> None:
        """Leave `room` bytes."""
        if not self.small:
            return
        self.empty()
        with self._filler.open("wb", buffering=0) as file:
            free = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize
            try:
                for _ in range(max(0, free - room) // 4096):
                    file.write(bytes(4096))
            except OSError:
                return

    def empty(self) -> None:
        """There is room again."""
        self._filler.unlink(missing_ok=True)

    def limit(self, room: int) -> Any:
        """What a child does first where the limit stands for the disk."""
        if self.small:
            return None
        largest = max((path.stat().st_size for path in self.folder.rglob("*") if path.is_file()), default=0)
        most = largest // 2 + room

        def set_limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

        return set_limit


def command_run(disk: Disk, command: tuple[str, ...], room: int) -> tuple[bool, str]:
    """One command with so many bytes of room: whether it met a full disk, and what was unclear ("": nothing)."""
    home = disk.folder / "home"
    out = disk.folder / "out"
    words = {"FILE": "claude.jsonl", "OTHER": "rollout.jsonl", "OUT": str(out), "STORED": "stored"}
    given = [str(disk.folder / words[word]) if word in ("FILE", "OTHER") else words.get(word, word) for word in command]
    disk.fill(room)
    done = subprocess.run(
        [sys.executable, "-m", "ctxtui", *given],
        capture_output=True,
        timeout=120,
        cwd=disk.folder,
        env={**os.environ, "CTXTUI_HOME": str(home), "HOME": str(disk.folder), "PYTHONPATH": str(REPO)},
        preexec_fn=disk.limit(room),
    )
    disk.empty()
    said = done.stderr.decode()
    full = done.returncode != 0 and any(word in said for word in _SAID)
    trouble = ""
    if done.returncode not in _CODES:
        trouble = f"exit code {done.returncode}"
    elif "Traceback" in said or "report it" in said:
        trouble = "a fault of ours"
    elif done.returncode and not (full and said.startswith("ctxtui: ")):
        trouble = "not said that the disk is full"
    elif done.returncode == 0 and "OUT" in command and not _whole(out, command):
        trouble = "what was written is not whole"
    with closing(sqlite3.connect(home / "ctxtui.db")) as conn:
        if conn.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            trouble = "the database is damaged"
    out.unlink(missing_ok=True)
    return full, trouble and f"{' '.join(command)}, {room:,} bytes: {trouble}: {said[-300:]}"


def _whole(out: Path, command: tuple[str, ...]) -> bool:
    if command[0] == "db":
        with closing(sqlite3.connect(out)) as conn:
            return bool(conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    data = out.read_bytes()
    if command[0] == "share":
        return data.rstrip().endswith(b"</html>")
    return all(isinstance(json.loads(line), dict) for line in data.splitlines()) if data else False


async def chat_run(disk: Disk, chance: random.Random) -> tuple[bool, int, int]:
    """A chat while the disk fills and empties: whether it met a full one, how many of what it said, heard and ended is
    not in the record once there was room again, how many requests after reopening would be invalid."""
    disk.empty()
    host = FakeHost(ModelChoice(), settings(disk.folder), disk.folder, chance)
    fold = host.open().fold
    seen: list[str] = []

    def trouble() -> None:
        if host.writer is not None and host.writer.trouble is not None:
            seen.append(str(host.writer.trouble))

    await host.begin(lambda news: fold(news.events) and None, lambda call: None, trouble)
    runner, writer = host.runner, host.writer
    assert runner is not None and writer is not None
    for number in range(chance.randrange(5, 15)):
        if chance.random() < 0.4:
            disk.fill(chance.randrange(0, 120_000))
        elif chance.random() < 0.4:
            disk.empty()
        host.feed(ev.UserSaid(f"message {number}."))
        for _ in range(200):
            if not runner.state.is_running:
                break
            await asyncio.sleep(0.005)
        host.feed(ev.Interrupted())
        await asyncio.sleep(chance.random() * 0.1)
    disk.empty()
    written = await asyncio.to_thread(writer.wait, 20)
    id_ = host.session.about.id
    whole = await host.close()
    with Store.open(disk.folder / "home" / "ctxtui.db") as store:
        back = store.load(id_)
    here = host.session.tree.items(host.session.threads[MAIN].tip)
    lost = sum(one not in back.calls for one in host.session.calls) + (not (written and whole))
    # What was said behind the last call is on record as what was in flight: the chat that goes on has it.
    again = FakeHost(ModelChoice(session=id_), settings(disk.folder), disk.folder, random.Random(0))
    fold_again = again.open().fold
    await again.begin(lambda news: fold_again(news.events) and None, lambda call: None, lambda: None)
    assert again.runner is not None
    lost += again.session.tree.items(again.runner.conversation.head)[: len(here)] != here
    await again.close()
    wrong, _ = await invalid(disk.folder, id_)
    return bool(seen), lost, wrong


def inside(folder: Path, runs: int, chats: int, seed: int, *, small: bool) -> dict[str, Any]:
    """All runs, on the file system `folder`."""
    disk, chance = Disk(folder, small=small), random.Random(seed)
    home = folder / "home"
    os.environ.update(CTXTUI_HOME=str(home), HOME=str(folder))
    (folder / "claude.jsonl").write_bytes(claude_code.generate(n_messages=30, seed=1))
    (folder / "rollout.jsonl").write_bytes(codex.generate(40, 1))
    (folder / "stored.jsonl").write_bytes(claude_code.generate(n_messages=20, seed=2))
    base = [sys.executable, "-m", "ctxtui"]
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    subprocess.run([*base, "import", str(folder / "stored.jsonl")], check=True, capture_output=True, env=env)
    with Store.open(home / "ctxtui.db") as store:
        (row,) = store.sessions()
    result: dict[str, Any] = {"commands": 0, "full": 0, "unclear": 0, "chats": 0, "full_chats": 0, "lost": 0}
    result |= {"invalid": 0, "by": "tmpfs" if small else "ulimit -f", "wrong": []}
    for number in range(runs):
        command = tuple(row.id if word == "STORED" else word for word in COMMANDS[number % len(COMMANDS)])
        room = chance.choice((0, 0, 4096, chance.randrange(200_000), chance.randrange(1 << 20)))
        full, trouble = command_run(disk, command, room)
        result["commands"] += 1
        result["full"] += full
        result["unclear"] += bool(trouble)
        result["wrong"] += [trouble] if trouble else []
    for _ in range(chats if small else 0):
        full, lost, wrong = asyncio.run(chat_run(disk, chance))
        result["chats"] += 1
        result["full_chats"] += full
        result["lost"] += lost
        result["invalid"] += wrong
    return result


def main() -> int:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=60)
    options.add_argument("--chats", type=int, default=6)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.inside is not None:
        print(json.dumps(inside(given.inside, given.runs, given.chats, given.seed, small=True)))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "disk"
        folder.mkdir()
        wrap = wrapped(folder)
        if wrap is None:
            print(json.dumps(inside(folder, given.runs, given.chats, given.seed, small=False)))
            return 0
        again = [sys.executable, "-m", "tests.faults.full_disk", *sys.argv[1:], "--inside", str(folder)]
        return subprocess.run([*wrap, *again], cwd=REPO).returncode


if __name__ == "__main__":
    sys.exit(main())
