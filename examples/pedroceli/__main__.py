"""``python -m examples.pedroceli``: one job in a window of 32k and in one of 16k, each in a repository of its own."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from examples.kit import (
    COMMAND,
    Failed,
    Ours,
    allow_servers,
    arguments,
    asked,
    claims,
    is_offline,
    model_options,
    offline,
    positive,
    printed,
    started,
    tell,
    work_folder,
)
from examples.pedroceli import repository
from examples.pedroceli.figures import Job, job_figures, tight_figures, windows
from examples.pedroceli.job import TASK, TIGHT_TASK, plan, steps

HERE = Path(__file__).resolve().parent
WINDOWS = (32_768, 16_384)
TOOLS = "read_file grep edit_file write_file mcp__go__*"


def main() -> int:
    """Run what the command line asks for."""
    parser = arguments(str(__doc__))
    parser.add_argument(
        "--windows", nargs="+", type=int, choices=WINDOWS, default=WINDOWS, help="tokens of each job's window"
    )
    parser.add_argument("--entities", type=positive, default=10, help="size of the repository: five files each (10)")
    given = parser.parse_args()
    return started(lambda: play(given), "pedroceli")


def play(given: argparse.Namespace) -> None:
    """Do the jobs and print what came of them. Raises `Failed`."""
    folder = work_folder(given, "pedroceli")
    jobs = [job(given, folder, window) for window in given.windows]
    sessions = {f"{one.window // 1024}k": one.metadata["session"] for one in jobs}
    ours: dict[str, Ours] = {}
    for one in jobs:
        ours |= job_figures(one, folder)
    if is_offline(given) and tuple(given.windows) == WINDOWS:
        metadata, said = tight_job(folder)
        sessions["8k"] = metadata["session"]
        ours |= tight_figures(metadata, said) | windows(folder)
    printed(claims(HERE / "claims.md", ours), sessions, folder, given.json)


def job(given: argparse.Namespace, folder: Path, window: int) -> Job:
    """One job: its repository, its budget, its run with the job folder."""
    root, log = folder / f"bot-{window // 1024}k", folder / f"job-{window // 1024}k"
    files = repository.write(root, given.entities)
    (root / "ctxtui.toml").write_text(_project(root, window, given.model), encoding="utf-8")
    # It has paths of this machine, which would be tokens of the repository.
    (root / ".gitignore").write_text("ctxtui.toml\n", encoding="utf-8")
    allow_servers(["go"], root)
    tell(f"a job in {window:,} tokens, {files} files")
    options = ["--files", "auto", "--policy", str(HERE / "keep_rounds.toml"), "--allow", "*", "--log-dir", str(log)]
    # A quarter of the window is kept for the answer.
    options += ["--max-tokens", str(window // 4)]
    if not is_offline(given):
        ran = asked("run", TASK, *options, *model_options(given), cwd=root, ok=(0, 7, 8), loud=True)
    else:
        with offline(folder, steps(), "--as", "lm-studio", "--window", str(window)) as at:
            ran = asked("run", TASK, *options, "--base-url", at["openai_url"], cwd=root, ok=(0, 7, 8), loud=True)
    return Job(
        window=window,
        budget=asked("budget", "--model", given.model or "offline", "--task", TASK, cwd=root),
        metadata=ran["metadata"],
        turns=[json.loads(path.read_text(encoding="utf-8")) for path in sorted((log / "logs").glob("turn_*.json"))],
        files=sorted(path.name for path in log.iterdir()),
        facts=_facts(log),
    )


def _facts(log: Path) -> str:
    """What the last prompt of a job says of its older rounds, in a line."""
    last = max(log.glob("*-prompt.txt")).read_text(encoding="utf-8")
    found = re.search(r"^Steps \d+-\d+:\n(?:- .*\n)+", last, re.MULTILINE)
    return "; ".join(line.lstrip("- ").strip() for line in found[0].splitlines()) if found else ""


def tight_job(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """A run in a window of 8k that the files, one result and a long answer fill: its metadata, and the lines that it
    told. Raises `Failed`."""
    root, window = folder / "bot-8k", 8_192
    repository.write(root, 1)
    (root / "ctxtui.toml").write_text(f'tools = "read_file"\n\n{_window("offline", window)}', encoding="utf-8")
    options = ["--files", "auto", "--allow", "*", "--max-tool-result-length", "0", "--max-context-messages", "0"]
    tell(f"a job in {window:,} tokens, which are not enough")
    with offline(root, plan(), "--as", "lm-studio", "--window", str(window)) as at:
        told = [*COMMAND, "run", TIGHT_TASK, *options, "--base-url", at["openai_url"], "--json"]
        done = subprocess.run(told, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"ctxtui run ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["metadata"], done.stderr.splitlines()


def _project(root: Path, window: int, model: str) -> str:
    """The project's ``ctxtui.toml``: a coder's tools, the window of the model, the Go toolchain."""
    go: dict[str, Any] = {"command": sys.executable, "args": [str(HERE / "toolchain.py"), str(root)]}
    server = "".join(f"{name} = {json.dumps(value)}\n" for name, value in go.items())
    return f'tools = "{TOOLS}"\n\n{_window(model or "offline", window)}\n[mcp.go]\n{server}'


def _window(model: str, tokens: int) -> str:
    return f'[models."{model}"]\ncontext_size = {tokens}\nusable_context = {tokens * 3 // 4}\n'


if __name__ == "__main__":
    raise SystemExit(main())
