"""Read files of benchmarks (lists of tasks with their messages), and results in recordings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.core.session import MAIN, Described, Event, Outcome, Skipped, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import as_dicts
from ctxtui.transcripts.kit.readers import ReadValue

_MESSAGE_KEYS: Final = ("traj", "messages", "trajectory", "conversation")


def first_task(head: bytes) -> dict[str, Json]:
    value = next(iter(file_head.parse_values(head)), None)
    return next(iter(as_dicts(value)), {}) if isinstance(value, list) else as_dict(value)


def tasks_reader(source: str) -> ReadValue:
    """Make a function that reads a file of tasks, a thread each, for the format `source`."""

    def read_tasks(value: Json, tree: Tree) -> Iterator[Event]:
        yield Described(source=source)
        tasks = value if isinstance(value, list) else [value]
        ids, title = Ids(), ""
        for n, task in enumerate(tasks):
            if not isinstance(task, dict):
                yield Skipped(1, f"a task that is not an object @ $[{n}]")
                continue
            # Two runs of one task without a trial number are still two threads.
            dialogue = Dialogue(tree, MAIN if n == 0 else f"{_task_label(task)} ({n + 1})", ids)
            yield from _read_task(task, dialogue, f"$[{n}]", len(tasks) > 1)
            title = title or dialogue.title
        more = f" and {len(tasks) - 1:,} more task{'s' * (len(tasks) > 2)}" if len(tasks) > 1 else ""
        yield Described(title=title + more if title else "")

    return read_tasks


def _read_task(task: dict[str, Json], dialogue: Dialogue, path: str, several: bool) -> Iterator[Event]:
    label = _task_label(task)
    yield ThreadSeen(dialogue.thread, label)
    key = next((key for key in _MESSAGE_KEYS if isinstance(task.get(key), list)), "messages")
    yield from messages.add_messages(dialogue, as_list(task.get(key)), _make_call, f"{path}.{key}")
    yield dialogue.tip_event()
    yield from read_outcomes(task, label if several else "")


def _task_label(task: dict[str, Json]) -> str:
    """Label a task: ``task 7``, ``task 7 trial 2``."""
    trial = task.get("trial")
    trial_text = f" trial {value_text(trial)}" if trial not in (None, 0) else ""
    return f"task {value_text(task.get('task_id'))}{trial_text}"


def _make_call(message: dict[str, Json]) -> Call:
    return Call("", "", model=as_str(message.get("model")))


_RESULT_KEYS: Final = (
    "exit_status", "submission", "resolved", "reward", "score", "scores", "success", "passed", "status", "verdict",
    "grade", "evaluation",
)  # fmt: skip


def read_outcomes(record: dict[str, Json], label: str = "") -> Iterator[Outcome]:
    """Yield the results among the members of `record`.

    `label` distinguishes several runs in a file.
    """
    for name in _RESULT_KEYS:
        value = record.get(name)
        if value is not None:
            yield Outcome(f"{label}: {name}" if label else name, value_text(value))


def value_text(value: Json) -> str:
    return value if isinstance(value, str) else canonical.dump_text(value)
