"""What a search has so far: its trials, generation by generation, and the tokens that stand for their programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

CODE = re.compile(r"\{\{CODE_TRIAL_(\d+)_(\d+)\}\}")
"""Stands for the program of a trial: generation and number."""


class UnknownTrial(LookupError):
    """A token names a trial that there is not, or one without a program."""


@dataclass(kw_only=True)
class Trial:
    """A child's program and what came of it. `thread` is the child's line of context in the session."""

    trial_id: str
    generation: int
    prompt: str
    parent_id: str | None = None
    response: str = ""
    reasoning: str = ""
    code: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    success: bool = False
    error: str | None = None
    thread: str = ""
    cost: dict[str, Any] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """The sum of the radii; 0 where the packing is invalid."""
        return float(self.metrics.get("sum_radii", 0)) if self.success else 0.0

    @property
    def token(self) -> str:
        """What stands for its program."""
        _, generation, number = self.trial_id.split("_")
        return f"{{{{CODE_TRIAL_{generation}_{number}}}}}"

    @property
    def told(self) -> dict[str, Any]:
        """What the root's block reads of it."""
        return {
            "trial_id": self.trial_id,
            "metrics": self.metrics,
            "success": self.success,
            "error": self.error,
        }


@dataclass(kw_only=True)
class Generation:
    """The trials of a generation, and which of them the root selected."""

    number: int
    trials: list[Trial] = field(default_factory=list)
    selected_trial_ids: list[str] = field(default_factory=list)
    summary: str = ""

    @property
    def ranked(self) -> list[Trial]:
        """The trials, the best first."""
        return sorted(self.trials, key=lambda trial: trial.score, reverse=True)

    @property
    def best_score(self) -> float:
        """The score of the best trial."""
        return max((trial.score for trial in self.trials), default=0.0)

    @property
    def best_trial_id(self) -> str:
        """The best trial."""
        return self.ranked[0].trial_id if self.trials else "none"


@dataclass
class Evolution:
    """All generations up to the present one, the last. `ended` says why the root ended the search ("": it did not)."""

    generations: list[Generation] = field(default_factory=lambda: [Generation(number=0)])
    ended: str = ""
    best_program: str = ""

    @property
    def now(self) -> Generation:
        """The present generation."""
        return self.generations[-1]

    def advance(self) -> None:
        """Begin the next generation."""
        self.generations.append(Generation(number=self.now.number + 1))

    def trials(self) -> Iterator[Trial]:
        """All trials, in the order in which they were made."""
        for one in self.generations:
            yield from one.trials

    @property
    def best(self) -> Trial | None:
        """The best trial so far."""
        return max(self.trials(), key=lambda trial: trial.score, default=None)

    def expanded(self, text: str) -> str:
        """`text` with the programs in place of the tokens that stand for them. Raises `UnknownTrial`."""
        known = {trial.token: trial.code for trial in self.trials()}

        def code(found: re.Match[str]) -> str:
            if not known.get(found[0]):
                raise UnknownTrial(f"{found[0]}: no trial {found[1]}_{found[2]} has a program")
            return known[found[0]]

        return CODE.sub(code, text)
