"""What the examples share: the offline provider with a script, `ctxtui` as a command, and the table of figures.

Nothing here imports ctxtui: it is run as a user runs it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

Made = TypeVar("Made")
COMMAND = (sys.executable, "-m", "ctxtui")


@dataclass(frozen=True)
class Figure:
    """A claim, where it stands (`names`), the figure of its authors, ours, why they differ, the command that shows it,
    and the run or the file of the repository that it comes from (`session`). In a command `ID` is that session, `HERE`
    the folder that the example works in."""

    claim: str
    names: str
    theirs: str
    ours: str
    why: str
    command: str
    session: str


Ours = str | tuple[str, str]
"""Our figure, or our figure and why it differs."""


def claims(table: Path, ours: Mapping[str, Ours]) -> list[Figure]:
    """The rows of ``claims.md`` (`table`) that `ours` has a figure for, in the order of the table. Raises `Failed`."""
    lines = [line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("|")][2:]
    rows = []
    for line in lines:
        claim, names, theirs, why, command, session = (cell.strip().strip("`") for cell in line.strip("|").split("|"))
        if claim in ours:
            found = ours[claim]
            figure, why = (found, why) if isinstance(found, str) else found
            rows.append(Figure(claim, names, theirs, figure, why, command, session))
    if unknown := set(ours) - {row.claim for row in rows}:
        raise Failed(f"{table} has no row: {', '.join(sorted(unknown))}")
    return rows


class Failed(Exception):
    """A command ended otherwise than it should; the message says how."""


def ctxtui(*arguments: str, cwd: Path, ok: Iterable[int] = (0,), loud: bool = False) -> str:
    """What ``ctxtui ARGUMENTS`` prints, run in `cwd`; with `loud` what it tells on standard error is told, too. Raises
    `Failed` where it ends with another code than `ok`."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=None if loud else subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in set(ok):
        raise Failed(f"ctxtui {' '.join(arguments)} ended with {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


def asked(*arguments: str, cwd: Path, ok: Iterable[int] = (0,), loud: bool = False) -> Any:
    """The JSON that ``ctxtui ARGUMENTS --json`` prints."""
    return json.loads(ctxtui(*arguments, "--json", cwd=cwd, ok=ok, loud=loud))


@contextmanager
def offline(folder: Path, lines: Sequence[Mapping[str, Any]], *options: str) -> Iterator[dict[str, Any]]:
    """The addresses of ``ctxtui offline --script``, which gives the answers `lines`; it ends with the block."""
    script = folder / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    arguments = [*COMMAND, "offline", "--port", "0", "--json", "--script", str(script), *options]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            told = process.stdout.readline()
            if not told:
                raise Failed("ctxtui offline did not start")
            yield json.loads(told)
        finally:
            process.terminate()
            process.wait()


def arguments(about: str) -> argparse.ArgumentParser:
    """What every example understands: whom to ask, where to work, how to print."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--provider", default="offline", help="as `ctxtui chat` takes it; auto: chosen as it does it")
    parser.add_argument("--model", default="", help="the model; by default the provider's usual one")
    parser.add_argument("--base-url", default="", help="a compatible server, such as http://127.0.0.1:1234/v1")
    parser.add_argument("--folder", type=Path, help="where to work; by default a new temporary folder")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser


def positive(text: str) -> int:
    """An argument that is a number above 0. Raises `argparse.ArgumentTypeError`."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return int(text)


def is_offline(given: argparse.Namespace) -> bool:
    """Whether nobody is asked but the offline provider."""
    return bool(given.provider == "offline" and not given.base_url)


def model_options(given: argparse.Namespace) -> list[str]:
    """The options of `ctxtui run` for the provider that was asked for."""
    named = ("--provider", given.provider if given.provider not in ("auto", "offline") else "")
    pairs = (named, ("--model", given.model), ("--base-url", given.base_url))
    return [word for name, value in pairs if value for word in (name, value)]


def work_folder(given: argparse.Namespace, name: str) -> Path:
    """The folder to work in, which holds nothing yet."""
    folder: Path = given.folder or Path(tempfile.mkdtemp(prefix=f"ctxtui-{name}-"))
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise Failed(f"{folder} is not empty: name another --folder")
    return folder.resolve()


def allow_servers(names: Iterable[str], folder: Path) -> None:
    """Let the MCP servers of the example's own ``ctxtui.toml`` start: whoever starts the example asks for them."""
    ctxtui("mcp", "allow", *names, cwd=folder)


def side_by_side(work: Callable[[str], Made], names: Sequence[str]) -> dict[str, Made]:
    """What `work` makes of each name, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(names, pool.map(work, names), strict=True))


def tell(words: str) -> None:
    """A line for whoever waits."""
    print(words, file=sys.stderr, flush=True)


def printed(figures: Sequence[Figure], sessions: Mapping[str, str], folder: Path, as_json: bool) -> None:
    """The figures beside those of the authors, and the sessions that they come from (names and ids, or names and
    files), each as a file in `folder` that opens."""
    files = {name: _as_file(name, one, folder) for name, one in sessions.items()}
    rows = [_placed(one, files, folder) for one in figures]
    if as_json:
        print(json.dumps({"figures": list(map(asdict, rows)), "sessions": files}, indent=1))
        return
    wide = max(len(one.claim) for one in rows)
    theirs = max(len("authors"), *(len(one.theirs) for one in rows))
    ours = max(len("ours"), *(len(one.ours) for one in rows))
    print(f"{'':{wide}}  {'authors':>{theirs}}  {'ours':>{ours}}  why different")
    for one in rows:
        print(f"{one.claim:{wide}}  {one.theirs:>{theirs}}  {one.ours:>{ours}}  {one.why}".rstrip())
    print()
    for what, file in files.items():
        print(f"{what}: ctxtui open {file}")


def _as_file(name: str, session: str, folder: Path) -> str:
    """Where a session lies in `folder`: its file, or that which it is written to."""
    if Path(session).exists():
        return near(Path(session))
    path = folder / f"{name}.jsonl"
    ctxtui("export", session, "-o", str(path), "--force", cwd=folder)
    return near(path)


def near(path: Path) -> str:
    """A path as it is written from where the user stands."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _placed(one: Figure, files: Mapping[str, str], folder: Path) -> Figure:
    """A row with files in place of names; of a run that was not made it opens the first."""
    is_file = "/" in one.session
    session = one.session if is_file else files.get(one.session, next(iter(files.values()), ""))
    session = re.sub(r"\bHERE\b", lambda _: near(folder), session)
    session = near(Path(session)) if Path(session).is_absolute() else session
    command = re.sub(r"\bID\b", lambda _: session, one.command)
    command = re.sub(r"\bHERE\b", lambda _: near(folder), command)
    return replace(one, command=command, session=session)


def started(work: Any, name: str) -> int:
    """Run `work`; what fails is said in a line. Ends as a program ends."""
    try:
        work()
    except Failed as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0
