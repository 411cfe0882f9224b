"""Commands that have a model write a summary."""

from __future__ import annotations

from ctxtui.tui.commands.command import Situation
from ctxtui.tui.commands.inspector_staging import PUT_IN, Summarize


class WriteSummary(Summarize):
    """Have a model write the summary of what is marked, or this summary anew: the session's model, another one, or the
    agent itself behind its whole context. What is sent, to whom and for about how much is asked first; what comes back
    is staged, and you apply it."""

    name, action, keys, label, short = "summary by a model", "model_summary", ("ctrl+s",), "model's summary", "model"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """As for summaries, and on one."""
        return super().available(at) or ("edits" in at.facts and at.row == PUT_IN)


SUMMARIES: tuple[type[WriteSummary], ...] = (WriteSummary,)
