"""ctxtui in a real pseudo-terminal, with a home of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.terminal import Terminal
from tests.cases.claude_code import generate

CTXTUI = (sys.executable, "-m", "ctxtui")
REPO = Path(__file__).parent.parent


def environment(home: Path) -> dict[str, str]:
    """A user whose home is `home`: nothing of the real one is read or written."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "HOME": str(home),
        "CTXTUI_HOME": str(home / "ctxtui"),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CODEX_HOME": str(home / ".codex"),
        "TEXTUAL_ANIMATIONS": "none",
        "PYTHONPATH": str(REPO),
        "LANG": "C.UTF-8",
    }


def plant(home: Path, cwd: Path, *, messages: int = 60) -> Path:
    """A Claude Code session of the project `cwd` in `home`, as that client stores it."""
    project = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(cwd))
    project.mkdir(parents=True, exist_ok=True)
    path = project / "5e551011-0000-4000-8000-000000000001.jsonl"
    path.write_bytes(generate(n_messages=messages, seed=3))
    return path


def run(home: Path, *arguments: str, cwd: Path, size: tuple[int, int] = (120, 40)) -> Terminal:
    """ctxtui started in `cwd` with `home` as home."""
    command = ("/bin/sh", "-c", 'cd "$0" && exec "$@"', str(cwd), *CTXTUI, *arguments)
    return Terminal(command, env=environment(home), size=size)
