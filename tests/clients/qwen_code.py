"""Qwen Code with an API of OpenAI's kind."""

from __future__ import annotations

from tests.clients.client import CURATED, RESUMED, Client, Command
from tests.clients.lab import Lab

_NOT_WRITTEN = "ctxtui does not write its files"


def _asked(lab: Lab, *args: str) -> Command:
    program = lab.client.program("qwen")
    return [program, "-m", "gpt-4.1", "--auth-type", "openai", "--approval-mode", "yolo", *args]


QWEN_CODE = Client(
    name="qwen-code",
    env={"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "any"},
    ask=lambda lab, prompt: _asked(lab, "-p", prompt),
    again=lambda lab, prompt: _asked(lab, "--continue", "-p", prompt),
    recordings="home/.qwen/projects/*/chats/*.jsonl",
    unrecorded=("You are Qwen Code", "<system-reminder>"),
    lacks={CURATED: _NOT_WRITTEN, RESUMED: _NOT_WRITTEN},
)
