"""Qwen Code with an API of OpenAI's kind."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.clients.client import Client, Command
from tests.clients.lab import Lab


def _asked(lab: Lab, *args: str) -> Command:
    program = lab.client.program("qwen")
    return [program, "-m", "gpt-4.1", "--auth-type", "openai", "--approval-mode", "yolo", *args]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    shutil.copy(curated, lab.recorded()[0].with_name(curated.name))
    return [_asked(lab, "--resume", curated.stem, "-p", prompt)]


QWEN_CODE = Client(
    name="qwen-code",
    env={"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "any"},
    ask=lambda lab, prompt: _asked(lab, "-p", prompt),
    again=lambda lab, prompt: _asked(lab, "--continue", "-p", prompt),
    recordings="home/.qwen/projects/*/chats/*.jsonl",
    first="run `cat a.txt` then run `sh gate.sh 1`",
    second="run `cat b.txt` then run `sh gate.sh 2`",
    unrecorded=("You are Qwen Code", "<system-reminder>"),
    curate_to="qwen-code",
    resume=_resume,
    joins=True,
)
