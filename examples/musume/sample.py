"""The texts of one turn as they stand in a request: as they are, and under the cures; for counting."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxtui.api import curator
from examples.musume.prompts import MEMORY, SYSTEM, TOOLS
from examples.musume.screens import FIRST, metadata, screen, spelled

TURN = FIRST
"""The turn with the menu of the document; the next has 21 buttons and a scrollbar, as the measured one has."""


PRINTED = {"name": "Archive", "meta": "hint=NEW", "region": "menus"}
"""The button that the document makes of its first, by Option A."""
FOUR_LINES = """\
Turn turn_000005 (2025-11-01T18:15:22)
Buttons: Archive, Profile, Titles, Trophy Room, Friends, Options, Comics, Secrets, Info button, Back button, \
Story menu button, Home menu button, Race menu button, Scout menu button
Menu: tab=Menu, available=[Jukebox, Menu]
Scrollbar: none"""
"""What the document makes of that turn."""


def written(folder: Path, cures: Sequence[Path]) -> dict[str, Path]:
    """A file for each text in `folder`, by what it is."""
    folder.mkdir()
    curate = curator(cures)
    now, after = one_over(TURN), curate(one_over(TURN))
    wide = curate(one_over(TURN + 1))["messages"][2]["content"][1]["text"]
    memory = "\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in MEMORY.items())
    first, seen = screen(TURN), spelled(screen(TURN + 1))
    held = json.loads(wide)
    texts = {
        "system": SYSTEM,
        "tools": json.dumps(TOOLS),
        "screen": seen,
        "minified_screen": json.dumps(json.loads(seen), separators=(",", ":")),
        "small_screen": wide,
        "spaced_screen": json.dumps(held),
        "indented_screen": json.dumps(held, indent=2),
        "button": json.dumps(first["buttons"][0], indent=2),
        "small_button": _part(after, "buttons"),
        "scrollbar": json.dumps(json.loads(seen)["scrollbar"], indent=2),
        "small_scrollbar": json.dumps(held["scrollbar"], separators=(",", ":")),
        "menu": json.dumps(first["menu_state"], indent=2),
        "small_menu": _part(after, "menu_state"),
        "turn": "\n".join(block["text"] for block in now["messages"][0]["content"]),
        "small_turn": "\n".join(block["text"] for block in after["messages"][0]["content"]),
        "memory": memory,
    }
    paths = {name: folder / f"{name}.txt" for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name], encoding="utf-8")
    return paths


def _part(request: Mapping[str, Any], name: str) -> str:
    """A part of the newest screen; of its buttons the first."""
    found = json.loads(request["messages"][2]["content"][1]["text"])[name]
    return json.dumps(found[0] if isinstance(found, list) else found, separators=(",", ":"))


def one_over(turn: int) -> dict[str, Any]:
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
