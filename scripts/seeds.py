"""The figures of the systems that the examples reproduce, beside those of their authors: all of it from real runs.

``python scripts/seeds.py`` runs the examples against the offline provider and prints the table, ``--json`` for
programs, ``--write`` puts it into docs/seeds.md. It works in the folder ``seeds`` (``--folder``), which it empties
first and leaves with every session that a row is of: the commands of the rows run, from the repository's folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "seeds.md"
BEGIN, END = "<!-- seeds: written by make seeds ARGS=--write -->", "<!-- end of seeds -->"
SYSTEMS = {
    "evolve": "pineapple_evolve",
    "musume": "LLuMa Musume",
    "bridge": "An LM Studio bridge",
    "pedroceli": "Pedroceli",
    "claims": "What single commands show",
}
COLUMNS = {
    "claim": "claim",
    "names": "where",
    "theirs": "authors",
    "ours": "ours",
    "why": "why different",
    "command": "command",
    "session": "opens",
}
Row = dict[str, str]
Found = Mapping[str, Any]
BYTECODE = "bytecode"
MARK = "made-by-make-seeds"
"""A file in the folder, so that no other folder is emptied."""


class Refused(Exception):
    """The folder is not one that may be emptied."""


def emptied(folder: Path) -> None:
    """Make the folder, or empty the one that was made before. Raises `Refused`."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise Refused(f"{folder} holds something else: name another --folder")
    folder.mkdir(parents=True, exist_ok=True)
    for one in folder.iterdir():
        if one.is_dir() and one.name != BYTECODE:
            shutil.rmtree(one)
        elif not one.is_dir():
            one.unlink()
    (folder / MARK).touch()


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of what is run: nothing of the user's own ctxtui."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("CTXTUI_")}
    env |= {"CTXTUI_HOME": str(folder / "ctxtui")}
    if env.pop("PYTHONDONTWRITEBYTECODE", ""):
        # Dozens of processes: none compiles what another has compiled, and nothing is written beside the sources.
        env["PYTHONPYCACHEPREFIX"] = str(folder / BYTECODE)
    return env


def run(name: str, folder: Path, options: Sequence[str] = ()) -> Found:
    """What an example found: its rows, and its sessions; of one that could not run ``failed`` says in a line why."""
    told = [sys.executable, "-m", f"examples.{name}", "--json", "--folder", str(folder / name), *options]
    with tempfile.TemporaryFile("w+") as found:
        ran = subprocess.Popen(
            told, cwd=ROOT, stdout=found, stderr=subprocess.PIPE, text=True, env=surroundings(folder)
        )
        assert ran.stderr is not None
        last = ""
        for line in ran.stderr:
            print(line, end="", file=sys.stderr, flush=True)
            last = line.strip() or last
        if ran.wait():
            return {"figures": [], "sessions": {}, "failed": last or f"ended with {ran.returncode}"}
        found.seek(0)
        made: Found = json.load(found)
        return made


def every(folder: Path, options: Mapping[str, Sequence[str]]) -> dict[str, Found]:
    """What every example found, with its `options`; they run side by side."""
    with ThreadPoolExecutor(3) as pool:
        return dict(zip(SYSTEMS, pool.map(lambda name: run(name, folder, options.get(name, ())), SYSTEMS), strict=True))


FINE = (0, 8)
"""How a command of a row may end: 8 where a limit does not hold, which is the row's figure."""


def argv_of(command: str) -> list[str]:
    """The command of a row as it is run, from the repository's folder."""
    program, *words = shlex.split(command)
    return [sys.executable, *(["-m", "ctxtui"] if program == "ctxtui" else []), *words]


def wrong(found: Mapping[str, Found], folder: Path) -> Iterator[str]:
    """Commands of rows that end otherwise than they should, and sessions that do not open."""
    rows = [row for one in found.values() for row in one["figures"]]
    commands = {row["command"] for row in rows} | {f"ctxtui show {shlex.quote(row['session'])}" for row in rows}

    def ended(command: str) -> str:
        ran = subprocess.run(argv_of(command), cwd=ROOT, env=surroundings(folder), capture_output=True, text=True)
        return "" if ran.returncode in FINE else f"{command} ended with {ran.returncode}: {ran.stderr[-300:]}"

    with ThreadPoolExecutor(2) as pool:
        yield from filter(None, pool.map(ended, sorted(commands)))


def table(rows: Sequence[Row]) -> str:
    """Rows as Markdown."""
    lines = [f"| {' | '.join(COLUMNS.values())} |", "|---" * len(COLUMNS) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(_cell(key, row[key]) for key in COLUMNS)} |" for row in rows)])


def _cell(key: str, text: str) -> str:
    plain = text.replace("|", "\\|")
    return f"`{plain}`" if plain and key in ("command", "session") else plain


def page(found: Mapping[str, Found]) -> str:
    """All tables, each under its system's name."""
    return "\n\n".join(
        f"## {SYSTEMS[name]}\n\n`python -m examples.{name}`\n\n"
        + (f"could not run: {one['failed']}" if one.get("failed") else table(one["figures"]))
        for name, one in found.items()
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/seeds.md")
    parser.add_argument("--folder", type=Path, default=ROOT / "seeds", help="where to work (seeds)")
    parser.add_argument("--check", action="store_true", help="also run every row's command, and open its session")
    parser.add_argument("--unconfined", action="store_true", help="run programs where nothing confines them, too")
    given = parser.parse_args()
    folder = given.folder.resolve()
    try:
        emptied(folder)
    except Refused as error:
        raise SystemExit(f"seeds: {error}") from None
    found = every(folder, {"evolve": ["--unconfined"]} if given.unconfined else {})
    failed = [f"examples.{name} could not run: {one['failed']}" for name, one in found.items() if one.get("failed")]
    if failed and (given.check or given.write):
        raise SystemExit("seeds: " + "\nseeds: ".join(failed))
    if given.check and (broken := list(wrong(found, folder))):
        raise SystemExit("seeds: " + "\nseeds: ".join(broken))
    if given.json:
        print(json.dumps(found, indent=1))
    elif given.write:
        text = PAGE.read_text(encoding="utf-8")
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{page(found)}\n\n{END}{after}", encoding="utf-8")
    else:
        print(page(found))


if __name__ == "__main__":
    main()
