"""The edge cases of the authors' test plan: a window of three messages, results that are larger than the window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from examples.bridge.rounds import Line, rounds

HUGE = "notes/huge.txt"
"""A file that no window of 32k holds."""
LINES = 6_000


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A short run over `servers`: what the offline provider says (`lines`), how many messages and characters of a
    result are kept (0: all), in which window."""

    servers: tuple[str, ...]
    lines: list[Line]
    messages: int = 0
    length: int = 0
    window: int = 32_768


def edges() -> Mapping[str, Edge]:
    """The runs by name."""
    read: list[Line] = [
        {"text": "I read all of it.", "calls": [{"name": "read_text_file", "input": {"path": HUGE}}]},
        {"text": "That was long."},
    ]
    return {
        "window_of_3": Edge(servers=("memory",), lines=rounds(12, ["memory"]), messages=3),
        "huge_result_cut": Edge(servers=("filesystem",), lines=read, length=2_000),
        "huge_result_whole": Edge(servers=("filesystem",), lines=read),
    }


def huge(folder: Path) -> int:
    """Write the file into a run's folder; its characters."""
    path = folder / HUGE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{n:06} the tide table says nothing new\n" for n in range(LINES)), encoding="utf-8")
    return path.stat().st_size
