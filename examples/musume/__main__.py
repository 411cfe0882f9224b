"""``python -m examples.musume``: the same turns as the authors lay them out, and with what cures that."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from anthropic import Anthropic

from examples.kit import (
    Failed,
    arguments,
    is_offline,
    offline,
    positive,
    printed,
    started,
    tell,
    work_folder,
)
from examples.musume.agent import Agent, Manner
from examples.musume.figures import Played, figures
from examples.musume.game import BUDGET, Game, Memory
from examples.musume.play import lines
from examples.musume.prompts import MEMORY
from examples.musume.sample import written

HERE = Path(__file__).resolve().parent
TRIMMED = (HERE / "trimming.toml",)
CURED = (*TRIMMED, HERE / "compaction.toml")
MODEL = "claude-haiku-4-5"
MANNERS = {
    "plain": Manner(),
    "static_alone": Manner(breakpoints="static"),
    "memory_alone": Manner(breakpoints="memory"),
    "history_alone": Manner(breakpoints="history"),
    "breakpoints": Manner(breakpoints="written"),
    "trimmed": Manner(TRIMMED),
    "trimmed_breakpoints": Manner(TRIMMED, "written"),
    "cures": Manner(CURED),
    "cures_breakpoints": Manner(CURED, "written"),
    "layout": Manner(CURED, "layout", history=400),
    "summary": Manner(breakpoints="history", summarize_at=40_000),
    "summary_uncached": Manner(breakpoints="history", summarize_at=40_000, fresh_alone=True),
}
"""How the runs differ: the authors' agent as it is; with each of their three breakpoints, with all; with their cures
one after the other, without and with the breakpoints; the layout in which breakpoints work; and summed up above a
threshold of all input, and of what is not cached."""
LONG = ("plain", "layout")
"""Which are played on, for what a hundred turns cost."""


def main() -> int:
    """Run what the command line asks for."""
    parser = arguments(str(__doc__))
    parser.add_argument("--turns", type=positive, default=20, help="turns of each run (20)")
    parser.add_argument("--long", type=int, default=100, help=f"turns of {' and '.join(LONG)} (100)")
    parser.add_argument("--under", nargs="+", choices=MANNERS, default=list(MANNERS), help="which runs are made")
    parser.add_argument("--budget", type=int, default=BUDGET, help=f"tokens of all memory files ({BUDGET:,})")
    parser.add_argument("--summarize-at", type=int, help="input tokens from which the talk is summed up")
    given = parser.parse_args()
    return started(lambda: play(given), "musume")


def play(given: argparse.Namespace) -> None:
    """Make the runs and print what came of them. Raises `Failed`."""
    folder = work_folder(given, "musume")
    if is_offline(given):
        with offline(folder, lines(_count(given, name) for name in given.under)) as at:
            client = Anthropic(base_url=at["url"], api_key="any")
            runs = {name: run(given, folder, name, client) for name in given.under}
    else:
        runs = {name: run(given, folder, name, _client(given)) for name in given.under}
    sessions = {name: str(folder / name / "turns.jsonl") for name in runs}
    found = figures(runs, written(folder / "texts", CURED), given.model or MODEL, folder)
    printed(found, sessions, folder, given.json)


def run(given: argparse.Namespace, folder: Path, name: str, client: Anthropic) -> Played:
    """One run: its turns' logs. Tokens of memory are counted as the authors count: four characters each."""
    here = folder / name
    (here / "memory").mkdir(parents=True)
    (here / "logs").mkdir()
    for file, text in MEMORY.items():
        (here / "memory" / file).write_text(text, encoding="utf-8")
    tell(f"{name}: {_count(given, name)} turns")
    game = Game(Memory(here / "memory", given.budget, lambda text: len(text) // 4))
    manner = MANNERS[name]
    if given.summarize_at is not None:
        manner = replace(manner, summarize_at=given.summarize_at)
    agent = Agent(client, given.model or MODEL, game, manner, here, [*MANNERS].index(name))
    return Played([agent.turn(number) for number in range(1, _count(given, name) + 1)], given.turns)


def _count(given: argparse.Namespace, name: str) -> int:
    """The turns of a run."""
    return max(given.turns, given.long) if name in LONG else int(given.turns)


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


if __name__ == "__main__":
    raise SystemExit(main())
