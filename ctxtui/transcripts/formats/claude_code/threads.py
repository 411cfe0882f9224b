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
    """The threads of a session and the points of its records, by uuid.

    A `Point` is a record's position in the chain of messages, an `Anchor` the answer or start that contexts continue
    from (`message_chain`).
    """

    def __init__(self) -> None:
        self.points: dict[str, Point] = {}
        self.tasks = Tasks()
        self._threads: dict[str, ClaudeThread] = {}
        self._sidechain_threads: dict[str, str] = {}
        """Threads of records in sidechains, by uuid."""
        self._renamed_ids: dict[tuple[str, str], str] = {}
        """New ids for records whose uuid another thread has too, by (subagent or "", uuid)."""
        self._main = ""
        """Thread id of a subagent whose file was opened by itself; it is shown as `main`."""

    def make_ids_unique(self, record: ClaudeRecord, agent: str) -> None:
        """Make the ids of `record` unique to its file: a fork's file repeats its parent's records."""
        if not self._renamed_ids and record.uuid not in self.points:
            return
        parent = record.parent_uuid
        if isinstance(parent, str):
            record.parent_uuid = self._renamed_ids.get((agent, parent), parent)
        if record.uuid is None or (record.is_sidechain and not agent):
            return
        is_used_elsewhere = record.uuid in self.points and self._sidechain_threads.get(record.uuid, MAIN) != (
            agent or MAIN
        )
        if is_used_elsewhere or (agent, record.uuid) in self._renamed_ids:
            record.uuid = self._renamed_ids.setdefault((agent, record.uuid), f"{record.uuid} in {agent or MAIN}")

    def find(self, record: ClaudeRecord, agent: str) -> ClaudeThread:
        """Return the thread of `record`, made if there is none.

        A sidechain's records are remembered by uuid.
        """
        id_ = MAIN
        if agent or record.is_sidechain:
            id_ = (
                agent
                or record.agent_id
                or self._sidechain_threads.get(str(record.parent_uuid))
                or f"side-{record.uuid}"
            )
            if not self._threads and not agent:
                self._main = id_
            if id_ == self._main:
                id_ = MAIN
            if record.uuid:
                self._sidechain_threads[record.uuid] = id_
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
        """Report subagents with a result but no calls, whose files may be missing; None: none."""
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
        files = "its transcript belongs" if len(named) == 1 else "their transcripts belong"
        reason = f"{subject} recorded here: {names_text}; {files} in SESSION/subagents next to this file"
        return Skipped(line=1, reason=reason)

    def _agents_without_calls(self) -> dict[str, Task]:
        threads = self._threads
        return {a: task for a, task in self.tasks.agents.items() if a not in threads or not threads[a].call}

    def main(self) -> ClaudeThread:
        """Return the main thread, made if there is none."""
        return self._threads.setdefault(MAIN, ClaudeThread())

    def parent(self, record: ClaudeRecord, thread: ClaudeThread, starts: bool) -> Point:
        """Return the point that `record` follows in `thread`.

        That is the thread's tip if the parent is unknown or in another thread; a new context if there is no tip, or if
        the record has no parent and may begin one (`starts`).
        """
        id_ = record.parent_uuid
        point = self.points.get(id_) if isinstance(id_, str) else None
        if point is not None and self._sidechain_threads.get(str(id_), MAIN) == thread.id:
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

    - `tip`: the point from which the next request continues; `last`: the answer to its last call.
    - `head`: the context last reported by `TipMoved`.
    - `process`: the client that wrote the records (session id, version).
    - `input`, `call`: reported input and id of the last call.
    - `resumed`: a client has ended or started since then.
    - `announced`: its first `ThreadSeen` was emitted; `label`: the label in the last one ("": none).
    - `front`: the node of its system prompt and tools (`ROOT`: not recorded); `front_whole`: both are known.
    - `partial`: calls whose tools are not known yet; `prompt`: the system prompt of the newest snapshot.
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
