"""LiveMCPBench's runs: a list of tasks with question, answer and messages."""

from __future__ import annotations

from typing import Final

from ctxtui.transcripts.kit.readers import json_reader
from ctxtui.transcripts.kit.tasks import first_task, tasks_reader

NAME: Final = "livemcpbench"
_QUESTION_KEYS: Final = frozenset({"Question", "question", "Annotator Metadata", "category"})


def sniff(head: bytes, name: str) -> float:
    """Confidence that `head` begins a list of tasks with questions and messages."""
    task = first_task(head)
    return 0.9 if {"task_id", "messages"} <= task.keys() and _QUESTION_KEYS & task.keys() else 0.0


reader = json_reader(tasks_reader(NAME))
