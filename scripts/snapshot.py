"""What every command says of many recordings, here and at another revision: the cut changes no figure.

    python scripts/snapshot.py --against REV [--few] [PATH ...]
    python scripts/snapshot.py --save FILE [--few] [PATH ...]
    python scripts/snapshot.py --against FILE [--few] [PATH ...]

Each recording of the corpus, the samples and the generated sessions of ``tests/cases`` is read by one process, which
runs the commands with ``--json``. REV is checked out beside the checkout for that time; a FILE that ``--save`` wrote
spares doing its half again. Times of files and paths are left out. The exit code is 1 where something differs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FEW, SMALL = 30, 200_000
"""Recordings that ``--few`` reads, and the bytes of one at most."""
NO_RECORDINGS = (".csv", ".db-shm", ".db-wal", ".frame", ".md", ".project_root", ".py", ".pyc")
SHOWN = 5
"""Differences of one command that are printed."""
SECONDS = 600
"""After these a process counts as hung."""
POLICIES = ("keep_rounds", "externalize_large", "dedupe_reads")
COMMANDS = (
    *((name,) for name in ("cost", "why", "cache", "audit", "findings", "stats", "sessions")),
    ("check", "--max-cost", "1", "--max-context", "100k", "--max-rewrites", "2"),
    *(("curate", "--dry-run", "--policy", policy) for policy in POLICIES),
)
LEFT_OUT = frozenset({"modified", "live", "age", "path", "file", "id", "log"})
"""Members that name a place or a time of the file; ids of sessions that are paths are among them."""

Said = dict[str, Any]


def main() -> int:
    """Hold two trees against each other, or save what this one says."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("paths", nargs="*", type=Path, help="recordings (corpus, samples and generated sessions)")
    options.add_argument("--against", metavar="REV|FILE", help="a revision, or what --save wrote")
    options.add_argument("--save", type=Path, metavar="FILE", help="write what this tree says")
    options.add_argument("--few", action="store_true", help=f"{FEW} small recordings, one of each client first")
    given = options.parse_args()
    if not given.against and not given.save:
        options.error("--against REV or --save FILE")
    with tempfile.TemporaryDirectory(prefix="ctxtui-snapshot-") as name:
        place = Path(name)
        files = [path.resolve() for path in given.paths] or recordings(place / "generated", few=given.few)
        now = snapshot(ROOT, files, place)
        if given.save:
            given.save.write_text(json.dumps(now, indent=1, sort_keys=True), encoding="utf-8")
        if not given.against:
            return 0
        if Path(given.against).is_file():
            before = json.loads(Path(given.against).read_text(encoding="utf-8"))
        else:
            before = at_revision(given.against, files, place)
        return compare(before, now)


def recordings(generated: Path, *, few: bool) -> list[Path]:
    """What is read; of few, one of each client and folder, then the next ones."""
    generate(generated)
    corpus = Path(os.environ.get("CTXTUI_CORPUS") or ROOT.parent / "shared" / "corpus")
    groups: dict[str, list[Path]] = {}
    for root in (generated, ROOT / "sessions", corpus):
        for path in sorted(root.rglob("*")):
            if path.is_file() and not path.name.endswith(NO_RECORDINGS) and "LICENSES" not in path.parts:
                client = path.parts[len(root.parts)] if root == corpus else str(path.parent)
                groups.setdefault(client, []).append(path)
    if not few:
        return [path for paths in groups.values() for path in paths]
    small = [[path for path in paths if path.stat().st_size <= SMALL] for paths in groups.values()]
    return [path for row in zip_longest(*small) for path in row if path][:FEW]


def generate(folder: Path) -> None:
    """Write sessions of every client, and a long one, as the tests make them."""
    sys.path.insert(0, str(ROOT))
    cases = importlib.import_module("tests.cases.client_homes")
    cases.home_of_all(folder / "home", folder / "work")
    made = importlib.import_module("tests.cases.claude_code")
    (folder / "long.jsonl").write_bytes(made.generate(400, seed=3))
    for name, data in made.with_subagents(3, seed=1).items():
        target = folder / "subagents" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def at_revision(revision: str, files: Sequence[Path], place: Path) -> dict[str, Said]:
    """What the program of a revision says."""
    tree = place / "tree"
    run = ("git", "-C", str(ROOT), "worktree")
    subprocess.run([*run, "add", "--quiet", "--detach", str(tree), revision], check=True)
    try:
        return snapshot(tree, files, place)
    finally:
        subprocess.run([*run, "remove", "--force", str(tree)], check=True)


def snapshot(tree: Path, files: Sequence[Path], place: Path) -> dict[str, Said]:
    """What the commands of a tree say of each file, by its path."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda number: read_one(tree, files[number], place / f"home-{number}"), range(len(files)))
        return {plain(str(path), place): one for path, one in zip(files, said, strict=True)}


def read_one(tree: Path, path: Path, home: Path) -> Said:
    """What the commands say of one file, read by a process with a home of its own."""
    home.mkdir()
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(tree), "TZ": "UTC", "LANG": "C.UTF-8",
    }  # fmt: skip
    # -P: the tree of PYTHONPATH is the only one in which ctxtui is found.
    command = (sys.executable, "-P", str(Path(__file__).resolve()), "--child", str(path))
    try:
        done = subprocess.run(command, env=environment, cwd=home, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"process": f"not done after {SECONDS} s"}
    finally:
        shutil.rmtree(home, ignore_errors=True)
    text = plain(done.stdout.decode(errors="replace"), home.parent, tree)
    try:
        return dict(json.loads(text))
    except ValueError:
        return {"process": f"exit code {done.returncode}: {text[-300:]} {done.stderr.decode(errors='replace')[-600:]}"}


def plain(text: str, *places: Path) -> str:
    """A text without the places of this run."""
    for place in map(str, (*places, ROOT)):
        # Claude Code's and pi's names of folders hold the place, too.
        text = text.replace(place, "").replace(re.sub("[^A-Za-z0-9]", "-", place), "")
    return text


def say_all(path: str) -> None:
    """In the process of one file: print what the commands say of it, as one JSON object."""
    last = said_by(["show", path])
    said: Said = {"show": last}
    count = last.get("call") if isinstance(last, dict) else None
    for number in sorted({1, (count + 1) // 2} - {count}) if count else ():
        said[f"show --call {number} of {count}"] = said_by(["show", path, "--call", str(number)])
    for name, *options in COMMANDS:
        said[" ".join((name, *options))] = said_by([name, path, *options])
    json.dump(without_places(said), sys.stdout)


def said_by(arguments: list[str]) -> object:
    """What one command printed, as JSON where it is; its exit code where that is not 0."""
    from ctxtui.cli.run import run

    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            code = run([*arguments, "--json"])
            sys.stdout.flush()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        text = file.read().decode(errors="replace")
    try:
        output: object = json.loads(text)
    except ValueError:
        output = text
    return {"exit": code, "output": output} if code else output


def without_places(value: Any) -> Any:
    """A JSON value without the members that name a place or a time of the file."""
    if isinstance(value, dict):
        return {name: without_places(inner) for name, inner in value.items() if name not in LEFT_OUT}
    return [without_places(inner) for inner in value] if isinstance(value, list) else value


def compare(before: dict[str, Said], now: dict[str, Said]) -> int:
    """Print what differs; the exit code is 1 where something does."""
    differing = 0
    for path in sorted(before.keys() | now.keys()):
        old, new = before.get(path, {}), now.get(path, {})
        for command in sorted(old.keys() | new.keys()):
            found = list(differences(old.get(command), new.get(command)))
            if found:
                differing += 1
                print(f"{path}: {command}: {len(found)} differ")
                for place, was, became in found[:SHOWN]:
                    print(f"    {place}: {short(was)} -> {short(became)}")
    print(f"{len(now)} recordings, {sum(map(len, now.values()))} answers, {differing} differ")
    return 1 if differing else 0


def differences(old: Any, new: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The leaves in which two JSON values differ, each with its place."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            yield from differences(old.get(name), new.get(name), f"{place}.{name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (was, became) in enumerate(zip(old, new, strict=True)):
            yield from differences(was, became, f"{place}[{number}]")
    elif old != new:
        yield place, old, new


def short(value: Any) -> str:
    """A value in at most one line."""
    text = re.sub(r"\s+", " ", json.dumps(value, ensure_ascii=False))
    return text if len(text) <= 100 else f"{text[:97]}..."


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        say_all(sys.argv[2])
    else:
        sys.exit(main())
