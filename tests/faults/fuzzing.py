"""A mutation and a command, drawn at random: ``python -m tests.faults.fuzzing --runs 20000 --seed 3 --progress FILE``.

A recording is damaged as files are (bits, cuts, lines lost, doubled or swapped) or written as a program of another mind
would (any value in any place); then a command is run on it in this process. It must end with a known exit code, say
nothing of a fault of ours, print no character that a terminal would obey, print JSON that is JSON, and leave the
recording as it was. What failed is kept in the folder ``--keep`` and printed. ``--inputs FOLDER`` takes files that are
there as they are, each through every command.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import hashlib
import io
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ctxtui.cli.exit_codes import EXIT_CODES
from ctxtui.cli.run import run
from tests.cases import (
    agents,
    claude_code,
    claude_code_requests,
    client_homes,
    codex,
    codex_current,
    otel,
    wire_traffic,
)
from tests.corpus import CORPUS
from tests.transcripts.reading import ODD, as_bytes, as_lines

REPO: Final = Path(__file__).parents[2]
COMMANDS: Final = (
    ("show",),
    ("show", "--json"),
    ("show", "--blocks"),
    ("show", "--tools"),
    ("show", "--by", "label", "--json"),
    ("show", "--threads", "--json"),
    ("cost", "--json"),
    ("cost", "--by", "tool", "--json"),
    ("cost", "--by", "day"),
    ("why", "--json"),
    ("findings", "--json"),
    ("growth", "--json"),
    ("growth", "--phases", "2", "--json"),
    ("compactions", "--json"),
    ("lab", "--policy", "budget", "--json"),
    ("count", "--json"),
    ("stage", "--json"),
    ("edits", "--json"),
    ("notes", "--json"),
    ("pins",),
    ("scrub", "--json"),
    ("report",),
    ("cache", "--json"),
    ("cache", "--markers"),
    ("audit", "--json"),
    ("preflight", "--json"),
    ("repair",),
    ("check", "--max-context", "1M"),
    ("share", "-o", "OUT", "--force"),
    ("export", "--to", "ctxtui", "-o", "OUT", "--force"),
    ("export", "--to", "anthropic", "-o", "OUT", "--force"),
    ("export", "--to", "openai-responses", "-o", "OUT", "--force"),
    ("export", "--to", "openai-chat", "-o", "OUT", "--force"),
    ("curate", "--policy", "budget", "--json"),
    ("curate", "--to", "anthropic", "-o", "OUT"),
    ("curate", "--to", "claude-code", "-o", "OUT"),
    ("diff",),
    ("import",),
)
FAULTS: Final = {1: "unexpected", 70: "fault"}
_NEGATIVE: Final = frozenset({"diff", "search"})
"""Commands whose 1 is an answer."""
_DATA: Final = frozenset({"repair"})
"""Commands that print a recording as it is, for a pipe."""
_OBEYED: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_STRANGE: Final = ("\ud800", "\x1b[31m", "\u202e", "\x00", "9" * 400, "1e999", "-0", "\U000e0041", "a" * 70_000)
CODES: Final = "exit codes: "
_LONGEST: Final = 40.0
"""Seconds of the processor after which a command counts as hanging, on a busy machine too."""
_REAL: Final = 0.25
"""The share of runs that take a recording of `sessions` or of the corpus, of at most `_LARGEST` bytes."""
_LARGEST: Final = 400_000
_RECORDINGS: Final = frozenset({".jsonl", ".json", ".har", ".md", ".yaml", ".ndjson", ".eval"})
_KNOWN: Final = frozenset(code.number for code in EXIT_CODES)


@dataclass(frozen=True)
class Seedling:
    """A recording to be mutated: its file's name and its bytes."""

    name: str
    data: bytes


def seedlings() -> list[Seedling]:
    """One small recording of every kind that a script of the tests can write."""
    cwd = Path("/home/dev/shop")
    found = {
        "claude.jsonl": claude_code.generate(n_messages=12, seed=1),
        "requests.jsonl": claude_code_requests.parallel().dump(),
        "compacted.jsonl": claude_code_requests.compacted().dump(),
        "rollout-2026-01-01T00-00-00-0199.jsonl": codex.generate(12, 1),
        "rollout-2026-01-02T00-00-00-0200.jsonl": as_lines(codex_current.parent().records),
        "a.traj.json": as_bytes(agents.mini_swe_agent()),
        "pi.jsonl": as_lines(agents.pi()),
        "openhands.json": as_bytes(agents.openhands_log()),
        "events.json": as_bytes(agents.openhands_v0_events()),
        "session-gemini.json": client_homes.gemini_cli(),
        "wire.jsonl": client_homes.kimi_code(),
        "cline.messages.json": client_homes.cline(),
        "continue.json": client_homes.continue_cli(Path("/tmp/shop")),
        "qwen.jsonl": client_homes.qwen_code(Path("/tmp/shop")),
        "copilot.jsonl": client_homes.copilot_cli(cwd),
        ".aider.chat.history.md": client_homes.aider(),
        "traces.jsonl": as_lines([otel.otlp([otel.span(n, otel.semconv(n))]) for n in range(3)]),
    }
    for path in sorted((REPO / "tests/cases/bodies").glob("*.json")):
        for number, case in enumerate(json.loads(path.read_bytes())[:4]):
            found[f"{path.stem}-{number}.json"] = "".join(case["file"]).encode("utf-8", "surrogatepass")
    pairs = [
        {"request": asked, "response": said} for _, asked, _, said in wire_traffic.every() if isinstance(said, dict)
    ]
    found["pairs.jsonl"] = as_lines(list(pairs))
    return [Seedling(name, data) for name, data in found.items()]


def own_format(seedling: Seedling, folder: Path) -> Seedling:
    """The same session in ctxtui's own format."""
    path = folder / seedling.name
    path.write_bytes(seedling.data)
    out = folder / "own.jsonl"
    ran(["export", str(path), "--to", "ctxtui", "-o", str(out), "--force"])
    return Seedling(f"own-{seedling.name}.jsonl", out.read_bytes() if out.exists() else seedling.data)


def mutated(data: bytes, dice: random.Random) -> bytes:
    """`data` with one to three injuries."""
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        data = dice.choice(_INJURIES)(data, dice)
    return data


def _bits(data: bytes, dice: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(dice.choice((1, 1, 4, 30))):
        if made:
            made[dice.randrange(len(made))] ^= 1 << dice.randrange(8)
    return bytes(made)


def _cut(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] if dice.random() < 0.7 else data[at:]


def _gap(data: bytes, dice: random.Random) -> bytes:
    at, length = dice.randrange(len(data) + 1), dice.choice((1, 10, 500))
    return data[:at] + data[at + length :]


def _lines(data: bytes, dice: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return _cut(data, dice)
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    match dice.randrange(4):
        case 0:
            del lines[one]
        case 1:
            lines.insert(other, lines[one])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case _:
            lines[one] = lines[one].rstrip(b"\r\n")
    return b"".join(lines)


def _value(data: bytes, dice: random.Random) -> bytes:
    """A value of another type, or a strange text, somewhere in one of the JSON values."""
    lines = data.splitlines(keepends=True)
    for n in dice.sample(range(len(lines)), min(3, len(lines))):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(lines[n])
            lines[n] = _written(_changed(value, dice)) + b"\n"
            return b"".join(lines)
    with contextlib.suppress(ValueError, RecursionError):
        return _written(_changed(json.loads(data), dice))
    return _bits(data, dice)


def _written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _changed(value: Any, dice: random.Random) -> Any:
    inner = value
    while isinstance(inner, dict | list) and inner:
        key = dice.choice(list(inner) if isinstance(inner, dict) else list(range(len(inner))))
        if not isinstance(inner[key], dict | list) or not inner[key] or dice.random() < 0.15:
            match dice.randrange(5):
                case 0:
                    del inner[key]
                case 1:
                    inner[key] = dice.choice(_STRANGE)
                case 2 if isinstance(inner, dict):
                    inner[dice.choice(_STRANGE[:4])] = inner.pop(key)
                case _:
                    inner[key] = dice.choice(ODD)
            return value
        inner = inner[key]
    return dice.choice(ODD)


_INJURIES: Final[tuple[Callable[[bytes, random.Random], bytes], ...]] = (
    _bits,
    _cut,
    _gap,
    _lines,
    _value,
    _value,
    _value,
)


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, what it printed, and how long it took (seconds of the processor)."""

    code: int
    out: str
    err: str
    took: float


def ran(arguments: list[str]) -> Ended:
    """One command in this process."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    begun = time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = run(arguments)
    took = time.process_time() - begun
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8", "replace"))  # type: ignore[attr-defined]
    return Ended(code, texts[0], texts[1], took)


def wrong(command: tuple[str, ...], ended: Ended, *, changed: bool) -> str:
    """What an oracle has against the run; "" where all are content."""
    if ended.code in FAULTS and not (
        ended.code == 1 and command[0] in _NEGATIVE and "please report it" not in ended.err
    ):
        return f"exit code {ended.code}: {ended.err[-300:]}"
    if ended.code not in _KNOWN:
        return f"exit code {ended.code} is none of ours: {ended.err[-300:]}"
    if "Traceback" in ended.err or "please report it" in ended.err:
        return f"a fault of ours: {ended.err[-300:]}"
    if changed:
        return "the recording was changed"
    shown = "" if command[0] in _DATA else ended.out.replace("\r\n", "\n")
    if found := _OBEYED.search(shown) or _OBEYED.search(ended.err):
        return f"a terminal would obey {found.group()!r}"
    if "--json" in command and ended.out:
        try:
            json.loads(ended.out, parse_constant=_no_constant)
        except ValueError as error:
            return f"no JSON: {error}"
    return f"{ended.took:.0f} s" if ended.took > _LONGEST else ""


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def alone(folder: Path) -> dict[str, str]:
    """The environment of a user who has nothing but what is in `folder`."""
    home = str(folder)
    return {
        "HOME": home,
        "CTXTUI_HOME": f"{home}/ctxtui",
        "CLAUDE_CONFIG_DIR": f"{home}/.claude",
        "CODEX_HOME": f"{home}/.codex",
    }


def tried(path: Path, command: tuple[str, ...], folder: Path) -> tuple[int, str]:
    """`command` on the recording `path`, writing into `folder`: its exit code, and what was wrong ("": nothing)."""
    before = hashlib.sha256(path.read_bytes()).digest()
    paths = [str(path)] * 2 if command[0] == "diff" else [str(path)]
    rest = [str(folder / "out") if word == "OUT" else word for word in command[1:]]
    ended = ran([command[0], *paths, *rest])
    return ended.code, wrong(command, ended, changed=hashlib.sha256(path.read_bytes()).digest() != before)


Trial = Callable[[random.Random, Path], tuple[str, int, str, bytes]]
"""Injures something as the dice say and runs a command on it, in a folder: what that was, its exit code, what was
wrong, and the injured bytes."""


def recordings(folder: Path) -> Trial:
    """Tries recordings of every kind, those of `sessions` and of the corpus among them."""
    small = seedlings()
    small += [own_format(one, folder) for one in small[: len(small) // 2]]
    real = [path for path in [*(REPO / "sessions").glob("*.jsonl"), *CORPUS.rglob("*")] if path.is_file()]
    real = sorted(path for path in real if path.stat().st_size < _LARGEST and path.suffix in _RECORDINGS)

    def trial(dice: random.Random, place: Path) -> tuple[str, int, str, bytes]:
        if dice.random() < _REAL:
            path = dice.choice(real)
            one = Seedling(path.name, path.read_bytes())
        else:
            one = dice.choice(small)
        command, data = dice.choice(COMMANDS), mutated(one.data, dice)
        path = place / one.name
        path.write_bytes(data)
        code, trouble = tried(path, command, place)
        return f"{' '.join(command)} {one.name}", code, trouble, data

    return trial


@dataclass
class Progress:
    """How far a series of runs is: the number of the `next` one, exit codes, what was wrong. Kept in a file (None: not
    kept) before each run, so that one that ended the process is known by its number, and the series goes on behind it.
    """

    file: Path | None
    next: int
    codes: Counter[int]
    found: list[str]
    running: bool = False

    @classmethod
    def of(cls, file: Path | None) -> Progress:
        """What `file` says of it."""
        if file is None or not file.exists():
            return cls(file, 0, Counter(), [])
        told = json.loads(file.read_bytes())
        codes = Counter({int(code): count for code, count in told["codes"].items()})
        made = cls(file, told["next"], codes, told["found"])
        if told["running"]:
            made.ended(0, f"{made.next}: the run ended the process")
        return made

    def ended(self, code: int, trouble: str) -> None:
        """A run is over."""
        self.next += 1
        self.codes[code] += 1
        self.found += [trouble] if trouble else []
        self.keep(running=False)

    def keep(self, *, running: bool) -> None:
        """Write it."""
        if self.file is not None:
            told = {"next": self.next, "codes": self.codes, "found": self.found, "running": running}
            self.file.write_text(json.dumps(told))


def fuzz(runs: int, seed: int, folder: Path, keep: Path | None = None, progress: Path | None = None) -> Iterator[str]:
    """What was wrong, a line each; nothing where nothing was. Files are written below `folder`. The last line says
    what the exit codes were. Each run hangs on the seed and its number alone."""
    from tests.faults.damaged_database import databases

    trials = (recordings(folder), databases(folder))
    done = Progress.of(progress)
    yield from done.found
    while done.next < runs:
        done.keep(running=True)
        number = done.next
        dice = random.Random(f"{seed} {number}")
        place = folder / f"{number}"
        place.mkdir()
        faulthandler.dump_traceback_later(30 * _LONGEST, exit=True)
        what, code, trouble, data = dice.choices(trials, (4, 1))[0](dice, place)
        faulthandler.cancel_dump_traceback_later()
        shutil.rmtree(place)
        if trouble:
            kept = (keep or folder) / f"{seed}-{number}"
            kept.write_bytes(data)
            trouble = f"{number} {what}: {' '.join(trouble.split())} ({kept})"
            yield trouble
        done.ended(code, trouble)
    yield _told(done.codes)


def every_command(inputs: Path, folder: Path) -> Iterator[str]:
    """As `fuzz`, of the files in `inputs` as they are, each through every command."""
    codes: Counter[int] = Counter()
    for number, path in enumerate(sorted(inputs.iterdir())):
        for command in COMMANDS:
            place = folder / f"{number}-{'-'.join(command[:3])}"
            place.mkdir(exist_ok=True)
            code, trouble = tried(path, command, place)
            codes[code] += 1
            if trouble:
                yield f"{' '.join(command)} {path}: {' '.join(trouble.split())}"
    yield _told(codes)


def _told(codes: Counter[int]) -> str:
    return CODES + ", ".join(f"{count:,} x {code}" for code, count in sorted(codes.items()))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--progress", type=Path, help="a file that says how far it is: it goes on from there")
    parser.add_argument("--inputs", type=Path, help="a folder of files that are taken as they are instead")
    asked = parser.parse_args()
    inputs, keep, progress = (one and one.resolve() for one in (asked.inputs, asked.keep, asked.progress))
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    found = 0
    with tempfile.TemporaryDirectory() as name:
        os.environ.update(alone(Path(name)))
        os.chdir(name)
        folder = Path(name)
        for trouble in (
            every_command(inputs, folder) if inputs else fuzz(asked.runs, asked.seed, folder, keep, progress)
        ):
            found += not trouble.startswith(CODES)
            print(trouble, flush=True)
    tries = len(list(inputs.iterdir())) * len(COMMANDS) if inputs else asked.runs
    print(f"{tries:,} runs, {found:,} wrong")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
