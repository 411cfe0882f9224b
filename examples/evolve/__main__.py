"""``python -m examples.evolve``: one search under several flows, on ctxtui's agent."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from ctxtui.api import CtxtuiError, agent_run, run_confined
from examples.evolve import script, texts
from examples.evolve.caching import Sent, watching
from examples.evolve.figures import Searched, figures, read
from examples.evolve.packing import Evaluator
from examples.evolve.search import Flow, Search
from examples.kit import (
    Failed,
    arguments,
    is_offline,
    offline,
    positive,
    printed,
    side_by_side,
    started,
    tell,
    work_folder,
)

NAME = "circle_packing_v1"
MODEL = "claude-sonnet-4-6"
"""Theirs by price ($3 and $15 a million), with a window that the old flow does not leave: where it leaves one of 200k
is told."""
FLOWS = {
    "old": Flow(tokens=False),
    "new": Flow(),
    "at_once": Flow(after_first=False),
    "pruned": Flow(),
    "stateless": Flow(alone=True),
    "iterative": Flow(tokens=False, calls=3),
}
"""How the searches differ: the authors' flow, their cures of the feedback and the selection, children that begin all at
once, older generations as a summary (a policy), generations that stand alone, document 003's loop. Their cures of the
cache are in `caching`."""
KEEP = 2
"""Generations that `pruned` keeps whole."""


def main() -> int:
    """Run what the command line asks for."""
    parser = arguments(str(__doc__))
    parser.add_argument("--generations", type=positive, default=10, help="generations of a search (10)")
    parser.add_argument("--children", type=positive, default=15, help="children of a generation (15)")
    parser.add_argument("--warn-tokens", type=int, default=150_000, help="their level of a warning (150000)")
    parser.add_argument("--critical-tokens", type=int, default=250_000, help="what risks a refusal (250000)")
    parser.add_argument("--under", nargs="+", choices=FLOWS, default=list(FLOWS), help="which searches are made")
    parser.add_argument("--unconfined", action="store_true", help="run programs where nothing confines them")
    given = parser.parse_args()
    return started(lambda: compare(given), "evolve")


def compare(given: argparse.Namespace) -> None:
    """Make the searches and print what came of them. Raises `Failed`."""
    folder = work_folder(given, "evolve")
    try:
        asyncio.run(run_confined(["true"], folder, unconfined=given.unconfined))
    except CtxtuiError:
        raise Failed(
            "nothing on this machine confines the programs that are run: install bubblewrap, or give --unconfined"
        ) from None
    evaluator = Evaluator(unconfined=given.unconfined)
    try:
        made = side_by_side(lambda name: run(given, folder / name, name, evaluator), given.under)
    except CtxtuiError as error:
        raise Failed(str(error)) from None
    printed(figures(made, folder), {name: one.session for name, one in made.items()}, folder, given.json)


def run(given: argparse.Namespace, folder: Path, name: str, evaluator: Evaluator) -> Searched:
    """One search in `folder`. Of children that begin all at once one generation tells what they write to the cache."""
    generations = 1 if name == "at_once" else given.generations
    tell(f"{name}: {generations} generations of {given.children} children")
    (folder / "experiment").mkdir(parents=True)
    sent: list[Sent] = []
    if is_offline(given):
        # Where children begin all at once, no answer has begun when the last of them is sent.
        slow = ("--fault", "slow;seconds=10") if name == "at_once" else ()
        with offline(folder, script.lines(generations, given.children), *slow) as at:
            session, search = asyncio.run(searched(given, folder, name, generations, evaluator, at["url"], sent))
    else:
        session, search = asyncio.run(searched(given, folder, name, generations, evaluator, given.base_url, sent))
    return read(session, search, sent, folder)


async def searched(
    given: argparse.Namespace,
    folder: Path,
    name: str,
    generations: int,
    evaluator: Evaluator,
    url: str,
    sent: list[Sent],
) -> tuple[str, Search]:
    """Make a search; its session's id, and the search. `sent` gets the root's requests."""
    policies: list[str | tuple[str, dict[str, Any]]] = []
    if name == "pruned":
        policies.append(("generation_window", {"n": KEEP}))
    run = agent_run(
        provider="anthropic" if given.provider in ("offline", "auto") and url else given.provider,
        model=given.model or MODEL,
        base_url=url,
        cwd=folder,
        system=(texts.static(generations, given.children), ""),
        policies=policies,
        rounds=0,
        messages=0,
        length=0,
        settings={
            "tools": "none",
            "answer_tokens": 16_000,
            "warn_tokens": given.warn_tokens,
            "critical_tokens": given.critical_tokens,
        },
        observe=watching(sent),
        say=lambda line: tell(f"  {line}") if line.startswith(("warning", "critical")) else None,
    )
    async with run:
        search = Search(
            run,
            FLOWS[name],
            evaluator,
            folder / "experiment",
            name=NAME,
            generations=generations,
            children=given.children,
        )
        await search.go()
        return run.session.about.id, search


if __name__ == "__main__":
    raise SystemExit(main())
