"""A stub of a Go toolchain as an MCP server, so that the example needs no Go: ``toolchain.py FOLDER``.

`go_test` answers as ``go test -v`` does of the repository as it is: the tests that it finds, of which TestRateLimit
fails as long as the middleware asks Redis without trying again. `git_commit` tells which files changed since the last
one.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

# It is started as a file, in another folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from examples.mcp_stub import Given, serve


def _tool(name: str, about: str, parameter: str, **more: object) -> Given:
    """The definition of a tool with one text as its parameter."""
    properties = {parameter: {"title": parameter.capitalize(), "type": "string"}}
    schema = {"properties": properties, "required": [parameter], "title": f"{name}Arguments", "type": "object"}
    return {"name": name, "description": about, "inputSchema": schema, **more}


TOOLS = [
    _tool(
        "go_test",
        "Run `go test -v` on a package, such as pkg/reminder, and return what it prints.",
        "package",
        annotations={"readOnlyHint": True},
    ),
    _tool("git_commit", "Commit every changed file with this message.", "message"),
]
MIDDLEWARE = "pkg/api/middleware.go"
_TEST = re.compile(r"^func (Test\w+)\(t ", re.MULTILINE)


class Repository:
    """The files below `root`, and what they were at the last commit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.committed = self.now()

    def now(self) -> dict[str, str]:
        """Every file with its digest."""
        found = (path for path in sorted(self.root.rglob("*")) if path.suffix in (".go", ".md"))
        return {str(one.relative_to(self.root)): hashlib.sha256(one.read_bytes()).hexdigest() for one in found}

    def test(self, package: str) -> str:
        """What the tests of `package` print; those of the limits belong to all."""
        tests = _TEST.findall((self.root / package / "service_test.go").read_text())
        lines = [f"=== RUN   {name}\n--- PASS: {name} (0.00s)" for name in tests]
        middleware = (self.root / MIDDLEWARE).read_text()
        if "redis" not in middleware or "retry" in middleware:
            limit = ["=== RUN   TestRateLimit\n--- PASS: TestRateLimit (0.12s)"] if "redis" in middleware else []
            return "\n".join([*lines, *limit, "PASS", f"ok  \tgithub.com/pedro/bot/{package}\t0.135s"])
        told = "    middleware_test.go:31: Error: Redis connection timeout"
        failed = f"=== RUN   TestRateLimit\n{told}\n--- FAIL: TestRateLimit (5.01s)"
        return "\n".join([*lines, failed, "FAIL", f"FAIL\tgithub.com/pedro/bot/{package}\t5.023s"])

    def commit(self, message: str) -> str:
        """What git says of a commit of all that changed."""
        now = self.now()
        changed = sorted(path for path in now if now[path] != self.committed.get(path))
        if not changed:
            return "nothing to commit, working tree clean"
        self.committed = now
        digest = hashlib.sha256("".join(now.values()).encode()).hexdigest()[:7]
        return f"[main {digest}] {message}\n {len(changed)} files changed\n" + "\n".join(f" {path}" for path in changed)


def main(root: Path) -> None:
    """Serve the toolchain of the repository in `root`."""
    repository = Repository(root)

    def call(tool: str, given: Given) -> str:
        return repository.test(given["package"]) if tool == "go_test" else repository.commit(given["message"])

    serve("go", TOOLS, call)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
