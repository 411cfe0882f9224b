"""The texts of one turn as they stand in a request: as they are, and under the cures; for counting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from examples.musume.agent import curated
from examples.musume.prompts import MEMORY, SYSTEM, TOOLS
from examples.musume.screens import metadata, screen, spelled

TURN = 5
"""The turn with the menu of the document on the screen."""


def written(folder: Path, cures: Path) -> dict[str, Path]:
    """A file for each text in `folder`, by what it is."""
    folder.mkdir()
    now, after = _request(TURN), curated(_request(TURN), cures)
    memory = "\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in MEMORY.items())
    seen = spelled(screen(TURN))
    small = after["messages"][2]["content"][1]["text"]
    texts = {
        "system": SYSTEM,
        "tools": json.dumps(TOOLS),
        "screen": seen,
        "small_screen": small,
        "button": json.dumps(json.loads(seen)["buttons"][0], indent=2),
        "small_button": json.dumps(json.loads(small)["buttons"][0], separators=(",", ":")),
        "turn": "\n".join(block["text"] for block in now["messages"][0]["content"]),
        "small_turn": "\n".join(block["text"] for block in after["messages"][0]["content"]),
        "memory": memory,
    }
    paths = {name: folder / f"{name}.txt" for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name], encoding="utf-8")
    return paths


def _request(turn: int) -> dict[str, Any]:
    """A turn that is over, and one that is not."""
    said = [{"type": "text", "text": metadata(turn)}, {"type": "text", "text": spelled(screen(turn))}]
    memory = [{"type": "text", "text": f"<{name}>\n{text}\n</{name}>"} for name, text in MEMORY.items()]
    old = {"role": "user", "content": [*said, *memory]}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "I press Archive."}]}
    return {
        "model": "claude-haiku-4-5",
        "max_tokens": 100,
        "messages": [old, answer, {"role": "user", "content": said}],
    }
