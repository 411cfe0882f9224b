"""Read results in recordings, and files of benchmarks: a list of tasks with the messages of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, Described, Event, Outcome, Skipped, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import listed, obj, objects, word
from ctxtui.transcripts.kit.readers import Take

TALKS: Final = ("traj", "messages", "trajectory", "conversation")
"""Members of a task that hold its messages."""


def first_task(head: bytes) -> dict[str, Json]:
    """Return the first task in `head`; empty if there is none."""
    value = next(iter(file_head.values(head)), None)
    return next(iter(objects(value)), {}) if isinstance(value, list) else obj(value)


def tasks_of(source: str) -> Take:
    """Make a function that reads a file of tasks, a thread each, for the format `source`."""

    def take(value: Json, tree: Tree) -> Iterator[Event]:
        yield Described(source=source)
        tasks = listed(value) if isinstance(value, list) else [value]
        ids, title = Ids(), ""
        for n, task in enumerate(tasks):
            if not isinstance(task, dict):
                yield Skipped(1, f"a task that is no object @ $[{n}]")
                continue
            # Two runs of one task without a trial number are still two threads.
            dialogue = Dialogue(tree, MAIN if n == 0 else f"{label_of(task)} ({n + 1})", ids)
            yield from _task(task, dialogue, f"$[{n}]", len(tasks) > 1)
            title = title or dialogue.title
        more = f" and {len(tasks) - 1:,} more tasks" if len(tasks) > 1 else ""
        yield Described(title=title + more if title else "")

    return take


def _task(task: dict[str, Json], dialogue: Dialogue, path: str, several: bool) -> Iterator[Event]:
    label = label_of(task)
    yield ThreadSeen(dialogue.thread, label)
    key = next((key for key in TALKS if isinstance(task.get(key), list)), "messages")
    yield from messages.converse(dialogue, listed(task.get(key)), _call, f"{path}.{key}")
    yield dialogue.tip()
    yield from outcomes(task, label if several else "")


def label_of(task: dict[str, Json]) -> str:
    """Label a task: ``task 7``, ``task 7 trial 2``."""
    trial = task.get("trial")
    told = f" trial {words(trial)}" if trial not in (None, 0) else ""
    return f"task {words(task.get('task_id'))}{told}"


def _call(message: dict[str, Json]) -> Call:
    return Call("", "", model=word(message.get("model")))


NAMES: Final = (
    "exit_status", "submission", "resolved", "reward", "score", "scores", "success", "passed", "status", "verdict",
    "grade", "evaluation",
)  # fmt: skip
"""Members that hold a result, at any depth of a benchmark's record."""


def outcomes(record: dict[str, Json], label: str = "") -> Iterator[Outcome]:
    """Yield the results in `record`, each named after its member; `label` distinguishes several runs in a file."""
    for name in NAMES:
        value = record.get(name)
        if value is not None:
            yield Outcome(f"{label}: {name}" if label else name, words(value))


def words(value: Json) -> str:
    """Return a result's value verbatim as text."""
    return value if isinstance(value, str) else canonical.dump_text(value)
