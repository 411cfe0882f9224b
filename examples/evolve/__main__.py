"""``python -m examples.evolve``: one search under several flows, on ctxtui's agent."""

from __future__ import annotations

import argparse
import asyncio
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ctxtui.api import CtxtuiError, agent_run, run_confined
from examples.evolve import prompts, script
from examples.evolve.caching import Sent, compared, summaries_in, watching
from examples.evolve.figures import RootCall, Searched, figures
from examples.evolve.on_record import printed_log, searched
from examples.evolve.packing import Evaluator
from examples.evolve.search import Flow, Search
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

HERE = Path(__file__).resolve().parent
MAIN = "main"
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
once, older generations as a summary, generations that stand alone, document 003's loop. Their cures of the
cache are in `caching`."""
USUAL = ("old", "new", "at_once", "pruned", "stateless", "iterative")
FIRST = "at_once"
"""Shows what children write to the cache: one generation tells that."""


@dataclass(frozen=True)
class Limits:
    """What a configuration says."""

    name: str
    generations: int
    children: int
    warn_tokens: int
    critical_tokens: int
    keep: int


def main() -> int:
    """Run what the command line asks for."""
    parser = arguments(str(__doc__))
    parser.add_argument(
        "--config", type=Path, default=HERE / "config.toml", help="generations, children, levels (TOML)"
    )
    parser.add_argument("--generations", type=int, default=0, help="in place of the configuration's")
    parser.add_argument("--children", type=int, default=0, help="in place of the configuration's")
    parser.add_argument("--under", nargs="+", choices=FLOWS, default=list(USUAL), help="which searches are made")
    parser.add_argument("--unconfined", action="store_true", help="run programs where nothing confines them")
    given = parser.parse_args()
    return started(lambda: search(given), "evolve")


def search(given: argparse.Namespace) -> None:
    """Make the searches and print what came of them. Raises `Failed`."""
    folder, limits = work_folder(given, "evolve"), _limits(given)
    try:
        asyncio.run(run_confined(["true"], folder, unconfined=given.unconfined))
    except CtxtuiError:
        raise Failed(
            "nothing on this machine confines the programs that are run: install bubblewrap, or give --unconfined"
        ) from None
    evaluator = Evaluator(unconfined=given.unconfined)
    sent: dict[str, list[Sent]] = {name: [] for name in given.under}

    def one(name: str) -> Searched:
        its = replace(limits, generations=1) if name == FIRST and len(given.under) > 1 else limits
        tell(f"{name}: {its.generations} generations of {its.children} children")
        return _one(given, folder / name, name, its, evaluator, sent[name])

    made = side_by_side(one, given.under)
    # As many generations as the authors had measured.
    watched = {name: _first(sent[name], made[name]) for name in ("old", "new") if sent.get(name)}
    rows = [*printed_log(folder), *figures(made), *searched(folder, made), *compared(folder, watched)]
    printed(rows, {name: one.session for name, one in made.items()}, folder, given.json)


def _one(
    given: argparse.Namespace, folder: Path, name: str, limits: Limits, evaluator: Evaluator, sent: list[Sent]
) -> Searched:
    """One search; `sent` gets the root's requests."""
    folder.mkdir()
    log = folder / "experiment"
    log.mkdir()
    if not is_offline(given):
        return asyncio.run(_searched(given, log, name, limits, evaluator, given.base_url, sent))
    # Where children begin all at once, no answer has begun when the last of them is sent.
    slow = ("--fault", "slow;seconds=1") if name == FIRST else ()
    with offline(folder, script.lines(limits.generations, limits.children), *slow) as at:
        return asyncio.run(_searched(given, log, name, limits, evaluator, at["url"], sent))


async def _searched(
    given: argparse.Namespace, log: Path, name: str, limits: Limits, evaluator: Evaluator, url: str, sent: list[Sent]
) -> Searched:
    flow = FLOWS[name]
    policies: list[str | tuple[str, dict[str, Any]]] = []
    if name == "pruned":
        policies.append(("generation_window", {"n": limits.keep}))
    run = agent_run(
        provider="anthropic" if given.provider in ("offline", "auto") and url else given.provider,
        model=given.model or MODEL,
        base_url=url,
        cwd=log.parent,
        system=(prompts.static(limits.generations, limits.children), ""),
        policies=policies,
        rounds=0,
        messages=0,
        length=0,
        settings={
            "tools": "none",
            "answer_tokens": 16_000,
            "warn_tokens": limits.warn_tokens,
            "critical_tokens": limits.critical_tokens,
        },
        observe=watching(sent),
        say=lambda line: tell(f"  {line}") if line.startswith(("warning", "critical")) else None,
    )
    async with run:
        one = Search(
            run,
            flow,
            evaluator,
            log,
            name=limits.name,
            generations=limits.generations,
            children=limits.children,
            levels=(limits.warn_tokens, limits.critical_tokens),
        )
        await one.go()
        session = run.session
    alone = {id_ for id_, thread in session.threads.items() if thread.label.startswith("generation ")}
    root = [call for call in session.calls.values() if call.thread in (alone or {MAIN})]
    rooted = {call.id for call in root}
    cost = asked("cost", session.about.id, cwd=log)
    return Searched(
        name=name,
        session=session.about.id,
        evolution=one.evolution,
        root=tuple(map(_figures, root)),
        children=tuple(_figures(call) for call in session.calls.values() if call.id not in rooted),
        cost_usd=cost["total_usd"],
        root_usd=_root_usd(session.about.id, log, alone) if alone else cost["totals"]["main"]["cost_usd"],
        feedbacks=tuple(map(len, one.feedbacks)),
        selected_at=tuple(one.selected_at),
        summaries=tuple(summaries_in(sent[-1])) if sent else (),
    )


def _first(sent: list[Sent], one: Searched, generations: int = 5) -> list[Sent]:
    """The root's requests of its first generations."""
    return [each for n, each in enumerate(sent) if sum(at < n for at in one.selected_at) < generations]


def _figures(call: Any) -> RootCall:
    used = call.usage
    if used is None:
        return RootCall(0, 0, 0, 0)
    return RootCall(used.input, used.cache_read, used.cache_write, used.output)


def _root_usd(id_: str, folder: Path, alone: Collection[str]) -> float:
    """USD by list price of the root's calls, where each stands in a thread by itself."""
    threads = asked("show", id_, "--threads", cwd=folder)["threads"]
    return sum(one["cost_usd"] or 0.0 for one in threads if one["id"] in alone)


def _limits(given: argparse.Namespace) -> Limits:
    told = tomllib.loads(given.config.read_text(encoding="utf-8"))
    evolution, context = told.get("evolution", {}), told.get("context", {})
    return Limits(
        name=told.get("experiment", {}).get("name", "experiment"),
        generations=given.generations or evolution.get("max_generations", 10),
        children=given.children or evolution.get("max_children_per_generation", 15),
        warn_tokens=context.get("warn_tokens", 150_000),
        critical_tokens=context.get("critical_tokens", 250_000),
        keep=context.get("keep_generations", 2),
    )


if __name__ == "__main__":
    raise SystemExit(main())
