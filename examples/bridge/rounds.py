"""What the model says in each of a hundred rounds, for the offline provider: the task of the authors' test plan."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from examples.bridge.repositories import REPOSITORIES, Repository

TASK = (
    "Search for 'fastmcp' repos, then for each repo read the README, analyze it, and create a comparison document "
    "(notes/comparison.md). Keep what you learn in the memory graph."
)
Line = dict[str, Any]


def rounds(count: int, servers: Collection[str]) -> list[Line]:
    """`count` answers: the calls of tools of `servers` in their order, again from the start where they are too few;
    then the words that end the task."""
    offered = {tool for server in servers for tool in tools_of(server)}
    fitting = [line for line in _calls() if line["calls"][0]["name"] in offered]
    lines = [*islice(cycle(fitting), count - 1)]
    return [*lines, {"text": f"Done: {len(lines)} calls. The comparison stands in notes/comparison.md."}]


def tools_of(server: str) -> list[str]:
    """The names of the tools that a server lists."""
    listed = json.loads((Path(__file__).parent / "tools" / f"{server}.json").read_text(encoding="utf-8"))
    return [tool["name"] for tool in listed["tools"]]


def _calls() -> Iterator[Line]:
    yield _call("First I search.", "search_repositories", query="fastmcp", perPage=30)
    for one in REPOSITORIES:
        yield from _study(one)
    yield _call("Now all that I know of them.", "read_graph")
    rows = "\n".join(f"| {one.name} | {one.about} |" for one in REPOSITORIES)
    table = f"# FastMCP projects\n\n| repository | what it does |\n|---|---|\n{rows}\n"
    yield _call("I write the comparison.", "write_file", path="notes/comparison.md", content=table)


def _study(one: Repository) -> Iterator[Line]:
    at = {"owner": one.owner, "repo": one.name}
    yield _call(f"The README of {one.name}.", "get_file_contents", **at, path="README.md")
    yield _call("Is it kept alive?", "list_commits", **at, perPage=5)
    yield _call("What goes wrong with it?", "list_issues", **at, state="open", per_page=5)
    entity = {"name": one.name, "entityType": "repository", "observations": [one.about]}
    yield _call("I keep that.", "create_entities", entities=[entity])
    yield _call("Its documentation.", "fetch", url=f"https://{one.owner}.dev/{one.name}", max_length=2000)
    yield _call("Who uses the decorator?", "search_code", q=f"mcp.tool repo:{one.owner}/{one.name}")
    told = {"entityName": one.name, "contents": [f"{one.issue(1)['title']}.", f"{40 + 37 * one.number} stars."]}
    yield _call("I add what I found.", "add_observations", observations=[told])
    note = f"# {one.name}\n\n{one.about}.\n\nTrouble: {one.issue(1)['title']}.\n"
    yield _call(f"A note on {one.name}.", "write_file", path=f"notes/{one.name}.md", content=note)


def _call(words: str, tool: str, **given: Any) -> Line:
    return {"text": words, "calls": [{"name": tool, "input": given}]}
