"""Which thread a record of a Claude Code session belongs to, and which record it follows there."""

from __future__ import annotations

from ctxtui.core.call import EpochStart
from ctxtui.core.session import MAIN, ThreadSeen
from ctxtui.transcripts.claude_code.about import Tasks
from ctxtui.transcripts.claude_code.chain import Anchor, Point
from ctxtui.transcripts.claude_code.records import Record
from ctxtui.transcripts.claude_code.thread import Thread
from ctxtui.transcripts.titles import one_line


class Threads:
    """The threads of a session and the points of its records, by uuid."""

    def __init__(self) -> None:
        self.points: dict[str, Point] = {}
        self.tasks = Tasks()
        self._threads: dict[str, Thread] = {}
        self._side: dict[str, str] = {}
        """Records of sidechains (by uuid) -> thread."""
        self._others: dict[tuple[str, str], str] = {}
        """Ids of records by file (subagent, or "") and uuid, where another thread has a record of that uuid."""
        self._main = ""
        """The sidechain that is the main thread of its file: a subagent's file opened by itself."""

    def own_ids(self, record: Record, agent: str) -> None:
        """Tell `record`, which stands in the file of subagent `agent` ("" for the main file), from one of another
        thread that has its uuid: ids are a file's own, and a fork's file repeats its parent's records."""
        parent = record.parent_uuid
        if isinstance(parent, str):
            record.parent_uuid = self._others.get((agent, parent), parent)
        if record.uuid is None or (record.is_sidechain and not agent):
            return
        known = record.uuid in self.points and self._side.get(record.uuid, MAIN) != (agent or MAIN)
        if known or (agent, record.uuid) in self._others:
            record.uuid = self._others.setdefault((agent, record.uuid), f"{record.uuid} in {agent or MAIN}")

    def of(self, record: Record, agent: str) -> Thread:
        """The thread of `record`; `agent` is the subagent whose file it stands in ("" for the main file)."""
        id_ = MAIN
        if agent or record.is_sidechain:
            id_ = agent or record.agent_id or self._side.get(str(record.parent_uuid)) or f"side-{record.uuid}"
            if not self._threads and not agent:
                self._main = id_
            if id_ == self._main:
                id_ = MAIN
            if record.uuid:
                self._side[record.uuid] = id_
        return self._threads.setdefault(id_, Thread(id_))

    def main(self) -> Thread:
        """The main thread."""
        return self._threads.setdefault(MAIN, Thread())

    def parent(self, record: Record, thread: Thread, starts: bool) -> Point:
        """The point that `record` follows in `thread`.

        A parent that the file does not hold is taken to be what the file last held of the thread. Without any parent
        the context starts anew, if `starts` says that the record can begin one.
        """
        id_ = record.parent_uuid
        found = self.points.get(id_) if isinstance(id_, str) else None
        if found is not None and self._side.get(str(id_), MAIN) == thread.id:
            return found
        if thread.tip is not None and not (starts and id_ is None):
            return thread.tip
        return Point(Anchor(began=EpochStart.START))

    def label(self, thread: Thread, agent: str, prompt: str) -> list[ThreadSeen]:
        """What a subagent's thread is for, if that is news: its call's description, else its prompt's first words."""
        if thread.id == MAIN:
            return []
        task = self.tasks.of(agent or thread.id, prompt)
        label = task.description if task and task.description else thread.label or one_line(prompt)[:60]
        if label == thread.label:
            return []
        thread.label = label
        return [ThreadSeen(thread.id, label, task.thread if task else MAIN)]

    def spawned(self, agent: str) -> list[ThreadSeen]:
        """The label of subagent `agent`, once a result has told which call made it."""
        thread = self._threads.get(agent)
        return self.label(thread, agent, "") if thread is not None else []
