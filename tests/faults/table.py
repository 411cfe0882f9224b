"""The table of docs/reliability.md: ``python -m tests.faults.table`` runs everything anew and writes it.

``--scale 0.1`` does a tenth of it, ``--seed`` takes other seeds, ``--only kills,disk`` some rows (the others stay as
they are), ``--print`` writes nothing. Each row is a command that can be run by itself; the page names it with its seed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REPO: Final = Path(__file__).parents[2]
PAGE: Final = REPO / "docs/reliability.md"
BEGIN, END = "<!-- table: python -m tests.faults.table -->", "<!-- end of table -->"
HEAD: Final = (
    "| what | tried | met | lost | invalid or wrong | command (seed, seconds) |",
    "|---|---|---|---|---|---|",
)


@dataclass(frozen=True)
class Outcome:
    """What a row says: how much was `tried`, what of it `met` the fault or was at stake, what was `lost`, what was
    `wrong` (invalid requests, faults of ours, unclear ends)."""

    tried: str
    met: str
    lost: int
    wrong: int


@dataclass(frozen=True)
class Row:
    """A row: its `name` and words, the module and the arguments for `runs` with a seed, and how its output is read."""

    name: str
    what: str
    module: str
    runs: int
    arguments: Callable[[int], list[str]]
    read: Callable[[str], Outcome]
    folder: bool = False


def _kills(out: str) -> Outcome:
    found = json.loads(out)
    met = f"{found['acknowledged']:,} acknowledged events, {found['partial']:,} answers broken off"
    return Outcome(f"{found['kills']:,} kills", met, found["lost"], found["invalid"])


def _two(out: str) -> Outcome:
    found = json.loads(out)
    met = f"{found['acknowledged']:,} acknowledged events; {found['refused']:,} times refused as in use, "
    met += f"{found['takeovers']:,} taken over, {found['branches']:,} branches; both at once: {found['at_once']:,}"
    return Outcome(
        f"{found['kills']:,} kills", met, found["lost"] + found["twice"], found["invalid"] + found["at_once"]
    )


def _faults(out: str) -> Outcome:
    found = json.loads(out)
    return Outcome(f"{found['faults']:,} faults", f"{found['calls']:,} calls", found["lost"], found["damaged"])


def _commands(out: str) -> Outcome:
    found = json.loads(out)
    met = f"{found['full']:,} met a full disk ({found['by']})"
    return Outcome(f"{found['commands']:,} commands", met, 0, found["unclear"])


def _chats(out: str) -> Outcome:
    found = json.loads(out)
    met = f"{found['full_chats']:,} met a full disk ({found['by']})"
    return Outcome(f"{found['chats']:,} chats", met, found["lost"], found["invalid"])


def _relay(out: str) -> Outcome:
    found = json.loads(out)
    met = f"{found['answered']:,} answers, {found['acknowledged']:,} on record, {found['again']:,} asked again; "
    met += f"{found['faults']:,} that a killed recorder had in hand, told"
    tried = f"{found['kills']:,} kills: screen {found['screen']}, recorder {found['recorder']}, "
    return Outcome(tried + f"provider {found['provider']}", met, found["lost"] + found["unsaid"], found["unserved"])


def _recorders(out: str) -> Outcome:
    found = json.loads(out)
    met = f"{found['whole']:,} whole answers; {found['late']:,} of the last second before a kill not on record"
    tried = f"{found['kills']:,} kills: proxy {found['proxy']}, exec {found['exec']}"
    return Outcome(tried, met, found["lost"], found["broken"])


def _fuzz(out: str) -> Outcome:
    *_, codes, last = out.strip().splitlines()
    runs, wrong = (int(part.split()[0].replace(",", "")) for part in last.split(", ") if part)
    return Outcome(f"{runs:,} mutations", codes, 0, wrong)


def _counted(word: str) -> Callable[[int], list[str]]:
    return lambda runs: [word, str(runs)]


ROWS: Final = (
    Row("kills", "SIGKILL in a chat", "killing", 200, _counted("--kills"), _kills, folder=True),
    Row("two", "two processes on one chat, SIGKILL", "two_hosts", 200, _counted("--kills"), _two, folder=True),
    Row("relay", "SIGKILL round a relay", "relay_kills", 200, _counted("--kills"), _relay, folder=True),
    Row(
        "recorders",
        "SIGKILL of proxy and exec, 30 clients",
        "recorder_kills",
        200,
        _counted("--kills"),
        _recorders,
        folder=True,
    ),
    Row("faults", "faults of the disk while a chat is written", "disk_faults", 1000, _counted("--faults"), _faults),
    Row("disk", "commands on a full disk", "full_disk", 60, lambda n: ["--runs", str(n), "--chats", "0"], _commands),
    Row("chats", "chats on a full disk", "full_disk", 12, lambda n: ["--runs", "0", "--chats", str(n)], _chats),
    Row("fuzz", "damaged recordings and databases through every command", "fuzzing", 20_000, _counted("--runs"), _fuzz),
)


def ran(row: Row, scale: float, seed: int) -> str:
    """Run a row; its line of the table."""
    asked = [*row.arguments(max(1, round(row.runs * scale))), "--seed", str(seed)]
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", f"tests.faults.{row.module}", *([name] if row.folder else []), *asked]
        begun = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, cwd=REPO, check=False)
        took = time.monotonic() - begun
    sys.stderr.write(done.stderr[-2000:])
    found = row.read(done.stdout)
    shown = " ".join([f"python -m tests.faults.{row.module}", *(["FOLDER"] if row.folder else []), *asked])
    cells = (row.what, found.tried, found.met, f"{found.lost:,}", f"{found.wrong:,}", f"`{shown}` ({took:,.0f} s)")
    return f"| {' | '.join(cells)} |"


def put(page: str, lines: dict[str, str]) -> str:
    """`page` with the rows `lines`, by what they are about; rows that are not among them stay. Raises `ValueError` for
    a page without the table's place."""
    before, begin, rest = page.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page has no place for the table")
    kept = {line.split(" | ")[0].removeprefix("| "): line for line in table.splitlines() if line.startswith("| ")}
    every = [lines.get(row.what) or kept.get(row.what, "") for row in ROWS]
    return "\n".join([before + BEGIN, *HEAD, *filter(None, every), END + after])


def main() -> int:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default=",".join(row.name for row in ROWS))
    options.add_argument("--print", action="store_true", dest="shown")
    given = options.parse_args()
    wanted = given.only.split(",")
    lines: dict[str, str] = {}
    for row in ROWS:
        if row.name in wanted:
            lines[row.what] = ran(row, given.scale, given.seed)
            print(lines[row.what], flush=True)
            if not given.shown:
                PAGE.write_text(put(PAGE.read_text(), lines))
    return 1 if any(line.split(" | ")[3:5] != ["0", "0"] for line in lines.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
