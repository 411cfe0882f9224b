"""``ctxtui stats`` over 200 MB of Claude Code's files against ccusage: what calls used, on the first pass (without the
columns that take counts of tokens, as ccusage has none) and again (with all columns, of what is remembered)."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from pathlib import Path

from benchmarks.measure import Result, not_run
from benchmarks.peers import missing, peer
from benchmarks.sessions import home
from benchmarks.terminal import CTXTUI
from tests.cases.claude_code import generate

FILES, MESSAGES, SIZE = 40, 800, 5_000_000
NAME = "stats over 200 MB of Claude Code's files"
FIRST, AGAIN = 2.0, 0.6
STATS = [*CTXTUI, "stats", "--by", "day", "--json"]


def results(folder: Path, runs: int) -> list[Result]:
    """Seconds of both on the same files, in turn; ccusage reads them anew each time."""
    place = folder / "usage"
    size = _made(place / ".claude" / "projects")
    ours = {**os.environ, **home(place)}
    found = peer("ccusage")
    theirs, first, whole, again, sums = [], [], [], [], (0, 0)
    for _ in range(max(1, min(3, runs // 2))):
        shutil.rmtree(place / "ctxtui", ignore_errors=True)
        if found:
            theirs.append(_timed([found, "daily", "--json", "--offline"], ours)[0])
        used, said = _timed([*STATS, "--usage"], ours)
        first.append(used)
        whole.append(_timed(STATS, ours)[0])
        again.append(_timed(STATS, ours)[0])
        sums = (json.loads(said)["total"]["calls"], json.loads(said)["total"]["input"])
    took = f"{min(first):.1f} s (with counts {min(whole):.1f} s) and {min(again):.2f} s"
    seen = f"{size / 1e6:.0f} MB, {sums[0]:,} calls, {took}"
    if not found:
        return [
            not_run("stats", f"{NAME}, {which}", "ccusage 20", f"{missing('ccusage')}; ours {seen}", limit)
            for which, limit in (("first pass", FIRST), ("again", AGAIN))
        ]
    note = f"{seen} / {min(theirs):.1f} s"
    return [
        Result("stats", f"{NAME}, first pass", "ccusage 20", min(first) / min(theirs), FIRST, note=note),
        Result("stats", f"{NAME}, again", "ccusage 20", min(again) / min(theirs), AGAIN, note=note),
    ]


def _made(folder: Path) -> int:
    """Sessions in the client's own layout; how many bytes."""
    size = 0
    for number in range(FILES):
        id_ = f"0199a213-81c0-4800-8aa1-{number:012x}"
        path = folder / f"-home-me-project-{number % 8}" / f"{id_}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = generate(n_messages=MESSAGES, bytes_per_message=SIZE // MESSAGES, seed=number)
        # Each file's answers are its own: both programs count what stands in two files once.
        path.write_bytes(data.replace(b"msg_", b"msg_%03d" % number).replace(b"req_", b"req_%03d" % number))
        size += path.stat().st_size
    return size


def _timed(command: list[str], env: dict[str, str]) -> tuple[float, str]:
    """Processor seconds of a command with all its processes, and what it said."""
    before = _children()
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=env["HOME"])
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[-4:])}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return _children() - before, done.stdout


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
