"""``python -m examples.musume``: the same turns as the authors lay them out, and with what cures that."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from anthropic import Anthropic

from examples.kit import (
    Failed,
    arguments,
    asked,
    is_offline,
    offline,
    printed,
    side_by_side,
    started,
    tell,
    work_folder,
)
from examples.musume.agent import Agent, Manner
from examples.musume.figures import Played, Sizes, figures
from examples.musume.game import BUDGET, Game, Memory
from examples.musume.play import lines
from examples.musume.prompts import MEMORY

HERE = Path(__file__).resolve().parent
CURES = HERE / "cures.toml"
MODEL = "claude-haiku-4-5"
MANNERS = {
    "plain": Manner(),
    "breakpoints": Manner(breakpoints="written"),
    "cures": Manner(CURES),
    "cures_breakpoints": Manner(CURES, "written"),
    "layout": Manner(CURES, "layout", history=200),
}
"""How the runs differ: the authors' agent as it is, with their three breakpoints, with their cures, with both; and the
layout in which breakpoints work."""


def main() -> int:
    """Run what the command line asks for."""
    parser = arguments(str(__doc__))
    parser.add_argument("--turns", type=int, default=11, help="turns of each run (11)")
    parser.add_argument("--under", nargs="+", choices=MANNERS, default=list(MANNERS), help="which runs are made")
    parser.add_argument("--budget", type=int, default=BUDGET, help=f"tokens of all memory files ({BUDGET:,})")
    parser.add_argument(
        "--summarize-at", type=int, default=180_000, help="input tokens from which the talk is summed up"
    )
    given = parser.parse_args()
    return started(lambda: play(given), "musume")


def play(given: argparse.Namespace) -> None:
    """Make the runs and print what came of them. Raises `Failed`."""
    folder = work_folder(given, "musume")
    runs = side_by_side(lambda name: run(given, folder, name), given.under)
    sessions = {name: str(folder / name / "turns.jsonl") for name in runs}
    printed(figures(runs, sizes(folder, given.model or MODEL)), sessions, folder, given.json)


def run(given: argparse.Namespace, folder: Path, name: str) -> Played:
    """One run: its turns' logs, and what its session costs."""
    here = folder / name
    (here / "memory").mkdir(parents=True)
    (here / "logs").mkdir()
    for file, text in MEMORY.items():
        (here / "memory" / file).write_text(text, encoding="utf-8")
    tell(f"{name}: {given.turns} turns")
    if is_offline(given):
        with offline(here, lines(given.turns)) as at:
            logs = _turns(given, here, name, Anthropic(base_url=at["url"], api_key="any"))
    else:
        logs = _turns(given, here, name, _client(given))
    return Played(logs, asked("cost", str(here / "turns.jsonl"), cwd=here)["total_usd"])


def _turns(given: argparse.Namespace, here: Path, name: str, client: Anthropic) -> list[dict[str, Any]]:
    """Play the turns. Tokens of memory are counted as the authors count: four characters each."""
    game = Game(Memory(here / "memory", given.budget, lambda text: len(text) // 4))
    manner = MANNERS[name]
    manner = Manner(manner.policy, manner.breakpoints, manner.history, given.summarize_at)
    agent = Agent(client, given.model or MODEL, game, manner, here / "logs", here / "turns.jsonl")
    return [agent.turn(number) for number in range(1, given.turns + 1)]


def _client(given: argparse.Namespace) -> Anthropic:
    """The client of a real provider: Anthropic's API is what this agent speaks."""
    if given.provider not in ("anthropic", "auto", "offline"):
        raise Failed(
            f"this agent speaks Anthropic's API, not that of {given.provider}; --base-url names a server of it"
        )
    key = os.environ.get("ANTHROPIC_API_KEY") or ("any" if given.base_url else "")
    if not key:
        raise Failed("no key: set ANTHROPIC_API_KEY, or name a server with --base-url")
    return Anthropic(api_key=key, base_url=given.base_url or None)


def sizes(folder: Path, model: str) -> Sizes:
    """The tokens of a turn's message whole, compacted, and in four lines, as ``ctxtui count`` counts them."""
    from examples.musume.sample import written

    texts = written(folder / "texts", CURES)
    files = asked("count", *map(str, texts.values()), "--model", model, cwd=folder)["files"]
    return Sizes(**dict(zip(texts, (one["tokens"] for one in files), strict=True)))


if __name__ == "__main__":
    raise SystemExit(main())
