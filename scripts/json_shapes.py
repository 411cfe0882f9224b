"""Record the members and types of every command's ``--json`` answer in tests/cli/json_shapes.json.

`tests/cli/test_json_shapes.py` compares: a member that is missing or has another type breaks programs that read it
(docs/versions.md). Run this after adding one:

    python scripts/json_shapes.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
FILE: Final = ROOT / "tests" / "cli" / "json_shapes.json"

EVOLVE: Final = "{sessions}/1-pineapple-evolve.jsonl"
MUSUME: Final = "{sessions}/2-lluma-musume.jsonl"
BRIDGE: Final = "{sessions}/3-lm-studio-bridge.jsonl"

COMMANDS: Final = (
    f"show {MUSUME}",
    f"show {BRIDGE} --call 9 --threads --tools --heaviest --repeats --phases",
    f"diff {EVOLVE}@3 {EVOLVE}@5",
    f"cache {EVOLVE}",
    f"cache {EVOLVE} --markers",
    f"cost {EVOLVE} --by model",
    f"cost --why {EVOLVE}",
    f"growth {EVOLVE}",
    f"findings {BRIDGE}",
    f"audit {EVOLVE}",
    f"compactions {MUSUME}",
    f"curate {BRIDGE} --policy keep_rounds --after",
    f"repair {MUSUME}",
    f"preflight {MUSUME}",
    f"check {MUSUME} --max-context 10k --no-secrets",
    "search musume",
    "sessions --figures",
    f"count {MUSUME}",
    f"session notes {MUSUME}",
    f"edits {MUSUME}",
    f"edits stage {BRIDGE}",
    f"edits pins {MUSUME}",
    "config",
    "doctor",
    "db path",
    "stats",
    f"lab {BRIDGE} --policy keep_rounds",
    f"report {MUSUME}",
    "mcp",
    "completion bash",
    "show no-such-session",
)
"""Command lines without ``--json``; ``{sessions}`` is the folder of the samples."""

_TYPES: Final = {bool: "boolean", int: "number", float: "number", str: "text", type(None): "null"}


_PROVIDERS: Final = frozenset({"request"})
"""Members that hold a provider's JSON, whose inside is the provider's."""


def members_of(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield (place, type) of each member: ``("blocks[].tokens", "number")``."""
    if isinstance(value, dict):
        yield place, "object"
        for key, inner in value.items():
            inside = {} if key in _PROVIDERS and isinstance(inner, dict) else inner
            yield from members_of(inside, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        yield place, "list"
        for inner in value:
            yield from members_of(inner, f"{place}[]")
    else:
        yield place, _TYPES[type(value)]


def shape_of(answer: Any) -> dict[str, str]:
    """The types at each place of an answer: ``"null or number"``."""
    shape: dict[str, set[str]] = {}
    for place, name in members_of(answer):
        shape.setdefault(place, set()).add(name)
    return {place: " or ".join(sorted(shape[place])) for place in sorted(shape) if place}


def arguments_of(command: str) -> list[str]:
    """The command's arguments, with ``--json``."""
    return [*command.format(sessions=ROOT / "sessions").split(), "--json"]


def main() -> None:
    """Run every command for a user without anything, and write the file."""
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "PWD": home, "CTXTUI_HOME": f"{home}/ctxtui"}
        env["PYTHONPATH"] = str(ROOT)
        shapes = {}
        for command in COMMANDS:
            words = [sys.executable, "-m", "ctxtui", *arguments_of(command)]
            done = subprocess.run(words, cwd=home, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            shapes[command] = shape_of(json.loads(done.stdout))
    FILE.write_text(json.dumps(shapes, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
