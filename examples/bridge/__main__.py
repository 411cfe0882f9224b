"""``python -m examples.bridge``: the loop without a cure, under a window that slides, and under the hybrid."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from examples.bridge.figures import figures
from examples.bridge.rounds import TASK, rounds
from examples.kit import (
    Failed,
    allow_servers,
    arguments,
    asked,
    is_offline,
    model_options,
    offline,
    printed,
    side_by_side,
    started,
    tell,
    work_folder,
)

HERE = Path(__file__).resolve().parent
SERVERS = ("filesystem", "memory", "fetch", "github")
POLICIES = tuple(sorted(path.stem for path in (HERE / "policies").glob("*.toml")))
USUAL = ("plain", "sliding_window", "hybrid")
_REAL = {
    "filesystem": ("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]),
    "memory": ("npx", ["-y", "@modelcontextprotocol/server-memory"]),
    "fetch": ("uvx", ["mcp-server-fetch"]),
}


def main() -> int:
    """Run what the command line asks for."""
    parser = arguments(str(__doc__))
    parser.add_argument("--rounds", type=int, default=100, help="most rounds of a run (100)")
    parser.add_argument("--under", nargs="+", choices=("plain", *POLICIES), default=USUAL, help="which runs are made")
    parser.add_argument("--servers", nargs="+", choices=SERVERS, default=SERVERS, help="whose tools are offered")
    parser.add_argument("--window", type=int, default=131_072, help="the offline provider's window (131072)")
    parser.add_argument("--real-servers", action="store_true", help="the real ones where there are, by npx and uvx")
    given = parser.parse_args()
    return started(lambda: play(given), "bridge")


def play(given: argparse.Namespace) -> None:
    """Make the runs and print what came of them. Raises `Failed`."""
    folder = work_folder(given, "bridge")
    runs = side_by_side(lambda name: run(given, folder / name, name), given.under)
    model = given.model or "offline"
    sizes = {name: asked("mcp", "size", name, "--model", model, cwd=folder / given.under[0]) for name in given.servers}
    sessions = {name: one["metadata"]["session"] for name, one in runs.items()}
    growth = {name: _prompts(id_, folder) for name, id_ in sessions.items()}
    printed(figures(runs, growth, sizes), sessions, folder, given.json)


def run(given: argparse.Namespace, folder: Path, name: str) -> dict[str, Any]:
    """One run in `folder`, a project of its own: what `ctxtui run --json` prints."""
    folder.mkdir()
    (folder / "ctxtui.toml").write_text(_project(given), encoding="utf-8")
    allow_servers(given.servers, folder)
    limits = ["--max-rounds", str(given.rounds), "--max-context-messages", "0", "--max-tool-result-length", "0"]
    policy = [] if name == "plain" else ["--policy", str(HERE / "policies" / f"{name}.toml")]
    options = [*limits, *policy, "--allow", "mcp__*"]
    tell(f"{name}: up to {given.rounds} rounds")
    # 8: the rounds are used up.
    if not is_offline(given):
        return _result(asked("run", TASK, *options, *model_options(given), cwd=folder, ok=(0, 8), loud=True))
    as_server = ("--as", "lm-studio", "--window", str(given.window))
    with offline(folder, rounds(given.rounds, given.servers), *as_server) as at:
        return _result(asked("run", TASK, *options, "--base-url", at["openai_url"], cwd=folder, ok=(0, 8), loud=True))


def _project(given: argparse.Namespace) -> str:
    """The project's ``ctxtui.toml``: its servers, and no tools but theirs."""
    lines = ['tools = "mcp__*"']
    for name in given.servers:
        command, args = _REAL.get(name) if given.real_servers and name in _REAL else (sys.executable, None)  # type: ignore[misc]
        args = args or [str(HERE / "server.py"), name, "."]
        lines += ["", f"[mcp.{name}]", f"command = {json.dumps(command)}", f"args = {json.dumps(args)}"]
    return "\n".join(lines) + "\n"


def _result(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict) or "metadata" not in found:
        raise Failed("ctxtui run printed no metadata")
    return found


def _prompts(session: str, folder: Path) -> list[int]:
    """The tokens of each prompt of a session, as its provider reported them."""
    return [one["reported_input"] for one in asked("show", session, cwd=folder)["growth"]]


if __name__ == "__main__":
    raise SystemExit(main())
