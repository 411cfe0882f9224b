"""A stub of an MCP server: ``server.py filesystem|memory|fetch|github FOLDER``.

It lists the tools that the real server lists (``tools/NAME.json``) and does those that the example calls: `filesystem`
and `memory` really work, in FOLDER, `fetch` has pages and `github` has repositories of ``repositories.py``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# It is started as a file, in another folder.
sys.path.insert(0, str(HERE.parents[1]))
from examples.bridge.repositories import REPOSITORIES, repository  # noqa: E402
from examples.mcp_stub import Given, serve  # noqa: E402


class Files:
    """The filesystem server: files below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def inside(self, name: str) -> Path:
        """The path `name` inside the root."""
        path = (self.root / name).resolve()
        if not path.is_relative_to(self.root):
            raise ValueError(f"Access denied - path outside allowed directories: {name}")
        return path

    def read_text_file(self, given: Given) -> str:
        """A file, or its first or last lines."""
        lines = self.inside(given["path"]).read_text().splitlines(keepends=True)
        return "".join(lines[: given["head"]] if "head" in given else lines[-given.get("tail", len(lines)) :])

    def write_file(self, given: Given) -> str:
        """Write a file."""
        path = self.inside(given["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(given["content"])
        return f"Successfully wrote to {given['path']}"

    def list_directory(self, given: Given) -> str:
        """The entries of a folder."""
        found = sorted(self.inside(given["path"]).iterdir())
        return "\n".join(f"[{'DIR' if one.is_dir() else 'FILE'}] {one.name}" for one in found)

    def list_allowed_directories(self, given: Given) -> str:
        """The root."""
        return f"Allowed directories:\n{self.root}"


class Memory:
    """The memory server: a graph in `memory.json`."""

    def __init__(self, root: Path) -> None:
        self.file = root / "memory.json"

    def graph(self) -> dict[str, list[Any]]:
        """Entities and relations as they are kept."""
        empty: dict[str, list[Any]] = {"entities": [], "relations": []}
        return json.loads(self.file.read_text()) if self.file.exists() else empty

    def keep(self, graph: dict[str, list[Any]]) -> None:
        """Keep the graph."""
        self.file.write_text(json.dumps(graph, indent=2))

    def create_entities(self, given: Given) -> str:
        """New entities; those that are known stay as they are."""
        graph = self.graph()
        known = {one["name"] for one in graph["entities"]}
        new = [one for one in given["entities"] if one["name"] not in known]
        graph["entities"] += new
        self.keep(graph)
        return json.dumps(new, indent=2)

    def create_relations(self, given: Given) -> str:
        """New relations."""
        graph = self.graph()
        graph["relations"] += given["relations"]
        self.keep(graph)
        return json.dumps(given["relations"], indent=2)

    def add_observations(self, given: Given) -> str:
        """More of what is known of entities."""
        graph, told = self.graph(), []
        by_name = {one["name"]: one for one in graph["entities"]}
        for one in given["observations"]:
            if one["entityName"] not in by_name:
                raise ValueError(f"Entity with name {one['entityName']} not found")
            by_name[one["entityName"]]["observations"] += one["contents"]
            told.append({"entityName": one["entityName"], "addedObservations": one["contents"]})
        self.keep(graph)
        return json.dumps(told, indent=2)

    def read_graph(self, given: Given) -> str:
        """All of it."""
        return json.dumps(self.graph(), indent=2)

    def search_nodes(self, given: Given) -> str:
        """The entities that hold a text."""
        found = [one for one in self.graph()["entities"] if given["query"].lower() in json.dumps(one).lower()]
        return json.dumps({"entities": found, "relations": []}, indent=2)


class Pages:
    """The fetch server: the page of each repository."""

    def fetch(self, given: Given) -> str:
        """A page as Markdown, from `start_index`, at most `max_length` characters."""
        one = repository(given["url"].rstrip("/").rpartition("/")[2])
        text = f"{one.name} — documentation\n\n{one.about}.\n\n" + "\n\n".join(
            f"### {issue['title']}\n\n{issue['body']}" for issue in map(one.issue, range(1, 9))
        )
        start, length = given.get("start_index", 0), given.get("max_length", 5000)
        return f"Contents of {given['url']}:\n{text[start : start + length]}"


class GitHub:
    """The GitHub server: recorded repositories; what is written is not kept."""

    def search_repositories(self, given: Given) -> str:
        """The repositories whose name holds the first word of the query."""
        word = given["query"].split()[0]
        found = [one.found for one in REPOSITORIES if word in one.name]
        return json.dumps({"total_count": len(found), "incomplete_results": False, "items": found}, indent=2)

    def get_file_contents(self, given: Given) -> str:
        """A README."""
        if given["path"] != "README.md":
            raise ValueError("Not Found: Resource not found: Not Found")
        return json.dumps(repository(given["repo"]).file, indent=2)

    def list_commits(self, given: Given) -> str:
        """The newest commits."""
        one = repository(given["repo"])
        return json.dumps([one.commit(n) for n in range(given.get("perPage", 5))], indent=2)

    def list_issues(self, given: Given) -> str:
        """The issues."""
        one = repository(given["repo"])
        return json.dumps([one.issue(n) for n in range(1, 1 + given.get("per_page", 5))], indent=2)

    def get_issue(self, given: Given) -> str:
        """One issue."""
        return json.dumps(repository(given["repo"]).issue(given["issue_number"]), indent=2)

    def search_code(self, given: Given) -> str:
        """Lines of READMEs that hold the first word of the query."""
        word = given["q"].split()[0]
        found = [
            {"path": "README.md", "repository": one.name, "line": line}
            for one in REPOSITORIES
            for line in one.readme.splitlines()
            if word in line and one.name in given["q"]
        ]
        return json.dumps({"total_count": len(found), "items": found}, indent=2)

    def add_issue_comment(self, given: Given) -> str:
        """As if it had been commented."""
        return json.dumps({"id": 1, "body": given["body"], "issue": given["issue_number"]}, indent=2)


SERVERS: dict[str, Callable[[Path], object]] = {
    "filesystem": Files,
    "memory": Memory,
    "fetch": lambda _: Pages(),
    "github": lambda _: GitHub(),
}


def main(name: str, folder: Path) -> None:
    """Serve the tools of the server called `name`, which works in `folder`."""
    server = SERVERS[name](folder)

    def call(tool: str, given: Given) -> str:
        work: Callable[[Given], str] | None = getattr(server, tool, None)
        if work is None:
            raise ValueError(f"this stub does not do {tool}")
        return work(given)

    serve(name, json.loads((HERE / "tools" / f"{name}.json").read_text())["tools"], call)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
