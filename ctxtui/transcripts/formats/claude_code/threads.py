"""Finds the thread and the parent of each Claude Code record, and counts epochs."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, field

from ctxtui.core.call import WHILE_IDLE, Epoch, EpochStart
from ctxtui.core.session import MAIN, Skipped, ThreadSeen
from ctxtui.core.tree import ROOT
from ctxtui.transcripts.formats.claude_code.message_chain import Anchor, Point
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord
from ctxtui.transcripts.formats.claude_code.session_info import Task, Tasks
from ctxtui.transcripts.kit.fields import compaction_detail, one_line

_MAX_NAMED: Final = 3


class ClaudeThreads:
    """The threads of a session and the points of its records, by uuid."""

    def __init__(self) -> None:
        self.points: dict[str, Point] = {}
        self.tasks = Tasks()
        self._threads: dict[str, ClaudeThread] = {}
        self._side: dict[str, str] = {}
        """Records of sidechains (by uuid) -> thread."""
        self._others: dict[tuple[str, str], str] = {}
        """Unique ids of records by file (subagent, or "") and uuid, if another thread has a record of that uuid."""
        self._main = ""
        """The sidechain that is its file's main thread: a subagent's file opened by itself."""

    def is_repeat(self, record: ClaudeRecord, agent: str) -> bool:
        """Whether `record` was read before; makes its ids unique to its file."""
        if self._others or record.uuid in self.points:
            self._make_ids_unique(record, agent)
            return record.uuid in self.points
        return False

    def _make_ids_unique(self, record: ClaudeRecord, agent: str) -> None:
        """Make ids unique to the file: a fork's file repeats its parent's records."""
        parent = record.parent_uuid
        if isinstance(parent, str):
            record.parent_uuid = self._others.get((agent, parent), parent)
        if record.uuid is None or (record.is_sidechain and not agent):
            return
        is_used_elsewhere = record.uuid in self.points and self._side.get(record.uuid, MAIN) != (agent or MAIN)
        if is_used_elsewhere or (agent, record.uuid) in self._others:
            record.uuid = self._others.setdefault((agent, record.uuid), f"{record.uuid} in {agent or MAIN}")

    def find(self, record: ClaudeRecord, agent: str) -> ClaudeThread:
        id_ = MAIN
        if agent or record.is_sidechain:
            id_ = agent or record.agent_id or self._side.get(str(record.parent_uuid)) or f"side-{record.uuid}"
            if not self._threads and not agent:
                self._main = id_
            if id_ == self._main:
                id_ = MAIN
            if record.uuid:
                self._side[record.uuid] = id_
        thread = self._threads.get(id_)
        if thread is None:
            thread = self._threads[id_] = ClaudeThread(id_)
        return thread

    def find_existing(self, agent: str) -> ClaudeThread | None:
        """Return the thread of a subagent, or of the session's own file (""); None if not read."""
        return self._threads.get(agent if agent and agent != self._main else MAIN)

    @property
    def complete(self) -> bool:
        """Whether every subagent with a recorded result has recorded calls too."""
        return not self._agents_without_calls()

    def missing_files(self) -> Skipped | None:
        """Report subagents without calls, whose files may be missing; None if there are none."""
        absent = self._agents_without_calls()
        if not absent:
            return None
        named = [
            f"{task.description} (agent-{agent})" if task.description else f"agent-{agent}"
            for agent, task in absent.items()
        ]
        names_text = ", ".join(named[:_MAX_NAMED]) + (
            f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
        )
        subject = "no call of a subagent is" if len(named) == 1 else f"no calls of {len(named)} subagents are"
        return Skipped(
            1, f"{subject} recorded here: {names_text}; their files belong in SESSION/subagents next to this file"
        )

    def _agents_without_calls(self) -> dict[str, Task]:
        threads = self._threads
        return {a: task for a, task in self.tasks.agents.items() if a not in threads or not threads[a].call}

    def main(self) -> ClaudeThread:
        return self._threads.setdefault(MAIN, ClaudeThread())

    def parent(self, record: ClaudeRecord, thread: ClaudeThread, starts: bool) -> Point:
        """Return the point that `record` follows in `thread`.

        If its parent was not read or is in another thread, the thread's tip is taken. Without a parent a new context
        starts, if `starts` says that the record can begin one.
        """
        id_ = record.parent_uuid
        point = self.points.get(id_) if isinstance(id_, str) else None
        if point is not None and self._side.get(str(id_), MAIN) == thread.id:
            return point
        if thread.tip is not None and not (starts and id_ is None):
            return thread.tip
        return Point(Anchor(began=EpochStart.START))

    def label(self, thread: ClaudeThread, agent: str, prompt: str) -> list[ThreadSeen]:
        """Label a subagent's thread; return the event if the label changed.

        The label is its call's description, else its old label, else the beginning of its prompt.
        """
        if thread.id == MAIN:
            return []
        task = self.tasks.find(agent or thread.id, prompt)
        label = task.description if task and task.description else thread.label or one_line(prompt)[:60]
        if label == thread.label:
            return []
        thread.label = label
        return [ThreadSeen(thread.id, label, task.thread if task else MAIN)]

    def label_spawned(self, agent: str) -> list[ThreadSeen]:
        thread = self._threads.get(agent)
        return self.label(thread, agent, "") if thread is not None else []


_DATE: Final = re.compile(r"[-@]20\d{6}\b.*")
_SHRUNK: Final = (EpochStart.COMPACTION, EpochStart.MICROCOMPACTION)


class ClaudeThread(Struct):
    """A line of context: the main agent's or a subagent's.

    - `tip`: its last point, in the file's order; `last`: the answer to its last call.
    - `process`: the client that wrote the records (session id, version).
    - `input`, `call`: reported input and id of the last call.
    - `resumed`: a client has ended or started since then.
    - `announced`: an event has announced the thread.
    - `front`: the node of its system prompt and tools (`ROOT`: not recorded); `front_whole`: both are known.
    - `partial`: calls whose tools are not known yet; `prompt`: the system prompt of a snapshot.
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
    front: int = ROOT
    front_whole: bool = False
    prompt: str = ""
    partial: list[str] = field(default_factory=list)
    announced: bool = False
    label: str = ""

    def next_epoch(self, anchor: Anchor, model: str, process: tuple[str, str], tokens: int) -> Epoch:
        """Return the epoch of a call from `anchor` with `tokens` of input (0: not known)."""
        start = self._epoch_start(anchor, model, process)
        if start is None:
            return self.epoch
        detail = ""
        if start in _SHRUNK:
            by = "claude code while idle" if anchor.trigger == WHILE_IDLE else "claude code"
            detail = compaction_detail(anchor.tokens_before or self.input, tokens, by)
        elif start is EpochStart.MODEL:
            detail = f"{short_model(self.model)} → {short_model(model)}"
        return Epoch(self.epoch.number + 1 if self.call else 1, start, detail)

    def _epoch_start(self, anchor: Anchor, model: str, process: tuple[str, str]) -> EpochStart | None:
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


def short_model(model: str) -> str:
    return _DATE.sub("", model).removeprefix("claude-") or "?"
