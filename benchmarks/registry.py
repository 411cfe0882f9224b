"""Which module measures which goal. G1 to G18 are the goals of speed; the others have names."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final, NamedTuple


class Family(NamedTuple):
    """A module, the goals that it measures, and about how many seconds it takes on two cores with five runs."""

    module: str
    goals: tuple[str, ...]
    seconds: int

    def load(self) -> ModuleType:
        """The module, whose `results(folder, runs)` gives the lines."""
        return import_module(f"benchmarks.{self.module}")


FAMILIES: Final = (
    Family("goals.help", ("G1",), 5),
    Family("goals.paint", ("G2", "G3"), 60),
    Family("goals.parse", ("G4",), 40),
    Family("goals.counting", ("G5",), 130),
    Family("goals.heartbeat", ("G6",), 60),
    Family("goals.live_count", ("G7",), 5),
    Family("goals.keys", ("G8", "G9"), 180),
    Family("goals.stream", ("G10", "G11"), 90),
    Family("goals.record", ("G12", "G13"), 30),
    Family("goals.relay", ("G14", "G15"), 130),
    Family("goals.relay_beside_screen", ("G15",), 150),
    Family("goals.cache", ("G16",), 15),
    Family("lab", ("G16",), 150),
    Family("goals.database", ("G17",), 30),
    Family("goals.resize", ("G18",), 80),
    Family("goals.staging", ("staging",), 90),
    Family("goals.follow", ("follow", "G10"), 80),
    Family("goals.listing", ("listing",), 10),
    Family("goals.usage", ("usage",), 120),
    Family("goals.long_session", ("long",), 110),
    Family("audit", ("forecasts",), 60),
    Family("place", ("markers",), 40),
    Family("preflight", ("preflight",), 30),
)


def goals() -> list[str]:
    """The names of all goals, in order."""
    return list(dict.fromkeys(goal for family in FAMILIES for goal in family.goals))


def chosen(names: list[str]) -> list[Family]:
    """The families that measure any of `names`; all without names."""
    return [family for family in FAMILIES if not names or set(family.goals) & set(names)]
