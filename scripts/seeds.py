"""Compare the figures of four published systems with ctxtui's, from real runs of the examples.

``python scripts/seeds.py`` runs the examples against the offline provider and prints the table, ``--json`` for
programs, ``--write`` puts it into docs/seeds.md. It works in the folder ``seeds`` (``--folder``), which it empties
first and leaves with every session that a row is of: the commands of the rows run, from the repository's folder.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

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
WALK_BEGIN, WALK_END = "<!-- walks: written by make seeds ARGS=--write -->", "<!-- end of walks -->"


class Walk(NamedTuple):
    """An author's question, whose files open in the same way, and the commands that answer it: each with what it is for
    and the lines of its output that are printed."""

    question: str
    own: str
    steps: tuple[tuple[str, str, str], ...]


WALKS = (
    Walk(
        "My context grows by 40k a generation: why, and what does a fix cost?",
        "pineapple_evolve: use your experiment's folder (`root_llm_log.jsonl`, `config.json`, `generations/`) instead "
        "of the sample; `show --after` and `curate --after` include content after its last call.",
        (
            (
                "The composition",
                "ctxtui show sessions/1-pineapple-evolve.jsonl",
                r"tokens reported|user  |assistant  |labels|Results: ",
            ),
            (
                "The growth of each generation, by category",
                r"ctxtui growth sessions/1-pineapple-evolve.jsonl --phase-rule 'Generation \d+'",
                r"context |usable|phases|phase  |Generation \d",
            ),
            (
                "Programs replaced by references, before anything is sent",
                "ctxtui curate sessions/1-pineapple-evolve.jsonl --policy externalize_large --dry-run",
                r"context|breaks|apply|now |next miss",
            ),
            (
                "The whole run again with that policy, with its cache",
                "ctxtui lab sessions/1-pineapple-evolve.jsonl --policy externalize_large --cache recorded --cache none",
                r"policy  |externalize|as_recorded",
            ),
        ),
    ),
    Walk(
        "Turn 100 is 71.8k: what can be removed?",
        "LLuMa Musume: use the folder `logs/` with `turn_000001.json` and so on instead of the sample.",
        (
            ("The composition of a turn", "ctxtui show sessions/2-lluma-musume.jsonl", r"tokens reported|%  ━|labels"),
            (
                "Advice, least risk first",
                "ctxtui preflight sessions/2-lluma-musume.jsonl",
                r"now  |a turn|usable| ✓ ",
            ),
            (
                "Old turns as a few lines each",
                "ctxtui curate sessions/2-lluma-musume.jsonl --policy trim_old_turns --dry-run",
                r"context|breaks|apply|now |next miss",
            ),
        ),
    ),
    Walk(
        "Which of 222 tools?",
        "An LM Studio bridge: use the server's log instead of the sample (with or without bodies, `/v1/responses` "
        "too), or `ctxtui mcp size` for a server that does not run yet.",
        (
            (
                "The cost of each tool in every call, and tools that were never called",
                "ctxtui show sessions/3-lm-studio-bridge.jsonl --tools",
                r"tools|never called|  0 calls",
            ),
            (
                "Without the tools that were never called",
                "ctxtui curate sessions/3-lm-studio-bridge.jsonl --policy drop_unused_tools --dry-run",
                r"context",
            ),
            (
                "The hundred rounds again, without those tools and with a sliding window",
                "ctxtui lab sessions/3-lm-studio-bridge.jsonl --policy drop_unused_tools --policy hybrid",
                r"policy  |hybrid|drop_unused|as_recorded",
            ),
        ),
    ),
    Walk(
        "Does this repository fit 32k?",
        "Pedroceli: use your repository instead of this folder; a job's folder (`001-prompt.txt` ...) opens divided "
        "into task, files and rounds.",
        (
            (
                "The divided window, and the files that would be included",
                "ctxtui budget examples --model qwen2.5-coder:32b --task 'speed up pedroceli/repository.py'",
                r"window|usable|available|reserved|in all|room|strategy|named|related|tests|included|▲",
            ),
            (
                "Old rounds of a job as facts",
                "ctxtui curate sessions/4-pedroceli.jsonl --policy 'keep_rounds' --set n=1 --set slack=0 --dry-run",
                r"keep_rounds|context",
            ),
        ),
    ),
)
_SHOWN = 14
"""Lines of one command's output."""
Row = dict[str, str]
Found = Mapping[str, Any]
MARK = "made-by-make-seeds"
"""A file in the folder, so that no other folder is emptied."""


class Refused(Exception):
    """The folder is not one that may be emptied, or a command of a row fails."""


def emptied(folder: Path) -> None:
    """Make the folder, or empty the one that was made before. Raises `Refused`."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise Refused(f"{folder} holds something else: name another --folder")
    folder.mkdir(parents=True, exist_ok=True)
    for one in folder.iterdir():
        if one.is_dir():
            shutil.rmtree(one)
        else:
            one.unlink()
    (folder / MARK).touch()


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of what is run: nothing of the user's own ctxtui."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("CTXTUI_")}
    env |= {"CTXTUI_HOME": str(folder / "ctxtui"), "COLUMNS": "100"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # each process would compile everything
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


class Ran(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    printed: str


def ran(commands: Iterable[str], folder: Path) -> dict[str, Ran]:
    """Run `commands`, two at a time."""

    def one(command: str) -> Ran:
        done = subprocess.run(argv_of(command), cwd=ROOT, env=surroundings(folder), capture_output=True, text=True)
        return Ran(done.returncode, done.stdout + done.stderr)

    every = sorted(set(commands))
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(every, pool.map(one, every), strict=True))


def wrong(found: Mapping[str, Found], folder: Path) -> Iterator[str]:
    """Sessions of rows that do not open."""
    sessions = {row["session"] for one in found.values() for row in one["figures"]}
    for command, one in ran((f"ctxtui show {shlex.quote(session)}" for session in sessions), folder).items():
        if one.code not in FINE:
            yield f"{command} ended with {one.code}: {one.printed[-300:]}"


_NUMBER = re.compile(r"(?<![\w.#_/-])\$?(\d[\d,]*(?:\.\d+)?)(?:\s?(k|M|KB|%))?(?![\w])")
_TIMES = {"k": 1e3, "KB": 1e3, "M": 1e6}


def numbers(text: str) -> list[tuple[float, float, bool]]:
    """The numbers of a text: each with half of what it is rounded to, and whether it is a percentage."""
    found = []
    for match in _NUMBER.finditer(text):
        plain = match[1].rstrip(",").replace(",", "")
        times = _TIMES.get(match[2] or "", 1.0)
        half = 0.5 * 10.0 ** -len(plain.partition(".")[2]) if "." in plain or match[2] else 0.0
        found.append((float(plain) * times, half * times, match[2] == "%"))
    return found


def shows(printed: str, words: str) -> bool:
    """Whether each number of `words` stands in what a command printed, as it is or rounded; where there is none, the
    words themselves."""
    wanted = numbers(words)
    if not wanted:
        return words.lower() in printed.lower()
    known = numbers(printed)

    def stands(value: float, half: float, share: bool) -> bool:
        near = (abs(value - other) <= half + rounded + 1e-9 for other, rounded, _ in known)
        # JSON tells a share as a number up to 1.
        parts = (abs(value / 100 - other) <= half / 100 + rounded + 1e-9 for other, rounded, _ in known if other <= 1)
        return any(near) or (share and any(parts))

    return all(stands(*one) for one in wanted)


def told_by(row: Row, printed: Mapping[str, Ran]) -> Row | None:
    """The row with its figure as far as its command prints it, as text or else with ``--json``; None where it does not
    print the first part."""
    best: tuple[str, str] | None = None
    for command in (row["command"], as_json(row["command"])):
        text = printed[command].printed if command in printed else ""
        every = re.split(r", |; ", row["ours"]) if text else ()
        parts = [*takewhile(lambda part, text=text: shows(text, part), every)]  # type: ignore[misc]
        if parts and (best is None or len(", ".join(parts)) > len(best[1])):
            best = command, ", ".join(parts)
    if best is None:
        return None
    return {**row, "command": best[0], "ours": row["ours"] if len(best[1]) == len(row["ours"]) else best[1]}


def as_json(command: str) -> str:
    """The same command, for scripts."""
    return command if "--json" in command or "--help" in command else f"{command} --json"


def held(found: Mapping[str, Found], folder: Path) -> dict[str, Found]:
    """What was found, with those rows whose commands show their figures. Raises `Refused` where a command fails."""
    rows = [row for one in found.values() for row in one["figures"]]
    printed = ran((row["command"] for row in rows), folder)
    broken = [
        f"{name} ended with {one.code}: {one.printed[-300:]}" for name, one in printed.items() if one.code not in FINE
    ]
    if broken:
        raise Refused("\nseeds: ".join(broken))
    lacking = {row["command"] for row in rows if not shows(printed[row["command"]].printed, row["ours"])}
    printed |= ran(map(as_json, lacking), folder)
    return {
        name: {**one, "figures": [kept for row in one["figures"] if (kept := told_by(row, printed)) is not None]}
        for name, one in found.items()
    }


def walks(folder: Path) -> str:
    """The walks as Markdown, with what their commands print."""
    printed = ran((command for walk in WALKS for _, command, _ in walk.steps), folder)
    found = []
    for number, walk in enumerate(WALKS, 1):
        found.append(f"## {number}. {walk.question}\n\n{walk.own}")
        found.append(f"![The session on the screen](seeds-{number}.png)")
        for what, command, lines in walk.steps:
            every = printed[command].printed.splitlines()
            kept = [line.rstrip() for line in every if re.search(lines, line)][:_SHOWN]
            found.append(f"{what}:\n\n```console\n$ {command}\n" + "\n".join(kept) + "\n```")
    return "\n\n".join(found)


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
        f"### {SYSTEMS[name]}\n\n`python -m examples.{name}`\n\n"
        + (f"could not run: {one['failed']}" if one.get("failed") else table(one["figures"]))
        for name, one in found.items()
    )


def between(text: str, begin: str, end: str, inner: str) -> str:
    """`text` with `inner` between two of its lines."""
    return f"{text.partition(begin)[0]}{begin}\n\n{inner}\n\n{end}{text.partition(end)[2]}"


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
    if given.check or given.write:
        try:
            found = held(found, folder)
        except Refused as error:
            raise SystemExit(f"seeds: {error}") from None
    if given.check and (broken := list(wrong(found, folder))):
        raise SystemExit("seeds: " + "\nseeds: ".join(broken))
    if given.json:
        print(json.dumps(found, indent=1))
    elif given.write:
        text = PAGE.read_text(encoding="utf-8")
        text = between(text, WALK_BEGIN, WALK_END, walks(folder))
        PAGE.write_text(between(text, BEGIN, END, page(found)), encoding="utf-8")
    else:
        print(page(found))


if __name__ == "__main__":
    main()
