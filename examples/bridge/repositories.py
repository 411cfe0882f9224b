"""What the stub of GitHub knows: twelve repositories with README, commits and issues, the same every time."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

OWNERS = (
    "harbourworks tidewater pierlight saltbox northmole driftlab keelhouse anchorage breakwater lanternfish".split()
)
NAMES = (
    "fastmcp-starter fastmcp-proxy fastmcp-auth fastmcp-sqlite fastmcp-bench fastmcp-docs fastmcp-bridge fastmcp-lint "
    "fastmcp-cache fastmcp-stream fastmcp-testkit fastmcp-gateway"
).split()
TOPICS = (
    "serves tools over stdio and streamable HTTP from one decorated function",
    "keeps a session for each client and gives it back after a restart",
    "checks tokens before a tool is called and writes who called it",
    "counts the tokens of every tool definition before it is offered",
    "forwards calls to several servers and puts a prefix before their names",
    "records every call with its result, so that a test can play it again",
    "turns an OpenAPI description into tools, one for each operation",
    "streams progress to the client while a long tool is at work",
)
TROUBLES = (
    "a call that is cancelled leaves its worker behind",
    "two tools of one name shadow each other without a word",
    "the schema of a nested list loses its description",
    "a result of more than a megabyte breaks the stream",
    "the retry goes to the server that has just failed",
    "a prompt with a default argument is listed as required",
    "the log file is opened anew for every line",
    "times are compared without their zone",
)


@dataclass(frozen=True)
class Repository:
    """A repository with what the tools tell of it."""

    owner: str
    name: str
    number: int

    def pick(self, what: str, options: tuple[str, ...] | list[str], n: int = 0) -> str:
        """One of `options`, by chance, the same every time."""
        digest = blake2b(f"{self.name}/{what}/{n}".encode(), digest_size=4).digest()
        return options[int.from_bytes(digest, "big") % len(options)]

    @property
    def about(self) -> str:
        """What it does, in a sentence."""
        return f"A server that {self.pick('about', TOPICS)}"

    @property
    def readme(self) -> str:
        """Its README: between one and three thousand characters."""
        parts = [f"# {self.name}\n\n{self.about}.\n\n## Install\n\n```sh\nuv add {self.name}\n```\n\n## What it does\n"]
        parts += [f"- It {self.pick('feature', TOPICS, n)}." for n in range(6 + self.number % 5)]
        parts.append("\n## Use\n\n```python\nfrom fastmcp import FastMCP\n")
        for n in range(3 + self.number % 3):
            tool = self.pick("tool", ["search", "fetch", "count", "store", "list"], n)
            parts.append(f"@mcp.tool()\nasync def {tool}_{n}(query: str, limit: int = {10 * (n + 1)}) -> list[str]:\n")
            parts.append(
                f'    """{self.pick("doc", TOPICS, n).capitalize()}."""\n    return await {tool}(query, limit)\n'
            )
        parts.append("```\n\n## Known trouble\n")
        parts += [f"{n + 1}. {self.pick('trouble', TROUBLES, n).capitalize()}." for n in range(4)]
        return "\n".join(parts) + "\n"

    def issue(self, n: int) -> dict[str, Any]:
        """Its issue number `n`."""
        return {
            "number": n,
            "title": self.pick("trouble", TROUBLES, n).capitalize(),
            "state": "open" if n % 3 else "closed",
            "user": {"login": self.pick("user", OWNERS, n)},
            "labels": [{"name": self.pick("label", ["bug", "question", "enhancement"], n)}],
            "created_at": f"2025-0{1 + n % 9}-1{n % 9}T09:1{n % 6}:00Z",
            "body": f"With version 0.{n}.2 {self.pick('trouble', TROUBLES, n + 1)}. It {self.pick('body', TOPICS, n)}.",
        }

    def commit(self, n: int) -> dict[str, Any]:
        """Its commit number `n`, counted from the newest."""
        login = self.pick("author", OWNERS, n)
        return {
            "sha": blake2b(f"{self.name} {n}".encode(), digest_size=20).hexdigest(),
            "commit": {
                "author": {"name": login, "date": f"2025-10-{28 - n:02}T08:3{n % 6}:12Z"},
                "message": f"Mend: {self.pick('trouble', TROUBLES, n)} (#{10 + n})",
            },
            "html_url": f"https://github.com/{self.owner}/{self.name}/commit/{n}",
        }

    @property
    def found(self) -> dict[str, Any]:
        """What a search says of it."""
        return {
            "id": 7000 + self.number,
            "name": self.name,
            "full_name": f"{self.owner}/{self.name}",
            "description": self.about,
            "html_url": f"https://github.com/{self.owner}/{self.name}",
            "stargazers_count": 40 + 37 * self.number,
            "default_branch": "main",
        }

    @property
    def file(self) -> dict[str, Any]:
        """Its README as the contents API gives it."""
        return {
            "name": "README.md",
            "path": "README.md",
            "size": len(self.readme),
            "type": "file",
            "encoding": "utf-8",
            "content": self.readme,
            "sha": base64.b16encode(self.name.encode()).decode().lower()[:40],
        }


REPOSITORIES = tuple(Repository(OWNERS[n % len(OWNERS)], name, n) for n, name in enumerate(NAMES))


def repository(name: str) -> Repository:
    """The repository called `name`. Raises `KeyError`."""
    return {one.name: one for one in REPOSITORIES}[name]
