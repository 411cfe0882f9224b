"""What the examples share: the offline provider with a script, `ctxtui` as a command, and the table of figures.

Nothing here imports ctxtui: it is run as a user runs it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "ctxtui")


@dataclass(frozen=True)
class Figure:
    """A claim, the figure of its authors, ours, why they differ, and the command that shows ours."""

    claim: str
    theirs: str
    ours: str
    why: str = ""
    command: str = ""


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
            process.wait(30)


def arguments(about: str) -> argparse.ArgumentParser:
    """What every example understands: whom to ask, where to work, how to print."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--provider", default="offline", help="as `ctxtui chat` takes it; auto: chosen as it does it")
    parser.add_argument("--model", default="", help="the model; by default the provider's usual one")
    parser.add_argument("--base-url", default="", help="a compatible server, such as http://127.0.0.1:1234/v1")
    parser.add_argument("--folder", type=Path, help="where to work; by default a new temporary folder")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser


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
    for name in names:
        ctxtui("mcp", "allow", name, cwd=folder)


def tell(words: str) -> None:
    """A line for whoever waits."""
    print(words, file=sys.stderr, flush=True)


def printed(figures: Sequence[Figure], sessions: Mapping[str, str], as_json: bool) -> None:
    """The figures beside those of the authors, and the sessions that they come from."""
    if as_json:
        rows = [asdict(one) for one in figures]
        print(json.dumps({"figures": rows, "sessions": dict(sessions)}, indent=1))
        return
    wide = max(len(one.claim) for one in figures)
    theirs = max(len("authors"), *(len(one.theirs) for one in figures))
    ours = max(len("ours"), *(len(one.ours) for one in figures))
    print(f"{'':{wide}}  {'authors':>{theirs}}  {'ours':>{ours}}  why different")
    for one in figures:
        print(f"{one.claim:{wide}}  {one.theirs:>{theirs}}  {one.ours:>{ours}}  {one.why}".rstrip())
    print()
    for what, name in sessions.items():
        print(f"{what}: ctxtui open {name}")


def started(work: Any, name: str) -> int:
    """Run `work`; what fails is said in a line. Ends as a program ends."""
    try:
        work()
    except Failed as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0
