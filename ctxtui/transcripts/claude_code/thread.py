"""One line of context in a Claude Code session: where it stands, and the epoch of its next call."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ctxtui.core.call import Epoch, EpochStart
from ctxtui.core.session import MAIN
from ctxtui.core.tree import ROOT
from ctxtui.transcripts.claude_code.chain import Anchor, Point
from ctxtui.transcripts.stamps import shrunk

_DATE: Final = re.compile(r"[-@]20\d{6}\b.*")
_SHRUNK: Final = (EpochStart.COMPACTION, EpochStart.MICROCOMPACTION)


@dataclass(slots=True)
class Thread:
    """A line of context. `tip` is its last point in the file's order, `last` the answer to its last call.

    `process` tells clients apart that wrote the records (session id, version); `input` and `call` are the reported
    input and the id of the last call. `resumed` says that a client announced itself since then, `told` that the
    thread itself was.
    """

    id: str = MAIN
    tip: Point | None = None
    head: int = ROOT
    last: Anchor | None = None
    epoch: Epoch = field(default_factory=Epoch)
    process: tuple[str, str] = ("", "")
    model: str = ""
    input: int = 0
    call: str = ""
    resumed: bool = False
    told: bool = False
    label: str = ""

    def next_epoch(self, anchor: Anchor, model: str, process: tuple[str, str], tokens: int) -> Epoch:
        """The epoch of a call whose context goes on from `anchor`, with `tokens` of reported input (0: not known)."""
        start = self._start(anchor, model, process)
        if start is None:
            return self.epoch
        detail = ""
        if start in _SHRUNK:
            detail = shrunk(anchor.tokens_before or self.input, tokens, "claude code")
        elif start is EpochStart.MODEL:
            detail = f"{short(self.model)} → {short(model)}"
        return Epoch(self.epoch.number + 1 if self.call else 1, start, detail)

    def _start(self, anchor: Anchor, model: str, process: tuple[str, str]) -> EpochStart | None:
        if not self.call:
            return anchor.began or EpochStart.START
        if anchor.began is not None and not anchor.used:
            return anchor.began
        if anchor is not self.last:
            return EpochStart.REWIND
        if self.model and model and model != self.model:
            return EpochStart.MODEL
        if self.resumed or (all(self.process) and all(process) and process != self.process):
            return EpochStart.RESUME
        return None


def short(model: str) -> str:
    """A model's short name: ``claude-opus-4-20250514`` is ``opus-4``."""
    return _DATE.sub("", model).removeprefix("claude-") or "?"
