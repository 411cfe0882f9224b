"""Generated sessions in a throw-away home, the same for every run."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

from tests.cases.claude_code import generate

MARK = "end-of-the-generated-session"
SAMPLES = "BENCH_SAMPLES"
"""Names a folder of sessions that were made before, for modules in processes of their own."""


def home(folder: Path) -> dict[str, str]:
    """The environment of a user whose home is `folder`; nothing of the real one is read."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "HOME": str(folder),
        "CTXTUI_HOME": str(folder / "ctxtui"),
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "CODEX_HOME": str(folder / ".codex"),
        "CTXTUI_TIPS": "false",
        "TEXTUAL_ANIMATIONS": "none",
        "PYTHONDONTWRITEBYTECODE": "",
    }


@cache
def session(folder: Path, messages: int, size: int) -> Path:
    """A Claude Code session of `messages` messages and about `size` bytes whose last answer ends with `MARK`."""
    path = Path(os.environ.get(SAMPLES) or folder) / f"session-{messages}-{size}.jsonl"
    if path.exists():
        return path
    data = generate(n_messages=messages, bytes_per_message=max(200, size // messages), seed=7)
    lines = data.rstrip(b"\n").split(b"\n")
    last = json.loads(lines[-1])
    last["message"]["content"] = [{"type": "text", "text": MARK}]
    part = path.with_suffix(".part")
    part.write_bytes(b"\n".join([*lines[:-1], json.dumps(last).encode()]) + b"\n")
    part.rename(path)
    return path
