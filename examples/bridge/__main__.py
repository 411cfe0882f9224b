"""``python -m examples.bridge``: the loop without a cure and under the hybrid, every strategy, edge cases."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.bridge.edges import Edge, edges, huge
from examples.bridge.figures import figures, prompts_of
from examples.bridge.rounds import TASK, rounds
from examples.kit import (
    Failed,
    allow_servers,
    arguments,
    asked,
    is_offline,
    model_options,
    offline,
    positive,
    printed,
    side_by_side,
    started,
    tell,
    work_folder,
)

HERE = Path(__file__).resolve().parent
SERVERS = ("filesystem", "memory", "fetch", "github")
POLICIES = tuple(sorted(path.stem for path in (HERE / "policies").glob("*.toml")))
USUAL = ("plain", "hybrid")
LAB = ("sliding_window", "truncated", "small_schemas", "summaries", "hybrid")
"""The authors' five strategies, each of which `ctxtui lab` puts the run without one through."""
FURTHER = ("sliding_window n=2 keep_first=1 slack=0", "drop_unused_tools")
_REAL = {
    "filesystem": ("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]),
    "memory": ("npx", ["-y", "@modelcontextprotocol/server-memory"]),
    "fetch": ("uvx", ["mcp-server-fetch"]),
}


def main() -> int:
    """Run what the command line asks for."""
    parser = arguments(str(__doc__))
    parser.add_argument("--rounds", type=positive, default=100, help="most rounds of a run (100)")
    parser.add_argument("--under", nargs="+", choices=("plain", *POLICIES), default=USUAL, help="which runs are made")
    parser.add_argument("--servers", nargs="+", choices=SERVERS, default=SERVERS, help="whose tools are offered")
    parser.add_argument("--window", type=positive, default=131_072, help="the offline provider's window (131072)")
    parser.add_argument("--edges", action=argparse.BooleanOptionalAction, default=True, help="the edge cases, too")
    parser.add_argument("--real-servers", action="store_true", help="the real ones where there are, by npx and uvx")
    given = parser.parse_args()
    return started(lambda: play(given), "bridge")


def play(given: argparse.Namespace) -> None:
    """Make the runs and print what came of them. Raises `Failed`."""
    folder = work_folder(given, "bridge")
    short = edges() if is_offline(given) and given.edges else {}
    runs = side_by_side(lambda name: run(given, folder / name, name, short.get(name)), [*given.under, *short])
    model = given.model or "offline"
    listed = {name: str(HERE / "tools" / f"{name}.json") for name in given.servers}
    sizes = {name: asked("mcp", "size", file, "--model", model, cwd=folder) for name, file in listed.items()}
    sessions = {name: one["metadata"]["session"] for name, one in runs.items()}
    growth = {name: prompts_of(sessions[name], folder) for name in given.under}
    lab = _tried(folder, sessions["plain"]) if "plain" in sessions else []
    printed(figures(runs, growth, sizes, lab), sessions, folder, given.json)


def _tried(folder: Path, session: str) -> list[dict[str, Any]]:
    """What ``ctxtui lab`` says of a session under each strategy: its prompts, call by call."""
    files = [str(HERE / "policies" / f"{name}.toml") for name in LAB]
    options = [word for policy in (*files, *FURTHER) for word in ("--policy", policy)]
    found: list[dict[str, Any]] = asked("lab", session, *options, cwd=folder)["sessions"][0]["variants"]
    return found


def run(given: argparse.Namespace, folder: Path, name: str, edge: Edge | None = None) -> dict[str, Any]:
    """One run in `folder`, a project of its own: what `ctxtui run --json` prints."""
    folder.mkdir()
    servers = edge.servers if edge else given.servers
    (folder / "ctxtui.toml").write_text(_project(given, servers), encoding="utf-8")
    allow_servers(servers, folder)
    kept = (edge.messages, edge.length) if edge else (0, 0)
    limits = ["--max-rounds", str(len(edge.lines) if edge else given.rounds), "--max-context-messages", str(kept[0])]
    limits += ["--max-tool-result-length", str(kept[1])]
    policy = ["--policy", str(HERE / "policies" / f"{name}.toml")] if name in POLICIES else []
    options = [*limits, *policy, "--allow", "mcp__*"]
    tell(f"{name}: {f'{len(edge.lines)} rounds' if edge else f'up to {given.rounds} rounds'}")
    # 7: what is sent would not fit. 8: the rounds are used up.
    ok = (0, 7, 8)
    if not is_offline(given):
        return _result(asked("run", TASK, *options, *model_options(given), cwd=folder, ok=ok, loud=True))
    if edge:
        huge(folder)
    as_server = ("--as", "lm-studio", "--window", str(edge.window if edge else given.window))
    with offline(folder, edge.lines if edge else rounds(given.rounds, given.servers), *as_server) as at:
        return _result(asked("run", TASK, *options, "--base-url", at["openai_url"], cwd=folder, ok=ok, loud=True))


def _project(given: argparse.Namespace, servers: Sequence[str]) -> str:
    """The project's ``ctxtui.toml``: its servers, and no tools but theirs."""
    lines = ['tools = "mcp__*"']
    for name in servers:
        command, args = _REAL.get(name) if given.real_servers and name in _REAL else (sys.executable, None)  # type: ignore[misc]
        args = args or [str(HERE / "server.py"), name, "."]
        lines += ["", f"[mcp.{name}]", f"command = {json.dumps(command)}", f"args = {json.dumps(args)}"]
        # A server that breaks off is noticed at once; one that starts slowly, on a busy machine, is waited for.
        lines += ["timeout = 900"]
    return "\n".join(lines) + "\n"


def _result(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict) or "metadata" not in found:
        raise Failed("ctxtui run printed no metadata")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
