"""LiveMCPBench's runs: tasks with a question and messages, as a list or a single one."""

from __future__ import annotations

from typing import Final

from ctxtui.transcripts.kit.readers import json_reader
from ctxtui.transcripts.kit.tasks import first_task, tasks_reader

NAME: Final = "livemcpbench"


def sniff(head: bytes, name: str) -> float:
    keys = first_task(head).keys()
    return 0.9 if {"task_id", "messages"} <= keys and {"Question", "question"} & keys else 0.0


reader = json_reader(tasks_reader(NAME))
