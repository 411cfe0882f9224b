"""Which module measures which goal."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final, NamedTuple


class Family(NamedTuple):
    """A module, its goal, and about how many seconds it takes on two cores with five runs."""

    module: str
    goal: str
    seconds: int

    def load(self) -> ModuleType:
        """The module, whose `results(folder, runs)` gives the lines."""
        return import_module(f"benchmarks.{self.module}")


FAMILIES: Final = (
    Family("goals.help", "help", 5),
    Family("goals.paint", "start", 60),
    Family("goals.keys", "keys", 120),
    Family("goals.inspector", "inspector", 60),
    Family("goals.counting", "counts", 60),
    Family("goals.follow", "follow", 60),
    Family("goals.stream", "stream", 90),
    Family("goals.usage", "stats", 120),
    Family("goals.relay", "relay", 100),
    Family("goals.record", "record", 20),
    Family("goals.database", "database", 30),
    Family("lab", "lab", 150),
    Family("audit", "forecasts", 60),
    Family("place", "markers", 40),
    Family("preflight", "preflight", 30),
)


def goals() -> list[str]:
    """The names of all goals, in order."""
    return [family.goal for family in FAMILIES]


def chosen(names: list[str]) -> list[Family]:
    """The families that measure any of `names`; all without names."""
    return [family for family in FAMILIES if not names or family.goal in names]
