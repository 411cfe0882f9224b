"""Commands that have a model write a summary."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command
from ctxtui.tui.commands.inspector_edit import OnBlocksOrPutIn


class WriteSummary(OnBlocksOrPutIn):
    """Have a model write the summary of what is marked, or this summary anew: the session's model, another one, or the
    agent itself behind its whole context. What is sent, to whom and for about how much is asked first; what comes back
    is staged, and you apply it."""

    name, action, keys, label, short = "summary by a model", "model_summary", ("ctrl+s",), "model's summary", "model"


class Remark(OnBlocksOrPutIn):
    """Say something of the summary that stands for this block: a remark in the edit log, for whoever curates next."""

    name, action = "remark on a summary", "remark"


SUMMARIES: tuple[type[Command], ...] = (WriteSummary, Remark)
