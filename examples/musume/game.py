"""The game: what the agent's tools do, and its memory folder with a budget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

BUDGET = 32_000
"""Tokens that all memory files may take together."""
Given = dict[str, Any]


class Memory:
    """Files in `folder`, of at most `budget` tokens in all, as `count` counts them."""

    def __init__(self, folder: Path, budget: int, count: Callable[[str], int]) -> None:
        self.folder = folder
        self.budget = budget
        self.count = count

    def texts(self) -> dict[str, str]:
        """The files by name."""
        return {path.name: path.read_text(encoding="utf-8") for path in sorted(self.folder.iterdir())}

    def write(self, name: str, content: str, *, new: bool) -> str:
        """Write a file; or why not."""
        texts = self.texts()
        if "/" in name or name.startswith("."):
            return f"Error: {name} is no name of a memory file."
        if new == (name in texts):
            return (
                f"Error: {name} is there already."
                if new
                else f"Error: there is no {name}; there are {', '.join(texts)}."
            )
        after = {key: self.count(text) for key, text in {**texts, name: content}.items()}
        total = sum(after.values())
        if total > self.budget:
            largest = max(after, key=lambda key: after[key])
            return (
                f"Error: {name} would take {after[name]:,} tokens and all memory {total:,}; the budget is "
                f"{self.budget:,}. Shorten {largest} ({after[largest]:,} tokens) by {total - self.budget:,}, or delete "
                "a file."
            )
        (self.folder / name).write_text(content, encoding="utf-8")
        return f"{name}: {after[name]:,} tokens, all memory {total:,} of {self.budget:,}"

    def delete(self, name: str) -> str:
        """Delete a file; or why not."""
        if name not in self.texts():
            return f"Error: there is no {name}."
        (self.folder / name).unlink()
        return f"{name} is deleted"


class Game:
    """Does what the agent asks for on the screen `seen`, which has the bounds that the agent need not read."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.seen: dict[str, Any] = {}
        self.pressed: list[tuple[str, list[int]]] = []

    def do(self, name: str, given: Given) -> str:
        """What a tool called `name` returns."""
        if name == "pressButton":
            return self.press(str(given.get("name")))
        if name in ("createMemoryFile", "writeMemoryFile"):
            return self.memory.write(str(given["path"]), str(given["content"]), new=name == "createMemoryFile")
        if name == "deleteMemoryFile":
            return self.memory.delete(str(given["path"]))
        return "done"

    def press(self, name: str) -> str:
        """Touch the middle of the button called `name`."""
        found = next((one for one in self.seen["buttons"] if one["name"] == name), None)
        if found is None:
            return f"Error: no button {name!r} on this screen."
        left, top, width, height = found["bounds"]
        self.pressed.append((name, [left + width // 2, top + height // 2]))
        return f"pressed {name}"
